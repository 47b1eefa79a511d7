"""Whether an object of a user's is what a protocol asks for: said when it is passed in, not where it is first used."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable


def lacking(thing: object, protocol: type) -> str:
    """What an object of a user's lacks of a protocol, in words that follow "but", or nothing."""
    name = type(thing).__name__
    if isinstance(thing, type):
        return f"{thing.__name__} is a class, not an object of it"
    if thing is None:
        return "there is none"
    missing = []
    for member, parameters in _members(protocol):
        if parameters is None:
            if inspect.getattr_static(thing, member, None) is None and not hasattr(thing, member):
                missing.append(member)
            continue
        told, method = f"{member}({', '.join(parameters)})", getattr(thing, member, None)
        if not callable(method):
            missing.append(told)
        elif not _takes(method, len(parameters)):
            return f"{name}.{member} does not take {', '.join(parameters)}"
    return f"{name} has no {', '.join(missing)}" if missing else ""


@functools.cache
def _members(protocol: type) -> tuple[tuple[str, tuple[str, ...] | None], ...]:
    """The public members of a protocol, and what those that are methods take."""
    found: dict[str, tuple[str, ...] | None] = {}
    for base in protocol.__mro__:
        if getattr(base, "_is_protocol", False):
            own = {name: member for name, member in vars(base).items() if not name.startswith("_")}
            for name, member in own.items():
                takes = tuple(inspect.signature(member).parameters)[1:] if inspect.isfunction(member) else None
                found.setdefault(name, takes)
    return tuple(found.items())


def _takes(method: Callable[..., object], count: int) -> bool:
    """Whether a function can be called with so many arguments."""
    try:
        inspect.signature(method).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # of a function that says nothing of itself
        return True
    return True
