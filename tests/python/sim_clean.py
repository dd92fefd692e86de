"""Short versions of the collision scenes, checked frame by frame by ipctk: nothing may intersect.

Run with --unsnarl PATH. With --long the whole scenes are simulated (minutes each, release build).
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import ipctk
import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
from cache_file import read  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Scene, changes for the short version.
SCENES = [
    ("curtain_and_ball", ["scene.frames=12", "cloth.0.sheet.cells=[20,20]"]),
    ("tablecloth", ["scene.frames=14", "cloth.0.sheet.cells=[20,20]"]),
    ("rotating_sphere", ["scene.frames=14", "cloth.0.sheet.cells=[20,20]"]),
    ("ribbon_pile", ["scene.frames=14", "cloth.0.sheet.cells=[3,120]"]),
    ("twist", ["scene.frames=16", "cloth.0.sheet.cells=[10,20]"]),
    ("skirt_on_body", ["scene.frames=3"]),
    ("suit_on_body", ["scene.frames=2"]),
    ("five_layers_on_body", ["scene.frames=4"] + [f"cloth.{k}.sheet.cells=[12,14]" for k in range(5)]),
]


def clean_frames(cache):
    """Frames of a cache, and those in which cloth meets cloth or a body."""
    mesh = read(cache / "mesh.unsnarl")
    cloth = mesh["triangles"].astype(int)
    frames = sorted(cache.glob("frame_*.unsnarl"))
    dirty = []
    for frame in frames:
        points = read(frame)["positions"]
        cloth_count, faces = len(points), cloth
        if "body_triangles" in mesh:
            bodies = read(cache / frame.name.replace("frame_", "bodies_"))["body_positions"]
            faces = numpy.vstack([cloth, mesh["body_triangles"].astype(int) + cloth_count])
            points = numpy.vstack([points, bodies])
        edges = ipctk.edges(faces)
        checked = ipctk.CollisionMesh(points, edges, faces)
        if ipctk.has_intersections(checked, points):
            dirty.append(frame.name)
    return len(frames), dirty


def main():
    flags = argparse.ArgumentParser()
    flags.add_argument("--unsnarl", required=True)
    flags.add_argument("--long", action="store_true")
    flags.add_argument("--only")
    flags.add_argument("--keep", help="folder for the caches and pictures of a long run")
    flags = flags.parse_args()
    failed = False
    for scene, changes in SCENES:
        if flags.only and flags.only != scene:
            continue
        path = ROOT / "scenes" / f"{scene}.toml"
        with tempfile.TemporaryDirectory() as folder:
            cache = pathlib.Path(flags.keep or folder) / scene
            command = [flags.unsnarl, "sim", str(path), "-o", str(cache), "--json", "-", "-q"]
            if flags.keep:
                command += ["--picture", f"{cache}.png"]
            if not flags.long:
                for change in changes:
                    command += ["--set", change]
            run = subprocess.run(command, capture_output=True, text=True)
            if run.returncode != 0:
                print(f"{scene}: exit {run.returncode}: {run.stderr.strip()}")
                failed = True
                continue
            report = json.loads(run.stdout)
            count, dirty = clean_frames(cache)
            ours = report["tangled_frames"] + report["tangled_steps"]
            print(
                f"{scene}: {report['vertices']} vertices, {count} frames, {report['steps']} steps in {report['seconds']:.1f} s, "
                f"{report['collisions']} collisions, {report['impact_zones']} zones, {report['unresolved_collisions']} unresolved; "
                f"with intersections: {ours} by unsnarl, {len(dirty)} by ipctk"
            )
            failed |= ours > 0 or len(dirty) > 0
    sys.exit(1 if failed else 0)


main()
