"""A picture: all that a page shows of one moment of a cell, as a dict that goes from process to process.

t, running, generation, setup, shown       when, whether it runs, which cell this is, what is chosen
q, margins, spans, joints                  joints, how far each is from its nearer limit, both limits apart, names
arm, people                                capsules, (k, 7): both ends and the radius
arm_links, people_names                    the link of each capsule of the arm (0 is the base), names of the others
poses, tool_pose, visuals                  (n+1, 4, 4) base and links, (4, 4) tool, what the arm's file draws
tool, tool_speed, goal, objects, carrying  the work
person, offset, hands, hand_offsets        where the first person is, and how far they are dragged
belts, floor, base, shells                 what stands there, and the walls that the controller keeps to
distance, clearance, axes, nearest         to people, m; the two nearest points and what they are of
attraction, repulsion, slow, push          what acts on the tool
status, law_status, verdict, supervision   what the arm does, controller and supervisor say; stop, watch or off
stopped, would_stop, reason                the arm is held; a supervisor that only watches would hold it; why
state, cycles, contacts, touching          how the work goes
undisturbed, dragged                       cycles of this cell without people (None: no such work); a goal is dragged
safety, waited, farther                    panel/margins.py: Margins or None, s that the arm has stood for a person, m
lower, upper                               limits of the joints
pace, loading                              lateness (median, 99 %, 99.9 %, worst; s), overruns; time to build, s
busy, problem, recording, recorded, disk, saved      what the engine has to say
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..cell.pick_and_place import AVOID, PLACE, TO_GOAL
from ..cell.runner import Cell
from ..cell.task import Handling, PickAndPlace, Task
from ..geometry import PARKED
from ..geometry.shapes import RADIUS, A, B
from .panel.margins import farther, margins
from .session.dragged_goal import DRAGGED, DraggedGoal

if TYPE_CHECKING:
    from .session.workplace import Workplace

Array = NDArray[np.float64]
SHELLS = ("floor", "inner", "outer", "center")
CARRIED = (TO_GOAL, PLACE)


def capsules(rows: Array) -> Array:
    """Both ends and the radius of each row, (k, 7)."""
    return np.hstack([rows[:, A], rows[:, B], rows[:, RADIUS : RADIUS + 1]])


def take(place: Workplace) -> dict[str, Any]:
    """The picture of now."""
    cell, t = place.cell, place.t
    info, guard = cell.controller.command, cell.guard
    lower, upper = cell.controller.lower, cell.controller.upper
    arm = cell.controller.rows[: len(cell.body)]  # the capsules of this cycle, which the controller has placed
    first = place.people[0] if place.people else None
    found = margins(cell)
    recording, watching = place.tape.recording, cell.scene.supervision == "watch"
    return {
        "generation": place.generation,
        "setup": place.setup,
        "t": t,
        "running": place.running,
        "q": cell.state.q.copy(),
        "margins": np.minimum(cell.state.q - lower, upper - cell.state.q),
        "spans": upper - lower,
        "lower": lower.copy(),
        "upper": upper.copy(),
        "joints": cell.arm.joint_names,
        "arm": capsules(arm),
        "arm_links": tuple(link + 1 for link in cell.body.links),
        "people": capsules(cell.people_rows),
        "people_names": tuple(name for who in cell.people for name in who.actual.names),
        "poses": np.concatenate([cell.arm.model.base[None], cell.arm.poses(cell.state.q)]),
        "tool_pose": cell.arm.pose(cell.state.q),
        "visuals": place.visuals,
        "tool": cell.tool.copy(),
        "tool_speed": float(np.linalg.norm(cell.tool_velocity)),
        "goal": np.array(cell.task.goal.position),
        "objects": np.array(cell.task.objects),
        "carrying": carrying(cell.task),
        "offset": np.zeros(2) if first is None else first.offset,
        "person": None if not cell.people else cell.people[0].actual.point(t)[0],
        "hands": palms(cell),
        "hand_offsets": {} if first is None else first.hand_offsets,
        "belts": belts(cell),
        "floor": cell.floor,
        "base": np.array(cell.arm.model.base[:3, 3]),
        "shells": shells(cell),
        "shown": shown(place),
        "distance": cell.near.surfaces,
        "clearance": cell.clearance.surfaces,
        "axes": cell.near.axes,
        "nearest": (*cell.controller.nearest_points(), *cell.controller.nearest()) if cell.people else None,
        "attraction": np.array(info.attraction),
        "repulsion": np.array(info.repulsion),
        "slow": info.slow,
        "push": info.push,
        "status": cell.command.status.value,
        "law_status": info.status.value,
        "verdict": "" if cell.verdict is None else cell.verdict.value,
        "supervision": cell.scene.supervision,
        "stopped": bool(place.held),
        "would_stop": watching and guard is not None and guard.latched is not None,
        "reason": place.held or ("" if guard is None else guard.reason),
        "state": cell.task.state,
        "cycles": cell.task.cycles,
        "contacts": place.contacts,
        "touching": cell.plant.touching,
        "undisturbed": None if place.alone is None else place.alone.cycles,
        "dragged": cell.task.state == DRAGGED,
        "safety": found,
        "waited": place.waiting.seconds,
        "farther": farther(cell, found),
        "busy": place.busy,
        "problem": place.problem,
        "recording": "" if recording is None else str(recording.path),
        "recorded": 0 if recording is None else len(recording),
        "disk": place.tape.trouble,
        "saved": place.tape.saved,
        "pace": place.lateness(),
        "loading": place.loading,
    }


def carrying(task: Task) -> bool:
    """Whether the tool holds an object."""
    if isinstance(task, DraggedGoal):
        return carrying(task.task)
    if not isinstance(task, Handling):
        return False
    return (task.before if task.state == AVOID else task.state) in CARRIED


def palms(cell: Cell) -> dict[str, Array]:
    """Where the hands of the first person are, by side; none of somebody without hands, or who is not there."""
    found: dict[str, Array] = {}
    if cell.people:
        names = cell.people[0].actual.names
        for side in ("left", "right"):
            if f"{side}_hand" in names:
                row = cell.people_rows[names.index(f"{side}_hand")]  # the first person's rows are the first
                if row[0] != PARKED[0]:
                    found[side] = 0.5 * (row[A] + row[B])
    return found


def shells(cell: Cell) -> dict[str, Any]:
    """The workspace's walls, None where there is none, and the distance from which they act, m."""
    walls = cell.controller.config.workspace
    if walls is None:
        return dict.fromkeys((*SHELLS, "influence"))
    return {name: getattr(walls, name) for name in SHELLS} | {"influence": walls.repulsion.influence}


def shown(place: Workplace) -> dict[str, Any]:
    """What the settings are now, by the names of session/setup.py."""
    config = place.cell.controller.config
    return {
        "scenario": place.setup.scenario,
        "robot": place.setup.robot or place.cell.arm.name,
        "controller": config.controller,
        "inverse": config.inverse,
        "limits": config.joint_limits.method,
        "supervision": place.cell.scene.supervision,
        "influence": config.repulsion.influence,
        "gain": config.repulsion.gain,
        "measure": config.repulsion.measure,
        "kp": config.attraction.kp,
        "max_speed": config.attraction.max_speed,
        "filter": config.smoothing.duration,
        "speed": place.setup.speed,
    }


def belts(cell: Cell) -> list[tuple[Array, Array]]:
    """Both ends of the conveyors' belts."""
    task = cell.scene.task
    if not isinstance(task, PickAndPlace):
        return []
    here = task.placed(cell.origin)
    pick, place = np.array(here.pick), np.array(here.place)
    coming, going = here.infeed, here.outfeed
    return [(pick - coming.length * coming.way, pick), (place, place + going.length * going.way)]
