"""`python tests/fuzz`: see cli.py."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

if __name__ == "__main__":  # a worker process imports this file too
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # of the package `fuzz`, not of its modules
    from fuzz.cli import main

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: what has been counted is said
    sys.exit(main())
