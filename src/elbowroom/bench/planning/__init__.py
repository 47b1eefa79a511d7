"""`elbowroom bench planning`: does the planner find a way where there is one, how soon, and how fast is its checker?"""

from .problems import Problem as Problem
from .problems import ProblemSet as ProblemSet
from .problems import own_set as own_set
