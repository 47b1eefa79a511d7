"""Whether the mass matrix of a model can be computed with: finite, and positive definite with digits to spare.

Eliminated from the tip inwards, M = L^T D L, and D_k is the inertia that joint k moves while the joints beyond it are
free.  It is at most M_kk, where they are locked, and what is left of M_kk has lost as many digits as the quotient says.
The quotient does not depend on units: a slide beside a turning joint, or a light tip on a heavy arm, is no loss.
"""

from __future__ import annotations

import numpy as np

from ..model import Finding, Model, findings
from ..model.model import Array
from .whole_arm import whole

LEAST = 1e-30
"""kg m^2 or kg: the inverse of less overflows in float32, and so do accelerations under small torques."""

LOST = 1e-12
"""Of float64's 16 digits 12 are gone: nothing that is computed with the rest means anything.  Chains of a hundred links
have 1e-3, arms of the catalogue 0.3 and more."""


def examine(model: Model) -> list[Finding]:
    """What looks wrong with a model, and an error, first, where its mass matrix is not positive definite.

    A model whose links are all sound has one at every configuration unless digits are lost, which two show; where a
    link is suspect, five are looked at.
    """
    found = findings(model)
    suspects = list(dict.fromkeys(f.where for f in found if f.suspect))
    rng = np.random.default_rng(0)
    for q in rng.uniform(*model.sampling_range(), (5 if suspects else 2, model.n)):
        M = whole("mass_matrix", "crba")(model, q)
        k = lost_joint(M)
        if k is not None:
            where = ", ".join(suspects) or f"link {model.link_names[k]!r}"
            what = (
                f"the mass matrix is not positive definite: joint {model.joint_names[k]!r} moves {M[k, k]:.3g}, "
                "of which nothing is left with the joints beyond it free"
            )
            return [Finding("error", where, what), *found]
    return found


def lost_joint(M: Array) -> int | None:
    """The outermost joint whose D_k is not finite, not positive or lost in rounding; None if all are sound."""
    left = np.array(M, dtype=float)
    for k in range(len(M) - 1, -1, -1):
        if not (M[k, k] >= LEAST and left[k, k] > LOST * M[k, k] and np.isfinite(M[k]).all()):
            return k
        left[:k, :k] -= np.outer(left[:k, k], left[k, :k] / left[k, k])
    return None
