"""`elbowroom bench traps`: an obstacle on the straight way to the goal: who gets around it?"""

from .methods import METHODS as METHODS
from .report import run as run
from .scene import TrapScene as TrapScene
from .scene import trap as trap
