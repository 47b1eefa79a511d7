"""Compiled kernels against the Program they come from: every operation, one state and many, threads, long programs."""

from __future__ import annotations

import dataclasses
import gc
import pickle
import sys
import threading
import weakref

import llvmlite.binding as binding
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import elbowroom as er
from elbowroom import dynamics
from elbowroom.algebra import absolute, cos, maximum, minimum, sin, sqrt, trace, where
from elbowroom.compile import compiled, cpu, engine, entry, llvm
from elbowroom.compile import entry as kernel_entry
from elbowroom.compile.lower import lower
from elbowroom.compile.registers import Registers
from marks import slow_where
from strategies import examples

QUANTITIES = sorted(er.dynamics.REGISTRY)
# The compiled code fuses products with sums and has its own sines, the Program is evaluated step by step: each of some
# thousand operations may round differently, 1e-16 each, on numbers that cancel by a factor of a thousand at most.
ROUNDING = 1e-11


@pytest.fixture(autouse=True)
def private_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ELBOWROOM_CACHE", str(tmp_path))


def kernel_of(program, dtype=np.float64):
    return compiled(program, dtype=dtype)


def inputs_for(program, batch, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.uniform(-2, 2, (batch, *port.shape)) for port in program.inputs]


def together(result):
    """One vector of everything in a result, dict or named tuple."""
    parts = result.values() if isinstance(result, dict) else result if isinstance(result, tuple) else [result]
    return np.concatenate([np.ravel(np.asarray(part)) for part in parts])


# ---- every operation
def expressions(x, y):
    leaves = st.sampled_from([x, y, x * 2.0, 0.75, -1.5])

    def grow(children):
        two = st.tuples(children, children)
        return st.one_of(
            two.map(lambda p: p[0] + p[1]),
            two.map(lambda p: p[0] - p[1]),
            two.map(lambda p: p[0] * p[1]),
            two.map(lambda p: p[0] / (p[1] * p[1] + 1.0)),
            two.map(lambda p: minimum(p[0], p[1])),
            two.map(lambda p: maximum(p[0], p[1])),
            children.map(lambda a: -a),
            children.map(sin),
            children.map(cos),
            children.map(absolute),
            children.map(lambda a: sqrt(absolute(a))),
            st.tuples(children, children, children).map(lambda p: where(p[0] < p[1], p[2], p[0] + p[2])),
            st.tuples(children, children).map(lambda p: where((p[0] <= p[1]) & ~(p[0] < 0.0), p[0], p[1])),
            st.tuples(children, children).map(lambda p: where((p[0] > p[1]) | (p[0] == p[1]), p[1], p[0] * 3.0)),
        )

    return st.recursive(leaves, grow, max_leaves=12)


@examples(15)
@given(data=st.data())
def test_random_expressions(data):
    program = trace(
        lambda _, v: np.array([data.draw(expressions(v[0], v[1])) for _ in range(3)], dtype=object), None, {"v": (2,)}
    )
    v = np.random.default_rng(3).uniform(-2, 2, (37, 2))
    expected = program.evaluate(v)
    kernel = kernel_of(program)
    scale = np.maximum(1.0, np.abs(expected))
    # A comparison may flip where its two sides agree to rounding; the results then differ by what `where` jumps by.
    agree = np.abs(kernel(v) - expected) <= 1e-9 * scale
    assert agree.mean() > 0.95
    singles = np.array([kernel(row) for row in v])
    assert np.array_equal(singles, kernel(v))


# ---- whole quantities
ARMS = [er.load("panda"), er.chains.random(5, 3, kinds="RPRRP")]


@pytest.mark.parametrize("name", QUANTITIES)
@pytest.mark.parametrize("arm", slow_where(lambda arm: arm.n > 5, ARMS), ids=lambda a: a.name)
def test_one_state_and_the_same_state_in_a_batch_give_the_same_bits(arm, name):
    kernel = arm.compile(name)
    states = inputs_for(kernel.program, 23)
    batch = kernel(*states)
    expected = kernel.program.evaluate(*states)
    assert np.allclose(together(batch), together(expected), rtol=ROUNDING, atol=ROUNDING)
    for k in (0, 3, 19, 20, 22):
        one = kernel(*(x[k] for x in states))
        slow = kernel.general(*(x[k] for x in states))
        row = tuple(part[k] for part in batch) if isinstance(batch, tuple) else batch[k]
        assert np.array_equal(together(one), together(row))
        assert np.array_equal(together(slow), together(row))


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 7, 8, 9, 4095, 4096, 4097, 9001])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_every_batch_length_and_thread_count_gives_the_same_bits(length, threads):
    arm = er.load("ur5e")
    kernel = arm.compile("inverse_dynamics")
    states = inputs_for(kernel.program, 9001)
    whole = kernel(*states)
    out = np.full((length + 1, 6), 7.0)
    kernel(*(x[:length] for x in states), out=out[:length], threads=threads)
    assert np.array_equal(out[:length], whole[:length])
    assert (out[length] == 7.0).all()  # nothing is written behind the end


@pytest.mark.parametrize("room", [5, 28])
@pytest.mark.parametrize("name", ["mass_matrix", "inverse_dynamics", "operational_space_translation", "jacobian"])
def test_cutting_a_program_into_functions_changes_no_bit(name, room, monkeypatch):
    model = er.load("panda").model
    method = er.dynamics.quantity(name).fast[0]
    program = er.dynamics.program(model, name, method)
    states = inputs_for(program, 11)
    whole = kernel_of(program)(*states)
    monkeypatch.setattr(llvm, "ALONE", 10)
    monkeypatch.setattr(llvm, "CHUNK", 97)
    monkeypatch.setattr(llvm, "SPARE", engine.host().registers - room)
    cut = compiled(program, method="cut")
    assert np.array_equal(together(cut(*states)), together(whole))
    assert np.array_equal(together(cut(*(x[4] for x in states))), together(kernel_of(program)(*(x[4] for x in states))))


def test_the_value_that_is_read_last_makes_room():
    steps = [(2, ("add", 0, 1)), (3, ("mul", 2, 2)), (4, ("sub", 3, 1)), (5, ("mul", 4, 0)), (6, ("add", 5, 2))]
    registers = Registers(steps, 2, [0, 1])
    assert [registers.next() for _ in steps] == [[0], [2], [], [], []]
    unlimited = Registers(steps, 0, [0, 1])
    assert [unlimited.next() for _ in steps] == [[]] * 5


@pytest.mark.slow
def test_a_long_program_is_cut_and_agrees():
    program = dynamics.program(er.chains.random(30, seed=1).model, "mass_matrix", "gdahj")
    q = np.random.default_rng(0).uniform(-3, 3, (9, 30))
    kernel = compiled(program, method="gdahj")
    assert len(lower(kernel.program).steps) > llvm.ALONE
    assert np.allclose(kernel(q), kernel.program.evaluate(q), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["mass_matrix", "inverse_dynamics", "forward_dynamics"])
def test_single_precision(name):
    arm = er.load("panda")
    kernel, double = arm.compile(name, dtype=np.float32), arm.compile(name)
    states = inputs_for(kernel.program, 50)
    result = kernel(*states)
    assert result.dtype == np.float32
    exact = double(*states)
    # Single precision rounds at 6e-8; forward dynamics amplifies by the condition of M, about a thousand for the Panda.
    limit = 1e-3 if name == "forward_dynamics" else 2e-5
    assert np.abs(result - exact).max() < limit * np.abs(exact).max()
    assert np.array_equal(kernel(*(x[3] for x in states)), result[3])


@pytest.mark.parametrize("name", ["mass_matrix", "jacobian", "kinetic_energy"])
def test_single_precision_takes_the_short_way_in(name, monkeypatch):
    """Plain float32 arrays never reach Python; anything else does, and has the same bits."""
    kernel = er.load("planar2").compile(name, dtype=np.float32)
    rng = np.random.default_rng(0)
    state = [rng.uniform(-1, 1, p.shape).astype(np.float32) for p in kernel.signature.inputs]
    batch = [rng.uniform(-1, 1, (9, *p.shape)).astype(np.float32) for p in kernel.signature.inputs]
    slow = [kernel.general(*state), kernel.general(*batch)]
    kernel(*batch)  # compiles the function for batches
    reached = []
    short = kernel.fast(lambda *args, **named: reached.append(args) or kernel.general(*args, **named))
    out = kernel.empty()
    for arrays, expected in zip((state, batch), slow, strict=True):
        found = short(*arrays)
        parts = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
        for a, b in parts:
            assert np.array_equal(a, b)
            assert np.asarray(a).dtype == (np.float64 if isinstance(a, float) else np.float32)
    if name != "kinetic_energy":
        assert short(*state, out=out) is out
    if not kernel_entry.supported():
        pytest.skip("no emitted entry on this interpreter")
    assert reached == []
    with pytest.raises(ValueError, match="q must be finite"):
        short(np.full(2, np.inf, np.float32), *state[1:])
    short(*(x.astype(np.float64) for x in state))
    assert len(reached) == 2


def test_other_floating_types_are_refused_by_name():
    with pytest.raises(TypeError, match="float64 or float32; got float16"):
        er.load("planar2").compile("mass_matrix", dtype=np.float16)


def test_outputs_without_operations():
    """Constants, an input passed through, and a sine alone, also when the program is cut."""
    program = trace(
        lambda _, x: {"a": np.array([1.5, x[0], sin(x[1])], dtype=object), "b": np.array([cos(x[1])], dtype=object)},
        None,
        {"x": (2,)},
    )
    x = np.random.default_rng(0).uniform(-1, 1, (6, 2))
    a, b = kernel_of(program)(x)
    assert np.array_equal(a[:, :2], np.c_[np.full(6, 1.5), x[:, 0]])
    assert np.allclose(a[:, 2], np.sin(x[:, 1]), rtol=1e-15)
    assert np.allclose(b[:, 0], np.cos(x[:, 1]), rtol=1e-15)


# ---- the target
@pytest.mark.parametrize(
    "triple,cpu_name,fma",
    [("x86_64-unknown-linux-gnu", "x86-64", False), ("aarch64-unknown-linux-gnu", "generic", True)],
)
def test_code_is_made_for_any_x86_64_and_arm64(triple, cpu_name, fma):
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    target = llvm.Target(cpu_name, "", 128, fma)
    for name in ("mass_matrix", "inverse_dynamics"):
        program = er.dynamics.program(er.load("panda").model, name, er.dynamics.quantity(name).fast[0])
        for kind in ("one", "many"):
            module = binding.parse_assembly(llvm.module(program, target, np.dtype(float), kind))
            machine = binding.Target.from_triple(triple).create_target_machine(cpu=cpu_name, opt=1, reloc="pic")
            assembly = machine.emit_assembly(module)
            assert "call\tfma" not in assembly  # no fused step that would be a slow library call
            assert "\tbl\tfma" not in assembly
            assert len(machine.emit_object(module)) > 1000


def test_a_plain_x86_64_gives_the_same_numbers():
    """SSE2 alone: two lanes, nothing fused."""
    if not binding.get_process_triple().startswith("x86_64"):
        pytest.skip("not an x86-64 machine")
    program = er.dynamics.program(er.load("panda").model, "forward_dynamics", "crba")
    target = llvm.Target("x86-64", "", 128, False)
    import ctypes

    loaded = engine.Loaded(engine.object_code(llvm.module(program, target, np.dtype(float), "many"), target))
    many = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(loaded.address("many"))
    states = inputs_for(program, 5)
    out = np.empty((5, 7))
    assert many((ctypes.c_void_p * 4)(*(a.__array_interface__["data"][0] for a in (*states, out))), 5) == -1
    assert np.allclose(out, program.evaluate(*states), rtol=ROUNDING, atol=ROUNDING)


# ---- the compiler
def counted(monkeypatch):
    """The texts that are compiled from now on, in a process that has compiled nothing."""
    texts, emitted = [], engine._emitted
    monkeypatch.setattr(engine, "_MADE", {})
    monkeypatch.setattr(engine, "_emitted", lambda ir, target: texts.append(ir) or emitted(ir, target))
    return texts


def text(k):
    return f"define i64 @f() {{\n  ret i64 {k}\n}}\n"


def test_one_text_is_compiled_once(monkeypatch):
    texts, host = counted(monkeypatch), engine.host()
    first = engine.object_code(text(1), host)
    assert engine.object_code(text(1), host) == first
    assert engine.object_code(text(2), host) != first
    other = dataclasses.replace(host, cpu="x86-64" if host.cpu != "x86-64" else "nehalem", features="")
    if binding.get_process_triple().startswith("x86_64"):
        engine.object_code(text(1), other)  # another CPU may need other code
    assert texts == [text(1), text(2), text(1)][: len(texts)]
    for _ in range(2):
        with pytest.raises(RuntimeError):
            engine.object_code("define nothing", host)


def test_kernels_of_one_text_are_apart(monkeypatch):
    """Two names for one function: one text, and two kernels that compute."""
    texts = counted(monkeypatch)
    monkeypatch.setenv("ELBOWROOM_CACHE", "off")
    kernels = [compiled(lambda _, x: x * 2.0 + 0.625, None, {"x": (2,)}, method=method) for method in "ab"]
    assert [kernel([1.0, 2.0]).tolist() for kernel in kernels] == [[2.625, 4.625]] * 2
    assert len(texts) == 1


def test_what_was_asked_for_longest_ago_is_forgotten(monkeypatch):
    texts, host = counted(monkeypatch), engine.host()
    size = len(engine.object_code(text(1), host))
    monkeypatch.setattr(engine, "KEPT", 2 * size)
    for k in (2, 1, 3, 1, 2):  # when 3 comes, 2 was asked for longer ago than 1
        engine.object_code(text(k), host)
    assert texts == [text(k) for k in (1, 2, 3, 2)]


# ---- the CPython entry
def test_the_entry_serves_here_and_its_results_own_their_memory():
    assert entry.supported()
    arm = er.load("panda")
    first = arm.mass_matrix(arm.ready)
    entered = arm.mass_matrix
    assert type(entered).__name__ == "builtin_function_or_method"
    second = entered(arm.ready)
    assert np.array_equal(first, second)
    assert second.flags.owndata
    assert second.flags.writeable
    out = np.empty((7, 7))
    assert entered(arm.ready, out=out) is out
    assert np.array_equal(out, first)
    pair = arm.jacobian(arm.ready)
    again = arm.jacobian(arm.ready)
    assert type(pair) is type(again)
    assert again._fields == ("Jv", "Jw")
    assert np.array_equal(pair.Jv, again.Jv)
    assert isinstance(arm.kinetic_energy(arm.ready, arm.ready), float)
    assert isinstance(arm.kinetic_energy(arm.ready, arm.ready), float)


@pytest.mark.parametrize("name", ["mass_matrix", "jacobian", "kinetic_energy"])  # an array, a named tuple, a scalar
def test_the_entry_serves_batches(name):
    kernel = er.chains.planar(3).compile(name)
    states = inputs_for(kernel.program, 11)
    expected = kernel.general(*states)  # and the code for batches is there from now on
    entered = kernel.fast(lambda *_, **__: "slow")
    assert type(entered(*states)) is type(expected)
    assert np.array_equal(together(entered(*states)), together(expected))
    parts = entered(*states) if isinstance(expected, tuple) else (entered(*states),)
    assert all(part.flags.owndata and part.flags.writeable for part in parts)
    out = kernel.general(*(0 * x for x in states))
    assert entered(*states, out=out) is out
    assert np.array_equal(together(out), together(expected))
    for other in (
        [x[None] for x in states],
        [x[:0] for x in states],
        [x[::2] for x in states],
        [x[:, ::-1] for x in states],
        [x.astype(np.float32) for x in states],
        [np.where(np.arange(11)[:, None] == 10, np.nan, x) for x in states],
    ):
        assert entered(*other) == "slow"
    if len(states) > 1:
        assert entered(states[0], states[1][:10]) == "slow"
        assert entered(states[0], states[1][0]) == "slow"


def test_the_entry_writes_no_batch_over_its_own_inputs():
    kernel = er.chains.planar(3).compile("inverse_dynamics")
    states = inputs_for(kernel.program, 11)
    expected = kernel.general(*states)
    room = np.zeros((12, 3))
    room[:11] = states[0]
    for out in (room[:11], room[1:]):
        assert kernel.fast(lambda *_, **__: "slow")(room[:11], *states[1:], out=out) == "slow"
    kernel(room[:11], *states[1:], out=room[1:])
    assert np.array_equal(room[1:], expected)


@pytest.mark.parametrize("length", [0, 1, 3])
@pytest.mark.parametrize("batch", [False, True])
def test_the_entry_refuses_a_named_tuple_of_another_length(length, batch):
    """tuple.__new__ makes one; the code must not read beyond its end."""
    arm = er.chains.planar(3)
    q = np.zeros((5, 3)) if batch else np.zeros(3)
    pair = arm.jacobian(q)
    wrong = tuple.__new__(type(pair), [np.empty_like(pair.Jv) for _ in range(length)])
    for _ in range(2):
        with pytest.raises(er.ShapeError, match=f"out must be 2 arrays; got {length}"):
            arm.jacobian(q, out=wrong)


def test_the_entry_leaks_no_reference():
    arm = er.load("planar2")
    q, out = np.array([0.1, 0.2]), np.empty((2, 2))
    Q, bad, outs = np.tile(q, (9, 1)), np.full((9, 2), np.nan), np.empty((9, 2, 2))

    def calls():
        for _ in range(2000):
            arm.mass_matrix(q)
            arm.mass_matrix(q, out=out)
            arm.jacobian(q)
            arm.kinetic_energy(q, q)
            arm.gravity_torque([0.1, 0.2])
            arm.mass_matrix(Q)
            arm.mass_matrix(Q, out=outs)
            arm.jacobian(Q)
            arm.kinetic_energy(Q, Q)
        for _ in range(1000):
            with pytest.raises(ValueError, match="finite"):
                arm.mass_matrix(bad)

    calls()
    gc.collect()
    watched = (q, out, Q, bad, outs, np.dtype(np.float64), np.ndarray, type(arm.jacobian(q)))
    before = [sys.getrefcount(x) for x in watched]
    blocks = sys.getallocatedblocks()
    calls()
    gc.collect()
    assert [sys.getrefcount(x) for x in watched] == before
    assert sys.getallocatedblocks() - blocks < 200  # a leak would be thousands


def test_an_entry_keeps_its_code_alive_and_lets_it_go(monkeypatch):
    """Threads that compile the same at once drop all but one kernel; an entry of a dropped one must still work."""
    monkeypatch.setattr(cpu, "KEPT", 0)
    q = np.array([0.1, 0.2])
    kernel = er.load("planar2").compile("mass_matrix")
    expected = kernel(q)
    entered = kernel.fast(lambda *_, **__: "slow")
    code = weakref.ref(kernel.backend)
    del kernel
    gc.collect()
    assert code() is not None
    assert np.array_equal(entered(q), expected)
    assert entered([0.1, 0.2]) == "slow"
    del entered
    gc.collect()
    assert code() is None


def test_without_the_entry_everything_still_works(monkeypatch):
    plain = er.load("ur5e")
    expected = plain.mass_matrix(plain.ready), plain.jacobian(plain.ready)
    monkeypatch.setattr(entry, "supported", lambda: False)
    arm = er.Arm(dataclasses.replace(plain.model, description="another"))
    for _ in range(2):
        assert np.array_equal(arm.mass_matrix(arm.ready), expected[0])
        assert np.array_equal(arm.jacobian(arm.ready).Jv, expected[1].Jv)
    with pytest.raises(er.ShapeError, match="q must have shape"):
        arm.mass_matrix([1, 2, 3])


def test_a_method_keeps_its_words_after_the_first_call():
    arm = er.load("planar2")
    before = arm.mass_matrix.__doc__
    arm.mass_matrix([0.1, 0.2])
    assert arm.mass_matrix.__doc__ == before
    assert "symmetric" in before


def test_a_subclass_keeps_its_own_methods():
    class Twice(er.Arm):
        def mass_matrix(self, q, *, out=None):
            return 2 * super().mass_matrix(q, out=out)

    arm = Twice(er.load("planar2").model)
    values = [arm.mass_matrix([0.1, 0.2])[0, 0] for _ in range(3)]
    assert values == [2 * er.load("planar2").mass_matrix([0.1, 0.2])[0, 0]] * 3
    assert type(arm.with_payload(1.0)) is Twice
    assert type(pickle.loads(pickle.dumps(er.load("planar2")))) is er.Arm


def test_a_model_cannot_be_exchanged_under_its_kernels():
    arm = er.load("planar2")
    with pytest.raises(AttributeError):
        arm.model = arm.model.with_gravity([0, 0, 0])
    assert not arm.with_gravity([0, 0, 0]).gravity_torque([0.1, 0.2]).any()


@pytest.mark.slow
def test_large_outputs_on_a_small_stack():
    """5000 numbers a state take 160 kB of room for the last block of a batch, more than this thread's stack."""
    program = trace(lambda _, x: np.array([x[k % 3] for k in range(5000)]), None, {"x": (3,)}, name="wide")
    kernel = compiled(program, method="wide")
    Q = np.arange(9.0).reshape(3, 3)
    kernel(Q)
    result = []
    size = threading.stack_size(128 * 1024)
    try:
        worker = threading.Thread(target=lambda: result.append(kernel(Q)))
        worker.start()
        worker.join()
    finally:
        threading.stack_size(size)
    assert np.array_equal(result[0], np.tile(Q, 1667)[:, :5000])


def test_an_arm_can_be_pickled_after_use():
    arm = er.load("ur5e")
    M = arm.mass_matrix(arm.ready)
    again = pickle.loads(pickle.dumps(arm))
    assert again.model == arm.model
    assert np.array_equal(again.mass_matrix(arm.ready), M)


def test_many_threads_asking_at_once():
    arm = er.load("iiwa7")
    Q = np.random.default_rng(0).uniform(-1, 1, (500, 7))
    expected = er.load("iiwa7").mass_matrix(Q)
    wrong = []

    def work(k):
        for i in range(k, 500, 8):
            if not np.array_equal(arm.mass_matrix(Q[i]), expected[i]):
                wrong.append(i)
        if not np.array_equal(arm.mass_matrix(Q), expected):
            wrong.append(-1)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where_", [0, 5, 12])
def test_what_is_not_finite_is_refused_in_one_state_and_in_a_batch(bad, where_):
    arm = er.load("panda")
    Q = np.zeros((13, 7))
    Q[where_, 6] = bad
    with pytest.raises(ValueError, match=rf"q must be finite; got .* at \({where_}, 6\)"):
        arm.mass_matrix(Q)
    arm.mass_matrix(np.zeros(7))
    with pytest.raises(ValueError, match=r"q must be finite; got .* at \(6,\)"):
        arm.mass_matrix(Q[where_])


def test_a_condition_that_many_operations_part_from_its_use_survives_the_cut() -> None:
    """A long program is cut into functions, and what crosses a cut goes through memory: conditions too."""

    def long(_: object, x: np.ndarray) -> object:
        sign = x[0] < x[1]
        total = x[0]
        for _step in range(llvm.ALONE):
            total = 0.999 * total + x[1]
        return where(sign, total, -total)

    program = trace(long, None, {"x": (2,)}, name="long")
    kernel = compiled(program, method="long")
    states = np.array([[0.1, 0.2], [0.2, 0.1], [0.5, 0.5], [-1.0, 2.0], [2.0, -1.0]])
    np.testing.assert_allclose(kernel(states), program.evaluate(states), rtol=1e-12)  # thousands of roundings later
    for state, value in zip(states, kernel(states), strict=True):
        assert kernel(state) == value
