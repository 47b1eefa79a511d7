"""The command line as a person, a pipe and a script see it; and the code of README and docs, which must be true."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import warnings
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
import typer

import elbowroom as er
from elbowroom import cli, dynamics
from elbowroom.avoidance.planning.detour import RouteState
from elbowroom.cell import Cell
from elbowroom.cell.recording.table import read as recorded
from elbowroom.cli import tour
from elbowroom.cli.bench import Benchmark
from elbowroom.cli.run import _ways
from elbowroom.cli.terminal import noted
from elbowroom.export import write_urdf
from elbowroom.model import catalogue
from marks import slow_where
from pages import BLOCK, PAGES, outputs, prepare
from referees import thinned

ROOT = Path(__file__).parent.parent
COMMANDS = (
    "robots",
    "show",
    "check",
    "demo",
    "tour",
    "count",
    "tables",
    "bench",
    "export",
    "codegen",
    "run",
    "replay",
    "convert",
    "ros2",
    "plant",
    "experiment",
    "identify",
    "excite",
    "campaign",
    "doctor",
)


def shell(*arguments, **environment) -> subprocess.CompletedProcess:
    """The command in a process of its own, its output in pipes."""
    kept = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE")}
    return subprocess.run(
        [sys.executable, "-m", "elbowroom.cli", *map(str, arguments)],
        capture_output=True,
        env=kept | {"TERM": "xterm-256color"} | environment,
        check=False,
        timeout=120,
    )


def is_one_line(message: str) -> bool:
    return message.startswith("error: ") and message.count("\n") == 1 and message.endswith("\n")


def cells(out: str, first: str) -> list[str]:
    """The words of the first line that starts with this one."""
    return next(words for line in out.splitlines() if (words := line.split()) and words[0] == first)


ARM = """<robot name="{robot}">
  <link name="base"/>
  <link name="{link}"><inertial><origin xyz="0.2 0 0"/><mass value="{mass}"/>
    <inertia ixx="0.01" iyy="0.03" izz="0.03"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0.2 0 0"/><mass value="1"/>
    <inertia ixx="0.01" iyy="{iyy}" izz="0.02"/></inertial></link>
  <link name="tool0"/>
  <joint name="{joint}" type="revolute"><parent link="base"/><child link="{link}"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" velocity="3" effort="50"/></joint>
  <joint name="elbow" type="revolute"><parent link="{link}"/><child link="lower"/><origin xyz="0.4 0 0"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2" velocity="3" effort="30"/></joint>
  <joint name="flange" type="fixed"><parent link="lower"/><child link="tool0"/><origin xyz="0.4 0 0"/></joint>
  {more}
</robot>
"""


def urdf(**changes) -> str:
    plain = {"robot": "my", "link": "upper", "joint": "shoulder", "mass": "2", "iyy": "0.02", "more": ""}
    return ARM.format(**(plain | changes))


FINGER = """<link name="finger"><inertial><mass value="0.1"/>
  <inertia ixx="1e-4" iyy="1e-4" izz="1e-4"/></inertial></link>
  <joint name="grip" type="prismatic"><parent link="lower"/><child link="finger"/>
  <limit lower="0" upper="0.1" velocity="1" effort="1"/></joint>"""


# ---- the command itself


def test_without_a_command_it_introduces_itself(run):
    status, out, err = run()
    assert status == 0
    assert err == ""
    assert all(f"elbowroom {command}" in out for command in COMMANDS)
    assert "not certified" in out
    assert "certified safety controller" in out
    assert max(map(len, out.splitlines())) <= 100


def test_version(run):
    assert run("--version") == (0, f"elbowroom {er.__version__}\n", "")


@pytest.mark.parametrize("arguments", [("shwo",), ("show",), ("robots", "--nosuch"), ("bench", "nosuch")])
def test_a_call_that_is_not_understood_has_status_2(run, arguments):
    status, out, err = run(*arguments)
    assert status == 2
    assert out == ""
    assert "Error" in err


COMMAND_LINE = typer.main.get_command(cli.app)


def examples(text: str) -> list[list[str]]:
    """The calls that a text shows, a line each: words after `elbowroom`, without what is said beside them."""
    lines = [line.strip() for line in text.splitlines()]
    lines = [re.sub(r"^(See|Ask|Run|Build) +(?=elbowroom )", "", line) for line in lines]
    return [shlex.split(re.split(r" {2,}", line)[0])[1:] for line in lines if line.startswith("elbowroom ")]


def understood(words: list[str]) -> str:
    """Parses a call without making it: every option and choice in it exists.  The command's name."""
    command, given = COMMAND_LINE.commands[words[0]], list(words[1:])
    if words[0] == "campaign":  # it has commands of its own; `run` need not be said
        inner = given.pop(0) if given and given[0] in command.commands else "run"
        command = command.commands[inner]
    command.make_context(words[0], given)  # raises for what is not understood
    return words[0]


def test_all_commands_are_tested():
    assert set(COMMAND_LINE.commands) == set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_with_examples_that_are_true(run, command):
    status, out, _ = run(command, "--help")
    assert status == 0
    shown = [words for words in examples(out) if words]
    assert shown, "an example: a line that starts with `elbowroom NAME`"
    assert {understood(words) for words in shown} == {command}
    if command == "bench":
        assert {words[1] for words in shown} == {each.value for each in Benchmark}


def test_the_calls_of_the_overview_are_understood(run):
    shown = examples(run()[1].partition("\n")[2])  # the first line has a name and a version
    assert {understood(words) for words in shown} == set(COMMANDS)


def test_an_example_that_is_not_true_would_be_found():
    assert examples("  elbowroom show panda --tip x     what it does\nSee    elbowroom demo") == [
        ["show", "panda", "--tip", "x"],
        ["demo"],
    ]
    for words in (["show", "panda", "--nosuch"], ["bench", "nosuch"], ["show"]):
        with pytest.raises(Exception, match=r"nosuch|Missing"):
            understood(words)


@pytest.mark.parametrize(
    "arguments",
    [
        ("shwo",),
        ("show", "pandda"),
        ("bench", "dynamics", "--robot", "pandda"),
        ("count", "--quantity", "mass_matix"),
        ("show", "panda", "--structur"),
        ("experiment", "1", "--robot", "pamda"),
    ],
)
def test_a_slip_of_the_finger_is_hinted_at_once(run, arguments):
    status, out, err = run(*arguments)
    assert (status > 0, out) == (True, "")
    assert len(re.findall(r"did you mean|possible options", " ".join(err.lower().split()))) == 1


def test_import_elbowroom_leaves_the_command_line_alone():
    code = "import sys, elbowroom; print(sorted({'typer', 'rich', 'elbowroom.cli'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# ---- robots


def test_robots_lists_the_catalogue(run):
    status, out, _ = run("robots")
    assert status == 0
    for name in catalogue.names():
        model = catalogue.load(name)
        words = cells(out, name)
        assert words[1:3] == [str(model.n), model.kinds]
        assert all(word in out for word in model.source.split())


# ---- show


def test_show_has_the_ready_pose_that_is_searched_for(run, tmp_path):
    path = tmp_path / "ours.urdf"
    path.write_text(write_urdf.urdf(catalogue.load("planar2")))
    arm = er.load(path)
    assert not arm.model.has_ready
    assert arm.ready.any()
    status, out, _ = run("show", path)
    assert status == 0
    assert [cells(out, name)[4] for name in arm.joint_names] == [f"{x + 0.0:.4g}" for x in arm.ready]


@pytest.mark.parametrize("name", thinned(catalogue.names()))
def test_show_tells_all_about_an_arm(run, name):
    model = catalogue.load(name)
    status, out, err = run("show", name)
    assert (status, err) == (0, "")
    assert f"{model.mass.sum():.5g} kg" in out
    for i in range(model.n):
        row = cells(out, model.joint_names[i])
        limits = (model.lower[i], model.upper[i], model.ready[i], model.velocity[i], model.effort[i])
        assert row[2:7] == ["-" if np.isinf(x) else f"{x + 0.0:.4g}" for x in limits]
        assert cells(out.split("Links:")[1], model.link_names[i])[1] == f"{model.mass[i]:.4g}"
    if model.rotor_inertia.any():
        drives = out.split("Drives:")[1]
        assert cells(drives, model.joint_names[0])[1:] == [
            f"{x[0]:.4g}" for x in (model.viscous, model.coulomb, model.rotor_inertia)
        ]
    assert not re.search(r"\b(inf|nan)\b|-0\b(?!\.)", out)


def test_show_counts_operations_and_marks_the_default(run):
    arm = er.load("puma560")
    _, out, _ = run("show", "puma560")
    counts = out.split("Operations")[1]
    expected = dynamics.program(arm.model, "mass_matrix", "gdahj").count
    assert cells(counts, "gdahj")[1:] == [
        str(x) for x in (expected.mul, expected.add, 0, expected.sincos, expected.total)
    ]
    for name in ("mass_matrix", "coriolis_matrix", "inverse_dynamics", "forward_dynamics"):
        section = counts[counts.index(f"\n{name} ") :].splitlines()[1:]
        marked = next(line for line in section if " * " in line).replace(name, "").split()
        assert marked[0] == arm.compile(name).method


def test_show_takes_a_file_and_its_tip(run, urdf_file):
    path = urdf_file(urdf())
    status, out, _ = run("show", path, "--tip", "lower")
    assert status == 0
    assert out.startswith("my\n")
    assert "Tool at (0, 0, 0) m" in out
    assert "Tool at (0, 0.4, 0) m" in run("show", path)[1]  # frames are turned so that z is the joint's axis


def test_show_warns_on_stderr_and_goes_on(run, urdf_file):
    status, out, err = run("show", urdf_file(urdf(more=FINGER)), "--tip", "tool0")
    assert status == 0
    assert "2 joints" in out
    assert err.startswith("warning: ")
    assert "'grip'" in err
    assert "warning" not in out


def test_numbers_are_never_cut_short_in_a_narrow_terminal(run, monkeypatch):
    _, wide, _ = run("show", "scara")
    monkeypatch.setenv("COLUMNS", "40")
    _, narrow, _ = run("show", "scara")
    number = r"-?\d+\.?\d*(?:e-\d+)?"
    assert sorted(re.findall(number, wide)) == sorted(re.findall(number, narrow))
    assert len(re.findall(number, wide)) > 100


SINGULAR = urdf(mass="0", link="ghost").replace('ixx="0.01" iyy="0.03" izz="0.03"', 'ixx="0" iyy="0" izz="0"')
LONE = re.sub(r"<link name=.lower.*?</link>", '<link name="lower"/>', SINGULAR, flags=re.S)  # nothing has mass
BROKEN = {
    "cut.urdf": "<robot name='x'><link",
    "negative.urdf": urdf(mass="-2"),
    "entity.urdf": '<!DOCTYPE r [<!ENTITY a "b">]>' + urdf(),
    "weightless.urdf": LONE,
    "empty.toml": "",
    "typo.toml": 'name = "x"\nconvention = "mhd"\n',
    "words.toml": "this is not TOML",
    "what.txt": "hello",
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("command", ["show", "check"])
def test_a_broken_file_is_an_error(run, tmp_path, command, name):
    path = tmp_path / name
    path.write_text(BROKEN[name])
    status, out, err = run(command, path)
    assert status == 1
    if command == "check" and name != "what.txt":
        assert err == ""
        assert out.startswith("error ")
        assert "1 error" in out.splitlines()[-1]
    else:
        assert out == ""
        assert is_one_line(err)
        assert name in err or "weightless" in name


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "pandda"),
        ("show", "nosuch.urdf"),
        ("show", "nosuch.toml"),
        ("show", "panda", "--tip", "x"),
        ("show", "/"),
    ],
)
def test_what_is_not_there_is_one_line(run, arguments):
    status, out, err = run(*arguments)
    assert (status, out) == (1, "")
    assert is_one_line(err)
    assert arguments[-1] in err


@pytest.mark.parametrize("name", ["nosuch.toml", "nosuch.urdf"])
def test_checking_a_file_that_is_not_there_finds_one_error(run, name):
    status, out, _ = run("check", name)
    assert status == 1
    assert name in out
    assert "1 error" in out


def test_a_misspelt_name_is_set_right(run):
    assert "did you mean panda" in run("show", "pandda")[2]


@pytest.mark.parametrize("position", [0, 2])
def test_debug_shows_the_trace(position):
    arguments = ["show", "nosuch.urdf"]
    arguments.insert(position, "--debug")
    with pytest.raises(er.ModelError, match=r"nosuch\.urdf"):
        cli.main(arguments)


@pytest.mark.parametrize(
    "arguments, error",
    [
        (["run", "nosuch.toml"], er.ConfigError),
        (["run", "nosuch.toml", "--robot", "pandda"], er.ConfigError),
        (["experiment", "1", "--robot", "pamda"], er.ConfigError),
        (["bench", "dynamics", "--robot", "pandda"], er.UnknownNameError),
        (["export", "panda", "--format", "urdf", "--out", "."], er.ElbowroomError),
        (["count", "--quantity", "nosuch"], er.UnknownNameError),
    ],
)
def test_an_error_is_one_line_and_with_debug_a_trace(run, arguments, error):
    status, out, err = run(*arguments)
    assert (status, out) == (1, "")
    assert is_one_line(err)
    with pytest.raises(error):
        cli.main([*arguments, "--debug"])


# ---- check


@pytest.mark.parametrize("json", [False, True])
def test_check_of_an_arm_without_shapes_has_status_1(run, urdf_file, json):
    status, out, err = run("check", urdf_file(urdf()), *["--json"] * json)
    assert (status, err) == (1, "")
    if not json:
        assert re.match(r"error    all \d moving links have no shape, .*; dynamics need none\nreach ", out)
        told = r"my: 1 error, no warnings; cannot run the standard cell: all \d links have no shape"
        assert re.fullmatch(told, out.splitlines()[-1])


@pytest.mark.parametrize("name", catalogue.names())
def test_check_passes_the_catalogue(run, name):
    status, out, err = run("check", name)
    assert (status, err) == (0, "")
    assert out.splitlines()[-1].startswith(f"{name}: no errors, ")
    warnings_ = [line for line in out.splitlines() if line.startswith("warning")]
    assert len(warnings_) == len(er.load(name).examine())
    assert sum(line.startswith(("reach  ", "ready pose  ", "capsules  ")) for line in out.splitlines()) == 3


def test_check_warns_of_what_the_file_has(run, urdf_file):
    status, out, err = run("check", urdf_file(urdf(iyy="0.5", more=FINGER)), "--tip", "tool0")
    assert (status, err) == (1, "")  # it has no shape, either
    _, triangle, locked, *_, verdict = out.splitlines()
    assert locked.startswith("warning  joints off the chain")
    assert "'grip'" in locked
    assert triangle.startswith("warning  link 'lower': inertia violates the triangle inequality")
    assert verdict.startswith("my: 1 error, 2 warnings; cannot run the standard cell")


def test_check_fails_with_status_1_and_names_the_link(run, urdf_file):
    status, out, _ = run("check", urdf_file(LONE))
    lines = out.splitlines()
    assert status == 1
    assert lines[0].startswith("error    link 'ghost'")
    assert "not positive definite" in lines[0]
    assert any(line.startswith("warning  link 'ghost': mass is zero") for line in lines)
    assert lines[-1].startswith("my: 1 error, ")


def test_check_as_json_says_what_the_text_says(run, urdf_file):
    status, out, err = run("check", "ur5e", "--json")
    found = json.loads(out)
    assert (status, err, found["name"], found["findings"]) == (0, "", "ur5e", [])
    use = found["use"]
    assert use["joints"] == 6
    assert use["cell"]["possible"]
    text = run("check", "ur5e")[1]
    assert f"{use['reach']:.2f} m from the base" in text
    assert use["cell"]["sentence"] in text
    status, out, _ = run("check", urdf_file(LONE), "--json")
    assert status == 1
    assert json.loads(out)["use"] is None
    assert {finding["severity"] for finding in json.loads(out)["findings"]} >= {"error", "warning"}


# ---- what is said about an arm's file


@pytest.mark.parametrize(
    "command",
    [["show"], ["count"], ["codegen", "--out", "code"], ["export", "--format", "mjcf"], ["run", "--check", "--robot"]],
    ids=" ".join,
)
def test_what_is_said_of_an_arm_is_one_line_each_and_once(run, urdf_file, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    quantities = ["mass_matrix"] if command[0] == "codegen" else []
    _, _, err = run(*command, urdf_file(urdf(iyy="0.5", more=FINGER)), *quantities)
    said = [line for line in err.splitlines() if line.startswith(("note: my: ", "warning: my: "))]
    assert any(line.startswith("note: my: taken as the arm") for line in said)
    assert any(line.startswith("warning: my: link 'lower': inertia violates") for line in said)
    assert len(said) == len(set(said))
    assert "ModelWarning" not in err
    assert "ModelNotice" not in err


def test_other_warnings_are_shown_as_they_were(monkeypatch):
    shown = []
    monkeypatch.setattr(warnings, "showwarning", lambda message, *_: shown.append(str(message)))
    with noted():
        warnings.simplefilter("always", RuntimeWarning)
        warnings.warn("something else", RuntimeWarning, stacklevel=1)
    assert shown == ["something else"]


# ---- names from files are text, whatever they look like


def test_markup_in_names_is_printed_as_it_is(run, tmp_path):
    names = {"robot": "[bold]evil[/bold]", "link": "[red]x", "joint": "[/nope] :smile:"}
    path = tmp_path / "[link=x]arm[blue].urdf"
    path.write_text(urdf(**names))
    for command, expected in (("show", 0), ("check", 1)):  # it has no shapes
        status, out, err = run(command, path)
        assert (status, err) == (expected, "")
        assert names["robot"] in out
    _, out, _ = run("show", path)
    assert all(name in out for name in (*names.values(), path.name))
    path.write_text(urdf(**names, iyy="0.5").replace('"lower"', '"[green]y"'))
    assert "link '[green]y': inertia violates" in run("check", path)[1]
    path.write_text("<robot")
    assert run("show", path)[2].startswith(f"error: {path}: ")


def test_control_characters_in_names_are_spelled_out(run, tmp_path):
    path = tmp_path / "arm.toml"
    toml = (ROOT / "src/elbowroom/model/catalogue/planar2.toml").read_text()
    path.write_text(toml.replace('name = "planar2"', r'name = "a\u001b[31mb\nc\u202ed"'))
    for command in ("show", "check"):
        status, out, _ = run(command, path)
        assert status == 0
        assert r"a\x1b[31mb\nc\u202ed" in out
        assert "\x1b" not in out


# ---- tour


def test_the_tour_shows_true_numbers(run, monkeypatch):
    monkeypatch.setattr(tour, "PATIENCE", 0.01)
    monkeypatch.setattr(tour, "BATCH", 50)
    status, out, err = run("tour")
    arm = er.load("panda")
    assert (status, err) == (0, "")
    assert all(f"\n{k}. " in "\n" + out for k in range(1, 6))
    assert max(map(len, out.splitlines())) <= 100
    for row in arm.mass_matrix(arm.ready):
        assert "".join(f"{value:9.4f}" for value in row) in out
    for method in dynamics.quantity("mass_matrix").formulations:
        words = cells(out, method)
        assert int(words[3]) == dynamics.program(arm.model.symbolic(), "mass_matrix", method).count.total
        assert int(words[6]) == dynamics.program(arm.model, "mass_matrix", method).count.total
    for name in tour.TIMED:
        times = [float(word) for word in cells(out, name)[1::2]]
        assert len(times) == 3
        assert all(time > 0 for time in times)
    assert "not certified" in out


# ---- export


@pytest.mark.parametrize("form", ["mjcf", "urdf"])
def test_export_prints_the_file_alone_on_stdout(run, form):
    status, out, _ = run("export", "panda", "--format", form)
    assert status == 0
    assert ET.fromstring(out).tag == {"mjcf": "mujoco", "urdf": "robot"}[form]
    assert run("export", "panda", "--format", form)[1] == out


def test_export_writes_a_file_that_loads_again(run, tmp_path):
    path = tmp_path / "panda.urdf"
    assert run("export", "panda", "--format", "urdf", "--out", path) == (0, "", "")
    assert path.read_text() == run("export", "panda", "--format", "urdf")[1]
    arm, q = er.load("panda"), [0.1, -0.2, 0.3, -1.4, 0.5, 1.6, 0.7]
    np.testing.assert_allclose(er.load(path).mass_matrix(q), arm.mass_matrix(q), rtol=0, atol=1e-12)  # roundings
    again = run("export", path, "--format", "urdf")[1]
    assert ET.fromstring(again).find("link[@name='panda_link7']/inertial") is not None


def test_export_takes_a_file_with_its_tip(run, urdf_file):
    path = urdf_file(urdf(more=FINGER))
    status, out, err = run("export", path, "--tip", "tool0", "--format", "mjcf", "--actuators", "torque")
    assert status == 0
    assert [motor.get("name") for motor in ET.fromstring(out).iter("motor")] == ["shoulder", "elbow"]
    assert "warning: my: joints off the chain" in err
    assert "note: MJCF has no speed limits" in err


def test_export_overwrites_only_when_told(run, tmp_path):
    path = tmp_path / "arm.xml"
    path.write_text("mine")
    status, out, err = run("export", "panda", "--format", "mjcf", "--out", path)
    assert (status, out) == (1, "")
    assert is_one_line(err)
    assert "--force" in err
    assert path.read_text() == "mine"
    assert run("export", "panda", "--format", "mjcf", "--out", path, "--force")[0] == 0
    assert path.read_text().startswith("<?xml")


@pytest.mark.parametrize("where, said", [("no/such/arm.xml", "no folder"), (".", "is a folder")])
def test_export_to_nowhere_is_one_line(run, tmp_path, where, said):
    status, out, err = run("export", "panda", "--format", "mjcf", "--out", tmp_path / where)
    assert (status, out) == (1, "")
    assert is_one_line(err)
    assert said in err


def test_export_says_what_it_changed_and_what_it_cannot_write(run):
    status, out, err = run("export", "puma560", "--format", "mjcf")
    assert status == 0
    assert err.splitlines()[0].startswith("note: link 'link1': took 0.0234 kg")
    assert "took 0.0234 kg" in out
    status, out, err = run("export", "stanford", "--format", "mjcf")
    assert (status, out) == (1, "")
    assert is_one_line(err)
    assert "link 'link5'" in err
    assert "--allow-adjust" in err
    assert run("export", "stanford", "--format", "mjcf", "--allow-adjust")[0] == 0


def test_export_takes_another_cover_and_leaves_contacts_out(run):
    names = {capsule.name for capsule in catalogue.load("puma560").cover("thesis")}
    _, out, _ = run("export", "puma560", "--format", "mjcf", "--cover", "thesis", "--no-contacts")
    geoms = list(ET.fromstring(out).iter("geom"))
    assert {geom.get("name") for geom in geoms} == names
    assert {geom.get("contype") for geom in geoms} == {"0"}
    assert run("export", "panda", "--format", "urdf", "--cover", "nosuch")[0] == 1


@pytest.mark.parametrize(
    "arguments",
    [(), ("--format", "sdf"), ("--format", "urdf", "--actuators", "torque"), ("--format", "urdf", "--no-contacts")],
)
def test_export_that_is_not_understood(run, arguments):
    status, out, err = run("export", "panda", *arguments)
    assert (status, out) == (2, "")
    assert "Error" in err


def test_export_explains_itself_with_an_example(run):
    assert "elbowroom export panda --format mjcf --actuators torque --out panda.xml" in run("export", "--help")[1]


# ---- run


CELL = """
title = "Somebody comes [bold]near"
robot = "puma560"
cover = "thesis"
duration = 1.5
controller.period = 0.02
[task]
kind = "go_to"
point = [0.0, 0.1, 0.0]
[people.ann]
kind = "walk"
start = [1.5, 0.0]
end = [0.6, 0.0]
speed = 0.6
[variants.bare]
supervision = "off"
[variants.watched]
supervision = "watch"
[variants.alone]
people = false
duration = 0.1
"""


@pytest.fixture
def scene(tmp_path):
    """A scene's file."""
    path = tmp_path / "cell.toml"
    path.write_text(CELL)
    return path


def test_run_says_what_happened_and_records_it(run, scene, tmp_path):
    path = tmp_path / "run.csv"
    status, out, err = run("run", scene, "--out", path)
    assert (status, err) == (0, "")
    table = recorded(path)
    assert out.startswith(
        "Somebody comes [bold]near\npuma560 on the kinematic plant: 1.5 s, 75 control steps of 20 ms\n"
    )
    said = dict(re.findall(r"^  (\w[\w ]*?)  +(.*)$", out, re.M))
    assert said["least distance"].startswith(f"{table['distance_surfaces'].min():.3f} m at ")
    assert f"{table['distance_axes'].min():.3f} m between axes" in said["least distance"]
    assert said["least clearance"].startswith(f"{table['clearance'].min():.3f} m, of the whole arm")
    assert said["contacts"] == "0"
    assert "planning" not in said  # it has none
    cycles = int(table["cycles"][-1])
    assert said["task"] == f"{table['state'][-1]}, {cycles} task cycle{'s' * (cycles != 1)} completed"
    for column, line in (("status", "status"), ("law_status", "controller")):
        shares = dict(re.findall(r"(\w+) ([\d.]+) %", said[line]))
        assert {name: float(share) for name, share in shares.items()} == {
            name: pytest.approx(100 * (table[column] == name).mean(), rel=0.005) for name in set(table[column])
        }
    assert "supervisor" not in said  # its word is the status
    assert said["stops"] == "0, 0 resets"
    assert said["recording"] == f"{path}, 75 rows"
    assert (table.rows, table.notes["scene"], table.notes["plant"]) == (75, "cell.toml", "kinematic")


def test_run_says_how_often_it_went_around_and_waited(run, tmp_path):
    path = tmp_path / "run.csv"
    status, out, err = run("run", "--robot", "panda", "--variant", "around", "--seconds", "2", "--out", path)
    assert (status, err) == (0, "")
    assert {RouteState.NO_WAY, RouteState.AROUND} <= set(recorded(path)["route"])
    assert re.search(r"^  planning  +1 way around, 1 wait, 0 routes given up$", out, re.M)


def test_ways_around_waits_and_routes_given_up_are_counted_once_each():
    """A wait for one reason and then another is one wait."""
    states = [0, 1, 5, 5, 8, 2, 2, 1, 2, 4, 1, 0, 6, 3, 7]
    replans = np.array([0.0] * 7 + [1.0] * 8)
    said = "2 ways around, 3 waits, 1 route given up"
    assert _ways(np.array(states, dtype=float), replans) == said


def test_run_takes_variant_plant_and_robot(run, scene):
    status, out, _ = run("run", scene, "--variant", "bare", "--plant", "rigid")
    assert status == 0
    assert "on the rigid plant, variant bare" in out
    assert "supervisor" not in out
    assert "it only watched" in run("run", scene, "--variant", "watched")[1]
    status, out, _ = run("run", scene, "--variant", "alone", "--robot", "ur5e")
    assert status == 0
    assert "ur5e on the kinematic plant, variant alone: 0.1 s, 5 control steps" in out
    assert cells(out, "people") == ["people", "nobody"]
    assert "not written; --out FILE.csv does" in out


def test_run_tells_every_stop_and_its_reason(run, scene, tmp_path):
    low = scene.rename(tmp_path / "low.toml")
    changes = "duration = 4.0\nreset_after = 2.0\nlimits.stop_distance = 0.5\npeople.ann.periods = 1"
    scene.write_text(f'extends = "{low.name}"\n{changes}\n')
    status, out, err = run("run", scene)
    assert (status, err) == (0, "")
    assert cells(out, "stops") == ["stops", "1,", "1", "reset"]
    events = [line.split(None, 2) for line in out.splitlines() if line.startswith("     ")]
    assert re.fullmatch(r"STOP_HUMAN: a person is 0\.\d+ m away; the arm stops at 0\.5 m", events[0][2])
    assert events[1][2] == "reset"
    assert float(events[1][0]) == pytest.approx(float(events[0][0]) + 2.0, abs=0.021)  # a cycle


def test_run_in_real_time_says_how_punctual_it_was(run, scene):
    status, out, _ = run("run", scene, "--variant", "alone", "--real-time")
    assert status == 0
    assert re.search(r"real time +late by .* median, .* 99 %, .* 99.9 %, .* worst; \d+ overruns?, \d+ skipped", out)


def test_run_overwrites_only_when_told(run, scene, tmp_path):
    path = tmp_path / "run.csv"
    path.write_text("mine")
    status, out, err = run("run", scene, "--variant", "alone", "--out", path)
    assert (status, out) == (1, "")
    assert is_one_line(err)
    assert "--force" in err
    assert path.read_text() == "mine"
    assert run("run", scene, "--variant", "alone", "--out", path, "--force")[0] == 0
    assert recorded(path).rows == 5
    for where in ("no/such/run.csv", "."):
        status, out, err = run("run", scene, "--out", tmp_path / where)
        assert (status, out) == (1, "")
        assert is_one_line(err)


@pytest.mark.parametrize(
    "change, arguments, said",
    [
        (
            "[people.ben]\nkind = 'walk'\nspeed = 0",
            (),
            "people.ben.speed: expected a number > 0 and <= 20 (m/s); got 0",
        ),
        ("[people.ben]\nkind = 'recorded'\nfile = 'no.csv'", (), "no.csv"),
        ("", ("--variant", "bear"), "variants: expected bare or watched or alone (did you mean 'bare'?); got 'bear'"),
        ("", ("--robot", "pandda"), "error: --robot: no arm 'pandda'"),
        ("", ("--seconds", 0), "--seconds: expected a number above 0; got 0"),
        ("", ("--out", "run.parquet"), "run.parquet: expected a name that ends in .csv or .mcap; got '.parquet'"),
        ("", ("--html", "run.foo"), "run.foo: expected a name that ends in .html or .htm; got '.foo'"),
        ("", ("--robot", "nosuch.urdf"), "nosuch.urdf"),
        ("[robots.puma560]\nstart = [1]", (), "start: expected 6 numbers, one a joint of puma560; got 1"),
    ],
)
def test_run_says_what_is_wrong_in_one_line(run, scene, change, arguments, said):
    with scene.open("a") as file:
        file.write(change)
    status, out, err = run("run", scene, *arguments)
    assert (status, out) == (1, "")
    assert is_one_line(err)
    assert said in err


def test_run_says_what_a_file_is_that_is_no_scene(run, tmp_path):
    for name, said in (("m.csv", "replay"), ("walk.bvh", "experiment recorded --motion"), ("arm.urdf", "show")):
        (tmp_path / name).write_text("t,x\n")
        status, out, err = run("run", tmp_path / name)
        assert (status, out) == (1, "")
        assert is_one_line(err)
        assert f"not a scene; `elbowroom {said} {tmp_path / name}`" in err


BAD = "[variants.typo]\npeople.ann.sped = 1\n[variants.arm]\nrobot = 'pandda'\n[variants.late]\nstart = [1]\n"


def test_run_warns_of_variants_that_cannot_be_run(run, scene):
    with scene.open("a") as file:
        file.write(BAD)
    status, out, err = run("run", scene, "--variant", "alone")
    assert status == 0
    assert "variant alone" in out
    typo, arm = err.splitlines()
    assert typo.startswith("warning: variant typo cannot be run: ")
    assert typo.endswith("people.ann.sped: unknown key; did you mean speed (in m/s)?")
    assert arm.startswith("warning: variant arm cannot be run: no arm 'pandda'")


def test_run_check_looks_at_every_variant_and_moves_nothing(run, scene, monkeypatch):
    monkeypatch.setattr(Cell, "step", lambda self, t: pytest.fail("it moved"))
    status, out, err = run("run", scene, "--check")
    assert (status, err) == (0, "")
    assert [line.split()[:2] for line in out.splitlines()[:-1]] == [
        ["ok", "as"],
        ["ok", "bare"],
        ["ok", "watched"],
        ["ok", "alone"],
    ]
    assert "puma560 on the kinematic plant, nobody, 0.1 s, 5 control steps" in out
    assert out.endswith("cell.toml: no errors\n")
    with scene.open("a") as file:
        file.write(BAD)
    status, out, err = run("run", scene, "--check", "--plant", "rigid")
    assert (status, err) == (1, "")
    assert re.search(r"^error +typo +people.ann.sped: unknown key", out, re.M)
    assert re.search(r"^error +late +start: expected 6 numbers", out, re.M)
    assert re.search(r"^ok +bare +puma560 on the rigid plant", out, re.M)
    assert out.endswith("cell.toml: 3 errors\n")
    assert run("run", scene, "--check", "--variant", "bare")[0] == 0


def test_run_with_an_unknown_file_or_plant(run, tmp_path):
    assert is_one_line(run("run", tmp_path / "nosuch.toml")[2])
    assert run("run", tmp_path / "cell.toml", "--plant", "drake")[0] == 2


def test_ctrl_c_keeps_what_there_is(run, scene, tmp_path, monkeypatch):
    def advance(self, t, dt, real=Cell.advance):
        if t > 0.5:
            raise KeyboardInterrupt
        real(self, t, dt)

    monkeypatch.setattr(Cell, "advance", advance)
    status, out, err = run("run", scene, "--out", tmp_path / "run.csv")
    assert status == 130
    assert err == "interrupted: after 27 of 75 control steps; this is what there is\n"
    assert "run.csv, 27 rows" in out
    assert recorded(tmp_path / "run.csv").rows == 27


# ---- in a pipe


@pytest.mark.parametrize("arguments", [(), ("robots",), ("show", "scara"), ("check", "puma560"), ("show", "nosuch")])
def test_no_terminal_codes_in_a_pipe(arguments):
    done = shell(*arguments)
    assert b"\x1b" not in done.stdout + done.stderr
    assert b"Traceback" not in done.stderr
    assert done.returncode == (1 if "nosuch" in arguments else 0)


def test_colours_on_request():
    """So that the test above means something: the same text has codes where a terminal is claimed."""
    assert b"\x1b" in shell(FORCE_COLOR="1").stdout


def test_a_terminal_without_our_letters(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(urdf(robot="Ärmchen"), encoding="utf-8")
    done = shell("show", path, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0
    assert done.stdout.startswith(b"?rmchen")
    assert done.stdout.isascii()


# ---- README and docs


LONG = {
    "formulations",
    "your_own_cell",
    "controllers",
    "extending",
    "walker_orin",
    "plants",
    "your_own_urdf",
    "christoffel",
    "dynamics_for_control",
    "simulation",
    "supervisor",
    "diagonalized",
}
"""Pages whose code runs for seconds."""


def test_the_long_pages_are_there():
    assert {page.stem for page in PAGES} >= LONG


@pytest.mark.parametrize("page", slow_where(lambda page: page.stem in LONG, PAGES), ids=lambda page: page.name)
def test_the_code_of_a_page_prints_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path)
    for printed, shown in outputs(page.read_text(encoding="utf-8")):
        assert printed == shown


def test_readme_opens_with_ten_lines_and_their_output():
    code, shown = BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))[0]
    assert len([line for line in code.splitlines() if line]) == 10
    assert shown.count("\n") >= 4


def test_a_page_lists_the_registry():
    text = (ROOT / "docs" / "formulations.md").read_text(encoding="utf-8").split("## Every quantity")[1]
    rows = dict(re.findall(r"^\| `(\w+)` \| [\w, ]+ \| (.*) \|$", text, re.M))
    assert list(rows) == list(dynamics.REGISTRY)
    for name, methods in rows.items():
        quantity = dynamics.quantity(name)
        assert re.findall(r"`(\w+)`", methods) == [*quantity.formulations, *quantity.variants]


def test_readme_lists_the_catalogue():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for name in catalogue.names())


def test_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 1400


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))
    assert targets
    assert [t for t in targets if not (ROOT / t).exists()] == []


def test_docs_show_what_check_prints(run):
    shown = re.search(r"\$ elbowroom check puma560\n(.*?)```", (ROOT / "docs/model.md").read_text(), re.S)
    assert run("check", "puma560")[1] == shown.group(1)


def test_run_without_a_file_runs_the_standard_cell_from_where_it_is_told(run, tmp_path):
    path = tmp_path / "run.csv"
    asked = ("--robot", "scara", "--variant", "alone", "--seconds", "1", "--start", "0.6,-1.2,0.1,0.0", "--out", path)
    status, out, err = run("run", *asked)
    assert status == 0, err
    assert "scara" in out
    assert "100 control steps" in out
    assert "start = [0.6, -1.2, 0.1, 0.0]" in path.read_text(encoding="utf-8").replace("\\n", "\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0.6,x", "--start: expected a finite number for each joint"),
        ("0.6,-1.2", "start: expected 4 numbers"),
        ("nan", "--start"),
    ],
)
def test_a_start_that_is_none_is_refused(run, text, said):
    status, _, err = run("run", "--robot", "scara", "--variant", "alone", "--seconds", "1", "--start", text)
    assert status != 0
    assert said in err


MIMIC = """<robot name="telescope"><link name="base"/><link name="a"/><link name="b"/>
<joint name="j1" type="continuous"><parent link="base"/><child link="a"/></joint>
<joint name="j2" type="continuous"><parent link="a"/><child link="b"/><mimic joint="j1"/></joint></robot>"""


@pytest.mark.parametrize("command", ["check", "show"])
def test_errors_name_the_options_of_the_command_line(run, urdf_file, command):
    status, out, err = run(command, urdf_file(MIMIC), "--tip", "b")
    assert status == 1
    assert "it follows joint 'j1'" in out + err
    assert "an arm that ends before it has --tip 'a'" in out + err
