"""A simulated cell: the people in it, what moves, and time."""

from .link import PlantServer as PlantServer
from .mujoco_plant import MuJoCo as MuJoCo
from .packet import Stop as Stop
from .plant import Kinematic as Kinematic
from .plant import Plant as Plant
from .plant import RigidBody as RigidBody
from .plant import heavier as heavier
from .remote import PlantClient as PlantClient
