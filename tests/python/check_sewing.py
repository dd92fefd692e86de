"""Sews patterns shut with `unsnarl sim` and measures their seams in the cache.

    python tests/python/check_sewing.py --unsnarl target/debug/unsnarl
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy

from support.cache_file import read

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATTERNS = ROOT / "assets/garment_patterns_mit"
SCENE = """
[scene]
frames = 14
gravity = [0, 0, 0]
[[cloth]]
pattern = {{ file = "{file}", edge-length = 0.06 }}
[settings.dynamics]
sewing-time = 0.3
"""


def sew(unsnarl, folder, pattern):
    scene, cache = folder / f"{pattern.stem}.toml", folder / pattern.stem
    scene.write_text(SCENE.format(file=pattern.resolve().as_posix()))
    subprocess.run([unsnarl, "-q", "sim", scene, "-o", cache], check=True)
    last = json.loads((cache / "frames.jsonl").read_text().splitlines()[-1])
    pairs, stretch = last["intersecting_triangle_pairs"], last["largest_stretch"]
    print(f"{pattern.name}: {pairs} intersecting pairs, largest stretch {stretch:.3f}")
    if pairs != 0 or stretch > 1.3:
        sys.exit(f"{pattern.name}: {pairs} pairs, stretch {stretch}")
    return cache


def skirt_gaps(cache, frame):
    """Distances along the side seams of the sample skirt: vertices of the two panels at mirrored places of the pattern."""
    uv = read(cache / "mesh.unsnarl")["uv0"]
    points = read(cache / f"frame_{frame:06}.unsnarl")["positions"]
    side = [v for v in range(len(uv)) if abs(abs(uv[v, 0]) - (0.32 - 0.29 * (uv[v, 1] + 0.5))) < 1e-9]
    gaps = []
    for a in side:
        mirrored = [b for b in side if numpy.allclose(uv[b], [-uv[a, 0], uv[a, 1]], atol=1e-9)]
        # One mirrored vertex is across the own panel, the other one on the other panel.
        gaps.append(min(numpy.linalg.norm(points[a] - points[b]) for b in mirrored))
    return numpy.array(gaps)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unsnarl", default="target/debug/unsnarl")
    arguments = parser.parse_args()
    unsnarl = str(pathlib.Path(arguments.unsnarl).resolve())
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        cache = sew(unsnarl, folder, ROOT / "samples/skirt_pattern.json")
        gaps = [skirt_gaps(cache, frame).max() for frame in (0, 4, 14)]
        print(f"largest seam gap of the skirt: {1e3 * gaps[0]:.0f}, {1e3 * gaps[1]:.0f} and {1e3 * gaps[2]:.1f} mm")
        if not (abs(gaps[0] - 0.32) < 1e-9 and 0.1 < gaps[1] < 0.2 and gaps[2] < 0.003):
            sys.exit(f"seam gaps {gaps}; expected 0.32, about 0.14 and below 0.003")
        for pattern in sorted(PATTERNS.glob("*.json")):
            sew(unsnarl, folder, pattern)


if __name__ == "__main__":
    main()
