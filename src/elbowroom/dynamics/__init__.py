"""One formulation, one file, one signature per quantity: f(model, q, ...) on floats or on Expr.

Recursions that can be compiled with their loops kept, those of records with `loops_from` and what they call (aba.py,
christoffel.py, compliance.py, crba.py, derivatives.py, gdahj.py, joints.py, kinematics.py's frames, rnea.py), are
written with `scan`, `each` and `pairs` of algebra/loops.py, which stay loops for long chains.  Everything else is plain
Python loops, as its paper prints them: it is always a straight line.  A loop over the entries of a matrix is a plain
one in either.
"""

from . import aba as aba
from . import brandl as brandl
from . import christoffel as christoffel
from . import columns as columns
from . import compliance as compliance
from . import crba as crba
from . import dalembert as dalembert
from . import derivatives as derivatives
from . import diagonalized as diagonalized
from . import drives as drives
from . import energy as energy
from . import gda as gda
from . import gdahj as gdahj
from . import kalman as kalman
from . import kinematics as kinematics
from . import lagrange_euler as lagrange_euler
from . import operational_space as operational_space
from . import operator_rates as operator_rates
from . import operators as operators
from . import regressor as regressor
from . import rnea as rnea
from . import rnea_base as rnea_base
from . import walker_orin as walker_orin
from .formulation import Formulation as Formulation
from .formulation import Quantity as Quantity
from .quantities import REGISTRY as REGISTRY
from .quantities import quantity as quantity
from .whole_arm import Choice as Choice
from .whole_arm import cheapest as cheapest
from .whole_arm import chosen as chosen
from .whole_arm import program as program
from .whole_arm import rolled as rolled
from .whole_arm import together as together
from .whole_arm import whole as whole
