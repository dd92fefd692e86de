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


def sheet(count, height):
    x, z = np.meshgrid(np.arange(count) * 0.005, np.arange(count) * 0.005, indexing="ij")
    V = np.ascontiguousarray(np.stack([x, height(x, z), z], axis=-1).reshape(-1, 3))
    first = (np.arange(count - 1)[:, None] * count + np.arange(count - 1)).ravel()
    lower = np.stack([first, first + 1, first + count], axis=1)
    upper = np.stack([first + 1, first + count + 1, first + count], axis=1)
    return V, np.concatenate([lower, upper]).astype(np.int32)


def overhead():
    """The time of a call beside that of the engine within it, best of 25 rounds."""
    V, F = sheet(225, lambda x, z: 0.02 * np.sin(20 * x) * np.cos(15 * z))
    rounds = []
    for _ in range(25):
        start = time.perf_counter()
        report = unsnarl.check(V, F)
        rounds.append((time.perf_counter() - start, report.report["seconds"]))
    whole, own = min(one[0] for one in rounds), min(one[1] for one in rounds)
    print(f"check, {len(F)} triangles       {1e3 * whole:.2f} ms, the engine's own {1e3 * own:.2f} ms: {whole / own:.3f}")


def imports():
    code = "import time; t = time.perf_counter(); import unsnarl; unsnarl.check; print(time.perf_counter() - t)"
    times = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(9)]
    print(f"import                        {min(times):.3f} s, without numpy's own {min(times) - numpy_alone():.3f} s")


def numpy_alone():
    code = "import time; t = time.perf_counter(); import numpy; print(time.perf_counter() - t)"
    return min(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(9))


def ctrl_c(name, work):
    """Seconds from a Ctrl-C in the middle of some work to the exception, worst of 5."""
    waits = []
    for round_ in range(5):
        sent = []

        def interrupt():
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(0.5 + 0.1 * round_, interrupt)
        timer.start()
        try:
            while True:
                work()
        except KeyboardInterrupt:
            waits.append(time.perf_counter() - sent[0])
        time.sleep(1.0)
    print(f"Ctrl-C within {name:<15} {max(waits):.3f} s")


def main():
    wheel = pathlib.Path(sys.argv[1])
    print(f"wheel                         {wheel.stat().st_size / 1e6:.1f} MB")
    imports()
    overhead()
    V, F = sheet(120, lambda x, z: 0.0 * x)
    W, _ = sheet(120, lambda x, z: 0.004 + 0.008 * np.sin(60 * x) * np.sin(50 * z))
    V, F = np.concatenate([V, W]), np.concatenate([F, F + len(V)])
    ctrl_c("fix", lambda: unsnarl.fix(V, F))
    for count in (225, 710):
        V, F = sheet(count, lambda x, z: 0.02 * np.sin(20 * x) * np.cos(15 * z))
        ctrl_c(f"check {len(F)}", lambda: unsnarl.check(V, F))


if __name__ == "__main__":
    main()
