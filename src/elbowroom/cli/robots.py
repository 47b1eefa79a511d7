"""`elbowroom robots`: the catalogue."""

from __future__ import annotations

from ..model import catalogue
from .terminal import line, table


def robots() -> None:
    """List the arms that come with elbowroom.

    \b
    elbowroom robots
    """
    models = [catalogue.load(name) for name in catalogue.names()]
    table(
        ["name", "joints", "description", "source of its numbers"],
        ([m.name, f"{m.n} {m.kinds}", m.description, m.source] for m in models),
        words=4,
    )
    line("\nR turns, P slides.  More about one: elbowroom show NAME")
