"""Kernels in torch and JAX: values, gradients of any order, vmap, jit; and what is refused."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import numpy as np
import pytest

import elbowroom as er
from elbowroom.algebra import trace
from elbowroom.algebra.looped import Repeated, Rolled
from elbowroom.algebra.program import Port
from elbowroom.compile import compiled, cuda, engine
from elbowroom.compile.frameworks import jax_ffi, jax_function
from elbowroom.compile.kernel import Signature
from elbowroom.errors import DtypeError, ElbowroomError, ShapeError

NAMES = ("q", "qd", "qdd")


@pytest.fixture(scope="module")
def arm():
    return er.load("planar2")


@pytest.fixture(scope="module")
def states():
    return np.random.default_rng(0).uniform(-1, 1, (3, 5, 2))


# ---- torch
@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="torch (2 GB) is not installed")


def test_torch_values_and_gradients(torch, arm, states):
    kernel = arm.compile("inverse_dynamics")
    tensors = [torch.tensor(x, requires_grad=True) for x in states]
    tau = kernel(*tensors)
    assert isinstance(tau, torch.Tensor)
    assert np.array_equal(tau.detach().numpy(), kernel(*states))
    weights = np.random.default_rng(1).normal(size=(5, 2))
    (tau * torch.tensor(weights)).sum().backward()
    exact = arm.inverse_dynamics_derivatives(*states)
    for tensor, slope in zip(tensors, exact, strict=True):
        assert np.allclose(tensor.grad.numpy(), np.einsum("bi,bij->bj", weights, slope), atol=1e-13)


def test_torch_gradcheck_twice(torch, arm, states):
    """Of one state and of a batch, and of the gradient of the gradient."""
    kernel = arm.compile("forward_dynamics")
    one = [torch.tensor(x[0], requires_grad=True) for x in states]
    assert torch.autograd.gradcheck(kernel, one)
    many = [torch.tensor(x[:2], requires_grad=True) for x in states]
    assert torch.autograd.gradcheck(kernel, many)
    energy = arm.compile("kinetic_energy")
    assert torch.autograd.gradgradcheck(energy, [x[:1] for x in many[:2]])


def test_torch_method_of_an_arm_several_outputs_and_float32(torch, arm, states):
    q = torch.tensor(states[0], requires_grad=True)
    J = arm.jacobian(q)
    assert isinstance(J.Jv, torch.Tensor)
    (gradient,) = torch.autograd.grad(J.Jv.sum() + 2.0 * J.Jw.sum(), q)
    h = 1e-6
    moved = [arm.jacobian(states[0] + s * h * np.eye(2)[0]).Jv.sum(axis=(1, 2)) for s in (1, -1)]
    assert np.allclose(gradient[:, 0], (moved[0] - moved[1]) / (2 * h), atol=1e-8)  # a difference: 1e-10 of |J|
    single = torch.tensor(states[0], dtype=torch.float32, requires_grad=True)
    M = arm.compile("mass_matrix", dtype=np.float32)(single)
    assert M.dtype == torch.float32
    M.sum().backward()
    assert single.grad.dtype == torch.float32
    assert torch.equal(arm.mass_matrix(q[0].detach()), torch.from_numpy(arm.mass_matrix(states[0][0])))


def test_torch_vmap_and_func(torch, arm, states):
    kernel = arm.compile("inverse_dynamics")
    q, qd, qdd = map(torch.tensor, states)
    assert torch.equal(torch.func.vmap(kernel)(q, qd, qdd), kernel(q, qd, qdd))
    assert torch.equal(torch.func.vmap(kernel, in_dims=(0, None, None))(q, qd[0], qdd[0])[0], kernel(q, qd, qdd)[0])
    J = torch.func.vmap(torch.func.jacrev(kernel))(q, qd, qdd)
    assert np.allclose(J, arm.inverse_dynamics_derivatives(*states).dtau_dq, atol=1e-13)


def test_torch_refusals(torch, arm, states):
    kernel = arm.compile("mass_matrix")
    with pytest.raises(DtypeError, match=r"mass_matrix: q must be real numbers; got dtype torch\.complex128"):
        kernel(torch.zeros(2, dtype=torch.complex128))
    with pytest.raises(DtypeError, match="q must be a tensor on the cpu; got one on meta"):
        kernel(torch.zeros(2, device="meta"))
    with pytest.raises(ShapeError, match=r"q must have shape \(2,\)"):
        kernel(torch.zeros(3, dtype=torch.float64))
    with pytest.raises(ValueError, match="q must be finite"):
        kernel(torch.tensor([0.0, np.nan], dtype=torch.float64))


def test_a_loop_has_gradients(torch):
    """Of a program that is repeated, whose rows all states share, and of a chain whose kernel keeps its loops."""

    def draw(_, x, point, gain):
        return {"x": x * 0.5 + point * gain, "far": x[:1] * point[1:]}

    step = trace(draw, None, {"x": (2,), "point": (2,), "gain": ()})
    kernel = compiled(Repeated(step, 3, rows="point"))
    rng = np.random.default_rng(0)
    shapes = (4, 2), (3, 2), (4,)
    given = [torch.tensor(rng.uniform(-1, 1, shape), requires_grad=True) for shape in shapes]
    assert torch.autograd.gradcheck(kernel, given)
    chain = er.chains.random(12, seed=1)
    tensors = [torch.tensor(x, requires_grad=True) for x in rng.uniform(-1, 1, (3, 2, 12))]
    assert type(chain.compile("inverse_dynamics").program) is Rolled
    assert torch.autograd.gradcheck(chain.compile("inverse_dynamics"), tensors)


def test_what_has_no_gradients_says_so(torch):
    kernel = compiled(Repeated(trace(lambda _, x: {"x": x * 0.5}, None, {"x": (2,)}), 3).vjp())
    x, bar = torch.ones((2, 2), dtype=torch.float64, requires_grad=True)
    with pytest.raises(ElbowroomError, match="_vjp: a Unwound has no gradients"):
        kernel(x, bar).sum().backward()


# ---- JAX
@pytest.fixture(scope="module")
def jax():
    found = pytest.importorskip("jax", reason="JAX (300 MB) is not installed")
    before = found.config.jax_enable_x64
    found.config.update("jax_enable_x64", True)
    yield found
    found.config.update("jax_enable_x64", before)


def test_jax_values_jit_vmap_and_gradients(jax, arm, states):
    kernel = arm.compile("inverse_dynamics")
    q, qd, qdd = map(jax.numpy.asarray, states)
    tau = kernel(q, qd, qdd)
    assert isinstance(tau, jax.Array)
    assert np.array_equal(tau, kernel(*states))
    assert np.array_equal(jax.jit(kernel)(q, qd, qdd), tau)
    assert np.array_equal(jax.vmap(kernel)(q, qd, qdd), tau)
    assert np.array_equal(jax.jit(jax.vmap(kernel, in_axes=(0, None, None)))(q, qd[0], qdd[0])[0], tau[0])
    J = jax.jit(jax.vmap(jax.jacrev(kernel, argnums=(0, 1))))(q, qd, qdd)
    exact = arm.inverse_dynamics_derivatives(*states)
    assert np.allclose(J[0], exact.dtau_dq, atol=1e-13)
    assert np.allclose(J[1], exact.dtau_dqd, atol=1e-13)


def test_jax_second_derivatives(jax, arm, states):
    energy = arm.compile("kinetic_energy")
    q, qd = jax.numpy.asarray(states[0][0]), jax.numpy.asarray(states[1][0])
    hessian = jax.jacrev(jax.grad(energy, argnums=1), argnums=1)(q, qd)
    assert np.allclose(hessian, arm.mass_matrix(states[0][0]), atol=1e-13)


def test_jax_named_results_and_refusals(jax, arm, states):
    J = jax.jit(arm.jacobian)(jax.numpy.asarray(states[0]))
    assert type(J) is er.Jacobian
    assert np.array_equal(J.Jv, arm.jacobian(states[0]).Jv)
    kernel = arm.compile("mass_matrix")
    with pytest.raises(ShapeError, match=r"mass_matrix: q must have shape \(2,\)"):
        jax.jit(kernel)(jax.numpy.zeros(3))
    with pytest.raises(DtypeError, match="q must be an array of floats; got int"):
        kernel(jax.numpy.zeros(2, dtype=int))
    with pytest.raises(ShapeError, match="one batch shape"):
        arm.compile("coriolis_matrix")(jax.numpy.zeros((3, 2)), jax.numpy.zeros(2))


def test_jax_with_what_all_states_share(jax):
    """Of a batch, one call of the kernel; gradients by what is shared are sums over the states, as torch's are."""

    def draw(_, x, point, gain):
        return {"x": x * 0.5 + point * gain * x, "far": x[:1] * point[1:]}

    step = trace(draw, None, {"x": (2,), "point": (2,), "gain": ()})
    kernel = compiled(Repeated(step, 3, rows="point"))
    rng = np.random.default_rng(0)
    plain = [rng.uniform(-1, 1, shape) for shape in ((4, 2), (3, 2), (4,))]
    x, points, gain = map(jax.numpy.asarray, plain)
    wanted = kernel(*plain)
    over = jax.vmap(kernel, in_axes=(0, None, 0))
    for function in (kernel, jax.jit(kernel), over, jax.jit(over)):
        for found, want in zip(function(x, points, gain), wanted, strict=True):
            assert np.array_equal(found, want)
    one_gain = jax.vmap(kernel, in_axes=(0, None, None))(x, points, gain[0])
    assert np.array_equal(one_gain.x, kernel(plain[0], plain[1], np.full(4, plain[2][0])).x)
    twice = jax.vmap(over, in_axes=(0, None, 0))(x.reshape(2, 2, 2), points, gain.reshape(2, 2))
    assert np.array_equal(twice.x.reshape(4, 2), wanted.x)

    def loss(function):
        return lambda *xs: sum(jax.numpy.sum(y**2) for y in function(*xs))

    def exact(x, points, gain):
        for k in range(3):
            far, x = x[..., :1] * points[k, 1:], x * 0.5 + points[k] * gain[..., None] * x
        return x, far

    slopes = jax.grad(loss(exact), argnums=(0, 1, 2))(x, points, gain)
    for function in (kernel, over):
        found = jax.jit(jax.grad(loss(function), argnums=(0, 1, 2)))(x, points, gain)
        for each, want in zip(found, slopes, strict=True):
            assert np.allclose(each, want, rtol=0, atol=1e-14)  # a few operations on numbers of size 1
    each_state = jax.vmap(jax.grad(loss(kernel), argnums=1), in_axes=(0, None, 0))(x, points, gain)
    assert np.allclose(each_state.sum(0), slopes[1], rtol=0, atol=1e-14)
    assert each_state.shape == (4, 3, 2)
    with pytest.raises(ShapeError, match="point is one for all states: in_axes of vmap must be None"):
        jax.vmap(kernel)(x, jax.numpy.stack([points] * 4), gain)
    with pytest.raises(ShapeError, match=r"point must have shape \(3, 2\), one for all states; got \(4, 3, 2\)"):
        kernel(x, jax.numpy.stack([points] * 4), gain)


@pytest.fixture
def through_the_host(monkeypatch):
    """As with a JAX whose interface is not known."""
    monkeypatch.setattr(jax_function, "target", lambda kernel: None)


def test_jax_calls_the_machine_code_itself(jax, arm, states):
    """A target of XLA in place of a call of Python; a batch and empty ones, cut and under `vmap` in any axis."""
    if jax_ffi.version() is None:
        pytest.skip("this JAX has another foreign function interface")
    kernel = er.load("planar2").compile("inverse_dynamics")
    q, qd, qdd = map(jax.numpy.asarray, states)
    text = jax.jit(kernel).lower(q, qd, qdd).as_text()
    assert "elbowroom_" in text
    assert "callback" not in text
    assert jax.jit(kernel)(q[:0], qd[:0], qdd[:0]).shape == (0, 2)
    moved = jax.vmap(kernel, in_axes=(1, 0, 0), out_axes=1)(q.T, qd, qdd)
    assert np.array_equal(moved.T, kernel(*states))
    several = jax.jit(arm.compile(("mass_matrix", "jacobian")))(q)
    assert np.array_equal(several.jacobian_Jv, arm.jacobian(states[0]).Jv)
    again = er.load("planar2").compile("inverse_dynamics")
    assert jax_ffi.target(again) == jax_ffi.target(kernel)
    assert jax_ffi.target(arm.compile("mass_matrix")) != jax_ffi.target(kernel)


def test_jax_is_told_what_is_not_finite(jax, arm, states):
    bad = jax.numpy.asarray(states[0]).at[3, 1].set(np.nan)
    with pytest.raises(Exception, match="must be finite"):
        jax.block_until_ready(jax.jit(arm.compile("mass_matrix"))(bad))


def test_jax_through_the_host_gives_the_same(jax, arm, states, through_the_host):
    kernel = er.load("planar2").compile("inverse_dynamics")
    given = [jax.numpy.asarray(x) for x in states]
    assert "elbowroom_" not in jax.jit(kernel).lower(*given).as_text()
    assert np.array_equal(jax.jit(kernel)(*given), kernel(*states))
    J = jax.jit(jax.vmap(jax.jacrev(kernel)))(*given)
    assert np.allclose(J, arm.inverse_dynamics_derivatives(*states).dtau_dq, atol=1e-13)


def test_jax_in_single_precision(jax, arm, states):
    """A kernel of floats directly; one of doubles in an array of floats through the host, in its own precision."""
    q = states[0].astype(np.float32)
    single = arm.compile("mass_matrix", dtype=np.float32)
    assert np.array_equal(jax.jit(single)(jax.numpy.asarray(q)), single(q))
    jax.config.update("jax_enable_x64", False)
    try:
        found = jax.jit(er.load("planar2").compile("mass_matrix"))(jax.numpy.asarray(q))
    finally:
        jax.config.update("jax_enable_x64", True)
    assert found.dtype == np.float32
    assert np.allclose(found, arm.mass_matrix(q.astype(float)), rtol=1e-6)


def test_a_header_with_other_structures_is_not_known(jax):
    header = "\n".join(f"struct {name} {{ int a; }};" for name in jax_ffi.STRUCTURES)
    assert jax_ffi.digest_of(header)
    assert jax_ffi.digest_of(header) == jax_ffi.digest_of(header.replace("int a;", "int  a; // a comment\n"))
    assert jax_ffi.digest_of(header) != jax_ffi.digest_of(header.replace("int a;", "long a;", 1))
    assert jax_ffi.digest_of(header.replace("XLA_FFI_Rets", "Other")) == ""
    assert "" not in jax_ffi.KNOWN


# ---- a card's handler, in a call frame of ours
STATES, SIZE, THREADS = 70, 3, 64


class _Frame:
    """XLA's call frame with arrays, and what it is asked for: the stream, an error."""

    def __init__(self, inputs, outputs, stage=3):
        self.told, self.kept = [], []
        stream = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(self._stream)
        error = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(self._error)
        api = [0] * 6 + [ctypes.cast(error, ctypes.c_void_p).value, 0, 0, 0, ctypes.cast(stream, ctypes.c_void_p).value]
        args, rets = (self._side(arrays) for arrays in (inputs, outputs))
        # size, extension, api, context, stage, then args and rets: size, extension, count, types, buffers
        words = [96, 0, self._words(api), 77, stage, *args, *rets]
        self.address = self._words(words)
        self.kept += [stream, error]

    def _words(self, words):
        made = (ctypes.c_int64 * len(words))(*words)
        self.kept.append(made)
        return ctypes.addressof(made)

    def _side(self, arrays):
        buffers = []
        for x in arrays:
            self.kept.append(x)
            buffers.append(self._words([48, 0, 0, x.ctypes.data, x.ndim, self._words(x.shape)]))
        return [40, 0, len(arrays), 0, self._words(buffers)]

    def _stream(self, asks):
        words = (ctypes.c_int64 * 4).from_address(asks)
        assert (words[0], words[2]) == (32, 77)  # its size, and the context of the frame
        words[3] = 99
        return 0

    def _error(self, told):
        words = (ctypes.c_int64 * 4).from_address(told)
        self.told.append(ctypes.string_at(words[2]).decode())
        return 1


@pytest.mark.parametrize("status", [0, 1])
def test_a_card_s_handler_launches_what_the_frame_holds(jax, status):
    """The driver is one of ours: it doubles the numbers, as the kernel would."""
    launched = []

    def launch(function, *rest):
        grid, blocks, (shared, stream) = rest[:3], rest[3:6], rest[6:8]
        parameters = (ctypes.c_void_p * 4).from_address(rest[8])
        x, out, count, odd = (ctypes.c_int64.from_address(p).value for p in parameters)
        launched.append((function, grid, blocks, shared, stream, count, odd))
        numbers = [(ctypes.c_double * (count * SIZE)).from_address(p) for p in (x, out)]
        for k in range(count * SIZE):
            numbers[1][k] = 2.0 * numbers[0][k]
        return status

    integers = [ctypes.c_uint] * 7
    driver = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *integers, *[ctypes.c_void_p] * 3)(launch)
    signature = Signature("doubled", "", (Port("x", (SIZE,)),), (Port("y", (SIZE,)),))
    kernel = SimpleNamespace(name="doubled", signature=signature, launched=(THREADS, 512), pointer=1234)
    text = jax_ffi.card_handler(kernel, ctypes.cast(driver, ctypes.c_void_p).value)
    loaded = engine.Loaded(engine.object_code(text, engine.host()))
    handler = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(loaded.address("handler"))
    x, y = np.random.default_rng(0).uniform(-1, 1, (7, 10, SIZE)), np.zeros((7, 10, SIZE))
    frame = _Frame([x], [y])
    answer = handler(frame.address)
    assert launched == [(1234, (2, 1, 1), (THREADS, 1, 1), 512, 99, STATES, 0)]
    assert np.array_equal(y, 2.0 * x)
    assert (answer, frame.told) == ((1, ["doubled: the card's driver refused to launch it"]) if status else (None, []))
    assert handler(_Frame([x], [y], stage=1).address) is None  # not the time to run
    assert handler(_Frame([x[:0]], [y[:0]]).address) is None  # no states
    assert len(launched) == 1


def test_jax_says_which_kernels_of_a_card_it_cannot_take(jax, monkeypatch):
    kernel = er.load("planar2").compile("mass_matrix", device="cuda", layout="columns")
    monkeypatch.setattr(cuda, "library", lambda: None)
    with pytest.raises(ElbowroomError, match='mass_matrix: JAX takes kernels of a card with layout="rows"'):
        jax.jit(kernel)(jax.numpy.zeros((5, 2)))
