"""A simulated cell: the people in it, what moves, and time."""

import importlib
from typing import TYPE_CHECKING, Any

from .mocap.recorded import Motion as Motion
from .mocap.recorded import Placement as Placement
from .mocap.recorded import Recorded as Recorded
from .mocap.recorded import read_bvh as read_bvh
from .mocap.recorded import read_motion as read_motion
from .mocap.recorded import read_placement as read_placement
from .mocap.recorded import read_vicon as read_vicon
from .pace import AsFastAsPossible as AsFastAsPossible
from .pace import Pace as Pace
from .pace import RealTime as RealTime
from .people.coworker import Coworker as Coworker
from .people.coworker import Noisy as Noisy
from .people.reach import Reach as Reach
from .people.settings import PersonSettings as PersonSettings
from .people.settings import ReachSettings as ReachSettings
from .people.settings import RecordedSettings as RecordedSettings
from .people.settings import Seen as Seen
from .people.settings import StandSettings as StandSettings
from .people.settings import WalkSettings as WalkSettings
from .people.settings import WanderSettings as WanderSettings
from .people.walking import RandomWalk as RandomWalk
from .people.walking import Still as Still
from .people.walking import Walk as Walk
from .pick_and_place import Conveyor as Conveyor
from .pick_and_place import PickAndPlace as PickAndPlace
from .plants.mujoco import MuJoCo as MuJoCo
from .plants.plant import Kinematic as Kinematic
from .plants.plant import Plant as Plant
from .plants.plant import RigidBody as RigidBody
from .plants.plant import heavier as heavier
from .recording.table import Recording as Recording
from .runner import Cell as Cell
from .runner import mounted as mounted
from .runner import run as run
from .scene import TASKS as TASKS
from .scene import Scene as Scene
from .task import GoTo as GoTo
from .task import Rest as Rest
from .task import Task as Task
from .task import TaskSettings as TaskSettings

Walker, Wanderer, Reacher, Stander, Tracked = (  # names of earlier versions
    WalkSettings,
    WanderSettings,
    ReachSettings,
    StandSettings,
    RecordedSettings,
)
_CONNECT = ("PlantClient", "PlantServer", "Stop")

if not TYPE_CHECKING:  # a type checker would take any name for one of ours

    def __getattr__(name: str) -> Any:
        """Names of elbowroom.connect, which stands above this room; earlier versions had them here."""
        if name in _CONNECT:
            return getattr(importlib.import_module("elbowroom.connect"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
