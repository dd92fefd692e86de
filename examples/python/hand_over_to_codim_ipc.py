"""Hand-over to Codim-IPC: it reads OBJ files, and its barrier needs cloth that starts apart.

    python hand_over_to_codim_ipc.py ready.obj       # in Projects/FEMShell of a built Codim-IPC

Elsewhere the file is written and checked, and nothing is simulated.
"""

import pathlib
import sys

import numpy as np
import unsnarl

# What the solver is told: the distance from which the barrier acts, and the offset of the surface.
BARRIER = 1e-3
OFFSET = 0.0

# %% Two sheets, one of which waves through the other.
count = 12
x, z = np.meshgrid(np.arange(count) * 0.01, np.arange(count) * 0.01, indexing="ij")
flat = np.stack([x, 0 * x, z], axis=-1).reshape(-1, 3)
waves = np.stack([x, 0.004 + 0.006 * np.sin(60 * x) * np.sin(50 * z), z], axis=-1).reshape(-1, 3)
first = (np.arange(count - 1)[:, None] * count + np.arange(count - 1)).ravel()
lower, upper = np.stack([first, first + 1, first + count], 1), np.stack([first + 1, first + count + 1, first + count], 1)
sheet = np.concatenate([lower, upper])
V, F = np.concatenate([flat, waves]), np.concatenate([sheet, sheet + count**2]).astype(np.int32)

# %% Untangle, with nothing inside the reach of the barrier, and write every digit.
result = unsnarl.fix(V, F, gap=BARRIER + OFFSET)
assert result.keeps_gap
rows = [f"v {x!r} {y!r} {z!r}" for x, y, z in result.V.tolist()] + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in F.tolist()]
path = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "ready.obj")
path.write_text("\n".join(rows) + "\n")
print(f"{path}: clean, {1e3 * result.gap['certified']:.4f} mm apart")

# %% Simulate: ten frames of 40 ms. Its scripts find the solver two folders up.
sys.path.insert(0, "../../Python")
try:
    import Drivers
    from JGSL import Vector3d
except ImportError:
    print("Codim-IPC is not here: nothing was simulated")
else:
    simulation = Drivers.FEMDiscreteShellBase("double", 3)
    nothing, once = Vector3d(0, 0, 0), Vector3d(1, 1, 1)
    simulation.add_garment_3D(str(path), nothing, once, nothing, Vector3d(1, 0, 0), 0)
    simulation.dt = simulation.frame_dt = 0.04
    simulation.frame_num = 10
    simulation.withCollision = True
    cotton = 0
    simulation.initialize(
        simulation.cloth_density_iso[cotton],
        simulation.cloth_Ebase_iso[cotton],
        simulation.cloth_nubase_iso[cotton],
        simulation.cloth_thickness_iso[cotton],
        0,
    )
    simulation.initialize_OIPC(BARRIER, OFFSET)
    simulation.run()
