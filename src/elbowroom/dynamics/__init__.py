"""One formulation, one file, one signature per quantity: f(model, q, ...) on floats or on Expr."""

from . import aba as aba
from . import christoffel as christoffel
from . import crba as crba
from . import drives as drives
from . import energy as energy
from . import gda as gda
from . import gdahj as gdahj
from . import kinematics as kinematics
from . import rnea as rnea
from .quantities import REGISTRY as REGISTRY
from .quantities import Quantity as Quantity
from .quantities import cheapest as cheapest
from .quantities import program as program
from .quantities import quantity as quantity
from .quantities import whole as whole
