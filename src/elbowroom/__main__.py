"""`python -m elbowroom`: the same as the command `elbowroom`."""

from .cli import main

if __name__ == "__main__":
    main()
