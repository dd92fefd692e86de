"""`python -m unsnarl` is the command `unsnarl`."""

import sys

from ._command import main

sys.exit(main())
