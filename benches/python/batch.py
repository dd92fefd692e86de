"""`unsnarl batch`: its overhead, its rate with two workers, and whether kills lose, double or halve a sample.

Every sample is an `unsnarl fix --threads 1` of a small tangled garment. Single runs, one worker and two workers take turns in portions, so that all see the
same machine. A kill hits the runner and, by the runner's own means, its children; the moment is random.
"""

import argparse
import json
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNSNARL = ROOT / "target/release/unsnarl"
CASES = ["closed", "bbii", "bibi"]
PORTIONS = 4


def make(folder, count):
    """Small garments of three kinds, in folders of one portion each."""
    for number in range(count):
        portion = folder / f"in{number % PORTIONS}"
        portion.mkdir(parents=True, exist_ok=True)
        if (portion / f"s{number:04}.obj").exists():
            continue
        case = CASES[number // PORTIONS % len(CASES)]
        words = [UNSNARL, "-q", "make", case, "--resolution", "8", "--triangulation", "irregular", "--seed", str(number), "-o", portion / f"s{number:04}.obj"]
        subprocess.run(words, check=True)


def singles(source, target):
    """The same commands without a runner, one after the other: their seconds in all."""
    target.mkdir()
    begun = time.perf_counter()
    for mesh in sorted(source.glob("*.obj")):
        folder = target / mesh.stem
        folder.mkdir()
        with open(folder / "log.txt", "w") as log:
            words = [UNSNARL, f"--json={folder / 'report.json'}", "--threads=1", "fix", f"--output={folder / mesh.name}", "--", mesh]
            subprocess.run(words, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    return time.perf_counter() - begun


def batch(source, target, jobs):
    begun = time.perf_counter()
    run = subprocess.run([UNSNARL, "batch", source, "-o", target, "--jobs", str(jobs), "--threads", "1", "-q"])
    assert run.returncode in (0, 1), run.returncode
    return time.perf_counter() - begun


def processor_seconds():
    """Of all processes that have ended so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def rows_of(target):
    return [json.loads(line) for line in (target / "report.jsonl").read_text().splitlines()]


def committed(target):
    """Rows of finished folders as they were written; a folder without a dot that has none is half."""
    names = [path for path in target.iterdir() if path.is_dir() and not path.name.startswith(".")] if target.exists() else []
    return {path.name: (path / "sample.json").read_text() for path in names}


def kills(source, folder, count):
    """Kills runners at random moments until all have been tried; what went wrong, as lines."""
    names = sorted(mesh.stem for mesh in source.glob("*.obj"))
    wrong, tried, whole = [], 0, 0
    random.seed(1)
    while tried < count:
        target = folder / f"killed{whole}"
        before = {}
        for _ in range(min(10, count - tried)):
            runner = subprocess.Popen([UNSNARL, "batch", source, "-o", target, "--jobs", "2", "--threads", "1", "-q"])
            time.sleep(random.uniform(0.02, 1.5))
            if runner.poll() is not None:
                break
            runner.send_signal(signal.SIGKILL)
            runner.wait()
            tried += 1
            now = committed(target)
            wrong += [f"kill {tried}: {name} has changed" for name, row in before.items() if now.get(name) != row]
            before = now
        batch(source, target, 2)
        end = committed(target)
        wrong += [f"{name} was run again" for name, row in before.items() if end.get(name) != row]
        listed = [row["name"] for row in rows_of(target)]
        if listed != names or sorted(end) != names:
            wrong.append(f"after kill {tried}: {len(listed)} rows and {len(end)} folders for {len(names)} samples")
        wrong += [f"left: {path.name}" for path in target.iterdir() if path.name.startswith(".")]
        shutil.rmtree(target)
        whole += 1
    return tried, wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--meshes", type=pathlib.Path, help="keep the garments in this folder, and use those that are there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        meshes = options.meshes or folder
        make(meshes, options.samples)
        alone, one, two, failed = 0.0, 0.0, 0.0, 0
        processor = [0.0, 0.0]
        for portion in range(PORTIONS):
            source = meshes / f"in{portion}"
            marks = [processor_seconds()]
            alone += singles(source, folder / f"alone{portion}")
            marks.append(processor_seconds())
            one += batch(source, folder / f"one{portion}", 1)
            marks.append(processor_seconds())
            processor = [processor[k] + marks[k + 1] - marks[k] for k in range(2)]
            two += batch(source, folder / f"two{portion}", 2)
            first, second = rows_of(folder / f"one{portion}"), rows_of(folder / f"two{portion}")
            failed += sum(row["status"] == "failed" for row in first)
            assert [row["name"] for row in first] == sorted(mesh.stem for mesh in source.glob("*.obj"))
            for a, b in zip(first, second):
                assert (a["name"], a["status"], a["pairs_after"]) == (b["name"], b["status"], b["pairs_after"])
        overhead, speedup = one / alone - 1.0, one / two
        print(f"{options.samples} garments: single runs {alone:.1f} s, one worker {one:.1f} s ({100 * overhead:+.1f} %), two workers {two:.1f} s ({speedup:.2f} times one)")
        print(f"processor time: single runs {processor[0]:.1f} s, one worker {processor[1]:.1f} s ({100 * (processor[1] / processor[0] - 1):+.1f} %)")
        print(f"{failed} of them failed")
        tried, wrong = kills(meshes / "in0", folder, options.kills) if options.kills else (0, [])
        print(f"{tried} kills: {len(wrong)} things wrong")
        for line in wrong[:20]:
            print(f"  {line}")
    result = {"samples": options.samples, "single_seconds": alone, "one_seconds": one, "two_seconds": two, "overhead": overhead, "speedup": speedup}
    result |= {"failed": failed, "kills": tried, "wrong": wrong}
    (ROOT / "out/bench_batch.json").write_text(json.dumps(result, indent=1) + "\n")
    bars = [overhead <= 0.03, speedup >= 1.8, not wrong]
    told = [f"overhead at most 3 %: {100 * overhead:+.1f} %", f"two workers at least 1.8 times one: {speedup:.2f}", f"nothing wrong after {tried} kills: {len(wrong)} things"]
    for line, is_met in zip(told, bars):
        print(f"{line}, {'met' if is_met else 'MISSED'}")
    sys.exit(0 if all(bars) else 1)


main()
