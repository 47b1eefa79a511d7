"""Generated folders, compiled by the machine's C compiler and compared with what they were made from."""

from __future__ import annotations

import dataclasses
import functools
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import elbowroom as er
from ccompiler import CC, FUSED, STRICT, called, compiled, library, needs_cc
from elbowroom import codegen
from elbowroom.codegen import files, selftest
from elbowroom.errors import ElbowroomError, UnknownNameError
from marks import slow_where
from strategies import robots

QUANTITIES = tuple(er.dynamics.REGISTRY)
ARMS = {
    "panda": er.load("panda"),
    "ur5e": er.load("ur5e"),
    "scara": er.load("scara"),
    "stanford": er.load("stanford"),
    "slides": er.chains.random(4, 3, kinds="RPRP"),
    "one": er.chains.random(1, 1),
}
REALS = {"double": np.float64, "float": np.float32}


def states(arm, program, count=7):
    """Inputs that single precision holds exactly."""
    return selftest.states(arm.model, program, count)


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """Every quantity of an arm in one library, in a precision: (library, Code)."""

    @functools.cache
    def build(name: str, real: str):
        folder, arm = tmp_path_factory.mktemp(real), ARMS[name]
        chosen = QUANTITIES if real == "double" or arm.n < 5 else QUANTITIES[::5]  # to save half a minute
        code = codegen.write(arm, chosen, folder / name, real=real, trig="own", name=name)
        more = ["-Wconversion", "-Wdouble-promotion", "-Wshadow", "-Wstrict-prototypes"]
        return library(folder, [folder / name / f"{name}.c"], *FUSED, *more), code

    return build


# ---- numbers
@needs_cc
@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("name", slow_where(lambda name: ARMS[name].n > 4, ARMS))
def test_every_quantity_is_the_program_s(everything, name, real):
    lib, code = everything(name, real)
    for f in code.functions:
        program = f.source.program
        inputs = states(ARMS[name], program)
        wanted = selftest.outputs(program, inputs)
        got = called(lib, f.name, program, inputs, REALS[real])
        # The bound is that of the self-test, which scales with what single precision loses on the same states.
        assert selftest.difference(got, wanted) <= selftest.limit(program, inputs, wanted, real), f.name


@needs_cc
@pytest.mark.parametrize("name", slow_where(lambda name: ARMS[name].n > 4, ["slides", "scara", "panda"]))
def test_the_bits_are_the_kernel_s(everything, name):
    """The same steps, fused alike, with the same sines: nothing is left to differ."""
    lib, code = everything(name, "double")
    arm = ARMS[name]
    chosen = (
        "mass_matrix",
        "inverse_dynamics",
        "forward_dynamics",
        "coriolis_matrix",
        "quasi_acceleration",
        "jacobian",
    )
    for f in code.functions:
        if f.quantity not in chosen:
            continue
        kernel = arm.compile(f.quantity)
        assert f.method == kernel.method
        inputs = states(arm, kernel.program)
        got = called(lib, f.name, kernel.program, inputs)
        wanted = kernel(*(inputs[p.name] for p in kernel.program.inputs))
        for port in kernel.program.outputs:
            assert np.array_equal(got[port.name], getattr(wanted, port.name, wanted)), f.name


@needs_cc
def test_single_precision_has_the_single_kernel_s_bits(everything):
    lib, code = everything("slides", "float")
    arm = ARMS["slides"]
    for f in code.functions:
        if f.quantity in ("mass_matrix", "forward_dynamics"):
            kernel = arm.compile(f.quantity, dtype=np.float32)
            inputs = {k: x.astype(np.float32) for k, x in states(arm, kernel.program).items()}
            got = called(lib, f.name, kernel.program, inputs, np.float32)
            wanted = kernel(*(inputs[p.name] for p in kernel.program.inputs))
            assert np.array_equal(got[f.quantity], wanted)


@needs_cc
@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(model=robots(max_joints=3))
def test_random_robots(tmp_path_factory, model):
    folder = tmp_path_factory.mktemp("drawn")
    arm = er.Arm(model)
    code = codegen.write(arm, ["inverse_dynamics", "mass_matrix", "jacobian"], folder, wrench="links")
    lib = library(folder, [folder / "drawn.c"], *FUSED)
    for f in code.functions:
        program = f.source.program
        inputs = states(arm, program)
        wanted = selftest.outputs(program, inputs)
        got = called(lib, f.name, program, inputs)
        assert selftest.difference(got, wanted) <= selftest.limit(program, inputs, wanted, "double")


@needs_cc
def test_a_wrench_at_the_tool(tmp_path):
    arm = ARMS["ur5e"]
    codegen.write(arm, ["inverse_dynamics", "gravity_torque"], tmp_path, wrench="tool")
    lib = library(tmp_path, [tmp_path / "ur5e.c"])
    program = er.dynamics.program(arm.model, "inverse_dynamics", "rnea", wrench="tool")
    inputs = states(arm, program, 3)
    got = called(lib, "ur5e_inverse_dynamics", program, inputs)["inverse_dynamics"]
    wanted = [arm.inverse_dynamics(*(inputs[k][s] for k in ("q", "qd", "qdd", "wrench"))) for s in range(3)]
    assert np.allclose(got, wanted, rtol=0, atol=1e-12)  # torques up to 100 N m, some hundred roundings


# ---- the self-test
def run_test(folder: Path, prefix: str, *flags: str) -> subprocess.CompletedProcess:
    sources = [f"{prefix}.c", f"{prefix}_test.c"]
    compiled([CC, *STRICT, "-Wconversion", "-O1", *flags, "-o", "self", *sources, "-lm"], cwd=folder)
    return subprocess.run([folder / "self"], capture_output=True, text=True, check=False)


@needs_cc
@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("trig", ["libm", "own"])
@pytest.mark.parametrize("flags", [(), ("-DEW_USE_FMA=0", "-ffp-contract=off"), tuple(FUSED)], ids=str)
def test_the_self_test_passes(tmp_path, real, trig, flags):
    quantities = ["mass_matrix", "forward_dynamics", "quasi_velocities", "friction_torque"]
    codegen.write(ARMS["scara"], quantities, tmp_path, real=real, trig=trig)
    done = run_test(tmp_path, "scara", *flags)
    lines = done.stdout.splitlines()
    assert done.returncode == 0
    assert [line.split()[0] for line in lines] == [f"scara_{quantity}" for quantity in quantities]
    assert all(line.endswith("ok") for line in lines)


@needs_cc
@pytest.mark.parametrize("damage", ["a changed constant", "not a number", "nothing written"])
def test_the_self_test_fails_for_a_damaged_file(tmp_path, damage):
    codegen.write(ARMS["scara"], ["mass_matrix", "gravity_torque"], tmp_path)
    text = (tmp_path / "scara.c").read_text()
    stores = re.findall(r"mass_matrix\[0\] = .*;", text)
    replacement = {
        "a changed constant": stores[0].replace("= ", "= 1.000001 * "),
        "not a number": "mass_matrix[0] = (double)NAN;",
        "nothing written": "",
    }[damage]
    (tmp_path / "scara.c").write_text(text.replace(stores[0], replacement))
    done = run_test(tmp_path, "scara", "-Wno-unused-variable")
    first, second = done.stdout.splitlines()
    assert done.returncode == 1
    assert first.endswith("FAILED")
    assert second.endswith("ok")


@needs_cc
@pytest.mark.skipif(shutil.which("cmake") is None, reason="there is no cmake on this machine")
def test_the_cmake_file(tmp_path):
    codegen.write(ARMS["scara"], ["pose", "quasi_velocities"], tmp_path)
    for command in (["cmake", "-S", ".", "-B", "build"], ["cmake", "--build", "build"]):
        compiled(command, cwd=tmp_path)
    done = compiled(["ctest"], cwd=tmp_path / "build")
    assert "100% tests passed" in done.stdout


# ---- the text
@needs_cc
def test_no_library_at_all(tmp_path):
    """Our own sines need no symbol from anywhere: linked with nothing, nothing is missing."""
    code = codegen.write(ARMS["scara"], ["inverse_dynamics", "forward_dynamics"], tmp_path, trig="own")
    command = [CC, *STRICT, "-O2", "-fPIC", "-shared", "-nostdlib", "-Wl,--no-undefined", "-o", "bare.so", "scara.c"]
    compiled(command, cwd=tmp_path)
    assert "Called from libm: nothing." in code.files["scara.h"]
    codegen.write(ARMS["scara"], ["inverse_dynamics"], tmp_path, force=True)
    with pytest.raises(AssertionError, match="sin"):  # the same with libm's sines does miss them
        compiled(command, cwd=tmp_path)


@needs_cc
@pytest.mark.parametrize("standard", ["c++11", "c++20"])
def test_it_is_c_plus_plus_too(tmp_path, standard):
    plus = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if plus is None:
        pytest.skip("there is no C++ compiler on this machine")
    codegen.write(ARMS["one"], QUANTITIES, tmp_path, trig="own", name="one")
    options = [f"-std={standard}", "-x", "c++", *STRICT[1:], "-o", "self"]
    compiled([plus, *options, "one.c", "one_test.c", "-lm"], cwd=tmp_path)
    assert subprocess.run([tmp_path / "self"], check=False, capture_output=True).returncode == 0


@needs_cc
@pytest.mark.skipif(shutil.which("clang") is None, reason="there is no clang on this machine")
@pytest.mark.parametrize("real", REALS)
def test_clang(tmp_path, real):
    codegen.write(ARMS["scara"], ["mass_matrix", "forward_dynamics"], tmp_path, trig="own", real=real)
    options = [*STRICT, "-Wconversion", "-Wdouble-promotion", "-O2", *FUSED]
    compiled(["clang", *options, "-o", "self", "scara.c", "scara_test.c", "-lm"], cwd=tmp_path)
    assert subprocess.run([tmp_path / "self"], check=False, capture_output=True).returncode == 0


EVIL = '*/ #error out /* ??/ \\ \n#error line\r\n "%s" \x1b[31m // é ' + "*\\\n/ ??) */*/"


@needs_cc
def test_names_from_a_file_stay_in_their_comments(tmp_path):
    model = ARMS["scara"].model
    names = tuple(f"{EVIL}{i}" for i in range(model.n))
    arm = er.Arm(dataclasses.replace(model, name=EVIL, joint_names=names, description=EVIL, source=EVIL))
    code = codegen.write(arm, ["gravity_torque"], tmp_path)
    assert re.fullmatch(r"[A-Za-z]\w*", code.prefix)
    for name, text in code.files.items():
        assert text.isascii(), name
        assert all(c >= " " or c == "\n" for c in text), name
    done = run_test(tmp_path, code.prefix, "-Wcomment", "-Wtrigraphs")
    assert done.returncode == 0


def test_what_a_comment_cannot_hold():
    assert files.safe("a */ b") == "a * / b"
    assert files.safe("*\\\n/") == "* / /"
    for text in ("**/", "*//*", "/**/", "//", "*/*/", EVIL):
        assert not re.search(r"\*/|/\*|//|\\|\?\?|\n", files.safe(text))


def test_the_header_says_what_is_what():
    text = codegen.generate(ARMS["stanford"], ["mass_matrix", "christoffel"]).files["stanford.h"]
    assert "void stanford_mass_matrix(const double q[6], double mass_matrix[36]);" in text
    assert "prismatic, m" in text
    assert "revolute, rad" in text
    assert "element (i, j) is mass_matrix[i * 6 + j]" in text
    assert "element (i, j, k) is christoffel[(i * 6 + j) * 6 + k]" in text
    assert 'extern "C" {' in text
    assert all(joint in text for joint in ARMS["stanford"].joint_names)


def test_every_quantity_and_input_has_words():
    assert all(er.dynamics.quantity(name).meaning for name in QUANTITIES)
    assert set(files.INPUTS) == {name for q in er.dynamics.REGISTRY.values() for name in q.inputs}


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4)])
def test_the_index_formula_is_numpy_s_order(shape):
    formula = re.search(r"x\[(.*)\]", files.indexing("x", shape))[1]
    flat = np.arange(np.prod(shape)).reshape(shape)
    for place in np.ndindex(*shape):
        assert flat[place] == eval(formula, dict(zip("ijk", place, strict=False)))


def test_the_same_arm_gives_the_same_bytes():
    first, second = (codegen.generate(er.load("scara"), ["pose", "mass_matrix"]).files for _ in range(2))
    assert dict(first) == dict(second)


# ---- what is refused
@pytest.mark.parametrize(
    "quantities, options, message",
    [
        (["mas_matrix"], {}, "did you mean mass_matrix"),
        ([], {}, "expected at least one of"),
        (["mass_matrix"], {"method": "rnea"}, "method of mass_matrix must be one of"),
        (["mass_matrix"], {"wrench": "tool"}, "takes outside wrenches"),
        (["mass_matrix"], {"wrench": "hand"}, "wrench: expected one of"),
        (["mass_matrix"], {"real": "half"}, "real: expected one of"),
        (["mass_matrix"], {"trig": "table"}, "trig: expected one of"),
        (["mass_matrix"], {"name": "1st"}, "a letter first"),
        (["mass_matrix"], {"name": "../x"}, "a letter first"),
        (["mass_matrix"], {"name": "math"}, "hide a header"),
    ],
)
def test_what_cannot_be_generated(quantities, options, message):
    with pytest.raises(ElbowroomError, match=re.escape(message)):
        codegen.generate(ARMS["one"], quantities, **options)


def test_an_unknown_quantity_is_an_unknown_name():
    with pytest.raises(UnknownNameError):
        codegen.generate(ARMS["one"], ["inertia"])


@pytest.mark.parametrize("name, prefix", [("math", "math_arm"), ("7 dof", "x7_dof"), ("Ö", "x"), ("a-b", "a_b")])
def test_the_arm_s_name_becomes_a_prefix(name, prefix):
    arm = er.Arm(dataclasses.replace(ARMS["one"].model, name=name))
    assert codegen.generate(arm, ["pose"]).prefix == prefix


def test_a_folder_with_something_in_it_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ElbowroomError, match="is not empty"):
        codegen.write(ARMS["one"], ["pose"], tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]
    codegen.write(ARMS["one"], ["pose"], tmp_path, name="arm", force=True)
    assert (tmp_path / "mine.txt").read_text() == "mine"
    assert (tmp_path / "arm.c").exists()
    with pytest.raises(ElbowroomError, match="is a file"):
        codegen.write(ARMS["one"], ["pose"], tmp_path / "mine.txt")


# ---- CUDA
@pytest.mark.parametrize("layout, element", [("columns", "q[1 * count + state]"), ("rows", "q[first * 4 + i]")])
def test_cuda_kernels(layout, element):
    text = codegen.cuda(ARMS["scara"], ["mass_matrix", "pose"], layout=layout, real="float")
    assert element in text
    assert "scara_pose(const float* __restrict__ q, float* __restrict__ pose, long long count, int* odd)" in text
    assert text.count("void ew_sincos(") == 1
