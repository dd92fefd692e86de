"""Kills `unsnarl sim` at random moments, resumes it, and compares every frame with an unbroken run: cloth on a ball, then cloth
on rigid bodies.

    python tests/python/check_resume.py --unsnarl target/release/unsnarl --kills 50
"""

import argparse
import filecmp
import pathlib
import random
import subprocess
import sys
import tempfile
import time

CLOTH = """
[scene]
frames = 40
[[cloth]]
sheet = { size = [0.5, 0.5], cells = [24, 24] }
rotation = [-90, 0, 0]
position = [0, 0.3, 0]
pin = [{ vertices = [0] }]
[[body]]
sphere = { radius = 0.15 }
[settings.dynamics]
integration = "bdf2"
"""
RIGID = """
[scene]
frames = 30
[[cloth]]
sheet = { size = [0.4, 0.4], cells = [14, 14] }
rotation = [-90, 0, 0]
position = [0, 0.35, 0]
[[body]]
plane = {}
[[rigid]]
box = { size = [0.1, 0.1, 0.1] }
position = [-0.055, 0.05, 0]
copies = { count = [2, 2, 1], spacing = [0.11, 0.102, 0] }
density = 200
[[rigid]]
sphere = { radius = 0.04 }
position = [0.02, 0.5, 0.03]
mass = 0.05
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unsnarl", default="target/release/unsnarl")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    rigid = arguments.kills * 2 // 5
    check("cloth", CLOTH, arguments.kills - rigid, arguments.unsnarl)
    check("cloth and rigid bodies", RIGID, rigid, arguments.unsnarl)


def check(name, text, wanted, unsnarl):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        scene = folder / "scene.toml"
        scene.write_text(text)
        begun = time.perf_counter()
        subprocess.run([unsnarl, "-q", "sim", scene, "-o", folder / "whole"], check=True)
        whole_time = time.perf_counter() - begun
        frames = sorted(path.name for path in (folder / "whole").glob("frame_*.unsnarl"))
        kills, runs = 0, 0
        while kills < wanted:
            broken = folder / f"broken{runs}"
            runs += 1
            while True:
                run = subprocess.Popen([unsnarl, "-q", "sim", scene, "-o", broken, "--resume"])
                try:
                    run.wait(timeout=random.uniform(0.005, 0.4 * whole_time))
                    if run.returncode != 0:
                        sys.exit(f"exit status {run.returncode} instead of 0")
                    break
                except subprocess.TimeoutExpired:
                    run.kill()
                    run.wait()
                    kills += 1
            same, different, missing = filecmp.cmpfiles(folder / "whole", broken, frames, shallow=False)
            if different or missing:
                sys.exit(f"after {kills} kills: different {different}, missing {missing}")
            left = [path.name for path in broken.iterdir() if path.suffix == ".tmp"]
            reports = (broken / "frames.jsonl").read_text().splitlines()
            if len(reports) < len(frames) - 2:
                sys.exit(f"only {len(reports)} reports for {len(frames)} frames")
            print(f"{kills} kills so far, {len(same)} frames identical, half-written files left: {len(left)}")
    print(f"{name}: {kills} kills in {runs} runs: all frames identical to the unbroken run")


if __name__ == "__main__":
    main()
