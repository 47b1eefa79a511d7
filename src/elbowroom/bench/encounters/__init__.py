"""`elbowroom bench encounters`: does an arm keep people clear, and does its work get done?"""

from .methods import METHODS as METHODS
from .metrics import RunResult as RunResult
from .people import LIMB_SPEED as LIMB_SPEED
from .run import Factory as Factory
from .scene import SEARCH as SEARCH
from .simulate import compare as compare
from .simulate import simulate as simulate
