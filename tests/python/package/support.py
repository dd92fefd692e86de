"""What the tests of the package share: meshes, and the command to compare with."""

import json
import os
import pathlib
import subprocess
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[3]
COMMAND = os.environ.get("UNSNARL", str(ROOT / "target/debug/unsnarl"))


def sheet(count, height=lambda x, z: 0.0 * x):
    """A square sheet of cells with a side of 1 cm."""
    x, z = np.meshgrid(np.arange(count) * 0.01, np.arange(count) * 0.01, indexing="ij")
    V = np.stack([x, height(x, z), z], axis=-1).reshape(-1, 3)
    first = (np.arange(count - 1)[:, None] * count + np.arange(count - 1)).ravel()
    lower = np.stack([first, first + 1, first + count], axis=1)
    upper = np.stack([first + 1, first + count + 1, first + count], axis=1)
    return np.ascontiguousarray(V), np.concatenate([lower, upper]).astype(np.int32)


def crossing_sheets(count=12):
    """Two sheets of one mesh, one of which waves through the other."""
    V, F = sheet(count)
    W, _ = sheet(count, lambda x, z: 0.004 + 0.006 * np.sin(60 * x) * np.sin(50 * z))
    return np.concatenate([V, W]), np.concatenate([F, F + len(V)]).astype(np.int32)


def sphere(rings=24, radius=0.5):
    """A closed sphere."""
    polar, around = np.linspace(0, np.pi, rings + 1)[1:-1], np.arange(2 * rings) * np.pi / rings
    p, a = np.meshgrid(polar, around, indexing="ij")
    body = np.stack([np.sin(p) * np.cos(a), np.cos(p), np.sin(p) * np.sin(a)], axis=-1).reshape(-1, 3)
    V = np.concatenate([body, [[0, 1, 0], [0, -1, 0]]]) * radius
    width, last = 2 * rings, len(body)
    F = []
    for ring in range(rings - 2):
        for step in range(width):
            a, b = ring * width + step, ring * width + (step + 1) % width
            F += [[a, b, a + width], [b, b + width, a + width]]
    for step in range(width):
        F += [[last, (step + 1) % width, step]]
        F += [[last + 1, last - width + step, last - width + (step + 1) % width]]
    return V, np.array(F, dtype=np.int32)


def write_obj(path, V, F):
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in V.tolist()] + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in F.tolist()]
    pathlib.Path(path).write_text("\n".join(lines) + "\n")


def read_obj(path):
    rows = [line.split() for line in pathlib.Path(path).read_text().splitlines()]
    V = np.array([[float(word) for word in row[1:4]] for row in rows if row and row[0] == "v"])
    F = [[int(word.split("/")[0]) - 1 for word in row[1:4]] for row in rows if row and row[0] == "f"]
    return V, np.array(F, dtype=np.int32)


def run(*words, status=None):
    """Runs the command itself; gives its report, if it was asked for one on standard output."""
    done = subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True)
    if status is None:
        assert done.returncode in (0, 1), done.stderr
    else:
        assert done.returncode == status, (done.returncode, done.stderr)
    return json.loads(done.stdout) if "--json" in words else done


def plain(report):
    """A report without seconds and names of files."""
    if isinstance(report, dict):
        return {key: plain(value) for key, value in report.items() if key not in ("seconds", "sheets", "names")}
    return [plain(value) for value in report] if isinstance(report, list) else report


def folder():
    return tempfile.TemporaryDirectory()
