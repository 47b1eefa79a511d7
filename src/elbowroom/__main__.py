"""`python -m elbowroom`, and the command `elbowroom`: starts the command line, whatever state this installation is in.

Ctrl-C while packages are still being imported ends it without a trace.  Where they cannot be imported it says which
one, and `elbowroom doctor` still works: it (cli/doctor.py) needs the standard library alone.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

INTERRUPTED = 130  # what a shell expects of a program that Ctrl-C ended


def main() -> None:
    """Run the command with the process's own arguments and exit."""
    try:
        from .cli import main as command
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except ImportError as error:
        if "--debug" in sys.argv:
            raise
        sys.exit(_without(error))
    command()


def _without(error: ImportError) -> int:
    """What can still be done where the command line cannot be imported: say why, or examine.  The exit status."""
    if sys.argv[1:2] != ["doctor"]:
        sys.stderr.write(f"error: elbowroom cannot start: {error}; `elbowroom doctor` says what to do\n")
        return 1
    doctor = _doctor()
    found = doctor.examine()
    sys.stdout.write(doctor.as_json(found) if "--json" in sys.argv else doctor.as_text(found))
    return 0 if doctor.healthy(found) else 1


def _doctor() -> ModuleType:
    """The doctor, with an empty package in the place of the one that cannot be imported."""
    import importlib

    bare = ModuleType("elbowroom.cli")
    bare.__path__ = [str(Path(__file__).parent / "cli")]
    sys.modules["elbowroom.cli"] = bare
    return importlib.import_module("elbowroom.cli.doctor")


if __name__ == "__main__":
    main()
