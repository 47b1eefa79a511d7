"""`python -m elbowroom.cli` is `elbowroom`."""

from . import main

main()
