"""`load`: an arm from a catalogue name or a file."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path

from .arm import Arm
from .dynamics.whole_arm import examine
from .errors import ModelError, UnknownNameError, did_you_mean
from .model import Model
from .model.inertia import estimated, lacking


def load(
    what: str | PathLike[str],
    tip: str | None = None,
    *,
    xacro: bool = False,
    friction: bool = True,
    density: float | None = None,
) -> Arm:
    """An arm by its catalogue name ("panda"), or from a URDF, MJCF or TOML file.

    `tip` is the link (of an MJCF file the body or site) that the arm ends at; without it the natural one is taken and
    told.  A xacro file is evaluated only with `xacro=True`, since that runs expressions in it.  friction=False leaves
    out the damping and dry friction that the description has.  A file without masses is refused, or with `density`
    (kg/m^3) links without mass or inertia get those of their capsules, and a warning says so.  What else looks wrong
    with a file is said: errors raise, warnings warn.
    """
    model = read(what, tip, xacro=xacro)
    arm = Arm(model) if fspath(what) in _catalogue() else Arm.checked(with_masses(model, density))
    return arm if friction else arm.without_friction()


def with_masses(model: Model, density: float | None) -> Model:
    """The model with estimated masses where its own give no mass matrix that can be computed with; else the same."""
    known = bool(model.capsules)  # of an arm without shapes nothing can be estimated
    if density is None or not known or not lacking(model) or not any(f.severity == "error" for f in examine(model)):
        return model
    return estimated(model, density)


def read(what: str | PathLike[str], tip: str | None = None, *, xacro: bool = False) -> Model:
    """The model as the catalogue or a file has it, not examined."""
    from .model import catalogue, mjcf, urdf  # readers are imported when something is read

    if not isinstance(what, str | PathLike):
        raise ModelError(f"load: expected the name of an arm or of its file; got {what!r:.60}")
    text, path = fspath(what), Path(what)
    if path.suffix.lower() in mjcf.SUFFIXES and mjcf.is_mjcf(path):
        return mjcf.load(path, tip)
    if path.suffix.lower() in (".urdf", ".xml", ".xacro"):
        return urdf.load(path, tip, xacro=xacro)
    if tip is not None:
        raise ModelError(f"tip names a link of a URDF file, where an arm ends; {text!r} has its own end, got {tip!r}")
    if path.suffix.lower() == ".toml":
        return catalogue.from_toml(path)
    if text in _catalogue():
        return catalogue.load(text)
    hint = did_you_mean(text, _catalogue(), 2, 0.5)
    raise UnknownNameError(
        f"no arm {text!r}: expected a catalogue name ({', '.join(_catalogue())}) or a .urdf, .xacro, "
        f".xml (MJCF) or .toml file{hint}"
    )


def _catalogue() -> tuple[str, ...]:
    from .model import catalogue

    return catalogue.names()
