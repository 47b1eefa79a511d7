"""Repulsion: the printed profiles, what approach and parting do, finite everywhere, traced with runtime gains."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lifting import four_ways

import elbowroom as er
from elbowroom.avoidance import Config, Controller, Goal, State, dumps
from elbowroom.avoidance.control import repulsion
from elbowroom.avoidance.control.repulsion import FORMS, PROFILES, Repulsion, bounded, demand, strength
from elbowroom.errors import ConfigError
from elbowroom.geometry import Capsule

FAR = 1.0e6  # a parked obstacle
PRINTED = {
    "inverse": lambda k, d, d0: k * (1 / d - 1 / d0),  # (3.44)
    "linear": lambda k, d, d0: k * (1 - d / d0),  # (3.45)
    "cosine": lambda k, d, d0: k / 2 * (1 + math.cos(math.pi * d / d0)),
    "power5": lambda k, d, d0: k * ((d0 / d) ** 5 - 1),  # (3.46)
}
distances = st.floats(-2.0, 3.0)
speeds = st.floats(-3.0, 3.0)
fields = st.builds(
    Repulsion,
    profile=st.sampled_from(sorted(PROFILES)),
    gain=st.floats(0.01, 10.0),
    influence=st.floats(0.1, 1.0),
    floor=st.floats(0.001, 0.09),
    max_strength=st.floats(0.1, 100.0),
    lookahead=st.floats(0.0, 1.0),
    ease=st.floats(0.0, 1.0),
    parting_speed=st.floats(0.01, 1.0),
)


def test_every_profile_is_held_against_its_printed_form():
    assert set(PROFILES) == set(PRINTED)


@pytest.mark.parametrize("profile", PROFILES)
def test_the_printed_profile_inside_the_influence(profile):
    field = Repulsion.thesis(0.3, 0.8, profile=profile, max_strength=1e9)
    for d in (0.02, 0.2, 0.4, 0.7999):
        # (d0/d)^5 is 1e8 at most and loses eight digits to the 1
        assert demand(field, d, 0.5) == pytest.approx(PRINTED[profile](0.3, d, 0.8), rel=1e-12, abs=1e-12)


def test_normalised_values_of_figure_3_14():
    """At half the influence, gain 1 and d0 = 1."""
    expected = {"inverse": 1.0, "linear": 0.5, "cosine": 0.5, "power5": 31.0}
    for profile, value in expected.items():
        field = Repulsion.thesis(1.0, 1.0, profile=profile, max_strength=100.0)
        assert demand(field, 0.5, 0.0) == pytest.approx(value, rel=1e-14)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("most", [0.1, 2.8])
def test_the_printed_form_is_the_profile_and_the_mended_one_is_bent(profile, most):
    printed = Repulsion(profile, 0.4, 1.0, form="printed", max_strength=most, lookahead=0.0, ease=0.0)
    mended = dataclasses.replace(printed, form="mended")
    assert Repulsion().form == "mended"
    assert Repulsion.thesis(0.4, 1.0).form == "printed"
    for d in (0.05, 0.3, 0.7, 0.99):
        asked = demand(printed, d, 0.0)
        assert strength(printed, d, 0.0) == asked  # whatever max_strength is
        assert asked == pytest.approx(PRINTED[profile](0.4, d, 1.0), rel=1e-12, abs=1e-12)
        assert strength(mended, d, 0.0) == pytest.approx(asked * most / (asked + most), rel=1e-14)
        assert strength(mended, d, 0.0) < asked
    assert strength(printed, 0.005, 0.0) == strength(printed, printed.floor, 0.0)  # finite in contact all the same
    assert strength(printed, 1.0, 0.0) == strength(mended, 1.0, 0.0) == 0.0


@pytest.mark.parametrize("form", FORMS)
def test_the_forms_four_ways(form):
    field = Repulsion(gain=0.4, influence=0.7, form=form, max_strength=2.8)
    for distance in (-0.1, 0.02, 0.4, 0.7, FAR):
        four_ways(strength, field, distance=distance, closing=0.1)


@given(fields, distances, speeds)
def test_finite_never_negative_never_above_the_most(field, distance, closing):
    f = strength(field, distance, closing)
    assert np.isfinite(f)
    assert 0.0 <= f <= field.max_strength


@given(fields, speeds)
def test_zero_at_and_beyond_the_grown_influence_and_continuous_there(field, closing):
    edge = repulsion.reach(field, closing)
    assert edge == pytest.approx(field.influence + field.lookahead * max(0.0, closing))
    for distance in (edge, edge + 1e-9, edge + 1.0, FAR):
        assert strength(field, distance, closing) == 0.0
    # slopes at the edge are 5 k / d0 (power 5) and k / d0^2 (inverse) at most; d0 itself is rounded
    steepest = max(5 / edge, 1 / edge**2) * field.gain
    assert strength(field, edge - 1e-9, closing) <= 1.1 * steepest * 1e-9


@given(fields, distances, distances, speeds)
def test_nearer_pushes_no_less(field, a, b, closing):
    # eased and held alike; rounding of the profile
    assert strength(field, min(a, b), closing) >= strength(field, max(a, b), closing) * (1 - 1e-12)


@given(fields, distances, speeds, speeds)
def test_faster_approach_pushes_no_less_and_parting_no_more(field, distance, a, b):
    assert strength(field, distance, max(a, b)) >= strength(field, distance, min(a, b)) * (1 - 1e-12)


@given(fields, distances, speeds, st.floats(-1e-9, 1e-9))
def test_continuous_in_the_closing_speed(field, distance, closing, step):
    """Slopes: reach moves at 1 s at most, where 5 k d0^4 / d^5 counts only below max_strength; easing 1 / 0.01 m/s."""
    steepest = 6 * (field.gain + field.max_strength) / field.floor + field.max_strength / field.parting_speed
    jump = abs(strength(field, distance, closing + step) - strength(field, distance, closing))
    assert jump <= steepest * abs(step) + 1e-10


def test_contact_and_penetration_push_as_hard_as_the_floor():
    field = Repulsion(profile="linear", gain=0.4, influence=0.5, floor=0.05)
    at_floor = strength(field, 0.05, 0.0)
    assert at_floor == pytest.approx(0.36 / 1.36)  # f F / (f + F) with F = 1
    for distance in (0.049, 0.0, -0.3, -5.0):
        assert strength(field, distance, 0.0) == at_floor


def test_approach_is_felt_from_farther_away():
    field = Repulsion(profile="linear", gain=1.0, influence=0.5, lookahead=0.2)
    assert strength(field, 0.55, 0.0) == 0.0
    assert strength(field, 0.55, 0.25) == 0.0  # 0.5 + 0.2 * 0.25 is the edge itself
    assert demand(field, 0.55, 1.0) == pytest.approx(1 - 0.55 / 0.7)


def test_parting_eases_up_to_its_speed_and_no_further():
    field = Repulsion(profile="linear", gain=1.0, influence=0.5, ease=0.5, parting_speed=0.25)
    full = demand(field, 0.25, 0.0)
    assert full == pytest.approx(0.5)
    assert demand(field, 0.25, -0.125) == pytest.approx(0.75 * full)
    assert demand(field, 0.25, -0.25) == pytest.approx(0.5 * full)
    assert demand(field, 0.25, -9.0) == pytest.approx(0.5 * full)


def test_easing_hardly_touches_a_deep_push():
    """Bounded after easing: so close that half the demand is still far above the most, parting changes little."""
    field = Repulsion(profile="power5", gain=0.1, influence=0.5, max_strength=1.0, ease=0.5)
    half = 0.5 * 0.1 * (10.0**5 - 1.0)  # what (3.46) asks for at a tenth of the influence, eased by all of `ease`
    assert strength(field, 0.05, -1.0) == pytest.approx(half / (half + 1.0), rel=1e-12)


@given(fields, st.floats(0.0, 1e6), st.floats(0.0, 1e6))
def test_bounded_keeps_the_order(field, a, b):
    """Who asks for more gets more (a clamp would make them equal), less than asked and less than the most."""
    low, high = sorted((a, b))
    assert bounded(field, low) <= bounded(field, high) <= min(high, field.max_strength)
    if high > low * (1 + 1e-6) and high < 1e3 * field.max_strength:  # beyond, rounding swallows the difference
        assert bounded(field, low) < bounded(field, high)


@given(st.floats(0.01, 5.0), st.floats(0.0, 0.45), st.floats(0.05, 1.0))
def test_easing_below_a_half_settles(push, ease, parting_speed):
    """An arm that parts at the speed of its last push: the loop contracts by ease / (1 - ease) a cycle at least."""
    field = Repulsion(
        profile="linear", gain=2 * push, influence=0.5, max_strength=10.0, ease=ease, parting_speed=parting_speed
    )
    speed = 0.0
    for _ in range(300):  # 0.82^300 is nothing
        last, speed = speed, float(strength(field, 0.25, -speed))
    assert speed == pytest.approx(last, rel=1e-9)


def test_the_thesis_is_deaf_to_velocities():
    field = Repulsion.thesis(0.1, 1.0)
    assert (field.profile, field.measure) == ("power5", "axis")
    assert {float(strength(field, 0.8, c)) for c in (-2.0, 0.0, 2.0)} == {float(strength(field, 0.8, 0.0))}
    assert Repulsion().lookahead > 0
    assert Repulsion().ease > 0


@pytest.mark.parametrize("profile", PROFILES)
def test_four_ways(profile):
    field = Repulsion(profile=profile, gain=0.3, max_strength=5.0)
    for distance in (-0.2, 0.0, 0.01, 0.3, 0.4999, 0.5, 0.55, FAR):
        for closing in (-1.0, -0.1, 0.0, 0.5):
            found = four_ways(strength, field, distance=distance, closing=closing)
            assert np.isfinite(found).all()


def test_arrays_of_pairs_at_once():
    field = Repulsion()
    d, c = np.meshgrid(np.linspace(-0.1, 0.7, 9), np.linspace(-1, 1, 5))
    assert np.array_equal(strength(field, d, c), np.vectorize(lambda x, y: float(strength(field, x, y)))(d, c))


@pytest.mark.parametrize(
    "wrong",
    [
        {"profile": "gaussian"},
        {"measure": "centre"},
        {"form": "bent"},
        {"gain": -1.0},
        {"gain": 0.0},
        {"gain": math.nan},
        {"gain": True},
        {"gain": "0.1"},
        {"influence": 0.0},
        {"influence": -0.5},
        {"influence": 500.0},  # millimetres
        {"floor": 0.0},
        {"floor": 0.6},
        {"max_strength": math.inf},
        {"lookahead": -0.1},
        {"lookahead": 200.0},  # milliseconds
        {"ease": 1.1},
        {"parting_speed": 0.0},
    ],
    ids=str,
)
def test_bad_settings_are_refused_by_name(wrong):
    with pytest.raises(ConfigError, match=f"^Repulsion: {next(iter(wrong))}: expected .*; got "):
        Repulsion(**wrong)


def test_a_whole_number_is_taken_as_a_float():
    assert type(Repulsion(gain=1).gain) is float


def parabola(gain, distance, influence):
    """k (1 - d/d0)^2."""
    return gain * (1.0 - distance / influence) ** 2


def test_a_profile_may_be_a_function_of_one_s_own():
    field = Repulsion(profile=parabola, gain=0.5, influence=0.5, max_strength=1e9, lookahead=0.0, ease=0.0)
    assert demand(field, 0.2, 0.0) == pytest.approx(0.5 * 0.36)
    assert demand(field, 0.5, 0.0) == 0.0
    with pytest.raises(ConfigError, match="profile: 'parabola' is a function, which no file can hold"):
        dumps(field)


def test_controllers_with_different_profiles_of_one_s_own_are_different_programs():
    arm = er.load("planar2")
    pushes = []
    for profile in (parabola, lambda gain, distance, influence: gain * (1.0 - distance / influence)):
        config = Config(repulsion=Repulsion(profile=profile, gain=0.5, influence=0.5))
        controller = Controller(arm, config, people=1, person_capsules=1)
        people, state = controller.obstacles(), State(arm.ready)
        tool = arm.pose(arm.ready)[:3, 3]
        people.see(np.array([Capsule(tool - (-0.3, 0, 0.5), tool - (-0.3, 0, -0.5), 0.05).row()]), 0.0)
        pushes.append(controller.step(0.0, 0.001, state, people, Goal(tool)).qd.copy())
    assert np.abs(pushes[0] - pushes[1]).max() > 1e-3
    with pytest.raises(ConfigError, match="tune changes gains alone"):
        controller.tune(Config(repulsion=Repulsion(profile=parabola, gain=0.5, influence=0.5)))


@pytest.mark.parametrize(
    "profile, said",
    [
        (lambda gain, distance, influence: gain, "zero at the influence, where it gives 0.1 m/s"),
        (lambda gain, distance, influence: distance - influence, "finite strengths of 0 or more inside the influence"),
        (lambda gain, distance, influence: math.nan, "finite strengths of 0 or more"),
        (lambda gain: gain, r"a function \(gain, distance, influence\); it says"),
        (object, r"a function \(gain, distance, influence\); it says"),
        (
            lambda gain, d, d0: gain * (d0 - d) if d < d0 else 0.0,
            "over any scalar; with symbols it says .* no truth value",
        ),
        (lambda gain, d, d0: gain * np.log(d0 / d), "over any scalar; with symbols it says .* no callable log"),
    ],
    ids=["a jump", "negative", "not a number", "one argument", "a class", "an if", "a function of NumPy"],
)
def test_a_profile_that_is_no_field_is_refused(profile, said):
    with pytest.raises(ConfigError, match=said):
        Repulsion(profile=profile)
