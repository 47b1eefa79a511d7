"""The self-test: states, what elbowroom gives for them, and a C program that compares.

An error is relative to the largest entry of its output in its state.  The limit is 64 times the rounding error to
expect: what steps in single precision lose on these states, in units of that precision's rounding (8 at the least),
times the rounding of the precision that is tested.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..algebra import Port, Program, Repeated
from ..compile.source import Real, Source, digits, literal
from ..model import Model

STATES = 5
MARGIN = 64
LEAST = 8  # roundings

Array = NDArray[np.float64]
Outputs = dict[str, Array]


def states(model: Model, program: Program | Repeated, count: int = STATES) -> Outputs:
    """Inputs (count, ...) that single precision holds exactly: `ready` first, then positions within the limits."""
    rng = np.random.default_rng(0)
    lower, upper = np.maximum(model.lower, -3.0), np.minimum(model.upper, 3.0)
    drawn = {}
    for port in program.inputs:
        values = rng.uniform(-1, 1, (count, *port.shape))
        if port.name == "q":
            values = lower + (upper - lower) * (values + 1) / 2
            values[0] = model.ready
        drawn[port.name] = values.astype(np.float32).astype(np.float64)
    return drawn


def outputs(program: Program | Repeated, inputs: Outputs, dtype: DTypeLike = np.float64) -> Outputs:
    """The outputs by name, with steps in this precision."""
    found = program.evaluate(**inputs, dtype=dtype)
    return found if isinstance(found, dict) else {program.outputs[0].name: found}


def difference(got: Outputs, wanted: Outputs) -> float:
    """The largest error, relative to the largest entry of its output in its state."""
    worst = 0.0
    for name, want in wanted.items():
        rows = want.reshape(len(want), -1)
        scale = np.abs(rows).max(axis=1, initial=0.0)
        error = np.abs(got[name].reshape(rows.shape) - rows).max(axis=1, initial=0.0)
        worst = max(worst, float((error / np.where(scale > 0, scale, 1.0)).max(initial=0.0)))
    return worst


def limit(program: Program | Repeated, inputs: Outputs, wanted: Outputs, real: Real) -> float:
    """The error beyond which the self-test fails, rounded up to two digits."""
    single = float(np.finfo(np.float32).eps)
    lost = difference(outputs(program, inputs, np.float32), wanted) / single
    rounding = single if real == "float" else float(np.finfo(np.float64).eps)
    bound = MARGIN * max(LEAST, lost if np.isfinite(lost) else 1 / single) * rounding
    return float(f"{bound * 1.05:.1e}")


HEAD = """\
#include <math.h>
#include <stdio.h>

#include "{prefix}.h"

/* The largest error of an output, relative to its largest entry; NaN where one is. */
static double error_of(const {real}* got, const double* want, int size)
{{
    double error = 0.0, scale = 0.0;
    int k;
    for (k = 0; k < size; ++k) {{
        const double off = fabs((double)got[k] - want[k]);
        error = (off > error || off != off) ? off : error;
        scale = fabs(want[k]) > scale ? fabs(want[k]) : scale;
    }}
    return scale > 0.0 ? error / scale : error;
}}

static double greater(double a, double b)
{{
    return (a >= b || a != a) ? a : b;
}}

static int report(const char* name, double error, double limit)
{{
    const int fine = error <= limit; /* not so for NaN */
    printf("%-{width}s  {states} states  error %.1e  limit %.1e  %s\\n", name, error, limit, fine ? "ok" : "FAILED");
    return fine ? 0 : 1;
}}
"""


def function(name: str, title: str, source: Source, inputs: Outputs, wanted: Outputs, most: float) -> str:
    """The C function that tests one of ours; `title` is its name in full."""
    real = source.dialect.real
    lines = [f"static int test_{name}(void)", "{"]
    arguments, errors = [], []
    for called, port in source.inputs.values():
        lines += _array(f"static const {real} {called}", inputs[port.name], real)
        arguments.append(f"{called} + s * {port.size}")
    for called, port in source.outputs.values():
        lines += _array(f"static const double want_{called}", wanted[port.name], "double")
        arguments.append(f"got_{called}")
        errors.append(f"        error = greater(error, error_of({_pair(called, port)}, {port.size}));")
    lines += [f"    static {real} got_{called}[{port.size}];" for called, port in source.outputs.values()]
    lines += [
        "    double error = 0.0;",
        "    int s;",
        f"    for (s = 0; s < {STATES}; ++s) {{",
        f"        {title}({', '.join(arguments)});",
        *errors,
        "    }",
        f'    return report("{title}", error, {literal(most, "double")});',
        "}",
        "",
    ]
    return "\n".join(lines)


def _pair(called: str, port: Port) -> str:
    return f"got_{called}, want_{called} + s * {port.size}"


def _array(head: str, values: Array, real: Real) -> list[str]:
    suffix = "" if real == "double" else "f"
    numbers = [digits(float(x) + 0.0, real) + suffix for x in values.ravel()]  # -0.0 becomes 0.0
    return [f"    {head}[{len(numbers)}] = {{", *_wrapped(numbers), "    };"]


def _wrapped(numbers: Iterable[str], width: int = 110) -> list[str]:
    lines, line = [], "       "
    for number in numbers:
        if len(line) + len(number) > width:
            lines.append(line)
            line = "       "
        line += f" {number},"
    return [*lines, line]


def main(names: Iterable[str]) -> str:
    """The C program's entry: 0 if every function is right."""
    calls = [f"    failed += test_{name}();" for name in names]
    return "\n".join(["int main(void)", "{", "    int failed = 0;", *calls, "    return failed ? 1 : 0;", "}", ""])
