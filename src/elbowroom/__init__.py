"""elbowroom: the dynamics of serial robot arms by every formulation, and room for the people beside them."""

import importlib as _importlib
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING as _TYPE_CHECKING

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

if _TYPE_CHECKING:
    from . import avoidance as avoidance
    from . import cell as cell
    from . import geometry as geometry

__version__ = "0.1.0"
_LATER = ("avoidance", "cell", "geometry")  # rooms that are imported when they are first asked for


def __getattr__(name: str) -> _ModuleType:
    if name in _LATER:
        return _importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module 'elbowroom' has no attribute {name!r}")


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
    "avoidance",
    "cell",
    "chains",
    "dynamics",
    "geometry",
    "load",
    "model",
    "simulate",
    "simulation",
    "trace",
]
