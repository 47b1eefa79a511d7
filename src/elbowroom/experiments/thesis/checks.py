"""What the thesis claims, as checks of our numbers: within its tolerances, and every result that it puts in words.

Numbers: least distances and differences within 15 % of the thesis', peak speeds within 25 %.  Words: one function a
claim, from the runs of one arm on one plant.  A check that is not met says so; nothing is left out for that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .experiment import ARM
from .outcome import Outcome, Table, find
from .texts import TOLERANCE

NEAR_LIMIT = 3.0  # degrees from the limit of 10 that still count as "close to" it
LIMIT = 10.0
BACK = 0.02  # m: a tool nearer to where it began is back
FAR = 1.5  # m: a coworker farther than this is away
SAME = 0.05  # m: how far MuJoCo's least distance may be from the kinematic one


@dataclass(frozen=True)
class Check:
    """A result that is said to hold: in words, what was found, what was wanted, and whether it does.

    `test` is None for what concerns more than one test.
    """

    test: int | None
    text: str
    value: str | float
    wanted: str
    met: bool


Runs = Sequence[Outcome]
Claim = Callable[[Runs], Iterable[Check]]


def checks(outcomes: Iterable[Outcome], robot: str) -> list[Check]:
    """The claims in words that these runs allow to be checked, plant by plant."""
    runs = list(outcomes)
    found: list[Check] = []
    for plant in dict.fromkeys(run.plant for run in runs if run.test is not None and run.robot == robot):
        here = [run for run in runs if run.test is not None and run.robot == robot and run.plant == plant]
        for check in (each for claim in CLAIMS for each in claim(here)):
            found.append(replace(check, text=f"{check.text} ({plant})"))
    found += _same_everywhere([run for run in runs if run.robot == robot])
    found += _arms([run for run in runs if run.test is not None and run.robot != robot])
    return sorted(found, key=lambda check: (check.test is None, check.test or 0))


def numbers(outcomes: Iterable[Outcome], robot: str) -> list[Check]:
    """The thesis' numbers that have a tolerance, beside those of every run with this arm."""
    found = []
    for run in outcomes:
        for name, wanted in run.thesis.items() if run.robot == robot else ():
            tolerance = TOLERANCE.get(name)
            if tolerance is None:
                continue
            value, words = _value(run, name), name.replace("_", " ")
            off = value / wanted - 1
            text = "there is none" if math.isnan(value) else f"{value:.3f}, {100 * off:+.0f} %"
            limit = f"{wanted:g} within {100 * tolerance:.0f} %"
            found.append(Check(run.test, f"{words} ({run.plant})", text, limit, abs(off) <= tolerance))
    return found


def _value(run: Outcome, name: str) -> float:
    """A number of a run; NaN, with which no comparison is met, for one that it does not have."""
    value = run.metrics.get(name)
    return float(value) if isinstance(value, int | float) else math.nan


def _ratio(a: float, b: float) -> float:
    return a / b if b else math.nan


def _filter(runs: Runs) -> Iterable[Check]:
    for wanted, without, what in (
        ("filter", "no_filter", "a sensor without error"),
        ("noise_filter", "noise_no_filter", "a sensor with 1 cm of noise"),
    ):
        a, b = find(runs, 1, wanted), find(runs, 1, without)
        if a is not None and b is not None:
            jerk, raw = _value(a, "rms_jerk"), _value(b, "rms_jerk")
            value = f"RMS jerk {jerk:.2f} with it, {raw:.2f} m/s³ without: {_ratio(raw, jerk):.1f} times"
            yield Check(1, f"the moving average makes the motion smoother, {what}", value, "less with it", jerk < raw)


def _returns(runs: Runs) -> Iterable[Check]:
    """Each time that the coworker is back where they began, the tool is back too."""
    for test in (1, 2, 3, 4):
        run = find(runs, test, "filter")
        if run is not None:
            away = _value(run, "return_error")
            for off in _far_away(run.table):
                away = max(away, off)
            value = f"{1000 * away:.0f} mm away at most"
            yield Check(test, "the tool comes back to rest each time", value, "20 mm", away < BACK)


def _far_away(table: Table) -> list[float]:
    """How far the tool is from its beginning whenever the coworker turns round far away."""
    if len(table.get("t", ())) < 3:
        return []
    far, tool = np.asarray(table["distance_axes"]), np.stack([table[f"tool_{k}"] for k in "xyz"], axis=1)
    peaks = np.flatnonzero((far[1:-1] > far[:-2]) & (far[1:-1] >= far[2:]) & (far[1:-1] > FAR)) + 1
    return [float(x) for x in np.linalg.norm(tool[peaks] - tool[0], axis=1)]


def _influence(runs: Runs) -> Iterable[Check]:
    one, two = find(runs, 1, "filter"), find(runs, 2, "filter")
    if one is None or two is None:
        return
    for name, what, unit in (
        ("min_distance", "a smaller least distance", "m"),
        ("peak_x_speed", "a smaller peak speed", "m/s"),
        ("rms_jerk", "a smoother velocity", "m/s³ RMS jerk"),
    ):
        a, b = _value(one, name), _value(two, name)
        yield Check(2, f"half the influence, {what}", f"{b:.3f} against {a:.3f} {unit}", "less than in test 1", b < a)


def _nearer(runs: Runs) -> Iterable[Check]:
    k, f = find(runs, 1, "filter"), find(runs, 4, "filter")
    if k is not None and f is not None:
        a, b = _value(k, "min_x_difference"), _value(f, "min_x_difference")
        yield Check(4, "F lets the coworker come nearer in x than K", f"{b:.3f} against {a:.3f} m", "less", b < a)


def _axis_one(runs: Runs) -> Iterable[Check]:
    run = find(runs, 3, "filter")
    travel = None if run is None else run.metrics.get("joint_travel")
    if isinstance(travel, list) and travel:
        share = _ratio(travel[0], sum(travel))
        value = f"{100 * share:.0f} % of all joints' travel"
        yield Check(
            3, "mainly axis 1 moves", value, "more than any other joint", travel[0] > max(travel[1:], default=0.0)
        )


def _light_joints(runs: Runs) -> Iterable[Check]:
    """F gives the highest rates to joints with little inertia: here joint 3, a fifth of what joints 1 and 2 carry."""
    k, f = find(runs, 1, "filter"), find(runs, 4, "filter")
    if k is None or f is None or k.robot != ARM:
        return
    found = [run.metrics.get("peak_joint_speeds") for run in (k, f)]
    speeds = [speed for speed in found if isinstance(speed, list) and len(speed) > 2]
    if len(speeds) < 2:
        return
    a, b = (_ratio(2.0 * speed[2], speed[0] + speed[1]) for speed in speeds)
    value = f"peak speed of joint 3 is {b:.2f} times that of joints 1 and 2 under F, {a:.2f} under K"
    yield Check(4, "joints with low inertia move faster", value, "more than under K", b > a)


def _cell(runs: Runs) -> Iterable[Check]:
    run, blind = find(runs, 5, "filter"), find(runs, 5, "blind")
    if run is not None:
        cycles, touches = run.metrics.get("cycles"), run.metrics.get("contacts")
        value, wanted = f"{cycles} task cycles, {touches} contacts", "a task cycle at least, no contact"
        yield Check(5, "the cell does its task without contact", value, wanted, bool(cycles) and touches == 0)
    if blind is not None:
        touches = blind.metrics.get("contacts")
        value, met = f"{touches} contacts", bool(touches)
        yield Check(5, "the same arm without avoidance touches the coworker", value, "one at least", met)


def _whole(runs: Runs) -> Iterable[Check]:
    for test in range(1, 6):
        run = find(runs, test, "filter")
        if run is not None and "limit_hits" in run.metrics:
            hits = run.metrics["limit_hits"]
            yield Check(test, "no joint runs into its end", f"{hits} times", "never", hits == 0)


def _trapped(runs: Runs) -> Iterable[Check]:
    run = find(runs, 6, "filter")
    if run is not None:
        swing, frequency = _value(run, "oscillation_amplitude"), _value(run, "oscillation_frequency")
        off = _value(run, "goal_error")
        pace = "" if math.isnan(frequency) else f" at {frequency:.2f} Hz"
        value = f"{1000 * swing:.0f} mm about its mean{pace}, {off:.2f} m from the goal"
        met = swing > 0.01 and run.metrics.get("reached") is False
        yield Check(6, "the plain field is trapped and swings along x", value, "more than 10 mm, goal not reached", met)
    alone = find(runs, 6, "alone")
    if alone is not None:
        met = alone.metrics.get("reached") is True
        value = f"{_value(alone, 'goal_error'):.3f} m from it at the end"
        yield Check(6, "without the obstacle the tool gets to the same goal", value, "goal reached", met)


def _limit(runs: Runs) -> Iterable[Check]:
    weak, strong, scaling = (find(runs, 7, name) for name in ("weak_potential", "strong_potential", "scaling"))
    if weak is None or strong is None or scaling is None:
        return
    low, held, scaled = (_value(run, "min_joint3_deg") for run in (weak, strong, scaling))
    yield Check(7, "a weak potential fails", f"{low:.1f} degrees", f"below {LIMIT:g}", low < LIMIT)
    close = LIMIT <= held <= LIMIT + NEAR_LIMIT
    yield Check(
        7,
        "a strong potential holds close to the limit",
        f"{held:.1f} degrees",
        f"{LIMIT:g} to {LIMIT + NEAR_LIMIT:g}",
        close,
    )
    yield Check(
        7, "the scaling factor holds", f"{scaled:.1f} degrees (thesis: 12.4)", f"above {LIMIT:g}", scaled > LIMIT
    )
    value = f"{scaled:.1f} against {held:.1f} degrees"
    yield Check(7, "and stays farther from the limit than the strong potential", value, "more", scaled > held)
    a, b = _value(scaling, "rms_jerk"), _value(strong, "rms_jerk")
    value = f"RMS jerk {a:.2f} against {b:.2f} m/s³"
    yield Check(7, "and is smoother than the strong potential", value, "less", a < b)


CLAIMS: tuple[Claim, ...] = (
    _filter,
    _returns,
    _influence,
    _axis_one,
    _light_joints,
    _nearer,
    _cell,
    _whole,
    _trapped,
    _limit,
)


COMPARED = {
    2: (1, "whether half the influence gives a smaller distance, a smaller speed and a smoother velocity than test 1"),
    4: (1, "whether under F the coworker comes nearer, and light joints move faster, than under K in test 1"),
}
"""Tests whose results are said in comparison with another: that one, and what is said."""


def unjudged(outcomes: Iterable[Outcome]) -> dict[int, str]:
    """Test -> what is said about it that these runs cannot judge, since the test that it is compared with is not there.

    The other way round it is no loss: test 1 says nothing about test 2.
    """
    there = {run.test for run in outcomes}
    return {
        test: f"test {other} was not run, so it is not judged {words}; `elbowroom experiment {other},{test}` runs both"
        for test, (other, words) in COMPARED.items()
        if test in there and other not in there
    }


def _same_everywhere(runs: Runs) -> Iterable[Check]:
    """MuJoCo beside the kinematic plant in tests 1 to 4, and no contact in tests 1 to 5."""
    for test in (1, 2, 3, 4):
        pair = [find([run for run in runs if run.plant == plant], test, "filter") for plant in ("kinematic", "mujoco")]
        if pair[0] is not None and pair[1] is not None:
            gap = abs(_value(pair[0], "min_distance") - _value(pair[1], "min_distance"))
            value = f"{1000 * gap:.1f} mm apart"
            yield Check(test, "MuJoCo's least distance is the kinematic one", value, "within 50 mm", gap <= SAME)
    for test in range(1, 6):
        run = find([run for run in runs if run.plant == "mujoco"], test, "filter")
        if run is not None:
            touches = run.metrics.get("contacts")
            yield Check(test, "MuJoCo reports no contact", f"{touches} contacts", "none", touches == 0)


def _arms(runs: Runs) -> Iterable[Check]:
    for run in runs:
        touches, hits = run.metrics.get("contacts"), run.metrics.get("limit_hits")
        own, height = _value(run, "min_self_distance"), _value(run, "min_height")
        met = touches == 0 and hits == 0 and not own < 0 and not height < 0
        value = f"{touches} contacts, {hits} joint ends hit, {own:.2f} m from itself, {height:.2f} m above the floor"
        wanted = "no contact, no end hit, clear of itself and of the floor"
        yield Check(run.test, f"a motion that {run.robot} can make", value, wanted, met)
