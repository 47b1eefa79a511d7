"""Goals of a ROS 2 topic: what becomes of each, and that the arm stands while it waits."""

from __future__ import annotations

import numpy as np
import pytest
from ros2_offline import PERIOD, Guarded

from elbowroom.cell.fitting import gaps_at
from elbowroom.cell.recording.scene_messages import turned
from elbowroom.connect.ros2 import goal as goals
from elbowroom.connect.ros2.goal import OLDEST, STUCK, reach
from elbowroom.connect.ros2.node import Endpoint, Message
from elbowroom.geometry import Body
from elbowroom.loading import load
from elbowroom.model.rotations import rz

NEAR_ITSELF = (1.0, -2.28, 1.65, -0.81, -2.46, 0.18)  # of a ur5e: forearm and wrist 5.8 cm apart, 8 cm are kept
STILL = 1e-12  # rad/s: zero but for rounding


@pytest.fixture
def ur5e():
    world = Guarded("ur5e", NEAR_ITSELF)
    world.step()  # it listens to goals from then on, whichever test comes first
    return world


@pytest.fixture
def planar():
    return Guarded("planar2")


def events(world: Guarded) -> list[str]:
    found = list(world.link.goals.events)
    world.link.goals.events.clear()
    return found


# ---- standing


def test_an_arm_without_a_goal_stands_where_it_is_links_near_each_other_or_not(ur5e):
    """The links' own field would push forearm and wrist apart: 6 mm of the tool in 8 s."""
    assert Body(ur5e.arm).self_gap(np.array([NEAR_ITSELF]))[0] < 0.06
    before = ur5e.q.copy()
    for _ in range(100):
        command = ur5e.step()
        assert np.abs(command.qd).max() < STILL
        assert not command.status.value.startswith("SLOWING_LIMIT")
    np.testing.assert_array_equal(ur5e.q, before)


def test_an_arm_that_has_reached_its_goal_stands_and_is_drawn_home_on_its_way(ur5e):
    """Three of six joints are free with a point as the goal: they would go on to the posture of the beginning."""
    home = ur5e.q.copy()
    at = ur5e.arm.pose(ur5e.q + np.array([0.4, 0.3, -0.3, 0.5, -0.4, 0.3]))[:3, 3]
    ur5e.send(at)
    ur5e.step()
    np.testing.assert_array_equal(ur5e.cell.controller.posture, home)
    ur5e.until(lambda: ur5e.cell.task.state == "there")
    there = ur5e.q.copy()
    np.testing.assert_allclose(ur5e.cell.controller.posture, there, atol=0.02)  # of a control step ago
    ur5e.step(300)
    assert np.linalg.norm(ur5e.arm.pose(ur5e.q)[:3, 3] - at) < 1e-3
    assert np.degrees(np.abs(ur5e.q - there).max()) < 2.5  # the last centimetre; 20 deg where it goes home


def test_an_arm_that_was_moved_before_it_begins_stands_where_it_is_now(planar):
    planar.q = planar.q + 0.1
    planar.step(2)
    planar.cell.reset()
    assert np.abs(planar.step().qd).max() < STILL
    np.testing.assert_array_equal(planar.cell.controller.posture, planar.q)


def test_after_a_reset_an_arm_without_a_goal_does_not_go_back_to_where_it_was(planar):
    planar.step(5)
    planar.cell.guard.stop("somebody pressed a button")
    planar.step(2)
    planar.q = planar.q + 0.3  # moved by another program
    planar.cell.guard.stop("somebody pressed a button")
    planar.step(50)
    planar.now += 10.0
    planar.tell()
    planar.step(1)
    planar.node.topics["/elbowroom/reset"].queue.append(Message((), 9))
    planar.step(1)
    assert planar.cell.guard.latched is None
    stands = planar.q.copy()
    planar.step(20)
    np.testing.assert_array_equal(planar.q, stands)


def test_gaps_are_lowered_only_where_links_stand_nearer_and_in_few_steps():
    body = Body(load("ur5e"))
    assert gaps_at(body, body.arm.ready, 0.08) == ()
    rng, seen = np.random.default_rng(0), set()
    for q in body.arm.ready + rng.uniform(-1.0, 1.0, (200, 6)):
        found, now = gaps_at(body, q, 0.08), body.self_gaps(q[None])[0]
        seen |= set(found)
        for gap, distance in zip(found, now, strict=False):
            assert goals_pushed(gap) <= max(distance, 1e-4)
    assert len(seen) < 25  # 0.7 to the twentieth is less than a tenth of a millimetre of 8 cm


def goals_pushed(gap: float) -> float:
    """The distance at which a pair of such a gap is pushed off (avoidance/control/pushes.py)."""
    return min(0.08, 0.7 * gap) if gap < 0.08 else 0.0


# ---- what becomes of goals


def test_each_goal_is_told_received_and_reached_once(planar):
    at = planar.arm.pose(planar.q + np.array([0.1, -0.1]))[:3, 3]
    planar.step()
    for _ in range(3):  # as `ros2 topic pub` repeats it
        planar.send(at)
        planar.step()
    assert planar.link.goals.number == 1
    assert planar.link.goals.repeated == 2
    assert planar.cell.task.text.startswith("1: on the way, ")
    (said,) = events(planar)
    assert said.startswith("goal 1 at (")
    planar.until(lambda: planar.cell.task.state == "there")
    (said,) = events(planar)
    assert said == f"goal 1 reached, {planar.cell.task.off:.3f} m off"
    planar.send(at)
    planar.step()
    assert events(planar) == []
    assert (planar.cell.task.cycles, planar.cell.task.state) == (1, "there")
    assert planar.cell.task.text.startswith("1: reached, 0.0")
    planar.cell.task.off = 0.4  # as after a stop in which it was moved by hand
    assert planar.cell.task.text == "1: reached before, 0.400 m off"
    planar.cell.reset()  # begun anew, where it stands
    planar.send(at)
    planar.step()
    assert planar.cell.task.text.startswith("2: ")


def test_a_goal_that_is_refused_says_why_and_the_arm_stays(planar):
    planar.step()
    far = reach(planar.arm)[1]
    for what, why in (
        ({"at": (far + 0.3, 0.0, 0.0)}, f"unreachable: expected a point within {far:.3g} m of the arm's first joint"),
        ({"at": (0.5, 0.0, 0.0), "frame": "moon"}, "no transform from 'moon' to 'world'"),
        ({"at": (0.5, 0.0, 0.0), "age": OLDEST + 1.0}, "stale: expected a stamp of the last 5 s"),
        ({"at": (np.nan, 0.0, 0.0)}, "expected finite numbers and a rotation"),
        ({"at": (0.5, 0.0, 0.0), "turned": (0.0, 0.0, 0.0, 0.0)}, "expected finite numbers and a rotation"),
    ):
        planar.send(**what)
        planar.step()
        (said,) = events(planar)
        assert said.startswith(f"/goal_pose: a goal was refused: {why}"), said
    assert (planar.link.goals.refused, planar.cell.task.state) == (5, "waiting")
    planar.send((far - 0.01, 0.0, 0.0), age=OLDEST - 1.0)
    planar.step()
    assert planar.cell.task.state == "going"


def test_a_goal_that_does_not_come_nearer_is_told_once(planar):
    planar.step()
    at = planar.arm.pose(planar.q + np.array([1.0, -0.8]))[:3, 3]
    planar.send(at)
    planar.step(10)
    events(planar)
    planar.cell.guard.stop("a test")
    planar.step(round((STUCK + 1.0) / PERIOD))
    said = events(planar)
    assert len(said) == 1
    assert said[0].startswith("goal 1 not reached: it has not come nearer for 5 s; STOP_")


def test_no_arm_reaches_farther_than_all_links_in_a_line():
    rng = np.random.default_rng(0)
    for name in ("ur5e", "panda", "planar2", "scara"):
        arm = load(name)
        centre, most = reach(arm)
        q = rng.uniform(*arm.model.sampling_range(), (200, arm.n))
        away = [np.linalg.norm(arm.pose(each)[:3, 3] - centre) for each in q]
        assert max(away) <= most
        assert max(away) > 0.5 * most  # and not much farther


def test_the_tools_turn_counts_where_it_is_asked_for():
    world = Guarded("planar2", turn=True)
    assert world.cell.controller.config.task == "pose"
    there = world.arm.pose(world.q + np.array([0.1, -0.1]))
    world.step()
    world.send(there[:3, 3], turned(there[:3, :3]))
    world.step()
    assert world.cell.task.turned == pytest.approx(0.0, abs=1e-6)  # the joints' turns cancel
    world.until(lambda: world.cell.task.state == "there")
    world.send(there[:3, 3], turned(there[:3, :3] @ rz(0.2)))
    world.step(5)
    assert world.cell.task.state == "going"  # at its place, and not turned as it should be
    assert world.cell.task.turned > goals.TURNED


def test_diagnostics_say_what_became_of_goals(planar):
    planar.step()
    planar.send((9.0, 0.0, 0.0))
    planar.step(30)
    _, ((_, name, _, _, values),) = planar.node.topics["/diagnostics"].queue[-1]
    told = dict(values)
    assert name == "elbowroom"
    assert told["goal"] == "none yet"
    assert told["goals"] == "0 received, 0 reached, 1 refused, 0 repeated"
    assert "unreachable: expected a point within" in told["goal refused"]


def test_messages_of_another_type_on_a_known_topic_are_noticed_by_name_once(planar):
    for topic in ("/goal_pose", "/elbowroom/reset", "/tf"):
        planar.node.others[topic] = [Endpoint("std_msgs/msg/String", "other")]
    planar.step(200)
    assert planar.link.notices == [
        f"{topic}: expected {kind}; somebody publishes std_msgs/msg/String, which is not taken"
        for topic, kind in (
            ("/tf", "tf2_msgs/msg/TFMessage"),
            ("/elbowroom/reset", "std_msgs/msg/Empty"),
            ("/goal_pose", "geometry_msgs/msg/PoseStamped"),
        )
    ]
    assert planar.cell.guard.latched is None


def test_publishers_whose_quality_of_service_does_not_fit_are_noticed(planar):
    """DDS connects a reader that asks for more with no writer that offers less, and says nothing."""
    planar.node.others = {
        "/goal_pose": [Endpoint("geometry_msgs/msg/PoseStamped", "other", reliable=False)],
        "/tf_static": [Endpoint("tf2_msgs/msg/TFMessage", "other", latched=False)],
        "/tf": [Endpoint("tf2_msgs/msg/TFMessage", "other", reliable=False, latched=False)],
    }
    planar.step(200)
    assert planar.link.notices == [
        "/tf_static: somebody publishes volatile; expected transient local; its messages are not taken",
        "/goal_pose: somebody publishes best effort; expected reliable; its messages are not taken",
    ]
