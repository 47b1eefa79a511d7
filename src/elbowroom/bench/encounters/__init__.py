"""`elbowroom bench encounters`: does an arm keep people clear, and does its work get done?"""

from .methods import METHODS as METHODS
from .methods import Factory as Factory
from .people import LIMB_SPEED as LIMB_SPEED
from .run import RunResult as RunResult
from .run import compare as compare
from .run import simulate as simulate
from .scene import SEARCH as SEARCH
