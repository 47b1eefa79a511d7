"""What a campaign's table says: counts, distributions, pairs and the worst runs, read block by block.

found = summary(folder)                     memory as much as a block takes, whatever the number of runs

cells        by arm and law: runs, touches, approach contacts, touches of an arm that stood, goals, stops
least        by arm and law: a histogram of the least distance, `EDGES`
contacts     by law and region of the body: a histogram of the contact speed, `SPEEDS`
goals        by law: runs by the number of goals
pairs        by arm, two laws in the same scenes: discordant touches, and goals of both
worst        runs with the least distance and with the greatest contact speed, by turns of the laws
shares       by law: touches by quarter, or by value, of each drawn parameter
looked       touched runs of supervised laws, the first of each arm and law, and all approach contacts, to be looked at
             again (touches.py)
sample       rows for rank correlations (sensitivity.py): whole scenes, evenly over the campaign
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
from numpy.lib.recfunctions import repack_fields
from numpy.typing import NDArray

from ..bench.encounters.run import DRAWS, LEVEL, Interval
from ..errors import ElbowroomError
from .distributions import Choice, Distribution, Each, Fixed, Integers
from .draws import parameters_of
from .execute import Tally, tallies
from .runs import Rows, Schema
from .settings import Campaign, overrides
from .store import campaign_of, each_rows, read_manifest, read_schema
from .touches import Touch, look

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

EDGES = np.arange(-300.0, 2001.0, dtype=np.float64) * 2e-3  # m: -0.6 to 4.0
SPEEDS = np.arange(-100.0, 1001.0, dtype=np.float64) * 1e-2  # m/s: -1 to 10
WORST = 20
LOOKED = 400  # touched runs of an arm and a law that are looked at again
SAMPLE = 50_000  # scenes
GROUPS = 6  # values of a parameter that are shown one by one; of more, quarters
REGIONS = {
    "head": ("head",),
    "trunk": ("torso", "shoulders"),
    "upper arms": ("left_upper_arm", "right_upper_arm"),
    "forearms": ("left_forearm", "right_forearm"),
    "hands": ("left_hand", "right_hand"),
    "legs": ("left_thigh", "right_thigh", "left_shin", "right_shin"),
}
"""Parts of a person by region of the body."""
SHOWN = ("run", "seed", "arm", "law", "least", "least_at", "contact_speed", "contact_part", "contact_link", "own_speed")
FLAGS = ("touched", "approach", "standing")


@dataclass
class Pair:
    """Two laws of one arm in the same scenes."""

    arm: str
    this: str
    other: str
    scenes: int = 0
    both: int = 0  # scenes in which both were touched
    discordant: dict[str, list[int]] = field(default_factory=lambda: {"touched": [0, 0], "approach": [0, 0]})
    goals: Counter[tuple[int, int]] = field(default_factory=Counter)  # of both, by how often


@dataclass(frozen=True)
class Group:
    """Values of a parameter from `low` to below `high`, or one value."""

    label: str
    low: float
    high: float


@dataclass
class Summary:
    """What is in the table; the module's docstring has the parts."""

    campaign: Campaign
    schema: Schema
    asked: int  # runs
    precision: str = "float64"  # of closed loops
    runs: int = 0
    seconds: float = 0.0  # of all encounters together
    cells: list[Tally] = field(default_factory=list)
    times: dict[tuple[str, str], float] = field(default_factory=dict)  # s of encounters, by arm and law
    least: dict[tuple[str, str], Counts] = field(default_factory=dict)
    contacts: dict[tuple[str, str], Counts] = field(default_factory=dict)
    hardest: dict[tuple[str, str], float] = field(default_factory=dict)  # m/s, by law and region
    goals: dict[str, Counter[int]] = field(default_factory=dict)
    pairs: list[Pair] = field(default_factory=list)
    worst: list[dict[str, object]] = field(default_factory=list)
    groups: dict[str, list[Group]] = field(default_factory=dict)  # by parameter
    shares: dict[tuple[str, str], Counts] = field(default_factory=dict)  # by law and parameter: (groups, 2)
    looked: dict[tuple[str, str], list[int]] = field(default_factory=dict)  # numbers of runs, by arm and law
    approaches: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    touches: dict[int, Touch] = field(default_factory=dict)  # of those of `looked` and `approaches`, if asked for
    sample: Rows = field(default_factory=lambda: np.empty(0, dtype=[]))


class Scenes:
    """Rows sorted into whole scenes, also where a scene lies in two blocks."""

    def __init__(self, size: int) -> None:
        self._size = size  # runs of a scene
        self._left: Rows | None = None

    def whole(self, block: Rows) -> Rows:
        """The rows of this block and of what is left of those before, of scenes of which all runs are there."""
        rows = block if self._left is None else np.concatenate([self._left, block])
        _, count = np.unique(rows["run"] // self._size, return_counts=True)
        self._left = rows[len(rows) - count[-1] :] if len(count) and count[-1] < self._size else None
        found: Rows = rows[np.repeat(count == self._size, count)]
        return found


def groups_of(draw: Distribution) -> list[Group]:
    """Quarters of a distribution, each as likely as another; its values where they are few."""
    if isinstance(draw, Choice | Integers):
        values = draw.probes if isinstance(draw, Choice) else tuple(range(draw.low, draw.high + 1))
        if isinstance(values[0], str):
            return [Group(str(value), k, k + 1) for k, value in enumerate(values)]
        if len(values) <= GROUPS:
            numbers = sorted(float(value) for value in values if isinstance(value, int | float))
            return [Group(f"{value:g}", value, np.nextafter(value, np.inf)) for value in numbers]
    ends = [float(value) for value in draw.values(np.array([0.0, 0.25, 0.5, 0.75, 1.0 - 2.0**-53]))]  # type: ignore[arg-type]  # numbers
    ends[-1] = np.nextafter(ends[-1], np.inf)
    return [Group(f"{low:.3g} to {high:.3g}", low, high) for low, high in pairwise(ends) if low < high]


def varied(campaign: Campaign) -> dict[str, Distribution]:
    """What differs from run to run, but arm and law."""
    return {
        name: draw
        for name, draw in campaign.draws.items()
        if not isinstance(draw, Fixed | Each) and name not in ("arm", "law")
    }


def summary(folder: str | Path, check: Callable[[], object] | None = None) -> Summary:
    """Reads the table of a campaign; `check` is called at every block, and may raise."""
    folder = Path(folder)
    campaign, columns = campaign_of(folder), read_schema(folder)
    manifest = read_manifest(folder)
    found = Summary(campaign, columns, int(manifest["runs"]), str(manifest["precision"]))
    arms, laws = columns.labels["arm"], columns.labels["law"]
    found.groups = {name: groups_of(draw) for name, draw in varied(campaign).items()}
    paired_arms = arms if isinstance(campaign.draws["law"], Each) else ()
    found.pairs = [Pair(arm, a, b) for arm in paired_arms for a, b in combinations(laws, 2)]
    worst = _Worst(laws)
    every = max(1, -(-found.asked // campaign.paired // SAMPLE))
    drawn = [*found.groups, "run", "law", "least", "goals"]
    kept: list[Rows] = []

    scenes = Scenes(campaign.paired)

    def blocks() -> Iterator[Rows]:
        for rows in each_rows(folder):
            if check is not None:
                check()
            found.runs += len(rows)
            found.seconds += float(rows["duration"].sum(dtype=np.float64))
            _distributions(found, rows)
            _shares(found, rows)
            if found.pairs:
                _pairs(found, scenes.whole(rows))
            worst.add(rows)
            _touched(found, rows)
            kept.append(repack_fields(rows[(rows["run"] // campaign.paired) % every == 0][drawn]))
            yield rows

    found.cells = tallies(blocks(), columns)
    if not found.runs:
        raise ElbowroomError(f"{folder}: no run is complete there; nothing to report")
    found.sample = np.concatenate(kept)
    found.worst = [_told(row, columns) for row in worst.chosen()]
    found.pairs = [pair for pair in found.pairs if pair.scenes]
    return found


def _distributions(found: Summary, rows: Rows) -> None:
    columns = found.schema
    parts = columns.labels["contact_part"]
    region = np.full(len(parts) + 1, -1)
    for k, names in enumerate(REGIONS.values()):
        for name in names:
            if name in parts:
                region[parts.index(name)] = k
    for k, law in enumerate(columns.labels["law"]):
        mine = rows[rows["law"] == k]
        if not len(mine):
            continue
        found.goals.setdefault(law, Counter()).update(
            dict(zip(*np.unique(mine["goals"], return_counts=True), strict=True))
        )
        for a, arm in enumerate(columns.labels["arm"]):
            some = mine[mine["arm"] == a]
            if len(some):
                where = (arm, law)
                _add(found.least, where, _histogram(some["least"], EDGES))
                time = float(some["duration"].sum(dtype=np.float64))
                found.times[where] = found.times.get(where, 0.0) + time
        touched = mine[mine["touched"]]
        for r, name in enumerate(REGIONS):
            speeds = touched["contact_speed"][region[touched["contact_part"]] == r]
            if len(speeds):
                where = (law, name)
                _add(found.contacts, where, _histogram(speeds, SPEEDS))
                found.hardest[where] = max(found.hardest.get(where, -np.inf), float(speeds.max()))


def _touched(found: Summary, rows: Rows) -> None:
    """Numbers of touched runs under laws that are supervised."""
    arms, laws = found.schema.labels["arm"], found.schema.labels["law"]
    for row in rows[rows["touched"]]:
        arm, law = arms[row["arm"]], laws[row["law"]]
        if "limits" in overrides(law):
            some = found.looked.setdefault((arm, law), [])
            if len(some) < LOOKED:
                some.append(int(row["run"]))
            if row["approach"]:
                found.approaches.setdefault((arm, law), []).append(int(row["run"]))


def look_again(found: Summary, check: Callable[[int, int], object] | None = None) -> None:
    """Fills `touches`: why people were touched, and every approach contact, by running these runs again."""
    wanted = sorted({run for part in (found.looked, found.approaches) for runs in part.values() for run in runs})
    for k, run in enumerate(wanted):
        if check is not None:
            check(k, len(wanted))
        touch = look(parameters_of(found.campaign, run), found.precision)
        if touch is not None:
            found.touches[run] = touch
    for runs in found.approaches.values():  # the hardest first
        runs.sort(key=lambda run: (-_hardness(found.touches.get(run)), run))


def _hardness(touch: Touch | None) -> float:
    return touch.approach.own if touch is not None and touch.approach is not None else 0.0


def _add(to: dict[tuple[str, str], Counts], where: tuple[str, str], counts: Counts) -> None:
    to[where] = to[where] + counts if where in to else counts


def _histogram(values: Array, edges: Array) -> Counts:
    """Counts between the edges; what lies beyond is in the first and the last."""
    found: Counts = np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0].astype(np.int64)
    return found


def _shares(found: Summary, rows: Rows) -> None:
    for k, law in enumerate(found.schema.labels["law"]):
        mine = rows[rows["law"] == k]
        for name, groups in found.groups.items():
            values = mine[name]
            counts = np.array(
                [
                    (np.count_nonzero(inside), np.count_nonzero(mine["touched"] & inside))
                    for inside in ((values >= group.low) & (values < group.high) for group in groups)
                ]
            )
            _add(found.shares, (law, name), counts)


def _pairs(found: Summary, rows: Rows) -> None:
    arms, laws = found.schema.labels["arm"], found.schema.labels["law"]
    by = {law: rows[rows["law"] == k] for k, law in enumerate(laws)}  # the same scenes and arms, in the same order
    for pair in found.pairs:
        code = arms.index(pair.arm)
        this, other = (each[each["arm"] == code] for each in (by[pair.this], by[pair.other]))
        pair.scenes += len(this)
        pair.both += int(np.count_nonzero(this["touched"] & other["touched"]))
        for name, counts in pair.discordant.items():
            counts[0] += int(np.count_nonzero(this[name] & ~other[name]))
            counts[1] += int(np.count_nonzero(other[name] & ~this[name]))
        both = np.stack([this["goals"], other["goals"]], axis=1)
        values, counts_ = np.unique(both, axis=0, return_counts=True)
        pair.goals.update({(int(a), int(b)): int(n) for (a, b), n in zip(values, counts_, strict=True)})


class _Worst:
    """The runs of each law with the least distance, and those with the greatest contact speed."""

    def __init__(self, laws: tuple[str, ...]) -> None:
        self._laws, self._kept = range(len(laws)), dict[tuple[int, str], Rows]()

    def add(self, rows: Rows) -> None:
        for law in self._laws:
            mine = rows[rows["law"] == law]
            for name in ("least", "contact_speed"):
                some = mine if name == "least" else mine[mine["touched"]]
                before = self._kept.get((law, name))
                some = some if before is None else np.concatenate([before, some])
                by = some[name] if name == "least" else -some[name]
                self._kept[law, name] = some[np.lexsort((some["run"], by))[:WORST]]

    def chosen(self) -> list[Rows]:
        """Twenty, taken by turns from the lists; the same run is taken once."""
        lists = [iter(self._kept[law, name]) for name in ("least", "contact_speed") for law in self._laws if self._kept]
        found: dict[int, Rows] = {}
        while lists and len(found) < WORST:
            for each in list(lists):
                row = next((row for row in each if int(row["run"]) not in found), None)
                if row is None:
                    lists.remove(each)
                elif len(found) < WORST:
                    found[int(row["run"])] = row
        return sorted(found.values(), key=lambda row: float(row["least"]))


def _told(row: Rows, columns: Schema) -> dict[str, object]:
    """A row with words."""
    found: dict[str, object] = {}
    for name in (*SHOWN, *FLAGS, "goals", "stops", "people"):
        words = columns.labels.get(name)
        value = row[name].item()
        found[name] = value if words is None else words[value] if value >= 0 else ""
    return found


# ---- figures from counts


def quantile(counts: Counts, edges: Array, part: float) -> float:
    """From a histogram: the upper edge below which at least this part of the values lies."""
    total = np.cumsum(counts)
    return float(edges[1 + int(np.searchsorted(total, part * total[-1]))])


def goals_ratio(goals: Counter[tuple[int, int]]) -> Interval:
    """Goals of the first law over those of the second, with the bootstrap's bounds; scenes drawn anew, pairs kept.

    As `bench.encounters.run.ratio`, by how often each pair of numbers occurs: scenes with the same pair need not be
    told apart, so that a million take as long as a hundred.
    """
    pairs, counts = np.array(list(goals)), np.array(list(goals.values()))
    over, under = (float(x) for x in counts @ pairs)
    if not under:
        return Interval(np.nan, np.nan, np.nan)
    drawn = np.random.default_rng(0).multinomial(counts.sum(), counts / counts.sum(), size=DRAWS) @ pairs
    kept = drawn[drawn[:, 1] > 0]
    low, high = np.quantile(kept[:, 0] / kept[:, 1], [(1.0 - LEVEL) / 2, (1.0 + LEVEL) / 2])
    return Interval(over / under, float(low), float(high))
