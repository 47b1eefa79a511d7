"""The filter's solver against daqp, on random problems and on those of encounters; and what holds for every command.

ELBOWROOM_PROBLEMS=100000 pytest tests/avoidance/safety/test_filter.py -k daqp      and 100 encounters of each arm
"""

from __future__ import annotations

import os

import daqp
import numpy as np
import pytest
from logging_runs import logged
from supervising import ARM, PERIOD, PERSON, Cell

import card
from card import needs_cxx, to_card
from ccompiler import FUSED, called, library, needs_cc
from elbowroom.algebra import trace
from elbowroom.avoidance import Config, Controller, Force, Limits, Repulsion, Sensor
from elbowroom.avoidance.safety.filter.approach_speed import NORMAL_SEEN, PROMISE, SHARES, PairBounds, pulled_back
from elbowroom.avoidance.safety.filter.capsule_motion import CapsuleMotion, moving
from elbowroom.avoidance.safety.filter.rows import OF_PEOPLE, PEOPLE, ROWS
from elbowroom.avoidance.safety.filter.solver import (
    CHANGED,
    GIVEN,
    NO_GRIP,
    ROUNDS,
    STEPS,
    QuadraticProblem,
    nearest,
    opened,
    solver_kernel,
)
from elbowroom.bench.encounters.scene import place
from elbowroom.compile import compiled, cuda
from elbowroom.compile.source import Dialect, Source
from elbowroom.compile.source_support import fused
from elbowroom.dynamics.kinematics import forward_kinematics
from elbowroom.geometry import Pairs
from elbowroom.geometry.distance import NORMAL
from elbowroom.geometry.shapes import VELOCITY_A, VELOCITY_B, A, B
from elbowroom.model.capsules import BASE
from marks import slow_where

PROBLEMS = int(os.environ.get("ELBOWROOM_PROBLEMS", "4000"))
RUNS = PROBLEMS // 1000  # encounters, of 100 problems or so each
ALL = STEPS * ROUNDS
SIZES = (2, 3, 5, 6, 7)
IDLE = -900.0  # m/s: a row that needs less asks for nothing
ENDLESS = 1e30
TOLERANCE = 1e-10  # of daqp; with its own, 1e-6, it is up to 0.3 % away from this where rows are nearly parallel


# ---- problems
def drawn(count, n, seed=0):
    """Boxes from the smallest to a whole velocity limit; rows of any direction that some joints move.

    People's rows hold at a point of the box, three in ten with nothing to spare there: such sets have no inside, where
    many methods fail.  Half of the others ask for more than that point gives.
    """
    rng = np.random.default_rng([seed, n])
    half = np.exp(rng.uniform(np.log(0.002), np.log(0.5), (count, n)))
    middle = rng.uniform(-1, 1, (count, n)) * (1 - half)
    low, up = middle - half, middle + half
    wish = np.clip(middle + half * rng.uniform(-1.5, 1.5, (count, n)), low, up)
    A = rng.standard_normal((count, ROWS, n)) * np.exp(rng.uniform(np.log(0.05), 0.0, (count, ROWS, 1)))
    A[np.arange(n) >= rng.integers(1, n + 1, (count, ROWS, 1))] = 0.0  # joints beyond the link do not move it
    inside = low + (up - low) * rng.uniform(0, 1, (count, n))
    spare = np.where(rng.random((count, ROWS)) < 0.3, 0.0, rng.exponential(0.1, (count, ROWS)))
    need = np.einsum("bkn,bn->bk", A, inside) - spare
    yields = np.zeros((count, ROWS))
    soft = (count, ROWS - OF_PEOPLE)
    yields[:, OF_PEOPLE:] = np.where(rng.random(soft) < 0.7, 1 / 5, 1 / 50)
    need[:, OF_PEOPLE:] += np.where(rng.random(soft) < 0.5, rng.exponential(0.2, soft), 0.0)
    idle = rng.random((count, ROWS)) < 0.2
    need[idle], A[idle] = -1e3, 0.0
    return QuadraticProblem(wish, low, up, A, need, yields)


def encountered(name):
    """Those of encounters in which the wish violated a row."""
    log = logged(name, 300, RUNS)
    return QuadraticProblem(*(x[(log.rows[:, :, -1] > 0).any(axis=1)] for x in log.problem))


def reference(problem):
    """daqp's solution (n,); each row that yields has a slack variable of its own.

    The filter leaves rows alone that joints at full speed move by less than sqrt(NO_GRIP), 0.03 mm/s; so they are left
    out here, too: such a row may ask for a joint to go all the way through its box.  What people's rows lack is judged
    with all of them.
    """
    wish, low, up, A, need, yields = problem
    asks = (need > IDLE) & ((A * A).sum(axis=1) > NO_GRIP)
    A, need, yields = A[asks], need[asks], yields[asks]
    soft, n = yields > 0, len(wish)
    slack = np.eye(len(A))[:, soft]
    x, _, flag, _ = daqp.solve(
        np.diag([*np.ones(n), *1 / yields[soft]]),
        np.array([*-wish, *np.zeros(slack.shape[1])]),
        np.ascontiguousarray(np.hstack([A, slack])),
        np.array([*up, *np.full(slack.shape[1] + len(A), ENDLESS)]),
        np.array([*low, *np.full(slack.shape[1], -ENDLESS), *need]),
        np.zeros(n + slack.shape[1] + len(A), dtype=np.intc),
        primal_tol=TOLERANCE,
    )
    assert flag == 1, flag  # every one of these problems has a solution
    return np.array(x[:n])


# ---- our solver
def _open(_, **problem):
    tableau = opened(QuadraticProblem(**problem))
    return {name: getattr(tableau, name) for name in GIVEN}


def tableaux(p):
    """The solver's arrays as it begins."""
    shapes = {name: x.shape[1:] for name, x in p._asdict().items()}
    return compiled(trace(_open, None, shapes, name="open"))(*p)


def solved(p, steps=ALL):
    """(x, prices, whether steps are left) of a batch of problems."""
    after = solver_kernel(p.wish.shape[1], steps)(*tableaux(p))
    return np.clip(after.at[:, ROWS:], p.low, p.up), after.price[:, :ROWS], after.left[:, 0] > 0


CASES = {f"{n} joints": lambda n=n: drawn(PROBLEMS // len(SIZES), n) for n in SIZES}
CASES |= {
    name: lambda name=name: encountered(name)
    for name in ("panda",) + (("ur5e", "iiwa14") if PROBLEMS >= 100_000 else ())
}
QUICK = ("2 joints", "3 joints", "5 joints")


@pytest.mark.parametrize("case", slow_where(lambda case: case not in QUICK, CASES))
def test_the_solution_is_daqp_s(case):
    p = CASES[case]()
    assert len(p.wish) > 100
    x, prices, left = solved(p)
    wanted = np.array([reference([part[k] for part in p]) for k in range(len(x))])
    lacks = np.where((p.yields == 0) & (p.need > IDLE), p.need - np.einsum("bkn,bn->bk", p.A, x), 0.0)
    # What is required: 1 % of the velocity limits, and 5 mm/s of people's rows.
    assert np.abs(x - wanted).max() <= 0.01
    assert lacks.max() <= 0.005
    assert (x >= p.low).all()
    assert (x <= p.up).all()
    assert (prices >= 0).all()
    assert left.mean() < 1e-3


@pytest.mark.parametrize("n", SIZES)
def test_what_is_solved_satisfies_the_conditions_of_an_optimum(n):
    """x - wish = A^T prices + prices of the box; a price only where a row has nothing to spare."""
    p = drawn(400, n, seed=1)
    x, prices, left = solved(p)
    p, x, prices = QuadraticProblem(*(part[~left] for part in p)), x[~left], prices[~left]
    pull = x - p.wish - np.einsum("bkn,bk->bn", p.A, prices)
    # Rows yield by SLACK of their grip: 1e-10, times prices of up to 1e3, and rounding that a nearly singular table
    # enlarges; all far below the 1 % that is asked for.
    near = 1e-5
    assert np.where((x > p.low) & (x < p.up), np.abs(pull), 0.0).max() < near
    assert np.where(x <= p.low, -pull, 0.0).max() < near
    assert np.where(x >= p.up, pull, 0.0).max() < near
    spare = np.einsum("bkn,bn->bk", p.A, x) + p.yields * prices - p.need
    asks = (p.A * p.A).sum(axis=2) > NO_GRIP  # a row that joints hardly move is left alone, as in `reference`
    assert spare[asks].min() > -near
    assert not prices[~asks].any()
    assert np.where(prices > 0, spare, 0.0).max() < near


def test_a_wish_that_violates_nothing_is_given_back_bit_for_bit():
    p = drawn(300, 7, seed=2)
    p = p._replace(need=np.einsum("bkn,bn->bk", p.A, p.wish) - 1e-6)
    x, prices, left = solved(p)
    np.testing.assert_array_equal(x, p.wish)
    assert not prices.any()
    assert not left.any()


def test_one_row_in_closed_form():
    """Without the box: x = wish + a lack / (a . a + yields)."""
    p = drawn(200, 5, seed=3)
    A, need = np.zeros_like(p.A), np.full_like(p.need, -1e3)
    A[:, 4], need[:, 4] = p.A[:, 4], np.einsum("bn,bn->b", p.A[:, 4], p.wish) + 0.1
    keep = (A[:, 4] ** 2).sum(axis=1) > 1e-3
    p = QuadraticProblem(*(x[keep] for x in (p.wish, p.wish - 1e3, p.wish + 1e3, A, need, p.yields)))
    a, yields = p.A[:, 4], p.yields[:, 4]
    x, prices, _ = solved(p)
    price = 0.1 / ((a**2).sum(axis=1) + yields)
    # SLACK is 1e-10 of what a row grips by.
    np.testing.assert_allclose(prices[:, 4], price, rtol=1e-9)
    np.testing.assert_allclose(x, p.wish + a * price[:, None], rtol=0, atol=1e-9 * np.abs(a * price[:, None]).max())


def test_steps_that_are_left_out_change_no_bit():
    """Round by round until one finds nothing to do: as the supervisor does it."""
    p = drawn(300, 6, seed=4)
    start, round_ = tableaux(p), solver_kernel(6)
    whole = solver_kernel(6, ALL)(*start)
    for k in range(0, 300, 7):
        state = [x[k] for x in start]
        for _ in range(ROUNDS):
            after = round_(*state)
            state[: len(CHANGED) - 1] = after[:-1]
            if after.left[0] == 0:
                break
        for name in ("at", "price", "side", "table"):
            np.testing.assert_array_equal(getattr(after, name), getattr(whole, name)[k], err_msg=name)


def test_one_state_and_lanes_have_the_same_bits():
    start = tableaux(drawn(53, 7, seed=5))
    kernel = solver_kernel(7, ALL)
    many = kernel(*start)
    for k in (0, 17, 52):
        for one, lanes in zip(kernel(*(x[k] for x in start)), many, strict=True):
            np.testing.assert_array_equal(one, lanes[k])


@needs_cc
def test_c_has_the_same_bits(tmp_path):
    kernel, start = solver_kernel(3, ALL), tableaux(drawn(20, 3, seed=6))
    includes = "".join(f"#include <{name}.h>\n" for name in ("float", "math", "stdint", "string"))
    dialect = Dialect("double", "own")
    text = "\n".join([includes, fused("double"), Source(kernel.program, dialect).text("f")])
    (tmp_path / "x.c").write_text(text)
    lib = library(tmp_path, [tmp_path / "x.c"], *FUSED)
    found = called(lib, "f", kernel.program, dict(zip(GIVEN, start, strict=True)))
    for name, wanted in kernel(*start)._asdict().items():
        np.testing.assert_array_equal(found[name], wanted, err_msg=name)


@needs_cxx
def test_cuda_s_text_has_the_same_bits(monkeypatch):
    """By the card that tests have: the kernel's text, compiled for this machine, 32 threads to a warp."""
    monkeypatch.setattr(cuda, "library", lambda: card.cupy)
    kernel, start = solver_kernel(3, ALL), tableaux(drawn(40, 3, seed=8))
    found = cuda.CudaKernel("solver", kernel.program)(*map(to_card, start))
    for name, wanted in kernel(*start)._asdict().items():
        np.testing.assert_array_equal(getattr(found, name), wanted, err_msg=name)
    assert (kernel(*start).at != start.at).any()  # it had something to do


def test_plain_floats_give_the_same_solution():
    p = drawn(20, 4, seed=7)
    x, prices, _ = solved(p)
    for k in range(20):
        one, paid = nearest(QuadraticProblem(*(part[k] for part in p)))
        # Fused products round differently: 1e-16, enlarged by the condition of the rows that are held.
        np.testing.assert_allclose(one.astype(float), x[k], rtol=0, atol=1e-9)
        np.testing.assert_allclose(paid.astype(float), prices[k], rtol=1e-6, atol=1e-9)


# ---- commands
def test_a_logged_problem_is_of_its_own_cycle():
    """Rows lie where the last cycle that had any left them; a problem of two cycles need not have a solution."""
    log = logged("panda", 300, RUNS)
    n = log.start.shape[1]
    asks = log.need > IDLE
    written = np.concatenate([log.rows[:, :, :n], log.rows[:, :, n : n + 1]], axis=2)
    solved_for = np.concatenate([log.A, log.need[:, :, None]], axis=2)
    same = (written[:, None] == solved_for[:, :, None]).all(axis=3).any(axis=2)
    assert asks.any(axis=1).mean() > 0.5
    assert same[asks].all()


def test_the_ramp_is_always_feasible_and_the_wish_is_left_alone_where_it_can_be():
    log = logged("panda", 300, RUNS)
    velocity = log.wish / np.where(log.start == 0, 1.0, log.start)
    velocity = np.median(np.where(log.start == 0, np.nan, velocity)[~(log.start == 0).any(axis=1)], axis=0)
    ramp = log.ramp / velocity
    tiny = 1e-12  # of a velocity limit: scaled and scaled back
    assert (ramp >= log.low - tiny).all()
    assert (ramp <= log.up + tiny).all()
    n = ramp.shape[1]
    a, need, yields, kind = log.rows[:, :, :n], log.rows[:, :, n], log.rows[:, :, n + 1], log.rows[:, :, n + 2]
    lacks = need - np.einsum("bkn,bn->bk", a, ramp)
    certified = (kind == PEOPLE) & (yields == 0)
    assert certified.all(axis=1, where=kind == PEOPLE).mean() > 0.9
    assert np.where(certified, lacks, 0.0).max() < 1e-12  # m/s: rounding
    calm = log.lack[:, 0] <= 0
    assert calm.any()
    np.testing.assert_array_equal(log.qd[calm], log.wish[calm])
    assert (log.qd[~calm] != log.wish[~calm]).any()


def closing(body, q, qd, believed):
    """(..., 2 Q) how fast the arm's own motion closes every pair of the promise, by the capsules' velocities.

    Of both ends of the part of the link that lies over the limb.
    """
    own = [k for k, link in enumerate(body.links) if link != BASE]
    still = believed.copy()
    still[..., VELOCITY_A], still[..., VELOCITY_B] = 0.0, 0.0
    links = body.kernel(q, qd)[..., own, :]
    table = Pairs(len(own), believed.shape[-2])(np.ascontiguousarray(np.concatenate([links, still], axis=-2)))
    normal = table[..., NORMAL].reshape(*links.shape[:-1], -1, 1, 3)
    ends = believed[..., :6].reshape(*believed.shape[:-2], 1, -1, 2, 3)
    a, b, va, vb = (links[..., None, None, part] for part in (A, B, VELOCITY_A, VELOCITY_B))
    share = (((ends - a) * (b - a)).sum(axis=-1) / ((b - a) ** 2).sum(axis=-1)).clip(0.0, 1.0)[..., None]
    speeds = -(normal * (va + share * (vb - va))).sum(axis=-1)
    return speeds.reshape(*speeds.shape[:-3], -1)


def test_no_pair_closes_faster_than_is_allowed():
    """All pairs, also those that the solver had no row for."""
    log = logged("panda", 300, RUNS)
    speeds = closing(place("panda").body, log.q, log.qd, log.believed)
    assert (speeds <= log.allowed + 1e-9).all()  # m/s: rounding of sums of order 1
    assert (speeds > log.allowed - 0.01).any()


@pytest.mark.parametrize("spare", [0.0, 0.02])
def test_a_solution_is_pulled_back_as_far_as_its_worst_pair_asks_and_not_for_rounding(spare):
    """u goes from the ramp's to the solution's; `spare` is what is allowed beyond the ramp's."""
    controller = Controller(ARM, Config(period=PERIOD), person_capsules=1)
    layout, own, rng = controller.layout, moving(controller.layout), np.random.default_rng(0)
    frames = forward_kinematics(ARM.model, ARM.ready)
    for _ in range(20):
        normal = rng.standard_normal((len(own), 3))
        normal /= np.linalg.norm(normal, axis=1, keepdims=True)
        promise = np.zeros((len(own), len(PROMISE)))
        promise[:, NORMAL_SEEN], promise[:, SHARES] = normal, rng.random((len(own), 2))
        ramp, solution = rng.uniform(-1, 1, (2, ARM.n))

        def speeds(v, promise=promise):
            motion = CapsuleMotion.of(ARM.model, layout, frames, v)
            both = [motion.openings(i, p[NORMAL_SEEN], p[SHARES]) for i, p in zip(own, promise, strict=True)]
            return -np.array(both, float)

        runs = speeds(ramp)
        x = PairBounds(promise, runs + spare, runs)
        more = (speeds(solution) - runs).max()
        wanted = min(1.0, spare / more) if more > 0 else 1.0
        command, part, margin = pulled_back(ARM.model, layout, frames, solution, ramp, x)
        # m/s: the formula once more in another order.
        assert part == pytest.approx(wanted, abs=1e-12)
        assert (speeds(command.astype(float)) <= x.allowed + 1e-12).all()
        assert margin >= -1e-12
        beside = np.nextafter(ramp, 2.0)
        assert pulled_back(ARM.model, layout, frames, beside, ramp, x)[1] == 1.0


SHORT = {"period": PERIOD, "repulsion": Repulsion(influence=0.02)}  # the law itself sees nobody until it is too late
KINDS = {
    "K": Config(**SHORT),
    "F": Config(**SHORT, controller="F"),
    "F, torques": Config(**SHORT, controller="F", force=Force(method="operational")),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_controller_goes_through_it(kind):
    """Somebody walks up: rows are violated, and no pair closes faster than is allowed."""
    controller = Controller(ARM, KINDS[kind], person_capsules=2)
    cell = Cell(controller, Limits(sensor=Sensor.exact(PERIOD)))
    limiter = cell.supervisor.limiter
    assert limiter.torque is ("torques" in kind)
    cell.goal.position = ARM.pose([0.6, 0.4])[:3, 3]
    solved = 0
    for k in range(900):
        cell.person = PERSON.copy()
        cell.person[:, [0, 3]] -= 3.4 + 0.001 * k
        cell.person[:, [2, 5]] -= 0.9
        cell.person[:, [7, 10]] = -1.0
        q = cell.state.q.copy()
        command = cell.cycle()
        speeds = closing(controller.body, q, limiter.out.qd, controller.all_rows[controller.layout.rows :])
        assert (speeds <= limiter.array("allowed") + 1e-9).all()
        assert command.margin >= 0.0
        solved += limiter.array("lack")[0] > 0
    assert solved > 10
    assert cell.supervisor.latched is None, cell.supervisor.reason
