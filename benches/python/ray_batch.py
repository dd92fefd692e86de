"""Batches on Ray, on one machine: two nodes of one core each, one of which is killed in the middle.

Told: the time beside `python -m unsnarl.batch` with two workers on the same machine (run before and after), whether every sample is
there exactly once, and whether the report is whole. Samples are `fix` of small garments of three kinds.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import pyarrow.parquet
from ray.cluster_utils import Cluster

CASES = ["closed", "bbii", "bibi"]
MESHES = 24
PYTHON = [sys.executable, "-m"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--lost-samples", type=int, default=200, help="samples of the run in which a node is lost")
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make(folder)
        jobs, few = manifest(folder, flags.samples), manifest(folder, flags.lost_samples)
        here = [*PYTHON, "unsnarl.batch", jobs, "--jobs", "2", "--threads", "1", "-q", "-o"]
        alone = [timed([*here, folder / "first"])]
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
        nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
        words = [*PYTHON, "unsnarl.batch", "--on", "ray", "-q", "--address", cluster.address]
        on_ray = timed([*words, jobs, "-o", folder / "ray"])
        check(folder / "ray", flags.samples)
        lost = folder / "lost"
        run = subprocess.Popen([str(word) for word in [*words, few, "-o", lost]], stderr=subprocess.PIPE, text=True)
        while count(lost) < flags.lost_samples // 3 and run.poll() is None:
            time.sleep(0.02)
        before = count(lost)
        cluster.remove_node(nodes[0], allow_graceful=False)
        said = run.communicate(timeout=600)[1]
        check(lost, flags.lost_samples)
        cluster.shutdown()
        alone.append(timed([*here, folder / "second"]))
    beside = sum(alone) / 2
    overhead = on_ray / beside - 1
    print(f"{flags.samples} samples, two workers on this machine: {alone[0]:.1f} and {alone[1]:.1f} s; on Ray, two nodes: {on_ray:.1f} s")
    print(f"overhead on Ray, at most 10 %: {100 * overhead:+.1f} %, {'met' if overhead <= 0.1 else 'MISSED'}")
    print(f"a node killed after {before} of {flags.lost_samples} samples: exit {run.returncode}, every sample exactly once, report whole: met")
    print(f"  it said: {said.strip() or 'nothing'}")
    sys.exit(0 if overhead <= 0.1 and run.returncode == 0 else 1)


def make(folder):
    for number in range(MESHES):
        words = ["unsnarl", "-q", "make", CASES[number % 3], "--resolution", "8", "--triangulation", "irregular"]
        subprocess.run([*PYTHON, *words, "--seed", str(number), "-o", str(folder / f"m{number}.obj")], check=True)


def manifest(folder, samples):
    rows = [{"name": f"s{index:05}", "command": "fix", "inputs": f"m{index % MESHES}.obj"} for index in range(samples)]
    path = folder / f"jobs{samples}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def count(folder):
    return sum(1 for path in folder.glob("s*") if path.is_dir()) if folder.exists() else 0


def check(folder, samples):
    """Every sample has one folder, one row and one line of the table, and nothing half is left."""
    names = sorted(path.name for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    assert names == [f"s{index:05}" for index in range(samples)], f"{len(names)} folders of {samples}"
    table = [json.loads(line) for line in (folder / "report.jsonl").read_text().splitlines()]
    assert [row["name"] for row in table] == names, "the report is not whole"
    assert pyarrow.parquet.read_table(folder / "report.parquet").num_rows == samples
    assert all(row["status"] == "done" for row in table)


def timed(words):
    start = time.perf_counter()
    subprocess.run([str(word) for word in words], check=True)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
