"""Fewer capsules for an arm with very many: two of one link become one about both, where that wastes least volume.

The capsule about two others has its axis between two of their four ends, those that give the least volume, and as its
radius the greatest of (distance of an end to that axis + the radius there).  A capsule is convex, so both lie within.
A hand of forty capsules, or a second arm that rides on the torso, costs every cycle of control as much as forty links.

Towards people the arm only grows.  But links whose merged capsules overlap at the ready pose, or often, are not held
apart from each other any more (`Body.self_pairs`); `NOT_HELD` says so.
"""

from __future__ import annotations

import dataclasses
from itertools import combinations

import numpy as np

from .capsules import LinkCapsule
from .covering import Cover, distance_to_segment

MANY = 72  # capsules that an arm may have; with fewer, a workplace that fits is worth more than the time
MOST = 48  # that are left of more

NOT_HELD = "links that touch only because of that are not held apart from each other"


def reduced(capsules: list[LinkCapsule]) -> list[LinkCapsule]:
    """The capsules of an arm as they are, or `MOST` that hold them where there are more than `MANY`."""
    return merged(capsules, MOST) if len(capsules) > MANY else capsules


def merged(capsules: list[LinkCapsule], most: int) -> list[LinkCapsule]:
    """At most so many capsules that hold all of these, or one a link; in order, each named after its largest."""
    kept = dict(enumerate(capsules))
    tried = {(i, j): _about(kept[i], kept[j]) for i, j in combinations(kept, 2) if kept[i].link == kept[j].link}
    while len(kept) > most and tried:
        (i, j), (_, both) = min(tried.items(), key=lambda item: item[1][0])
        kept[i] = both
        del kept[j]
        tried = {pair: found for pair, found in tried.items() if i not in pair and j not in pair}
        for k, other in kept.items():
            if k != i and other.link == both.link:
                tried[min(i, k), max(i, k)] = _about(kept[min(i, k)], kept[max(i, k)])
    return list(kept.values())


def _about(x: LinkCapsule, y: LinkCapsule) -> tuple[float, LinkCapsule]:
    """What a capsule about both wastes, m^3, and that capsule."""
    ends = np.array([x.a, x.b, y.a, y.b])
    radii = np.array([x.radius, x.radius, y.radius, y.radius])
    axes = [*combinations(range(4), 2), *((k, k) for k in range(4))]
    found = []
    for p, q in axes:
        radius = float((distance_to_segment(ends, ends[p], ends[q]) + radii).max())
        found.append(Cover(ends[p], ends[q], radius))
    best = min(found, key=lambda cover: cover.volume)
    sizes = [Cover(np.array(c.a), np.array(c.b), c.radius).volume for c in (x, y)]
    larger = x if sizes[0] >= sizes[1] else y
    a, b = (tuple(end.tolist()) for end in (best.a, best.b))
    return best.volume - sum(sizes), dataclasses.replace(larger, a=a, b=b, radius=best.radius)
