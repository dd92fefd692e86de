"""Batches on Ray, on one machine: two nodes of one core each, one of which is killed in the middle.

Told: whether every sample is there exactly once, whether the report is whole, and the time beside `unsnarl batch --jobs 2` alone.
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

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=120)
    parser.add_argument("--sample", default="samples/hanky_bbii.obj")
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        mesh = (ROOT / flags.sample).resolve()
        rows = [{"name": f"s{index:04}", "command": "fix", "inputs": str(mesh)} for index in range(flags.samples)]
        (folder / "jobs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        alone = timed([sys.executable, "-m", "unsnarl", "batch", folder / "jobs.jsonl", "-o", folder / "alone", "--jobs", "2", "--threads", "1", "-q"])
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
        nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
        words = [sys.executable, "-m", "unsnarl.batch", "--on", "ray", folder / "jobs.jsonl", "-q", "--address", cluster.address]
        on_ray = timed([*words, "-o", folder / "ray"])
        check(folder / "ray", flags.samples)
        lost = folder / "lost"
        run = subprocess.Popen([str(word) for word in [*words, "-o", lost]])
        while count(lost) < flags.samples // 3 and run.poll() is None:
            time.sleep(0.05)
        before = count(lost)
        cluster.remove_node(nodes[0], allow_graceful=False)
        status = run.wait(timeout=600)
        check(lost, flags.samples)
        cluster.shutdown()
    print(f"samples                       {flags.samples} of {pathlib.Path(flags.sample).name}")
    print(f"unsnarl batch --jobs 2        {alone:.1f} s")
    print(f"on Ray, two nodes             {on_ray:.1f} s ({100 * (on_ray / alone - 1):+.0f} %)")
    print(f"one node killed after         {before} samples: exit {status}, every sample exactly once, report whole")


def count(folder):
    return sum(1 for path in folder.glob("s*") if path.is_dir()) if folder.exists() else 0


def check(folder, samples):
    names = sorted(path.name for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    assert names == [f"s{index:04}" for index in range(samples)], f"{len(names)} folders of {samples}"
    table = [json.loads(line) for line in (folder / "report.jsonl").read_text().splitlines()]
    assert sorted(row["name"] for row in table) == names, "the report is not whole"
    assert pyarrow.parquet.read_table(folder / "report.parquet").num_rows == samples
    assert all(row["status"] == "done" for row in table)


def timed(words):
    start = time.perf_counter()
    subprocess.run([str(word) for word in words], check=True)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
