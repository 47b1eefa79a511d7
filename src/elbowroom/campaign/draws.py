"""From a run's number to its parameters: a function of campaign, seed and number alone.

The parameter `name` of scene number s is drawn from word 0 of the block s + 1 of Philox4x64-10 with the key

    (campaign seed, first 8 bytes of BLAKE2b(name))

so that no draw depends on others: a block of runs, a parameter more or fewer, or another engine change nothing.  What
is `each` is counted through: run r has scene r // P and combination r % P, arms outside, laws inside.

A search (search.py) gives its runs instead (`Campaign.points`), and what people do in them: parameters
`person1.height`, `person1.stop1.hand_speed` and so on are numbers of `bench.encounters.script`.

A scene's seed is (campaign seed + 1) 2^32 + s, which no search for settings and no figure of `bench encounters` has.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..bench.encounters.scene import PERIOD, SensorSettings
from ..errors import ElbowroomError
from .distributions import Each, Fixed, Value
from .settings import PARTS, RUNS, Campaign, Points, made

Named = tuple[tuple[str, Value], ...]
PERSON = "person"
"""What parameters of people begin with: person1, person2."""


@dataclass(frozen=True)
class RunParameters:
    """All that a run depends on."""

    number: int
    seed: int  # of the scene
    arm: str
    tip: str | None
    law: str
    people: int
    duration: float  # s
    limb_speed: float  # m/s
    sensor: SensorSettings
    limits: Named  # by dotted names, as in scene files: "limits.human_speed"
    controller: Named
    drawn: Named  # what has columns of its own
    scripts: tuple[tuple[float, ...], ...] = ()  # what people do, if not drawn by the seed

    @property
    def steps(self) -> int:
        """Control steps of the run."""
        return round(self.duration / PERIOD)


def scene_seed(campaign_seed: int, scene: int) -> int:
    """The seed of a campaign's scene."""
    return ((campaign_seed + 1) << 32) + scene


def uniforms(seed: int, name: str, first: int, count: int) -> NDArray[np.float64]:
    """(count,) numbers from 0 to below 1, of a parameter in the scenes from `first` on."""
    channel = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")
    words = np.random.Philox(key=np.array([seed, channel], dtype=np.uint64), counter=first).random_raw(4 * count)
    drawn: NDArray[np.float64] = (words[::4] >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return drawn


def parameters(campaign: Campaign, first: int, count: int) -> list[RunParameters]:
    """Of `count` runs from number `first` on."""
    if not 0 <= first <= first + count <= RUNS:
        raise ElbowroomError(f"runs: expected numbers from 0 to {RUNS - 1}; got {count} from {first} on")
    if not count:
        return []
    if campaign.points is not None:
        return _given(campaign, campaign.points, first, count)
    paired = campaign.paired
    scenes = range(first // paired, (first + count - 1) // paired + 1)
    values = {
        name: draw.values(uniforms(campaign.seed, name, scenes[0], len(scenes)))
        for name, draw in campaign.draws.items()
        if not isinstance(draw, Each)
    }
    return [
        _parameters(
            campaign,
            number,
            scene_seed(campaign.seed, number // paired),
            {name: each[number // paired - scenes[0]] for name, each in values.items()},
        )
        for number in range(first, first + count)
    ]


def _given(campaign: Campaign, points: Points, first: int, count: int) -> list[RunParameters]:
    """Runs of a search."""
    numbers = range(first - points.first, first - points.first + count)
    if numbers.start < 0 or numbers.stop > len(points.seeds):
        raise ElbowroomError(f"runs: expected numbers from {points.first} on, {len(points.seeds)} of them; got {first}")
    columns = {
        name: draw.values(np.array([points.values[name][k] for k in numbers]))
        if name in points.values
        else [draw.probes[0]] * count
        for name, draw in campaign.draws.items()
    }
    return [
        _parameters(campaign, first + i, points.seeds[k], {name: each[i] for name, each in columns.items()})
        for i, k in enumerate(numbers)
    ]


def parameters_from(campaign: Campaign, row: np.void, labels: Mapping[str, Sequence[str]]) -> RunParameters:
    """Of the run in a row of the table: what is drawn has its value there."""
    values: dict[str, Value] = {}
    for name, draw in campaign.draws.items():
        first = draw.probes[0]
        if isinstance(draw, Fixed):
            values[name] = first
        elif name in labels:
            values[name] = labels[name][int(row[name])]
        elif isinstance(first, int) and not isinstance(first, bool):
            values[name] = round(float(row[name]))
        else:
            values[name] = float(row[name])
    return _parameters(campaign, int(row["run"]), int(row["seed"]), values)


def parameters_of(campaign: Campaign, number: int) -> RunParameters:
    """Of one run."""
    return parameters(campaign, number, 1)[0]


def _parameters(campaign: Campaign, number: int, seed: int, values: dict[str, Value]) -> RunParameters:
    left = number % campaign.paired
    for name in ("law", "arm"):  # laws change fastest
        draw = campaign.draws[name]
        if isinstance(draw, Each):
            left, k = divmod(left, len(draw.options))
            values[name] = draw.options[k]
    parts = {part: {n: v for n, v in values.items() if n.startswith(f"{part}.")} for part in PARTS}
    arm, people, duration, limb_speed = (values[n] for n in ("arm", "people", "duration", "limb_speed"))
    assert isinstance(people, int)
    assert isinstance(duration, int | float)
    assert isinstance(limb_speed, int | float)
    return RunParameters(
        number,
        seed,
        str(arm),
        campaign.tips.get(str(arm)),
        str(values["law"]),
        people,
        float(duration),
        float(limb_speed),
        made("sensor", parts["sensor"]),
        tuple(parts["limits"].items()),
        tuple(parts["controller"].items()),
        tuple((name, values[name]) for name in campaign.drawn),
        _scripts(values),
    )


def _scripts(values: Mapping[str, Value]) -> tuple[tuple[float, ...], ...]:
    """What is given of each person."""
    people: dict[str, list[float]] = {}
    for name, value in values.items():
        who, _, what = name.partition(".")
        if what and who.startswith(PERSON):
            people.setdefault(who, []).append(float(value))  # type: ignore[arg-type]  # numbers
    return tuple(tuple(each) for each in people.values())
