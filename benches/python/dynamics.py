"""The hanging sheet here and in the peers, one after the other in one run, two threads each; growth with size; threads.

`benches/dynamics` builds what it needs and installs the peers. By hand, from the root of the project:

    python benches/python/dynamics.py --sides 100 224 --seconds 1 0.25
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = str(ROOT / "target/release/dynamics")
HEAD = f"{'program':30} {'vertices':>8} {'s per s':>9} {'of ours':>8} {'mean':>9} {'p99':>8} {'largest':>8} {'lowest':>7}"


def ours(side, seconds, threads, steps):
    words = [PROGRAM, "sheet", str(side), str(seconds), str(threads), "0.01", str(steps)]
    line = subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()[-1]
    return json.loads(line)


def peer(name, side, seconds):
    command = [sys.executable, str(ROOT / "benches/python/dynamics_peers.py"), "--side", str(side)]
    command += ["--seconds", str(seconds), "--peers", name]
    outcome = subprocess.run(command, capture_output=True, text=True)
    lines = [line for line in outcome.stdout.splitlines() if line.startswith("{")]
    if not lines:
        print(f"{name}: no result\n{outcome.stderr[-500:]}", file=sys.stderr)
        return None
    return json.loads(lines[-1])


def show(row, unit):
    time = row["seconds_per_simulated_second"]
    print(
        f"{row['program']:30} {row['vertices']:8} {time:9.2f} {time / unit:8.2f} {row['stretch_mean']:9.5f} "
        f"{row['stretch_p99']:8.4f} {row['stretch_max']:8.4f} {row['lowest']:7.3f}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sides", type=int, nargs="+", default=[100, 224], help="vertices along a side")
    parser.add_argument("--seconds", type=float, nargs="+", default=[1.0, 0.25], help="simulated, one for each side")
    parser.add_argument("--steps", type=int, nargs="+", default=[4, 3], help="steps of ours in a frame of 1/24 s, one for each side")
    parser.add_argument("--peers", nargs="*", default=["newton-style3d", "blender", "blender-light"])
    parser.add_argument("--json", default="out/bench_dynamics.json")
    arguments = parser.parse_args()
    rows = []
    print(f"load average {os.getloadavg()[0]:.1f}; stretch: of grid edges, each at its worst frame\n{HEAD}")
    for side, seconds, steps in zip(arguments.sides, arguments.seconds, arguments.steps):
        here = ours(side, seconds, 2, steps)
        alone = ours(side, seconds, 1, steps)
        alone["program"] += ", one thread"
        unit = here["seconds_per_simulated_second"]
        found = [here, alone] + [peer(name, side, seconds) for name in arguments.peers]
        again = ours(side, seconds, 2, steps)
        again["program"] += ", again"
        for row in [row for row in found + [again] if row]:
            show(row, unit)
            rows.append(row)
    print("\ngrowth at one edge length, two threads:")
    print(subprocess.run([PROGRAM, "scaling"], check=True, capture_output=True, text=True).stdout)
    pathlib.Path(arguments.json).parent.mkdir(parents=True, exist_ok=True)
    pathlib.Path(arguments.json).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
