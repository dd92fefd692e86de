"""The command `unsnarl`: the very same as the program's, called in this process."""

from __future__ import annotations

import signal
import sys


def main() -> int:
    """Runs the command with the arguments of this process; gives its exit status."""
    arguments = ["unsnarl", *sys.argv[1:]]
    if (target := _needs_python(arguments)) is not None:
        from . import export

        return export.command(arguments[1:], target)
    from . import _unsnarl

    # Python would only note a Ctrl-C and wait for the command to end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _unsnarl.command(arguments)


def _needs_python(arguments: list[str]) -> str | None:
    """The kind of file, where `export` asks for one that Python packages write."""
    if arguments[1:2] != ["export"]:
        return None
    for word in arguments:
        name = word.split("=", 1)[-1].lower()
        for ending in (".usdc", ".usd", ".usdz", ".abc"):
            if name.endswith(ending):
                return ending
    return None


if __name__ == "__main__":
    sys.exit(main())
