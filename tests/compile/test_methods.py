"""Methods that a kernel computes, on arms, bodies and skeletons: every reference is the same fast function."""

from __future__ import annotations

import gc
import inspect
import pickle
import sys
import weakref

import numpy as np
import pytest

import elbowroom as er
from elbowroom.compile import entry
from elbowroom.compile.identity import identity
from elbowroom.compile.method import _KernelMethod, kernel_method
from elbowroom.geometry import Body, Skeleton
from elbowroom.model import LinkCapsule

POINTS = ("head", "collar", "hip", *(f"{s}_{p}" for s in ("left", "right") for p in ("shoulder", "elbow", "hand")))
METHODS = [
    (kind, name)
    for kind in (er.Arm, Body, Skeleton)
    for name, value in vars(kind).items()
    if isinstance(value, _KernelMethod)
]
every = pytest.mark.parametrize("kind, name", METHODS, ids=lambda x: x if isinstance(x, str) else x.__name__)


def example(kind):
    arm = er.load("planar2")
    if kind is Body:
        return Body(arm, [LinkCapsule("rod", 0, (0, 0, 0), (1, 0, 0), 0.1)])
    return Skeleton(POINTS) if kind is Skeleton else arm


def needed(kind, name):
    """Plain arrays for what has no default."""
    shape = (len(POINTS), 3) if kind is Skeleton else (2,)
    parameters = list(inspect.signature(getattr(kind, name)).parameters.values())[1:]
    count = sum(p.default is inspect.Parameter.empty for p in parameters)
    return [np.random.default_rng(k).uniform(0.1, 1.0, shape) for k in range(count)]


def python_frames(call, *args, **named):
    """How many Python functions a call enters."""
    entered = []
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, _: entered.append(frame) if event == "call" else None)
    try:
        call(*args, **named)
    finally:
        sys.setprofile(before)
    return len(entered)


def together(result):
    return np.concatenate([np.ravel(part) for part in (result if isinstance(result, tuple) else (result,))])


def test_all_three_classes_have_such_methods():
    assert {kind for kind, _ in METHODS} == {er.Arm, Body, Skeleton}
    assert len(METHODS) > 25


@every
def test_a_reference_from_before_the_first_call_is_the_one_from_after_it(kind, name):
    owner, inputs = example(kind), needed(kind, name)
    held = getattr(owner, name)
    first = held(*inputs)
    assert getattr(owner, name) is held
    assert python_frames(held, *inputs) == 0  # the emitted code answers alone
    assert np.array_equal(together(held(*inputs)), together(first))
    assert python_frames(held, *(x.tolist() for x in inputs)) > 0  # and comes back for anything else
    assert np.array_equal(together(held(*(x.tolist() for x in inputs))), together(first))


@every
def test_name_words_and_signature_are_the_same_before_and_after(kind, name):
    written = getattr(kind, name)
    parameters = [p.replace(annotation=p.empty) for p in inspect.signature(written).parameters.values()]
    owner = example(kind)
    for _ in range(2):
        method = getattr(owner, name)
        assert method.__name__ == name
        assert method.__doc__ == written.__doc__
        assert inspect.signature(method) == inspect.Signature(parameters[1:])
        method(*needed(kind, name))


def test_looking_at_an_arm_compiles_nothing(monkeypatch):
    monkeypatch.setattr("elbowroom.compile.cpu.kernel", None)  # would be called
    arm = er.load("planar2")
    for kind, name in METHODS:
        if kind is er.Arm:
            inspect.signature(getattr(arm, name))


def test_a_held_method_can_be_pickled_before_and_after_the_first_call():
    arm, q = er.load("planar2"), np.array([0.1, 0.2])
    held = arm.mass_matrix
    for _ in range(2):
        again = pickle.loads(pickle.dumps(held))
        assert np.array_equal(again(q), held(q))
        assert python_frames(again, q) == 0


def test_a_method_is_told_from_that_of_another_arm():
    """A function that is traced may hold one: its kernel on disk must not be taken for that of another arm."""
    arm, same, other = er.load("planar2"), er.load("planar2"), er.load("planar2").with_payload(1.0)
    before = identity(arm.mass_matrix)
    arm.mass_matrix([0.1, 0.2])
    assert identity(arm.mass_matrix) == identity(same.mass_matrix) == before
    assert len({before, identity(other.mass_matrix), identity(arm.christoffel)}) == 3


def test_a_skeleton_can_be_pickled_after_use():
    skeleton = Skeleton(POINTS, floor=0.1)
    inputs = needed(Skeleton, "fill")
    rows = skeleton.fill(*inputs)
    again = pickle.loads(pickle.dumps(skeleton))
    assert np.array_equal(again.fill(*inputs), rows)
    assert again.fill is not skeleton.fill


def test_a_method_put_in_the_place_of_one_stays():
    arm, q = er.load("planar2"), np.array([0.1, 0.2])
    held = arm.mass_matrix
    arm.mass_matrix = lambda q: "mine"
    assert held(q).shape == (2, 2)
    assert arm.mass_matrix(q) == "mine"


def test_a_subclass_reaches_the_method_it_hides():
    class Twice(er.Arm):
        def mass_matrix(self, q, *, out=None):
            """Twice as heavy."""
            return 2 * super().mass_matrix(q, out=out)

    q = np.array([0.1, 0.2])
    arm = Twice(er.load("planar2").model)
    held = arm.mass_matrix
    for method in (held, arm.mass_matrix, arm.mass_matrix):
        assert np.array_equal(method(q), 2 * er.load("planar2").mass_matrix(q))
        assert method.__doc__ == "Twice as heavy."


@pytest.mark.parametrize("unbound", [False, True])
@every
def test_a_subclass_with_a_kernel_method_of_its_own_keeps_it(kind, name, unbound):
    def hiding(self, *inputs, out=None):
        found = getattr(kind, name)(self, *inputs) if unbound else getattr(super(mine, self), name)(*inputs)
        return 2 * together(found)

    hiding.__name__ = name
    mine = type("Mine", (kind,), {name: kernel_method(hiding)})
    inputs, plain = needed(kind, name), example(kind)
    wanted = 2 * together(getattr(plain, name)(*inputs))
    owner = hidden(mine, plain)
    held = getattr(owner, name)
    for method in (held, held, getattr(owner, name)):
        assert np.array_equal(method(*inputs), wanted)


def hidden(mine, plain):
    """The same object, of a subclass."""
    if isinstance(plain, er.Arm):
        return mine(plain.model)
    return mine(plain.arm, plain.link_capsules) if isinstance(plain, Body) else mine(plain.points)


def test_an_arm_whose_methods_were_used_is_let_go():
    arm = er.load("planar2")
    arm.mass_matrix([0.1, 0.2])
    held = arm.gravity_torque
    gone = weakref.ref(arm)
    del arm
    gc.collect()
    assert gone() is not None  # `held` has it
    assert held(np.zeros(2)).shape == (2,)
    del held
    gc.collect()
    assert gone() is None


def test_without_emitted_code_a_method_is_a_method(monkeypatch):
    monkeypatch.setattr(entry, "supported", lambda: False)
    arm = er.load("planar2")
    for _ in range(2):
        assert inspect.ismethod(arm.mass_matrix)
        assert list(inspect.signature(arm.mass_matrix).parameters) == ["q", "out"]
        assert arm.mass_matrix([0.1, 0.2]).shape == (2, 2)
