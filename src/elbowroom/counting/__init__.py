"""Counting operations as the papers count, and holding our counts against theirs.

    as_written   zeros and ones folded, nothing shared: the text of a formulation, operation by operation
    shared       equal expressions once (Kozlowski's convention, and what hand counts do with intermediates)
    customised   shared, with one robot's own constants folded in

Subtractions are additions; negations are free; what is done with parameters alone is offline and free; sines and
cosines stand apart.
"""

from .compare import COUNTINGS as COUNTINGS
from .compare import Cost as Cost
from .compare import CountRow as CountRow
from .compare import cost as cost
from .compare import counted as counted
from .compare import customised as customised
from .compare import customised_rows as customised_rows
from .compare import general_rows as general_rows
from .compare import needs_frames as needs_frames
from .compare import strictest as strictest
