"""Recovering from tangles: a tortured shirt, and cloth that a character's own limbs pinch, judged by ipctk and by speeds of the frames.

Run with --unsnarl PATH. Without --long only the tortured shirt and its control run. --control also runs without flypapering and the
untangler, and expects the bars to be missed. Squat, elbow and armpit have to keep all three bars, the others have to be clean after release; what
they miss is printed. --keep FOLDER keeps the caches and pictures, and uses those that are there.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
from pinch_bars import judge, meets, shared_motion  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Scene, more settings; the frames between which its body stands still, and the frame at which it has let go.
CHARACTERS = {
    "squat": ([], (24, 36), 60),
    "elbow": ([], (24, 36), 60),
    "armpit": ([], (24, 36), 60),
    "hand_on_hip": ([], (24, 36), 60),
    "belly_rub": ([], (24, 36), 60),
    "belly_rub 50 %": (["body.0.flypaper-weight=0.5", "body.1.flypaper-weight=0.5"], (24, 36), 60),
    "belly_rub 100 %": (["body.0.flypaper-weight=0", "body.1.flypaper-weight=1"], (24, 36), 60),
}
# The frames in which the hand rubs upward, and how much of its motion pinched cloth has to share.
RUBBING = (14, 24)
SHARES = {"belly_rub": 0.1, "belly_rub 50 %": 0.5, "belly_rub 100 %": 1.0}
ALL_BARS = ("squat", "elbow", "armpit")
# The shirt is tortured until this frame, and has to be clean this many frames later.
TORTURED, GIVEN = 24, 48
CONTROL = ["untangle.method=off", "untangle.flypaper=off"]


def simulate(unsnarl, scene, cache, changes, more=()):
    path = ROOT / "scenes" / f"{scene.split()[0]}.toml"
    command = [unsnarl, "sim", str(path), "-o", str(cache), "-q", "--picture", f"{cache}.png", *more]
    for change in changes:
        command += ["--set", change]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"{scene}: exit {run.returncode}: {run.stderr.strip()}")


def row(name, seen):
    """Prints what a run showed; which bars it keeps: speed at rest, speed near the pinch, crossings after release."""
    bars = [seen["fastest_at_rest"] < 1e-6, seen["worst_excess"] <= 0.0, seen["crossings"] == 0]
    print(
        f"{name}: {seen['most_pinched']} pinched at most; at rest {seen['fastest_at_rest']:.2e} m/s{'' if bars[0] else ' MISSED'}; "
        f"fastest near the pinch {seen['worst_speed']:.2f} m/s with a body at {seen['body_peak']:.2f} m/s (frame {seen['worst_frame']})"
        f"{'' if bars[1] else ' MISSED'}; {seen['crossings']} edges through triangles at frame {seen['checked_frame']} by ipctk"
        f"{'' if bars[2] else ' MISSED'}",
        flush=True,
    )
    return bars


def shirt(unsnarl, scene, folder):
    """Tortures a shirt, switches GIA on, and says at which frame ipctk finds it clean from then on; None if it does not."""
    cache = pathlib.Path(folder) / scene
    simulate(unsnarl, scene, cache, [f"scene.frames={TORTURED}"])
    assert meets(cache, TORTURED), "the torture makes no tangle"
    released = ["collision.method=pipeline", "untangle.method=gia", f"scene.frames={TORTURED + GIVEN}"]
    simulate(unsnarl, scene, cache, released, ["--resume", "--from", str(TORTURED)])
    dirty = [frame for frame in range(TORTURED, TORTURED + GIVEN + 1) if meets(cache, frame)]
    return None if dirty[-1] == TORTURED + GIVEN else dirty[-1] + 1


def main():
    flags = argparse.ArgumentParser()
    flags.add_argument("--unsnarl", required=True)
    flags.add_argument("--long", action="store_true")
    flags.add_argument("--control", action="store_true")
    flags.add_argument("--only")
    flags.add_argument("--keep", help="folder for the caches and pictures")
    flags = flags.parse_args()
    kept = True
    with tempfile.TemporaryDirectory() as folder:
        clean = shirt(flags.unsnarl, "tortured_shirt", folder)
        print(f"tortured shirt: clean from frame {clean} on; GIA was switched on at {TORTURED}")
        hem = shirt(flags.unsnarl, "tortured_hem", folder)
        print(f"tortured hem: {'not clean, as expected' if hem is None else f'clean from frame {hem} on'}")
        kept &= clean is not None and hem is None
    runs = [(name, *run) for name, run in CHARACTERS.items()] if flags.long else []
    for name, changes, rest, release in runs:
        if flags.only and flags.only != name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            label = name.replace(" ", "_").replace("_%", "")
            cache = pathlib.Path(flags.keep or folder) / label
            if not cache.exists():
                simulate(flags.unsnarl, name, cache, changes)
            bars = row(label, judge(cache, rest, release))
            kept &= all(bars) if name in ALL_BARS else bars[2]
            if name in SHARES:
                share = shared_motion(cache, RUBBING)
                print(f"{label}: pinched cloth shares {share:.3f} of the hand's motion", flush=True)
                kept &= abs(share - SHARES[name]) < 0.02
            if flags.control:
                control = pathlib.Path(flags.keep or folder) / f"{label}_control"
                if not control.exists():
                    simulate(flags.unsnarl, name, control, changes + CONTROL)
                kept &= not all(row(f"{label} without", judge(control, rest, release, cache)))
    sys.exit(0 if kept else 1)


main()
