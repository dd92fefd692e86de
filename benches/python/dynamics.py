"""The hanging sheet here and in the peers, one after the other: the speed bar of cloth dynamics.

Run from the root of the project, after `cargo build --release -p unsnarl-benches --bin dynamics`:

    python benches/python/dynamics.py --side 100 --seconds 1
"""

import argparse
import json
import pathlib
import subprocess
import sys

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--side", type=int, default=100)
parser.add_argument("--seconds", type=float, default=1.0)
parser.add_argument("--peers", nargs="+", default=["newton-style3d", "blender"])
arguments = parser.parse_args()
root = pathlib.Path(__file__).resolve().parents[2]
rows = []
own = [str(root / "target/release/dynamics"), "sheet", str(arguments.side), str(arguments.seconds), "2"]
for line in subprocess.run(own, check=True, capture_output=True, text=True).stdout.splitlines():
    rows.append(json.loads(line))
for peer in arguments.peers:
    command = [sys.executable, str(root / "benches/python/dynamics_peers.py"), "--side", str(arguments.side)]
    command += ["--seconds", str(arguments.seconds), "--peers", peer]
    outcome = subprocess.run(command, capture_output=True, text=True)
    lines = [line for line in outcome.stdout.splitlines() if line.startswith("{")]
    if not lines:
        print(f"{peer}: no result\n{outcome.stderr[-500:]}", file=sys.stderr)
        continue
    rows.append(json.loads(lines[-1]))
fastest = rows[0]["seconds_per_simulated_second"]
print(f"{'program':28} {'vertices':>8} {'s per s':>9} {'ratio':>7} {'stretch mean':>13} {'p99':>8} {'max':>8} {'lowest':>8}")
for row in rows:
    print(
        f"{row['program']:28} {row['vertices']:8} {row['seconds_per_simulated_second']:9.2f} "
        f"{row['seconds_per_simulated_second'] / fastest:7.2f} {row['stretch_mean']:13.5f} {row['stretch_p99']:8.4f} "
        f"{row['stretch_max']:8.4f} {row['lowest']:8.3f}"
    )
