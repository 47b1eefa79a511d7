"""The safety filter: of all commands from which the arm can still stop in time, the one nearest to what is wanted.

    minimise    1/2 sum_j ((v_j - wish_j) / V_j)^2 + sum_k (r_k / 2) s_k^2             V: the joints' velocity limits
    joints      low <= v <= up                                                         never yields: it is physics
    people      u_k <= allowed_k                                                       the promise
    things, floor, the arm itself      -u_k + s_k >= -g (d_k - d_s)                    yields before people do
    limits of one's own (MotionLimit)  a . v + s >= need                               yields before these do
    evasion     -u_k + s_k >= w_k - g (d_k - d_s)                                      yields first

u_k = -a_k . v is the speed at which the arm's own motion closes pair k, a_k = n_k^T J_k at its nearest point; w_k is
the speed at which the person comes.  The nearest point may leap along the link, so people's rows are about both ends of
the part where it can be (`approach_speed.measured`).

**The promise** is that of the stop ramp: from every command the arm can run down along its own direction, within the
stop's acceleration, and stand before a person who moves no faster than `pace` is reached.  With T_r the reaction time
(the command lasts until the next one, drives are late), T_s the time that the ramp takes from the worst corner of this
cycle's box, d_k the distance to the body last seen, grown by its age, and C what both positions may err by:

    allowed_k = max(creep, (d_k - C - pace_k (T_r + T_s)) / (T_r + T_s / 2))          mode "separation"
    allowed_k = v_k, what contact bears (body_regions.py), or as above where none is borne     mode "power_and_force"
    allowed_k = the greater of the two                                                   mode "both"

Slower than `creep` a link may drift towards somebody, and slower than a quarter of it into somebody who, as last seen,
is touched: else a hand that comes would hold the arm fast.

The ramp's next command is always allowed, whatever the rows say: it was certified when the motion was.  But it was for
a ramp that ends when the last one would have.  A bound that were raised to what the ramp does, for speeds
whose own ramps last longer, would promise nothing.  So the box is drawn in first: T_s is the longest time for which no
bound lies below what the ramp does, at least the ramp's own (`met`), and no joint is faster than it can stop
in T_s.  Only where the ramp itself was not certified, as when somebody appears, may a bound be exceeded, by no more
than the ramp does: no joint is faster then than the ramp has it, each may brake as hard as in a stop, and the rows ask
for what is missing with a weight above all others.

The modules, in the order of a cycle:

    capsule_motion.py       how joint speeds move and turn the arm's capsules
    approach_speed.py       how fast each pair may close: the promise, pair by pair
    body_regions.py         what contact each region of a body bears
    joint_speed_limits.py   what the joints can do in this cycle, and the stop ramp
    rows.py                 the rows that a wish may violate, and which are solved for
    solver.py               the nearest command, by a fixed number of steps of a dual active-set method
    stages.py               all of it as the stages of a cycle, compiled
    limiter.py              runs the stages on arrays of its own, and holds the last command

Nothing branches, so the same text runs for one state, in lanes, as C and on a card.  A step of the solver that finds
nothing to do changes no bit: the others may be left out then, and all of them where the wish violates no row.
"""
