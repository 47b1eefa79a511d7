"""To the world: plant and controller in two processes over a local socket."""

from .packet import Stop as Stop
from .plant_info import PlantInfo as PlantInfo
from .plant_info import ask as ask
from .plant_server import PlantServer as PlantServer
from .remote_plant import PlantClient as PlantClient
