"""Rigid bodies with cloth, checked by other programs: no frame in which cloth meets itself, a rigid body or an obstacle by ipctk, and
exported instances in usd-core and pygltflib where the cache says.

    python tests/python/check_rigid.py --unsnarl target/release/unsnarl

With --long the whole scenes are simulated (release build); --keep FOLDER keeps their caches and pictures.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import ipctk
import numpy
import pygltflib
from pxr import Usd, UsdGeom

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
from cache_file import read  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Scene, changes for the short version.
SCENES = [
    ("blanket_on_boxes", ["scene.frames=14", "cloth.0.sheet.cells=[18,18]"]),
    ("hammock", ["scene.frames=14", "cloth.0.sheet.cells=[20,10]"]),
]


def turned(quaternion, points):
    """Points turned by a quaternion x, y, z, w."""
    axis, real = quaternion[:3], quaternion[3]
    across = 2.0 * numpy.cross(axis, points)
    return points + real * across + numpy.cross(axis, across)


def bodies(cache, info, mesh, frame):
    """Points and triangles of every rigid body at a frame."""
    rows = read(frame)["rigid_state"]
    for number, group in enumerate(info["rigid"]):
        first, count = group["bodies"]
        points, faces = mesh[f"shape{number}"], mesh[f"shape{number}_faces"].astype(int)
        for row in rows[first : first + count]:
            yield turned(row[3:7], points) + row[:3], faces


def meets(points, faces):
    mesh = ipctk.CollisionMesh(points, ipctk.edges(faces), faces)
    return ipctk.has_intersections(mesh, points)


def dirty_frames(cache):
    """Frames in which cloth meets itself, an obstacle or a rigid body; bodies that touch each other do not count."""
    info, mesh = json.loads((cache / "cache.json").read_text()), read(cache / "mesh.unsnarl")
    cloth = mesh["triangles"].astype(int)
    frames = sorted(cache.glob("frame_*.unsnarl"))
    dirty = []
    for frame in frames:
        points = read(frame)["positions"]
        others = list(bodies(cache, info, mesh, frame))
        if "body_triangles" in mesh:
            obstacles = read(cache / frame.name.replace("frame_", "bodies_"))["body_positions"]
            others.append((obstacles, mesh["body_triangles"].astype(int)))
        together = [(numpy.vstack([points, own]), numpy.vstack([cloth, faces + len(points)])) for own, faces in others]
        if any(meets(all_points, faces) for all_points, faces in together):
            dirty.append(frame.name)
    return len(frames), dirty


def check_usd(cache, path):
    info, mesh = json.loads((cache / "cache.json").read_text()), read(cache / "mesh.unsnarl")
    stage = Usd.Stage.Open(str(path))
    instances = [prim for prim in stage.Traverse() if prim.IsInstance()]
    frames = sorted(cache.glob("frame_*.unsnarl"))
    assert len(instances) == sum(group["bodies"][1] for group in info["rigid"])
    assert len(stage.GetPrototypes()) == len(info["rigid"])
    for number in (0, len(frames) // 2, len(frames) - 1):
        expected = list(bodies(cache, info, mesh, frames[number]))
        for prim, (points, _) in zip(instances, expected):
            inner = UsdGeom.Mesh(prim.GetPrototype().GetChildren()[0])
            matrix = numpy.array(UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(number))
            own = numpy.array(inner.GetPointsAttr().Get(), float)
            assert numpy.allclose(own @ matrix[:3, :3] + matrix[3, :3], points, atol=1e-6)
    print(f"usd-core: {len(instances)} instances of {len(info['rigid'])} prototypes are where the cache says")


def check_gltf(cache, path):
    info, mesh = json.loads((cache / "cache.json").read_text()), read(cache / "mesh.unsnarl")
    document = pygltflib.GLTF2().load(str(path))
    blob = document.binary_blob()

    def accessor(index):
        entry = document.accessors[index]
        view = document.bufferViews[entry.bufferView]
        width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[entry.type]
        return numpy.frombuffer(blob, numpy.float32, entry.count * width, view.byteOffset or 0).reshape(-1, width)

    frames = sorted(cache.glob("frame_*.unsnarl"))
    pieces = len(info["pieces"])
    assert len(document.meshes) == pieces + len(info["rigid"])
    paths = {}
    for channel in document.animations[0].channels:
        sampler = document.animations[0].samplers[channel.sampler]
        paths[channel.target.node, channel.target.path] = accessor(sampler.output)
    for number in (0, len(frames) - 1):
        expected = list(bodies(cache, info, mesh, frames[number]))
        for node, (points, _) in enumerate(expected, pieces):
            primitive = document.meshes[document.nodes[node].mesh].primitives[0]
            own = accessor(primitive.attributes.POSITION).astype(float)
            turn, shift = paths[node, "rotation"][number], paths[node, "translation"][number]
            assert numpy.allclose(turned(turn.astype(float), own) + shift, points, atol=1e-5)
    print(f"pygltflib: {len(document.nodes) - pieces} nodes of {len(info['rigid'])} meshes are where the cache says")


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--unsnarl", default="target/release/unsnarl")
    flags.add_argument("--long", action="store_true")
    flags.add_argument("--keep", help="folder for the caches and pictures")
    flags = flags.parse_args()
    failed = False
    for scene, changes in SCENES:
        with tempfile.TemporaryDirectory() as folder:
            cache = pathlib.Path(flags.keep or folder) / scene
            command = [flags.unsnarl, "sim", str(ROOT / "scenes" / f"{scene}.toml"), "-o", str(cache), "--json", "-", "-q"]
            if flags.keep:
                command += ["--picture", f"{cache}.png"]
            for change in [] if flags.long else changes:
                command += ["--set", change]
            run = subprocess.run(command, capture_output=True, text=True)
            if run.returncode != 0:
                sys.exit(f"{scene}: exit {run.returncode}: {run.stderr.strip()}")
            report = json.loads(run.stdout)
            count, dirty = dirty_frames(cache)
            ours = report["tangled_frames"] + report["tangled_steps"]
            print(
                f"{scene}: {report['vertices']} vertices, {count} frames, {report['steps']} steps in {report['seconds']:.1f} s; "
                f"with intersections: {ours} by unsnarl, {len(dirty)} by ipctk"
            )
            failed |= ours > 0 or len(dirty) > 0
            for ending, check in [("usda", check_usd), ("glb", check_gltf)]:
                path = pathlib.Path(folder) / f"out.{ending}"
                subprocess.run([flags.unsnarl, "-q", "export", str(cache), "-o", str(path)], check=True)
                check(cache, path)
    sys.exit(1 if failed else 0)


main()
