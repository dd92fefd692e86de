"""Every bar of `unsnarl tet`, met or missed, beside TetGen, fTetWild and published figures; see benches/tets."""

import argparse
import filecmp
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("UNSNARL", ROOT / "target/release/unsnarl"))
DATA = pathlib.Path(os.environ.get("UNSNARL_DATA", ROOT.parent / "shared/data"))
FOLDERS = [ROOT / "assets", DATA]
KINDS = {".obj", ".off", ".ply", ".stl", ".glb"}
FEMUR = ROOT / "assets/cgal_cc0/femur.off"
BUNNY = ROOT / "assets/quartet_isc/bunny_watertight.ply"
ELEPHANT = ROOT / "assets/cgal_cc0/elephant.off"
BODY = ROOT / "assets/character_cc0/body_rest.obj"
HAND = DATA / "cgal_cc0/hand.off"

# Table 5.2 of the thesis: largest and mean aspect, smallest and largest dihedral angle. Its bodies are not public; ours stand in.
CRANIUM = {"optimise": (4.5, 2.3, 18, 145), "elements": (6.5, 2.1, 17, 147)}
DRAGON = {"optimise": (5.3, 2.3, 16, 150), "elements": (7.6, 2.2, 13, 154)}
BUDDHA = {"optimise": (5.9, 2.3, 16, 150), "elements": (8.1, 2.3, 13, 156)}
CASES = [
    ("cranium, 100K", FEMUR, 100_000, CRANIUM),
    ("dragon, 500K", BUNNY, 500_000, DRAGON),
    ("dragon, 500K", BODY, 500_000, DRAGON),
    ("Buddha, 900K", ELEPHANT, 900_000, BUDDHA),
    ("Buddha, 900K", HAND, 900_000, BUDDHA),
]
# What peers are shown: two clean bodies and one of each kind of broken one.
FOR_PEERS = [
    "femur", "bunny_watertight", "spheres_intersecting", "mask_cone", "body_sit01", "49", "self_intersectA", "CesiumMan",
    "dress-v5k-f10k",
]
PEERS = {
    "TetGen": "import tetgen; t = tetgen.TetGen(v, f); out = t.tetrahedralize(order=1, minratio=1.4, quality=True)[:2]",
    "fTetWild": "import pytetwild; out = pytetwild.tetrahedralize(v, f, edge_length_fac=0.03)[:2]",
}
LOAD = """
import sys, numpy as np, trimesh
m = trimesh.load(sys.argv[1], process=False, force="mesh")
v, f = np.asarray(m.vertices, float), np.asarray(m.faces)
{program}
p, t = np.asarray(out[0], float), np.asarray(out[1])
c = p[t]
sign = np.einsum("ij,ij->i", np.cross(c[:, 1] - c[:, 0], c[:, 2] - c[:, 0]), c[:, 3] - c[:, 0])
sides = [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]]
n = np.stack([np.cross(c[:, b] - c[:, a], c[:, d] - c[:, a]) for a, b, d in sides], 1)
n /= np.linalg.norm(n, axis=2, keepdims=True) + 1e-300
angles = [np.degrees(np.arccos(np.clip(-(n[:, i] * n[:, j]).sum(1), -1, 1))) for i in range(4) for j in range(i)]
print(f"{{len(t)}} elements, {{int(((sign <= 0) != (np.median(sign) <= 0)).sum())}} of the other sign, dihedral {{np.min(angles):.1f}} to {{np.max(angles):.1f}}")
"""
missed = []


def bar(name, value, is_met):
    print(f"{'met   ' if is_met else 'MISSED'} | {name} | {value}", flush=True)
    if not is_met:
        missed.append(name)


def processor_seconds():
    """Of all programs that were run and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def fill(folder, mesh, count, *flags):
    """Runs `unsnarl tet`, without a count where the flags have an edge: the report and the seconds of the whole process, or nothing and
    the error line."""
    report, output = folder / "report.json", folder / "out.msh"
    size = [] if count is None else ["--count", count]
    command = [PROGRAM, "tet", mesh, "-o", output, *size, "--json", report, "-q", *flags]
    begun, used = time.perf_counter(), processor_seconds()
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    seconds = time.perf_counter() - begun
    # 1: valid, but a thin body is not filled.
    if done.returncode not in (0, 1):
        return None, done.stderr.strip()
    return {**json.loads(report.read_text()), "processor_seconds": processor_seconds() - used}, seconds


def is_sound(report):
    conditions = report["conditions"]
    trapped = conditions["tets_with_four_boundary_nodes"] + conditions["inner_edges_between_boundary_nodes"]
    return report["valid"] and conditions["manifold_boundary"] and trapped == 0


def figures(report):
    aspect, (least, most) = report["aspect"], report["dihedral_degrees"]
    return aspect["max"], aspect["mean"], least, most


def quality(folder, results, quick, methods, wanted):
    for name, mesh, count, theirs in CASES[: 1 if quick else None]:
        if (wanted and mesh.stem not in wanted) or not mesh.exists():
            continue
        seconds_by = {}
        for method in methods:
            if method == "springs" and count != 100_000:
                continue
            skin = folder / "skin.obj"
            report, seconds = fill(folder, mesh, count, "--compress", method, "--surface", skin)
            row = f"{mesh.stem}, {method}"
            if report is None:
                bar(row, seconds, False)
                continue
            seconds_by[method] = sum(report["seconds"][stage] for stage in ["compress"])
            found, limit = figures(report), theirs.get(method, theirs["elements"])
            nodes, beyond = report["fit"]["boundary_nodes"], report["fit"]["nodes_beyond_one_percent"]
            text = "{:.2f}, mean {:.2f}, dihedral {:.1f} to {:.1f}".format(*found)
            published = "thesis, {}: {}, mean {}, {} to {}".format(name, *limit)
            is_met = found[0] <= limit[0] and found[1] <= limit[1] and found[2] >= limit[2] and found[3] <= limit[3]
            bar(f"quality: {row}, {report['tets']} elements", f"aspect {text} ({published})", is_met)
            farthest = report["fit"]["farthest_in_edges"]
            said = f"{beyond} of {nodes} boundary nodes beyond 1 % of their mean edge, boundary within {farthest:.2f} edges"
            bar(f"fit: {row}", f"{said}; refined again in {report['rounds_again']} rounds", beyond == 0 and farthest < 0.5)
            print(f"       | time: {row} | {report['processor_seconds']:.1f} s of processor, {seconds:.1f} s", flush=True)
            ratio = report["volume"] / report["fit"]["volume_of_body"]
            bar(f"volume: {row}", f"{ratio:.4f} of the body's", abs(ratio - 1) <= 0.01)
            clean = subprocess.run([str(PROGRAM), "check", str(skin), "-q"], capture_output=True).returncode == 0
            bar(f"validity: {row}", f"signs and conditions {is_sound(report)}, boundary clean {clean}", is_sound(report) and clean)
            if count == 900_000 and method == "optimise":
                bar(f"speed: {mesh.stem}, 900K", f"{seconds:.1f} s", seconds < 40)
            results.append({"case": mesh.stem, "method": method, "seconds": seconds, "report": report})
        if {"elements", "optimise"} <= seconds_by.keys():
            ratio = seconds_by["elements"] / seconds_by["optimise"]
            print(f"       | compression by elements over by optimisation, {mesh.stem} | {ratio:.1f} times (thesis: about 10)")


def speed(folder, results, quick):
    runs = [fill(folder, BUNNY, 75_000) for _ in range(1 if quick else 5)]
    report, seconds = min(runs, key=lambda run: run[1])
    stages = ", ".join(f"{stage} {value:.2f}" for stage, value in report["seconds"].items())
    bar(f"speed: bunny, {report['tets']} elements, file to file, best of {len(runs)}", f"{seconds:.2f} s, {report['processor_seconds']:.2f} of processor ({stages}); quartet 5.9", seconds < 2)
    bar("speed: lattice of the bunny", f"{report['seconds']['lattice']:.2f} s", report["seconds"]["lattice"] < 0.3)
    least, most = report["dihedral_degrees"]
    bar("bunny beside quartet's published 14.2 to 149.7", f"{least:.1f} to {most:.1f}", least > 14.2 and most < 149.7)
    results.append({"seconds": seconds, "report": report})


def swept(steps, around, point):
    """A closed surface of revolution as OBJ text: `point` gives radius and height at a step."""
    import numpy as np

    rows = [point(2 * np.pi * step / steps) for step in range(steps)]
    turns = [(np.cos(2 * np.pi * turn / around), np.sin(2 * np.pi * turn / around)) for turn in range(around)]
    text = "".join(f"v {radius * c} {radius * s} {height}\n" for radius, height in rows for c, s in turns)
    node = lambda step, turn: 1 + (step % steps) * around + turn % around
    for step in range(steps):
        for turn in range(around):
            quad = node(step, turn), node(step, turn + 1), node(step + 1, turn + 1), node(step + 1, turn)
            text += "f {} {} {} {}\n".format(*quad)
    return text


def ball_text(level):
    """A ball: an octahedron, its edges halved so often, pushed to the sphere."""
    import numpy as np

    points, faces = [tuple(sign * axis) for axis in np.eye(3) for sign in (1.0, -1.0)], []
    for x in (0, 1):
        for y in (2, 3):
            for z in (4, 5):
                faces.append((x, y, z) if (x + y + z) % 2 == 0 else (x, z, y))
    for _ in range(level):
        middle, finer = {}, []
        for face in faces:
            halves = []
            for a, b in zip(face, face[1:] + face[:1]):
                key = (min(a, b), max(a, b))
                if key not in middle:
                    at = np.add(points[a], points[b])
                    middle[key] = len(points)
                    points.append(tuple(at / np.linalg.norm(at)))
                halves.append(middle[key])
            (a, b, c), (ab, bc, ca) = face, halves
            finer += [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
        faces = finer
    return "".join("v {} {} {}\n".format(*p) for p in points) + "".join(f"f {a + 1} {b + 1} {c + 1}\n" for a, b, c in faces)


def figures_of_thesis(folder, results):
    """Figures 5.4 and 5.5: a ball that is coarse inside, and a torus whose inner ring is finer by curvature."""
    import numpy as np
    import trimesh

    ball, torus, skin = folder / "ball.obj", folder / "torus.obj", folder / "skin.obj"
    ball.write_text(ball_text(5))
    torus.write_text(swept(96, 192, lambda angle: (1 + 0.5 * np.cos(angle), 0.5 * np.sin(angle))))
    report, said = fill(folder, ball, 18_000, "--criterion", "uniform", "--picture", ROOT / "out/tets_ball.png")
    if report is None:
        return bar("figure 5.4: ball", said, False)
    coarse = report["edge"]["max"] / report["edge"]["min"]
    bar("figure 5.4: ball, 18K", f"{report['tets']} elements, longest over shortest edge {coarse:.1f}", abs(report["tets"] / 18_000 - 1) < 0.1)
    results.append({"case": "ball", "report": report})
    flags = ["--edge", 0.127, "--criterion", "curvature", "--tolerance", 0.75, "--surface", skin, "--picture", ROOT / "out/tets_torus.png"]
    report, said = fill(folder, torus, None, *flags)
    if report is None:
        return bar("figure 5.5: torus", said, False)
    found = trimesh.load(skin, process=False, force="mesh")
    ends = found.vertices[found.edges_unique]
    length, radius = np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1), np.linalg.norm(ends.mean(axis=1)[:, :2], axis=1)
    ratio = length[radius < 0.7].mean() / length[radius > 1.3].mean()
    bar("figure 5.5: torus, 8.5K", f"{report['tets']} elements, mean edge of the inner ring {ratio:.2f} of the outer", ratio < 0.7)
    return results.append({"case": "torus", "report": report})


def limits(folder):
    """What cannot be had is told: a count below what a thin plate needs, and an edge beyond all memory."""
    plate = folder / "plate.obj"
    corners = [(x, y, z) for z in (0, 0.01) for y in (0, 1) for x in (0, 1)]
    quads = [(1, 3, 4, 2), (5, 6, 8, 7), (1, 2, 6, 5), (3, 7, 8, 4), (1, 5, 7, 3), (2, 4, 8, 6)]
    plate.write_text("".join("v {} {} {}\n".format(*c) for c in corners) + "".join("f {} {} {} {}\n".format(*q) for q in quads))
    report, said = fill(folder, plate, 10_000)
    if report is None:
        bar("plate 1 x 1 x 0.01, 10,000 elements", said, False)
    else:
        ratio = report["volume"] / report["fit"]["volume_of_body"]
        text = f"{report['tets']} elements, edge {report['finest_edge']:.4f}, not filled with {report['coarsest_edge']:.4f}, volume {ratio:.3f}"
        bar("plate 1 x 1 x 0.01, 10,000 elements", text, report["coarsest_edge"] < 1.1 * report["finest_edge"])
    for mesh in [FEMUR, ROOT / "assets/character_cc0/body_sit01.ply"]:
        begun = time.perf_counter()
        report, said = fill(folder, mesh, None, "--edge", "1e-4")
        seconds = time.perf_counter() - begun
        bar(f"refusal: {mesh.stem} with edges of 1e-4", f"{seconds:.1f} s: {said}", report is None and seconds < 20)


def random_body(random):
    """Balls, rings, boxes and rods at random places, turned at random, joined without a boolean: most cross each other."""
    import trimesh

    parts = []
    for _ in range(int(random.integers(2, 7))):
        kind = random.choice(["ball", "ring", "box", "rod"])
        size = random.uniform(0.15, 0.5)
        if kind == "ball":
            part = trimesh.creation.icosphere(3, radius=size)
        elif kind == "ring":
            part = trimesh.creation.torus(size, size * random.uniform(0.15, 0.5), 48, 24)
        elif kind == "box":
            part = trimesh.creation.box(size * random.uniform(0.3, 2.0, 3))
        else:
            part = trimesh.creation.capsule(size * 2, size * random.uniform(0.15, 0.5))
        part.apply_transform(trimesh.transformations.random_rotation_matrix(random.random(3)))
        part.apply_translation(random.uniform(-0.6, 0.6, 3))
        parts.append(part)
    body = trimesh.util.concatenate(parts)
    body.apply_scale(10.0 ** random.uniform(-3, 3))
    body.apply_translation(body.extents.max() * random.uniform(-20, 20, 3))
    return body


def randoms(folder, seed, number):
    """Bodies that nobody tuned anything to: valid, arrived, and within half an edge."""
    import numpy as np

    random = np.random.default_rng(seed)
    body = folder / "random.obj"
    sound = arrived = near = 0
    for at in range(number):
        random_body(random).export(body)
        count = int(10 ** random.uniform(3.3, 4.5))
        report, said = fill(folder, body, count)
        if report is None:
            print(f"       | random {seed}.{at}, {count} | {said}", flush=True)
            continue
        fit, least, most = report["fit"], *report["dihedral_degrees"]
        lag, far = fit["nodes_beyond_one_percent"], fit["triangles_beyond_half_an_edge"]
        ratio = report["volume"] / fit["volume_of_body"]
        print(
            f"       | random {seed}.{at}, {count} | {report['source']}, {report['tets']} elements, aspect {report['aspect']['max']:.2f}, {least:.1f} to {most:.1f}, "
            f"{lag} of {fit['boundary_nodes']} nodes lag, {far} triangles far ({fit['triangles_across_gaps']} across gaps), {report['crossing_boundary_pairs']} crossing pairs, "
            f"volume {ratio:.3f}, {said:.1f} s", flush=True)
        sound, arrived, near = sound + is_sound(report), arrived + (lag == 0), near + (far == 0)
    bar(f"random bodies of seed {seed}: valid", f"{sound} of {number}", sound == number)
    print(f"       | random bodies of seed {seed} | {arrived} of {number} with all nodes on the surface, {near} within half an edge everywhere")


def turned_plates(folder, seed, number):
    """Plates of random thickness, turned at random, with a count that is too small: filled all the same."""
    import numpy as np
    import trimesh

    random = np.random.default_rng(seed)
    path = folder / "plate.obj"
    filled = 0
    for at in range(number):
        thickness = float(np.exp(random.uniform(np.log(0.012), np.log(0.06))))
        plate = trimesh.creation.box([1, random.uniform(0.5, 1), thickness])
        plate.apply_transform(trimesh.transformations.random_rotation_matrix(random.random(3)))
        plate.export(path)
        report, said = fill(folder, path, 10_000)
        if report is None:
            print(f"       | plate {seed}.{at}, {thickness:.4f} | {said}", flush=True)
            continue
        ratio = report["volume"] / report["fit"]["volume_of_body"]
        filled += ratio > 0.95 or report["filling_edge"] is not None
        print(f"       | plate {seed}.{at}, {thickness:.4f} | {report['tets']} elements, edge {report['finest_edge'] / thickness:.2f} of it, volume {ratio:.3f}, Euler characteristic {report['euler_characteristic']}, {said:.1f} s", flush=True)
    bar(f"turned plates of seed {seed}: at least 95 % filled, or the edge is named", f"{filled} of {number}", filled == number)


def threads(folder):
    for mesh in [BUNNY, ROOT / "assets/character_cc0/body_sit01.ply"]:
        for count in ["1", "2"]:
            fill(folder, mesh, 60_000, "--threads", count)
            (folder / "out.msh").rename(folder / f"{count}.msh")
        same = filecmp.cmp(folder / "1.msh", folder / "2.msh", shallow=False)
        bar(f"determinism: {mesh.stem}", "same bytes on 1 and 2 threads" if same else "bytes differ", same)


def meshes():
    """Every mesh of the assets and of the larger collection, once by folder and name."""
    found = {}
    for base in FOLDERS:
        for path in sorted(base.rglob("*")):
            if path.suffix in KINDS:
                found.setdefault((path.parent.name, path.stem), path)
    return list(found.values())


def state(mesh):
    """What is wrong with a mesh: its crossing pairs by `unsnarl check`, and its border edges."""
    import numpy as np
    import trimesh

    done = subprocess.run([str(PROGRAM), "check", str(mesh), "-q", "--json", "-"], capture_output=True, text=True)
    loaded = trimesh.load(mesh, process=False, force="mesh")
    merged = trimesh.Trimesh(loaded.vertices, loaded.faces, process=True)
    edges = np.sort(merged.edges, axis=1)
    _, counts = np.unique(edges, axis=0, return_counts=True)
    return done.returncode == 0, int((counts == 1).sum())


def broken(folder, results, quick, count):
    print("\n| broken mesh | clean | border edges | elements | surfaces | max aspect | nodes that lag | valid | s |\n|---|---|---|---|---|---|---|---|---|")
    bad = []
    for mesh in meshes()[: 4 if quick else None]:
        clean, border = state(mesh)
        if clean and border == 0:
            continue
        report, seconds = fill(folder, mesh, count)
        name = f"{mesh.parent.name}/{mesh.stem}"
        if report is None:
            print(f"| {name} | {clean} | {border} | {seconds} |", flush=True)
            if "no inside" not in seconds:
                bad.append(name)
        else:
            row = [name, clean, border, report["tets"], report["surfaces"], f"{report['aspect']['max']:.2f}", report["fit"]["nodes_beyond_one_percent"], is_sound(report), f"{seconds:.2f}"]
            print("| " + " | ".join(map(str, row)) + " |", flush=True)
            if not is_sound(report):
                bad.append(name)
        results.append({"mesh": name, "report": report, "said": seconds if report is None else None})
    print()
    with_mesh = sum(row["report"] is not None for row in results)
    bar("broken input", f"{with_mesh} of {len(results)} have a valid mesh, the rest are sheets without an inside; wrong: {bad}", not bad)


def peers(folder, results, limit):
    """Peers and ours on the same meshes: what comes out, and processor seconds, which other work on the machine stretches less."""
    print("\n| mesh | program | outcome | processor s | s |\n|---|---|---|---|---|")
    for mesh in [path for path in meshes() if path.stem in FOR_PEERS]:
        for name, program in [("unsnarl tet", None), *PEERS.items()]:
            begun, used = time.perf_counter(), processor_seconds()
            verdict = ours(folder, mesh) if program is None else theirs(folder, mesh, program, limit)
            seconds, processor = time.perf_counter() - begun, processor_seconds() - used
            print(f"| {mesh.stem} | {name} | {verdict} | {processor:.1f} | {seconds:.1f} |", flush=True)
            row = {"mesh": mesh.stem, "program": name, "verdict": verdict, "processor_seconds": processor, "seconds": seconds}
            results.append(row)


def ours(folder, mesh):
    report, said = fill(folder, mesh, 50_000)
    if report is None:
        return f"fails: {said[:100]}"
    least, most = report["dihedral_degrees"]
    return f"{report['tets']} elements, {report['inverted']} of the other sign, dihedral {least:.1f} to {most:.1f}"


def theirs(folder, mesh, program, limit):
    # In the folder: fTetWild leaves files where it runs.
    command = [sys.executable, "-c", LOAD.format(program=program), str(mesh)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, cwd=folder)
    except subprocess.TimeoutExpired:
        return f"no result in {limit:.0f} s"
    lines = (done.stdout if done.returncode == 0 else done.stderr or done.stdout).strip().splitlines()
    said = lines[-1] if lines else f"died with status {done.returncode}"
    return said if done.returncode == 0 else f"fails: {said[:100]}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="the smallest case of each table")
    parser.add_argument("--limit", type=float, default=30, help="seconds for a peer on a mesh")
    parser.add_argument("--methods", default="optimise,elements,springs", help="of compression, for quality")
    parser.add_argument("--cases", default="", help="meshes of quality by name, with commas; all if none")
    parser.add_argument("--count", type=int, default=20_000, help="elements for a broken mesh")
    parser.add_argument("--seed", type=int, default=1, help="of random bodies and turned plates")
    parser.add_argument("--number", type=int, default=10, help="of these")
    parser.add_argument("--only", default="figures,speed,limits,quality,random,plates,threads,broken,peers", help="parts, with commas")
    flags = parser.parse_args()
    parts = flags.only.split(",")
    results = {"figures": [], "quality": [], "speed": [], "broken": [], "peers": []}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        if "figures" in parts:
            figures_of_thesis(folder, results["figures"])
        if "speed" in parts:
            speed(folder, results["speed"], flags.quick)
        if "quality" in parts:
            cases = flags.cases.split(",") if flags.cases else []
            quality(folder, results["quality"], flags.quick, flags.methods.split(","), cases)
        if "limits" in parts:
            limits(folder)
        if "random" in parts:
            randoms(folder, flags.seed, flags.number)
        if "plates" in parts:
            turned_plates(folder, flags.seed, flags.number)
        if "threads" in parts:
            threads(folder)
        if "broken" in parts:
            broken(folder, results["broken"], flags.quick, flags.count)
        if "peers" in parts:
            peers(folder, results["peers"], flags.limit)
    (ROOT / "out/bench_tets.json").write_text(json.dumps(results, indent=1))
    print(f"\n{len(missed)} missed" + "".join(f"\n  {name}" for name in missed))


if __name__ == "__main__":
    main()
