"""The Python package: built as a wheel, installed into a fresh environment, and tested there.

    python tests/python/check_package.py --unsnarl target/debug/unsnarl
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import venv

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "tests/python/package"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unsnarl", default="target/debug/unsnarl")
    parser.add_argument("--profile", default="dev")
    arguments = parser.parse_args()
    wheels, home = ROOT / "target/wheels-test", ROOT / "target/python-env"
    shutil.rmtree(wheels, ignore_errors=True)
    build = [sys.executable, "-m", "maturin", "build", "--quiet", "--locked", "--profile", arguments.profile]
    subprocess.run([*build, "--out", wheels], cwd=ROOT, check=True)
    (wheel,) = wheels.glob("unsnarl-*.whl")
    assert "-cp311-abi3-" in wheel.name, wheel.name
    venv.create(home, clear=True, with_pip=True)
    python = home / "bin/python"
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, wheel, "-r", HERE / "requirements.txt"], check=True)
    subprocess.run([home / "bin/abi3audit", "--strict", "--summary", wheel], check=True)
    subprocess.run([python, "-m", "mypy.stubtest", "unsnarl"], cwd=home, check=True)
    environment = {**os.environ, "UNSNARL": str((ROOT / arguments.unsnarl).resolve())}
    tests = [python, "-m", "unittest", "discover", "--start-directory", HERE]
    subprocess.run(tests, cwd=home, env=environment, check=True)


if __name__ == "__main__":
    main()
