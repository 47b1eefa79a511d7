"""`elbowroom ros2`: a guarded arm on ROS 2; and what `elbowroom run --plant ros2` needs of it."""

from __future__ import annotations

import math
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError
from .terminal import INTERRUPTED, AllowBare, OtherTip, Xacro, allow_xacro, line, note, plain, writable

if TYPE_CHECKING:
    from ..cell import Cell, Scene
    from ..connect.ros2.session import Ros2Options, Ros2Session

AGAIN = 5.0  # s: the same about a goal is not said sooner
LONGEST = 50_000.0  # s: of control steps of 10 ms as many as a scene may have
FOREVER = 2**60  # control steps: until Ctrl-C

JointStates = Annotated[str, typer.Option(metavar="TOPIC", help="ROS 2: joint states of the robot.")]
CommandTopic = Annotated[
    str | None, typer.Option("--command", metavar="TOPIC", help="ROS 2: joint speeds, or .../joint_trajectory.")
]
CommandJoints = Annotated[
    str, typer.Option(metavar="NAME,...", help="ROS 2: the controller's `joints`, in its order.  [as the arm's]")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="ROS 2: publish nothing; say what would be done.")]
People = Annotated[int, typer.Option("--people", metavar="N", min=0, max=8, help="ROS 2: places for people; 0: none.")]
Frame = Annotated[str, typer.Option(metavar="NAME", help="ROS 2: frame of the arm's base.  [the URDF's root link]")]
Floor = Annotated[
    float | None, typer.Option(metavar="M", help="ROS 2: height in that frame where people stand.  [as poses say]")
]
Domain = Annotated[int | None, typer.Option(metavar="N", help="ROS 2: domain.  [ROS_DOMAIN_ID, or 0]")]
Interface = Annotated[str, typer.Option(metavar="NAME", help="ROS 2: network interface; lo is this machine alone.")]


def options(
    joint_states: str,
    command: str | None,
    dry_run: bool,
    people: int,
    domain: int | None,
    interface: str,
    frame: str = "",
    floor: float | None = None,
    command_joints: str = "",
) -> Ros2Options:
    """What a session is asked for; refuses a call that does not say whether the arm shall move."""
    from ..connect.ros2.node import checked_topic, domain_of
    from ..connect.ros2.session import Ros2Options

    if command is None and not dry_run:
        raise typer.BadParameter(
            "--command: expected the topic of a controller, such as /velocity_controller/commands; or --dry-run"
        )
    for topic in (joint_states, *([command] if command else [])):
        checked_topic(topic)
    if floor is not None and not abs(floor) <= 10.0:
        raise typer.BadParameter(f"--floor: expected a height from -10 to 10 m; got {floor:g}")
    return Ros2Options(
        joint_states=joint_states,
        command=command,
        dry_run=dry_run,
        people=people,
        domain=domain_of(domain),
        interface=interface,
        frame=frame,
        floor=floor,
        command_joints=tuple(name.strip() for name in command_joints.split(",")) if command_joints else (),
    )


def introduce(link: Ros2Session, cell: Cell) -> None:
    """What is connected, and what it will do."""
    asked, plant = link.options, link.plant
    assert plant is not None
    configured = "as CYCLONEDDS_URI says" if link.node.configured else f"interface {asked.interface}"
    line(plain(f"{cell.arm.name}: joint states on {asked.joint_states}, domain {link.node.domain}, {configured}"))
    if asked.dry:
        line("  dry run: nothing is published")
    else:
        kind = "trajectories" if plant.topics.is_trajectory else "joint speeds"
        line(plain(f"  commands: {kind} to {asked.command}, every {1e3 * cell.period:g} ms"))
        if not plant.topics.is_trajectory:
            line(plain(f"  in the order {', '.join(asked.command_joints or cell.arm.joint_names)}"))
            if not asked.command_joints:
                controller = str(asked.command).rpartition("/")[0] or "CONTROLLER"
                told = (
                    f"`ros2 param get {controller} joints` must say the same; --command-joints NAME,... gives another"
                )
                note("warning", f"the messages have no names: {told}")
        line("  a stop lasts until a reset: `elbowroom ros2 --reset`, or a std_msgs/Empty on /elbowroom/reset")
    if link.people is not None:
        line(plain(f"  people: {' or '.join(link.people.topics)}, {asked.people} at most, in the frame {link.frame}"))
    else:
        line("  people: none are looked for")
    sys.stdout.flush()


@contextmanager
def terminated() -> Iterator[None]:
    """Ends as by Ctrl-C, with the arm stopped, also when asked to by SIGTERM or when the terminal is closed."""
    before: dict[int, Any] = {}

    def end(number: int, _: object) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # nohup
                before[number] = signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def would_stop(link: Ros2Session) -> str:
    """What of the robot and its network would stop the arm, were it not a dry run; "" if nothing."""
    plant = link.plant
    if plant is None:
        return ""
    return "; ".join([*([] if plant.connected else ["it does not answer"]), *plant.reasons()])


class StatusLines:
    """Prints a line when the status of the arm changes, at most some a second; in a dry run also what would stop it."""

    def __init__(self, link: Ros2Session, cell: Cell) -> None:
        self.link, self.cell, self._before, self._next = link, cell, ("", ""), -math.inf
        self._held, self._noticed = "", 0
        self._told: dict[str, float] = {}  # what was said of goals, and when

    def _goals(self, t: float) -> None:
        """What became of goals, a line each; the same again is not said for a while."""
        goals = self.link.goals
        while goals is not None and goals.events:
            text = goals.events.popleft()
            if t - self._told.get(text, -math.inf) < AGAIN:
                continue
            self._told = {each: at for each, at in self._told.items() if t - at < AGAIN} | {text: t}
            line(plain(f"{t:9.2f} s  {text}"))
            sys.stdout.flush()

    def look(self, done: int, total: int) -> None:
        """Once a control step."""
        cell, t = self.cell, self.cell.command.t
        self._goals(t)
        for notice in self.link.notices[self._noticed :]:
            note("warning", notice)
        self._noticed = len(self.link.notices)
        if self.link.options.dry and (held := would_stop(self.link)) != self._held:
            self._held = held
            line(plain(f"{t:9.2f} s  {f'would stop: {held}' if held else 'nothing else would stop it any more'}"))
            sys.stdout.flush()
        command = cell.command
        watching = cell.scene.supervision == "watch"
        status = cell.verdict.value if watching and cell.verdict is not None else command.status.value
        reason = cell.guard.reason if cell.guard is not None and cell.guard.latched else command.reason
        now = status, reason if status.startswith("STOP") else ""
        if now == self._before or (t < self._next and not status.startswith("STOP")):
            return
        self._before, self._next = now, t + 0.5
        line(plain(f"{t:9.2f} s  {status}{': ' + reason if reason else ''}"))
        sys.stdout.flush()


def ros2(
    robot: Annotated[
        str | None, typer.Option(metavar="NAME", help="The arm: a URDF, TOML or a name.  [/robot_description]")
    ] = None,
    tip: OtherTip = "",
    joint_states: JointStates = "/joint_states",
    command: CommandTopic = None,
    command_joints: CommandJoints = "",
    goal: Annotated[str, typer.Option(metavar="TOPIC", help="Goals of the tool, PoseStamped.")] = "/goal_pose",
    turn: Annotated[
        bool | None, typer.Option("--turn/--no-turn", help="Goals say the tool's turn, too.  [their place alone]")
    ] = None,
    people: People = 1,
    people_topic: Annotated[str, typer.Option(metavar="TOPIC", help="People as PoseArray.")] = "/people",
    frame: Frame = "",
    floor: Floor = None,
    scene: Annotated[
        Path | None, typer.Option(metavar="FILE.toml", help="Settings of controller and limits, of a scene.")
    ] = None,
    period: Annotated[float, typer.Option(metavar="S", min=0.001, max=0.1, help="Time between control steps.")] = 0.01,
    dry_run: DryRun = False,
    watchdog: Annotated[bool, typer.Option("--watchdog/--no-watchdog", help="A process that stops the arm.")] = True,
    domain: Domain = None,
    interface: Interface = "lo",
    humble: Annotated[bool, typer.Option("--humble", help="Announce no type hashes, as ROS 2 Humble.")] = False,
    wait: Annotated[float, typer.Option(metavar="S", min=0.1, help="How long to wait for the robot.")] = 10.0,
    seconds: Annotated[float | None, typer.Option(metavar="S", min=0.0, help="Stop after so long.  [Ctrl-C]")] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="A recording: CSV, or FILE.mcap.  [none]")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the recording.")] = False,
    xacro: Xacro = False,
    allow_bare: AllowBare = False,
    reset: Annotated[bool, typer.Option("--reset", help="End the stop of a guard that runs; nothing else.")] = False,
    go_to: Annotated[
        str, typer.Option(metavar="X,Y,Z[,QX,QY,QZ,QW]", help="Send a guard that runs a goal in --frame; nothing else.")
    ] = "",
    simulate: Annotated[bool, typer.Option("--simulate", help="Be a robot instead: to try it without one.")] = False,
    walk: Annotated[bool, typer.Option("--walk", help="With --simulate: somebody walks up to it and away.")] = False,
) -> None:
    """Guard an arm on ROS 2: its tool goes where /goal_pose says, and keeps clear of people.

    \b
    elbowroom ros2 --robot my.urdf --dry-run                   connects, publishes nothing
    elbowroom ros2 --robot my.urdf --joint-states /joint_states --command /velocity_controller/commands
    elbowroom ros2 --command /scaled_joint_trajectory_controller/joint_trajectory     arm from /robot_description
    elbowroom ros2 --simulate --robot ur5e --walk              a simulated robot and person, in another terminal
    elbowroom ros2 --go-to 0.4,0.3,0.5 --frame base_link       a goal for the guard of another terminal
    elbowroom ros2 --reset                                     ends its stop, once the reason has gone

    It needs no ROS installation: the extra `connect` is enough.  The network is this machine alone unless --interface
    names another.  Ctrl-C stops the arm and ends it.  docs/cell/ros2.md goes from the robot's driver to a guarded arm.
    Informed by ISO 10218:2025 / ISO/TS 15066, not certified; run it under a certified safety controller.
    """
    allow_xacro(xacro)
    if out is not None:
        writable(out, force, ".csv", ".mcap")
    if simulate:
        raise typer.Exit(_simulate(robot or "ur5e", tip, domain, interface, seconds, people, walk))
    if reset or go_to:
        if dry_run:
            raise typer.BadParameter("--dry-run publishes nothing, and --reset and --go-to are messages: take one away")
        raise typer.Exit(_order(reset, go_to, goal, frame or "world", domain, interface, not humble, wait))
    from ..connect.ros2.session import Ros2Session, saved_description

    asked = options(joint_states, command, dry_run, people, domain, interface, frame, floor, command_joints)
    asked = replace(asked, goal_topic=goal, people_topic=people_topic, hashes=not humble, watchdog=watchdog, turn=turn)
    with terminated(), Ros2Session(asked) as link:
        note("connecting", "to the robot; an arm that is new here is compiled first, which takes a minute", "green")
        with nullcontext(robot) if robot is not None else saved_description(link.description(wait)) as given:
            cell = link.guarded(_scene(str(given), tip, scene, period, seconds, allow_bare), wait)
        introduce(link, cell)
        for warning in link.warnings:
            note("warning", warning)
        raise typer.Exit(guard(link, cell, out, force, None if seconds else FOREVER))


def _scene(robot: str, tip: str, file: Path | None, period: float, seconds: float | None, allow_bare: bool) -> Scene:
    from ..avoidance import Config, Limits, Sensor
    from ..cell import Scene

    duration = min(seconds or LONGEST, 4_999_999 * period)
    if file is not None:
        found = Scene.load(file, robot=robot)
        return replace(found, tip=tip or found.tip, duration=duration, allow_bare=allow_bare or found.allow_bare)
    return Scene(
        robot=robot,
        tip=tip,
        origin="base",
        duration=duration,
        allow_bare=allow_bare,
        controller=Config(period=period),
        limits=Limits(sensor=Sensor()),
    )


def guard(link: Ros2Session, cell: Cell, out: Path | None, force: bool, cycles: int | None = None) -> int:
    """Runs the loop for so many control steps, the scene's own if None; the exit status."""
    from ..cell import RealTime, Recording, run
    from ..cell.runner import record_to

    notes = {"epoch": str(time.time_ns())}
    if out is None:
        recording = Recording(cell.arm.n, keep=False)
    else:
        recording = record_to(cell, out, notes=notes, replace=force, keep=False)
    status, stops, shown = 0, 0, StatusLines(link, cell)

    def ended() -> None:
        nonlocal stops
        stops = 0 if cell.guard is None else cell.guard.counters["stops"]
        link.run_down(cell)

    try:
        pace, progress = RealTime(cell.period), link.told(cell, shown.look)
        run(cell, recording, pace=pace, cycles=cycles, progress=progress, ended=ended)
    except KeyboardInterrupt:
        status = INTERRUPTED
        note("ended", "by Ctrl-C or a signal", "green")
    goals = f"{cell.task.cycles} goal{'' if cell.task.cycles == 1 else 's'} reached"
    counted = f"{stops} stop{'' if stops == 1 else 's'}, {link.resets} reset{'' if link.resets == 1 else 's'}"
    line(f"{len(recording)} control steps, {goals}, {counted}")
    if recording.problem:
        note("warning", recording.problem)
    elif out is not None:
        line(plain(f"recording: {out}"))
    return status


def _order(
    reset: bool, go_to: str, topic: str, frame: str, domain: int | None, interface: str, hashes: bool, wait: float
) -> int:
    """One message to a guard in another process; the exit status."""
    from ..connect.ros2.node import Node
    from ..connect.ros2.orders import reset as send_reset
    from ..connect.ros2.orders import send_goal

    pose, failed = numbers(go_to) if go_to else (), False
    with Node(domain, interface=interface, hashes=hashes) as node:
        if reset:
            said = send_reset(node, wait)
            failed = said.startswith("STOP")
            line(plain(f"reset sent; the guard says: {said or 'nothing (a dry run publishes nothing)'}"))
        if pose:
            x, y, z, *turned = pose
            a, b, c, d = turned or (0.0, 0.0, 0.0, 1.0)
            said = send_goal(node, topic, (x, y, z), (a, b, c, d), frame, wait)
            failed = failed or "was refused" in said
            line(plain(f"goal sent; the guard says: {said or 'nothing (a dry run publishes nothing)'}"))
    return int(failed)


def numbers(text: str) -> tuple[float, ...]:
    """Three numbers, or seven, of a goal."""
    try:
        found = tuple(float(part) for part in text.split(","))
    except ValueError:
        found = ()
    if len(found) not in (3, 7) or not all(math.isfinite(x) for x in found):
        raise typer.BadParameter(f"--go-to: expected X,Y,Z in metres, or X,Y,Z,QX,QY,QZ,QW; got {text!r}")
    return found


def _simulate(
    robot: str, tip: str, domain: int | None, interface: str, seconds: float | None, people: int, walk: bool
) -> int:
    """A simulated robot until Ctrl-C."""
    from ..connect.ros2.node import Node
    from ..connect.ros2.simulated import COMMANDS, STATES, TRAJECTORIES, SimulatedRobot
    from ..loading import load

    arm = load(robot, tip or None)
    with Node(domain, interface=interface) as node:
        simulated = SimulatedRobot(arm, node)
        simulated.walks = walk
        simulated.people = [] if people else None
        topics = [STATES, COMMANDS, TRAJECTORIES, *(["/people"] if people else [])]
        line(plain(f"{arm.name} on domain {node.domain}: {', '.join(topics)}; Ctrl-C ends it"))
        sys.stdout.flush()
        end = math.inf if seconds is None else time.monotonic() + seconds
        try:
            simulated.serve(lambda: "quit" if time.monotonic() >= end else None)
        except KeyboardInterrupt:
            note("ended", "by Ctrl-C", "green")
    return 0


def cell_on(link: Ros2Session, scene: Scene) -> Cell:
    """The scene's cell on a ROS 2 robot, for `run --plant ros2`."""
    try:
        return link.cell(scene)
    except ConfigError as error:
        raise ConfigError(f"--plant ros2: {error}") from None
