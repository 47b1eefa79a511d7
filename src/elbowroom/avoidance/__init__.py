"""Fields, limits and controllers that keep an arm clear of people.

Not a safety-rated device: informed by ISO 10218:2025 / ISO/TS 15066, not certified; run it under a certified safety
controller.
"""

from .attraction import Attraction as Attraction
from .attraction import Path as Path
from .attraction import Pole as Pole
from .command import Command as Command
from .command import Goal as Goal
from .command import State as State
from .config import Config as Config
from .config import Force as Force
from .controller import Controller as Controller
from .joint_limits import JointLimits as JointLimits
from .limits import Limits as Limits
from .obstacles import Obstacles as Obstacles
from .repulsion import Repulsion as Repulsion
from .repulsion import strength as strength
from .safety.sensor import Sensor as Sensor
from .settings import dumps as dumps
from .settings import load as load
from .settings import loads as loads
from .smoothing import MovingAverage as MovingAverage
from .status import Status as Status
from .supervisor import Supervisor as Supervisor
from .workspace import Workspace as Workspace
