"""Quality, speed and robustness of `unsnarl tet` beside TetGen, fTetWild and published figures; see benches/tets."""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

BINARY = pathlib.Path("target/release/unsnarl")


def data(folder, pattern):
    """Files of the bundled assets, or of the larger collection beside the project."""
    for base in [pathlib.Path("assets"), pathlib.Path("../shared/data")]:
        found = sorted((base / folder).glob(pattern))
        if found:
            return found
    return []


BUNNY = (data("quartet_isc", "bunny_watertight.*") or [pathlib.Path("bunny_watertight.obj")])[0]

# Table 5.2 of the thesis: largest and mean aspect, smallest and largest dihedral angle.
THESIS = {
    ("cranium, 100K", "optimise"): (4.5, 2.3, 18, 145),
    ("dragon, 500K", "optimise"): (5.3, 2.3, 16, 150),
    ("Buddha, 900K", "optimise"): (5.9, 2.3, 16, 150),
    ("cranium, 100K", "elements"): (6.5, 2.1, 17, 147),
    ("dragon, 500K", "elements"): (7.6, 2.2, 13, 154),
    ("Buddha, 900K", "elements"): (8.1, 2.3, 13, 156),
}
CASES = [
    ("cranium, 100K", pathlib.Path("assets/cgal_cc0/femur.off"), 100_000),
    ("dragon, 500K", BUNNY, 500_000),
    ("Buddha, 900K", pathlib.Path("assets/cgal_cc0/elephant.off"), 900_000),
]
BROKEN = [
    *data("character_cc0", "body_[fs]*.*"),
    *data("codim_ipc_apache2/Kick_unfixed", "49.*"),
    *data("manifold_apache2", "self_intersectA.*"),
    *data("cgal_cc0", "spheres_intersecting.off"),
    *data("cgal_cc0", "mask_cone.off"),
]


def fill(mesh, count, *flags):
    """Runs `unsnarl tet`; the report and the seconds of the whole process, or the error line."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        output = pathlib.Path(folder) / "out.msh"
        command = [BINARY, "tet", mesh, "-o", output, "--count", str(count), "--json", report, "-q", *flags]
        begun = time.perf_counter()
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        seconds = time.perf_counter() - begun
        if done.returncode != 0:
            return None, done.stderr.strip()
        return json.loads(report.read_text()), seconds


def row(name, report, seconds):
    aspect, angles = report["aspect"], report["dihedral_degrees"]
    print(
        f"| {name} | {report['tets']} | {aspect['max']:.2f} | {aspect['mean']:.2f} | {angles[0]:.1f} | {angles[1]:.1f}"
        f" | {report['edge_ratio']:.0f} | {report['valid']} | {seconds:.2f} |",
        flush=True,
    )


def quality(results, quick):
    print("| case | elements | max aspect | mean | min dihedral | max dihedral | edges | valid | s |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, mesh, count in CASES[: 1 if quick else 3]:
        for method in ["optimise", "springs", "elements"]:
            if not mesh.exists():
                print(f"| {mesh.name} | skipped: not here |")
                continue
            theirs = THESIS.get((name, method))
            if theirs:
                print(f"| thesis: {name}, {method} | | {theirs[0]} | {theirs[1]} | {theirs[2]} | {theirs[3]} | | | |")
            report, seconds = fill(mesh, count, "--compress", method)
            if report is None:
                print(f"| {mesh.stem}, {method} | failed: {seconds} |")
                continue
            row(f"{mesh.stem}, {method}", report, seconds)
            results.append({"case": mesh.stem, "method": method, "seconds": seconds, "report": report})


def peers(mesh, timeout):
    """TetGen and fTetWild on a mesh, each in a process of its own with a limit."""
    programs = {
        "TetGen": "import tetgen; t = tetgen.TetGen(m.vertices, m.faces); out = t.tetrahedralize(order=1, minratio=1.4, quality=True)",
        "fTetWild": "import pytetwild; out = pytetwild.tetrahedralize(m.vertices, m.faces, edge_length_fac=0.03)",
    }
    for name, program in programs.items():
        code = f"import sys, trimesh; m = trimesh.load(sys.argv[1], process=False); {program}; print(len(out[1]))"
        begun = time.perf_counter()
        try:
            done = subprocess.run([sys.executable, "-c", code, str(mesh)], capture_output=True, text=True, timeout=timeout)
            seconds = time.perf_counter() - begun
            lines = (done.stdout if done.returncode == 0 else done.stderr or done.stdout).strip().splitlines()
            said = lines[-1] if lines else f"status {done.returncode}"
            verdict = f"{said} elements" if done.returncode == 0 else f"fails: {said[:90]}"
        except subprocess.TimeoutExpired:
            seconds, verdict = timeout, "no result in time"
        print(f"| {mesh.stem} | {name} | {verdict} | {seconds:.2f} |", flush=True)
        yield {"mesh": mesh.stem, "peer": name, "verdict": verdict, "seconds": seconds}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="the smallest case of each table")
    parser.add_argument("--timeout", type=float, default=120, help="seconds for a peer")
    flags = parser.parse_args()
    results = {"quality": [], "speed": [], "broken": [], "peers": []}
    quality(results["quality"], flags.quick)
    print("\nquartet's published bunny: 75K elements, 5.9 s, dihedral 14.2 to 149.7")
    if BUNNY.exists():
        for _ in range(1 if flags.quick else 3):
            report, seconds = fill(BUNNY, 75_000)
            row("bunny, 75K", report, seconds)
            print("seconds by stage:", report["seconds"])
            results["speed"].append({"seconds": seconds, "report": report})
    print("\n| broken mesh | elements | surfaces | volume | valid | s |\n|---|---|---|---|---|---|")
    broken = [mesh for mesh in BROKEN if mesh.exists()][: 1 if flags.quick else None]
    for mesh in broken:
        report, seconds = fill(mesh, 50_000)
        if report is None:
            print(f"| {mesh.stem} | failed: {seconds} |")
        else:
            print(f"| {mesh.stem} | {report['tets']} | {report['surfaces']} | {report['volume']:.4e} | {report['valid']} | {seconds:.2f} |")
        results["broken"].append({"mesh": mesh.stem, "seconds": seconds, "report": report})
    print("\n| mesh | peer | outcome | s |\n|---|---|---|---|")
    for mesh in [BUNNY, *broken]:
        if mesh.exists():
            results["peers"].extend(peers(mesh, flags.timeout))
    pathlib.Path("out/bench_tets.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
