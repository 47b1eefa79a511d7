"""Arms with very many capsules: some become one about both."""

from __future__ import annotations

import numpy as np
import pytest

from elbowroom.errors import ModelNotice
from elbowroom.model import LinkCapsule, urdf
from elbowroom.model.capsules import MANY, MOST, NOT_HELD, distance_to_segment, merged, reduced


def crowd(count, seed=0, links=3):
    """So many capsules on some links."""
    rng = np.random.default_rng(seed)
    ends = rng.uniform(-0.5, 0.5, (count, 2, 3))
    return [
        LinkCapsule(f"c{k}", k % links, tuple(a), tuple(a + 0.3 * (b - a)), float(rng.uniform(0.005, 0.05)))
        for k, (a, b) in enumerate(ends)
    ]


@pytest.mark.parametrize("seed", range(3))
def test_every_capsule_lies_within_one_of_its_link(seed):
    """Both ends with their balls lie within one capsule, which is convex, so all of it does."""
    capsules = crowd(60, seed)
    few = merged(capsules, 20)
    assert len(few) == 20
    for old in capsules:
        ends = np.array([old.a, old.b])
        inside = [
            (distance_to_segment(ends, np.array(new.a), np.array(new.b)) + old.radius <= new.radius + 1e-12).all()
            for new in few
            if new.link == old.link
        ]
        assert any(inside), old
    assert len({new.name for new in few}) == 20
    assert {new.name for new in few} <= {old.name for old in capsules}


def test_what_costs_least_is_merged_first_and_links_never_are():
    """Two rods side by side become one before one far away does; a link keeps a capsule of its own."""
    near = [LinkCapsule(f"rod{k}", 0, (0, 0.01 * k, 0), (0.3, 0.01 * k, 0), 0.02) for k in range(2)]
    far = LinkCapsule("far", 0, (0, 2.0, 0), (0.3, 2.0, 0), 0.03)
    other = LinkCapsule("other", 1, (0, 0, 0), (0.3, 0, 0), 0.02)
    assert {c.name for c in merged([*near, far, other], 3)} in ({"rod0", "far", "other"}, {"rod1", "far", "other"})
    assert sorted(c.link for c in merged([*near, far, other], 1)) == [0, 1]


def test_few_capsules_are_left_as_they_are():
    capsules = crowd(MANY)
    assert reduced(capsules) is capsules
    assert merged(capsules, MANY) == capsules
    assert len(reduced(crowd(MANY + 1))) == MOST


def test_a_file_with_very_many_shapes_says_that_they_were_merged():
    ball = '<collision><origin xyz="{} 0 0"/><geometry><sphere radius="0.02"/></geometry></collision>'
    balls = "".join(ball.format(0.01 * k) for k in range(MANY + 5))
    text = f"""<robot name="hedgehog"><link name="base"/><link name="arm">{balls}</link>
        <joint name="turn" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint>
        </robot>"""
    with pytest.warns(
        ModelNotice, match=f"hedgehog: {MANY + 5} capsules were merged into {MOST} that hold them; {NOT_HELD}"
    ):
        assert len(urdf.parse(text).capsules) == MOST
