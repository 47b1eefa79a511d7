"""The robot, as data."""

from .capsules import LinkCapsule as LinkCapsule
from .check import Finding as Finding
from .check import findings as findings
from .dh import from_dh as from_dh
from .dh import from_mdh as from_mdh
from .model import Model as Model
from .model import create as create
from .parameters import parameter_names as parameter_names
from .parameters import with_parameters as with_parameters
