"""Code for controllers: quantities of an arm as a folder of C99, with a header, a self-test and a CMake file.

    codegen.write(arm, ["mass_matrix", "inverse_dynamics"], "panda_c")
    codegen.generate(arm, ["gravity_torque"], real="float", trig="own").files["panda.h"]
    codegen.casadi_function(program)                          a Program as a function of CasADi
    codegen.cuda(arm, ["mass_matrix"], layout="columns")      the same bodies as CUDA kernels

The steps are those of the compiled kernels, written by `compile.source`.
"""

from .casadi_function import casadi_function as casadi_function
from .folder import Code as Code
from .folder import cuda as cuda
from .folder import generate as generate
from .folder import write as write
