"""A simulated cell: the people in it, what moves, and time."""

from .coworker import Coworker as Coworker
from .coworker import RandomWalk as RandomWalk
from .coworker import Still as Still
from .coworker import Walk as Walk
from .link import PlantServer as PlantServer
from .mujoco_plant import MuJoCo as MuJoCo
from .packet import Stop as Stop
from .plant import Kinematic as Kinematic
from .plant import Plant as Plant
from .plant import RigidBody as RigidBody
from .plant import heavier as heavier
from .reach import Reach as Reach
from .recorded import Motion as Motion
from .recorded import Placement as Placement
from .recorded import Recorded as Recorded
from .recorded import read_bvh as read_bvh
from .recorded import read_motion as read_motion
from .recorded import read_placement as read_placement
from .recorded import read_vicon as read_vicon
from .remote import PlantClient as PlantClient
