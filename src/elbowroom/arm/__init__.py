"""The arm: its public face (`arm`) and the kernels that answer for it (`kernels`)."""

from .arm import Arm as Arm
