"""The momentum observer: its terms against the registry, its filter in closed form, thresholds, links, bad input."""

from __future__ import annotations

import copy
import dataclasses
import importlib.metadata
import math
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import elbowroom as er
from elbowroom.avoidance import Contact, State
from elbowroom.avoidance.safety.momentum_observer import MomentumObserver
from elbowroom.cell.plants.mujoco import MuJoCo
from elbowroom.cell.plants.plant import heavier
from elbowroom.dynamics.momentum import link_momenta
from elbowroom.errors import ConfigError, ShapeError
from foreign import ARMS
from strategies import examples, robots

EXACT = Contact(mass_error=0.0, friction_error=0.0, torque_noise=0.0, force_noise=0.0, speed_noise=0.0)


def slider():
    """A random chain of six joints, two of them prismatic, with rotors and friction."""
    model = er.chains.random(6, seed=4, kinds="RPRRPR").model
    n = np.arange(1.0, 7.0)
    return er.Arm(dataclasses.replace(model, rotor_inertia=0.1 * n, viscous=0.3 * n, coulomb=0.2 * n))


def waving(arm, t, size=0.4):
    """q, qd, qdd (n,) of a smooth motion about where the arm rests."""
    w = 2.0 + 0.3 * np.arange(arm.n)
    phase = np.arange(arm.n)
    q = arm.ready + size * np.sin(w * t + phase)
    return q, size * w * np.cos(w * t + phase), -size * w**2 * np.sin(w * t + phase)


GAUSS = [(0.5 - math.sqrt(0.15), 5 / 18), (0.5, 4 / 9), (0.5 + math.sqrt(0.15), 5 / 18)]  # of order 6


def mean_torque(arm, t, h, motion=waving):
    """The mean of the torque that the motion takes from t - h to t."""
    return sum(w * arm.inverse_dynamics(*motion(arm, t - h + x * h)) for x, w in GAUSS)


def followed(arm, observer, cycles, h, push=None, actual=None, motion=waving):
    """Readings of a motion that takes the torques of the `actual` arm less what pushes; observer after each."""
    for k in range(cycles + 1):
        t = k * h
        tau = mean_torque(arm if actual is None else actual, t, h, motion)
        observer.look(t, *motion(arm, t)[:2], tau - (0.0 if push is None else push))
        yield t


# ---- the terms
@given(robots(), st.integers(0, 2**32 - 1))
@examples(60)
def test_links_sum_to_the_momentum_and_its_rest(model, seed):
    """p = M qd and b = C^T qd - g of the registry's kernels, which have other formulations."""
    arm, rng = er.Arm(model), np.random.default_rng(seed)
    q, qd = rng.uniform(-2, 2, arm.n), rng.normal(size=arm.n)
    found = link_momenta(model, q, qd)
    known = arm.compile(("mass_matrix", "coriolis_transpose_qd", "gravity_torque"))(q, qd)
    scale = 1.0 + np.abs(found.momentum).sum() + np.abs(found.rest).sum()  # rounding of sums of so large terms
    rigid = known.mass_matrix - np.diag(model.rotor_inertia)
    assert np.allclose(found.momentum.sum(axis=0), rigid @ qd, rtol=0, atol=1e-13 * scale)
    b = known.coriolis_transpose_qd - known.gravity_torque
    assert np.allclose(found.rest.sum(axis=0), b, rtol=0, atol=1e-13 * scale)
    assert not np.triu(found.momentum, 1).any()  # no joint beyond a link feels it
    assert not np.triu(found.rest, 1).any()


@pytest.mark.parametrize("name", ["panda", "slider"])
def test_a_links_share_is_that_of_an_arm_with_this_link_alone(name):
    arm = slider() if name == "slider" else er.load(name)
    q, qd, _ = waving(arm, 0.3)
    found = link_momenta(arm.model, q, qd)
    for i in range(arm.n):
        alone = np.arange(arm.n) == i
        model = dataclasses.replace(
            arm.model, mass=arm.model.mass * alone, inertia=arm.model.inertia * alone[:, None, None]
        )
        other = link_momenta(model, q, qd)
        assert np.allclose(found.momentum[i], other.momentum.sum(axis=0), rtol=0, atol=1e-12)
        assert np.allclose(found.rest[i], other.rest.sum(axis=0), rtol=0, atol=1e-12)


# ---- the filter
@pytest.mark.parametrize("name", ["panda", "ur5e", "slider"])
@pytest.mark.parametrize("h", [0.001, 0.004])
def test_a_constant_push_is_found_as_the_filter_says(name, h):
    """r = (1 - e^(-K t)) tau_e at every reading, moving, with friction, rotors and prismatic joints; and no
    acceleration was given.  What is left is the trapezoid of b and f, h^2 / 12 of their curvature."""
    arm = slider() if name == "slider" else er.load(name)
    if name == "slider":  # a joint that turns round has no friction to know: dry friction has a test of its own
        arm = er.Arm(dataclasses.replace(arm.model, coulomb=np.zeros(arm.n)))
    push = np.linspace(-8.0, 8.0, arm.n)
    observer = MomentumObserver(arm, EXACT)
    curvature = np.zeros(arm.n)
    for t in followed(arm, observer, 200, h, push):
        wanted = push * -math.expm1(-EXACT.gain * t)
        b = [
            arm.coriolis_transpose_qd(*waving(arm, t + x)[:2]) - arm.gravity_torque(waving(arm, t + x)[0])
            for x in (-1e-3, 0.0, 1e-3)
        ]
        viscous = arm.model.viscous * (2.0 + 0.3 * arm.n) ** 2 * np.abs(waving(arm, t)[1]).max()
        curvature = np.maximum(curvature, np.abs(b[0] - 2.0 * b[1] + b[2]) / 1e-6 + viscous)
        assert (np.abs(observer.residual - wanted) <= 1e-9 + h * h / 12.0 * 1.5 * curvature).all()
    assert np.abs(observer.residual - push).max() < 0.02


def test_readings_may_come_at_any_time():
    """Jitter, a repeated stamp and a lost reading: the residual is the same filter's."""
    arm = er.load("panda")
    push, observer = np.linspace(-8.0, 8.0, arm.n), MomentumObserver(arm, EXACT)
    rng, t = np.random.default_rng(0), 0.0
    observer.look(0.0, *waving(arm, 0.0)[:2], np.zeros(arm.n))
    for _ in range(60):
        h = 0.001 * rng.choice([0.7, 1.0, 1.3, 4.0])
        t += h
        for _ in range(2):
            observer.look(t, *waving(arm, t)[:2], mean_torque(arm, t, h) - push)
        assert np.allclose(observer.residual, push * -math.expm1(-EXACT.gain * t), rtol=0, atol=2e-3)


def test_nothing_is_felt_of_a_motion_alone():
    arm = er.load("puma560")  # heavy, with rotors
    arm = er.Arm(dataclasses.replace(arm.model, coulomb=np.zeros(arm.n)))
    observer = MomentumObserver(arm, EXACT)
    assert max(float(np.abs(observer.residual).max()) for _ in followed(arm, observer, 300, 0.001)) < 1e-2


def test_torques_behind_the_gears_have_neither_rotors_nor_friction():
    arm = slider()
    observer = MomentumObserver(arm, dataclasses.replace(EXACT, measured="link"))
    zeros = np.zeros(arm.n)
    bare = er.Arm(dataclasses.replace(arm.model, rotor_inertia=zeros, viscous=zeros, coulomb=zeros))
    push = np.linspace(-8.0, 8.0, arm.n)
    for _ in followed(arm, observer, 200, 0.001, push, actual=bare):
        pass
    assert np.allclose(observer.residual, push, rtol=0, atol=2e-3)


# ---- another engine
def pushed(arm, link, force, *, h=0.002):
    """Readings of an arm that MuJoCo's drive holds while a force (3,) pushes a link: the residual and J^T F, which has
    gone through the same filter, at the end of 0.4 s, and the greatest difference of the two.  Some arms are too weak
    to stand: they give way while their wrist turns."""
    plant = MuJoCo(arm, 0, adjust=True)
    data, body = plant.data, plant.model.body(arm.model.link_names[link]).id
    observer, state = MomentumObserver(arm, EXACT), State(arm.ready)
    observer.look(0.0, arm.ready, np.zeros(arm.n), np.zeros(arm.n))
    data.xfrc_applied[body, :3] = force  # at the engine's centre of mass, as the exporter shares masses out
    at = data.xmat[body].reshape(3, 3).T @ (data.xipos[body] - data.xpos[body])
    wanted, a, worst = np.zeros(arm.n), math.exp(-EXACT.gain * h), 0.0
    before = arm.jacobian(arm.ready, link=link, point=at).Jv.T @ force
    for _ in range(200):
        plant.advance(h)
        plant.read(state)
        observer.look(state.t, state.q, state.qd, state.tau)
        now = arm.jacobian(state.q, link=link, point=at).Jv.T @ force
        wanted, before = a * wanted + (1.0 - a) * 0.5 * (before + now), now
        worst = max(worst, float(np.abs(observer.residual - wanted).max()))
    return observer.residual, wanted, worst


FORCE = np.array([6.0, -9.0, 14.0])


def free(arm):
    """Without dry friction, which would hold a part of the push, and as strong as it takes."""
    return er.Arm(dataclasses.replace(arm.model, coulomb=np.zeros(arm.n), effort=np.full(arm.n, math.inf)))


@pytest.mark.parametrize("name", ["panda", "ur5e", "iiwa14", "slider"])
def test_it_is_the_transposed_jacobian_times_the_force_in_mujoco(name):
    arm = free(slider() if name == "slider" else er.load(name))
    for link in (arm.n - 1, arm.n // 2):
        residual, wanted, worst = pushed(arm, link, FORCE)
        assert np.abs(wanted).max() > 1.0
        assert np.allclose(residual, wanted, rtol=0, atol=1e-3)  # of 20: Euler's steps of 1 ms in the engine
        # while the arm starts with a jerk; a random chain has tensors that the engine takes no body to have
        assert worst < 0.01 or name == "slider"
        assert np.abs(residual[link + 1 :]).max(initial=0.0) < 1e-3  # no joint beyond it feels it


@pytest.mark.parametrize("name", ["xarm7", "z1"])
def test_the_same_for_files_of_others(name):
    try:
        path = ARMS[name].path
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("needs robot descriptions: pip install '.[foreign]'")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what its description lacks is not the matter here
        arm = free(er.load(path, tip=ARMS[name].tip))
    residual, wanted, _ = pushed(arm, arm.n - 1, FORCE)
    assert np.abs(wanted).max() > 1.0
    assert np.allclose(residual, wanted, rtol=0, atol=1e-3)


# ---- thresholds
@given(st.integers(0, 2**32 - 1), st.sampled_from(["panda", "ur5e", "slider"]))
@examples(20)
def test_masses_wrong_by_as_much_as_is_allowed_are_no_contact(seed, name):
    """Any signs and sizes up to mass_error, moving briskly, without a noise to hide behind."""
    arm = slider() if name == "slider" else er.load(name)
    arm = er.Arm(dataclasses.replace(arm.model, coulomb=np.zeros(arm.n)))
    wrong = np.random.default_rng(seed).uniform(-0.1, 0.1, arm.n)
    observer = MomentumObserver(arm, dataclasses.replace(EXACT, mass_error=0.1))
    for _ in followed(arm, observer, 60, 0.005, actual=heavier(arm, wrong)):
        assert (np.abs(observer.residual) <= observer.threshold + 0.02).all()  # of the trapezoid, see above


def test_the_threshold_of_masses_is_reached_and_no_more():
    """All errors to one side as joint j feels them, at rest: its residual is its threshold."""
    arm = er.load("panda")
    still = lambda arm, t: (arm.ready, np.zeros(arm.n), np.zeros(arm.n))  # noqa: E731
    shares = -link_momenta(arm.model, arm.ready, np.zeros(arm.n)).rest
    for j in (1, 3, 5):
        wrong = 0.1 * np.sign(shares[:, j])
        observer = MomentumObserver(arm, dataclasses.replace(EXACT, mass_error=0.1))
        for _ in followed(arm, observer, 300, 0.001, actual=heavier(arm, wrong), motion=still):
            pass
        assert observer.threshold[j] > 0.05
        assert abs(abs(observer.residual[j]) / observer.threshold[j] - 1.0) < 1e-9  # the same sum, otherwise rounded
        again = MomentumObserver(arm, dataclasses.replace(EXACT, mass_error=0.099))
        for _ in followed(arm, again, 300, 0.001, actual=heavier(arm, wrong), motion=still):
            pass
        assert again.touched >= j


@pytest.mark.parametrize("h", [0.001, 0.01])
def test_noise_comes_out_as_large_as_the_threshold_says(h):
    """Torque and speed each with white noise, at rest: the residual's standard deviation is s."""
    arm, rng = er.load("panda"), np.random.default_rng(1)
    for noise in ({"torque_noise": 0.2}, {"speed_noise": 1e-3}):
        settings = dataclasses.replace(EXACT, sigmas=1.0, **noise)
        observer, found = MomentumObserver(arm, settings), []
        g = arm.gravity_torque(arm.ready)
        for k in range(6000):
            qd = settings.speed_noise * rng.normal(size=arm.n)
            observer.look(k * h, arm.ready, qd, g + settings.torque_noise * rng.normal(size=arm.n))
            if k > 500:
                found.append(observer.residual.copy())
        spread = np.std(found, axis=0) / observer.threshold
        # standard error of a standard deviation: 1 / sqrt(2 x independent samples), of 5500 readings one in 1 / (K h)
        assert np.abs(spread - 1.0).max() < 5.0 / math.sqrt(2 * 5500 * min(1.0, 100.0 * h))


def test_friction_is_known_by_its_sign_while_a_joint_slides_and_all_allowed_for_while_it_may_stick():
    model = dataclasses.replace(er.load("planar2").model, coulomb=np.array([4.0, 2.0]), viscous=np.array([1.0, 0.5]))
    arm, settings = er.Arm(model), dataclasses.replace(EXACT, friction_error=0.25)
    speed = np.array([0.5, -0.4])
    sliding = lambda arm, t: (arm.ready + speed * t, speed, np.zeros(2))  # noqa: E731
    observer = MomentumObserver(arm, settings)
    for _ in followed(arm, observer, 200, 0.001, motion=sliding):
        pass
    assert np.abs(observer.residual).max() < 1e-3
    assert np.allclose(observer.threshold, 0.25 * (model.viscous * np.abs(speed) + model.coulomb), rtol=1e-6)
    still = lambda arm, t: (arm.ready, np.zeros(2), np.zeros(2))  # noqa: E731
    observer.forget()
    held_by_friction = np.array([3.9, -1.9])
    for _ in followed(arm, observer, 200, 0.001, held_by_friction, motion=still):
        pass
    assert np.allclose(observer.residual, held_by_friction, atol=1e-6)
    assert np.allclose(observer.threshold, 1.25 * model.coulomb, rtol=1e-6)  # it may be so much more than known
    assert observer.touched == -1
    assert Contact().friction == 0.0
    more = MomentumObserver(arm, dataclasses.replace(settings, friction=0.7))
    for _ in followed(arm, more, 200, 0.001, motion=still):
        pass
    assert np.allclose(more.threshold, 1.25 * model.coulomb + 0.7, rtol=1e-6)


# ---- which link, and bad input
def test_the_link_of_the_last_joint_that_feels_it_is_named():
    arm = er.load("panda")
    for last in range(-1, arm.n):
        push = np.where(np.arange(arm.n) <= last, 5.0, 0.0)
        observer = MomentumObserver(arm, EXACT)
        for _ in followed(arm, observer, 100, 0.001, push):
            pass
        observer.threshold[:] += 1e-2  # the trapezoid's
        assert observer.touched == last


def test_first_readings_and_gaps_say_nothing():
    arm = er.load("panda")
    observer = MomentumObserver(arm, Contact())
    far = np.full(arm.n, 50.0)
    still = np.zeros(arm.n)
    assert observer.look(3.0, arm.ready, still, far) == -1
    assert not observer.residual.any()
    assert observer.look(3.001, arm.ready, still, far) >= 0
    assert observer.look(3.001, arm.ready, still, still) >= 0  # the same stamp: the same answer
    assert observer.look(9.0, arm.ready, still, far) == -1  # 6 s later: as the first
    assert observer.look(8.0, arm.ready, still, far) == -1  # and after a clock that ran back


def test_numbers_that_are_none_are_refused_and_change_nothing():
    arm = er.load("panda")
    observer, still = MomentumObserver(arm, Contact()), np.zeros(arm.n)
    observer.look(0.0, arm.ready, still, still)
    observer.look(0.001, arm.ready, still, still)
    before = observer.residual.copy()
    bad = still.copy()
    bad[3] = math.nan
    for args in ((bad, still, still), (arm.ready, bad, still), (arm.ready, still, bad)):
        with pytest.raises(ValueError, match=r"finite|nan"):
            observer.look(0.002, *args)
    assert np.array_equal(observer.residual, before)


def test_masses_that_are_estimates_are_refused(urdf_file):
    model = dataclasses.replace(er.load("panda").model, estimated=("panda_link3",))
    with pytest.raises(ConfigError, match="'panda_link3' are estimates"):
        MomentumObserver(er.Arm(model), Contact())


def test_mass_errors_by_link():
    arm = er.load("planar2")
    assert np.allclose(heavier(arm, [0.1, -0.2]).model.mass, arm.model.mass * [1.1, 0.8])
    with pytest.raises(ShapeError, match=r"mass_error must be one number or have shape \(2,\)"):
        heavier(arm, [0.1, 0.2, 0.3])


# ---- the change
def still(arm, t):
    """q, qd, qdd (n,) of an arm that rests."""
    return arm.ready, np.zeros(arm.n), np.zeros(arm.n)


def steps(arm, observer, h, until, push, **known):
    """As `followed`, with a push (n,) from each time on that `push` names; the link that was named after each."""
    actual, motion = known.get("actual", arm), known.get("motion", waving)
    for k in range(round(until / h) + 1):
        t = k * h
        outside = next((tau for since, tau in reversed(push) if t > since + 1e-9), 0.0)
        yield t, observer.look(t, *motion(arm, t)[:2], mean_torque(actual, t, h, motion) - outside)


def wrongest(arm, joint, part=0.1):
    """The arm with links that are wrong by a part, to the side that joint feels most where it rests."""
    return heavier(arm, part * np.sign(-link_momenta(arm.model, arm.ready, np.zeros(arm.n)).rest[:, joint]))


ALLOWED = dataclasses.replace(EXACT, mass_error=0.1)
NOISY = Contact()  # all of its allowances


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_sudden_push_within_what_masses_account_for_is_seen_by_its_change_alone(sign):
    """Joint 2 feels links that are wrong by 5 % and is pushed by 0.9 N m, both together less than 10 % may do: after t
    the change is (1 - e^(-K t)) of the push, the way of the push; the residual alone never says so."""
    arm, h = er.load("panda"), 0.001
    change, absolute = MomentumObserver(arm, NOISY), MomentumObserver(arm, dataclasses.replace(NOISY, window=0.0))
    push, seen = np.where(np.arange(arm.n) == 1, sign * 0.9, 0.0), []
    known = {"actual": wrongest(arm, 1, 0.05), "motion": still}
    plain = steps(arm, absolute, h, 1.0, [(0.5, push)], **known)
    for t, link in steps(arm, change, h, 1.0, [(0.5, push)], **known):
        assert next(plain)[1] == -1
        if link >= 0:
            seen.append(t)
            assert link == 1
            assert np.allclose(change.change, push * -math.expm1(-100.0 * (t - 0.5)), rtol=0, atol=1e-9)
            assert np.array_equal(np.sign(change.beyond), np.sign(push))
    assert 0.5 < seen[0] <= 0.510
    assert np.allclose(seen, seen[0] + h * np.arange(len(seen)))  # as long as it lasts, without a gap
    assert math.isclose(seen[-1], 1.0)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["panda", "ur5e", "slider"]), st.sampled_from([0.001, 0.004, 0.01]))
@examples(15)
def test_wrong_masses_change_the_residual_no_more_than_is_allowed(seed, name, h):
    """Moving briskly, with readings that jitter, are lost and repeated, and without a noise to hide behind."""
    greatest_change(seed, name, h)


@pytest.mark.parametrize("name", ["panda", "ur5e", "slider"])
def test_what_is_allowed_of_a_change_is_needed(name):
    """By the worst of a few draws of wrong masses; with others the change is less."""
    assert max(greatest_change(seed, name, 0.004) for seed in range(4)) > 0.2  # N m


def greatest_change(seed, name, h):
    """Of the residual by masses that are wrong by a tenth either way; it is never called a contact."""
    arm = slider() if name == "slider" else er.load(name)
    arm = er.Arm(dataclasses.replace(arm.model, coulomb=np.zeros(arm.n), viscous=np.zeros(arm.n)))
    rng = np.random.default_rng(seed)
    actual = heavier(arm, rng.choice([-0.1, 0.1], arm.n))
    allowing = dataclasses.replace(ALLOWED, torque_noise=0.1, force_noise=0.1)  # the trapezoid's, and no noise comes
    observer, t, greatest = MomentumObserver(arm, allowing), 0.0, 0.0
    for k in range(150):
        step = h * rng.choice([0.6, 1.0, 1.3, 3.0])
        t += step
        tau = mean_torque(actual, t, step)
        for _ in range(1 + (k % 7 == 0)):
            assert observer.look(t, *waving(arm, t)[:2], tau) == -1
        greatest = max(greatest, float(np.abs(observer.change).max()))
    return greatest


@pytest.mark.parametrize("h", [0.001, 0.01])
def test_a_command_that_jumps_is_no_contact(h):
    """Accelerations of 10 rad/s^2 that come, turn round and go at once, with links that are wrong by 10 %."""
    arm = er.load("panda")

    def jerked(arm, t):
        way = np.array([1.0, -1.0, 1.0, 1.0, -1.0, 1.0, 1.0])
        part = t % 0.2
        back, rest = max(part - 0.05, 0.0), max(part - 0.15, 0.0)
        turn = 10.0 * (0.0 < part <= 0.05) - 10.0 * (0.05 < part <= 0.15) + 10.0 * (part > 0.15)
        speed = 10.0 * part - 20.0 * back + 20.0 * rest
        place = 5.0 * part**2 - 10.0 * back**2 + 10.0 * rest**2
        return arm.ready + way * place, way * speed, way * turn

    for joint in (1, 3):
        observer, most = MomentumObserver(arm, NOISY), 0.0
        for t, link in steps(arm, observer, h, 0.6, [], actual=wrongest(arm, joint), motion=jerked):
            assert link == -1, t
            most = max(most, float(np.abs(observer.change).max()))
        assert most > 0.2  # N m


def test_dry_friction_that_turns_round_or_sticks_is_no_contact():
    """A joint whose friction is half as large again as known comes to rest, sticks with all of it, and goes back."""
    model = dataclasses.replace(er.load("planar2").model, coulomb=np.array([4.0, 2.0]), viscous=np.array([1.0, 0.5]))
    arm = er.Arm(model)
    settings = dataclasses.replace(EXACT, friction_error=0.5, sticking=0.01)
    actual = dataclasses.replace(model, coulomb=1.5 * model.coulomb, viscous=0.5 * model.viscous)
    rigid = er.Arm(dataclasses.replace(model, coulomb=np.zeros(2), viscous=np.zeros(2)))
    for h in (0.001, 0.01):
        observer, most = MomentumObserver(arm, settings), 0.0
        for k in range(round(2.0 / h)):
            t = k * h
            speed = 0.3 * np.sin(4.0 * t) * np.ones(2)
            acceleration = 1.2 * np.cos(4.0 * t) * np.ones(2)
            q = arm.ready + 0.075 * (1.0 - np.cos(4.0 * t))
            before = 0.3 * np.sin(4.0 * (t - h))
            friction = actual.viscous * 0.5 * (speed + before)  # its mean, as the model has it
            dry = np.sign(speed) if before * speed[0] > 0.01**2 else np.sign(np.cos(7.0 * t))  # whatever sticking gives
            observer.look(t, q, speed, rigid.inverse_dynamics(q, speed, acceleration) + friction + dry * actual.coulomb)
            slack = 1.2 * 4.0 * h * np.abs(arm.mass_matrix(q)).sum(axis=1)  # torque at its reading, not its mean
            assert (np.abs(observer.residual) <= observer.threshold + slack).all(), t
            assert (np.abs(observer.change) <= observer.jump + 2.0 * slack).all(), t
            most = max(most, float((np.abs(observer.change) / model.coulomb).max()))
        assert most > 0.5  # it has turned round


@pytest.mark.parametrize("h", [0.001, 0.01, "any"])
def test_noise_of_a_change_is_as_large_as_its_threshold_says(h):
    """Torque and speed each with white noise, at rest, also where readings come at any times."""
    arm, rng = er.load("panda"), np.random.default_rng(2)
    for noise in ({"torque_noise": 0.2}, {"speed_noise": 1e-3}):
        settings = dataclasses.replace(EXACT, **noise)
        observer, found, t = MomentumObserver(arm, settings), [], 0.0
        g = arm.gravity_torque(arm.ready)
        for k in range(6000):
            t += rng.choice([0.0005, 0.002, 0.006]) if h == "any" else h
            qd = settings.speed_noise * rng.normal(size=arm.n)
            observer.look(t, arm.ready, qd, g + settings.torque_noise * rng.normal(size=arm.n))
            if k > 500:
                found.append(settings.sigmas * observer.change / observer.jump)
        samples = 5500 * min(1.0, 100.0 * (0.002 if h == "any" else h))
        assert np.abs(np.std(found, axis=0) - 1.0).max() < 5.0 / math.sqrt(2 * samples)


def test_a_push_that_ends_is_no_second_one_and_the_next_is_seen():
    arm, h = er.load("panda"), 0.001
    push = np.where(np.arange(arm.n) == 1, 1.5, 0.0)
    observer = MomentumObserver(arm, NOISY)
    known = {"actual": wrongest(arm, 1), "motion": still}
    course = [(0.5, push), (0.8, 0.0 * push), (1.5, push)]
    felt = [t for t, link in steps(arm, observer, h, 2.0, course, **known) if link >= 0]
    first, second = [t for t in felt if t < 1.2], [t for t in felt if t >= 1.2]
    assert 0.5 < first[0] <= 0.510
    assert 0.8 < first[-1] < 0.83  # the residual comes back
    assert len(first) == round((first[-1] - first[0]) / h) + 1
    assert 1.5 < second[0] <= 1.510


def test_a_change_that_stays_is_taken_for_the_models_error_after_a_while():
    arm, h = er.load("panda"), 0.002
    observer = MomentumObserver(arm, dataclasses.replace(NOISY, memory=0.5))
    push = np.where(np.arange(arm.n) == 1, 1.5, 0.0)
    known = {"actual": wrongest(arm, 1), "motion": still}
    felt = [t for t, link in steps(arm, observer, h, 2.0, [(0.5, push)], **known) if link >= 0]
    assert abs(felt[-1] - felt[0] - 0.5) < 2.5 * h
    heavy = np.where(np.arange(arm.n) == 1, 20.0, 0.0)  # more than masses account for: as long as it lasts
    observer.forget()
    felt = [t for t, link in steps(arm, observer, h, 2.0, [(0.5, heavy)], **known) if link >= 0]
    assert math.isclose(felt[-1], 2.0)


def test_the_end_of_a_push_that_grew_slowly_is_no_push_the_other_way():
    """Up to 8 N m in 0.8 s: no reading while it is felt is one to compare with."""
    arm, h = er.load("panda"), 0.001
    observer, joint = MomentumObserver(arm, NOISY), np.arange(arm.n) == 1
    grown = [(0.5 + 0.01 * k, np.where(joint, 0.1 * k, 0.0)) for k in range(1, 81)]
    course = [*grown, (1.5, 0.0 * joint)]
    felt = [
        (t, link, observer.beyond[1]) for t, link in steps(arm, observer, h, 2.5, course, motion=still) if link >= 0
    ]
    assert 0.6 < felt[0][0] < 1.3
    assert all(beyond > 0.0 for _, _, beyond in felt)
    assert 1.5 < felt[-1][0] < 1.53


def test_at_any_rate_of_readings_and_after_forgetting():
    """From 50 Hz to 20 kHz a push of 6 N m is seen; with no reading a window ago, by the residual alone."""
    arm = er.load("panda")
    push = np.where(np.arange(arm.n) == 1, 6.0, 0.0)
    for h in (0.02, 0.01, 0.001, 0.0003, 0.00005):
        observer = MomentumObserver(arm, NOISY)
        spare = len(observer._spare)
        for _ in range(2):
            felt = [t for t, link in steps(arm, observer, h, 0.3, [(0.2, push)], motion=still) if link >= 0]
            assert 0.2 < felt[0] <= 0.21 + h
            assert math.isclose(felt[-1], 0.3)
            observer.forget()
            assert len(observer._spare) == spare  # no reading is lost
            assert not observer.change.any()
    observer = MomentumObserver(arm, NOISY)
    for t, _ in steps(arm, observer, 0.001, 0.008, [], motion=still):
        assert np.array_equal(observer.change, observer.residual), t
        assert np.allclose(observer.jump, observer.threshold)


def test_a_copy_goes_on_as_the_observer():
    arm = er.load("panda")
    observer = MomentumObserver(arm, NOISY)
    for _ in steps(arm, observer, 0.001, 0.1, []):
        pass
    others = [copy.deepcopy(observer), pickle.loads(pickle.dumps(observer))]
    rng = np.random.default_rng(0)
    for k in range(101, 150):
        reading = 0.001 * k, *waving(arm, 0.001 * k)[:2], rng.normal(size=arm.n)
        wanted = observer.look(*reading)
        for other in others:
            assert other.look(*reading) == wanted
            assert np.array_equal(other.change, observer.change)
            assert np.array_equal(other.jump, observer.jump)
