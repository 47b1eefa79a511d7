"""The natural tip of a tree of links: where an arm ends if no tip is given.

    1. Joints of a gripper are left out: those named gripper, finger, jaw and the like, mimic joints, and the fingers
       of a hand, which are two or more branches that leave one link and are short (`SHORT`) beside the way to it.
    2. Of the chains that are left the one with most joints is the arm.  Several with as many (two arms, four legs) are
       an error that lists them.
    3. Of the links at its end, all rigid in the last moving one, the tip is the one with the best name (`TOOLS`), else
       the one that the fingers leave, else the deepest that is no sensor.

It is a guess, so `Guess.choices` says between how many links it was, and who asked can name another.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..errors import ModelError

TOOLS = ("tcp", "tool0", "ee", "eef", "effector", "endeffector", "grasp", "grasping", "tool", "flange", "palm")
"""Words in the name of a link at an arm's end, best first."""
FINGERS = ("finger", "fingers", "fingertip", "jaw", "claw", "thumb", "knuckle")
GRIPPERS = ("gripper", *FINGERS)
"""Words in the names of a gripper's joints; of its links only the fingers', since the last link of an arm may carry it
and be called after it."""
WRISTS = ("wrist", "yaw", "pitch", "roll", "rotate")
"""A joint with such a word turns the gripper and belongs to the arm."""
SENSORS = ("camera", "cam", "optical", "imu", "sensor", "lidar", "laser", "light", "led", "ft", "depth", "rgb", "range")
SHORT = 0.4
"""Fingers are shorter than this part of the way from the root to the hand."""
MOST_LISTED = 12


@dataclass(frozen=True)
class Edge:
    """The joint that leads to `link`, or to one of several frames of a body."""

    link: str
    parent: str
    joint: str
    moves: bool  # can be a joint of a chain
    locked: bool  # moves, but not on a chain: mimic, floating, planar
    length: float  # from the parent's frame to this one, m


@dataclass(frozen=True)
class Guess:
    """The tip, the joints up to it, and how many links could have been meant."""

    tip: str
    joints: int
    choices: int

    def __str__(self) -> str:
        return f"taken as the arm: {_joints(self.joints)} to {self.tip!r}; tip= names another end"


def words(name: str) -> list[str]:
    """The words of a name, in small letters: "leftHand_tool0" has left, hand, tool0."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return [word for word in re.split(r"[^a-z0-9]+", apart.lower()) if word]


def guess(root: str, edges: Sequence[Edge], command: str = "--tip") -> Guess:
    """The natural tip; `edges` in an order in which a link comes before those that it carries."""
    tree = _Tree(root, edges)
    if not any(edge.moves for edge in edges):
        raise ModelError("no joint moves: every joint is fixed")
    gripper = tree.gripper_joints()
    if all(edge.joint in gripper for edge in edges if edge.moves):
        gripper = set()  # a gripper alone is an arm after all
    movers, counts = tree.chains(gripper)
    most = max(counts.values())
    ends = [link for link, count in counts.items() if count == most]
    if len(ends) > 1:
        raise ModelError(_several(tree, ends, counts, movers, gripper, command))
    tips = _ranked(tree, ends[0], movers, gripper)
    others = [link for link in counts if link != ends[0] and not tree.leads_to(link, ends[0])]
    leaves = [link for link in tips if not any(edge.link in movers for edge in tree.below[link])]
    return Guess(tips[0], most, len(leaves) + len(others) + bool(gripper))


class _Tree:
    def __init__(self, root: str, edges: Sequence[Edge]) -> None:
        self.root, self.edges = root, edges
        self.above = {edge.link: edge for edge in edges}
        self.below: dict[str, list[Edge]] = defaultdict(list)
        for edge in edges:
            self.below[edge.parent].append(edge)
        self.way = {root: 0.0}  # m from the root
        self.depth = {root: 0}
        for edge in edges:
            self.way[edge.link] = self.way[edge.parent] + edge.length
            self.depth[edge.link] = self.depth[edge.parent] + 1
        self.farthest = dict(self.way)  # of all that a link carries
        for edge in reversed(edges):
            self.farthest[edge.parent] = max(self.farthest[edge.parent], self.farthest[edge.link])

    def leads_to(self, link: str, end: str) -> bool:
        while end != link and end in self.above:
            end = self.above[end].parent
        return end == link

    def gripper_joints(self) -> set[str]:
        found: set[str] = set()
        for edge in self.edges:
            inside = edge.parent in self.above and self.above[edge.parent].joint in found
            named = edge.moves and (_any(GRIPPERS, edge.joint) or _any(FINGERS, edge.link))
            named = named and not _any(WRISTS, edge.joint)
            if inside or named or edge.locked:
                found.add(edge.joint)  # fixed joints inside too, so that all behind a finger is the gripper's
        for link in self.way:
            branches = self._branches(link)
            if len(branches) > 1 and all(
                self.farthest[edge.link] - self.way[link] < SHORT * self.way[link] for edge in branches
            ):
                found |= {edge.joint for edge in self._within(branches)}
        return found

    def _branches(self, link: str) -> list[Edge]:
        """The first joints that move on every way out of a link."""
        found, waiting = [], list(self.below[link])
        while waiting:
            edge = waiting.pop()
            if edge.moves or edge.locked:
                found.append(edge)
            else:
                waiting += self.below[edge.link]
        return found

    def _within(self, edges: Iterable[Edge]) -> list[Edge]:
        found, waiting = [], list(edges)
        while waiting:
            edge = waiting.pop()
            found.append(edge)
            waiting += self.below[edge.link]
        return found

    def chains(self, gripper: set[str]) -> tuple[dict[str, str], dict[str, int]]:
        """By link without the gripper's: its last moving link; and of each end of a chain the number of joints."""
        movers, counts = {self.root: ""}, {self.root: 0}
        ends: dict[str, int] = {}
        for edge in self.edges:
            if edge.joint in gripper or edge.parent not in movers:
                continue
            counts[edge.link] = counts[edge.parent] + edge.moves
            movers[edge.link] = edge.link if edge.moves else movers[edge.parent]
            if edge.moves:
                ends.pop(movers[edge.parent], None)
                ends[edge.link] = counts[edge.link]
        return movers, ends


def _ranked(tree: _Tree, end: str, movers: dict[str, str], gripper: set[str]) -> list[str]:
    """The links at the end of a chain, the best tip first."""
    links = [link for link, mover in movers.items() if mover == end]
    hands = {edge.parent for edge in tree.edges if edge.joint in gripper and edge.parent in movers}

    def rank(link: str) -> tuple[bool, int, bool, int]:
        said = words(link)
        best = min((TOOLS.index(word) for word in said if word in TOOLS), default=len(TOOLS))
        sensor = any(word in SENSORS for word in said) and "tool" not in said
        return sensor, best, link not in hands, -tree.depth[link]

    return sorted(links, key=rank)


def _any(wanted: Sequence[str], name: str) -> bool:
    return any(word.rstrip("0123456789") in wanted for word in words(name))


def _several(
    tree: _Tree,
    ends: list[str],
    counts: dict[str, int],
    movers: dict[str, str],
    gripper: set[str],
    command: str,
) -> str:
    tips = {end: _ranked(tree, end, movers, gripper)[0] for end in counts}
    order = sorted(counts, key=lambda end: -counts[end])
    listed = ", ".join(f"{tips[end]!r} ({_joints(counts[end])})" for end in order[:MOST_LISTED])
    more = f" and {len(order) - MOST_LISTED} more" if len(order) > MOST_LISTED else ""
    return (
        f"several tips, {len(ends)} of them at the end of {_joints(counts[ends[0]])}: {listed}{more}; name one, or any "
        f"other link, as tip=... in Python or in a command: {command} {tips[ends[0]]}"
    )


def _joints(count: int) -> str:
    return f"{count} joint{'' if count == 1 else 's'}"
