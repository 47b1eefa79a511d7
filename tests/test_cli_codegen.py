"""`elbowroom codegen` as a person and a script see it."""

from __future__ import annotations

import pytest


def test_a_folder_of_c(run, tmp_path):
    out = tmp_path / "deep" / "arm_c"
    status, said, wrong = run("codegen", "scara", "mass_matrix", "pose", "--out", out)
    assert (status, wrong) == (0, "")
    assert sorted(p.name for p in out.iterdir()) == [
        "CMakeLists.txt",
        "README.txt",
        "scara.c",
        "scara.h",
        "scara_test.c",
    ]
    assert "scara_mass_matrix" in said
    assert "crba" in said
    assert "void scara_pose(const double q[4], double pose[16]);" in (out / "scara.h").read_text()


def test_its_options(run, tmp_path):
    status, _, _ = run(
        *("codegen", "ur5e", "inverse_dynamics", "--float", "--trig", "own", "--wrench", "tool"),
        *("--method", "gda", "--name", "arm", "--lang", "c", "--out", tmp_path / "a"),
    )
    header = (tmp_path / "a" / "arm.h").read_text()
    assert status == 0
    assert "Method gda" in header
    assert "const float wrench[6]" in header
    assert "Called from libm: nothing." in header


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("panda", "mas_matrix"), "did you mean mass_matrix"),
        (("panda", "mass_matrix", "--method", "gdahk"), "did you mean gdahj"),
        (("pandas", "mass_matrix"), "did you mean panda"),
        (("panda", "mass_matrix", "--name", "a b"), "a letter first"),
        (("nothing.urdf", "mass_matrix"), "nothing.urdf"),
    ],
)
def test_errors_are_one_line(run, tmp_path, arguments, message):
    status, said, wrong = run("codegen", *arguments, "--out", tmp_path / "c")
    assert (status, said) == (1, "")
    assert wrong.startswith("error: ")
    assert wrong.count("\n") == 1
    assert message in wrong
    assert not (tmp_path / "c").exists()


def test_a_folder_that_is_not_empty_needs_force(run, tmp_path):
    (tmp_path / "notes.txt").write_text("kept")
    status, _, wrong = run("codegen", "scara", "pose", "--out", tmp_path)
    assert status == 1
    assert "--force" in wrong
    assert wrong.count("\n") == 1
    assert run("codegen", "scara", "pose", "--out", tmp_path, "--force")[0] == 0
    assert (tmp_path / "notes.txt").read_text() == "kept"


@pytest.mark.parametrize(
    "arguments",
    [("panda", "mass_matrix"), ("panda", "--out", "x"), ("panda", "pose", "--lang", "ada", "--out", "x")],
    ids=["no folder", "no quantity", "no such language"],
)
def test_a_call_that_is_not_understood(run, arguments):
    status, said, wrong = run("codegen", *arguments)
    assert (status, said) == (2, "")
    assert "Usage: elbowroom codegen" in wrong
