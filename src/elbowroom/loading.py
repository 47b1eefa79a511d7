"""`load`: an arm from a catalogue name or a file."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path

from .arm import Arm
from .errors import ModelError, UnknownNameError
from .model import Model


def load(what: str | PathLike[str], tip: str | None = None, *, friction: bool = True) -> Arm:
    """An arm by its catalogue name ("panda"), or from a URDF file (with the link `tip` it ends at) or a TOML file.

    friction=False leaves out the damping and dry friction that it has.  What looks wrong with a file is said: errors
    raise, warnings warn.
    """
    model = read(what, tip)
    arm = Arm(model) if fspath(what) in _catalogue() else Arm.checked(model)
    return arm if friction else arm.without_friction()


def read(what: str | PathLike[str], tip: str | None = None) -> Model:
    """The model as the catalogue or a file has it, not examined."""
    from .model import catalogue, urdf  # readers are imported when something is read

    text, path = fspath(what), Path(what)
    if path.suffix.lower() in (".urdf", ".xml"):
        return urdf.load(path, tip)
    if tip is not None:
        raise ModelError(f"tip names a link of a URDF file, where an arm ends; {text!r} has its own end, got {tip!r}")
    if path.suffix.lower() == ".toml":
        return catalogue.from_toml(path)
    if text in _catalogue():
        return catalogue.load(text)
    import difflib

    near = difflib.get_close_matches(text, _catalogue(), n=2, cutoff=0.5)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    raise UnknownNameError(
        f"no arm {text!r}: expected a catalogue name ({', '.join(_catalogue())}) or a .urdf or .toml file{hint}"
    )


def _catalogue() -> tuple[str, ...]:
    from .model import catalogue

    return catalogue.names()
