"""`elbowroom bench derivatives`: derivatives of dynamics beside Pinocchio's, and several quantities in one kernel.

    inverse_dynamics_derivatives    d tau/d q, d tau/d qd and M; Pinocchio's computeRNEADerivatives
    forward_dynamics_derivatives    d qdd/d q, d qdd/d qd and M^-1; Pinocchio's computeABADerivatives
    regressor                       d tau/d parameters; Pinocchio's computeJointTorqueRegressor

One state from Python, and a batch in one call on one thread; Pinocchio has no batch of these and is called in a loop.
Ours by automatic differentiation of Newton-Euler stands beside the recursion, and the operations of both below.

`together`: quantities in one kernel against a kernel each, called one after the other.

Pinocchio has neither friction nor its derivative, so arms are timed without theirs.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .. import __version__, dynamics
from ..arm import Arm
from ..loading import load
from .peers import calls
from .peers.dynamics import pinocchio_model
from .timing import OURS_OUT, ROBOTS, ROUNDS, US, Contender, Progress, Report, Row, Statement, cpu_name, raced, silent

QUANTITIES = ("inverse_dynamics_derivatives", "forward_dynamics_derivatives", "regressor")
TOGETHER = (
    ("mass_matrix", "bias_torque", "jacobian"),
    ("mass_matrix_rate", "bias_torque", "coriolis_transpose_qd"),
)
STATES = 4096
LOOPED = 256  # states that Pinocchio is given in a round
AUTOMATIC = f"{US}, automatic"
ALONE = f"{US}, a kernel each"
PINOCCHIO = {
    "inverse_dynamics_derivatives": "pin.computeRNEADerivatives(model, data, q, qd, qdd)",
    "forward_dynamics_derivatives": "pin.computeABADerivatives(model, data, q, qd, tau)",
    "regressor": "pin.computeJointTorqueRegressor(model, data, q, qd, qdd)",
}


def run(
    robots: Sequence[str] = ROBOTS,
    *,
    states: int | None = None,
    rounds: int = ROUNDS,
    quantities: Sequence[str] = QUANTITIES,
    together: Sequence[tuple[str, ...]] = TOGETHER,
    progress: Progress = silent,
) -> Report:
    """One state and a batch of each arm; `progress` is told what is being measured."""
    arms = [load(name).without_friction() for name in robots]
    pin = _pinocchio()
    rows: list[Row] = []
    notes: list[str] = []
    first_calls = []
    for arm in arms:
        peer = None if pin is None else _Pinocchio(pin, arm)
        rng = np.random.default_rng(0)
        state, batch = calls.states(rng, arm.n), calls.states(rng, states or STATES, arm.n)
        for quantity in quantities:
            progress(f"{arm.name}: {quantity}")
            rows += raced("derivatives", arm, quantity, dict(_one(arm, quantity, state, peer)), rounds)
            rows += _batch(arm, quantity, batch, peer, rounds)
            if peer is not None:
                notes.append(peer.agreement(arm, quantity, batch))
        first_calls += [calls.first_call(arm, quantity) for quantity in quantities[:1]]
        notes.append(_counts(arm))
        for names in together:
            progress(f"{arm.name}: {', '.join(names)}")
            rows += raced("derivatives", arm, " + ".join(names), dict(_together(arm, names, state)), rounds)
            kernel, alone = arm.compile(names), [arm.compile(name).count for name in names]
            apart = f"{sum(c.total for c in alone)} and {sum(c.sincos for c in alone)}"
            count = kernel.count
            notes.append(
                f"{arm.name}: {', '.join(names)} in one kernel are {count.total} operations and {count.sincos} sines "
                f"and cosines, a kernel each {apart}."
            )
    missing = [] if pin is not None else ["Pinocchio"]
    return Report(rows, missing, cpu_name(), first_calls=first_calls, notes=notes)


def _one(arm: Arm, quantity: str, state: calls.Arrays, peer: _Pinocchio | None) -> Iterator[tuple[str, Contender]]:
    names: dict[str, object] = {"arm": arm} | dict(zip(calls.STATE, state, strict=True))
    given = calls.inputs(quantity)
    yield US, Contender(__version__, Statement(f"arm.{quantity}({given})", names))
    into = names | {"result": arm.compile(quantity).empty()}
    yield OURS_OUT, Contender(__version__, Statement(f"arm.{quantity}({given}, out=result)", into))
    if "automatic" in dynamics.quantity(quantity).formulations:
        yield AUTOMATIC, Contender(__version__, calls.by_method(arm, quantity, "automatic", state))
    if peer is not None:
        yield "Pinocchio", Contender(peer.version, Statement(PINOCCHIO[quantity], peer.names | names))


def _batch(arm: Arm, quantity: str, batch: calls.Arrays, peer: _Pinocchio | None, rounds: int) -> Iterator[Row]:
    size = len(batch[0])
    kernel: Any = arm.compile(quantity)
    given = dict(zip(calls.STATE, batch, strict=True))
    result = kernel(*(given[name] for name in dynamics.quantity(quantity).inputs))
    text = calls.inputs(quantity)
    names: dict[str, object] = {"kernel": kernel, "result": result} | given
    contenders = {
        US: Contender(__version__, Statement(f"kernel({text})", names), size),
        OURS_OUT: Contender(__version__, Statement(f"kernel({text}, out=result)", names), size),
    }
    if peer is not None:
        some = [tuple(x[k] for x in batch) for k in range(min(size, LOOPED))]
        loop = f"for q, qd, qdd, tau in rows:\n    {PINOCCHIO[quantity]}"
        contenders["Pinocchio"] = Contender(peer.version, Statement(loop, peer.names | {"rows": some}), len(some))
    yield from raced("derivatives", arm, quantity, contenders, max(3, rounds // 2), size)


def _together(arm: Arm, names: tuple[str, ...], state: calls.Arrays) -> Iterator[tuple[str, Contender]]:
    given = dict(zip(calls.STATE, state, strict=True))
    kernel = arm.compile(names)
    text = ", ".join(p.name for p in kernel.signature.inputs)
    known: dict[str, object] = {"kernel": kernel.fast(kernel.general), "result": kernel.empty()} | given
    yield US, Contender(__version__, Statement(f"kernel({text}, out=result)", known))
    lines = []
    for name in names:
        one = arm.compile(name)
        known |= {name: one.fast(one.general), f"{name}_out": one.empty()}
        lines.append(f"{name}({calls.inputs(name)}, out={name}_out)")
    yield ALONE, Contender(__version__, Statement("; ".join(lines), known))


def _counts(arm: Arm) -> str:
    found = {}
    for method in ("recursion", "automatic"):
        found[method] = dynamics.program(arm.model, "inverse_dynamics_derivatives", method).count
    chosen = dynamics.cheapest(arm.model, "inverse_dynamics_derivatives")[0]
    counts = ", ".join(f"{method} {count.total}" for method, count in found.items())
    return f"{arm.name}: operations of inverse_dynamics_derivatives: {counts}; {chosen} is taken."


def _pinocchio() -> Any:
    try:
        return importlib.import_module("pinocchio")
    except ImportError:
        return None


class _Pinocchio:
    """Pinocchio's model of an arm."""

    def __init__(self, pin: Any, arm: Arm) -> None:
        self.pin, self.version = pin, str(pin.__version__)
        self.model = pinocchio_model(pin, arm.model)
        self.data = self.model.createData()
        self.names: dict[str, object] = {"pin": pin, "model": self.model, "data": self.data}

    def agreement(self, arm: Arm, quantity: str, batch: calls.Arrays) -> str:
        """How far our numbers are from its, for the first states of the batch."""
        columns = dict(zip(calls.STATE, (x[:100] for x in batch), strict=True))
        given = [columns[name] for name in dynamics.quantity(quantity).inputs]
        found: Any = getattr(arm, quantity)(*given)
        ours = found if isinstance(found, tuple) else (found,)
        worst = 0.0
        for k, state in enumerate(zip(*given, strict=True)):
            for mine, other in zip(ours, self._answer(quantity, *state), strict=False):
                worst = max(worst, float(np.abs(mine[k] - other).max() / np.abs(other).max()))
        return f"{arm.name}: {quantity} within {worst:.0e} of Pinocchio's, relative to the largest entry of each state."

    def _answer(self, quantity: str, *state: calls.Array) -> tuple[calls.Array, ...]:
        if quantity == "regressor":
            return (self.pin.computeJointTorqueRegressor(self.model, self.data, *state),)
        if quantity == "inverse_dynamics_derivatives":
            self.pin.computeRNEADerivatives(self.model, self.data, *state)
            return self.data.dtau_dq, self.data.dtau_dv
        self.pin.computeABADerivatives(self.model, self.data, *state)
        return self.data.ddq_dq, self.data.ddq_dv
