"""A search for the worst encounters: CMA-ES (the library `cma`) over what people do and what the file draws.

    found = over(campaign, "least-distance")        the campaign with the search's parameters
    with Store.create(folder, found, evaluations, block=generation(found), precision="float64") as store:
        search(found, store, engine("local"))

A point of the search is a run of the campaign: each parameter that the file draws, and each choice of every person
(`bench.encounters.script`), by what of its distribution lies below it.  With z normally distributed,

    u = Phi(z),  LEAST <= u <= 1 - LEAST

is evenly distributed, so that CMA-ES, which begins with z ~ N(0, 1), begins with the campaign's own runs and moves
towards the worst.  Bounds of parameters and of limb speed are those of the campaign; nothing beyond is tried.

`ISLANDS` searches run side by side, each in a scene of its own: its goals and the sensor's noise are drawn by a seed.
One that has not become better for `PATIENCE` generations begins anew in the next scene.  A generation of all islands is
a block of the table.  All is deterministic, and resumed by telling the searches again what is in the table.

Objectives (what is sought, least first):

    least-distance   the least distance of the run, m
    contact-speed    the greatest contact speed, with the opposite sign; of runs without contact 10 + the least distance
    own-speed        the same for the part of the contact speed that is the arm's own motion
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..bench.encounters.script import names
from ..errors import ElbowroomError, UnknownNameError, did_you_mean, pip_install
from .distributions import Fixed, Uniform
from .draws import PERSON, scene_seed
from .engines import Block, Engine, Silent, Watch
from .runs import Rows
from .settings import OBJECTIVE, Campaign, Points
from .store import Store, StoreError, each_rows

Array = NDArray[np.float64]
OBJECTIVES = ("least-distance", "contact-speed", "own-speed")
ISLANDS, POPULATION = 4, 32
PATIENCE = 12  # generations
STOP_TIME = 2.5  # s of a run for which one stop of a person is searched
LEAST = 1e-3  # of a distribution: no value is taken from less of its ends
SPREAD = 1.0  # of z at first: the campaign's own
FAR = 10.0  # m/s, above every contact speed
_NORMAL = NormalDist()


def cma() -> Any:
    """The library, or an error that names the extra."""
    try:
        return import_module("cma")
    except ImportError as error:
        raise ElbowroomError(f"searches need cma: {pip_install('campaign')}") from error


def over(
    campaign: Campaign, objective: str = OBJECTIVES[0], *, islands: int = ISLANDS, population: int = POPULATION
) -> Campaign:
    """The campaign of a search: its parameters, and what each person does."""
    if objective not in OBJECTIVES:
        hint = did_you_mean(objective, OBJECTIVES)
        raise UnknownNameError(f"objective: expected one of {', '.join(OBJECTIVES)}; got {objective!r}{hint}")
    for name, least, value in (("islands", 1, islands), ("population", 4, population)):
        if value < least:
            raise ElbowroomError(f"{name}: expected a whole number from {least} on; got {value}")
    for name in ("arm", "law", "people", "duration"):
        if not isinstance(campaign.draws[name], Fixed):
            source = f"{campaign.source}: " if campaign.source else ""
            raise ElbowroomError(f"{source}{name}: a search has one; got {campaign.draws[name].data()}")
    people, duration = (float(str(campaign.draws[name].probes[0])) for name in ("people", "duration"))
    stops = math.ceil(duration / STOP_TIME)
    scripted = {f"{PERSON}{k + 1}.{name}": Uniform(0.0, 1.0) for k in range(int(people)) for name in names(stops)}
    settings = {
        OBJECTIVE: Fixed(objective),
        "search.islands": Fixed(islands),
        "search.population": Fixed(population),
    }
    return replace(campaign, draws={**campaign.draws, **settings, **scripted})


def is_search(campaign: Campaign) -> bool:
    """Whether its runs are those of a search."""
    return OBJECTIVE in campaign.draws


def setting(campaign: Campaign, name: str) -> Any:
    """`objective`, `islands` or `population` of a search."""
    return campaign.draws[f"search.{name}"].probes[0]


def generation(campaign: Campaign) -> int:
    """Runs of a generation of all islands."""
    return int(setting(campaign, "islands") * setting(campaign, "population"))


def searched(campaign: Campaign) -> tuple[str, ...]:
    """The parameters that are searched."""
    return tuple(name for name, draw in campaign.draws.items() if not isinstance(draw, Fixed))


def costs(rows: Rows, objective: str) -> Array:
    """(B,) what is sought to be little."""
    if objective == "least-distance":
        return np.array(rows["least"], dtype=float)
    speed = rows["contact_speed" if objective == "contact-speed" else "own_speed"]
    return np.where(rows["touched"], -np.nan_to_num(speed), FAR + rows["least"])


@dataclass
class _Island:
    """One CMA-ES in one scene."""

    scene: int
    solver: Any
    z: list[Array] = field(default_factory=list)  # of its last generation
    best: float = np.inf
    since: int = 0  # generations without a better one


class Search:
    """The islands: `points` of the next generation, and `tell` what came of them."""

    def __init__(self, campaign: Campaign) -> None:
        cma()
        self.campaign, self.names = campaign, searched(campaign)
        self.objective, self.population = str(setting(campaign, "objective")), int(setting(campaign, "population"))
        self._scenes = 0
        self.islands = [self._begin() for _ in range(int(setting(campaign, "islands")))]
        self._told = 0  # runs

    def _begin(self) -> _Island:
        """A search in the next scene."""
        scene, self._scenes = self._scenes, self._scenes + 1
        channel = int.from_bytes(hashlib.blake2b(b"search", digest_size=8).digest(), "little")
        random = np.random.Generator(np.random.Philox(key=[self.campaign.seed, channel], counter=[0, 0, 0, scene]))
        options = {
            "popsize": self.population,
            "randn": lambda *shape: random.standard_normal(shape),
            "seed": math.nan,  # nothing of NumPy's own generator
            "verbose": -10,  # and no file of signals is read
        }
        return _Island(scene, cma().CMAEvolutionStrategy(np.zeros(len(self.names)), SPREAD, options))

    def points(self) -> Points:
        """The runs of the next generation."""
        seeds, numbers = list[int](), list[list[float]]()
        for island in self.islands:
            island.z = island.solver.ask()
            seeds += [scene_seed(self.campaign.seed, island.scene)] * len(island.z)
            numbers += [[min(max(_NORMAL.cdf(x), LEAST), 1.0 - LEAST) for x in z.tolist()] for z in island.z]
        return Points(self._told, tuple(seeds), dict(zip(self.names, zip(*numbers, strict=True), strict=True)))

    def tell(self, rows: Rows) -> None:
        """What came of the last generation, in its order."""
        found = costs(rows, self.objective)
        for k, island in enumerate(self.islands):
            mine = found[k * self.population : (k + 1) * self.population]
            island.solver.tell(island.z, mine.tolist())
            better = float(mine.min()) < island.best - 1e-6  # m or m/s: what is less is no progress
            island.best, island.since = min(island.best, float(mine.min())), 0 if better else island.since + 1
            if island.since >= PATIENCE or island.solver.stop():
                self.islands[k] = self._begin()
        self._told += len(rows)


def evaluations(campaign: Campaign, wanted: int) -> int:
    """So many, rounded up to whole generations."""
    return -(-wanted // generation(campaign)) * generation(campaign)


def search(campaign: Campaign, store: Store, engine: Engine, watch: Watch | None = None) -> None:
    """Runs the generations that are missing.  Whatever ends it, a complete generation stays."""
    told = Search(campaign)
    first = min((block.number for block in store.missing()), default=store.runs)  # what comes after it is run anew, too
    watch = watch or Silent()
    kept: Iterator[Rows] = each_rows(store.folder)
    workers = max(int(getattr(engine, "workers", None) or 1), 1)
    for block in store.blocks:
        points = told.points()
        if block.number < first:
            rows = next(kept)
            _check(store.folder, campaign, points, rows)
            told.tell(rows)
            continue
        rows = _run(replace(campaign, points=points), block, engine, watch, workers)
        store.write(block, rows)
        told.tell(rows)


def _run(campaign: Campaign, block: Block, engine: Engine, watch: Watch, workers: int) -> Rows:
    """A generation, in as many parts as there are workers."""
    size = -(-block.count // workers)
    parts = [
        Block(k, block.first + first, min(size, block.count - first))
        for k, first in enumerate(range(0, block.count, size))
    ]
    found: dict[int, Rows] = {}
    with closing(engine.blocks(campaign, parts, watch)) as done:
        for part, rows in done:
            found[part.number] = rows
    return np.concatenate([found[k] for k in sorted(found)])


def _check(folder: Path, campaign: Campaign, points: Points, rows: Rows) -> None:
    """Refuses a table that this search would not have made."""
    some = {name: values for name, values in points.values.items() if name.startswith(PERSON)}
    if not all(np.array_equal(rows[name], values) for name, values in some.items()):
        raise StoreError(
            f"{folder}: runs {int(rows['run'][0])} to {int(rows['run'][-1])} are not those of this search; "
            "another version of cma or NumPy, or another machine, made them"
        )


# ---- what was found


def worst(folder: str | Path, campaign: Campaign, count: int, check: Callable[[], object] | None = None) -> Rows:
    """The worst runs of a search, by its objective, at most a quarter of them from one scene."""
    objective, most = str(setting(campaign, "objective")), max(1, count // 4)
    kept: Rows | None = None
    for rows in each_rows(folder):
        if check is not None:
            check()
        rows = rows if kept is None else np.concatenate([kept, rows])
        order = np.argsort(costs(rows, objective), kind="stable")
        taken, scenes = list[int](), dict[int, int]()
        for k in order.tolist():
            seed = int(rows["seed"][k])
            if scenes.get(seed, 0) < most and len(taken) < count:
                scenes[seed] = scenes.get(seed, 0) + 1
                taken.append(k)
        kept = rows[taken]
    if kept is None:
        raise ElbowroomError(f"{folder}: no generation is complete there; nothing to report")
    return kept
