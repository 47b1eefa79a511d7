"""Exciting trajectories: `design.excite` designs one, `objective` says what it is worth, `limits` what it keeps to."""

from .design import Excitation as Excitation
from .design import excite as excite
