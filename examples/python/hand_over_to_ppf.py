"""Hand-over to ppf-contact-solver: it computes in 32 bits, and refuses shells that cross or are nearer than their contact offsets.

This script makes a shell ready and checks the very 32-bit numbers that the solver will get. Run inside the solver's own environment
(its package is called `frontend`) it also builds the scene and simulates ten frames; elsewhere it stops after the check.
"""

import numpy as np
import unsnarl

# What the solver is told; `unsnarl fix --for ppf` has the same values.
CONTACT_GAP = 1e-3
CONTACT_OFFSET = 0.0

# %% Two sheets, one of which waves through the other.
count = 12
x, z = np.meshgrid(np.arange(count) * 0.01, np.arange(count) * 0.01, indexing="ij")
flat = np.stack([x, 0 * x, z], axis=-1).reshape(-1, 3)
waves = np.stack([x, 0.004 + 0.006 * np.sin(60 * x) * np.sin(50 * z), z], axis=-1).reshape(-1, 3)
first = (np.arange(count - 1)[:, None] * count + np.arange(count - 1)).ravel()
lower, upper = np.stack([first, first + 1, first + count], 1), np.stack([first + 1, first + count + 1, first + count], 1)
sheet = np.concatenate([lower, upper])
V, F = np.concatenate([flat, waves]), np.concatenate([sheet, sheet + count**2]).astype(np.int32)
assert not unsnarl.check(V, F).clean

# %% Untangle with the distance at which no barrier acts yet, and check what is left of it in 32 bits.
distance = 2 * CONTACT_OFFSET + CONTACT_GAP
result = unsnarl.fix(V, F, gap=1.001 * distance)
points = result.V.astype(np.float32)
report = unsnarl.check(points, F, gap=distance)
assert result.keeps_gap and report.keeps_gap
print(f"clean in 32 bits, {1e3 * report.gap['certified']:.4f} mm apart")

# %% The scene.
try:
    from frontend import App
except ImportError:
    print("ppf-contact-solver is not here: the arrays are ready, nothing was simulated")
else:
    app = App.create("untangled")
    app.asset.add.tri("cloth", points.astype(np.float64), F.astype(np.uint32))
    scene = app.scene.create()
    cloth = scene.add("cloth")
    cloth.param.set("contact-gap", CONTACT_GAP).set("contact-offset", CONTACT_OFFSET)
    session = app.session.create(scene.build())
    session.param.set("frames", 10).set("dt", 0.01)
    session.build().start(blocking=True)
