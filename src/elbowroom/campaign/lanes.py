"""Runs of a campaign side by side: arms under the same law with the same settings, in SIMD lanes.

    for k, of, scene, track in together(runs, ...):        runs: (k, RunParameters) of one `kind`
        ...

Runs go together that differ in their scene, people, sensor, duration and the numbers of the law alone (`kind`): arm,
law, number of people and limits are the same.  The numbers are those of the single loop to the bit
(bench/encounters/batch.py), so it is a matter of time alone which of the two runs what.  K and F go together,
supervised or not; routes and the laws of others go alone, and so do runs that are the only ones of their kind in a
block, but not in single precision.  On a card go supervised laws alone, and there their numbers are one, too.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator
from functools import partial
from typing import TypeVar

import numpy as np

from ..bench.encounters.batch import Together
from ..bench.encounters.methods import ALL, Factory, controller, supervised
from ..bench.encounters.on_card import OnCard, Room
from ..bench.encounters.run import RunTrack
from ..bench.encounters.scene import EncounterScene, Place, SensorFrames, frames
from . import arms
from .draws import RunParameters

FEWEST = 2  # that are worth it
KEPT = 64  # kinds: five arms under four laws, beside one person or two, some of them on a card and beside it

Numbered = tuple[int, RunParameters]
_batches: OrderedDict[tuple[Hashable, str, type], Together | OnCard] = OrderedDict()
B = TypeVar("B", Together, OnCard)


def kind(of: RunParameters, *, card: bool = False) -> Hashable | None:
    """What runs that go together have in common; None for one that goes alone.  On a `card` all settings are one."""
    if not together_by_law(of.law):
        return None
    settings = of.controller if card and on_card_by_law(of.law) else arms.program(of)
    return of.arm, of.tip, of.law, of.people, of.limits, settings, of.sensor.kind


def together_by_law(law: str) -> bool:
    """Whether runs of this law can go together."""
    return _maker(law) in (supervised, controller)


def on_card_by_law(law: str) -> bool:
    """Whether they can go on a card."""
    return _maker(law) is supervised


def _maker(law: str) -> Callable[..., object]:
    made = ALL[law]
    return made.func if isinstance(made, partial) else made


def shared(
    runs: Iterable[RunParameters], fewest: int = FEWEST, *, card: bool = False
) -> tuple[list[list[Numbered]], list[Numbered]]:
    """Groups that go together, with their numbers in the given order, and those that go alone."""
    kinds, alone = dict[Hashable, list[Numbered]](), list[Numbered]()
    for k, of in enumerate(runs):
        which = kind(of, card=card)
        (alone if which is None else kinds.setdefault(which, [])).append((k, of))
    groups = list[list[Numbered]]()
    for group in kinds.values():
        if len(group) < fewest:
            alone += group
        else:
            groups.append(group)
    return groups, alone


def together(
    group: list[Numbered],
    factory: Callable[[RunParameters], Factory],
    where: Place,
    scene_of: Callable[[RunParameters], EncounterScene],
    precision: str = "float64",
    *,
    card: Room | None = None,
) -> Iterator[tuple[int, RunParameters, EncounterScene, RunTrack]]:
    """Each run of a group with its scene and track, as it ends; on a card, if there is room for it there."""
    if card is not None and on_card_by_law(group[0][1].law):
        group = yield from _on_card(group, factory, where, scene_of, precision, card)
    if not group:
        return
    batch = _made(Together, group[0][1], factory, where, precision)
    runs = ((what, frames(what, of.sensor), arms.gains(of)) for what, of in _scenes(group, scene_of))
    for number, what, track in batch.stream(runs):
        yield *group[number], what, track


def _on_card(
    group: list[Numbered],
    factory: Callable[[RunParameters], Factory],
    where: Place,
    scene_of: Callable[[RunParameters], EncounterScene],
    precision: str,
    room: Room,
) -> Generator[tuple[int, RunParameters, EncounterScene, RunTrack], None, list[Numbered]]:
    """The runs that a card can make; gives those that are left."""
    left = list[Numbered]()
    batch = _made(OnCard, group[0][1], factory, where, precision)
    most = batch.fitting(room, max(of.duration for _, of in group))
    for first in range(0, len(group), most):
        some, scenes = group[first : first + most], list[EncounterScene]()

        def shown(
            some: list[Numbered] = some, scenes: list[EncounterScene] = scenes
        ) -> Iterator[tuple[EncounterScene, SensorFrames]]:
            for what, of in _scenes(some, scene_of):
                scenes.append(what)
                yield what, frames(what, of.sensor)

        tracks = batch.run(shown())
        for one, what, track in zip(some, scenes, tracks, strict=True):
            if track is None:
                left.append(one)
            else:
                yield *one, what, track
    return left


def _scenes(
    group: list[Numbered], scene_of: Callable[[RunParameters], EncounterScene]
) -> Iterator[tuple[EncounterScene, RunParameters]]:
    for _, of in group:
        yield scene_of(of), of


def _made(
    how: type[B], of: RunParameters, factory: Callable[[RunParameters], Factory], where: Place, precision: str
) -> B:
    """What runs a kind together, kept for the next of that kind."""
    key = kind(of, card=how is OnCard), precision, how
    batch = _batches.pop(key, None)
    if batch is None:
        batch = how(factory(of), where, of.people, of.sensor.kind, np.dtype(precision))
    _batches[key] = batch
    while len(_batches) > KEPT:
        _batches.popitem(last=False)
    assert isinstance(batch, how)
    return batch
