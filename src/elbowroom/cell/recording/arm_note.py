"""The arm of a recording, whole, as a note in its file: it is shown again where the arm's own file is not.

    text = arm_text(model)           JSON: every field of the model, numbers to the last bit
    arm_of(text)                     the same model, checked as any

Infinite limits are `Infinity`, as Python's json writes them.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np

from ...errors import ModelError, RecordingError
from ...model import Model
from ...model.capsules import LinkCapsule
from .csv_file import LONGEST

ARM = "arm.json"
"""The key of the note."""
_TUPLES = ("joint_names", "link_names", "estimated")


def arm_text(model: Model) -> str | None:
    """The model as one line of JSON; None where it is too long for a note."""
    fields: dict[str, Any] = {}
    for spec in dataclasses.fields(model):
        value = getattr(model, spec.name)
        if isinstance(value, np.ndarray):
            value = value.tolist()
        elif spec.name == "capsules":
            value = [_said(each) for each in value]
        elif spec.name == "covers":
            value = {name: [_said(each) for each in cover] for name, cover in value}
        fields[spec.name] = value
    text = json.dumps(fields, separators=(",", ":"))
    return text if len(text) < LONGEST // 2 else None


def _said(capsule: LinkCapsule) -> list[Any]:
    return [capsule.name, capsule.link, list(capsule.a), list(capsule.b), capsule.radius]


def arm_of(text: str) -> Model:
    """The model that a note holds; a RecordingError where it is none."""
    try:
        fields = json.loads(text)
        if not isinstance(fields, dict):
            raise TypeError(f"expected an object; got {text!r:.40}")
        known = {spec.name for spec in dataclasses.fields(Model)}
        fields = {name: value for name, value in fields.items() if name in known}  # a later version may have more
        for name in _TUPLES:
            fields[name] = tuple(fields.get(name, ()))
        fields["capsules"] = tuple(_capsule(each) for each in fields.get("capsules", ()))
        covers = fields.get("covers", {})
        fields["covers"] = tuple((name, tuple(_capsule(each) for each in cover)) for name, cover in covers.items())
        return Model(**fields)
    except (ModelError, TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
        raise RecordingError(f"the note {ARM}: expected an arm; {error}") from None


def _capsule(values: Any) -> LinkCapsule:
    name, link, a, b, radius = values
    return LinkCapsule(name, link, a, b, radius)
