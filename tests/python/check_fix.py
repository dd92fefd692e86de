"""Garments that `unsnarl fix` calls clean, checked by ipctk: bundled samples and a fitted suit.

    python tests/python/check_fix.py --unsnarl target/release/unsnarl [--all]

`--all` takes every suit of the shared data, alone and against its body; it needs many minutes.
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

DATA = ROOT.parent / "shared" / "data"
SUITS = DATA / "character_cc0" / "clothes_fitted"
BODY = DATA / "character_cc0" / "body_rest.obj"


def crosses(parts):
    """Whether ipctk finds an intersection in all parts together."""
    positions = np.vstack([part[0] for part in parts])
    starts = np.cumsum([0] + [len(part[0]) for part in parts])
    triangles = np.vstack([part[1] + start for part, start in zip(parts, starts)])
    mesh = ipctk.CollisionMesh(positions, ipctk.edges(triangles), triangles)
    return ipctk.has_intersections(mesh, positions)


def cases(everything):
    for name in ["hanky_closed", "hanky_bibi", "hanky_exploded"]:
        yield ROOT / "samples" / f"{name}.obj", []
    if not SUITS.is_dir():
        print(f"skipped: no {SUITS}")
        return
    if not everything:
        yield SUITS / "female_sportsuit01.obj", []
        return
    for suit in sorted(SUITS.glob("*.obj")):
        yield suit, []
        yield suit, [BODY]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--unsnarl", required=True)
    parser.add_argument("--all", action="store_true")
    arguments = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for garment, bodies in cases(arguments.all):
            fixed, report = pathlib.Path(folder) / garment.name, pathlib.Path(folder) / "report.json"
            command = [arguments.unsnarl, "-q", "fix", garment, "-o", fixed, "--json", report]
            for body in bodies:
                command += ["--body", body]
            status = subprocess.run([str(word) for word in command], check=False).returncode
            told = json.loads(report.read_text())
            assert (status == 0) == told["clean"], "exit status and report differ"
            clean = status == 0 and not crosses([read_obj(fixed)] + [read_obj(body) for body in bodies])
            failures += not clean
            print(
                f"{garment.stem:<24} pairs {told['before']['intersecting_triangle_pairs']:>5}"
                f" unsnarl {'clean' if told['clean'] else 'LEFT':<5} ipctk {'clean' if clean else 'NOT CLEAN'}"
                f" steps {told['steps']:>4} {told['seconds']:6.1f} s stretch p99 {told['stretch']['p99']:.3f}"
                f" (before {told['stretch_before']['p99']:.3f}) moved {told['moved_vertices']} of {told['cloth_vertices']}",
                flush=True,
            )
    assert failures == 0, f"{failures} garments are not clean"


if __name__ == "__main__":
    main()
