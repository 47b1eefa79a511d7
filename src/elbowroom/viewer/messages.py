"""Messages from pages: which there are, and whether one has the form that viser's own types say.

viser trusts its page: a message that it cannot read ends the connection, and one with a list where a name should be
ends in a traceback on the terminal.  So whoever reads a page's messages drops what `well_formed` refuses.
"""

from __future__ import annotations

from dataclasses import fields as fields_of
from functools import cache
from typing import Any

KINDS = (
    "ViewerCameraMessage",
    "GuiUpdateMessage",
    "CommandTriggerMessage",
    "TransformControlsUpdateMessage",
    "TransformControlsDragStartMessage",
    "TransformControlsDragEndMessage",
    "SceneNodeDragMessage",
    "SceneNodeClickMessage",
    "GetRenderResponseMessage",
)
"""What a page may send at all; steering.py says which page may what."""


def well_formed(data: str | bytes) -> bool:
    """Whether this is a message that a page may send, with the fields of its kind and values of their types."""
    import msgspec.msgpack

    if not isinstance(data, bytes):
        return False
    try:
        fields = msgspec.msgpack.decode(data)
        kind, names = _kinds()[fields.pop("type")]
        msgspec.convert(fields, kind)
    except Exception:  # bytes of anybody's choice can be wrong in any way
        return False
    return names.issuperset(fields)


@cache
def _kinds() -> dict[str, tuple[type[Any], frozenset[str]]]:
    """The types of viser, and their fields, by name."""
    from viser import _messages

    found = {name: getattr(_messages, name) for name in KINDS}
    return {name: (kind, frozenset(spec.name for spec in fields_of(kind))) for name, kind in found.items()}
