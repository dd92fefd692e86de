"""Ten steps of Newton's VBD and Style3D solvers on garments made ready by `unsnarl fix --for newton`.

No gravity, no pins; the garment's shape after `fix` is its rest shape, as an importer without panels has it. Self-contact is on, with the
radius that the report names; where pairs are exempt, with the one that it says to be reachable. Edges are compared with their lengths
before the first step.

    benches/solvers [--only NAME]
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/python/support"))
sys.path.insert(0, str(ROOT / "benches/python"))
from fix import Newton  # noqa: E402
from obj_file import read_obj  # noqa: E402

DATA = ROOT / "assets"
UNSNARL = ROOT / "target" / "release" / "unsnarl"
TANGLES = ["closed", "bbii", "bibi", "ll", "bli", "layers-2", "pocket"]
STEPS = 10


class Vbd:
    """Newton's VBD solver on one mesh, ready to step."""

    def __init__(self, positions, triangles, radius):
        import newton
        import warp as wp

        builder = newton.ModelBuilder(up_axis=newton.Axis.Y, gravity=(0.0, 0.0, 0.0))
        builder.add_cloth_mesh(
            pos=wp.vec3(0.0, 0.0, 0.0),
            rot=wp.quat_identity(),
            scale=1.0,
            vel=wp.vec3(0.0, 0.0, 0.0),
            vertices=[wp.vec3(*place) for place in positions.tolist()],
            indices=triangles.ravel().tolist(),
            density=0.3,
            tri_ke=1.0e3,
            tri_ka=1.0e3,
            tri_kd=1.0e-6,
            edge_ke=1.0e-3,
            edge_kd=1.0e-4,
            particle_radius=radius,
        )
        builder.color(include_bending=True)
        self.model = builder.finalize()
        self.solver = newton.solvers.SolverVBD(
            self.model,
            iterations=10,
            particle_enable_self_contact=True,
            particle_self_contact_radius=radius,
            particle_self_contact_margin=1.5 * radius,
        )
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


def style3d_of(positions, triangles, radius):
    """Newton's Style3D solver as benches/fix sets it up, with this distance between layers."""
    ready = Newton((positions, triangles), None, positions)
    ready.solver.collision.radius = 0.5 * radius
    return ready


def edge_lengths(positions, triangles):
    corners = np.sort(np.vstack([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1)
    ends = np.unique(corners, axis=0)
    return np.linalg.norm(positions[ends[:, 0]] - positions[ends[:, 1]], axis=1)


def stepped(solver, positions, triangles):
    """The least and greatest ratio of edge lengths after the steps; NaN where a position is."""
    for _ in range(STEPS):
        solver.step()
    ratios = edge_lengths(solver.places(), triangles) / edge_lengths(positions, triangles)
    return float(ratios.min()), float(ratios.max())


def cases(folder):
    yield from sorted((ROOT / "samples").glob("*.obj"))
    for name in TANGLES:
        made = folder / f"{name}.obj"
        subprocess.run([UNSNARL, "-q", "make", name, "--resolution", "12", "-o", made], check=True)
        yield made
    yield from sorted((DATA / "character_cc0/clothes_fitted").glob("*.obj"))
    yield from sorted((DATA / "diffcloth_mit").glob("*.obj"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    import warp as wp

    wp.config.quiet = True
    wp.init()
    missed = 0
    with tempfile.TemporaryDirectory() as name, wp.ScopedDevice("cpu"):
        folder = pathlib.Path(name)
        for garment in cases(folder):
            if arguments.only not in garment.stem:
                continue
            target, report = folder / "fixed.obj", folder / "report.json"
            command = [UNSNARL, "-q", "fix", garment, "-o", target, "--for", "newton", "--json", report, "--keep-partial"]
            status = subprocess.run(command).returncode
            gap = json.loads(report.read_text())["gap"]
            if gap["exempt"]:
                # Newton knows no exemptions: a smaller radius, so that nothing is nearer at rest.
                status = subprocess.run(command + ["--thickness", repr(0.999 * gap["reachable"])]).returncode
            radius = json.loads(report.read_text())["solver"]["thickness"]
            positions, triangles = read_obj(target)
            vbd = stepped(Vbd(positions, triangles, radius), positions, triangles)
            style3d = stepped(style3d_of(positions, triangles, radius), positions, triangles)
            is_met = status == 0 and all(0.9 <= low <= high <= 1.1 for low, high in [vbd, style3d])
            missed += not is_met
            ends = [("VBD", vbd), ("Style3D", style3d)]
            spread = ", ".join(f"{solver} {low:.3f} to {high:.3f}" for solver, (low, high) in ends)
            word = "met   " if is_met else "MISSED"
            print(f"{word} {garment.name:34} status {status}, radius {1e3 * radius:.3f} mm, edges: {spread}", flush=True)
    print(f"{missed} missed")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
