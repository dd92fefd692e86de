"""`python -m unsnarl` is the command `unsnarl`."""

import sys

from ._command import main

if __name__ == "__main__":
    sys.exit(main())
