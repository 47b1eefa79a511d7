"""Shapes, how far they are apart, and the bodies made of them."""

from .body import Body as Body
from .distance import PairRow as PairRow
from .distance import Separation as Separation
from .distance import distance as distance
from .distance import pair_row as pair_row
from .distance import separation as separation
from .distance import separation_from_plane as separation_from_plane
from .distance import separation_from_shell as separation_from_shell
from .pairs import Pairs as Pairs
from .person import Person as Person
from .person import Sizes as Sizes
from .person import Skeleton as Skeleton
from .segments import PARALLEL_ANGLE as PARALLEL_ANGLE
from .shapes import PARKED as PARKED
from .shapes import ROW as ROW
from .shapes import Box as Box
from .shapes import Capsule as Capsule
from .shapes import HalfSpace as HalfSpace
from .shapes import HollowSphere as HollowSphere
from .shapes import Sphere as Sphere
