"""Fields, limits and controllers that keep an arm clear of people.

Not a safety-rated device: informed by ISO 10218:2025 / ISO/TS 15066, not certified; run it under a certified safety
controller.
"""

from .control.attraction import Attraction as Attraction
from .control.attraction import Path as Path
from .control.attraction import Pole as Pole
from .control.command import Command as Command
from .control.command import Goal as Goal
from .control.command import State as State
from .control.command import Status as Status
from .control.config import Config as Config
from .control.config import Force as Force
from .control.controller import Controller as Controller
from .control.joint_limits import JointLimits as JointLimits
from .control.obstacles import Obstacles as Obstacles
from .control.repulsion import GoalScaling as GoalScaling
from .control.repulsion import Profile as Profile
from .control.repulsion import Repulsion as Repulsion
from .control.repulsion import Waiting as Waiting
from .control.repulsion import strength as strength
from .control.smoothing import MovingAverage as MovingAverage
from .control.workspace import Workspace as Workspace
from .planning.settings import Planning as Planning
from .safety.filter.rows import MotionLimit as MotionLimit
from .safety.limits import Limits as Limits
from .safety.momentum_observer import Contact as Contact
from .safety.sensor import Sensor as Sensor
from .safety.supervisor import Supervisor as Supervisor
from .settings import dumps as dumps
from .settings import load as load
from .settings import loads as loads
