"""`elbowroom bench`: `command` has the options and which benchmark takes which, `tables` and `planning_tables` print.

What measures, in `elbowroom.bench`, brings other libraries in and is imported when a benchmark is run.
"""

from .command import Benchmark as Benchmark
from .command import bench as bench
