"""Identification of an arm's inertias and friction from measured torques, and trajectories that make them visible."""

from .identify import Identification as Identification
from .identify import Identified as Identified
from .identify import Prediction as Prediction
from .identify import identify as identify
from .identify import unseen as unseen
from .least_squares import Fit as Fit
from .measurements import Measurements as Measurements
from .measurements import checked as checked
from .payload import Payload as Payload
from .reading import read as read
