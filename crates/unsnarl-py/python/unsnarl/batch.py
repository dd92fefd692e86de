"""Batches from Python: on Ray, and with a table of the report.

    python -m unsnarl.batch JOBS -o DIR                          # as `unsnarl batch`, then DIR/report.parquet
    python -m unsnarl.batch --on ray JOBS -o DIR --address auto  # the samples on a cluster

JOBS and DIR are on a file system that all machines share, and every machine has this package (`unsnarl[ray]`). Samples are committed
as `unsnarl batch` commits them: what a machine was working on when it was lost is run again elsewhere, and what is committed is skipped.
All other flags are those of `unsnarl batch`.
"""

from __future__ import annotations

import argparse
import collections
import importlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from typing import Any

#: Samples that a worker is handed at once, at most.
MOST_SAMPLES_AT_ONCE = 16
#: Portions that a worker has before it, so that it does not wait for the head.
PORTIONS_AHEAD = 2
#: Workers that may be lost one after the other without a sample in between.
MOST_LOSSES = 20
#: Seconds between looks for machines that have joined the cluster.
LOOK_AGAIN = 2.0


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; gives the exit status of `unsnarl batch`."""
    parser = argparse.ArgumentParser(
        prog="python -m unsnarl.batch",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("jobs", metavar="JOBS", help="a folder, a pattern, or a .jsonl or .csv manifest")
    parser.add_argument("-o", "--output", metavar="DIR", required=True)
    parser.add_argument("--on", choices=["this", "ray"], default="this", help="where samples run")
    parser.add_argument("--address", help="a Ray cluster; without it one is started on this machine")
    parser.add_argument("-q", "--quiet", action="store_true", help="print errors only")
    parser.add_argument("--cpus", type=float, default=1.0, help="cores of a worker (Ray)")
    parser.add_argument("--jobs", metavar="N", dest="at_once", help="samples at once (this machine)")
    parser.add_argument("--threads", metavar="N", help="threads of each sample [default on Ray: the cores of a worker]")
    parser.add_argument("--json", metavar="PATH", help="write totals and failures here (`-`: standard output)")
    flags, rest = parser.parse_known_args(arguments)
    if not 0 < flags.cpus < 1e6:
        parser.error("--cpus: expected a number above 0")
    if flags.on == "ray" and flags.at_once is not None:
        parser.error("--jobs: is for one machine; on Ray there is a worker for every --cpus cores of the cluster")
    jobs = flags.jobs if any(mark in flags.jobs for mark in "*?[") else os.path.abspath(flags.jobs)
    words = [jobs, "-o", os.path.abspath(flags.output), *rest]
    if flags.on == "this":
        given = {"--jobs": flags.at_once, "--threads": flags.threads, "--json": flags.json}
        own = [word for name, value in given.items() if value is not None for word in (name, value)]
        status = _command([*words, *own, *(["-q"] if flags.quiet else [])])
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
    # Ray takes a while to be loaded; the samples are listed meanwhile.
    loading = threading.Thread(target=_load_ray)
    loading.start()
    left = pending(words)
    loading.join()
    # A folder of this name where one happens to be is not Ray.
    ray: Any = sys.modules.get("ray")
    if not hasattr(ray, "init"):
        print("error: --on ray needs Ray: pip install 'unsnarl[ray]'", file=sys.stderr)
        return 2
    if left:
        try:
            own_cluster = {} if flags.address else {"include_dashboard": False}
            ray.init(address=flags.address, log_to_driver=False, logging_level="ERROR", **own_cluster)
        except (ConnectionError, RuntimeError, ValueError) as error:
            where = flags.address or "on this machine"
            print(f"error: no Ray cluster {where}: {str(error).splitlines()[0]}", file=sys.stderr)
            return 2
        own = [*words, "--jobs", "1", "--threads", flags.threads or str(max(1, int(flags.cpus))), "-q"]
        try:
            _Crew(ray, own, flags, left).drain()
        finally:
            ray.shutdown()
    told = [*([] if flags.json is None else ["--json", flags.json]), *(["-q"] if flags.quiet else [])]
    return _command([*words, "--gather", *told])


def _load_ray() -> None:
    try:
        importlib.import_module("ray")
    except ImportError:
        pass


class _Worker:
    """On a machine of the cluster: runs the samples that it is told, through one `unsnarl batch --serve` that stays."""

    def __init__(self, words: list[str], folder: str) -> None:
        self._said = tempfile.TemporaryFile("w+")
        command = [sys.executable, "-m", "unsnarl", "batch", *words, "--serve"]
        pipe = subprocess.PIPE
        self._child = subprocess.Popen(command, cwd=folder, stdin=pipe, stdout=pipe, stderr=self._said, text=True)

    def run(self, samples: list[int]) -> int:
        """Runs samples, named by their places in the jobs; gives how many of them failed. Without any it is just there."""
        if not samples:
            return 0
        assert self._child.stdin is not None and self._child.stdout is not None
        try:
            self._child.stdin.write(",".join(map(str, samples)) + "\n")
            self._child.stdin.flush()
            answer = self._child.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if answer:
            return json.loads(answer)["failed"]
        self._child.wait()
        self._said.seek(0)
        lines = self._said.read().split("error: ")
        raise RuntimeError(lines[-1].strip() or f"unsnarl batch ended with status {self._child.returncode}")


class _Crew:
    """The head: one worker for every core that the cluster has to give, each with samples before it.

    Workers that are lost with their machines give back what they had; machines that join get workers too.
    """

    def __init__(self, ray: Any, words: list[str], flags: argparse.Namespace, left: list[int]) -> None:
        self._ray, self._cpus = ray, flags.cpus
        kind = ray.remote(num_cpus=flags.cpus, max_restarts=0)(_Worker)
        self._hire = lambda: kind.remote(words, os.getcwd())
        self._left, self._total = collections.deque(left), len(left)
        #: What each worker has before it: portions by their handles. The first, without samples, says that it has started.
        self._before: dict[Any, dict[Any, list[int]]] = {}
        self._done, self._losses, self._looked = 0, 0, -LOOK_AGAIN
        self._is_told = not flags.quiet and sys.stderr.isatty()

    def drain(self) -> None:
        """Runs everything. What could not be run stays pending, and the report says so."""
        while self._left or any(samples for own in self._before.values() for samples in own.values()):
            if self._losses > MOST_LOSSES:
                print(f"warning: {MOST_LOSSES} workers were lost in a row; start again to go on", file=sys.stderr)
                return
            self._fill_up()
            self._hand_out()
            handles = {handle: worker for worker, own in self._before.items() for handle in own}
            if not handles:
                time.sleep(LOOK_AGAIN)
                continue
            ready, _ = self._ray.wait(list(handles), num_returns=1, timeout=1.0)
            for handle in ready:
                self._take_back(handles[handle], handle)
            if self._is_told:
                print(f"\r{self._done} of {self._total} samples", end="", file=sys.stderr)
        if self._is_told:
            print(file=sys.stderr)

    def _fill_up(self) -> None:
        """A worker for every core that has none."""
        if time.monotonic() - self._looked < LOOK_AGAIN:
            return
        self._looked = time.monotonic()
        cores = self._ray.cluster_resources().get("CPU", 0.0)
        wanted = min(max(1, int(cores / self._cpus)), len(self._left))
        for _ in range(wanted - len(self._before)):
            worker = self._hire()
            self._before[worker] = {worker.run.remote([]): []}

    def _hand_out(self) -> None:
        """Portions become smaller towards the end, so that all workers end at about the same time."""
        started = [worker for worker, own in self._before.items() if all(own.values())]
        for _ in range(PORTIONS_AHEAD):
            for worker in started:
                if self._left and len(self._before[worker]) < PORTIONS_AHEAD:
                    size = max(1, min(MOST_SAMPLES_AT_ONCE, len(self._left) // (2 * PORTIONS_AHEAD * len(started))))
                    samples = [self._left.popleft() for _ in range(size)]
                    self._before[worker][worker.run.remote(samples)] = samples

    def _take_back(self, worker: Any, handle: Any) -> None:
        """A portion has ended, or its worker has."""
        own = self._before.get(worker, {})
        if handle not in own:
            return
        try:
            self._ray.get(handle)
        except self._ray.exceptions.RayError as error:
            cause = getattr(error, "cause", None) or error
            print(f"warning: a worker was lost: {str(cause).splitlines()[0]}", file=sys.stderr)
            self._ray.kill(worker)
            del self._before[worker]
            self._left.extendleft(index for samples in own.values() for index in samples)
            self._losses += 1
            return
        samples = own.pop(handle)
        self._done += len(samples)
        if samples:
            self._losses = 0


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
