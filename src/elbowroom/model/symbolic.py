"""Models for tracing: with symbols for numbers, to count operations as the papers do; with columns, to keep loops.

    general      modified DH, every a, alpha, d, mass, centre of mass and tensor entry a symbol
    orthogonal   twists of +-90 degrees, offsets along x only (Kozlowski's second case)

What an algorithm does with these symbols alone could be done once, before the robot moves, so it is not counted.

A RolledModel has columns, one entry a joint, for recursions that are traced into loops (algebra/rolling.py).  Joints
whose code differs are of different kinds: those that turn and those that slide, those whose placement is a
Denavit-Hartenberg row and those whose placement is not, those with a rotor or dry friction and those without.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..algebra import Graph, Scalar
from ..algebra.linalg import PrincipalForm, matrix, symmetric, vector
from ..algebra.rolling import JointRows, Roll, Turn
from ..errors import UnknownNameError
from .model import Array, Model, Split

CONDITIONS = ("general", "orthogonal")
PRINCIPAL = ("lambda3", "trace", "Qx1", "Qx2", "Qy1", "Qy2", "Qz1", "Qz2")

COLUMNS = ("E", "p", "mass", "com", "moments", "rotor_inertia", "viscous", "coulomb")


@dataclass(frozen=True, eq=False)
class SymbolicModel(Model):
    """A Model whose arrays hold Expr of one graph.  Trace it once; ask for another to trace again."""

    graph: Graph = field(default_factory=Graph, repr=False)
    known_frames: tuple[list[Array], list[Array]] | None = field(default=None, repr=False)
    """R and p of every link as inputs, where forward kinematics is not to be counted."""

    along_z: tuple[Scalar, ...] = field(default=(), repr=False)  # d of every row

    def split(self, i: int) -> Split:
        """Modified DH by construction."""
        return Split(self.E[i], 0.0, self.along_z[i])

    def principal(self, i: int) -> PrincipalForm:
        """Parameters of their own: the eigenvalues of symbols are found offline too."""
        symbols = [self.graph.input(f"{what}_{i + 1}", parameter=True) for what in PRINCIPAL]
        return PrincipalForm(symbols[0], symbols[1], np.array(symbols[2:], dtype=object).reshape(3, 2))

    def __post_init__(self) -> None:
        """Symbols are always valid."""


def symbolic(
    kinds: str, condition: str = "general", name: str = "chain", *, share: bool = True, frames: bool = False
) -> SymbolicModel:
    """A chain of these joint kinds under a condition, on a graph of its own.

    `frames=True` gives the link frames as inputs ("kinematics apart"); `share=False` counts a text as it is written.
    """
    if condition not in CONDITIONS:
        raise UnknownNameError(f"condition must be one of {', '.join(CONDITIONS)}; got {condition!r}")
    n = len(kinds)
    graph = Graph(share=share)

    def symbol(what: str, i: int) -> Scalar:
        return graph.input(f"{what}{i + 1}", parameter=True)

    E, p, along_z, mass, com, inertia = [], [], [], [], [], []
    for i in range(n):
        a = symbol("a", i)
        if condition == "general":
            c, s, d = symbol("calpha", i), symbol("salpha", i), symbol("d", i)
            p.append(vector(a, -s * d, c * d))
        else:
            c, s, d = 0.0, 1.0 - 2.0 * (i % 2), 0.0
            p.append(vector(a, 0.0, 0.0))
        E.append(matrix([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]]))
        along_z.append(d)
        mass.append(symbol("m", i))
        com.append(vector(*(symbol(f"c{axis}_", i) for axis in "xyz")))
        inertia.append(symmetric(*(symbol(f"I{axes}_", i) for axes in ("xx", "yy", "zz", "xy", "yz", "xz"))))
    zero, inf = np.zeros(n), np.full(n, np.inf)
    known = None
    if frames:
        known = (
            [matrix([[graph.input(f"R{i + 1}_{r}{c}") for c in range(3)] for r in range(3)]) for i in range(n)],
            [vector(*(graph.input(f"p{i + 1}_{axis}") for axis in "xyz")) for i in range(n)],
        )

    def objects(rows: Sequence[Array | Scalar]) -> Array:
        return np.array(rows, dtype=object)

    return SymbolicModel(
        name=f"{name}, {condition}",
        kinds=kinds,
        joint_names=tuple(f"joint{i + 1}" for i in range(n)),
        link_names=tuple(f"link{i + 1}" for i in range(n)),
        E=objects(E),
        p=objects(p),
        mass=objects(mass),
        com=objects(com),
        inertia=objects(inertia),
        lower=-inf,
        upper=inf,
        velocity=inf,
        effort=inf,
        viscous=zero,
        coulomb=zero,
        rotor_inertia=zero,
        base=np.eye(4),
        gravity=vector(0.0, 0.0, -graph.input("g", parameter=True)),
        tool=np.eye(4),
        ready=zero,
        graph=graph,
        known_frames=known,
        along_z=tuple(along_z),
    )


class RolledModel:
    """What a formulation asks of a Model, by joint as JointRows.  Trace it once; ask for another to trace again."""

    def __init__(self, model: Model) -> None:
        self._model = model
        signatures = [_signature(model, i) for i in range(model.n)]
        known = list(dict.fromkeys(signatures))
        self.n = Roll(tuple(known.index(s) for s in signatures))
        self._turns = [s[0] for s in known]
        self.base: Array = model.base
        self.gravity: Array = model.gravity
        self.tool: Array = model.tool

    def revolute(self, i: Turn) -> bool:
        """Whether joints of this turn's kind turn (else they slide)."""
        return bool(self._turns[i.kind])

    def __getattr__(self, name: str) -> JointRows:
        """The model's own COLUMNS, as JointRows."""
        if name not in COLUMNS:
            raise AttributeError(f"a rolled model has no {name!r}")
        rows = self.n.given(list(getattr(self._model, name)))
        self.__dict__[name] = rows
        return rows

    def split(self, i: Turn) -> Split:
        """Placements in the parts of a Denavit-Hartenberg row, as far as they are one."""
        found: Split = self._splits[i]
        return found

    def principal(self, i: Turn) -> PrincipalForm:
        """Tensors in the form that turns most cheaply."""
        found: PrincipalForm = self._principals[i]
        return found

    @cached_property
    def _splits(self) -> JointRows:
        return self.n.given([self._model.split(i) for i in range(self._model.n)])

    @cached_property
    def _principals(self) -> JointRows:
        return self.n.given([self._model.principal(i) for i in range(self._model.n)])


def _signature(model: Model, i: int) -> tuple[bool, ...]:
    split = model.split(i)
    turns = model.revolute(i)
    drive = model.rotor_inertia[i] == 0.0, model.coulomb[i] == 0.0
    return turns, split.along_z is None, turns or split.theta == 0.0, *drive
