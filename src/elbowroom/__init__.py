"""elbowroom: the dynamics of serial robot arms by every formulation, and room for the people beside them.

Everything here is imported when it is first asked for: `import elbowroom` takes no time, and what is broken on a
machine can be said instead of shown as a trace (`elbowroom doctor`).
"""

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from . import algebra as algebra
    from . import avoidance as avoidance
    from . import cell as cell
    from . import chains as chains
    from . import codegen as codegen
    from . import dynamics as dynamics
    from . import geometry as geometry
    from . import model as model
    from . import simulation as simulation
    from .algebra import Program as Program
    from .algebra import trace as trace
    from .arm import Arm as Arm
    from .dynamics.inverse_kinematics import IKResult as IKResult
    from .dynamics.kinematics import Jacobian as Jacobian
    from .errors import ConfigError as ConfigError
    from .errors import DivergenceError as DivergenceError
    from .errors import DtypeError as DtypeError
    from .errors import ElbowroomError as ElbowroomError
    from .errors import ModelError as ModelError
    from .errors import ModelNotice as ModelNotice
    from .errors import ModelWarning as ModelWarning
    from .errors import RecordingError as RecordingError
    from .errors import RecordingWarning as RecordingWarning
    from .errors import ShapeError as ShapeError
    from .errors import TraceError as TraceError
    from .errors import UnknownNameError as UnknownNameError
    from .loading import load as load
    from .model import Model as Model
    from .simulation import simulate as simulate

__version__ = "0.1.0"

_ROOMS = ("algebra", "avoidance", "cell", "chains", "codegen", "dynamics", "geometry", "model", "simulation")
_ERRORS = ("ConfigError", "DivergenceError", "DtypeError", "ElbowroomError", "ModelError", "ModelNotice",
           "ModelWarning", "RecordingError", "RecordingWarning", "ShapeError", "TraceError",
           "UnknownNameError")  # fmt: skip
_NAMES = {
    "Arm": "arm",
    "IKResult": "dynamics.inverse_kinematics",
    "Jacobian": "dynamics.kinematics",
    "Model": "model",
    "Program": "algebra",
    "load": "loading",
    "simulate": "simulation",
    "trace": "algebra",
} | dict.fromkeys(_ERRORS, "errors")


if not _typing.TYPE_CHECKING:  # a type checker would take any name for one of ours

    def __getattr__(name: str) -> _typing.Any:
        if name in _ROOMS:
            return _importlib.import_module(f".{name}", __name__)  # which sets the attribute, too
        if name in _NAMES:
            found = getattr(_importlib.import_module(f".{_NAMES[name]}", __name__), name)
            globals()[name] = found
            return found
        raise AttributeError(f"module 'elbowroom' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "Arm",
    "ConfigError",
    "DivergenceError",
    "DtypeError",
    "ElbowroomError",
    "IKResult",
    "Jacobian",
    "Model",
    "ModelError",
    "ModelNotice",
    "ModelWarning",
    "Program",
    "RecordingError",
    "RecordingWarning",
    "ShapeError",
    "TraceError",
    "UnknownNameError",
    "algebra",
    "avoidance",
    "cell",
    "chains",
    "codegen",
    "dynamics",
    "geometry",
    "load",
    "model",
    "simulate",
    "simulation",
    "trace",
]
