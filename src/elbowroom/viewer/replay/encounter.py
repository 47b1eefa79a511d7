"""A run of a campaign as snapshots, and as one HTML file that plays it: arm and people as they truly were.

    write_run(parameters_of(campaign, 12), "worst/000012.html")

The run is run again by its parameters, which gives the same bits.  The arm is shown by the capsules that distances are
measured with.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...bench.encounters.run import Distances, distances, reached
from ...bench.encounters.scene import PERIOD
from ...campaign.draws import RunParameters
from ...campaign.runs import Replayed, replay
from ...campaign.settings import overrides
from ...geometry.distance import DISTANCE, LAMBDA_X, LAMBDA_Y
from ...geometry.pairs import Pairs
from ...geometry.person import NAMES
from ...geometry.shapes import A, B
from ..session.setup import ShownSettings
from ..snapshot import Nearest, SceneView, Snapshot, capsules
from .standalone import write

Array = NDArray[np.float64]
RATE = 25.0  # pictures a second


def write_run(
    of: RunParameters, path: str | os.PathLike[str], *, rate: float = RATE, precision: str = "float64"
) -> float:
    """Writes the run as one HTML file; returns its least distance, m."""
    again = replay(of, precision)
    apart = distances(again.scene, again.track)
    write(snapshots(of, again, apart, rate), path, rate=rate, title=title(of))
    return float(apart.distance.min())


def title(of: RunParameters) -> str:
    """What a page calls the run."""
    people = "one person" if of.people == 1 else f"{of.people} people"
    return f"run {of.number}: {Path(of.arm).stem}, {of.law}, {people}, seed {of.seed}"


def snapshots(of: RunParameters, again: Replayed, apart: Distances, rate: float = RATE) -> Iterator[Snapshot]:
    """What happened, `rate` times a second."""
    scene, place = again.scene, again.scene.place
    model, q = place.arm.model, again.track.q
    who = tuple("person" if scene.people == 1 else f"person {k + 1}" for k in range(scene.people))
    parts = NAMES * scene.people
    view = SceneView(
        shown=ShownSettings(robot=place.arm.name),
        supervision="stop" if "limits" in overrides(of.law) else "off",
        joints=place.arm.joint_names,
        lower=np.array(model.lower, float),
        upper=np.array(model.upper, float),
        arm_links=tuple(link + 1 for link in place.body.links),
        arm_names=place.body.names,
        people_names=parts,
        who=who,
        floor=float(place.base[2]),
        base=np.array(model.base[:3, 3]),
    )
    poses = place.arm.compile("pose")(q)
    tools = poses[:, :3, 3]
    goals = _goals(tools, scene.goals)
    overlap = apart.distance < 0.0
    begins = np.vstack([overlap[:1], overlap[1:] & ~overlap[:-1]])
    contacts = np.cumsum(begins.any(axis=1))
    speeds = np.linalg.norm(np.diff(tools, axis=0, prepend=tools[:1]), axis=1) / PERIOD
    pairs, torso = Pairs(len(place.moving), len(parts)), NAMES.index("torso")
    for t in np.arange(0.0, scene.duration + 1e-9, 1.0 / rate):
        k = min(round(float(t) / PERIOD), len(q) - 1)
        people = scene.rows[k].reshape(-1, scene.rows.shape[-1])
        own = apart.rows[k][place.moving]
        table = pairs(np.concatenate([own, people]))
        least = int(table[:, DISTANCE].argmin())
        i, j = pairs.pairs[least]
        x, y, row = own[i], people[j - len(own)], table[least]
        name = parts[j - len(own)]
        who_is = who[(j - len(own)) // len(NAMES)]
        distance = float(row[DISTANCE])
        yield Snapshot(
            scene=view,
            replayed=True,
            t=float(scene.times[k]),
            q=q[k].copy(),
            margins=np.minimum(q[k] - view.lower, view.upper - q[k]),
            arm=capsules(apart.rows[k]),
            tool_pose=poses[k],
            tool=tools[k].copy(),
            tool_speed=float(speeds[k]),
            goal=scene.goals[goals[k] % len(scene.goals)],
            state=f"goal {goals[k] + 1}",
            cycles=int(goals[k]),
            people=capsules(people),
            person=np.array([*people[torso, B][:2], view.floor]),
            distance=distance,
            clearance=distance,
            nearest=Nearest(
                x[A] + row[LAMBDA_X] * (x[B] - x[A]),
                y[A] + row[LAMBDA_Y] * (y[B] - y[A]),
                place.body.names[place.moving[i]],
                name if scene.people == 1 else f"{who_is} {name}",
            ),
            contacts=int(contacts[k]),
            touching=distance < 0.0,
        )


def _goals(tools: Array, goals: Array) -> NDArray[np.int64]:
    """(T + 1,) goals reached by each time, as the run counts them: one a control step, from the first step on."""
    found = np.zeros(len(tools), dtype=np.int64)
    for k in range(1, len(tools)):
        found[k] = found[k - 1] + bool(reached(tools[k], goals[found[k - 1] % len(goals)]))
    return found
