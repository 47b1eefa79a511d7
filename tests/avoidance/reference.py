"""The controllers of thesis sections 3.8 to 3.12 once more, from the equations, in plain NumPy over Pinocchio.

Nothing of elbowroom's formulas is used: frames, Jacobians, inertia and bias come from Pinocchio, inverses from
`numpy.linalg`, closest points from a search over the edges, the filter from a list of all that was sent.  Only the data
(the arm's `Model`, the `Config`) is shared.
"""

from __future__ import annotations

import functools
import math
from types import SimpleNamespace

import numpy as np
import pinocchio as pin

import elbowroom as er
from elbowroom.avoidance import Controller, Goal, State
from elbowroom.bench.peers.dynamics import pinocchio_model
from elbowroom.geometry import Body

PARALLEL_ANGLE = math.radians(10.0)


class Kinematics:
    """Frames, Jacobians and dynamics of a model at a state, by Pinocchio."""

    def __init__(self, model):
        self.model, self.built = model, pinocchio_model(pin, model)
        self.data = self.built.createData()
        self.tool_frame = self.built.getFrameId("tool")

    def at(self, q, qd):
        pin.forwardKinematics(self.built, self.data, q, qd, np.zeros_like(q))
        pin.computeJointJacobians(self.built, self.data, q)
        pin.updateFramePlacements(self.built, self.data)
        self.q, self.qd = q, qd
        place = self.data.oMf[self.tool_frame]
        self.tool, self.R_tool = place.translation.copy(), place.rotation.copy()
        return self

    def point(self, link, local):
        if link < 0:
            return self.model.base[:3, 3] + self.model.base[:3, :3] @ np.asarray(local)
        return self.data.oMi[link + 1].act(np.asarray(local, dtype=float))

    def jacobian(self, link, point):
        """(6, n) of whatever point of the link is there: linear rows, then angular."""
        J = pin.getJointJacobian(self.built, self.data, link + 1, pin.LOCAL_WORLD_ALIGNED)
        lever = point - self.data.oMi[link + 1].translation
        return np.vstack([J[:3] + np.cross(J[3:].T, lever).T, J[3:]])

    def tool_jacobian(self):
        return self.jacobian(self.model.n - 1, self.tool)

    def drift(self):
        """J' q' (6,) of the tool."""
        a = pin.getFrameClassicalAcceleration(self.built, self.data, self.tool_frame, pin.LOCAL_WORLD_ALIGNED)
        return np.r_[a.linear, a.angular]

    def mass_matrix(self):
        M = pin.crba(self.built, self.built.createData(), self.q)
        return np.triu(M) + np.triu(M, 1).T

    def bias(self):
        return pin.nonLinearEffects(self.built, self.built.createData(), self.q, self.qd)


# ---- distance


def projected(p, a, b):
    """The part of the segment a b that is nearest to p."""
    s = b - a
    return 0.0 if s @ s == 0 else float(np.clip((p - a) @ s / (s @ s), 0.0, 1.0))


def closest(a1, b1, a2, b2):
    """(part, part) of two segments that do not lie parallel: inside both, else the best of the four edges."""
    s1, s2 = b1 - a1, b2 - a2
    found = [
        (0.0, projected(a1, a2, b2)),
        (1.0, projected(b1, a2, b2)),
        (projected(a2, a1, b1), 0.0),
        (projected(b2, a1, b1), 1.0),
    ]
    if s1 @ s1 > 0 and s2 @ s2 > 0:
        parts = np.linalg.lstsq(np.c_[s1, -s2], a2 - a1, rcond=None)[0]
        if ((parts >= 0) & (parts <= 1)).all():
            found.append(tuple(parts))
    return min(found, key=lambda x: np.linalg.norm(a1 + s1 * x[0] - a2 - s2 * x[1]))


def separation(x, y):
    """Surface and axis distance, closing speed, the point of x to push, and the normal from y to x."""
    a1, b1, a2, b2 = x[:3], x[3:6], y[:3], y[3:6]
    s1, s2 = b1 - a1, b2 - a2
    one, two = closest(a1, b1, a2, b2)
    apart = a1 + s1 * one - a2 - s2 * two
    axis = np.linalg.norm(apart)
    normal = apart / axis
    speed_x = x[7:10] + one * (x[10:13] - x[7:10])
    speed_y = y[7:10] + two * (y[10:13] - y[7:10])
    # (3.13): within ten degrees of parallel the pushed point blends with the middle of the overlap
    smooth = one
    if s1 @ s1 > 0:
        across = s1 - (s2 * (s1 @ s2) / (s2 @ s2) if s2 @ s2 > 0 else 0.0)
        blend = max(0.0, 1.0 - across @ across / (s1 @ s1) / math.sin(PARALLEL_ANGLE) ** 2)
        middle = 0.5 * (projected(a2, a1, b1) + projected(b2, a1, b1))
        smooth = one + blend * (middle - one)
    other = two
    if s2 @ s2 > 0:
        across = s2 - (s1 * (s1 @ s2) / (s1 @ s1) if s1 @ s1 > 0 else 0.0)
        blend = max(0.0, 1.0 - across @ across / (s2 @ s2) / math.sin(PARALLEL_ANGLE) ** 2)
        other = two + blend * (0.5 * (projected(a1, a2, b2) + projected(b1, a2, b2)) - two)
    coming = y[7:10] + other * (y[10:13] - y[7:10])
    return SimpleNamespace(
        surface=axis - x[6] - y[6],
        axis=axis,
        closing=-float((speed_x - speed_y) @ normal),
        coming=float(coming @ normal),  # of the obstacle alone
        point=a1 + s1 * smooth,
        normal=normal,
    )


# ---- fields


def strength(field, distance, closing):
    """What one obstacle alone does: `demand`, bent below the greatest."""
    return bent(field, demand(field, distance, closing, field.influence))


def bent(field, asked):
    """1/f = 1/asked + 1/greatest; the printed form is what was asked for."""
    if field.form == "printed":
        return asked
    return 0.0 if asked == 0 else 1.0 / (1.0 / asked + 1.0 / field.max_strength)


def demand(field, distance, closing, influence):
    """(3.44)-(3.46) with lookahead, ease and floor."""
    d0 = influence + field.lookahead * max(closing, 0.0)
    if distance >= d0:
        return 0.0
    d = max(distance, field.floor)
    shape = {
        "inverse": lambda: field.gain * (1 / d - 1 / d0),
        "linear": lambda: field.gain * (1 - d / d0),
        "cosine": lambda: field.gain * 0.5 * (1 + math.cos(math.pi * d / d0)),
        "power5": lambda: field.gain * ((d0 / d) ** 5 - 1),
    }[field.profile]()
    eased = 1.0 - field.ease * min(max(-closing, 0.0) / field.parting_speed, 1.0)
    return shape * eased


def slow_down(attraction, distance, influence):
    """(3.77), printed and mended."""
    x = (max(distance, 0.0) / influence) ** attraction.exponent
    if attraction.slow_down == "off":
        return 1.0
    if attraction.slow_down == "printed":
        return 2.0 / (1.0 + math.exp(-x)) - 1.0
    return x * (2.0 - x) if x < 1.0 else 1.0


def held(v, most):
    size = np.linalg.norm(v)
    return v * (most / size) if size > most else v


def rotation_error(R_tool, R_goal):
    """2 sin(angle/2) axis of the turn from tool to goal."""
    turn = pin.log3(R_goal @ R_tool.T)
    angle = np.linalg.norm(turn)
    return turn * (2 * math.sin(angle / 2) / angle) if angle > 0 else turn


# ---- joint limits


def margin_of(rules, span):
    """Mended, a margin takes at most a quarter of the joint's range."""
    return rules.margin if rules.form == "printed" else min(rules.margin, 0.25 * span)


def potential(rules, q, lower, upper):
    """(3.72)."""
    total = np.zeros(len(q))
    for i, (x, low, high) in enumerate(zip(q, lower, upper, strict=True)):
        margin = margin_of(rules, high - low)
        for gap, sign in ((x - low, 1.0), (high - x, -1.0)):
            if math.isfinite(gap) and gap < margin:
                push = rules.gain / max(gap, rules.floor) ** rules.exponent
                if rules.form == "mended":
                    push -= rules.gain / margin**rules.exponent
                total[i] += sign * push
    return total


def scaling(rules, q, lower, upper, motion):
    """(3.74)."""
    factors = np.ones(len(q))
    for i, (x, low, high) in enumerate(zip(q, lower, upper, strict=True)):
        margin = margin_of(rules, high - low)
        for gap, towards in ((x - low, motion[i] < 0), (high - x, motion[i] > 0)):
            if math.isfinite(gap) and gap < margin and (rules.form == "printed" or towards):
                fade = 0.5 * (1.0 - math.cos(math.pi * max(gap, 0.0) / margin))
                factors[i] = min(factors[i], fade)
    return factors


# ---- velocities to joints


def damped(J, v, damping):
    """(3.49) as the normal equations of min |J x - v|^2 + lambda^2 |x|^2, solved in joint space."""
    n = J.shape[1]
    return np.linalg.lstsq(np.vstack([J, damping * np.eye(n)]), np.r_[v, np.zeros(n)], rcond=None)[0]


def transposed(J, v, damping):
    """(3.51) with the step (3.52), which is that of least |v - alpha J J^T v|^2 + lambda^2 |alpha J^T v|^2."""
    back = J.T @ v
    system, wanted = np.r_[J @ back, damping * back], np.r_[v, 0.0 * back]
    return back * (system @ wanted / (system @ system)) if system.any() else back


def unfelt(J, x):
    """What of x a task does not feel: x without its part in the rows of J (all but singular ones count)."""
    _, sigma, Vt = np.linalg.svd(J, full_matrices=False)
    return x - Vt.T @ (sigma**2 / (sigma**2 + 1e-8) * (Vt @ x))


class Reference:
    """A controller with the memory of a list: `step` gives everything a Command holds, as floats."""

    def __init__(self, arm, config, *, capsules, people, others, person_capsules, self_pairs=(), **limits):
        self.model, self.config, self.k = arm.model, config, Kinematics(arm.model)
        self.capsules, self.self_pairs = capsules, self_pairs
        edges = [(p * person_capsules, (p + 1) * person_capsules) for p in range(people)]
        first = people * person_capsules
        self.groups = [range(*edge) for edge in edges] + [range(first + k, first + k + 1) for k in range(others)]
        self.of_people = first  # capsules; those of things follow
        self.posture = limits.get("posture", arm.ready)
        self.lower = limits.get("lower", arm.model.lower)
        self.upper = limits.get("upper", arm.model.upper)
        self.samples = max(1, round(config.smoothing.duration / config.period))
        self.rising = self.ends_that_rise()
        self.k.at(arm.ready, 0.0 * arm.ready)
        rest = self.body_rows(arm.ready, 0.0 * arm.ready)
        self.rests = {(a, b): round(separation(rest[a], rest[b]).surface, 4) for a, b in self_pairs}
        self.sent = []
        self.integral = np.zeros(3)
        self.desired = None
        self.level = 0.0  # of waiting

    # ---- what pushes
    def wait(self, goal, rows, dt):
        """The influence of people: more of it while one of them is at the goal, followed in time."""
        field, waiting = self.config.repulsion, self.config.waiting
        self.people_reach = field.influence
        if waiting is None or self.of_people == 0:
            return
        nearest = math.inf
        for row in rows[: self.of_people]:
            a, b = row[:3], row[3:6]
            axis = np.linalg.norm(a + projected(goal.position, a, b) * (b - a) - goal.position)
            nearest = min(nearest, axis - row[6])
        wanted = np.interp(nearest, [waiting.near, waiting.clear], [1.0, 0.0])
        # the step of dt of time level' = wanted - level, by its end (backward Euler)
        self.level = (waiting.time * self.level + dt * wanted) / (waiting.time + dt)
        if waiting.influence > field.influence:
            self.people_reach = (1.0 - self.level) * field.influence + self.level * waiting.influence

    def ends_that_rise(self):
        """For each capsule which of its ends some joint can lift by more than 0.15 m: the others feel no floor."""
        rng, heights = np.random.default_rng(1), []
        for q in rng.uniform(*self.model.sampling_range(), (300, self.model.n)):
            k = self.k.at(q, 0.0 * q)
            heights.append([[k.point(c.link, end)[2] for end in (c.a, c.b)] for c in self.capsules])
        return np.ptp(heights, axis=0) > 0.15

    def body_rows(self, q, qd):
        k = self.k
        rows = []
        for c in self.capsules:
            row = np.zeros(13)
            row[:3], row[3:6], row[6] = k.point(c.link, c.a), k.point(c.link, c.b), c.radius
            if c.link >= 0:
                row[7:10] = k.jacobian(c.link, row[:3])[:3] @ qd
                row[10:13] = k.jacobian(c.link, row[3:6])[:3] @ qd
            rows.append(row)
        return rows

    def pushes(self, own, rows):
        """[(link, strength, vector, point)]; and the greatest of people and things, and of the rest."""
        config = self.config
        field, workspace, outside, inside = config.repulsion, config.workspace, [], []
        self.full = 0.0  # the greatest push of people and things before goal scaling
        for i, capsule in enumerate(self.capsules):
            if capsule.link < 0:
                continue
            for group in self.groups:
                f, v, x = self.shared([self.one(field, own[i], rows[k], k < self.of_people) for k in group])
                given = bent(field, f)
                self.full = max(self.full, given) if capsule.link >= 0 else self.full
                given *= self.left([separation(own[i], rows[k]) for k in group])
                outside.append((capsule.link, given, v * (given / f) if f > 0 else v, x))
            near = []
            if config.self_collision is not None:
                near += [self.one_of_self(own, a, b, i) for a, b in self.self_pairs if i in (a, b)]
            if workspace is not None and workspace.floor is not None and self.rising[i].any():
                ends = []
                for end in [end for end, rises in zip(own[i][:6].reshape(2, 3), self.rising[i], strict=True) if rises]:
                    f = strength(workspace.repulsion, end[2] - workspace.floor - capsule.radius, 0.0)
                    ends.append((f, f * np.array([0.0, 0.0, 1.0]), end))
                near.append(self.shared(ends))
            if near:
                inside.append((capsule.link, *self.summed(near)))
        if workspace is not None and (workspace.inner is not None or workspace.outer is not None):
            inside.append((self.model.n - 1, *self.summed(self.shells(workspace))))
        strengths = sorted(f for _, f, _, _ in outside)
        self.tie = len(outside) > 1 and 0 < strengths[-1] <= strengths[-2] * (1 + 1e-9)
        acting = outside
        if config.acting == "nearest":  # of people's and things' pushes; the others always act
            acting = [(link, f, v, x) if f == strengths[-1] else (link, 0.0, 0 * v, x) for link, f, v, x in outside]
        return acting + inside, strengths[-1], max([0.0, *(f for _, f, _, _ in inside)])

    def left(self, apart):
        """What goal scaling leaves of the push of one body, all of whose capsules are `apart` from a link."""
        rules = self.config.goal_scaling
        if rules is None:
            return 1.0
        off, goal_speed = self.aim
        near = np.interp(min(s.surface for s in apart), [rules.least, 2 * rules.least], [0.0, 1.0])
        still = np.interp(max([goal_speed, *(s.coming for s in apart)]), [0.0, rules.speed], [1.0, 0.0])
        gone = (1.0 - min(off / rules.distance, 1.0) ** rules.exponent) ** 2
        return 1.0 - near * still * gone

    def one(self, field, mine, theirs, of_person):
        s = separation(mine, theirs)
        reach = self.people_reach if of_person else field.influence
        f = demand(field, s.axis if field.measure == "axis" else s.surface, s.coming, reach)
        return f, f * s.normal, s.point

    def one_of_self(self, own, a, b, i):
        field, s = self.config.self_collision, separation(own[a], own[b])
        gap = self.rests[a, b]  # what lies close together at rest is pushed off at seven tenths of that
        nearer = max(field.influence / (0.7 * gap), 1.0) if gap < 0.08 else 1.0
        f = strength(field, s.axis if field.measure == "axis" else nearer * s.surface, s.closing)
        if i == a:
            return f, f * s.normal, s.point
        return f, -f * s.normal, s.point - s.axis * s.normal

    def shells(self, workspace):
        offset = self.k.tool - np.array(workspace.center)
        far = np.linalg.norm(offset)
        parts = []
        if workspace.inner is not None:
            f = strength(workspace.repulsion, far - workspace.inner, 0.0)
            parts.append((f, f * offset / far, self.k.tool))
        if workspace.outer is not None:
            f = strength(workspace.repulsion, workspace.outer - far, 0.0)
            parts.append((f, -f * offset / far, self.k.tool))
        return parts

    @staticmethod
    def shared(parts):
        """Capsules of one body: the mean by strength, as strong as the strongest."""
        total = sum(f for f, _, _ in parts)
        if total == 0:
            return 0.0, np.zeros(3), parts[0][2]
        top = max(f for f, _, _ in parts)
        return top, top * sum(v for _, v, _ in parts) / total, sum(f * x for f, _, x in parts) / total

    @staticmethod
    def summed(parts):
        total = sum(f for f, _, _ in parts)
        point = sum(f * x for f, _, x in parts) / total if total > 0 else parts[0][2]
        return total, sum(v for _, v, _ in parts), point

    # ---- one step
    def step(self, dt, q, qd, rows, goal):
        config, k, n = self.config, self.k.at(q, qd), self.model.n
        own = self.body_rows(q, qd)
        apart = [separation(x, y) for x in own for y in rows]
        distance, axis = min(s.surface for s in apart), min(s.axis for s in apart)
        measure = axis if config.repulsion.measure == "axis" else distance
        self.wait(goal, rows, dt)
        self.aim = np.linalg.norm(goal.position - k.tool), np.linalg.norm(goal.velocity)
        pushes, push, inner_push = self.pushes(own, rows)
        slow = slow_down(config.attraction, measure, config.repulsion.influence)
        if config.goal_scaling is not None:
            far = SimpleNamespace(surface=math.inf, coming=0.0)
            slow = 1.0 - (1.0 - slow) * (push / self.full if self.full > 0 else self.left([far]))
        s = SimpleNamespace(
            dt=dt,
            q=q,
            qd=qd,
            goal=goal,
            slow=slow,
            pushes=pushes,
            greatest=max(push, inner_push),
            J=self.task_rows(k.tool_jacobian()),
        )
        s.J_task = s.J
        if config.jacobian == "alternate":
            s.J_task = self.task_rows(k.jacobian(n - 1, goal.position))
        answer = self.kinematic(s) if config.controller == "K" else self.force(s)
        answer.distance, answer.axis_distance, answer.slow = distance, axis, s.slow
        answer.push, answer.tie = push, self.tie
        answer.q = q + answer.qd * dt
        answer.tool_velocity = k.tool_jacobian() @ answer.qd
        return answer

    def task_rows(self, J):
        return J[:3] if self.config.task == "position" else J

    def resolved(self, J, v, damping):
        return transposed(J, v, damping) if self.config.inverse == "transpose" else damped(J, v, damping)

    def attraction(self, s):
        """(3.47), (3.48), (3.77)."""
        rules, error = self.config.attraction, s.goal.position - self.k.tool
        summed = self.integral + error * s.dt * s.slow
        asked = rules.kp * error + rules.ki * summed
        kept = summed
        if np.linalg.norm(asked) > rules.max_speed and error @ asked > 0:
            kept = self.integral
        if rules.ki > 0:
            kept = held(kept, rules.windup / rules.ki)
        velocity = held(rules.kp * error + rules.ki * kept, rules.max_speed) * s.slow + s.goal.velocity * s.slow
        if s.greatest <= 1e-6:
            self.integral = kept
        if self.config.task == "position":
            return velocity
        turning = held(rules.rotation_gain * rotation_error(self.k.R_tool, s.goal.rotation), rules.max_turn)
        return np.r_[velocity, turning * s.slow]

    def combined(self, s, drawn, each, more=0.0):
        """The task's joint speeds and those of each push; `more` are those of the joint limits' potential."""
        way, J = self.config.superposition, s.J_task
        if way == "auto":
            way = {"K": "null", "F": "joint"}[self.config.controller]
        rest = unfelt(J, self.config.posture * s.slow * (self.posture - s.q))
        if way == "tool":
            drawn = drawn + s.J @ self.given_way(s, more + np.zeros(len(rest)), each)
            return self.resolved(J, drawn, self.config.damping) + rest
        speed = self.resolved(J, drawn, self.config.damping) + rest + more
        return self.given_way(s, speed, each, J if way == "null" else None)

    def given_way(self, s, speed, each, spared=None):
        """Each push gives its control point what it would alone, less what others gave already; unfelt motion first."""
        field, wishes = self.config.repulsion, []
        most = 2.0 * field.max_strength if field.form == "mended" else math.inf
        for (link, f, v, x), e in zip(s.pushes, each, strict=True):
            a = self.k.jacobian(link, x)[:3].T @ v / f if f > 0 else 0.0 * e
            wishes.append((a, e, a @ e))
        scale = min(1.0, most / max([1e-300, *(own for _, _, own in wishes)]))
        wishes = [(a, e * scale, own * scale, a @ speed + own * scale) for a, e, own in wishes if own > 0]
        for J in (None,) if spared is None else (spared, None):
            for a, e, own, wanted in wishes:
                part = np.clip((wanted - a @ speed) / own, 0.0, 1.0)
                if J is None:
                    speed = speed + part * e
                else:
                    along = unfelt(J, e)
                    r = a @ along / own
                    speed = speed + along * part * r / (r**2 + self.config.reluctance**2)
        return speed

    def filtered(self, raw):
        self.sent.append(raw)
        return sum(self.sent[-self.samples :]) / self.samples

    def held(self, s, speed, push):
        """The mended limits come after the filter; `push` is what the potential makes of the joints."""
        rules = self.config.joint_limits
        if rules.method == "scaling" and rules.form == "mended":
            speed = speed * scaling(rules, s.q, self.lower, self.upper, speed)
        if rules.method == "potential" and rules.form == "mended":
            speed = speed + push
        return speed

    def kinematic(self, s):
        rules = self.config.joint_limits
        each = [self.resolved(self.k.jacobian(link, x)[:3], v, self.config.push_damping) for link, _, v, x in s.pushes]
        drawn = self.attraction(s)
        raw = self.combined(s, drawn, each)
        if rules.method == "scaling" and rules.form == "printed":
            raw = raw * scaling(rules, s.q, self.lower, self.upper, raw)
        push = potential(rules, s.q, self.lower, self.upper)
        if rules.method == "potential" and rules.form == "printed":
            raw = raw + push
        return SimpleNamespace(
            qd=self.held(s, self.filtered(raw), push),
            raw=raw,
            attraction=drawn[:3],
            repulsion=s.J[:3] @ self.given_way(s, 0.0 * s.q, each),
        )

    def pushed_torques(self, s):
        """(3.57), for each push."""
        R = self.config.force.resistance
        return [self.k.jacobian(link, x)[:3].T @ v * R for link, _, v, x in s.pushes]

    def limit_torque(self, s):
        """(3.72)."""
        if self.config.joint_limits.method != "potential":
            return np.zeros(self.model.n)
        return potential(self.config.joint_limits, s.q, self.lower, self.upper) * self.config.force.resistance

    def force(self, s):
        M = self.k.mass_matrix()
        if self.config.force.method == "linearised":
            return self.linearised(s, M)
        return self.torque(s, M)

    def linearised(self, s, M):
        """(3.71), (3.73), (3.76)."""
        rules = self.config.joint_limits
        T = self.config.force.time_factor
        each = [np.linalg.solve(M, torque) * T for torque in self.pushed_torques(s)]
        drawn = self.attraction(s)
        if rules.method == "scaling" and rules.form == "printed":
            factors = scaling(rules, s.q, self.lower, self.upper, sum(each))
            each = [factors * speeds for speeds in each]
        push = np.linalg.solve(M, self.limit_torque(s)) * T
        raw = self.combined(s, drawn, each, push if rules.form == "printed" else 0.0 * push)
        return SimpleNamespace(
            qd=self.held(s, self.filtered(raw), push),
            raw=raw,
            attraction=drawn[:3],
            repulsion=s.J[:3] @ self.given_way(s, 0.0 * s.q, each),
        )

    def torque(self, s, M):
        rules, force = self.config.joint_limits, self.config.force
        pushed, bias = sum(self.pushed_torques(s)) + self.limit_torque(s), self.k.bias()
        wanted = self.operational(s) if force.method == "operational" else self.joint(s, M)
        wanted = wanted + np.linalg.solve(M, pushed)  # joint accelerations
        if rules.method == "scaling":
            coming = scaling(rules, s.q, self.lower, self.upper, s.qd)
            wanted = scaling(rules, s.q, self.lower, self.upper, wanted) * wanted - force.kv * (1.0 - coming) * s.qd
        most = force.torque_fraction * self.model.effort
        tau = np.clip(M @ wanted + bias, -most, most)  # (3.59), (3.60)
        qdd = np.linalg.solve(M, tau - bias)
        return SimpleNamespace(
            qd=s.qd + qdd * s.dt,
            tau=tau,
            acceleration=s.J[:3] @ qdd + self.k.drift()[:3],
            repulsion=s.J[:3] @ np.linalg.solve(M, pushed),
        )

    def operational(self, s):
        """Joint accelerations of (3.61), (3.66)."""
        force, config = self.config.force, self.config
        v = s.J @ s.qd
        f = held(force.kp * (s.goal.position - self.k.tool), force.max_acceleration) * s.slow
        f = f - force.kv * (v[:3] - s.goal.velocity * s.slow)
        if config.task == "pose":
            turning = held(force.kp * rotation_error(self.k.R_tool, s.goal.rotation), force.max_acceleration)
            f = np.r_[f, turning * s.slow - force.kv * v[3:]]
        free = config.posture * force.kv * s.slow * (self.posture - s.q) - force.null_damping * s.qd
        drift = self.k.drift()[: len(f)]
        return damped(s.J, f - drift, config.damping) + unfelt(s.J, free)

    def joint(self, s, M):
        """Joint accelerations of (3.56); the joint goal goes a step on."""
        force, config, rules = self.config.force, self.config, self.config.attraction
        if self.desired is None:
            self.desired = s.q.copy()
        there = Kinematics(self.model).at(self.desired, np.zeros(self.model.n))
        v = (held(rules.kp * (s.goal.position - there.tool), rules.max_speed) + s.goal.velocity) * s.slow
        if config.task == "pose":
            turning = held(rules.rotation_gain * rotation_error(there.R_tool, s.goal.rotation), rules.max_turn)
            v = np.r_[v, turning * s.slow]
        J = self.task_rows(there.tool_jacobian())
        rest = config.posture * s.slow * (self.posture - self.desired)
        speed = damped(J, v, config.damping) + unfelt(J, rest)
        torque = M @ (-force.kp * s.slow * (s.q - self.desired) - force.kv * (s.qd - speed))
        self.desired = np.clip(self.desired + speed * s.dt, self.lower, self.upper)
        return np.linalg.solve(M, torque)


# ---- scenes to compare in


@functools.cache
def arm_and_body(name):
    """Arms of 4 to 7 joints, with slides, base anywhere, own covers and drawn ones."""
    if name == "mixed":
        arm = er.chains.random(5, seed=3, kinds="RPRPR")
        return arm, Body.from_frames(arm, 0.05)
    if name == "moved":
        base = np.eye(4)
        base[:3, :3] = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]])  # on a wall
        base[:3, 3] = 0.3, -0.2, 0.9
        arm = er.load("ur5e").with_base(base)
        return arm, Body.from_frames(arm, 0.06)
    if name == "few":  # four of the panda's capsules: quick to compile
        arm = er.load("panda")
        return arm, Body(arm, capsules=[c for c in arm.model.capsules if c.link in (-1, 1, 3, 6)])
    arm = er.load(name)
    return arm, Body(arm) if arm.model.capsules else Body.from_frames(arm, 0.06)


class Scene:
    """A controller, its reference, and random states, obstacles and goals for both."""

    def __init__(self, arm, config, body, *, people=1, others=1, person_capsules=2, seed=0, **limits):
        room = {"people": people, "others": others, "person_capsules": person_capsules}
        self.arm, self.body, self.rng = arm, body, np.random.default_rng(seed)
        self.controller = Controller(arm, config, body=body, **room, **limits)
        pairs = body.self_pairs if config.self_collision is not None else ()
        self.reference = Reference(arm, config, capsules=body.link_capsules, self_pairs=pairs, **room, **limits)
        self.obstacles = self.controller.obstacles()

    def state(self):
        """Joints anywhere within their limits, at speeds of half a radian a second or so."""
        q = self.rng.uniform(*self.arm.model.sampling_range())
        return State(q, 0.5 * self.rng.standard_normal(self.arm.n))

    def near(self, q):
        """A capsule row at some 0 to 0.6 m from the surface of a capsule of the arm, moving."""
        mine = self.body.capsules(q)[self.rng.integers(len(self.body))]
        direction = unit(self.rng)
        radius, half = self.rng.uniform(0.02, 0.2), 0.3 * self.rng.standard_normal(3)
        reach = mine.radius + radius + self.rng.uniform(0.0, 0.6) + 0.5 * float(np.linalg.norm(half))
        center = mine.a + self.rng.uniform() * (mine.b - mine.a) + reach * direction
        velocities = 0.4 * self.rng.standard_normal(6)
        return np.r_[center - half, center + half, radius, velocities]

    def fill(self, q, absent=0.2):
        """People and things near the arm; one in five is not there."""
        o = self.obstacles
        now = max([0.0, *o.stamps]) + 0.001
        for person in range(o.people):
            if self.rng.uniform() < absent:
                o.nobody(now, person)
            else:
                o.see([self.near(q) for _ in range(o.person_capsules)], now, person)
        for k in range(o.others):
            o.rows[o.people * o.person_capsules + k] = self.near(q)
        return o

    def goal(self, q):
        place = self.arm.pose(q + 0.3 * self.rng.standard_normal(self.arm.n))
        turn = pin.exp3(0.5 * self.rng.standard_normal(3))
        return Goal(place[:3, 3], 0.1 * self.rng.standard_normal(3), turn @ place[:3, :3])


def unit(rng):
    """A direction drawn evenly over the sphere."""
    v = rng.standard_normal(3)
    return v / np.linalg.norm(v)
