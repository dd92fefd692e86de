"""The bars of `unsnarl trim` on cuts by balls and rings at random places of many meshes; see benches/trims."""

import argparse
import json
import os
import pathlib
import subprocess
import tempfile

import numpy as np
import trimesh

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("UNSNARL", ROOT / "target/release/unsnarl"))
DATA = pathlib.Path(os.environ.get("UNSNARL_DATA", ROOT.parent / "shared/data"))
MESHES = [
    "cgal_cc0/elephant.off", "cgal_cc0/femur.off", "character_cc0/body_rest.obj", "diffcloth_mit/tshirt1900.obj",
    "diffcloth_mit/skirt3448.obj", "character_cc0/clothes_fitted/female_casualsuit01.obj", "codim_ipc_apache2/bunny3K.obj",
    "codim_ipc_apache2/Kick/shell0.obj", "makehuman_cc0/body/male_generic.obj",
    "scalable_ccd_apache2/armadillo-rollers/frames/326.ply",
]


def cutter(random, size, center, kind):
    """A ball, or a ring turned at random."""
    if kind == "ball":
        body = trimesh.creation.icosphere(4, radius=random.uniform(0.1, 0.35) * size)
    else:
        radius = random.uniform(0.15, 0.35) * size
        body = trimesh.creation.torus(radius, radius * random.uniform(0.3, 0.7), 96, 48)
        body.apply_transform(trimesh.transformations.random_rotation_matrix(random.random(3)))
    body.apply_translation(center)
    return body


def border_degrees(path):
    """Border edges at every border node of a result, counted here: two where borders are simple."""
    found = trimesh.load(path, process=False, force="mesh")
    edges, counts = np.unique(np.sort(found.edges, axis=1), axis=0, return_counts=True)
    degrees = np.bincount(edges[counts == 1].ravel(), minlength=len(found.vertices))
    return degrees[degrees > 0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--folder", type=pathlib.Path, help="keep cutters and results here")
    flags = parser.parse_args()
    random = np.random.default_rng(flags.seed)
    met = cuts = 0
    print("| mesh | cut | border nodes | that lag | farthest, edges | angles above 130 | smallest and largest "
          "angle | the input there | border simple | seconds |\n" + "|---" * 10 + "|")
    for name in MESHES:
        mesh_path = next((base / name for base in (ROOT / "assets", DATA) if (base / name).exists()), None)
        if mesh_path is None:
            continue
        mesh = trimesh.load(mesh_path, process=False, force="mesh")
        for kind in ("ball", "ring"):
            center = mesh.vertices[random.integers(len(mesh.vertices))]
            body = cutter(random, mesh.extents.max(), center, kind)
            keep = ("inside", "outside")[int(random.integers(2))]
            with tempfile.TemporaryDirectory() as scratch:
                folder = flags.folder / f"{flags.seed}_{mesh_path.stem}_{kind}" if flags.folder else pathlib.Path(scratch)
                folder.mkdir(parents=True, exist_ok=True)
                by, out, report = (folder / file for file in ("by.obj", "out.obj", "report.json"))
                body.export(by)
                command = [PROGRAM, "trim", mesh_path, "--by", by, "--keep", keep, "-o", out, "--json", report, "-q"]
                done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
                if done.returncode != 0:
                    print(f"| {mesh_path.stem} | {kind}, {keep} | {done.stderr.strip()} |", flush=True)
                    continue
                found, degrees = json.loads(report.read_text()), border_degrees(out)
            border, (after, before, _) = found["border"], found["angles"]
            is_simple = bool((degrees == 2).all())
            cuts += 1
            met += is_simple and border["lagging_nodes"] == 0 and after["above_130"] == 0
            row = [mesh_path.stem, f"{kind}, {keep}", border["nodes"], border["lagging_nodes"], f"{border['largest_gap_in_edges']:.4f}"]
            spread = [f"{angles['smallest']:.2f}, {angles['largest']:.1f}" for angles in (after, before)]
            row += [after["above_130"], *spread, "yes" if is_simple else "no", f"{found['seconds']:.1f}"]
            print("| " + " | ".join(map(str, row)) + " |", flush=True)
    print(f"\n{met} of {cuts} cuts meet all bars")


if __name__ == "__main__":
    main()
