"""Scalars that can be numbers, counts or code.

expr, functions, linalg, tensors    what formulas are written with
program, rearrange, polynomial      a traced function as data; fewer operations; counts as polynomials
draws, philox                       random numbers as functions of counters
parts                               names for the parts of a text, to count it by parts
loops                               recursions over joints as formulas write them: `each`, `scan`, `pairs`
derivatives, rolled_derivatives     Jacobians and products with vectors, of programs and of loops
rolling, looped                     tracing these into loops that are kept; such programs as data
table                               one program over many pairs of rows
"""

from .draws import normal as normal
from .draws import uniform as uniform
from .expr import Array as Array
from .expr import Condition as Condition
from .expr import Expr as Expr
from .expr import Graph as Graph
from .expr import Scalar as Scalar
from .functions import absolute as absolute
from .functions import cos as cos
from .functions import exp as exp
from .functions import log as log
from .functions import maximum as maximum
from .functions import minimum as minimum
from .functions import power as power
from .functions import sign as sign
from .functions import sin as sin
from .functions import sqrt as sqrt
from .functions import where as where
from .linalg import cross as cross
from .linalg import dot as dot
from .looped import Repeated as Repeated
from .looped import Rolled as Rolled
from .program import Count as Count
from .program import Port as Port
from .program import Program as Program
from .program import count as count
from .program import trace as trace
from .sliced import Sliced as Sliced
from .table import Table as Table
from .unwound import Unwound as Unwound
