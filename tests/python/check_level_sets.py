"""Level sets exported as NRRD, read by pynrrd: every sample against the closed-form distance of a box.

The box has three different sides and lies off the origin, so that swapped axes or a shifted origin would show.
Usage: check_level_sets.py --unsnarl PATH
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import nrrd
import numpy as np

LOW = np.array([0.1, -0.3, 0.25])
HIGH = np.array([0.5, 0.6, 0.55])
SPACING = 0.03
HALF_WIDTH = 3 * SPACING


def box_text() -> str:
    corners = [[(LOW, HIGH)[corner >> axis & 1][axis] for axis in range(3)] for corner in range(8)]
    quads = ["1 3 4 2", "5 6 8 7", "1 2 6 5", "3 7 8 4", "1 5 7 3", "2 4 8 6"]
    return "".join(f"v {x} {y} {z}\n" for x, y, z in corners) + "".join(f"f {quad}\n" for quad in quads)


def distance(points: np.ndarray) -> np.ndarray:
    away = np.abs(points - (LOW + HIGH) / 2) - (HIGH - LOW) / 2
    return np.linalg.norm(np.maximum(away, 0.0), axis=-1) + np.minimum(away.max(axis=-1), 0.0)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--unsnarl", required=True, type=Path)
    program = parser.parse_args().unsnarl.resolve()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "box.obj").write_text(box_text())
        for arguments in (
            ["from", "box.obj", "-o", "box.level", "--spacing", str(SPACING)],
            ["export", "box.level", "-o", "box.nrrd"],
        ):
            subprocess.run([program, "-q", "levelset", *arguments], cwd=folder, check=True)
        values, header = nrrd.read(str(Path(folder) / "box.nrrd"))
    directions = np.asarray(header["space directions"])
    indices = np.stack(np.meshgrid(*[np.arange(n) for n in values.shape], indexing="ij"), axis=-1)
    points = np.asarray(header["space origin"]) + indices @ directions
    error = np.abs(values - np.clip(distance(points), -HALF_WIDTH, HALF_WIDTH)).max()
    print(f"{values.size} samples read by pynrrd, largest difference from the closed form {error:.2e} m")
    return 0 if values.dtype == np.float32 and error < 1e-6 else 1


if __name__ == "__main__":
    sys.exit(main())
