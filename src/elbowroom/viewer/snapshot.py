"""Snapshot: all that a page shows of one moment, of a cell at work or of a row of a recording.

    Snapshot.from_cell(workplace)          Snapshot.from_row(replay, k)

It goes from process to process.  What stays while a cell does is a `SceneView`, made once for each cell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..cell.pick_and_place import AVOID, PLACE, TO_GOAL, Handling, PickAndPlace
from ..cell.runner import Cell
from ..cell.task import DRAGGED, DraggedGoal, Task
from ..geometry import PARKED
from ..geometry.shapes import RADIUS, A, B
from .names import link_name, part_name
from .panel.last_minute import Columns
from .panel.margins import Margins, farther, margins
from .session.setup import Setup

if TYPE_CHECKING:
    from .replay.recorded import Replay
    from .session.workplace import Workplace

Array = NDArray[np.float64]
Nearest = tuple[Array, Array, str, str]
SHELLS = ("floor", "inner", "outer", "center")
CARRIED = (TO_GOAL, PLACE)


@dataclass(frozen=True, eq=False)
class SceneView:
    """What stays while a cell does."""

    setup: Setup = field(default_factory=Setup)  # what was chosen
    shown: Mapping[str, Any] = field(default_factory=dict)  # what the settings are, by the names of session/setup.py
    supervision: str = "stop"  # stop, watch or off
    joints: tuple[str, ...] = ()  # names
    lower: Array = field(default_factory=lambda: np.zeros(0))  # limits of the joints
    upper: Array = field(default_factory=lambda: np.zeros(0))
    arm_links: tuple[int, ...] | None = None  # the link of each capsule of the arm; 0 is the base
    arm_names: tuple[str, ...] = ()  # of the arm's capsules
    people_names: tuple[str, ...] | None = None  # of people's capsules
    who: tuple[str, ...] = ()  # what the scene calls the people
    visuals: tuple[Any, ...] = ()  # what the arm's file draws
    belts: tuple[tuple[Array, Array], ...] = ()  # both ends of the conveyors' belts
    floor: float = 0.0  # m
    base: Array = field(default_factory=lambda: np.zeros(3))
    shells: Mapping[str, Any] = field(default_factory=dict)  # the walls that the controller keeps to
    bare: tuple[str, ...] = ()  # links without a shape, which distances ignore

    @property
    def spans(self) -> Array:
        """How far both limits of each joint are apart."""
        return self.upper - self.lower

    def link(self, name: str) -> str:
        """What the page calls a capsule of the arm."""
        return link_name(name, self.arm_names)

    def part(self, name: str) -> str:
        """What the page calls a part of a person."""
        return part_name(name, self.who)

    @classmethod
    def from_cell(cls, place: Workplace) -> SceneView:
        """Of the cell that a workplace has now."""
        cell = place.cell
        return cls(
            setup=place.setup,
            shown=shown(place),
            supervision=cell.scene.supervision,
            joints=cell.arm.joint_names,
            lower=cell.controller.lower.copy(),
            upper=cell.controller.upper.copy(),
            arm_links=tuple(link + 1 for link in cell.body.links),
            arm_names=cell.body.names,
            people_names=tuple(name for who in cell.people for name in who.actual.names),
            who=tuple(cell.scene.people),
            visuals=place.visuals,
            belts=belts(cell),
            floor=cell.floor,
            base=np.array(cell.arm.model.base[:3, 3]),
            shells=shells(cell),
            bare=cell.bare,
        )


@dataclass(frozen=True, eq=False)
class Snapshot:
    """One moment; see the module's docstring.  Points in metres, world axes; capsules (k, 7): both ends, the radius."""

    scene: SceneView = field(default_factory=SceneView)
    generation: int = 1  # which cell this is: a page is built anew for another
    t: float = 0.0  # s
    running: bool = True
    # the arm
    q: Array = field(default_factory=lambda: np.zeros(0))
    margins: Array = field(default_factory=lambda: np.zeros(0))  # how far each joint is from its nearer limit
    arm: Array = field(default_factory=lambda: np.zeros((0, 7)))
    poses: Array | None = None  # (n+1, 4, 4) base and links
    tool_pose: Array | None = None  # (4, 4)
    tool: Array = field(default_factory=lambda: np.zeros(3))
    tool_speed: float = 0.0  # m/s
    # the work
    goal: Array = field(default_factory=lambda: np.zeros(3))
    objects: Array = field(default_factory=lambda: np.zeros((0, 3)))
    carrying: bool = False
    state: str = ""
    cycles: int = 0
    undisturbed: int | None = None  # cycles of this cell without people; None: no such work
    replayed: bool = False  # from a recording, which does not hold that
    dragged: bool = False  # the goal is
    # people
    people: Array = field(default_factory=lambda: np.zeros((0, 7)))
    person: Array | None = None  # where the first is, and how far they are dragged
    offset: Array = field(default_factory=lambda: np.zeros(2))
    hands: Mapping[str, Array] = field(default_factory=dict)
    hand_offsets: Mapping[str, Array] = field(default_factory=dict)
    # distances to people, m
    distance: float = np.inf
    clearance: float = np.inf
    axes: float = np.inf
    nearest: Nearest | None = None  # the two nearest points, and what they are of
    contacts: int = 0
    touching: bool = False
    # what acts, and what is decided
    attraction: Array = field(default_factory=lambda: np.zeros(3))
    repulsion: Array = field(default_factory=lambda: np.zeros(3))
    slow: float = 1.0
    push: float = 0.0
    status: str = "OK"  # of the command
    law_status: str = "OK"  # of the controller
    verdict: str = ""  # of the supervisor
    stopped: bool = False  # the arm is held
    would_stop: bool = False  # a supervisor that only watches would hold it
    reason: str = ""  # why
    safety: Margins | None = None
    waited: float = 0.0  # s that the arm has stood for a person
    farther: float = np.nan  # m that they would have to be away
    minute: Columns = ()  # what the arm was doing, by half seconds
    # the session
    pace: tuple[float, ...] | None = None  # lateness: median, 99 %, 99.9 %, worst (s), overruns
    loading: float = 0.0  # s, time to build
    busy: str = ""
    problem: str = ""
    recording: str = ""  # its file
    recorded: int = 0  # cycles
    disk: str = ""  # what is wrong there
    saved: str = ""

    @classmethod
    def from_cell(cls, place: Workplace) -> Snapshot:
        """Of a workplace, now."""
        cell, t = place.cell, place.t
        info, guard, q, view = cell.controller.command, cell.guard, cell.state.q, place.scene_view()
        first = place.people[0] if place.people else None
        found, recording = margins(cell), place.tape.recording
        watching = view.supervision == "watch"
        return cls(
            scene=view,
            generation=place.generation,
            t=t,
            running=place.running,
            q=q.copy(),
            margins=np.minimum(q - view.lower, view.upper - q),
            arm=capsules(cell.controller.rows[: len(cell.body)]),  # of this cycle, which the controller has placed
            poses=np.concatenate([cell.arm.model.base[None], cell.arm.poses(q)]),
            tool_pose=cell.arm.pose(q),
            tool=cell.tool.copy(),
            tool_speed=float(np.linalg.norm(cell.tool_velocity)),
            goal=np.array(cell.task.goal.position),
            objects=np.array(cell.task.objects),
            carrying=carrying(cell.task),
            state=cell.task.state,
            cycles=cell.task.cycles,
            undisturbed=None if place.alone is None else place.alone.cycles,
            dragged=cell.task.state == DRAGGED,
            people=capsules(cell.people_rows),
            person=None if not cell.people else cell.people[0].actual.point(t)[0],
            offset=np.zeros(2) if first is None else first.offset,
            hands=palms(cell),
            hand_offsets={} if first is None else first.hand_offsets,
            distance=cell.near.surfaces,
            clearance=cell.clearance.surfaces,
            axes=cell.near.axes,
            nearest=(*cell.controller.nearest_points(), *cell.controller.nearest()) if cell.people else None,
            contacts=place.contacts,
            touching=cell.plant.touching,
            attraction=np.array(info.attraction),
            repulsion=np.array(info.repulsion),
            slow=info.slow,
            push=info.push,
            status=cell.command.status.value,
            law_status=info.status.value,
            verdict="" if cell.verdict is None else cell.verdict.value,
            stopped=bool(place.held),
            would_stop=watching and guard is not None and guard.latched is not None,
            reason=place.held or ("" if guard is None else guard.reason),
            safety=found,
            waited=place.waiting.seconds,
            farther=farther(cell, found),
            pace=place.lateness(),
            loading=place.loading,
            busy=place.busy,
            problem=place.problem,
            recording="" if recording is None else str(recording.path),
            recorded=0 if recording is None else len(recording),
            disk=place.tape.trouble,
            saved=place.tape.saved,
        )

    @classmethod
    def from_row(cls, replay: Replay, k: int) -> Snapshot:
        """Of row k of a recording."""
        cell, table, q = replay.cell, replay.table, replay.q[k]
        arm, people, moved = replay.bodies(k)
        found = cell.nearest(q, people) if cell.exact else None
        at = replay.person[k] if np.isfinite(replay.person[k]).all() else None
        verdict, supervision = str(table["verdict"][k]), replay.scene_view.supervision
        objects, held = replay.belts.objects(k)
        return cls(
            scene=replay.scene_view,
            replayed=True,
            t=float(replay.times[k]),
            q=q.copy(),
            margins=np.minimum(q - cell.lower, cell.upper - q),
            arm=capsules(arm),
            poses=np.concatenate([cell.arm.model.base[None], cell.arm.poses(q)]),
            tool_pose=cell.arm.pose(q),
            tool=replay.tool[k].copy(),
            tool_speed=float(replay.speeds[k]),
            goal=replay.goal[k].copy(),
            objects=objects,
            carrying=held,
            state=str(table["state"][k]),
            cycles=int(table["cycles"][k]),
            people=capsules(people),
            person=at,
            offset=np.zeros(2) if at is None or not cell.people else replay.offset(k, at),
            hands={side: places[k] for side, places in replay.hands.items() if np.isfinite(places[k]).all()},
            hand_offsets=moved,
            distance=float(table["distance_surfaces"][k]),
            clearance=float(table["clearance"][k]),
            axes=float(table["distance_axes"][k]),
            nearest=None if found is None else found[1],
            contacts=int(table["contacts"][k]),
            touching=bool(table["clearance"][k] < 0.0),
            attraction=replay.attraction[k].copy(),
            repulsion=replay.repulsion[k].copy(),
            slow=float(table["slow"][k]),
            push=float(table["push"][k]),
            status=str(table["status"][k]),
            law_status=str(table["law_status"][k]),
            verdict=verdict,
            stopped=verdict.startswith("STOP") and supervision == "stop",
            would_stop=verdict.startswith("STOP") and supervision == "watch",
            safety=None if found is None else replay.margins_at(k, found[1]),
            waited=float(replay.waited[k]),
        )


def capsules(rows: Array) -> Array:
    """Both ends and the radius of each row, (k, 7)."""
    return np.hstack([rows[:, A], rows[:, B], rows[:, RADIUS : RADIUS + 1]])


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


def shells(cell: Cell) -> Mapping[str, Any]:
    """The workspace's walls, None where there is none, and the distance from which they act, m."""
    walls = cell.controller.config.workspace
    if walls is None:
        return dict.fromkeys((*SHELLS, "influence"))
    return {name: getattr(walls, name) for name in SHELLS} | {"influence": walls.repulsion.influence}


def shown(place: Workplace) -> Mapping[str, Any]:
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


def belts(cell: Cell) -> tuple[tuple[Array, Array], ...]:
    """Both ends of the conveyors' belts."""
    task = cell.scene.task
    if not isinstance(task, PickAndPlace):
        return ()
    here = task.placed(cell.origin)
    pick, place = np.array(here.pick), np.array(here.place)
    coming, going = here.infeed, here.outfeed
    return (pick - coming.length * coming.way, pick), (place, place + going.length * going.way)
