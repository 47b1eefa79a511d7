"""From Program to machine.  Knows nothing of robots."""

from .kernel import Kernel as Kernel
