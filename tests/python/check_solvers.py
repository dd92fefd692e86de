"""Garments made ready by `unsnarl fix --for SOLVER`, judged by the solvers: refused before, accepted after.

For bundled samples, made tangles and real garments. libuipc judges by its own sanity check (package
pyuipc, engine "none": no graphics card). ipctk finds intersections and measures the smallest distance. The rules of
ppf-contact-solver and Codim-IPC are written here from their documentation; docs/solvers.md names the pages.

    python tests/python/check_solvers.py --unsnarl target/release/unsnarl [--real all]
"""

import argparse
import contextlib
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import ipctk
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/python/support"))
from obj_file import read_obj  # noqa: E402

PYUIPC = "pyuipc==0.0.29"
DATA = ROOT / "assets"
TANGLES = ["closed", "closed-fold", "ll", "bbii", "bbii-corner", "bibi", "bli", "exploded-central", "layers-2", "pocket"]
REAL = ["diffcloth_mit/skirt3448.obj", "character_cc0/clothes_fitted/male_casualsuit02.obj"]
REST = {"tshirt_folded.obj": ROOT / "samples" / "tshirt_rest.obj"}


def uipc():
    """The package, installed on first use. Only its core is needed, not what its viewers depend on."""
    if importlib.util.find_spec("uipc") is None:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run(pip + [PYUIPC], check=True)
    import uipc

    uipc.Logger.set_level(uipc.Logger.Level.Critical)
    return uipc


@contextlib.contextmanager
def silence():
    """Keeps what a library prints from the standard output."""
    kept = os.dup(1)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        try:
            yield
        finally:
            os.dup2(kept, 1)
            os.close(kept)


def libuipc_accepts(positions, triangles, thickness):
    """Whether libuipc begins with this cloth: its sanity check finds no intersection and nothing too close."""
    package = uipc()
    from uipc.constitution import NeoHookeanShell
    from uipc.geometry import label_surface, trimesh

    with tempfile.TemporaryDirectory() as workspace, silence():
        engine = package.Engine("none", workspace)
        world = package.World(engine)
        config = package.Scene.default_config()
        config["sanity_check"]["mode"] = "quiet"
        scene = package.Scene(config)
        mesh = trimesh(positions, triangles.astype(np.int32))
        label_surface(mesh)
        NeoHookeanShell().apply_to(mesh, thickness=thickness)
        scene.objects().create("cloth").geometries().create(mesh)
        world.init(scene)
        return world.is_valid()


def measured(positions, triangles, reach):
    """Whether ipctk finds an intersection, and the smallest distance below a reach that it finds."""
    mesh = ipctk.CollisionMesh(positions, ipctk.edges(triangles), triangles)
    collisions = ipctk.NormalCollisions()
    collisions.build(mesh, positions, reach)
    distance = np.sqrt(collisions.compute_minimum_distance(mesh, positions)) if len(collisions) else np.inf
    return ipctk.has_intersections(mesh, positions), min(distance, reach)


def ppf_accepts(crosses, distance, offset):
    """ppf-contact-solver: a scene starts without intersections, farther apart than the contact offsets of both sides."""
    return not crosses and distance > 2.0 * offset


def codim_ipc_accepts(crosses, distance, thickness):
    """Codim-IPC: distances stay above the offset of codimensional surfaces, from the first configuration on."""
    return not crosses and distance > thickness


def fixed(unsnarl, garment, folder, options):
    """What `fix --for libuipc` makes of a garment: its status, its report, the mesh."""
    target, report = folder / "fixed.obj", folder / "report.json"
    target.unlink(missing_ok=True)
    command = [unsnarl, "-q", "fix", garment, "-o", target, "--for", "libuipc", "--json", report] + options
    if garment.name in REST:
        command += ["--rest", REST[garment.name]]
    status = subprocess.run(command).returncode
    mesh = read_obj(target) if target.exists() else None
    return status, json.loads(report.read_text()), mesh


def judge(unsnarl, garment, folder):
    """The words of what is wrong; none where every solver accepts."""
    wrong = []
    before = read_obj(garment)
    crosses, distance = measured(*before, 0.00201)
    is_ready = not crosses and distance > 0.002
    if not is_ready and libuipc_accepts(*before, 0.001):
        wrong.append("libuipc accepts the input, which it should not")
    status, report, mesh = fixed(unsnarl, garment, folder, [])
    gap, thickness = report["gap"], report["solver"]["thickness"]
    if gap["exempt"]:
        # libuipc knows no exemptions: thinner cloth, so that nothing is nearer at rest.
        thickness = 0.499 * gap["reachable"]
        status, report, mesh = fixed(unsnarl, garment, folder, ["--thickness", repr(thickness)])
        gap = report["gap"]
    if status != 0:
        return [f"status {status}, {gap['pairs_below']} pairs below {gap['asked']}"]
    if not libuipc_accepts(*mesh, thickness):
        wrong.append(f"libuipc refuses it with a thickness of {thickness}")
    crosses, distance = measured(*mesh, 2.0 * gap["certified"])
    if crosses or distance < (1.0 - 1e-9) * gap["certified"]:
        wrong.append(f"ipctk: crosses {crosses}, distance {distance}, certified {gap['certified']}")
    if distance > (1.0 + 2e-3) * gap["certified"]:
        wrong.append(f"ipctk measures {distance}, more than the certified {gap['certified']}")
    if not ppf_accepts(crosses, distance, 0.5 * gap["asked"] - 1e-9):
        wrong.append("the rules of ppf-contact-solver do not hold")
    if not codim_ipc_accepts(crosses, distance, gap["asked"] - 1e-9):
        wrong.append("the rules of Codim-IPC do not hold")
    print(f"{garment.name}: gap {1e3 * gap['certified']:.4f} mm, exempt {gap['exempt']}, thickness {1e3 * thickness:.4f} mm")
    return wrong


def cases(unsnarl, folder, real):
    yield from sorted((ROOT / "samples").glob("*.obj"))
    for name in TANGLES:
        made = folder / f"{name}.obj"
        subprocess.run([unsnarl, "-q", "make", name, "--resolution", "12", "-o", made], check=True)
        yield made
    if real == "all":
        yield from sorted((DATA / "character_cc0/clothes_fitted").glob("*.obj"))
        yield from sorted((DATA / "diffcloth_mit").glob("*.obj"))
    else:
        yield from (DATA / name for name in REAL)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--unsnarl", required=True)
    parser.add_argument("--real", choices=["some", "all"], default="some")
    arguments = parser.parse_args()
    failures, count = 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for garment in cases(arguments.unsnarl, folder, arguments.real):
            count += 1
            wrong = judge(arguments.unsnarl, garment, folder)
            failures += bool(wrong)
            for line in wrong:
                print(f"FAILED: {garment.name}: {line}")
    print(f"{count - failures} of {count} are accepted by every solver")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
