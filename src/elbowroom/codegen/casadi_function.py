"""Programs as functions of CasADi, for solvers that build on it (IPOPT through CasADi, acados).

    f = casadi_function(arm.compile("inverse_dynamics").program)          # a casadi.Function, of SX
    f.generate("inverse_dynamics.c")                                      # C, by CasADi; casadi.external loads it

CasADi differentiates the function itself; its expressions are the program's operations, one by one, so zeros and what
is shared stay as they are.  Arrays of one axis are columns, those of more than two have all but the last in rows.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

from ..algebra import Port, Program
from ..errors import ElbowroomError, pip_install


def casadi_function(program: Program, name: str = "") -> Any:
    """The casadi.Function of a Program, its inputs and outputs under their names."""
    try:
        casadi = importlib.import_module("casadi")
    except ImportError as error:
        raise ElbowroomError(f"CasADi is not installed: {pip_install('casadi')}") from error
    straight = getattr(program, "straight", None)
    program = straight() if callable(straight) else program  # one with loops
    if any(operation[0] == "uniform" for operation in program.operations):
        raise ElbowroomError(f"{program.name}: random numbers have no expression in CasADi")
    symbols = {port.name: casadi.SX.sym(port.name, *_size(port)) for port in program.inputs}
    entries = {name: _entries(casadi, symbol) for name, symbol in symbols.items()}
    steps, values = _steps(casadi), list[Any]()
    for step, *operands in program.operations:
        if step in ("input", "parameter"):
            port, element = operands[0]
            values.append(entries[port][element])
        else:
            values.append(steps[step](*(_value(program, values, k) for k in operands)))
    outputs = []
    for port, operands_ in zip(program.outputs, program.results, strict=True):
        rows, columns = _size(port)
        flat = casadi.vertcat(*(casadi.SX(_value(program, values, k)) for k in operands_))
        outputs.append(casadi.reshape(flat, columns, rows).T)  # CasADi counts by columns
    names = [p.name for p in program.inputs], [p.name for p in program.outputs]
    taken = [other if other not in names[0] else f"{other}_out" for other in names[1]]
    return casadi.Function(name or program.name, list(symbols.values()), outputs, names[0], taken)


def _size(port: Port) -> tuple[int, int]:
    if len(port.shape) < 2:
        return port.size, 1
    return math.prod(port.shape[:-1]), port.shape[-1]


def _entries(casadi: Any, symbol: Any) -> list[Any]:
    """The scalars of a matrix, by rows."""
    return [symbol[i, j] for i in range(symbol.size1()) for j in range(symbol.size2())]


def _value(program: Program, values: list[Any], operand: int) -> Any:
    return values[operand] if operand >= 0 else program.constants[-1 - operand]


def _steps(casadi: Any) -> dict[str, Callable[..., Any]]:
    return {
        "add": lambda x, y: x + y,
        "sub": lambda x, y: x - y,
        "mul": lambda x, y: x * y,
        "div": lambda x, y: x / y,
        "neg": lambda x: -x,
        "sin": casadi.sin,
        "cos": casadi.cos,
        "sqrt": casadi.sqrt,
        "log": casadi.log,
        "abs": casadi.fabs,
        "min": casadi.fmin,
        "max": casadi.fmax,
        "lt": lambda x, y: x < y,
        "le": lambda x, y: x <= y,
        "eq": lambda x, y: x == y,
        "and": casadi.logic_and,
        "or": casadi.logic_or,
        "not": casadi.logic_not,
        "select": casadi.if_else,
    }
