"""The hanging sheet in other programs: one JSON line per program.

A square sheet of 1 m starts level, is held by one edge and swings for the given time, without air and without
collisions. Prints wall seconds per simulated second, how much edges are stretched (mean, 99th percentile and largest, each at the
frame where it is worst), and how low the sheet hangs at the end, which tells whether it swung.

`newton-style3d` has 0.15 kg/m2 and the fabric of Newton's own example of that solver; `blender` has Blender's default fabric and
mass (0.3 kg a vertex). With a fabric as stiff as ours for its mass (`newton-stiff`, `blender-light`) both stop their
linear solves before the sheet has moved: it takes as long, stretches less and does not fall.

    python benches/python/dynamics_peers.py --side 100 --seconds 1 --peers newton-vbd newton-style3d newton-stiff blender
"""

import argparse
import json
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "2")

import numpy as np


def stretch(points, rest, edges):
    now = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
    then = np.linalg.norm(rest[edges[:, 0]] - rest[edges[:, 1]], axis=1)
    ratio = now / then
    return np.array([ratio.mean(), np.quantile(ratio, 0.99), ratio.max()])


def stretch_words(worst):
    return {"stretch_mean": float(worst[0]), "stretch_p99": float(worst[1]), "stretch_max": float(worst[2])}


def grid_edges(side):
    index = np.arange(side * side).reshape(side, side)
    across = np.stack([index[:, :-1].ravel(), index[:, 1:].ravel()], 1)
    along = np.stack([index[:-1].ravel(), index[1:].ravel()], 1)
    return np.concatenate([across, along])


def newton_sheet(solver_name, side, seconds):
    import newton
    import warp as wp

    wp.config.quiet = True
    wp.init()
    with wp.ScopedDevice("cpu"):
        cell = 1.0 / (side - 1)
        builder = newton.ModelBuilder()
        common = dict(
            pos=wp.vec3(0.0, 0.0, 2.0),
            rot=wp.quat_identity(),
            vel=wp.vec3(0.0, 0.0, 0.0),
            dim_x=side - 1,
            dim_y=side - 1,
            cell_x=cell,
            cell_y=cell,
            mass=0.15 / (side * side),
            fix_left=True,
            particle_radius=0.2 * cell,
        )
        substeps, iterations = 10, 10
        if solver_name in ("style3d", "stiff"):
            stretch_ke = (3.0e3, 2.4e3, 6.0e1) if solver_name == "stiff" else (1.0e2, 1.0e2, 1.0e1)
            from newton.solvers import style3d

            newton.solvers.SolverStyle3D.register_custom_attributes(builder)
            style3d.add_cloth_grid(
                builder,
                **common,
                tri_aniso_ke=wp.vec3(*stretch_ke),
                edge_aniso_ke=wp.vec3(8e-6, 8e-6, 8e-6),
            )
            substeps = 2
        elif solver_name == "xpbd":
            builder.add_cloth_grid(**common, edge_ke=8e-6, edge_kd=0.0, add_springs=True, spring_ke=3.0e3, spring_kd=0.0)
        else:
            builder.add_cloth_grid(**common, tri_ke=3.0e3, tri_ka=3.0e3, tri_kd=1e-3, edge_ke=8e-6, edge_kd=0.0)
            builder.color(include_bending=True)
        model = builder.finalize()
        model.set_gravity((0.0, 0.0, -9.81)) if hasattr(model, "set_gravity") else None
        solver = {
            "vbd": newton.solvers.SolverVBD,
            "xpbd": newton.solvers.SolverXPBD,
            "style3d": newton.solvers.SolverStyle3D,
            "stiff": newton.solvers.SolverStyle3D,
        }[solver_name](model=model, iterations=iterations)
        one, two, control = model.state(), model.state(), model.control()
        rest = one.particle_q.numpy().copy()
        contacts = newton.CollisionPipeline(model).contacts()

        def frame(one, two):
            for _ in range(substeps):
                one.clear_forces()
                solver.step(one, two, control, contacts, 1.0 / 60.0 / substeps)
                one, two = two, one
            return one, two

        one, two = frame(one, two)  # compiles
        frames = max(1, round(60 * seconds) - 1)
        wall, worst, edges = 0.0, np.zeros(3), grid_edges(side)
        for _ in range(frames):
            start = time.perf_counter()
            one, two = frame(one, two)
            points = one.particle_q.numpy()
            wall += time.perf_counter() - start
            worst = np.maximum(worst, stretch(points, rest, edges))
    row = {"program": f"newton {newton.__version__} {solver_name}", "vertices": side * side}
    row["seconds_per_simulated_second"] = wall / (frames / 60.0)
    row.update(stretch_words(worst))
    row["lowest"] = float(points[:, 2].min() - rest[0, 2])
    return row


def blender_sheet(side, seconds, mass=None):
    import bpy

    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.mesh.primitive_grid_add(x_subdivisions=side - 1, y_subdivisions=side - 1, size=1.0)
    sheet = bpy.context.object
    rest = np.array([vertex.co[:] for vertex in sheet.data.vertices])
    edges = np.array([edge.vertices[:] for edge in sheet.data.edges])
    group = sheet.vertex_groups.new(name="held")
    low = rest[:, 0].min()
    group.add([int(i) for i in np.nonzero(rest[:, 0] < low + 1e-6)[0]], 1.0, "REPLACE")
    cloth = sheet.modifiers.new("cloth", "CLOTH")
    if mass is not None:
        cloth.settings.mass = mass
    cloth.settings.quality = 5
    cloth.settings.air_damping = 0.0
    cloth.settings.vertex_group_mass = "held"
    cloth.collision_settings.use_collision = False
    scene = bpy.context.scene
    scene.render.fps = 24
    scene.render.threads_mode = "FIXED"
    scene.render.threads = 2
    frames = round(24 * seconds)
    scene.frame_end = frames + 1
    cloth.point_cache.frame_end = frames + 1
    scene.frame_set(1)
    wall, worst = 0.0, np.zeros(3)
    for frame in range(2, frames + 2):
        start = time.perf_counter()
        scene.frame_set(frame)
        bpy.context.view_layer.update()
        wall += time.perf_counter() - start
        evaluated = sheet.evaluated_get(bpy.context.evaluated_depsgraph_get())
        points = np.empty(3 * len(rest), dtype=np.float32)
        evaluated.data.vertices.foreach_get("co", points)
        points = points.reshape(-1, 3).astype(float)
        worst = np.maximum(worst, stretch(points, rest, edges))
    name = f"blender {bpy.app.version_string}" + ("" if mass is None else " light")
    row = {"program": name, "vertices": len(points)}
    row["seconds_per_simulated_second"] = wall / (frames / 24.0)
    row.update(stretch_words(worst))
    row["lowest"] = float(points[:, 2].min())
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--side", type=int, default=100, help="vertices along a side")
    parser.add_argument("--seconds", type=float, default=1.0, help="simulated seconds")
    names = ["newton-vbd", "newton-xpbd", "newton-style3d", "newton-stiff", "blender", "blender-light"]
    parser.add_argument("--peers", nargs="+", choices=names, default=names)
    arguments = parser.parse_args()
    for name in arguments.peers:
        if name == "blender":
            row = blender_sheet(arguments.side, arguments.seconds)
        elif name == "blender-light":
            row = blender_sheet(arguments.side, arguments.seconds, 0.15 / arguments.side**2)
        else:
            row = newton_sheet(name.split("-")[1], arguments.side, arguments.seconds)
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
