"""Single messages to a guard that runs: the reset of a stop, a goal.  For who has no ROS at hand.

    answer = reset(node)                       "OK", or the status that holds the arm
    send_goal(node, "/goal_pose", (0.4, 0.3, 0.5), (0.0, 0.0, 0.0, 1.0), "base_link")

Each waits until the guard listens, sends once, and gives back the line of the guard's diagnostics that came after it.
"""

from __future__ import annotations

import time

from ...cell.recording.scene_messages import header
from ...errors import ConfigError
from .goal import POSE
from .node import RELIABLE, Node, Publisher, Subscription, checked_topic
from .outputs import DIAGNOSTICS, NAME, NONE_REFUSED
from .session import EMPTY, RESET

ANSWER = 10.0  # s in which the guard says something
FOUND = 3.0  # s in which its diagnostics are found, where it publishes any
LATER = 0.1  # s that a message may be on its way
Point = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]


def reset(node: Node, seconds: float = 10.0) -> str:
    """Ends a stop, if its reason has gone; what the guard says after it."""
    return _sent(node, RESET, EMPTY, (), seconds)


def send_goal(
    node: Node, topic: str, position: Point, orientation: Quaternion, frame: str, seconds: float = 10.0
) -> str:
    """Sends the tool to a pose in a frame, stamped 0: now; what the guard says after it."""
    return _sent(node, checked_topic(topic), POSE, (header(0, frame), (position, orientation)), seconds)


def _sent(node: Node, topic: str, kind: str, value: tuple[object, ...], seconds: float) -> str:
    writer, heard = node.publish(topic, kind, RELIABLE), node.subscribe(DIAGNOSTICS, _KIND, RELIABLE)
    _wait(node, writer, heard, seconds)
    if not writer.send(value):
        raise ConfigError(f"{topic}: the network did not take the message")
    if not heard.publishers:  # a dry run
        return ""
    time.sleep(LATER)
    heard.take()  # of before
    end, fresh = time.monotonic() + ANSWER, 0
    while time.monotonic() < end:
        for message in heard.take():
            for _, name, text, _, values in message.value[1]:
                fresh += name == NAME
                if name == NAME and fresh > 1:  # of a control step that began after the message had come
                    told = dict(values)
                    refused = told.get("goal refused", NONE_REFUSED)
                    goal = f"goal {told.get('goal', NONE_REFUSED)}" if refused == NONE_REFUSED else refused
                    return f"{text}; {goal}"
        time.sleep(0.01)
    return ""


def _wait(node: Node, writer: Publisher, heard: Subscription, seconds: float) -> None:
    """Until somebody listens, and their diagnostics, if there are any, reach us."""
    end = time.monotonic() + seconds
    while not writer.subscribers:
        if time.monotonic() >= end:
            where = f"domain {node.domain}, interface {node.interface}"
            raise ConfigError(f"{writer.topic}: expected a guard that listens in {where}; nobody does")
        time.sleep(0.01)
    end = time.monotonic() + FOUND
    while not heard.publishers and time.monotonic() < end:
        time.sleep(0.01)


_KIND = "diagnostic_msgs/msg/DiagnosticArray"
