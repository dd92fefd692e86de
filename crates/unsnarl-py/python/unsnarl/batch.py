"""Batches from Python: on Ray, and with a table of the report.

    python -m unsnarl.batch JOBS -o DIR                          # as `unsnarl batch`, then DIR/report.parquet
    python -m unsnarl.batch --on ray JOBS -o DIR --address auto  # the samples as tasks of a cluster

JOBS and DIR are on a file system that all machines share, and every machine has this package (`unsnarl[ray]`). Samples are committed
as `unsnarl batch` commits them: a task that is lost with its machine runs again elsewhere and skips what is committed.
All other flags are those of `unsnarl batch`.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

#: Samples of a task at most; starting one costs some milliseconds.
MOST_SAMPLES_PER_TASK = 16
#: How often a task is run again that was lost with its machine.
RETRIES = 20


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; gives the exit status of `unsnarl batch`."""
    parser = argparse.ArgumentParser(
        prog="python -m unsnarl.batch", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("jobs", metavar="JOBS", help="a folder, a pattern, or a .jsonl or .csv manifest")
    parser.add_argument("-o", "--output", metavar="DIR", required=True)
    parser.add_argument("--on", choices=["this", "ray"], default="this", help="where samples run")
    parser.add_argument("--address", help="a Ray cluster; without it one is started on this machine")
    parser.add_argument("-q", "--quiet", action="store_true", help="print errors only")
    parser.add_argument("--cpus", type=float, default=1.0, help="cores of a task (Ray)")
    flags, rest = parser.parse_known_args(arguments)
    if not flags.cpus > 0:
        parser.error("--cpus: expected a number above 0")
    jobs = flags.jobs if any(mark in flags.jobs for mark in "*?[") else os.path.abspath(flags.jobs)
    words = [jobs, "-o", os.path.abspath(flags.output), *rest]
    if flags.on == "this":
        status = _command([*words, "-q"] if flags.quiet else words)
    else:
        status = _on_ray(words, flags)
    if status in (0, 1):
        _tabulate(pathlib.Path(flags.output))
    return status


def _command(words: Sequence[str]) -> int:
    return subprocess.run([sys.executable, "-m", "unsnarl", "batch", *words], check=False).returncode


def pending(words: Sequence[str]) -> list[int]:
    """The samples that are not committed, by their place in the jobs."""
    listed = subprocess.run(
        [sys.executable, "-m", "unsnarl", "batch", *words, "--list"], stdout=subprocess.PIPE, text=True, check=False
    )
    if listed.returncode:
        raise SystemExit(listed.returncode)
    return [json.loads(line)["index"] for line in listed.stdout.splitlines()]


def _on_ray(words: list[str], flags: argparse.Namespace) -> int:
    try:
        # A folder of this name where one happens to be is not Ray.
        from ray import init  # type: ignore
    except ImportError:
        print("error: --on ray needs Ray: pip install 'unsnarl[ray]'", file=sys.stderr)
        return 2
    import ray  # type: ignore

    left = pending(words)
    if left:
        try:
            init(address=flags.address, log_to_driver=False, logging_level="ERROR")
        except (ConnectionError, RuntimeError, ValueError) as error:
            where = flags.address or "on this machine"
            print(f"error: no Ray cluster {where}: {str(error).splitlines()[0]}", file=sys.stderr)
            return 2
        cores = ray.cluster_resources().get("CPU", 1.0)
        size = max(1, min(MOST_SAMPLES_PER_TASK, int(len(left) / (4 * cores / flags.cpus))))
        threads = str(max(1, int(flags.cpus)))
        own = [*words, "--jobs", "1", "--threads", threads, "-q", "--only"]
        task = ray.remote(num_cpus=flags.cpus, max_retries=RETRIES)(_run_samples)
        waiting = [task.remote([*own, ",".join(map(str, part))], os.getcwd()) for part in _parts(left, size)]
        try:
            _drain(ray, waiting, size, len(left), not flags.quiet)
        finally:
            ray.shutdown()
    return _command([*words, "--gather", *(["-q"] if flags.quiet else [])])


def _drain(ray: Any, waiting: list[Any], size: int, total: int, is_told: bool) -> None:
    """Waits for all tasks; a task that failed for good leaves its samples pending, which the report shows."""
    is_told, done = is_told and sys.stderr.isatty(), 0
    while waiting:
        ready, waiting = ray.wait(waiting, timeout=1.0)
        for one in ready:
            done += size
            try:
                ray.get(one)
            except ray.exceptions.RayError as error:
                print(f"warning: a task was lost: {str(error).splitlines()[0]}", file=sys.stderr)
        if is_told:
            print(f"\r{min(done, total)} of {total} samples", end="" if waiting else "\n", file=sys.stderr)


def _run_samples(words: list[str], folder: str) -> int:
    """On a machine of the cluster: runs some samples as `unsnarl batch --only` does."""
    status = subprocess.run([sys.executable, "-m", "unsnarl", "batch", *words], cwd=folder, check=False).returncode
    if status not in (0, 1):
        raise RuntimeError(f"unsnarl batch ended with status {status}")
    return status


def _parts(left: list[int], size: int) -> Iterator[list[int]]:
    for first in range(0, len(left), size):
        yield left[first : first + size]


def write_parquet(folder: str | os.PathLike[str]) -> pathlib.Path:
    """Writes DIR/report.jsonl as DIR/report.parquet: one row per sample, `row` and `outputs` as JSON text."""
    import pyarrow  # type: ignore
    import pyarrow.parquet  # type: ignore

    source, target = pathlib.Path(folder) / "report.jsonl", pathlib.Path(folder) / "report.parquet"
    rows = [json.loads(line) for line in source.read_text().splitlines()]
    keys = sorted({key for row in rows for key in row})
    plain = [
        {key: json.dumps(row[key]) if isinstance(row.get(key), (dict, list)) else row.get(key) for key in keys}
        for row in rows
    ]
    beside = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(plain), beside)
    beside.replace(target)
    return target


def _tabulate(folder: pathlib.Path) -> None:
    if not (folder / "report.jsonl").exists():
        return
    try:
        write_parquet(folder)
    except ImportError:
        print("note: report.parquet needs pyarrow: pip install 'unsnarl[parquet]'", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
