"""The CUDA backend, with the C++ compiler in the place of the card: bits, shapes, refusals."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import card
import elbowroom as er
from card import needs_cxx, to_card
from elbowroom.algebra import trace, where
from elbowroom.compile import compiled, cuda
from elbowroom.compile.cuda import CudaText as Text
from elbowroom.errors import DtypeError, ElbowroomError, ShapeError

pytestmark = needs_cxx
BATCH = 70  # two warps and a part of one
RNG = np.random.default_rng(3)


@pytest.fixture(autouse=True)
def _card(monkeypatch):
    monkeypatch.setattr(cuda, "library", lambda: card.cupy)


@pytest.fixture(scope="module")
def arm():
    return er.load("scara")  # four joints: a row has an even length, so a tile is padded; one joint slides


def states(arm, count=BATCH, dtype=np.float64):
    return [np.asarray(x, dtype) for x in RNG.uniform(-1, 1, (3, count, arm.n))]


@pytest.mark.parametrize("layout", ["rows", "columns"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("quantity, inputs", [("mass_matrix", 1), ("inverse_dynamics", 3), ("jacobian", 1)])
def test_it_has_the_bits_of_the_cpu(arm, quantity, inputs, dtype, layout):
    given = states(arm, dtype=dtype)[:inputs]
    wanted = arm.compile(quantity, dtype=dtype)(*given)
    kernel = arm.compile(quantity, dtype=dtype, device="cuda", layout=layout)
    turned = layout == "columns"
    found = kernel(*(to_card(x.T if turned else x) for x in given))
    for a, b in zip(*((x,) if isinstance(x, np.ndarray) else x for x in (wanted, found)), strict=True):
        assert np.array_equal(a, np.moveaxis(b, -1, 0) if turned else b)


def test_seven_joints_fill_a_tile_without_padding():
    arm = er.load("panda")
    q = states(arm)[0]
    kernel = arm.compile("gravity_torque", device="cuda")
    assert np.array_equal(kernel(to_card(q)), arm.gravity_torque(q))


@pytest.mark.parametrize("count", [1, 31, 32, 33, 129])
def test_any_number_of_states(arm, count):
    q = states(arm, count)[0]
    for layout in ("rows", "columns"):
        found = arm.compile("pose", device="cuda", layout=layout)(to_card(q.T if layout == "columns" else q))
        assert np.array_equal(np.moveaxis(found, -1, 0) if layout == "columns" else found, arm.pose(q))


def test_no_states_and_axes_in_front(arm):
    f = arm.compile("pose", device="cuda")
    assert f(to_card(np.empty((0, arm.n)))).shape == (0, 4, 4)
    q = states(arm, 6)[0].reshape(2, 3, arm.n)
    assert np.array_equal(f(to_card(q)), arm.pose(q))
    assert f(to_card(q[0, 0])).shape == (4, 4)


def long_rows(places):
    """A program whose results take so many places a state."""
    return trace(lambda _, v: {"out": np.array([v[0] * k + v[1] for k in range(places)])}, None, {"v": (2,)})


def test_rows_longer_than_a_block_always_has_room_for_ask_the_card():
    program = long_rows(251)
    kernel = cuda.CudaKernel("test", program)
    v = RNG.uniform(-1, 1, (70, 2))
    assert np.array_equal(kernel(to_card(v)), compiled(program)(v))
    assert kernel.function.max_dynamic_shared_size_bytes == 8 * 32 * 251
    assert not Text(program).tiled  # for a card that grants no more
    assert Text(program, shared=8 * 32 * 251).tiled
    assert not Text(program, shared=8 * 32 * 251 - 1).tiled


@pytest.mark.parametrize("real", ["double", "float"])
def test_an_infinity_needs_no_header(real):
    """NVRTC has no math.h: HUGE_VAL and HUGE_VALF are not words of its language."""
    program = trace(lambda _, v: {"out": np.array([where(v[0] < 0.0, -np.inf, np.inf)])}, None, {"v": (2,)})
    kernel = cuda.CudaKernel("test", program, np.float64 if real == "double" else np.float32)
    assert "HUGE" not in kernel.text
    v = to_card([[-1.0, 0.0], [1.0, 0.0]], kernel.dtype)
    assert kernel(v).tolist() == [[-np.inf], [np.inf]]


def test_arguments_may_be_called_as_our_own_variables():
    names = ["first", "tile", "lane", "states", "mine", "odd", "greatest", "i", "k", "max"]
    program = trace(lambda _, **given: {"count": sum(x[0] for x in given.values())}, None, dict.fromkeys(names, (1,)))
    given = RNG.uniform(-1, 1, (len(names), 40, 1))
    wanted = compiled(program)(*given)
    assert np.array_equal(cuda.CudaKernel("test", program)(*map(to_card, given)), wanted)


def test_rows_too_long_for_shared_memory_go_straight_out():
    program = long_rows(1000)
    assert not Text(program, shared=card.SHARED).tiled
    v = RNG.uniform(-1, 1, (40, 2))
    found = cuda.CudaKernel("test", program)(to_card(v))
    assert np.array_equal(found, compiled(program)(v))


@pytest.mark.parametrize("layout", ["rows", "columns"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_is_not_finite_is_refused_by_name(arm, layout, value, dtype):
    q, qd, qdd = states(arm, 50, dtype)
    qd[49, 0] = value  # the last state, and an element that not every quantity reads
    kernel = arm.compile("inverse_dynamics", dtype=dtype, device="cuda", layout=layout)
    given = [to_card(x.T if layout == "columns" else x) for x in (q, qd, qdd)]
    with pytest.raises(ValueError, match="inverse_dynamics: qd must be finite"):
        kernel(*given)
    kernel(*given, check=False)


def test_an_element_that_is_not_read_is_looked_at(arm):
    q = states(arm)[0]
    q[3, 0] = np.nan  # the mass matrix does not turn with the first joint
    with pytest.raises(ValueError, match="q must be finite"):
        arm.compile("mass_matrix", device="cuda", layout="columns")(to_card(q.T))


def test_great_numbers_are_finite():
    arm = er.load("scara")
    qdd = states(arm)
    qdd[2][:] = np.finfo(float).max / 1e10
    arm.compile("inverse_dynamics", device="cuda")(*map(to_card, qdd))


# ---- arrays
def test_out_is_filled_and_given_back(arm):
    q = to_card(states(arm)[0])
    out = card.cupy.empty((BATCH, arm.n, arm.n), np.float64)
    f = arm.compile("mass_matrix", device="cuda")
    assert f(q, out=out) is out
    assert np.array_equal(out, arm.mass_matrix(np.asarray(q)))
    with pytest.raises(ShapeError, match=r"out for mass_matrix must be contiguous, of shape \(70, 4, 4\); got cont.*5"):
        f(q, out=card.cupy.empty((BATCH, 5, 4), np.float64))
    with pytest.raises(ShapeError, match="got strided"):
        f(q, out=card.cupy.empty((arm.n, arm.n, BATCH), np.float64).transpose(2, 0, 1))
    with pytest.raises(DtypeError, match="out for mass_matrix must be an array of float64; got float32"):
        f(q, out=card.cupy.empty((BATCH, arm.n, arm.n), np.float32))


def test_out_on_an_input_is_refused(arm):
    q, qd, qdd = map(to_card, states(arm))
    with pytest.raises(ValueError, match="lies on an input"):
        arm.compile("inverse_dynamics", device="cuda")(q, qd, qdd, out=qdd)


def test_strided_inputs_are_taken(arm):
    wide = to_card(RNG.uniform(-1, 1, (BATCH, 2 * arm.n)))
    f = arm.compile("pose", device="cuda")
    assert np.array_equal(f(wide[:, ::2]), arm.pose(np.array(wide[:, ::2])))


def test_shapes_are_named(arm):
    q, qd, qdd = map(to_card, states(arm))
    f = arm.compile("inverse_dynamics", device="cuda")
    with pytest.raises(ShapeError, match=r"inverse_dynamics: qd must have shape \(B, 4\); got \(70, 3\)"):
        f(q, qd[:, :3], qdd)
    with pytest.raises(ShapeError, match=r"one batch shape; got q \(70, 4\), qd \(69, 4\)"):
        f(q, qd[1:], qdd)
    with pytest.raises(TypeError, match="missing: qdd"):
        f(q, qd)
    columns = arm.compile("inverse_dynamics", device="cuda", layout="columns")
    with pytest.raises(ShapeError, match=r"q must have shape \(4, B\); got \(70, 4\)"):
        columns(q, qd, qdd)
    assert "q (4, B)" in repr(columns)


def test_arrays_elsewhere_are_refused(arm):
    f = arm.compile("pose", device="cuda")
    with pytest.raises(DtypeError, match=r"pose: q must be an array on the card .*got ndarray; cupy.asarray"):
        f(np.zeros((3, arm.n)))
    with pytest.raises(DtypeError, match="got list"):
        f([0.0] * arm.n)
    with pytest.raises(DtypeError, match=r"must be an array of float64 on the card; got float32 .*dtype='float32'"):
        f(to_card(np.zeros((3, arm.n), np.float32)))


def test_inputs_are_on_one_card(arm, monkeypatch):
    q, qd, qdd = map(to_card, states(arm))
    monkeypatch.setattr(card.cupy, "ascontiguousarray", lambda x: x)  # the real one keeps an array where it is
    qd.card = 1
    with pytest.raises(ElbowroomError, match="must be on one card; got q on 0, qd on 1"):
        arm.compile("inverse_dynamics", device="cuda")(q, qd, qdd)


# ---- other libraries
class Foreign:
    """An array of another library, with the interface that its class gives it."""

    def __init__(self, x):
        self.hidden = np.ascontiguousarray(x)


class Interfaced(Foreign):
    @property
    def __cuda_array_interface__(self):
        return self.hidden.__array_interface__


class Exchanged(Foreign):
    def __dlpack__(self, **keywords):
        return self.hidden.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.hidden.__dlpack_device__()


class Homeless(Foreign):
    def __dlpack__(self, **keywords):
        raise BufferError("it is in the CPU's memory")

    def __dlpack_device__(self):
        return (1, 0)


@pytest.mark.parametrize("kind", [Interfaced, Exchanged])
def test_arrays_of_other_libraries(arm, kind):
    q = states(arm)[0]
    assert np.array_equal(arm.compile("pose", device="cuda")(kind(q)), arm.pose(q))


def test_an_array_that_is_not_on_the_card(arm):
    with pytest.raises(DtypeError, match="this Homeless is not: it is in the CPU's memory"):
        arm.compile("pose", device="cuda")(Homeless(np.zeros((2, arm.n))))


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_results_come_back_as_what_went_in(arm, name, monkeypatch):
    def from_dlpack(x):
        return ("theirs", x)

    fake = SimpleNamespace(from_dlpack=from_dlpack, dlpack=SimpleNamespace(from_dlpack=from_dlpack))
    monkeypatch.setitem(sys.modules, name, fake)
    tensor = type("Tensor", (Exchanged,), {"__module__": f"{name}.whatever"})
    q = states(arm)[0]
    label, found = arm.compile("pose", device="cuda")(tensor(q))
    assert label == "theirs"
    assert np.array_equal(found, arm.pose(q))


# ---- asking for it
def test_what_cannot_be_had_is_refused(arm):
    with pytest.raises(ElbowroomError, match="device: expected 'cpu' or 'cuda'; got 'tpu'"):
        arm.compile("pose", device="tpu")
    with pytest.raises(ElbowroomError, match="layout: expected one of 'rows', 'columns'; got 'tiles'"):
        arm.compile("pose", device="cuda", layout="tiles")
    with pytest.raises(ElbowroomError, match="layout: the CPU takes 'rows'"):
        arm.compile("pose", layout="columns")
    with pytest.raises(DtypeError, match="float64 or float32; got int32"):
        arm.compile("pose", device="cuda", dtype=np.int32)
    with pytest.raises(ElbowroomError, match="pos"):
        arm.compile("pos", device="cuda")


def test_it_is_made_once(arm):
    assert arm.compile("pose", device="cuda") is arm.compile("pose", device="cuda")
    assert arm.compile("pose", device="cuda") is not arm.compile("pose", device="cuda", layout="columns")


def test_without_cupy(arm, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(ElbowroomError, match=r"device 'cuda' needs CuPy \(pip install (-e )?'\.\[gpu\]'\)"):
        arm.compile("pose", device="cuda")(np.zeros(4))


def test_without_a_card(arm, monkeypatch):
    class TroubleError(Exception):
        pass

    def count():
        raise TroubleError("no driver")

    monkeypatch.undo()
    runtime = SimpleNamespace(getDeviceCount=count, CUDARuntimeError=TroubleError)
    fake = SimpleNamespace(__version__="1", cuda=SimpleNamespace(runtime=runtime))
    monkeypatch.setitem(sys.modules, "cupy", fake)
    with pytest.raises(ElbowroomError, match="CuPy 1 finds no card: no driver"):
        arm.compile("pose", device="cuda")(np.zeros(4))
    runtime.getDeviceCount = lambda: 0
    with pytest.raises(ElbowroomError, match="CuPy 1 finds no card"):
        arm.compile("pose", device="cuda")(np.zeros(4))


def test_every_operation(tmp_path):
    """Programs of all operations, several outputs, constants and an output that is an input."""
    from test_source import PROGRAM, V

    wanted = compiled(PROGRAM)(V)
    for layout in ("rows", "columns"):
        found = cuda.CudaKernel("test", PROGRAM, layout=layout)(to_card(V.T if layout == "columns" else V))
        for a, b in zip(wanted, found, strict=True):
            assert np.array_equal(a, np.moveaxis(b, -1, 0) if layout == "columns" else b)
