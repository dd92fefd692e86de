"""Refined meshes against independent programs: Loop's masks by trimesh, intersections by ipctk.

    python tests/python/check_refine.py --unsnarl target/release/unsnarl
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import ipctk
import numpy as np
import trimesh

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
from cache_file import read  # noqa: E402
from obj_file import read_obj  # noqa: E402

SCENE = """
[scene]
frames = 8
[[cloth]]
sheet = { size = [0.4, 0.4], cells = [14, 14] }
rotation = [-90, 0, 0]
position = [0, 0.012, 0]
[[cloth]]
sheet = { size = [0.4, 0.4], cells = [11, 11] }
rotation = [-90, 20, 0]
position = [0, 0.016, 0]
[[body]]
sphere = { radius = 0.1 }
position = [0, -0.09, 0]
[output]
refine = 1
"""


def write_obj(path, points, faces):
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in points.tolist()]
    lines += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces.tolist()]
    path.write_text("\n".join(lines) + "\n")


def meets(points, faces):
    mesh = ipctk.CollisionMesh(points, ipctk.edges(faces), faces)
    return ipctk.has_intersections(mesh, points)


def refine(program, source, target, levels, *flags, status=0):
    command = [program, "refine", str(source), "-o", str(target), "--levels", str(levels), "--json", "-", *flags]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == status, f"{command}: exit {run.returncode}: {run.stderr}"
    return json.loads(run.stdout)


def loop_masks(program, folder):
    """Closed meshes of several valences: positions equal trimesh's to 1e-12, whatever the numbering."""
    shapes = {
        "icosahedron": trimesh.creation.icosahedron(),
        "box": trimesh.creation.box((1.0, 2.0, 0.5)),
        "ball": trimesh.creation.icosphere(subdivisions=2),
        "torus": trimesh.creation.torus(1.0, 0.3, major_sections=17, minor_sections=9),
        "capsule": trimesh.creation.uv_sphere(radius=0.5, count=[9, 12]),
    }
    for name, shape in shapes.items():
        shape.merge_vertices()
        points, faces = np.array(shape.vertices), np.array(shape.faces)
        for levels in (1, 2):
            write_obj(folder / "in.obj", points, faces)
            report = refine(program, folder / "in.obj", folder / "out.obj", levels)
            assert report["certified"], name
            ours, our_faces = read_obj(folder / "out.obj")
            theirs, their_faces = trimesh.remesh.subdivide_loop(points, faces, iterations=levels)
            assert len(ours) == len(theirs) and len(our_faces) == len(their_faces), name
            far = nearest(theirs, ours)
            assert far.max() < 1e-12, f"{name}, level {levels}: {far.max()}"
            assert not meets(ours, our_faces), name
    print(f"{len(shapes)} closed meshes at two levels: Loop's masks are trimesh's within 1e-12")


def nearest(points, queries):
    """Distances to the nearest of some points, one by one: a few thousand need no tree."""
    return np.array([np.abs(points - query).max(axis=1).min() for query in queries])


def stacks(program, folder):
    """Pleated sheets close above each other, cut differently: plain Loop intersects, ours does not."""
    for gap in (1e-6, 1e-5, 1e-4):
        points, faces = stack(gap)
        assert not meets(points, faces)
        write_obj(folder / "in.obj", points, faces)
        report = refine(program, folder / "in.obj", folder / "out.obj", 2)
        ours, our_faces = read_obj(folder / "out.obj")
        assert report["certified"] and not meets(ours, our_faces), gap
        assert report["levels"][0]["stopped_by_cloth"] > 0, gap
    # The control: whatever trimesh does at borders, the pleats inside cross.
    points, faces = stack(1e-5)
    theirs, their_faces = trimesh.remesh.subdivide_loop(points, faces, iterations=2)
    assert meets(theirs, their_faces), "plain Loop does not intersect: the test cannot fail"
    print("three stacks: plain Loop intersects, ours does not, by ipctk")


def stack(gap, count=10):
    row = count + 1
    grid = np.arange(row * row)
    u, v = (grid % row) / count, (grid // row) / count
    height = 0.08 * np.abs(4 * u - np.floor(4 * u) - 0.5)
    points, faces = [], []
    for layer in range(5):
        points.append(np.stack([u, height + gap * layer, v], axis=1))
        for cell in range(count * count):
            a = cell // count * row + cell % count
            a, b, c, d = a, a + 1, a + row + 1, a + row
            other = layer % 2 == 1 and (cell // count + cell % count) % 2 == 1
            own = [[a, b, c], [a, c, d]] if other else [[a, b, d], [b, c, d]]
            faces += [[corner + layer * row * row for corner in face] for face in own]
    return np.concatenate(points), np.array(faces)


def cache(program, folder):
    """Two sheets on a ball: every frame of the refined cache, bodies included, and of the one that sim wrote beside its frames."""
    (folder / "scene.toml").write_text(SCENE)
    subprocess.run([program, "-q", "sim", folder / "scene.toml", "-o", folder / "sim"], check=True)
    report = refine(program, folder / "sim", folder / "fine", 2)
    assert report["certified"]
    frames = 0
    for own in (folder / "fine", folder / "sim" / "refined"):
        mesh = read(own / "mesh.unsnarl")
        for path in sorted(own.glob("frame_*.unsnarl")):
            cloth = read(path)["positions"]
            bodies = read(own / path.name.replace("frame_", "bodies_"))["body_positions"]
            faces = np.vstack([mesh["triangles"].astype(int), mesh["body_triangles"].astype(int) + len(cloth)])
            assert not meets(np.vstack([cloth, bodies]), faces), path
            frames += 1
    assert frames == 18
    print(f"{frames} refined frames of two sheets on a ball: clean by ipctk")


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--unsnarl", default="target/release/unsnarl")
    program = str(pathlib.Path(flags.parse_args().unsnarl).resolve())
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        loop_masks(program, folder)
        stacks(program, folder)
        cache(program, folder)


main()
