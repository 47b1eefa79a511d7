"""An arm on ROS 2, in two processes on the loopback: what moves it, and every fault that must stop it."""

from __future__ import annotations

import dataclasses
import math
import os
import resource
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from elbowroom.avoidance import Config, Limits, Sensor, State, Status
from elbowroom.cell import GoTo, Scene
from elbowroom.cell.recording.scene_messages import header, point, transforms
from elbowroom.errors import ConfigError
from elbowroom.geometry import PARKED, Person
from elbowroom.geometry.person import standing_points
from elbowroom.loading import load
from elbowroom.model.rotations import pose

pytest.importorskip("cyclonedds", reason="cyclonedds (extra connect) speaks DDS")

from ros2_world import ENV, LONG, Robot, until

from elbowroom.connect.ros2.node import LATCHED, RELIABLE, Node
from elbowroom.connect.ros2.people import Ros2People
from elbowroom.connect.ros2.plant import JOINT_STATE, SPEEDS, Ros2Plant, Topics
from elbowroom.connect.ros2.session import Ros2Options, Ros2Session
from elbowroom.connect.ros2.stamps import LEARN
from elbowroom.connect.ros2.types import user_data

COMMANDS, TRAJECTORIES = "/velocity_controller/commands", "/trajectory_controller/joint_trajectory"
LENIENT = Limits(  # of a busy machine nothing is learned here
    sensor=Sensor(latency=0.1, frame_period=0.1, dropout=2.0), max_state_age=5.0, max_overruns=1000, max_overrun=1000,
    clock_step=10.0, max_repeats=1000,
)  # fmt: skip


def options(domain: int, **others) -> Ros2Options:
    given = {"command": COMMANDS, "people": 0, "timeout": 3.0, "watchdog": False, "domain": domain}
    return Ros2Options(**given | others)


SCENE = Scene(robot="planar2", origin="base", controller=Config(period=0.01), limits=LENIENT)


class Loop:
    """A session and its cell, stepped by the test."""

    def __init__(self, domain: int, scene: Scene = SCENE, **others) -> None:
        self.link = Ros2Session(options(domain, **others))
        try:
            self.cell = self.link.guarded(scene, LONG)
        except BaseException:
            self.link.close()
            raise
        self.goals = self.link.node.publish("/goal_pose", "geometry_msgs/msg/PoseStamped")
        self.told = self.link.told(self.cell)
        self.cell.reset()
        self.began = time.monotonic()
        self.steps(lambda: True)  # from now on it listens to goals

    def go_to(self, *offset: float) -> np.ndarray:
        """Sends a goal: where the tool is with the joints turned by so much more; it is in."""
        goal = self.cell.arm.pose(self.cell.state.q + np.array(offset))[:3, 3]
        before = self.link.goals.number
        until(lambda: self.goals.subscribers, "for the goal's subscriber")
        self.goals.send((header(time.time_ns()), (point(goal), (0.0, 0.0, 0.0, 1.0))))
        self.steps(lambda: self.link.goals.number > before, "for the goal")
        return goal

    def steps(self, condition, what: str = "") -> None:
        """Control steps until the condition holds."""
        end = time.monotonic() + LONG
        while True:
            t = time.monotonic() - self.began
            self.cell.step(t)
            self.told(0, 0)
            self.cell.advance(t, 0.01)
            if condition():
                return
            assert time.monotonic() < end, f"gave up waiting {what}: {self.cell.command}"
            time.sleep(0.008)

    @property
    def stopped(self) -> Status | None:
        return self.cell.guard.latched

    def __enter__(self):
        return self

    def __exit__(self, *_) -> None:
        self.link.close()


def moving(domain: int, **others) -> Loop:
    """An arm on its way to a goal that it does not reach within some seconds."""
    loop = Loop(domain, **others)
    try:
        loop.go_to(1.0, -0.8)
        loop.steps(lambda: np.abs(loop.cell.state.qd).max() > 0.02, "for the arm to move")
    except BaseException:
        loop.link.close()
        raise
    return loop


def halted(loop: Loop, robot: Robot, reason: str, status: Status | None = None) -> None:
    """The arm stops for that reason, latched, and stays so."""
    loop.steps(lambda: loop.stopped is not None, f"for a stop: {reason}")
    assert reason in loop.cell.guard.reason
    assert status is None or loop.stopped is status
    loop.steps(lambda: not loop.cell.command.qd.any(), "for zero commands")
    until(lambda: robot.order("report")["fastest"] < 1e-5, "for the robot to stand")


# ---- what moves it


def test_a_goal_is_reached_through_two_processes_with_joints_in_another_order(domain, robot):
    with Loop(domain) as loop:
        assert np.abs(loop.cell.state.q - load("planar2").ready).max() < 1e-9  # robot: (elbow, shoulder)
        goal = loop.go_to(0.1, -0.1)
        loop.steps(lambda: loop.cell.task.state == "there", "for the goal")
        assert np.linalg.norm(loop.cell.tool - goal) < 0.01
        assert loop.stopped is None
        seen = robot.order("report")
        assert seen["received"] > 3
    until(lambda: robot.order("report")["fastest"] == 0.0, "for the robot to stand after the end")


def test_a_scenes_task_is_done_on_the_robot(domain, robot):
    """As `run --plant ros2` does it: the scene's own task, from where the arm stands."""
    arm = load("planar2")
    x, y, z = (arm.pose(arm.ready + np.array([0.2, -0.2]))[:3, 3] - arm.model.base[:3, 3]).tolist()
    with Ros2Session(options(domain)) as link:
        loop = Loop.__new__(Loop)
        loop.link, loop.cell = link, link.cell(dataclasses.replace(SCENE, task=GoTo((x, y, z))), LONG)
        loop.told = link.told(loop.cell)
        loop.cell.reset()
        loop.began = time.monotonic()
        loop.steps(lambda: loop.cell.task.state == "there", "for the task")
        assert loop.stopped is None
        assert loop.cell.task.cycles == 1
    tool = arm.pose(robot.order("report")["q"])[:3, 3] - arm.model.base[:3, 3]
    assert np.linalg.norm(tool - (x, y, z)) < 0.02  # 1 cm of the task, and what it takes to stand


def test_trajectories_move_it_too_and_end_by_themselves(domain, robot):
    with Loop(domain, command=TRAJECTORIES) as loop:
        loop.go_to(0.1, -0.1)
        loop.steps(lambda: loop.cell.task.state == "there", "for the goal")
        loop.go_to(0.8, -0.6)
        loop.steps(lambda: np.abs(loop.cell.state.qd).max() > 0.02, "for the arm to move")
        # no more commands: what was sent has an end
        until(lambda: robot.order("report")["fastest"] == 0.0, "for the trajectory's end")


def test_the_description_comes_to_who_is_late(domain, robot):
    with Ros2Session(options(domain)) as link:
        assert "<robot name=" in link.description(LONG)


def test_type_hashes_are_announced_unless_humble_is_asked_for(domain):
    with Node(domain) as one, Node(domain) as two:
        for hashes, wanted in ((True, user_data(JOINT_STATE)), (False, b"")):
            two.hashes = hashes
            topic = f"/hashes_{hashes}".lower()
            writer, reader = two.publish(topic, JOINT_STATE), one.subscribe(topic, JOINT_STATE)
            until(lambda reader=reader: reader.publishers, "for a match")
            (handle,) = reader._reader.get_matched_publications()
            data = reader._reader.get_matched_publication_data(handle)
            assert data.type_name == "sensor_msgs::msg::dds_::JointState_"
            assert data.topic_name == f"rt{topic}"
            from cyclonedds.core import Policy

            found = data.qos[Policy.Userdata]
            assert (found.data if found else b"") == wanted
            assert writer.subscribers == 1


def test_quality_of_service_is_that_of_ros_2s_own_programs(domain, robot):
    """As discovery has it: sensors best effort, what is latched in ROS 2 transient local, all else reliable."""
    from cyclonedds.builtin import BuiltinDataReader, BuiltinTopicDcpsPublication, BuiltinTopicDcpsSubscription
    from cyclonedds.core import Policy

    with Node(domain) as watching, Loop(domain, people=1) as loop:
        loop.link.description(LONG)
        found: dict[str, dict[str, tuple[bool, bool]]] = {"in": {}, "out": {}}
        kinds = (("in", BuiltinTopicDcpsSubscription), ("out", BuiltinTopicDcpsPublication))
        readers = {way: BuiltinDataReader(watching._participant, kind) for way, kind in kinds}

        def all_of() -> bool:
            for way, reader in readers.items():
                for each in reader.take(256):
                    ours = each.sample_info.valid_data and str(each.participant_key) == loop.link.node.id
                    if ours and each.topic_name.startswith("rt/"):
                        reliable = each.qos[Policy.Reliability] != Policy.Reliability.BestEffort
                        latched = each.qos[Policy.Durability] == Policy.Durability.TransientLocal
                        found[way][each.topic_name.removeprefix("rt")] = reliable, latched
            return len(found["in"]) >= 8 and len(found["out"]) >= 4

        until(all_of, "for discovery")
        sensor, plain, kept = (False, False), (True, False), (True, True)
        assert found["in"] == {
            "/joint_states": sensor,
            "/people": sensor,
            "/humans/bodies/tracked": sensor,
            "/tf": sensor,
            "/tf_static": kept,
            "/robot_description": kept,
            "/goal_pose": plain,
            "/elbowroom/reset": plain,
        }
        assert found["out"] == dict.fromkeys((COMMANDS, "/diagnostics", "/elbowroom/markers", "/goal_pose"), plain)


def test_what_is_published_volatile_is_no_robot_description(domain, monkeypatch):
    monkeypatch.setattr("elbowroom.connect.ros2.session.DESCRIPTION", "/volatile_description")
    with Node(domain) as other, Ros2Session(options(domain)) as link:
        text = other.publish("/volatile_description", "std_msgs/msg/String", RELIABLE)
        text.send(("<robot/>",))
        until(lambda: link.node.publishers("/volatile_description"), "for discovery")
        with pytest.raises(ConfigError, match="somebody publishes volatile; expected transient local there"):
            link.description(0.1)


def test_a_dry_run_publishes_nothing(domain, robot):
    with Node(domain) as watching, Loop(domain, command=None) as loop:
        before = robot.order("report")["received"]
        loop.go_to(0.8, -0.6)
        steps = 0

        def enough() -> bool:
            nonlocal steps
            steps += 1
            return steps % 30 == 0

        loop.steps(enough)
        assert np.abs(loop.cell.command.qd).max() > 0.0  # it says what it would do
        assert robot.order("report")["received"] == before
        own = loop.link.node.id

        def published() -> set[str]:
            """Topics that the guard has announced, as another participant finds them."""
            watching.publishers("/diagnostics")
            return {at for at, of in watching._others.values() if of.participant == own}

        assert until(published, "for what the guard's participant publishes") == {"rt/goal_pose"}  # of the test itself
        loop.steps(enough)  # discovery goes on meanwhile
        assert published() == {"rt/goal_pose"}


def test_status_and_markers_are_published(domain, robot):
    with Node(domain) as watching, Loop(domain) as loop:
        status = watching.subscribe("/diagnostics", "diagnostic_msgs/msg/DiagnosticArray", RELIABLE)
        markers = watching.subscribe("/elbowroom/markers", "visualization_msgs/msg/MarkerArray", RELIABLE)
        found: dict[str, list] = {"status": [], "markers": []}

        def seen() -> bool:
            found["status"] += status.take()
            found["markers"] += markers.take()
            return all(found.values())

        loop.steps(seen, "for diagnostics and markers")
        (_, ((level, name, said, hardware, values),)) = found["status"][-1].value
        assert (name, hardware) == ("elbowroom", "planar2")
        assert said.startswith(loop.cell.command.status.value) or level in (0, 1)
        assert dict(values)["task"] == "waiting"
        assert len(found["markers"][-1].value[0]) > 2


def test_goals_without_sense_are_refused_and_the_arm_stays(domain, robot):
    with Loop(domain) as loop:
        until(lambda: loop.goals.subscribers)
        for frame, at, said in (
            ("moon", (0.5, 0.0, 0.5), "no transform from 'moon' to 'world'"),
            ("world", (math.nan, 0.0, 0.5), "expected finite numbers and a rotation"),
            ("world", (50.0, 0.0, 0.5), "unreachable: expected a point within 0.9 m of the arm's first joint"),
        ):
            loop.link.goals.problem = ""
            loop.goals.send((header(time.time_ns(), frame), (at, (0.0, 0.0, 0.0, 1.0))))
            loop.steps(lambda: loop.link.goals.problem, "for the refusal")
            assert loop.link.goals.problem.startswith(f"/goal_pose: a goal was refused: {said}")
        assert loop.link.goals.refused == 3
        assert loop.cell.task.state == "waiting"


# ---- faults: each stops the arm, latched


def test_silence_stops_it_and_a_reset_lets_it_go_on(domain, robot):
    with moving(domain, timeout=1.0) as loop:
        robot.order("silent")
        loop.steps(lambda: loop.stopped is not None, "for a stop")
        assert "it does not answer" in loop.cell.guard.reason
        robot.order("silent")
        loop.steps(lambda: loop.link.plant.connected and not loop.cell.command.qd.any(), "for the robot to be back")
        assert loop.stopped is not None  # nothing resumes by itself
        resets = loop.link.node.publish("/elbowroom/reset", "std_msgs/msg/Empty")
        until(lambda: resets.subscribers)

        def reset() -> bool:
            resets.send(())
            return loop.stopped is None

        loop.steps(reset, "for the reset")
        loop.steps(lambda: np.abs(loop.cell.state.qd).max() > 0.02, "for the arm to go on")


@pytest.mark.parametrize("step, reason", [("5", "went ahead by"), ("-5", "went back by")])
def test_a_clock_that_jumps_stops_it(domain, robot, step, reason):
    with moving(domain) as loop:
        loop.steps(lambda: loop.link.plant.stamps._count > LEARN, "for its clock to be known")
        robot.order(f"clock {step}")
        halted(loop, robot, f"/joint_states: its clock {reason}")


def test_joints_that_are_renamed_stop_it(domain, robot):
    with moving(domain, timeout=1.0) as loop:
        robot.order("names shoulder wrist")
        halted(loop, robot, "it does not answer")
        assert loop.link.plant.dropped["joints"] > 0
        assert "expected joints elbow of planar2; its messages have shoulder, wrist" in loop.link.plant.trouble()


def test_a_second_publisher_of_joint_states_stops_it(domain, robot):
    with Node(domain) as other, moving(domain) as loop:
        states = other.publish("/joint_states", JOINT_STATE)
        until(lambda: states.subscribers)

        def fake() -> bool:
            states.send((header(time.time_ns(), ""), ("shoulder", "elbow"), (0.0, 0.0), (0.0, 0.0), ()))
            return loop.stopped is not None

        loop.steps(fake, "for a stop")
        halted(loop, robot, "/joint_states: a second publisher of the same joints")


def test_a_grippers_joint_states_do_no_harm(domain, robot):
    with Node(domain) as other, moving(domain) as loop:
        states = other.publish("/joint_states", JOINT_STATE)
        until(lambda: states.subscribers)
        for _ in range(20):
            states.send((header(time.time_ns(), ""), ("finger",), (0.0,), (0.0,), ()))
            loop.steps(lambda: True)
        assert loop.stopped is None
        assert sum(loop.link.plant.dropped.values()) == 0


def test_another_publisher_of_commands_stops_it(domain, robot):
    with Node(domain) as other, moving(domain) as loop:
        other.publish(COMMANDS, SPEEDS)
        halted(loop, robot, f"{COMMANDS}: 1 other publisher of commands")


def test_a_second_guard_is_refused_and_the_first_works_on(domain, robot):
    with moving(domain) as loop, ThreadPoolExecutor() as pool:
        second = pool.submit(Loop, domain)

        def done() -> bool:
            loop.link.plant._looked = -math.inf  # it looks around in every step, as it would sooner or later
            return second.done()

        loop.steps(done, "for the second guard")
        with pytest.raises(ConfigError, match=f"{COMMANDS}: 1 other publisher of commands"):
            second.result()
        assert loop.stopped is None


@pytest.mark.parametrize("command", [COMMANDS, TRAJECTORIES])
@pytest.mark.parametrize("fault", ["nan", "jump"])
def test_a_state_that_cannot_be_stops_it(domain, robot, fault, command):
    with moving(domain, command=command) as loop:
        robot.order(fault)
        halted(loop, robot, "", Status.STOP_STATE_INVALID)
        robot.order("well")


def test_a_dry_run_says_so_of_a_state_that_is_no_number_and_goes_on(domain, robot):
    with Loop(domain, command=None) as loop:
        loop.go_to(0.8, -0.6)
        robot.order("nan")
        loop.steps(lambda: loop.cell.verdict is Status.STOP_STATE_INVALID, "for the verdict")


def test_joints_that_do_not_follow_stop_it(domain, robot):
    with moving(domain) as loop:
        robot.order("frozen")
        loop.steps(lambda: loop.stopped is not None, "for a stop")
        # the state that is repeated has a speed, which its place belies, or has none: whichever is noticed first
        assert loop.stopped in (Status.STOP_STATE_STALE, Status.STOP_STATE_INVALID)


def test_people_who_are_not_reported_any_more_stop_it(domain, robot):
    robot.order("people 3.0 3.0")
    with moving(domain, people=1) as loop:
        robot.order("blind")
        halted(loop, robot, "", Status.STOP_HUMAN_STALE)


def test_more_people_than_places_stop_it(domain, robot):
    robot.order("people 3.0 3.0")
    with moving(domain, people=1) as loop:
        robot.order("people 3.0 3.0 -3.0 3.0")
        halted(loop, robot, "/people: 2 people, and room for 1")


def test_a_person_who_comes_is_seen_and_given_way_to(domain, robot):
    robot.order("people 3.0 3.0")
    with Loop(domain, people=1) as loop:
        loop.steps(lambda: math.isfinite(loop.cell.near.surfaces), "for the person")
        far = loop.cell.near.surfaces
        x, y, _ = loop.cell.tool
        robot.order(f"people {x + 0.6:.3f} {y:.3f}")
        loop.steps(lambda: loop.cell.near.surfaces < far - 0.5, "for the person to be near")
        wary = (Status.AVOIDING, Status.SLOWING_HUMAN, Status.IN_COLLISION, Status.STOP_HUMAN)
        loop.steps(lambda: loop.cell.command.status in wary, "for the arm to be wary")


# ---- what is refused before it moves


def refused(domain: int, *, seconds: float = 1.0, **others) -> str:
    with Ros2Session(options(domain, **others)) as link, pytest.raises(ConfigError) as error:
        link.guarded(SCENE, seconds)
    return str(error.value)


def test_what_is_not_there_or_of_another_type_is_named(domain, robot):
    said = refused(domain, joint_states="/nowhere")
    assert "/nowhere: nobody publishes there in domain" in said
    with Node(domain) as other:
        strings = other.publish("/strings", "std_msgs/msg/String")
        said = refused(domain, joint_states="/strings")
        assert "/strings: expected messages of type sensor_msgs/msg/JointState; somebody publishes std_msgs/" in said
        assert strings.subscribers == 0
    assert f"{COMMANDS}_: expected a controller that listens; nobody does" in refused(domain, command=f"{COMMANDS}_")
    robot.order("blind")
    said = refused(domain, people=1, people_topic="/nobody_here", bodies_topic="/nor_here")
    assert "no message says who is there, on /nobody_here or /nor_here; --people 0" in said
    robot.order("names shoulder elbo")
    said = refused(domain)
    assert "expected joints elbow of planar2; its messages have shoulder, elbo; did you mean elbo?" in said


def test_an_interface_that_is_not_there_is_named(domain):
    with pytest.raises(ConfigError, match=r"cannot join domain .* \(interface 'nosuch0'\)"):
        Node((domain + 7) % 232, interface="nosuch0")


# ---- people in frames


def test_skeletons_of_rep_155_become_capsules(domain):
    camera = pose(np.eye(3), (0.5, 0.0, 0.0))
    with Node(domain) as node, Node(domain) as sensor:
        people = Ros2People(node, 2, people="/frames/people", bodies="/frames/bodies")
        tf, ids = (
            sensor.publish("/tf", "tf2_msgs/msg/TFMessage"),
            sensor.publish("/frames/bodies", "hri_msgs/msg/IdsList"),
        )
        static = sensor.publish("/tf_static", "tf2_msgs/msg/TFMessage", LATCHED)
        until(lambda: tf.subscribers and ids.subscribers and static.subscribers)
        points = standing_points((1.0, 0.2, 0.0), 0.4)
        from elbowroom.cell.mocap.ros_people import FRAMES

        names = [f"{FRAMES[name]}_eve" for name in points]
        rows = np.zeros((13, 13))
        assert people.places[0].look(5.0, rows) == -math.inf  # nothing has come: not nobody

        def shown() -> bool:
            ns = time.time_ns()
            static.send(transforms(ns, ["camera"], [camera]))
            tf.send(transforms(ns, names, [pose(np.eye(3), points[name]) for name in points], "camera"))
            ids.send((header(ns), ("eve",)))
            people.pump(people.clock())
            return not people.places[0].empty

        until(shown, "for the body")
        stamp = people.places[0].look(5.0, rows)
        assert 3.0 < stamp <= 5.0
        moved = {name: at + camera[:3, 3] for name, at in points.items()}
        np.testing.assert_allclose(rows, Person.from_skeleton(moved).rows, atol=1e-12)
        assert 3.0 < people.places[1].look(5.0, rows) <= 5.0  # a message says so
        assert (rows == PARKED).all()
        assert people.fault == ""


def test_people_in_a_frame_that_nothing_connects_are_a_fault(domain):
    with Node(domain) as node, Node(domain) as sensor:
        people = Ros2People(node, 1, people="/lost/people", bodies="/lost/bodies")
        poses = sensor.publish("/lost/people", "geometry_msgs/msg/PoseArray")
        until(lambda: poses.subscribers)

        def lost() -> str:
            poses.send((header(time.time_ns(), "moon"), ()))
            people.pump(people.clock())
            return people.fault

        assert until(lost) == "/lost/people: no transform from 'moon' to 'world'"


# ---- nothing waits, and what dies is stopped for


SENDS = 3000


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts how often a thread waits, as Linux does")
def test_a_subscriber_that_hangs_holds_up_nothing(domain, robot):
    with Node(domain) as node:
        arm = load("planar2")
        plant = Ros2Plant(arm, node, Topics(command=COMMANDS))
        until(lambda: plant.wait(1.0) and plant.commands.subscribers)
        os.kill(robot.process.pid, signal.SIGSTOP)
        try:
            began = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
            for _ in range(SENDS):
                plant.brake()
                plant.read(State(np.zeros(2)))
            waited = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw - began
        finally:
            os.kill(robot.process.pid, signal.SIGCONT)
        assert plant.commands.unsent == 0
        assert waited < 0.1 * SENDS  # who waits gives the processor away of its own will; locks of DDS do, now and then


MOVES = """
    import sys, time
    import numpy as np
    from elbowroom.avoidance import Command
    from elbowroom.connect.ros2.node import Node
    from elbowroom.connect.ros2.plant import Ros2Plant, Topics
    from elbowroom.connect.ros2.watchdog import Watchdog
    from elbowroom.loading import load
    arm = load("planar2")
    node = Node(int(sys.argv[1]))
    plant = Ros2Plant(arm, node, Topics(command=sys.argv[2]))
    while not (plant.wait(1.0) and plant.commands.subscribers):
        pass
    watchdog = Watchdog(node, sys.argv[2], arm.n, timeout=0.5)
    print("moving", watchdog.pid, flush=True)
    command = Command(arm.n)
    while True:
        command.qd[:] = 0.05 * np.sign(np.sin(time.monotonic()))
        plant.write(command)
        watchdog.beat()
        if "no command" in watchdog.fault:
            print(watchdog.fault, flush=True)
        time.sleep(0.005)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="processes cannot be suspended")
@pytest.mark.parametrize("how", ["SIGKILL", pytest.param("SIGSTOP", marks=pytest.mark.slow)])
def test_a_controller_that_is_killed_or_suspended_leaves_an_arm_that_stops(domain, robot, how):
    call = [sys.executable, "-c", textwrap.dedent(MOVES), str(domain), COMMANDS]
    process = subprocess.Popen(call, stdout=subprocess.PIPE, text=True, env=ENV)
    try:
        word, watchdog = process.stdout.readline().split()
        assert word == "moving"
        until(lambda: robot.order("report")["fastest"] > 0.04, "for the robot to move")
        assert os.getsid(int(watchdog)) == int(watchdog)  # what ends the terminal's programs does not end it
        for signalled in (signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT, signal.SIGINT):
            os.kill(int(watchdog), signalled)
        process.send_signal(getattr(signal, how))
        until(lambda: robot.order("report")["fastest"] == 0.0, "for the watchdog")
        if how == "SIGSTOP":
            process.send_signal(signal.SIGCONT)
            assert "watchdog: no command came for 0.5 s" in process.stdout.readline()
    finally:
        process.kill()
        process.wait()

    def over() -> bool:
        try:
            os.kill(int(watchdog), 0)
        except ProcessLookupError:
            return True
        state = Path(f"/proc/{watchdog}/stat")
        return state.exists() and state.read_text().split()[2] == "Z"

    until(over, "for the watchdog's end")
