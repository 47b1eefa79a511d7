"""Spilling: a machine with so many registers runs the steps, and kernels that spill have the CPU's bits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import card
import elbowroom as er
from card import needs_cxx, to_card
from elbowroom.compile import compiled, cuda
from elbowroom.compile.cuda import CudaText
from elbowroom.compile.spill import spills

FIRST = 3  # values that are there before the first step


@st.composite
def straight_lines(draw):
    """Steps that each add two values, or a value and a constant, from before."""
    count = draw(st.integers(1, 40))
    steps = []
    for k in range(FIRST, FIRST + count):
        steps.append((k, ("add", draw(st.integers(0, k - 1)), draw(st.integers(-2, k - 1)))))
    return steps


def run(steps, found, registers, until):
    """The values of all steps by a machine that forgets what it may not keep; slots hold what was stored last."""
    last = {k: at for at, (_, (_, *operands)) in enumerate(steps) for k in operands}
    here = {k: 2.0**k for k in range(FIRST) if k in last}
    places, values = {}, {}

    def store(at):
        for k, slot in found.stores.get(at, ()):
            assert slot < 0 or at < last[k] <= until[slot]  # whose place it is, writes there later
            places[slot] = here.pop(k)
        for k in [k for k in here if k not in kept(at)]:
            del here[k]
        assert len(here) <= registers

    def kept(at):
        """What is still to be read, or stored, before it is read back."""
        waits = set()
        for k in here:
            coming = [b for b, (_, (_, *operands)) in enumerate(steps) if b > at and k in operands]
            coming += [b for b, pairs in found.stores.items() if b > at and k in dict(pairs)]
            back = [b for b, pairs in found.loads.items() if b > at and k in dict(pairs)]
            if coming and (not back or min(coming) < min(back)):
                waits.add(k)
        return waits

    store(-1)
    for at, (value, (_, a, b)) in enumerate(steps):
        for k, slot in found.loads.get(at, ()):
            here[k] = places[slot]
        values[value] = here[a] + (here[b] if b >= 0 else float(b))
        here[value] = values[value]
        store(at)
    return values


@given(straight_lines(), st.integers(3, 6), st.lists(st.integers(0, 40), max_size=4))
def test_a_machine_with_few_registers_finds_the_same_values(steps, registers, ends):
    until = dict(enumerate(ends))
    found = spills(range(FIRST), steps, registers, until)
    values = dict.fromkeys(range(FIRST))
    values |= {k: 2.0**k for k in range(FIRST)}
    for k, (_, a, b) in steps:
        values[k] = values[a] + (values[b] if b >= 0 else float(b))
    computed = run(steps, found, registers, until)
    assert computed == {k: values[k] for k, _ in steps}
    used = {slot for pairs in found.stores.values() for _, slot in pairs if slot < 0}
    assert used == set(range(-found.slots, 0))


def test_nothing_waits_where_there_is_room():
    steps = [(k, ("add", k - 1, k - 2)) for k in range(2, 30)]
    assert spills(range(2), steps, 3).moves == 0


@pytest.fixture
def few_registers(monkeypatch):
    monkeypatch.setattr(cuda, "library", lambda: card.cupy)
    for real in ("double", "float"):
        monkeypatch.setitem(cuda.ALIVE, real, 12)
        for layout in cuda.LAYOUTS:
            monkeypatch.setitem(cuda.KEPT, (real, layout), 8)
    monkeypatch.setattr(cuda, "LEAST_KEPT", 8)


@needs_cxx
@pytest.mark.parametrize("layout", ["rows", "columns"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("quantity", ["mass_matrix", "inverse_dynamics_derivatives"])
def test_kernels_that_spill_have_the_bits_of_the_cpu(few_registers, quantity, dtype, layout):
    arm = er.load("ur5e")
    kernel = arm.compile(quantity, dtype=dtype, device="cuda", layout=layout)
    text = kernel._kernel
    assert text.spilled.moves > 10
    assert "ew_wait[" in kernel.text
    inputs = np.random.default_rng(0).uniform(-1, 1, (len(kernel.signature.inputs), 70, arm.n)).astype(dtype)
    wanted = compiled(kernel.program, dtype=dtype)(*inputs)
    found = kernel(*(to_card(x.T if layout == "columns" else x) for x in inputs))
    for a, b in zip(*((x,) if isinstance(x, np.ndarray) else x for x in (wanted, found)), strict=True):
        assert np.array_equal(a, np.moveaxis(b, -1, 0) if layout == "columns" else b)


def test_seven_joints_need_no_spilling_and_twenty_do():
    panda = er.load("panda")
    for quantity in ("mass_matrix", "inverse_dynamics", "forward_dynamics"):
        assert CudaText(panda.compile(quantity, device="cuda").program).spilled.moves == 0, quantity
    twenty = er.chains.random(20, seed=1).compile("mass_matrix", device="cuda")
    assert twenty.method == "crba"  # which keeps a third as many values alive as gdahj
    rows, columns = (CudaText(twenty.program, layout=layout, shared=card.SHARED) for layout in ("rows", "columns"))
    assert rows.spilled.moves > 0
    assert rows.spilled.slots == 0  # all of it in places of the results
    assert rows.dynamic == 8 * 32 * 401
    assert columns.threads == 128
    assert columns.dynamic == 8 * 128 * columns.spilled.slots > cuda.SHARED


def test_a_block_has_the_threads_that_most_run_of_at_once():
    assert cuda._threads(128, 0, card.SHARED) == 128  # nothing waits
    assert cuda._threads(128, 70 * 8, card.SHARED) == 128  # three blocks
    assert cuda._threads(128, 150 * 8, card.SHARED) == 64  # three of them, where 128 would have one block
    assert cuda._threads(128, 900 * 8, card.SHARED) == 32
    assert cuda._threads(128, 1000 * 8, card.SHARED) == 0
    assert not CudaText(er.load("scara").compile("mass_matrix", device="cuda").program, shared=64).spilled.moves
