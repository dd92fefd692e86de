"""Figures of the Python package: see benches/package."""

import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import unsnarl
from unsnarl import _unsnarl


def sheet(count, height):
    x, z = np.meshgrid(np.arange(count) * 0.005, np.arange(count) * 0.005, indexing="ij")
    V = np.ascontiguousarray(np.stack([x, height(x, z), z], axis=-1).reshape(-1, 3))
    first = (np.arange(count - 1)[:, None] * count + np.arange(count - 1)).ravel()
    lower = np.stack([first, first + 1, first + count], axis=1)
    upper = np.stack([first + 1, first + count + 1, first + count], axis=1)
    return V, np.concatenate([lower, upper]).astype(np.int32)


BARS = []


def row(what, figure, is_met, note=""):
    """A line of the table; whether its bar is met."""
    BARS.append(is_met)
    print(f"{what:<34} {figure:<34} {'met' if is_met else 'MISSED'}{note}")


def overhead():
    """The time of a call over that of the engine within it, round by round: the median over all rounds."""
    V, F = sheet(225, lambda x, z: 0.02 * np.sin(20 * x) * np.cos(15 * z))
    ratios, own = [], []
    for _ in range(60):
        start = time.perf_counter()
        report = unsnarl.check(V, F)
        whole = time.perf_counter() - start
        own.append(report.report["seconds"])
        ratios.append(whole / own[-1])
    ratio, within = np.median(ratios[5:]), 1e3 * np.median(own[5:])
    row(f"check of {len(F)} over the engine", f"{ratio:.3f} (engine {within:.1f} ms)", ratio <= 1.05, ", bar 1.05, median of 55")


def no_copy():
    """The engine reads points and triangles where numpy has them."""
    V, F = sheet(225, lambda x, z: 0 * x)
    theirs = tuple(array.__array_interface__["data"][0] for array in (V, F))
    row("borrowed arrays", "same addresses", _unsnarl.addresses(("m", V, F)) == theirs)


def imports():
    code = "import time; t = time.perf_counter(); import unsnarl; unsnarl.check; print(time.perf_counter() - t)"
    times = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(9)]
    row("import", f"{min(times):.3f} s (numpy {numpy_alone():.3f} s)", min(times) <= 0.2, ", bar 0.2 s")


def numpy_alone():
    code = "import time; t = time.perf_counter(); import numpy; print(time.perf_counter() - t)"
    return min(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(9))


def ctrl_c(name, work):
    """Seconds from a Ctrl-C in the middle of some work to the exception, worst of 10."""
    waits = []
    for round_ in range(10):
        sent = []

        def interrupt():
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(0.3 + 0.037 * round_, interrupt)
        timer.start()
        try:
            while True:
                work()
        except KeyboardInterrupt:
            waits.append(time.perf_counter() - sent[0])
        time.sleep(0.5)
    row(f"Ctrl-C within {name}", f"{max(waits):.3f} s at most", max(waits) <= 0.2, ", bar 0.2 s, worst of 10")


def main():
    wheel = pathlib.Path(sys.argv[1])
    size = wheel.stat().st_size / 1e6
    row("wheel", f"{size:.1f} MB", size < 15, ", bar 15 MB")
    imports()
    no_copy()
    overhead()
    V, F = sheet(120, lambda x, z: 0.0 * x)
    W, _ = sheet(120, lambda x, z: 0.004 + 0.008 * np.sin(60 * x) * np.sin(50 * z))
    V, F = np.concatenate([V, W]), np.concatenate([F, F + len(V)])
    ctrl_c(f"fix of {len(F)}", lambda: unsnarl.fix(V, F))
    for count in (225, 380, 710):
        V, F = sheet(count, lambda x, z: 0.02 * np.sin(20 * x) * np.cos(15 * z))
        ctrl_c(f"check of {len(F)}", lambda: unsnarl.check(V, F))
    V, F = sheet(160, lambda x, z: 0.0 * x)
    W, _ = sheet(160, lambda x, z: 0.004 * np.sin(60 * x) * np.sin(50 * z))
    V, F = np.concatenate([V, W]), np.concatenate([F, F + len(V)])
    ctrl_c(f"check of {len(F)}, tangled", lambda: unsnarl.check(V, F))
    sys.exit(0 if all(BARS) else 1)


if __name__ == "__main__":
    main()
