"""A loop over a data set: every sample is checked, mended where it crosses, and dropped where it cannot be.

For more than a few thousand samples, or more than one machine, see `python -m unsnarl.batch`.
"""

import numpy as np
import unsnarl

# %% A made data set: sheets over a plane, some of which dip through it.
x, z = np.meshgrid(np.arange(10) * 0.02, np.arange(10) * 0.02, indexing="ij")
first = (np.arange(9)[:, None] * 10 + np.arange(9)).ravel()
F = np.concatenate([np.stack([first, first + 1, first + 10], 1), np.stack([first + 1, first + 11, first + 10], 1)])
F = F.astype(np.int32)
ground = np.stack([3 * x - 0.2, 0 * x, 3 * z - 0.2], axis=-1).reshape(-1, 3)


def sample(seed):
    random = np.random.default_rng(seed)
    heights = 0.01 + random.uniform(0, 0.02) * np.sin(random.uniform(10, 40) * x) * np.sin(random.uniform(10, 40) * z)
    return np.stack([x, heights, z], axis=-1).reshape(-1, 3)


# %% The loop. Arrays that are float64 and int32 are borrowed, nothing is copied on the way in.
kept = []
for seed in range(8):
    V = sample(seed)
    if not unsnarl.check(V, F, body=(ground, F)).clean:
        result = unsnarl.fix(V, F, body=(ground, F), max_seconds=30)
        if not result.clean:
            continue
        V = result.V
    kept.append(V)
print(f"{len(kept)} of 8 samples are clean")
assert all(unsnarl.check(V, F, body=(ground, F)).clean for V in kept) and kept
