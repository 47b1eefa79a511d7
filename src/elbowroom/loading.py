"""`load`: an arm from a catalogue name or a file."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path

from .arm import Arm
from .errors import ModelError, UnknownNameError


def load(what: str | PathLike[str], tip: str | None = None) -> Arm:
    """An arm by its catalogue name ("panda"), or from a URDF file (with the link `tip` it ends at) or a TOML file."""
    import difflib

    from .model import catalogue  # readers are imported when something is read

    text = fspath(what)
    path = Path(text)
    if text in catalogue.names():
        if tip is not None:
            raise ModelError(
                f"tip names a link of a URDF file; the catalogue arm {text!r} has a fixed one, got {tip!r}"
            )
        return Arm(catalogue.load(text))  # checked by the project's own tests, so nothing to warn of
    suffix = path.suffix.lower()
    if suffix in (".urdf", ".xml"):
        return Arm.from_urdf(path, tip)
    if suffix == ".toml":
        return Arm._checked(catalogue.from_toml(path))
    near = difflib.get_close_matches(text, catalogue.names(), n=2, cutoff=0.5)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    raise UnknownNameError(
        f"no arm {text!r}: expected a catalogue name ({', '.join(catalogue.names())}) or a .urdf or .toml file{hint}"
    )
