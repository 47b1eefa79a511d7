"""A way around: what stands there, which configurations are free of it, and routes between them.

world                       obstacles as rows
checker                     which configurations and motions are free, thousands in one compiled call
nearest                     which link is nearest to what, in words
planner, search, goals      from a joint pose to a goal
barrier                     proofs that there is no way
smoothing, route            shorter, rounded, timed
decision, background        going around or waiting, decided in a process of its own
follower, detour, lookout   a route as a moving goal; when to ask for one; who stands, and whether it is still free
"""

from ...geometry.shapes import Box as Box
from .checker import Checker as Checker
from .planner import Outcome as Outcome
from .planner import Plan as Plan
from .planner import Planner as Planner
from .route import Route as Route
from .settings import Planning as Planning
from .world import World as World
