"""Cloth that a character's own limbs pinch: the bars, judged by speeds of the frames and by ipctk's intersections.

Run with --unsnarl PATH. Without --long one scene runs at half its length and resolution of time. --control also runs without flypapering and the
untangler, and expects the bars to be missed. --keep FOLDER keeps the caches and pictures, and uses those that are there.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
from pinch_bars import judge  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Scene, more settings; the frames between which its body stands still, and the frame at which it has let go.
CHARACTERS = {
    "squat": ([], (24, 36), 60),
    "elbow": ([], (24, 36), 60),
    "armpit": ([], (24, 36), 60),
    "belly_rub": ([], (24, 36), 60),
    "belly_rub 50 %": (["body.0.flypaper-weight=0.5", "body.0.flypaper.0.weight=0.5"], (24, 36), 60),
    "belly_rub 100 %": (["body.0.flypaper-weight=0", "body.0.flypaper.0.weight=1"], (24, 36), 60),
}
SHORT = ("armpit", ["scene.frames=34", "body.0.clip-speed=2.5"], (10, 14), 24)
CONTROL = ["untangle.method=off", "untangle.flypaper=off"]


def simulate(unsnarl, scene, cache, changes):
    path = ROOT / "scenes" / f"{scene.split()[0]}.toml"
    command = [unsnarl, "sim", str(path), "-o", str(cache), "-q", "--picture", f"{cache}.png"]
    for change in changes:
        command += ["--set", change]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"{scene}: exit {run.returncode}: {run.stderr.strip()}")


def row(name, seen):
    """Prints what a run showed; whether it keeps the bars."""
    bars = [seen["fastest_at_rest"] < 1e-6, seen["worst_excess"] <= 0.0, seen["crossings"] == 0]
    print(
        f"{name}: {seen['most_pinched']} pinched at most; at rest {seen['fastest_at_rest']:.2e} m/s{'' if bars[0] else ' MISSED'}; "
        f"fastest near the pinch {seen['worst_speed']:.2f} m/s with a body at {seen['body_peak']:.2f} m/s (frame {seen['worst_frame']})"
        f"{'' if bars[1] else ' MISSED'}; {seen['crossings']} edges through triangles at frame {seen['checked_frame']} by ipctk"
        f"{'' if bars[2] else ' MISSED'}",
        flush=True,
    )
    return all(bars)


def main():
    flags = argparse.ArgumentParser()
    flags.add_argument("--unsnarl", required=True)
    flags.add_argument("--long", action="store_true")
    flags.add_argument("--control", action="store_true")
    flags.add_argument("--only")
    flags.add_argument("--keep", help="folder for the caches and pictures")
    flags = flags.parse_args()
    if not (ROOT / "../shared/data").exists():
        print("skipped, no shared data")
        return
    runs = [(name, *run) for name, run in CHARACTERS.items()] if flags.long else [SHORT]
    kept = True
    for name, changes, rest, release in runs:
        if flags.only and flags.only != name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            label = name.replace(" ", "_").replace("_%", "")
            cache = pathlib.Path(flags.keep or folder) / label
            if not cache.exists():
                simulate(flags.unsnarl, name, cache, changes)
            kept &= row(label, judge(cache, rest, release))
            if flags.control:
                control = pathlib.Path(flags.keep or folder) / f"{label}_control"
                if not control.exists():
                    simulate(flags.unsnarl, name, control, changes + CONTROL)
                kept &= not row(f"{label} without", judge(control, rest, release, cache))
    sys.exit(0 if kept else 1)


main()
