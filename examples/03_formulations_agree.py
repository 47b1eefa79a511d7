"""One quantity, many formulations: the same numbers, different bills.

You learn how to ask for a formulation by its name, what each costs, and that two Coriolis matrices with the same
product are not the same matrix.
"""

import itertools

import numpy as np

import elbowroom as er
from elbowroom import dynamics


def joined(result):
    """One array for each state: a quantity of several arrays has them side by side."""
    parts = result.values() if isinstance(result, dict) else [result]
    return np.hstack([part.reshape(len(part), -1) for part in parts])


rng = np.random.default_rng(1)
for robot in ("panda", "puma560", "stanford"):
    arm = er.load(robot)
    states = {name: rng.uniform(-1, 1, (100, arm.n)) for name in ("q", "qd", "qdd", "tau")}
    print(f"\n{robot}, 100 states; operations after the arm's own constants are folded in")
    for name, quantity in dynamics.REGISTRY.items():
        if len(quantity.formulations) < 2:
            continue
        inputs = [states[what] for what in quantity.inputs]
        programs = {method: dynamics.program(arm.model, name, method) for method in quantity.formulations}
        values = [joined(program.evaluate(*inputs)) for program in programs.values()]
        apart = max(np.abs(a - b).max() / np.abs(a).max() for a, b in itertools.combinations(values, 2))
        bill = ", ".join(f"{method} {program.count.total}" for method, program in programs.items())
        print(f"  {name:22s} agree to {apart:.0e}   {bill}")

panda = er.load("panda")
q, qd = panda.ready, np.full(7, 0.5)
C, B = panda.coriolis_matrix(q, qd), panda.coriolis_matrix(q, qd, form="gda")
rate = panda.mass_matrix_rate(q, qd)
print("\nTwo Coriolis matrices of the Panda with one product:")
print(f"  |C qd - B qd|                           = {np.abs(C @ qd - B @ qd).max():.1e} N m")
for letter, matrix in {"C (Christoffel)": C, "B (GDA paper)  ": B}.items():
    N = rate - 2 * matrix
    print(f"  dM/dt - 2 {letter} is skew to {np.abs(N + N.T).max():.1e}")
