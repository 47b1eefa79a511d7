"""What the thesis claims, as checks of our numbers: within its tolerances, and every result that it puts in words.

Numbers: least distances and differences within 15 % of the thesis', peak speeds within 25 %.  Words: one function a
claim, from the runs of one arm on one plant.  A check that is not met says so; nothing is left out for that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...cell.scene import PLANTS
from .experiment import ARM
from .outcome import IMPROVED, PRINTED, Outcome, Table, find
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


def counted(found: Iterable[Check]) -> tuple[int, int]:
    """How many results are met, and of how many; one that was looked at on several plants is met if it is on all."""
    plants = tuple(f" ({plant})" for plant in PLANTS)
    met: dict[tuple[int | None, str], bool] = {}
    for check in found:
        text = check.text
        for plant in plants:
            text = text.removesuffix(plant)
        met[check.test, text] = met.get((check.test, text), True) and check.met
    return sum(met.values()), len(met)


def _value(run: Outcome, name: str) -> float:
    """A number of a run; NaN, with which no comparison is met, for one that it does not have."""
    value = run.metrics.get(name)
    return float(value) if isinstance(value, int | float) else math.nan


def _ratio(a: float, b: float) -> float:
    return a / b if b else math.nan


def _filter(runs: Runs) -> Iterable[Check]:
    for wanted, without, what in (
        ("printed", "no_filter", "a sensor without error"),
        ("noise_filter", "noise_no_filter", "a sensor with 1 cm of noise"),
        ("confined_filter", "confined_no_filter", "confined between two people, no noise"),
    ):
        a, b = find(runs, 1, wanted), find(runs, 1, without)
        if a is not None and b is not None:
            jerk, raw = _value(a, "rms_jerk"), _value(b, "rms_jerk")
            value = f"RMS jerk {jerk:.2f} with it, {raw:.2f} m/s³ without: {_ratio(raw, jerk):.1f} times"
            yield Check(1, f"the moving average makes the motion smoother, {what}", value, "less with it", jerk < raw)
    calm, trembling = find(runs, 1, "confined_filter"), find(runs, 1, "confined_no_filter")
    if calm is not None and trembling is not None:
        left, raw = _value(calm, "vibration"), _value(trembling, "vibration")
        value = f"{left:.3f} with it, {raw:.3f} m/s above 2 Hz without"
        text = "the moving average takes out vibration in a confined space"
        yield Check(1, text, value, "half at most", left < 0.5 * raw)


def _returns(runs: Runs) -> Iterable[Check]:
    """Each time that the coworker is back where they began, the tool is back too."""
    for test in (1, 2, 3, 4):
        run = find(runs, test, "printed")
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
    one, two = find(runs, 1, "printed"), find(runs, 2, "printed")
    if one is None or two is None:
        return
    for name, what, unit in (("min_distance", "least distance", "m"), ("peak_x_speed", "peak speed", "m/s")):
        a, b = _value(one, name), _value(two, name)
        text = f"half the influence, a smaller {what}"
        yield Check(2, text, f"{b:.3f} against {a:.3f} {unit}", "less than in test 1", b < a)
    for variant, sensor in (("printed", "a sensor without error"), ("noise_filter", "a sensor with 1 cm of noise")):
        pair = find(runs, 1, variant), find(runs, 2, variant)
        if pair[0] is not None and pair[1] is not None:
            a, b = (_value(run, "rms_jerk") for run in pair if run is not None)
            value = f"RMS jerk {b:.2f} against {a:.2f} m/s³"
            yield Check(2, f"half the influence, a smoother velocity, {sensor}", value, "less than in test 1", b < a)


def _nearer(runs: Runs) -> Iterable[Check]:
    k, f = find(runs, 1, "printed"), find(runs, 4, "printed")
    if k is not None and f is not None:
        a, b = _value(k, "min_x_difference"), _value(f, "min_x_difference")
        yield Check(4, "F lets the coworker come nearer in x than K", f"{b:.3f} against {a:.3f} m", "less", b < a)


def _axis_one(runs: Runs) -> Iterable[Check]:
    run = find(runs, 3, "printed")
    travel = None if run is None else run.metrics.get("joint_travel")
    if isinstance(travel, list) and travel:
        share = _ratio(travel[0], sum(travel))
        next_share = _ratio(max(travel[1:], default=0.0), sum(travel))
        value = f"{100 * share:.0f} % of all joints' travel; the next joint {100 * next_share:.0f} %"
        yield Check(3, "mainly axis 1 moves", value, "more than half", share > 0.5)


def _light_joints(runs: Runs) -> Iterable[Check]:
    """F gives the highest rates to joints with little inertia: here joint 3, a fifth of what joints 1 and 2 carry."""
    k, f = find(runs, 1, "printed"), find(runs, 4, "printed")
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
    for variant in ("printed", "mended", "supervised"):
        run = find(runs, 5, variant)
        if run is not None:
            cycles, touches, ends = (run.metrics.get(name) for name in ("cycles", "contacts", "limit_hits"))
            value = f"{cycles} task cycles, {touches} contacts, {ends} joint ends hit"
            met = bool(cycles) and touches == 0
            text = f"the cell does its task without contact, {variant_words(variant)}"
            yield Check(5, text, value, "a task cycle at least, no contact", met)
    blind = find(runs, 5, "blind")
    if blind is not None:
        touches = blind.metrics.get("contacts")
        value, met = f"{touches} contacts", bool(touches)
        yield Check(5, "the same arm without avoidance touches the coworker", value, "one at least", met)


def variant_words(variant: str) -> str:
    """A variant as a reader calls it."""
    return {PRINTED: "as printed", IMPROVED: "as improved"}.get(variant, variant.replace("_", " "))


def _whole(runs: Runs) -> Iterable[Check]:
    """Joints and their ends, of every variant of a test: what hits one could not be done."""
    for test in range(1, 7):
        mine = [run for run in runs if run.test == test and "limit_hits" in run.metrics]
        bad = {variant_words(run.variant): run.metrics["limit_hits"] for run in mine if run.metrics["limit_hits"] != 0}
        if mine:
            value = ", ".join(f"{name}: {hits} times" for name, hits in bad.items()) or f"none of {len(mine)} runs"
            yield Check(test, "no joint runs into its end", value, "never, in any variant", not bad)


def _trapped(runs: Runs) -> Iterable[Check]:
    for variant in ("printed", "mended"):
        run = find(runs, 6, variant)
        if run is None:
            continue
        swing, frequency = _value(run, "oscillation_amplitude"), _value(run, "oscillation_frequency")
        off = _value(run, "goal_error")
        pace = "" if math.isnan(frequency) else f" at {frequency:.2f} Hz"
        value = f"{1000 * swing:.0f} mm about its mean{pace}, {off:.2f} m from the goal"
        ends = run.metrics.get("limit_hits") or 0
        value += f", {ends} joint ends hit" if ends else ""
        met = swing > 0.01 and run.metrics.get("reached") is False and not ends
        text = f"the plain field is trapped and swings along x, {variant_words(variant)}"
        yield Check(6, text, value, "more than 10 mm, goal not reached, no end hit", met)
    alone = find(runs, 6, "alone")
    if alone is not None:
        met = alone.metrics.get("reached") is True
        value = f"{_value(alone, 'goal_error'):.3f} m from it at the end"
        yield Check(6, "without the obstacle the tool gets to the same goal", value, "goal reached", met)


def _limit(runs: Runs) -> Iterable[Check]:
    for prefix, form in (("", "as printed"), ("mended_", "mended")):
        names = (f"{prefix}{name}" for name in ("weak_potential", "strong_potential", "scaling"))
        weak, strong, scaling = (find(runs, 7, name) for name in names)
        if weak is not None and strong is not None and scaling is not None:
            yield from _limit_kept(weak, strong, scaling, form)


def _limit_kept(weak: Outcome, strong: Outcome, scaling: Outcome, form: str) -> Iterable[Check]:
    """What is said of the three ways to keep joint 3 off its limit."""
    low, held, scaled = (_value(run, "min_joint3_deg") for run in (weak, strong, scaling))
    jerk, jolted = _value(scaling, "rms_jerk"), _value(strong, "rms_jerk")
    near, close = f"{LIMIT:g} to {LIMIT + NEAR_LIMIT:g}", LIMIT <= held <= LIMIT + NEAR_LIMIT
    rates = f"RMS jerk {jerk:.2f} against {jolted:.2f} m/s³"
    for text, value, wanted, is_met in (
        ("a weak potential fails", f"{low:.1f} degrees", f"below {LIMIT:g}", low < LIMIT),
        ("a strong potential holds close to the limit", f"{held:.1f} degrees", near, close),
        ("the scaling factor holds", f"{scaled:.1f} degrees (thesis: 12.4)", f"above {LIMIT:g}", scaled > LIMIT),
        ("it stays farther off than the strong potential", f"{scaled:.1f} against {held:.1f}°", "more", scaled > held),
        ("it is smoother than the strong potential", rates, "less", jerk < jolted),
    ):
        yield Check(7, f"{text}, {form}", value, wanted, is_met)


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
        pair = [find([run for run in runs if run.plant == plant], test, "printed") for plant in ("kinematic", "mujoco")]
        if pair[0] is not None and pair[1] is not None:
            gap = abs(_value(pair[0], "min_distance") - _value(pair[1], "min_distance"))
            value = f"{1000 * gap:.1f} mm apart"
            yield Check(test, "MuJoCo's least distance is the kinematic one", value, "within 50 mm", gap <= SAME)
    for test in range(1, 6):
        run = find([run for run in runs if run.plant == "mujoco"], test, "printed")
        if run is not None:
            touches = run.metrics.get("contacts")
            yield Check(test, "MuJoCo reports no contact", f"{touches} contacts", "none", touches == 0)


def _arms(runs: Runs) -> Iterable[Check]:
    """What elbowroom makes of the tests with other arms; as printed they are in the table, and nothing is claimed."""
    for run in (each for each in runs if each.supervised):
        touches, hits = run.metrics.get("contacts"), run.metrics.get("limit_hits")
        own, height = _value(run, "min_self_distance"), _value(run, "min_height")
        met = touches == 0 and hits == 0 and not own < 0 and not height < 0
        value = f"{touches} contacts, {hits} joint ends hit, {own:.2f} m from itself, {height:.2f} m above the floor"
        wanted = "no contact, no end hit, clear of itself and of the floor"
        yield Check(run.test, f"a motion that {run.robot} can make, {variant_words(run.variant)}", value, wanted, met)
