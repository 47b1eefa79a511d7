"""Kernels go to other processes as what made them; copies are the kernel itself."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import elbowroom as er
from elbowroom.algebra import Repeated, Table, sin, trace
from elbowroom.cell.plants.drive import Drive
from elbowroom.compile import compiled
from elbowroom.compile.kernel import Kernel, Signature
from elbowroom.geometry import Body, Skeleton
from elbowroom.geometry.pairs import Pairs
from elbowroom.geometry.person import POINTS
from marks import slow_where


@pytest.fixture(autouse=True)
def private_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ELBOWROOM_CACHE", str(tmp_path))


ARM = er.load("planar2")
Q = np.array([0.3, -0.4])


def law(model, q):
    return model.mass[0] * sin(q[0])


def two(_, q):
    return {"first": q + 1.0, "second": 2.0 * q}


def table():
    program = trace(lambda _, x, y: x + y, None, {"x": (2,), "y": (2,)}, name="sums")
    return Table(program, 3, ((0, 1), (1, 2)))


def loop():
    return Repeated(trace(lambda _, q: {"q": 0.5 * q}, None, {"q": (2,)}, name="halved"), 3)


KERNELS = {
    "of an arm": lambda: (ARM.compile("mass_matrix"), Q),
    "by a method": lambda: (ARM.compile("coriolis_matrix", method="gda"), Q, Q),
    "float32": lambda: (ARM.compile("gravity_torque", dtype=np.float32), Q),
    "several outputs": lambda: (ARM.compile("jacobian"), Q),
    "with loops": lambda: (er.chains.random(20, seed=1).compile("mass_matrix"), np.linspace(-1, 1, 20)),
    "of a body": lambda: (Body(ARM).kernel, Q, Q),
    "of pairs": lambda: (Pairs(2, 1).kernel, np.arange(39.0).reshape(3, 13) % 7),
    "of a skeleton": lambda: (Skeleton(POINTS).kernel, np.arange(3.0 * len(POINTS)).reshape(-1, 3), np.zeros((17, 3))),
    "of a function": lambda: (compiled(law, ARM.model, {"q": (2,)}), Q),
    "of two outputs": lambda: (compiled(two, None, {"q": (2,)}), Q),
    "of a lambda": lambda: (compiled(lambda _, q: 3.0 * q, None, {"q": (2,)}), Q),
    "of a program": lambda: (compiled(trace(law, ARM.model, {"q": (2,)})), Q),
    "of a loop": lambda: (compiled(loop()), Q),
    "of a table": lambda: (compiled(table()), np.arange(6.0).reshape(3, 2)),
}


def together(result):
    return np.concatenate([np.ravel(x) for x in (result if isinstance(result, tuple) else (result,))])


@pytest.mark.parametrize("make", KERNELS.values(), ids=KERNELS)
def test_a_pickled_kernel_computes_the_same(make, monkeypatch):
    kernel, *inputs = make()
    pickled = pickle.dumps(kernel)
    if kernel.name not in ("law", "program"):
        monkeypatch.setattr("elbowroom.compile.engine.object_code", refuse)  # it is in the cache
    again = pickle.loads(pickled)
    assert again is not kernel
    assert (again.name, again.method, again.dtype) == (kernel.name, kernel.method, kernel.dtype)
    assert again.signature == kernel.signature
    result = kernel(*inputs)
    assert np.array_equal(together(again(*inputs)), together(result))
    assert type(again(*inputs)) is type(result)
    assert np.array_equal(together(pickle.loads(pickle.dumps(result))), together(result))


def refuse(*_):
    raise AssertionError("compiled although it is in the cache")


@pytest.mark.parametrize("make", KERNELS.values(), ids=KERNELS)
def test_a_copy_of_a_kernel_is_itself(make):
    kernel, *_ = make()
    assert copy.copy(kernel) is kernel
    assert copy.deepcopy({"kernel": [kernel]})["kernel"][0] is kernel


def test_a_pickled_result_has_its_class():
    J = ARM.jacobian(Q)
    again = pickle.loads(pickle.dumps(J))
    assert type(again) is type(J)
    assert np.array_equal(again.Jv, J.Jv)
    assert type(copy.deepcopy(J)) is type(J)
    again = pickle.loads(pickle.dumps(ARM.compile("jacobian").empty()))
    assert ARM.compile("jacobian")(Q, out=again).Jv is again.Jv


def test_a_kernel_without_a_recipe_says_so():
    kernel = ARM.compile("mass_matrix")
    by_hand = Kernel(
        Signature("f", "", kernel.signature.inputs, kernel.signature.outputs), kernel.backend, lambda: None
    )
    with pytest.raises(TypeError, match="was made by hand and cannot be pickled"):
        pickle.dumps(by_hand)


def test_machine_code_is_not_pickled_and_says_what_is():
    kernel = ARM.compile("mass_matrix")
    assert copy.deepcopy(kernel.backend) is kernel.backend
    for part in (kernel.backend, kernel.backend._one, kernel.backend._one._loaded):
        with pytest.raises(TypeError, match="is of this process alone; pickle its kernel instead"):
            pickle.dumps(part)


def test_a_drive_goes_on_where_it_was():
    drive = Drive(ARM).prepare()
    drive.reset(ARM.ready)
    drive.wanted[:], drive.braking = 0.5, False
    zeros = np.zeros(2)
    drive.torque(ARM.ready, zeros, 0.001)
    for again in (copy.deepcopy(drive), pickle.loads(pickle.dumps(drive))):
        before = copy.deepcopy(drive)
        assert np.array_equal(again.torque(ARM.ready, zeros, 0.001), before.torque(ARM.ready, zeros, 0.001))
        assert np.array_equal(again.speed, before.speed)
        assert not np.shares_memory(again.speed, drive.speed)


POOL = """
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np

import elbowroom as er
from elbowroom.avoidance import Controller, Goal, State, Supervisor
from elbowroom.compile import compiled


def stepped(guard, t):
    obstacles = guard.controller.obstacles()
    obstacles.nobody(t)
    state = State(guard.arm.ready, t=t)
    command = guard.step(t, 0.001, state, obstacles, Goal(guard.arm.pose(state.q)[:3, 3], t=t))
    return str(command.status), guard.reason, command.qd


def main(method):
    arm = er.load("planar2")
    q = np.array([0.3, -0.4])
    gain = 3.0
    kernels = [arm.compile("mass_matrix"), arm.compile("jacobian"), compiled(lambda _, q: gain * q, None, {"q": (2,)})]
    guard = Supervisor(Controller(arm, person_capsules=1))
    guard.stop("for lunch")
    stepped(guard, 0.001)
    with ProcessPoolExecutor(1, mp_context=get_context(method)) as pool:
        for kernel in kernels:
            there = pool.submit(kernel, q).result()
            batch = pool.submit(kernel, np.array([q, q])).result()
            here = kernel(q)
            for a, b in zip(there, here):
                assert np.array_equal(a, b)
            assert len(batch) == len(kernel(np.array([q, q])))
        there = pool.submit(stepped, guard, 0.002).result()
        assert there[:2] == ("STOP_INTERNAL", "operator: for lunch"), there
        assert guard.latched
        assert np.array_equal(there[2], stepped(guard, 0.002)[2])
    print("done")


if __name__ == "__main__":
    main(sys.argv[1])
"""


@pytest.mark.parametrize("method", slow_where(lambda method: method != "spawn", ["spawn", "fork", "forkserver"]))
def test_kernels_and_supervisors_go_to_a_process_pool(method, tmp_path):
    """From a script, as users do: spawned processes import it."""
    (tmp_path / "script.py").write_text(POOL)
    done = subprocess.run(
        [sys.executable, tmp_path / "script.py", method],
        capture_output=True,
        text=True,
        timeout=300,
        env=dict(os.environ),
    )
    assert done.stdout == "done\n", done.stderr
    assert done.stderr == ""


@pytest.mark.slow
def test_nothing_is_said_on_standard_error_after_copies():
    """llvmlite's objects must not be copied half: they say so when they end."""
    script = """
        import copy, gc, pickle
        import elbowroom as er
        from elbowroom.avoidance import Controller, Supervisor
        arm = er.load("planar2")
        kernel = arm.compile("mass_matrix")
        kernel(arm.ready), kernel(arm.ready[None]), arm.pose(arm.ready)
        guard = Supervisor(Controller(arm, person_capsules=1))
        parts = [kernel, kernel.backend, kernel.backend._one, kernel.backend._one._loaded, arm, arm.pose, guard]
        for part in parts:
            for way in (copy.copy, copy.deepcopy, pickle.dumps):
                try:
                    way(part)
                except (TypeError, pickle.PicklingError) as error:
                    print(error)
            gc.collect()
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "ctypes" not in done.stdout
