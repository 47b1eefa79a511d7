"""A way around: what stands there, which configurations are free of it, and routes between them."""

from .checker import Checker as Checker
from .world import World as World
