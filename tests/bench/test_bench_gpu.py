"""The benchmark of cards, with the C++ compiler in the place of one: what is compared, and what a row says."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import card
import elbowroom as er
from card import needs_cxx
from elbowroom.bench import gpu, gpu_derivatives
from elbowroom.bench.timing import US
from elbowroom.compile import cuda
from elbowroom.errors import ElbowroomError

pytestmark = needs_cxx
STATES = 40
LAUNCH = 1e-6  # s, what the card's clock shows for one


class Event:
    """A clock that goes on by as much as every launch takes."""

    def record(self):
        pass

    def synchronize(self):
        pass


@pytest.fixture
def a_card(monkeypatch):
    rng = np.random.default_rng(0)
    properties = {"name": b"a card"}
    runtime = SimpleNamespace(getDeviceProperties=lambda k: properties, runtimeGetVersion=lambda: 13020)
    more = SimpleNamespace(
        random=SimpleNamespace(uniform=lambda low, high, shape: rng.uniform(low, high, shape).view(card.CardArray)),
        full=lambda shape, value, dtype: np.full(shape, value, dtype).view(card.CardArray),
        moveaxis=np.moveaxis,
        asnumpy=np.array,
        cuda=SimpleNamespace(
            Event=Event,
            Device=lambda: card.Device(0),
            runtime=runtime,
            get_elapsed_time=lambda start, end: 1000 * LAUNCH * gpu.LAUNCHES,  # ms
        ),
    )
    cupy = SimpleNamespace(**vars(card.cupy) | vars(more))
    monkeypatch.setattr(cuda, "library", lambda: cupy)
    monkeypatch.setattr(gpu, "_copy", lambda *_: 1e12)
    monkeypatch.setattr(gpu, "_arithmetic", lambda cupy, dtype, rounds: 1e12)
    monkeypatch.setattr(gpu, "QUANTITIES", ("gravity_torque",))
    monkeypatch.setattr(gpu, "frax_contenders", lambda arm, missing: missing.append("frax") or (lambda *_: []))
    made = card.RawModule.get_function

    def get_function(self, name):
        function = made(self, name)
        function.num_regs, function.local_size_bytes = 40, 0
        return function

    monkeypatch.setattr(card.RawModule, "get_function", get_function)
    return cupy


def test_rows_say_how_close_they_come(a_card):
    told = []
    report = gpu.run(["scara"], states=STATES, rounds=2, progress=told.append)
    assert report.card == "a card, CuPy test, CUDA 13.2"
    assert report.missing == ["frax"]
    assert "scara: gravity_torque, float32" in told
    assert [(row.dtype, row.who) for row in report.rows] == [
        (dtype, who) for dtype in ("float64", "float32") for who in (US, f"{US}, columns")
    ]
    for row in report.rows:
        assert row.states == STATES
        assert row.seconds_per_state == pytest.approx(LAUNCH / STATES)
        assert row.bytes_per_state == 8 * np.dtype(row.dtype).itemsize  # four angles in, four torques out
        assert row.of_copy == pytest.approx(row.bytes_per_state / row.seconds_per_state / 1e12)
        assert row.of_arithmetic == pytest.approx(row.steps_per_state / row.seconds_per_state / 1e12)
        assert row.differs == 0.0  # the CPU's bits
        assert (row.registers, row.ratio_to_us) == (40, 1.0)


def test_results_that_differ_are_told(a_card, monkeypatch):
    made = card.RawModule.get_function

    def get_function(self, name):
        function = made(self, name)

        def wrong(blocks, threads, arguments, **more):
            function(blocks, threads, arguments, **more)
            arguments[1][...] *= 1.5

        wrong.num_regs, wrong.local_size_bytes = 40, 0
        return wrong

    monkeypatch.setattr(card.RawModule, "get_function", get_function)
    report = gpu.run(["scara"], states=STATES, rounds=1)
    assert all(row.differs == pytest.approx(0.5) for row in report.rows)


def test_results_that_are_not_there_are_refused(a_card, monkeypatch):
    def get_function(self, name):
        return lambda *_, **__: None

    monkeypatch.setattr(card.RawModule, "get_function", get_function)
    with pytest.raises(ElbowroomError, match=r"scara: .* left results unwritten"):
        gpu.run(["scara"], states=STATES, rounds=1)


def test_steps_are_instructions(a_card):
    """Products and sums fuse, so there are fewer than operations; a sine and cosine of a joint are one piece."""
    kernel = er.load("scara").compile("pose", device="cuda")
    own = gpu.steps(kernel) - 3 * gpu.sincos_steps(kernel.source.dialect)  # three joints turn
    assert 0 < own <= kernel.count.total


def test_derivatives_and_chains_are_measured_in_the_same_run(a_card, monkeypatch):
    """Several outputs, another library beside ours, and what gradients say."""
    asked = []

    def theirs(arm, missing, functions, sizes):
        asked.append((functions, arm.model.rotor_inertia.any(), arm.model.viscous.any()))
        return lambda quantity, dtype, inputs: gpu.Contender([("2.0", 64, lambda: 5 * LAUNCH)], 1e-9)

    monkeypatch.setattr(gpu_derivatives, "frax_contenders", theirs)
    monkeypatch.setattr(gpu_derivatives, "_torch", lambda arm: f"torch: {arm.name}")
    monkeypatch.setattr(gpu_derivatives, "_jax", lambda arm: "JAX: no card.")
    monkeypatch.setattr(gpu_derivatives, "_jax_on_card", lambda arm: "JAX in its own stream: no card.")
    report = gpu_derivatives.run(["scara"], joints=[3], states=STATES, rounds=1)
    assert asked == [(gpu_derivatives.frax.derivatives, False, False)]
    assert report.notes[1:] == ["torch: scara", "JAX: no card.", "JAX in its own stream: no card."]
    ours = [row for row in report.rows if row.who != "frax"]
    assert [(row.robot, row.quantity) for row in ours if row.layout == "rows" and row.dtype == "float64"] == [
        ("scara", "inverse_dynamics_derivatives"),
        ("scara", "forward_dynamics_derivatives"),
        ("random3", "mass_matrix"),
    ]
    assert all(row.differs == 0.0 for row in ours)
    assert ours[0].bytes_per_state == 8 * (3 * 4 + 3 * 16)
    assert {row.differs for row in report.rows if row.who == "frax"} == {1e-9}


def test_gradients_on_a_card_are_compared_and_refused_where_they_are_wrong(monkeypatch):
    jax = pytest.importorskip("jax", reason="JAX (300 MB) is not installed")
    card_device = SimpleNamespace(platform="card")
    monkeypatch.setattr(jax, "devices", lambda: [card_device])
    put = jax.device_put
    monkeypatch.setattr(jax, "device_put", lambda x, device: put(x))
    arm = er.load("planar2")
    assert "jit, vmap and jacrev of inverse_dynamics" in gpu_derivatives._jax(arm)
    monkeypatch.setattr(gpu_derivatives, "difference", lambda found, wanted: 1e-3)
    with pytest.raises(ElbowroomError, match=r"planar2: JAX's gradients on the card differ .* by 1.0e-03"):
        gpu_derivatives._jax(arm)


def test_frax_is_timed_as_long_as_there_is_memory(monkeypatch):
    """A size that the card has no memory for ends the sizes; any other error is told."""
    pytest.importorskip("jax", reason="JAX (300 MB) is not installed")
    arm = er.load("planar2")
    said = ["RESOURCE_EXHAUSTED: Out of memory while trying to allocate 56.19GiB"]

    def compiled(function, arrays):
        if len(arrays[0]) > 8:
            raise RuntimeError(said[0])
        return lambda q: arm.mass_matrix(np.asarray(q))

    monkeypatch.setattr(gpu.frax, "version", lambda: "1.0")
    monkeypatch.setattr(gpu.frax, "compiled", compiled)
    theirs = gpu.frax_contenders(arm, [], lambda arm: {"mass_matrix": None}, (16, 4, 8))
    q = np.random.default_rng(0).uniform(-1, 1, (40, 2))
    found = theirs("mass_matrix", "float64", [q])
    assert [size for _, size, _ in found.timers] == [4, 8]
    assert found.differs == 0.0
    assert theirs("christoffel", "float64", [q]) is None
    said[0] = "INTERNAL: something else"
    with pytest.raises(RuntimeError, match="something else"):
        theirs("mass_matrix", "float64", [q])
