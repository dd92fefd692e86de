"""Twist and ribbon here, in Newton and in Blender: time, and frames that intersect by ipctk.

`benches/collision` runs it. The same mesh, thickness and motion of the held vertices for all: they are read from the cache that
`unsnarl sim` wrote. Two threads each, self-collision on. Steps a frame: five here and in Blender (its default quality), ten of ten
iterations in Newton (its own twist example takes ten of four, 60 frames a second). Fabric: here the scene's, Newton's in its examples'
range, Blender's default (0.3 kg a vertex; with the true mass its default drag of the air keeps the ribbon from falling at all, and
nothing collides).
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("OMP_NUM_THREADS", "2")

import ipctk
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/python/support"))
from cache_file import read  # noqa: E402

FRAME_RATE = 24
FLOOR = 0.0
THICKNESS = {"twist": 0.001, "ribbon_pile": 0.0015}


def ours(program, scene, folder, changes):
    cache = folder / scene
    command = [program, "sim", str(ROOT / "scenes" / f"{scene}.toml"), "-o", str(cache), "--json", "-", "-q", "--threads", "2"]
    for change in changes:
        command += ["--set", change]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    mesh = read(cache / "mesh.unsnarl")
    frames = [read(path)["positions"] for path in sorted(cache.glob("frame_*.unsnarl"))]
    return report["seconds"], mesh["triangles"].astype(int), frames


def held_vertices(frames, scene):
    """In the twist the first and last row; in the ribbon nothing."""
    if scene != "twist":
        return np.array([], dtype=int)
    heights = frames[0][:, 1]
    return np.nonzero(np.abs(np.abs(heights) - heights.max()) < 1e-9)[0]


def newton_run(scene, faces, frames, held):
    import newton
    import warp as wp

    wp.config.quiet = True
    wp.init()
    with wp.ScopedDevice("cpu"):
        builder = newton.ModelBuilder(up_axis=newton.Axis.Y, gravity=(0.0, 0.0 if scene == "twist" else -9.81, 0.0))
        builder.add_cloth_mesh(
            pos=wp.vec3(0.0, 0.0, 0.0),
            rot=wp.quat_identity(),
            scale=1.0,
            vel=wp.vec3(0.0, 0.0, 0.0),
            vertices=[wp.vec3(*point) for point in frames[0]],
            indices=faces.ravel().tolist(),
            density=0.2,
            tri_ke=1.0e3,
            tri_ka=1.0e3,
            tri_kd=1e-4,
            edge_ke=1e-4,
            edge_kd=1e-3,
            particle_radius=THICKNESS[scene],
        )
        if scene != "twist":
            builder.add_ground_plane()
        builder.color(include_bending=True)
        model = builder.finalize()
        flags = model.particle_flags.numpy()
        for vertex in held:
            flags[vertex] = 0
        model.particle_flags = wp.array(flags)
        solver = newton.solvers.SolverVBD(
            model,
            iterations=10,
            particle_enable_self_contact=True,
            particle_self_contact_radius=THICKNESS[scene],
            particle_self_contact_margin=1.5 * THICKNESS[scene],
        )
        one, two, control = model.state(), model.state(), model.control()
        pipeline = newton.CollisionPipeline(model)
        contacts = pipeline.contacts()
        substeps = 10
        out = [frames[0]]

        def frame(number, one, two):
            for substep in range(substeps):
                share = (substep + 1) / substeps
                one.clear_forces()
                for state in (one, two):
                    state.particle_q.numpy()[held] = (1 - share) * frames[number - 1][held] + share * frames[number][held]
                pipeline.collide(one, contacts)
                solver.step(one, two, control, contacts, 1.0 / FRAME_RATE / substeps)
                one, two = two, one
            return one, two

        # The first frame compiles kernels; it is not counted.
        one, two = frame(1, one, two)
        out.append(one.particle_q.numpy().copy())
        start = time.perf_counter()
        for number in range(2, len(frames)):
            one, two = frame(number, one, two)
            out.append(one.particle_q.numpy().copy())
        wall = (time.perf_counter() - start) * (len(frames) - 1) / max(1, len(frames) - 2)
    return f"newton {newton.__version__} VBD", wall, out


def write_pc2(path, frames):
    import struct

    with open(path, "wb") as out:
        out.write(struct.pack("<12siiffi", b"POINTCACHE2\0", 1, len(frames[0]), 0.0, 1.0, len(frames)))
        for points in frames:
            out.write(np.asarray(points, dtype="<f4").tobytes())


def blender_run(scene, faces, frames, held, folder):
    import bpy

    bpy.ops.wm.read_factory_settings(use_empty=True)
    mesh = bpy.data.meshes.new("cloth")
    mesh.from_pydata([tuple(point) for point in frames[0]], [], [tuple(face) for face in faces.tolist()])
    sheet = bpy.data.objects.new("cloth", mesh)
    bpy.context.collection.objects.link(sheet)
    scene_data = bpy.context.scene
    scene_data.gravity = (0.0, 0.0 if scene == "twist" else -9.81, 0.0)
    if len(held):
        path = folder / "motion.pc2"
        write_pc2(path, frames)
        motion = sheet.modifiers.new("motion", "MESH_CACHE")
        motion.cache_format = "PC2"
        motion.filepath = str(path)
        motion.frame_start = 1.0
        group = sheet.vertex_groups.new(name="held")
        group.add([int(vertex) for vertex in held], 1.0, "REPLACE")
    cloth = sheet.modifiers.new("cloth", "CLOTH")
    cloth.settings.quality = 5
    if len(held):
        cloth.settings.vertex_group_mass = "held"
    cloth.collision_settings.use_collision = scene != "twist"
    cloth.collision_settings.use_self_collision = True
    cloth.collision_settings.self_distance_min = THICKNESS[scene]
    cloth.collision_settings.distance_min = THICKNESS[scene]
    cloth.collision_settings.collision_quality = 5
    if scene != "twist":
        floor = bpy.data.meshes.new("floor")
        floor.from_pydata([(-5, FLOOR, -5), (-5, FLOOR, 5), (5, FLOOR, 5), (5, FLOOR, -5)], [], [(0, 1, 2, 3)])
        ground = bpy.data.objects.new("floor", floor)
        bpy.context.collection.objects.link(ground)
        ground.modifiers.new("collision", "COLLISION")
    scene_data.render.fps = FRAME_RATE
    scene_data.render.threads_mode = "FIXED"
    scene_data.render.threads = 2
    scene_data.frame_end = cloth.point_cache.frame_end = len(frames)
    scene_data.frame_set(1)
    out = [frames[0]]
    start = time.perf_counter()
    for frame in range(2, len(frames) + 1):
        scene_data.frame_set(frame)
        evaluated = sheet.evaluated_get(bpy.context.evaluated_depsgraph_get())
        points = np.empty(3 * len(frames[0]), dtype=np.float32)
        evaluated.data.vertices.foreach_get("co", points)
        out.append(points.reshape(-1, 3).astype(float))
    return f"blender {bpy.app.version_string}", time.perf_counter() - start, out


def intersecting(faces, frames):
    edges = ipctk.edges(faces)
    mesh = ipctk.CollisionMesh(frames[0], edges, faces)
    return sum(bool(ipctk.has_intersections(mesh, np.asarray(points, dtype=float))) for points in frames)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenes", nargs="+", choices=["twist", "ribbon_pile"])
    parser.add_argument("--unsnarl", default=str(ROOT / "target/release/unsnarl"))
    parser.add_argument("--frames", type=int)
    parser.add_argument("--peers", nargs="*", default=["newton", "blender"])
    arguments = parser.parse_args()
    changes = [f"scene.frames={arguments.frames}"] if arguments.frames else []
    print(f"{'scene':12} {'program':24} {'vertices':>8} {'frames':>6} {'seconds':>9} {'times ours':>10} {'frames with intersections':>26}")
    for scene in arguments.scenes:
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            seconds, faces, frames = ours(arguments.unsnarl, scene, folder, changes)
            held = held_vertices(frames, scene)
            rows = [("unsnarl", seconds, frames)]
            if "newton" in arguments.peers:
                rows.append(newton_run(scene, faces, frames, held))
            if "blender" in arguments.peers:
                rows.append(blender_run(scene, faces, frames, held, folder))
            for name, wall, points in rows:
                count = intersecting(faces, points)
                print(
                    f"{scene:12} {name:24} {len(frames[0]):8} {len(points) - 1:6} {wall:9.1f} {wall / seconds:10.2f} {count:26}",
                    flush=True,
                )


main()
