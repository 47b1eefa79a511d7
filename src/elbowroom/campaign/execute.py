"""A campaign run to its end: the blocks that are missing, by an engine, into a folder; and its short summary."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from .engines import Engine, Silent, Watch
from .runs import Rows, Schema
from .settings import Campaign
from .store import Store


def execute(campaign: Campaign, store: Store, engine: Engine, watch: Watch | None = None) -> None:
    """Runs what is missing.  Whatever ends it, a complete block stays."""
    with closing(engine.blocks(campaign, store.missing(), watch or Silent())) as done:
        for block, rows in done:
            store.write(block, rows)


@dataclass
class Tally:
    """Counts over the runs of one arm under one law."""

    arm: str
    law: str
    runs: int = 0
    touched: int = 0
    standing: int = 0
    approach: int = 0
    goals: int = 0
    stops: int = 0


def tallies(blocks: Iterable[Rows], columns: Schema) -> list[Tally]:
    """Counts for every arm and law, in the campaign's order."""
    arms, laws = columns.labels["arm"], columns.labels["law"]
    found = {(a, k): Tally(arm, law) for a, arm in enumerate(arms) for k, law in enumerate(laws)}
    for rows in blocks:
        for (a, k), tally in found.items():
            some = rows[(rows["arm"] == a) & (rows["law"] == k)]
            tally.runs += len(some)
            for name in ("touched", "standing", "approach", "goals", "stops"):
                setattr(tally, name, getattr(tally, name) + int(np.sum(some[name], dtype=np.int64)))
    return [tally for tally in found.values() if tally.runs]
