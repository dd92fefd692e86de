"""Time of `unsnarl fix` beside Newton's Style3D solver (its contour-minimising untangler) on the processor.

Every case is one mesh in memory, with or without a body and a rest mesh. Ours runs until it is done, relaxation, certificate and
report included; Newton runs without gravity, with the settings of its own cloth example (steps of 1/600 s, 4 rounds of 10 linear
ones), until ipctk finds nothing or for as many steps as asked. Newton's time is that of building its model and solver from the
mesh, and that of its steps with their collision detection; neither the compilation of its kernels nor the checks count. Both are
printed, and two ratios: ours to both together, and ours to its steps alone. One thread each (Newton has no more on a processor).
The last ratio is of processor time, which other work on the machine does not change: all of our process, with its start and the
reading and writing of files, to Newton's building and steps. What takes less than a second is run five times, on both sides, and the
median counts; the first run of ours, as that of Newton, warms up and does not count. Every bar is printed at the end, met or missed;
the status is 1 if one is missed.

    benches/fix real|hard ... [--only NAME] [--steps N]
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import ipctk
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/python/support"))
from obj_file import read_obj  # noqa: E402

DATA = ROOT / "assets"
UNSNARL = ROOT / "target" / "release" / "unsnarl"
SUITS = ["female_casualsuit01", "female_sportsuit01", "male_casualsuit02", "male_casualsuit04", "male_casualsuit05"]
# Runs of less processor time, in seconds, are repeated.
SHORT, REPEATS = 1.0, 5
# Ours takes at most this share of Newton's processor time on real garments, and leaves at most this stretch where the input had less.
TIME_SHARE, STRETCH = 0.2, 1.10
HARD = {
    "wavy-sheets": [20, 30],
    "crossing-sheets": [20, 30],
    "sleeve-through-torso": [16, 24],
    "nested-tubes": [16, 24],
    "scrunched-sheet": [40, 60],
    "spiral-roll": [20, 30],
}


class Crossing:
    """Whether cloth crosses itself or a body, by ipctk."""

    def __init__(self, cloth, body):
        parts = [cloth] if body is None else [cloth, body]
        starts = np.cumsum([0] + [len(part[0]) for part in parts])
        triangles = np.vstack([part[1] + start for part, start in zip(parts, starts)])
        self.fixed = np.vstack([part[0] for part in parts])
        self.mesh = ipctk.CollisionMesh(self.fixed, ipctk.edges(triangles), triangles)

    def __call__(self, cloth):
        positions = self.fixed.copy()
        positions[: len(cloth)] = cloth
        return bool(ipctk.has_intersections(self.mesh, positions))


def flat_triangles(positions, triangles):
    """Every triangle laid flat by itself: its first corner in the origin, its second on the first axis."""
    a, b, c = (positions[triangles[:, corner]] for corner in range(3))
    length = np.linalg.norm(b - a, axis=1)
    along = np.einsum("ij,ij->i", c - a, (b - a) / length[:, None])
    height = np.linalg.norm(np.cross(b - a, c - a), axis=1) / length
    flat = np.zeros((len(triangles), 3, 2))
    flat[:, 1, 0], flat[:, 2, 0], flat[:, 2, 1] = length, along, height
    return flat.reshape(-1, 2)


def newton_model(cloth, body, rest):
    import newton
    import warp as wp
    from newton.solvers import style3d

    builder = newton.ModelBuilder(up_axis=newton.Axis.Y, gravity=(0.0, 0.0, 0.0))
    newton.solvers.SolverStyle3D.register_custom_attributes(builder)
    positions, triangles = cloth
    style3d.add_cloth_mesh(
        builder,
        pos=wp.vec3(0.0, 0.0, 0.0),
        rot=wp.quat_identity(),
        vel=wp.vec3(0.0, 0.0, 0.0),
        vertices=positions.tolist(),
        indices=triangles.ravel().tolist(),
        panel_verts=flat_triangles(rest, triangles).tolist(),
        panel_indices=list(range(triangles.size)),
        density=0.3,
        particle_radius=5.0e-4 if body is not None else 5.0e-3,
        tri_aniso_ke=wp.vec3(1.0e2, 1.0e2, 1.0e1),
        edge_aniso_ke=wp.vec3(2.0e-5, 1.0e-5, 5.0e-6),
    )
    if body is not None:
        mesh = newton.Mesh(body[0].astype(np.float32), body[1].ravel().astype(np.int32))
        builder.add_shape_mesh(body=-1, mesh=mesh)
    model = builder.finalize()
    model.soft_contact_ke, model.soft_contact_kd, model.soft_contact_mu = 1.0e1, 1.0e-5, 0.2
    return model


class Newton:
    """Newton's solver on one mesh, ready to step."""

    def __init__(self, cloth, body, rest):
        import newton

        self.model = newton_model(cloth, body, rest)
        self.solver = newton.solvers.SolverStyle3D(self.model, iterations=4)
        self.pipeline = newton.CollisionPipeline(self.model)
        self.contacts, self.control = self.pipeline.contacts(), self.model.control()
        self.states = [self.model.state(), self.model.state()]

    def step(self):
        one, two = self.states
        one.clear_forces()
        self.pipeline.collide(one, self.contacts)
        self.solver.step(one, two, self.control, self.contacts, 1.0 / 600.0)
        self.states = [two, one]

    def places(self):
        return self.states[0].particle_q.numpy().astype(float)


class Clock:
    """Seconds of wall time and of processor time, summed over what is timed."""

    def __init__(self):
        self.wall, self.processor = 0.0, 0.0

    def __enter__(self):
        self.start = time.perf_counter(), time.process_time()

    def __exit__(self, *_):
        self.wall += time.perf_counter() - self.start[0]
        self.processor += time.process_time() - self.start[1]


def median_run(run, processor_seconds):
    """What `run` gives: of five runs the one with the median of processor time, if they are short."""
    runs = [run()]
    while processor_seconds(runs[0]) < SHORT and len(runs) < REPEATS:
        runs.append(run())
    return sorted(runs, key=processor_seconds)[len(runs) // 2]


def newton_run(cloth, body, rest, most_steps):
    """The clocks of building and of steps, the steps, and how it ended."""
    import warp as wp

    wp.config.quiet = True
    wp.init()
    crosses = Crossing(cloth, body)
    with wp.ScopedDevice("cpu"):
        Newton(cloth, body, rest).step()  # kernels are compiled here
        once = lambda: newton_once(cloth, body, rest, most_steps, crosses)
        return median_run(once, lambda run: run[0].processor + run[1].processor)


def newton_once(cloth, body, rest, most_steps, crosses):
    building, stepping = Clock(), Clock()
    with building:
        newton = Newton(cloth, body, rest)
    for number in range(1, most_steps + 1):
        with stepping:
            newton.step()
            places = newton.places()
        if not np.isfinite(places).all():
            return building, stepping, number, "diverged"
        if not crosses(places):
            return building, stepping, number, "clean"
    return building, stepping, most_steps, "not clean"


def processor_time_of_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def ours(path, body, rest, folder, flags):
    target = folder / "fixed.obj"
    command = [UNSNARL, "fix", path, "-o", target, "--json", "-", "-q", "--threads", "1", "--keep-partial", *flags]
    command += ["--body", body] if body else []
    command += ["--rest", rest] if rest else []

    def once():
        before = processor_time_of_children()
        run = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        if run.returncode == 2:
            sys.exit(run.stderr)
        return json.loads(run.stdout) | {"processor_seconds": processor_time_of_children() - before}

    once()  # warms up
    report = median_run(once, lambda report: report["processor_seconds"])
    positions, triangles = read_obj(target)
    crosses = Crossing((positions, triangles), read_obj(body) if body else None)
    report["ipctk"] = not crosses(positions)
    return report


def cases(suites, folder):
    """Name, mesh, body, rest mesh, flags."""
    if "real" in suites:
        cloth = DATA / "diffcloth_mit"
        yield "folded T-shirt", cloth / "tshirt1900-folding-biFolded.obj", None, cloth / "tshirt1900.obj", []
        yield "dress", cloth / "dress-v5k-f10k.obj", None, None, []
        for suit in SUITS:
            path = DATA / "character_cc0" / "clothes_fitted" / f"{suit}.obj"
            yield suit, path, None, None, []
            yield f"{suit} with body", path, DATA / "character_cc0" / "body_rest.obj", None, []
    if "hard" in suites:
        for name, resolutions in HARD.items():
            for resolution in resolutions:
                for cut in ["regular", "irregular"]:
                    path = folder / f"{name}_{resolution}_{cut}.obj"
                    command = [UNSNARL, "make", name, "--resolution", resolution, "--triangulation", cut, "-o", path, "-q"]
                    subprocess.run([str(word) for word in command], check=True)
                    yield f"{name} {resolution} {cut}", path, None, None, []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", default=["real", "hard"])
    parser.add_argument("--only", default="")
    parser.add_argument("--steps", type=int, default=300)
    options = parser.parse_args()
    rows = []
    print(
        f"{'case':<34} {'unsnarl':>9} {'':>6} {'ipctk':>5} {'p99':>6} {'moved':>14} {'newton: build + steps':>16} {'result':>12} {'ratio':>7} {'steps':>7} {'cpu':>7}",
        flush=True,
    )
    with tempfile.TemporaryDirectory() as folder:
        for name, path, body, rest, flags in cases(options.suites, pathlib.Path(folder)):
            if options.only not in name:
                continue
            if not path.exists():
                print(f"{name}: skipped, no {path}")
                continue
            report = ours(path, body, rest, pathlib.Path(folder), flags)
            cloth = read_obj(path)
            rest_positions = read_obj(rest)[0] if rest else cloth[0]
            if report["before"]["clean"]:
                building, stepping, steps, result = Clock(), Clock(), 0, "clean input"
            else:
                body_mesh = read_obj(body) if body else None
                building, stepping, steps, result = newton_run(cloth, body_mesh, rest_positions, options.steps)
            row = {
                "case": name,
                "seconds": report["seconds"],
                "clean": report["clean"],
                "clean_by_ipctk": report["ipctk"],
                "steps": report["steps"],
                "stretch_p99": report["stretch"]["p99"],
                "stretch_p99_before": report["stretch_before"]["p99"],
                "moved": report["moved_vertices"],
                "vertices": len(cloth[0]),
                "processor_seconds": report["processor_seconds"],
                "newton_building_seconds": building.wall,
                "newton_stepping_seconds": stepping.wall,
                "newton_processor_seconds": building.processor + stepping.processor,
                "newton_steps": steps,
                "newton_result": result,
            }
            if steps > 0:
                row["ratio"] = report["seconds"] / (building.wall + stepping.wall)
                row["ratio_to_steps"] = report["seconds"] / stepping.wall
                row["processor_ratio"] = row["processor_seconds"] / row["newton_processor_seconds"]
            rows.append(row)
            ratios = [row.get(name) for name in ("ratio", "ratio_to_steps", "processor_ratio")]
            shown = " ".join("   none" if ratio is None else f"{ratio:>7.3f}" for ratio in ratios)
            print(
                f"{name:<34} {row['seconds']:>7.2f} s {'clean' if row['clean'] else 'LEFT':>6} {str(row['clean_by_ipctk']):>5}"
                f" {row['stretch_p99']:>6.3f} {row['moved']:>5} of {row['vertices']:<5} {building.wall:>5.2f} + {stepping.wall:>6.2f} s"
                f" {f'{result} {steps}':>14} {shown}",
                flush=True,
            )
    out = ROOT / "out" / "bench_fix.json"
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps(rows, indent=1))
    sys.exit(0 if print_bars(rows, options.steps) else 1)


def print_bars(rows, most_steps):
    """Every bar with the row that comes nearest to it; whether all are met."""
    timed = [row for row in rows if row["newton_steps"] > 0]
    hard = [row for row in timed if row["case"].rsplit(" ", 2)[0] in HARD]
    real = [row for row in timed if row not in hard]

    def share_of_all_steps(row):
        whole = row["newton_building_seconds"] + row["newton_stepping_seconds"] / row["newton_steps"] * most_steps
        return row["seconds"] / whole

    def largest(what, of, bound, among):
        if not among:
            return True
        worst = max(among, key=of)
        is_met = of(worst) <= bound
        print(f"{'met   ' if is_met else 'MISSED'} {what}: at most {of(worst):.3f}, {worst['case']} (bar: {bound:g})")
        return is_met

    left = lambda row: float(not (row["clean"] and row["clean_by_ipctk"]))
    stretch = lambda row: row["stretch_p99"] / max(STRETCH, row["stretch_p99_before"])
    return all(
        [
            largest("left by us or by ipctk", left, 0.0, rows),
            largest(f"99th percentile of stretch over that of the input, or over {STRETCH:.2f}", stretch, 1.0, rows),
            largest("real garments, share of Newton's processor time", lambda row: row["processor_ratio"], TIME_SHARE, real),
            largest(f"hard tangles, share of Newton's {most_steps} steps", share_of_all_steps, 1.0, hard),
        ]
    )


if __name__ == "__main__":
    main()
