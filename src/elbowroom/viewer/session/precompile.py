"""Precompilation: the cells that a user is likely to choose next, compiled into the disk cache beforehand.

A process of its own does it, one cell after the other, at the lowest priority there is, so that it has only the time
that nobody else wants.  It ends with the page's process: the pipe between them closes.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from multiprocessing.connection import Connection

from ...cell.runner import Cell
from ...errors import ElbowroomError
from .setup import CELL, Setup

LAWS = ("K", "F")


def wanted(setup: Setup) -> Iterator[Setup]:
    """What is likely to be chosen next: the other law, the other arms, then the other scenarios of this arm."""
    yield replace(setup, controller="F")
    for arm in setup.arms:
        yield Setup(CELL, arm, own=setup.own, tip=setup.tip)
    for scenario in setup.scenarios:
        yield Setup(scenario, setup.robot, motion=setup.motion, own=setup.own, tip=setup.tip)
    for arm in setup.arms:
        yield Setup(CELL, arm, controller="F", own=setup.own, tip=setup.tip)


def prepare(setup: Setup, tell: Callable[[str], object] = lambda _: None) -> int:
    """Every arm in the cell, and every scenario of this arm, compiled now; how many.  `tell` hears which is next."""
    plain = Setup(motion=setup.motion, own=setup.own, tip=setup.tip)
    cells = [replace(plain, robot=arm) for arm in setup.arms]
    cells += [replace(plain, scenario=scenario, robot=setup.robot) for scenario in setup.scenarios]
    done = 0
    for k, each in enumerate(cells):
        tell(f"{k + 1} of {len(cells)}: {each.robot}, {each.scenario}")
        with contextlib.suppress(ElbowroomError):  # an arm that does not fit a scenario
            Cell(each.scene())
            done += 1
    return done


def idle() -> None:
    """This process runs when nobody else wants to."""
    with contextlib.suppress(OSError, AttributeError):
        os.nice(19)
    with contextlib.suppress(OSError, AttributeError):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def main(page: Connection, setup: Setup) -> None:
    """The process: builds what is wanted, until that is done or the page's process has gone."""
    idle()
    for each in wanted(setup):
        if page.poll():  # only the end of the pipe can be read
            return
        with contextlib.suppress(ElbowroomError):  # an arm that does not fit a scenario
            Cell(each.scene())
