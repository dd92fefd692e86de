"""Hand-over to a simulator that refuses cloth which starts out intersecting: Newton.

Newton takes points, flat triangle indices and a mass density. This script makes them of a fixed garment; where Newton is installed it
also builds the model, and without it the arrays are what is checked.
"""

import numpy as np
import unsnarl

# %% A garment that crosses itself.
x, z = np.meshgrid(np.arange(12) * 0.01, np.arange(12) * 0.01, indexing="ij")
flat = np.stack([x, 0 * x, z], axis=-1).reshape(-1, 3)
waves = np.stack([x, 0.004 + 0.006 * np.sin(60 * x) * np.sin(50 * z), z], axis=-1).reshape(-1, 3)
first = (np.arange(11)[:, None] * 12 + np.arange(11)).ravel()
F = np.concatenate([np.stack([first, first + 1, first + 12], 1), np.stack([first + 1, first + 13, first + 12], 1)])
V, F = np.concatenate([flat, waves]), np.concatenate([F, F + 144]).astype(np.int32)

# %% Untangle with the gap that Newton's self-contact radius wants, then round to the 32 bits that it computes with, and check
# those very numbers.
radius = 0.002
result = unsnarl.fix(V, F, gap=1.001 * radius)
points = result.V.astype(np.float32)
report = unsnarl.check(points, F, gap=radius)
assert result.keeps_gap and report.keeps_gap
print(f"clean in 32 bits, {1e3 * report.gap['certified']:.4f} mm apart")

# %% The model.
try:
    import newton
    import warp as wp
except ImportError:
    print("Newton is not installed: the arrays are ready, no model was built")
else:
    builder = newton.ModelBuilder()
    builder.add_cloth_mesh(
        pos=wp.vec3(0.0, 0.0, 0.0),
        rot=wp.quat_identity(),
        scale=1.0,
        vel=wp.vec3(0.0, 0.0, 0.0),
        vertices=[wp.vec3(*map(float, point)) for point in points],
        indices=F.reshape(-1).tolist(),
        density=0.15,
    )
    print(builder.finalize())
