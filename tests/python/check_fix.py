"""Garments that `unsnarl fix` calls clean, checked by ipctk: bundled samples and the tangled garments of the assets,
the suits alone and on their body. The 99th percentile of stretch of real garments is at most 1.10, or the input's.

    python tests/python/check_fix.py --unsnarl target/release/unsnarl
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import ipctk
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/python/support"))
from obj_file import read_obj  # noqa: E402

DATA = ROOT / "assets"
CLOTH = DATA / "diffcloth_mit"
SUITS = DATA / "character_cc0" / "clothes_fitted"
BODY = DATA / "character_cc0" / "body_rest.obj"


def crosses(parts):
    """Whether ipctk finds an intersection in all parts together."""
    positions = np.vstack([part[0] for part in parts])
    starts = np.cumsum([0] + [len(part[0]) for part in parts])
    triangles = np.vstack([part[1] + start for part, start in zip(parts, starts)])
    mesh = ipctk.CollisionMesh(positions, ipctk.edges(triangles), triangles)
    return ipctk.has_intersections(mesh, positions)


def cases():
    """Garment, bodies, rest mesh; and whether its stretch is judged."""
    for name in ["hanky_closed", "hanky_bibi", "hanky_exploded"]:
        yield ROOT / "samples" / f"{name}.obj", [], None, False
    yield CLOTH / "tshirt1900-folding-biFolded.obj", [], CLOTH / "tshirt1900.obj", True
    yield CLOTH / "dress-v5k-f10k.obj", [], None, True
    for suit in sorted(SUITS.glob("*.obj")):
        yield suit, [], None, True
        yield suit, [BODY], None, True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--unsnarl", required=True)
    arguments = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for garment, bodies, rest, is_judged in cases():
            fixed, report = pathlib.Path(folder) / garment.name, pathlib.Path(folder) / "report.json"
            command = [arguments.unsnarl, "-q", "fix", garment, "-o", fixed, "--json", report]
            for body in bodies:
                command += ["--body", body]
            command += ["--rest", rest] if rest else []
            status = subprocess.run([str(word) for word in command], check=False).returncode
            told = json.loads(report.read_text())
            assert (status == 0) == told["clean"], "exit status and report differ"
            clean = status == 0 and not crosses([read_obj(fixed)] + [read_obj(body) for body in bodies])
            stretch, stretch_before = told["stretch"]["p99"], told["stretch_before"]["p99"]
            strained = is_judged and stretch > max(1.10, stretch_before)
            failures += not clean or strained
            print(
                f"{garment.stem:<24} pairs {told['before']['intersecting_triangle_pairs']:>5}"
                f" unsnarl {'clean' if told['clean'] else 'LEFT':<5} ipctk {'clean' if clean else 'NOT CLEAN'}"
                f" steps {told['steps']:>4} {told['seconds']:6.1f} s stretch p99 {stretch:.3f}"
                f"{' STRAINED' if strained else ''} (before {stretch_before:.3f}) moved {told['moved_vertices']} of {told['cloth_vertices']}",
                flush=True,
            )
    assert failures == 0, f"{failures} garments are not clean, or strained"


if __name__ == "__main__":
    main()
