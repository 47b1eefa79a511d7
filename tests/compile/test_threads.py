"""Threads of a batch, Ctrl-C while they run, and processes that fork while a thread compiles."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import elbowroom as er
from elbowroom.compile import cpu
from elbowroom.geometry import Body


@pytest.fixture(autouse=True)
def private_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ELBOWROOM_CACHE", str(tmp_path))


@pytest.fixture
def cores(monkeypatch):
    """As if there were so many, wherever this runs."""
    monkeypatch.setattr(cpu, "_cores", lambda: 8)


@pytest.mark.parametrize("batch, threads", [(1, 2), (4097, 2), (100_001, 3), (5_000_000, 8)])
def test_threads_share_all_states_once(batch, threads):
    pieces = cpu._pieces(batch, threads, 4)
    ends = [first + size for first, size in pieces]
    assert [first for first, _ in pieces] == [0, *ends[:-1]]
    assert ends[-1] == batch
    assert all(first % 4 == 0 for first, _ in pieces)  # whole blocks of lanes, but for the last
    sizes = [size for _, size in pieces]
    assert sizes == sorted(sizes, reverse=True)  # large ones first
    assert len(pieces) < 20 * threads


@pytest.mark.parametrize("threads", [2, 3, 8, 10**9, 10**30])
def test_threads_give_the_bits_of_one(cores, threads):
    kernel = er.load("planar2").compile("mass_matrix")
    Q = np.random.default_rng(0).uniform(-3, 3, (30_001, 2))
    assert np.array_equal(kernel(Q, threads=threads), kernel(Q))


@pytest.mark.parametrize("threads, states", [(1, 9), (1, 30_001), (2, 9), (7, cpu.BLOCK), (2, cpu.BLOCK + 1)])
def test_what_one_thread_does_takes_the_short_way_in(threads, states, monkeypatch):
    """And larger batches on several threads do not: Python puts those to work."""
    kernel = er.load("planar2").compile("mass_matrix")
    Q = np.random.default_rng(0).uniform(-3, 3, (states, 2))
    expected = kernel(Q)
    reached = []
    short = kernel.fast(lambda *args, **named: reached.append(named) or kernel.general(*args, **named))
    monkeypatch.setattr(kernel, "_fast", short)
    out = np.empty_like(expected)
    assert np.array_equal(kernel(Q, threads=threads), expected)
    assert kernel(Q, out=out, threads=threads) is out
    assert np.array_equal(out, expected)
    assert bool(reached) == (threads > 1 and states > cpu.BLOCK)
    reached.clear()
    kernel(np.zeros((2, cpu.BLOCK, 2)), threads=2)
    assert reached, "two axes of states are as many states"
    with pytest.raises(ValueError, match="threads must be a whole number, at least 1; got 0"):
        kernel(Q, threads=0)
    with pytest.raises(ValueError, match="threads must be a whole number"):
        kernel(Q, threads=1.0)


@pytest.mark.parametrize("bad", [0, 17_777, 30_000])
def test_a_nan_is_found_by_whichever_thread_meets_it(cores, bad):
    kernel = er.load("planar2").compile("mass_matrix")
    Q = np.zeros((30_001, 2))
    Q[bad, 1] = np.nan
    with pytest.raises(ValueError, match=rf"q must be finite; got nan at \({bad}, 1\)"):
        kernel(Q, threads=3)


@pytest.mark.parametrize("batch, machine, most", [(5000, 10**6, 3), (200_000, 10**6, 98), (200_000, 4, 4)])
def test_there_are_no_more_threads_than_pieces_and_cores(monkeypatch, batch, machine, most):
    kernel = er.load("planar2").compile("mass_matrix")
    helpers = []
    monkeypatch.setattr(cpu, "_cores", lambda: machine)
    monkeypatch.setattr(cpu, "_share", lambda: (lambda job, count: helpers.append(count) or -1, None))
    kernel(np.zeros((batch, 2)), threads=10**9)
    assert helpers == [most - 1]


def test_a_thread_that_cannot_be_started_is_done_without(cores):
    kernel = er.load("planar2").compile("mass_matrix")
    Q = np.random.default_rng(0).uniform(-3, 3, (30_001, 2))
    expected = kernel(Q)
    size = threading.stack_size(1 << 60)  # bytes; there is no room for such a stack
    try:
        with pytest.raises(RuntimeError):
            threading.Thread(target=int).start()
        assert np.array_equal(kernel(Q, threads=4), expected)
    finally:
        threading.stack_size(size)


# ---- Ctrl-C
def late(out):
    """Whether somebody still writes into an array."""
    out.fill(7.0)
    time.sleep(0.005)
    return not (out == 7.0).all()


@pytest.mark.slow
def test_an_interrupt_at_any_instruction_leaves_nobody_writing(cores):
    """KeyboardInterrupt raised before each bytecode of `many` and of all that it calls, one after the other."""
    kernel = er.load("panda").compile("christoffel")
    Q = np.zeros((8192, 7))
    out = kernel(Q, threads=2)
    before = sys.gettrace()

    def call_interrupted(step):
        """Whether the call was over before that many instructions."""
        left, inside = step, False

        def tracing(frame, event, _):
            nonlocal left, inside
            inside = inside or frame.f_code is cpu.Cpu.many.__code__
            if not inside:
                return None
            frame.f_trace_opcodes = True
            left -= event == "opcode"
            if left < 0:
                raise KeyboardInterrupt
            return tracing

        sys.settrace(tracing)
        try:
            kernel(Q, out=out, threads=2)
        except KeyboardInterrupt:
            return False
        finally:
            sys.settrace(before)
        return True

    steps, wrong = 0, []
    while not call_interrupted(steps):
        if late(out):
            wrong.append(steps)
        steps += 1
    assert steps > 50  # it was traced
    assert not wrong


INTERRUPTED = """
    import signal, time
    import numpy as np
    import elbowroom as er
    from elbowroom.compile import cpu

    cpu._cores = lambda: 4
    kernel = er.load("panda").compile("christoffel")
    Q = np.random.default_rng(0).uniform(-1, 1, (16384, 7))
    out = kernel(Q, threads=3)
    start = time.perf_counter()
    kernel(Q, out=out, threads=3)
    took = time.perf_counter() - start

    def interrupt(number, frame):
        while frame is not None:  # the calls are interrupted, not those who watch them
            if "elbowroom" in frame.f_code.co_filename:
                raise KeyboardInterrupt
            frame = frame.f_back

    signal.signal(signal.SIGALRM, interrupt)
    late = 0
    for k in range(100):
        try:  # at another moment each time, and then again and again, also while the call ends
            signal.setitimer(signal.ITIMER_REAL, took * (k + 1) / 50, 0.0003)
            while True:
                kernel(Q, out=out, threads=3)
        except KeyboardInterrupt:
            pass
        signal.setitimer(signal.ITIMER_REAL, 0)
        out.fill(7.0)
        time.sleep(0.005)
        late += not (out == 7.0).all()
    print("late:", late)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers here")
def test_a_hundred_calls_interrupted_by_signals_leave_nobody_writing():
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(INTERRUPTED)], capture_output=True, text=True, timeout=300
    )
    assert done.stdout == "late: 0\n", done.stderr


# ---- fork
forking = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


def in_a_child(work):
    """What `work` returned, true or false, in a forked child; None for one that hangs or fails."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if work() else 1)
        finally:
            os._exit(2)
    for _ in range(1200):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return {0: True, 1: False}.get(os.waitstatus_to_exitcode(status))
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


@forking
def test_threads_after_a_fork(cores):
    kernel = er.load("planar2").compile("mass_matrix")
    Q = np.zeros((20000, 2))
    expected = kernel(Q, threads=2)
    assert in_a_child(lambda: np.array_equal(kernel(Q, threads=2), expected))


@forking
@pytest.mark.parametrize("what", ["an arm's method", "a kernel's batches", "another body"])
def test_a_child_compiles_what_a_thread_was_compiling_at_the_fork(monkeypatch, what):
    arm, q = er.load("planar2"), np.array([0.1, 0.2])
    body, other = Body.from_frames(arm, radius=0.1), Body.from_frames(arm, radius=0.2)
    kernel = arm.compile("gravity_torque")
    begun = threading.Event()
    original = cpu.engine.object_code

    def slowly(*args):
        begun.set()
        time.sleep(0.3)  # long enough for the fork to come in between
        return original(*args)

    ask, ask_again = {
        "an arm's method": (lambda: arm.mass_matrix(q), lambda: arm.mass_matrix(q).shape == (2, 2)),
        "a kernel's batches": (lambda: kernel(q[None]), lambda: kernel(q[None]).shape == (1, 2)),
        "another body": (lambda: body.rows(q, q), lambda: other.rows(q, q).shape == (2, 13)),
    }[what]
    monkeypatch.setattr(cpu.engine, "object_code", slowly)
    thread = threading.Thread(target=ask)
    thread.start()
    try:
        assert begun.wait(60)
        assert in_a_child(ask_again)
    finally:
        thread.join()


@pytest.mark.slow
@forking
def test_many_forks_while_a_thread_compiles():
    """A dozen moments of real compiling, LLVM's own locks among them."""
    enough = threading.Event()

    def compile_on():
        seed = 0
        while not enough.is_set():
            er.chains.random(4, seed=seed).mass_matrix(np.zeros(4))
            seed += 1

    def work(k):
        return er.chains.planar(2).with_payload(2.0 + k).mass_matrix(np.zeros(2)).shape == (2, 2)

    assert work(-1)  # all modules are there: a fork while one is imported is beyond us
    thread = threading.Thread(target=compile_on)
    thread.start()
    try:
        for k in range(12):
            assert in_a_child(lambda k=k: work(k)), f"child {k}"
    finally:
        enough.set()
        thread.join()
