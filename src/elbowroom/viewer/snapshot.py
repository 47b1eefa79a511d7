"""Snapshot: all that a page shows of one moment, of a cell at work or of a row of a recording.

    Snapshot.from_cell(workplace)          Snapshot.from_row(replay, k)

It goes from process to process.  What stays while a cell does is a `SceneView`, made once for each cell.

Links of the arm and parts of people are called by short names, in words:

    link_name("j2s6s200_link_finger_tip_1", ...)    finger tip 1     what all links of the arm begin with is left out
    link_name("j2s6s200_link_1", ...)               link 1           but for the word before a number
    part_name("left_hand", ["visitor"])             left hand
    part_name("coworker", ["visitor"])              visitor          a person of one shape has no parts
    part_name("person 1 head", ["a", "b"])          b head           as controllers say it where there are several
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..avoidance import Workspace
from ..avoidance.planning.detour import RouteState
from ..cell.pace import PaceSummary
from ..cell.pick_and_place import AVOID, PLACE, TO_GOAL, Handling, PickAndPlace
from ..cell.runner import Cell
from ..cell.scene import Scene
from ..cell.task import DRAGGED, DraggedGoal, Task
from ..geometry import PARKED
from ..geometry.shapes import RADIUS, A, B
from ..model.visuals import Visual
from .panel.margins import Margins, farther, margins
from .session.setup import Setup, ShownSettings

if TYPE_CHECKING:
    from .replay.recorded import Replay
    from .session.workplace import Workplace

Array = NDArray[np.float64]
Belt = tuple[Array, Array]  # both ends of a conveyor's belt
Columns = tuple[tuple[int, str], ...]  # half seconds of the last minute, the oldest first: number and colour
CARRIED = (TO_GOAL, PLACE)


class Nearest(NamedTuple):
    """Where arm and people are nearest: the points on the axes of their capsules, and what these are of."""

    on_arm: Array
    on_person: Array
    link: str
    part: str


@dataclass(frozen=True, eq=False)
class SceneView:
    """What a page shows and does not change while the cell stays the same."""

    setup: Setup = field(default_factory=Setup)  # what was chosen
    shown: ShownSettings = field(default_factory=ShownSettings)  # what the settings are
    supervision: str = "stop"  # stop, watch or off
    joints: tuple[str, ...] = ()  # names
    kinds: str = ""  # of the joints, R or P
    lower: Array = field(default_factory=lambda: np.zeros(0))  # limits of the joints
    upper: Array = field(default_factory=lambda: np.zeros(0))
    arm_links: tuple[int, ...] | None = None  # the link of each capsule of the arm; 0 is the base
    arm_names: tuple[str, ...] = ()  # of the arm's capsules
    people_names: tuple[str, ...] | None = None  # of people's capsules
    who: tuple[str, ...] = ()  # what the scene calls the people
    visuals: tuple[Visual, ...] = ()  # what the arm's file draws
    belts: tuple[Belt, ...] = ()
    floor: float = 0.0  # m
    base: Array = field(default_factory=lambda: np.zeros(3))
    workspace: Workspace | None = None  # the walls that the controller keeps to
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
        """The view of the cell that a workplace has now."""
        cell, setup = place.cell, place.setup
        robot, supervision = setup.robot or cell.arm.name, cell.scene.supervision
        shown = ShownSettings.of(cell.controller.config, supervision, robot, setup.scenario, setup.speed)
        return replace(cls.of_cell(cell), setup=setup, shown=shown, visuals=place.visuals)

    @classmethod
    def of_cell(cls, cell: Cell) -> SceneView:
        """What the cell alone says."""
        return cls(
            supervision=cell.scene.supervision,
            joints=cell.arm.joint_names,
            kinds=cell.arm.model.kinds,
            lower=cell.controller.lower.copy(),
            upper=cell.controller.upper.copy(),
            arm_links=tuple(link + 1 for link in cell.body.links),
            arm_names=cell.body.names,
            people_names=tuple(name for who in cell.people for name in who.actual.names),
            who=tuple(cell.scene.people),
            belts=belts(cell.scene, cell.origin),
            floor=cell.floor,
            base=np.array(cell.arm.model.base[:3, 3]),
            workspace=cell.controller.config.workspace,
            bare=cell.bare,
        )


@dataclass(frozen=True, eq=False)
class Snapshot:
    """All that a page shows of one moment.  Points in metres, world axes; capsules (k, 7): both ends, the radius."""

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
    cycles: int = 0  # task cycles done
    undisturbed: int | None = None  # task cycles of this cell without people; None: no such work
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
    # residual or change of each joint, whichever is more of its threshold, and these; empty where none are known
    residual: Array = field(default_factory=lambda: np.zeros(0))
    allowed: Array = field(default_factory=lambda: np.zeros(0))  # a recording does not hold them
    felt: float = np.nan  # the greatest of it in thresholds
    felt_joint: int | None = None  # whose it is, from 1 on; None where that is not known
    felt_torque: float = np.nan  # and how much, N m or N
    waited: float = 0.0  # s that the arm has stood for a person
    farther: float = np.nan  # m that they would have to be away
    # a way around
    route_state: RouteState = RouteState.NONE
    route_part: str = ""  # whom or what it is about
    route: Array = field(default_factory=lambda: np.zeros((0, 3)))  # the tool's points of a route
    minute: Columns = ()  # what the arm was doing, by half seconds
    # the session
    pace: PaceSummary | None = None  # how late control steps began
    loading: float = 0.0  # s, time to build
    busy: str = ""
    problem: str = ""
    recording: str = ""  # its file
    recorded: int = 0  # control steps
    disk: str = ""  # what is wrong there
    saved: str = ""

    @classmethod
    def from_cell(cls, place: Workplace) -> Snapshot:
        """The snapshot of a workplace, now."""
        cell, q, view = place.cell, place.cell.state.q, place.scene_view()
        guard, first = cell.guard, place.people[0] if place.people else None
        found, recording = margins(cell), place.tape.recording
        watching = view.supervision == "watch"
        none = np.zeros(0)
        felt, allowed = (none, none) if cell.observer is None else map(np.copy, cell.observer.felt())
        return replace(
            cls.of_cell(cell, view),
            generation=place.generation,
            t=place.t,
            running=place.running,
            poses=np.concatenate([cell.arm.model.base[None], cell.arm.poses(q)]),
            tool_pose=cell.arm.pose(q),
            undisturbed=None if place.alone is None else place.alone.cycles,
            dragged=cell.task.state == DRAGGED,
            person=None if not cell.people else cell.people[0].actual.point(place.t)[0],
            offset=np.zeros(2) if first is None else first.offset,
            hand_offsets={} if first is None else first.hand_offsets,
            contacts=place.contacts,
            stopped=bool(place.held),
            would_stop=watching and guard is not None and guard.latched is not None,
            reason=place.held or ("" if guard is None else guard.reason),
            safety=found,
            residual=felt,
            allowed=allowed,
            **_felt(None if cell.observer is None else cell.observer.most),
            waited=place.waiting.seconds,
            farther=farther(cell, found),
            route_part="" if cell.detour is None else view.part(cell.detour.name),
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
    def of_cell(cls, cell: Cell, view: SceneView) -> Snapshot:
        """What the cell alone says, after a control step."""
        info, guard, q = cell.controller.command, cell.guard, cell.state.q
        return cls(
            scene=view,
            t=cell.command.t,
            q=q.copy(),
            margins=np.minimum(q - view.lower, view.upper - q),
            arm=capsules(cell.controller.rows[: len(cell.body)]),  # of this step: the controller has placed them
            tool=cell.tool.copy(),
            tool_speed=float(np.linalg.norm(cell.tool_velocity)),
            goal=np.array(cell.task.goal.position),
            objects=np.array(cell.task.objects),
            carrying=carrying(cell.task),
            state=cell.task.state,
            cycles=cell.task.cycles,
            people=capsules(cell.people_rows),
            hands=palms(cell),
            distance=cell.near.surfaces,
            clearance=cell.clearance.surfaces,
            axes=cell.near.axes,
            nearest=Nearest(*cell.controller.nearest_points(), *cell.controller.nearest()) if cell.people else None,
            contacts=cell.plant.contacts,
            touching=cell.plant.touching,
            attraction=np.array(info.attraction),
            repulsion=np.array(info.repulsion),
            slow=info.slow,
            push=info.push,
            status=cell.command.status.value,
            law_status=info.status.value,
            verdict="" if cell.verdict is None else cell.verdict.value,
            stopped=guard is not None and guard.latched is not None,
            reason=cell.command.reason,
            route_state=RouteState.NONE if cell.detour is None else cell.detour.state,
            route=np.zeros((0, 3)) if cell.detour is None else cell.detour.line,
        )

    @classmethod
    def from_row(cls, replay: Replay, k: int) -> Snapshot:
        """The snapshot of row k of a recording."""
        cell, table, q = replay.cell, replay.table, replay.q[k]
        arm, people, moved = replay.bodies(k)
        found = cell.nearest(q, people) if cell.exact else None
        at = replay.person[k] if np.isfinite(replay.person[k]).all() else None
        verdict, supervision = str(table["verdict"][k]), replay.scene_view.supervision
        objects, held = replay.belts.objects(k)
        route_state, route_part, route = replay.route_at(k)
        residual = np.array([table[f"residual{j}"][k] for j in range(1, table.n + 1)])
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
            residual=np.zeros(0) if np.isnan(table["felt"][k]) else residual,
            **_felt((float(table["felt"][k]), float(table["felt_joint"][k]), float(table["felt_torque"][k]))),
            waited=float(replay.waited[k]),
            route_state=route_state,
            route_part=route_part,
            route=route,
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
    """Where the hands of the first person are, by side; none where they have none, or nobody is there."""
    found: dict[str, Array] = {}
    if cell.people:
        names = cell.people[0].actual.names
        for side in ("left", "right"):
            if f"{side}_hand" in names:
                row = cell.people_rows[names.index(f"{side}_hand")]  # the first person's rows are the first
                if row[0] != PARKED[0]:
                    found[side] = 0.5 * (row[A] + row[B])
    return found


def belts(scene: Scene, origin: Array) -> tuple[Belt, ...]:
    """The belts of a scene whose task is at that origin."""
    task = scene.task
    if not isinstance(task, PickAndPlace):
        return ()
    here = task.placed(origin)
    pick, place = np.array(here.pick), np.array(here.place)
    coming, going = here.infeed, here.outfeed
    return (pick - coming.length * coming.way, pick), (place, place + going.length * going.way)


# ---- names
ONE_SHAPE = "coworker"  # geometry.Person.cylinder: the name of its only part
NUMBERED = re.compile(r"person (\d+) (.+)", re.DOTALL)


def words(name: str) -> list[str]:
    """The words of a name."""
    return [word for word in re.split(r"[_/:\s]+", name) if word] or [name]


@lru_cache(maxsize=8)
def _common(names: tuple[str, ...]) -> int:
    """How many words all names begin with, at least one word of each left over."""
    split = [words(name) for name in sorted(set(names))]
    if len(split) < 2:
        return 0
    alike = [len(set(column)) == 1 for column in zip(*split, strict=False)]
    return min([*alike, False].index(False), *(len(each) - 1 for each in split))


def link_name(name: str, names: tuple[str, ...]) -> str:
    """The name of a link among the names of all."""
    found = words(name)
    start = _common(names) if name in names else 0
    if start > 0 and found[start][0].isdigit():
        start -= 1
    return " ".join(found[start:])


def part_name(part: str, people: Sequence[str]) -> str:
    """A part of a person among these people; with who it is if there are several."""
    numbered = NUMBERED.fullmatch(part)
    if numbered and int(numbered[1]) < len(people):
        who, part = people[int(numbered[1])], numbered[2]
        part = who if part == ONE_SHAPE else f"{who} {part}"
    elif part == ONE_SHAPE and len(people) == 1:
        part = people[0]
    elif part.endswith(f" {ONE_SHAPE}"):  # a recording names them itself
        part = part.removesuffix(f" {ONE_SHAPE}")
    return part.replace("_", " ")


def _felt(most: tuple[float, float, float] | None) -> dict[str, Any]:
    """What the joint feels most that feels most."""
    part, joint, torque = most or (np.nan, np.nan, np.nan)
    return {"felt": part, "felt_joint": int(joint) if np.isfinite(joint) else None, "felt_torque": torque}
