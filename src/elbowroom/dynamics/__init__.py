"""One formulation, one file, one signature per quantity: f(model, q, ...) on floats or on Expr."""

from . import aba as aba
from . import brandl as brandl
from . import christoffel as christoffel
from . import columns as columns
from . import crba as crba
from . import dalembert as dalembert
from . import diagonalized as diagonalized
from . import drives as drives
from . import energy as energy
from . import gda as gda
from . import gdahj as gdahj
from . import kalman as kalman
from . import kinematics as kinematics
from . import lagrange_euler as lagrange_euler
from . import operator_rates as operator_rates
from . import operators as operators
from . import rnea as rnea
from . import rnea_base as rnea_base
from . import walker_orin as walker_orin
from .quantities import REGISTRY as REGISTRY
from .quantities import Quantity as Quantity
from .quantities import quantity as quantity
from .whole_arm import cheapest as cheapest
from .whole_arm import program as program
from .whole_arm import rolled as rolled
from .whole_arm import whole as whole
