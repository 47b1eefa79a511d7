"""An optimal swing: the Panda lifts its stretched arm and turns it to the other side in 1.2 s, with little torque.

You learn how to give a solver exact derivatives of the dynamics, and what they cost.

Direct collocation: positions, speeds and torques at some knots are the unknowns of one problem, which IPOPT solves
(`pip install '.[casadi]'`).  Between two knots the trapezoidal rule must hold,

    q' - q = h/2 (qd' + qd),        qd' - qd = h/2 (qdd' + qdd),        qdd = forward_dynamics(q, qd, tau)

IPOPT asks for the accelerations of all knots and for their derivatives by everything, again and again.  Here both come
from compiled kernels, all knots in one call; then the same problem is solved with Pinocchio's derivatives, where it is
installed.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import elbowroom as er

try:
    import casadi
except ImportError:
    print("This example needs CasADi, which brings IPOPT: pip install '.[casadi]'")
    raise SystemExit from None

KNOTS = 21
DURATION = 1.2  # s
arm = er.load("panda").without_friction()
n, h = arm.n, DURATION / (KNOTS - 1)
START = np.array([-0.8, 1.2, 0.0, -0.5, 0.0, 1.8, 0.0])
END = np.array([0.8, -0.3, 0.0, -1.9, 0.0, 1.8, 0.0])


class Ours:
    """Accelerations and derivatives of all knots, each in one call."""

    name = f"elbowroom {er.__version__}"

    def accelerations(self, q, qd, tau):
        """(KNOTS, n)."""
        return arm.forward_dynamics(q, qd, tau)

    def derivatives(self, q, qd, tau):
        """(KNOTS, n, 3 n): by q, qd and tau."""
        return np.concatenate(arm.forward_dynamics_derivatives(q, qd, tau), axis=2)


class Pinocchios:
    """The same by Pinocchio, a call a knot."""

    def __init__(self):
        import pinocchio

        from elbowroom.bench.peers.dynamics import pinocchio_model  # the same numbers

        self.pin, self.model = pinocchio, pinocchio_model(pinocchio, arm.model)
        self.data = self.model.createData()
        self.name = f"Pinocchio {pinocchio.__version__}"

    def accelerations(self, q, qd, tau):
        """(KNOTS, n)."""
        return np.array([self.pin.aba(self.model, self.data, *x) for x in zip(q, qd, tau, strict=True)])

    def derivatives(self, q, qd, tau):
        """(KNOTS, n, 3 n): by q, qd and tau."""
        found = []
        for state in zip(q, qd, tau, strict=True):
            self.pin.computeABADerivatives(self.model, self.data, *state)
            inverse = np.triu(self.data.Minv) + np.triu(self.data.Minv, 1).T
            found.append(np.hstack([self.data.ddq_dq, self.data.ddq_dv, inverse]))
        return np.array(found)


def unpacked(x):
    """q, qd and tau of all knots, (KNOTS, n) each, from the unknowns: knot after knot."""
    table = np.reshape(x, (KNOTS, 3, n))
    return (np.ascontiguousarray(table[:, k]) for k in range(3))


BLOCKS = casadi.diagcat(*[casadi.Sparsity.dense(n, 3 * n)] * KNOTS)  # a knot depends on itself alone


class Accelerations(casadi.Callback):
    """All accelerations as a function that CasADi can call, with its Jacobian."""

    def __init__(self, engine):
        casadi.Callback.__init__(self)
        self.engine, self.seconds, self.calls = engine, 0.0, 0
        self.construct("accelerations", {})

    def get_sparsity_in(self, _):
        return casadi.Sparsity.dense(3 * n * KNOTS, 1)

    def get_sparsity_out(self, _):
        return casadi.Sparsity.dense(n * KNOTS, 1)

    def eval(self, given):
        return [casadi.DM(self.engine.accelerations(*unpacked(given[0].full())).ravel())]

    def has_jacobian(self):
        return True

    def has_jac_sparsity(self, *_):
        return True

    def get_jac_sparsity(self, *_):
        return BLOCKS

    def get_jacobian(self, name, inames, onames, options):
        outer = self

        class Jacobian(casadi.Callback):
            def __init__(self):
                casadi.Callback.__init__(self)
                self.construct(name, options)

            def get_n_in(self):
                return 2  # the unknowns, and the accelerations, which are not needed

            def get_sparsity_in(self, k):
                return casadi.Sparsity.dense((3 * n if k == 0 else n) * KNOTS, 1)

            def get_sparsity_out(self, _):
                return BLOCKS

            def eval(self, given):
                before = time.perf_counter()
                blocks = outer.engine.derivatives(*unpacked(given[0].full()))
                outer.seconds, outer.calls = outer.seconds + time.perf_counter() - before, outer.calls + 1
                return [casadi.DM(BLOCKS, blocks.transpose(0, 2, 1).ravel())]  # CasADi counts by columns

        self.jacobian_callback = Jacobian()  # which must live as long
        return self.jacobian_callback


def solved(engine):
    """The unknowns of the best swing, the sum of squares of its torques, and what it took."""
    f = Accelerations(engine)
    x = casadi.MX.sym("x", 3 * n * KNOTS)
    table = casadi.reshape(x, 3 * n, KNOTS)
    q, qd, tau = table[:n, :], table[n : 2 * n, :], table[2 * n :, :]
    qdd = casadi.reshape(f(x), n, KNOTS)
    gaps = [
        q[:, 1:] - q[:, :-1] - h / 2 * (qd[:, 1:] + qd[:, :-1]),
        qd[:, 1:] - qd[:, :-1] - h / 2 * (qdd[:, 1:] + qdd[:, :-1]),
    ]
    cost = h * casadi.sumsqr(tau) / 1000
    problem = {"x": x, "f": cost, "g": casadi.vertcat(*(casadi.vec(gap) for gap in gaps))}
    options = {"print_time": False, "ipopt": {"print_level": 0, "sb": "yes", "hessian_approximation": "limited-memory"}}
    solver = casadi.nlpsol("swing", "ipopt", problem, options)

    along = np.linspace(0, 1, KNOTS)[:, None]
    line = START + along * (END - START)
    guess = np.stack([line, np.tile((END - START) / DURATION, (KNOTS, 1)), arm.gravity_torque(line)], 1)
    model = arm.model
    low = np.tile(np.stack([model.lower, -model.velocity, -model.effort]), (KNOTS, 1, 1))
    high = np.tile(np.stack([model.upper, model.velocity, model.effort]), (KNOTS, 1, 1))
    for bound in (low, high):
        bound[0, 0], bound[-1, 0], bound[[0, -1], 1] = START, END, 0.0
    before = time.perf_counter()
    found = solver(x0=guess.ravel(), lbx=low.ravel(), ubx=high.ravel(), lbg=0, ubg=0)
    seconds = time.perf_counter() - before
    if not solver.stats()["success"]:
        sys.exit(f"IPOPT found no swing: {solver.stats()['return_status']}")
    return found["x"].full().ravel(), float(found["f"]), solver.stats()["iter_count"], seconds, f


def main() -> None:
    """Solve it, check it, and time the derivatives beside Pinocchio's."""
    engines = [Ours()]
    engines[0].derivatives(*np.zeros((3, KNOTS, n)))  # compiled now, not on the clock
    try:
        engines.append(Pinocchios())
    except ImportError:
        print("Pinocchio is not installed (pip install pin): nobody to compare with")
    costs = []
    for engine in engines:
        x, cost, iterations, seconds, f = solved(engine)
        costs.append(cost)
        q, qd, tau = unpacked(x)
        print(f"{engine.name}: {iterations} iterations, cost {cost:.3f}; largest torque {np.abs(tau).max():.1f} N m")
        each = f.seconds / f.calls * 1e6
        print(f"    {seconds:.2f} s in all; derivatives of {KNOTS} knots {each:.0f} us a call, {f.calls} calls")
        fast = np.abs(qd).max()
        print(f"    fastest joint {fast:.2f} rad/s; ends at {np.abs(q[-1] - END).max():.0e} rad from the goal")
    print("same swing:", np.ptp(costs) < 1e-3 * costs[0])


if __name__ == "__main__":
    main()
