"""elbowroom: the dynamics of serial robot arms by every formulation, and room for the people beside them."""

from . import algebra as algebra
from . import chains as chains
from . import dynamics as dynamics
from . import model as model
from . import simulation as simulation
from .algebra import Program as Program
from .algebra import trace as trace
from .arm import Arm as Arm
from .dynamics.inverse_kinematics import IKResult as IKResult
from .errors import ConfigError as ConfigError
from .errors import DivergenceError as DivergenceError
from .errors import DtypeError as DtypeError
from .errors import ElbowroomError as ElbowroomError
from .errors import ModelError as ModelError
from .errors import ModelWarning as ModelWarning
from .errors import ShapeError as ShapeError
from .errors import TraceError as TraceError
from .errors import UnknownNameError as UnknownNameError
from .loading import load as load
from .model import Model as Model
from .simulation import simulate as simulate

__version__ = "0.1.0"
__all__ = [
    "Arm",
    "ConfigError",
    "DivergenceError",
    "DtypeError",
    "ElbowroomError",
    "IKResult",
    "Model",
    "ModelError",
    "ModelWarning",
    "Program",
    "ShapeError",
    "TraceError",
    "UnknownNameError",
    "algebra",
    "chains",
    "dynamics",
    "load",
    "model",
    "simulate",
    "simulation",
    "trace",
]
