"""The command `unsnarl`: the very same as the program's, called in this process."""

from __future__ import annotations

import os
import pathlib
import signal
import sys
import sysconfig


def main() -> int:
    """Runs the command with the arguments of this process; gives its exit status."""
    arguments = ["unsnarl", *sys.argv[1:]]
    if (target := _needs_python(arguments)) is not None:
        from . import export

        return export.command(arguments[1:], target)
    from . import _unsnarl

    # A batch starts itself again for every sample, and this process is an interpreter.
    if (program := script()) is not None:
        os.environ.setdefault("UNSNARL_PROGRAM", str(program))
    # Python would only note a Ctrl-C and wait for the command to end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _unsnarl.command(arguments)


def script() -> pathlib.Path | None:
    """The script that starts the command, where it was installed."""
    named = pathlib.Path(sys.argv[0]).absolute()
    beside = [named, pathlib.Path(sys.executable).parent / "unsnarl", pathlib.Path(sysconfig.get_path("scripts")) / "unsnarl"]
    return next((path for path in beside if path.stem == "unsnarl" and path.is_file() and os.access(path, os.X_OK)), None)


def _needs_python(arguments: list[str]) -> str | None:
    """The kind of file, where `export` asks for one that Python packages write."""
    words = [word for word in arguments[1:] if not word.startswith("-")]
    if words[:1] != ["export"]:
        return None
    for word in arguments:
        name = word.split("=", 1)[-1].lower()
        for ending in (".usdc", ".usd", ".usdz", ".abc"):
            if name.endswith(ending):
                return ending
    return None


if __name__ == "__main__":
    sys.exit(main())
