"""trimesh in, fixed mesh out.

Two sheets that wave through each other are a trimesh; `fix` takes it as it is, and its result goes back into one.
"""

import numpy as np
import trimesh
import unsnarl

# %% A tangled mesh: a flat sheet, and one that waves through it.
x, z = np.meshgrid(np.arange(12) * 0.01, np.arange(12) * 0.01, indexing="ij")
flat = np.stack([x, 0 * x, z], axis=-1).reshape(-1, 3)
waves = np.stack([x, 0.004 + 0.006 * np.sin(60 * x) * np.sin(50 * z), z], axis=-1).reshape(-1, 3)
first = (np.arange(11)[:, None] * 12 + np.arange(11)).ravel()
F = np.concatenate([np.stack([first, first + 1, first + 12], 1), np.stack([first + 1, first + 13, first + 12], 1)])
mesh = trimesh.Trimesh(np.concatenate([flat, waves]), np.concatenate([F, F + 144]), process=False)

# %% What crosses?
report = unsnarl.check(mesh)
print(report, report.types)
assert not report.clean

# %% Untangle it.
result = unsnarl.fix(mesh)
print(result, result.report["displacement"])
assert result.clean
fixed = trimesh.Trimesh(result.V, mesh.faces, process=False)
fixed.export("fixed.obj")
