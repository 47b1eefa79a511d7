"""`elbowroom experiment` as a person, a pipe and a script see it; whatever happens, nothing is lost and it is said."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from elbowroom import cli
from elbowroom.cell.recording.table import read as read_recording
from elbowroom.cli.terminal import Interrupts
from elbowroom.errors import pip_install
from elbowroom.experiments.thesis import experiment as thesis
from elbowroom.experiments.thesis import results
from elbowroom.experiments.thesis.experiment import SCENES, TESTS, experiments, installed, read

SECONDS = 0.4
WALK = experiments()[2].variants  # of test 3, which stands for all
KEYS = {"test", "variant", "plant", "robot", "metrics", "thesis"}
VICON = Path(__file__).parents[2] / "shared/data/coworker-motion/PickPlaceCloseHuman/3.csv"
BODY = '<inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01"/></inertial>'
ARM = f"""<robot name="duo"><link name="base"/><link name="upper">{BODY}</link><link name="lower">{BODY}</link>
  <joint name="a" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" velocity="3" effort="50"/></joint>
  <joint name="b" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0.4 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" velocity="3" effort="30"/></joint></robot>"""


@pytest.fixture(autouse=True)
def heard():
    """Ctrl-C is heard, by us and by what we start, also where tests run in the background of a shell, deaf to it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """A function that runs the command in this process, in a folder of its own: (exit status, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)
    for variable in ("COLUMNS", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(variable, raising=False)

    def call(*arguments) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            cli.main(["experiment", *map(str, arguments)])
        said = capsys.readouterr()
        return stopped.value.code or 0, said.out, said.err

    return call


@pytest.fixture
def brief(monkeypatch):
    """Tests of 20 cycles, and no figures: those have tests of their own."""
    short = tuple(read(SCENES / f"test{number}.toml", {"duration": SECONDS}) for number in TESTS)
    monkeypatch.setattr(thesis, "experiments", lambda: short)
    monkeypatch.setattr(results, "draw_all", lambda *args, **kwargs: {})
    return short


def is_one_line(message):
    return message.startswith("error: ") and message.count("\n") == 1 and message.endswith("\n")


def start(folder, *arguments, **options):
    """The command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "elbowroom.cli", "experiment", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(Path(cli.__file__).parents[2])},
        **options,
    )


def until(process, there):
    """Waits for something that the process does."""
    end = time.monotonic() + 100
    while not there():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < end
        time.sleep(0.005)


# ---- asked for


def test_alone_it_lists_the_tests(run, tmp_path):
    status, out, err = run()
    assert (status, err) == (0, "")
    words = " ".join(out.split())
    for each in experiments():
        assert f"{each.test} " in words
        assert all(variant in words for variant in each.variants)
    assert "elbowroom experiment all" in out
    assert list(tmp_path.iterdir()) == []


def test_help_says_what_is_written_and_how_much(run):
    status, out, _ = run("--help")
    assert status == 0
    words = " ".join(out.split())
    for said in ("elbowroom experiment all", "report.html", "recordings/", "about 260 MB", "Ctrl-C", "exit status"):
        assert said in words


def test_recordings_are_mcap_where_that_is_asked_for_with_the_same_numbers(run, brief):
    pytest.importorskip("mcap", reason="mcap (extra connect) writes MCAP")
    for kind in ("csv", "mcap"):
        status, _, err = run("3", "--format", kind, "--out", kind)
        assert status == 0, err
    assert Path("csv/results.json").read_bytes() == Path("mcap/results.json").read_bytes()
    names = [sorted(path.stem for path in Path(kind, "recordings").iterdir()) for kind in ("csv", "mcap")]
    assert names[0] == names[1]
    for name in names[0]:
        one, two = (read_recording(Path(kind, "recordings", f"{name}.{kind}")) for kind in ("csv", "mcap"))
        assert all((one[column] == two[column]).all() or one[column].dtype.kind == "f" for column in one)
        assert (one["tool_x"] == two["tool_x"]).all()
    status, _, err = run("3", "--format", "cvs")
    assert status == 2
    assert "csv" in err


def test_a_test_leaves_report_results_and_recordings(run, brief, tmp_path):
    status, out, err = run(3)
    assert status == 0
    folder = tmp_path / "elbowroom-experiments"
    assert err.endswith("written: elbowroom-experiments/report.html\n")
    assert err.startswith(f"1/{len(WALK)} test3_printed_kinematic_puma560\n")
    assert re.search(r"^3 printed +kinematic +puma560 .*\(0\.5\)", out, re.M)
    assert "of 2 numbers of the thesis are met, on every plant that was run." in out
    rows = json.loads((folder / "results.json").read_text())
    assert [row["variant"] for row in rows] == list(WALK)
    assert WALK[:2] == ("printed", "improved")
    assert "Test 3" in (folder / "report.html").read_text()
    assert read_recording(folder / "recordings" / "test3_printed_kinematic_puma560.csv").rows == 20


@pytest.mark.slow
def test_json_is_alone_on_stdout(run, brief):
    status, out, _ = run("all", "--plant", "kinematic", "--json", "--out", "all")
    assert status == 0
    found = json.loads(out, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert out == Path("all/results.json").read_text()
    assert {(row["test"], row["variant"]) for row in found} == {(e.test, v) for e in brief for v in e.variants}
    for row in found:
        assert set(row) == KEYS
        assert (row["plant"], row["robot"]) == ("kinematic", "puma560")
    assert found[0]["thesis"] == {"min_distance": 0.75, "min_x_difference": 0.82, "peak_x_speed": 0.56}


@pytest.mark.slow
def test_the_same_call_gives_the_same_bytes(run, brief):
    for out in ("one", "two"):
        assert run("1", "--out", out)[0] == 0
    files = sorted(Path("one/recordings").iterdir())
    assert len(files) == len(brief[0].variants) == 15
    for file in [*files, Path("one/results.json"), Path("one/report.html")]:
        assert file.read_bytes() == Path("two", *file.parts[1:]).read_bytes()


@pytest.mark.slow
def test_plants_and_arms(run, brief):
    status, out, _ = run(1, "--plant", "rigid", "--robot", "ur5e", "--json")
    assert status == 0
    assert {(row["plant"], row["robot"]) for row in json.loads(out)} == {("rigid", "ur5e")}
    status, out, _ = run(1, "--robot", "scara")
    assert status == 0
    assert "there is no reason why scara should meet them" in out


@pytest.mark.slow
def test_what_needs_another_test_is_told_where_that_was_not_run(run, brief):
    status, out, err = run(2, "--out", "alone")
    assert status == 0
    said = "test 1 was not run, so it is not judged whether half the influence gives"
    assert f"note: test 2: {said}" in err
    assert "`elbowroom experiment 1,2` runs both" in err
    assert "results in words hold" in out  # those that need test 2 alone
    page = Path("alone/report.html").read_text()
    assert page.count(said) == 2  # above all, and in its section
    assert "under F the coworker comes nearer" in run(4, "--out", "four")[2]
    for what in ("1", "1,2", "3"):
        assert "not judged" not in run(what, "--out", f"with{what}")[2]
    rows = json.loads(Path("with1,2/results.json").read_text())
    assert {row["test"] for row in rows} == {1, 2}
    assert "half the influence, a smaller least distance" in Path("with1,2/report.html").read_text()


@pytest.mark.parametrize(
    ("what", "heads"),
    [
        pytest.param(1, ["least, m", "x diff., m", "x, m/s", "jerk, m/s3", "contacts"], marks=pytest.mark.slow),
        (3, ["least, m", "y diff., m", "y, m/s", "jerk, m/s3", "contacts"]),
        (5, ["least, m", "jerk, m/s3", "contacts", "task cycles"]),
        pytest.param(6, ["least, m", "off goal, m", "contacts"], marks=pytest.mark.slow),
        (7, ["least, m", "x, m/s", "joint 3, deg", "jerk, m/s3", "contacts"]),
    ],
)
def test_a_table_has_the_columns_that_its_test_is_about(run, brief, what, heads):
    out = run(what)[1]
    found = re.split(r" {2,}", out.splitlines()[0].strip())
    assert found == ["test", "plant", "robot", *heads]
    rows = [re.split(r" {2,}", line.strip()) for line in out.splitlines() if line.startswith(f"{what} ")]
    columns = list(zip(*(row[3:] for row in rows if len(row) == len(found)), strict=True))
    assert columns
    assert all(set(column) != {"-"} for column in columns)


@pytest.mark.slow
def test_the_report_says_the_call_that_it_came_from(run, brief):
    for words in (["3"], ["1,3", "--plant", "rigid", "--robot", "ur5e"]):
        assert run(*words, "--json", "--out", "my report")[0] == 0
        page = Path("my report/report.html").read_text()
        assert f"<pre>elbowroom experiment {' '.join(words)}</pre>" in page
        assert page.count("<pre>elbowroom experiment") == 1
        shutil.rmtree("my report")


@pytest.mark.skipif(not VICON.is_file(), reason="needs the recordings")
def test_a_recorded_person(run, monkeypatch):
    monkeypatch.setattr(thesis, "read", lambda file, changes, name: read(file, {**changes, "duration": 0.5}, name))
    status, out, _ = run("recorded", "--motion", VICON, "--json", "--out", "people")
    assert status == 0
    found = json.loads(out)
    assert [row["variant"] for row in found] == ["bare", "supervised"]
    for row in found:
        assert set(row) == KEYS - {"test"} | {"scene"}
        assert row["scene"] == "PickPlaceCloseHuman_3"
        assert {"min_distance", "contacts", "cycles"} <= set(row["metrics"])
    assert "PickPlaceCloseHuman_3" in Path("people/report.html").read_text()


# ---- asked for what cannot be


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["8"], "expected a test from 1 to 7, several as in 1,2, all, recorded or vary; got '8'"),
        (["1,8"], "got '1,8'"),
        (["1,"], "got '1,'"),
        (["9" * 5000], "expected a test from 1 to 7"),
        (["recorded"], "recorded needs a recording: --motion FILE"),
        (["1", "--motion", "take.csv"], "--motion belongs to `recorded`"),
        (["all", "--motion", "take.csv"], "--motion belongs to `recorded`"),
        (["1", "--tip", "tool0"], "--tip belongs to --robot FILE.urdf"),
        (["--json"], "say which"),
        (["1", "--plant", "drake"], "drake"),
    ],
)
def test_a_call_that_is_not_understood(run, tmp_path, arguments, said):
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert said in " ".join(err.split())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["recorded", "--motion", "nosuch.csv"], "nosuch.csv: there is no such recording"),
        (["recorded", "--motion", "."], ".: is a folder, and no ROS 2 bag; expected a recording"),
        (["recorded", "--motion", "bad.csv"], "bad.csv, line 5: expected the unit"),
        (["recorded", "--motion", "bad.bvh"], "bad.bvh"),
        (["1", "--robot", "pamda"], "no arm 'pamda'"),
        (["1", "--robot", "nosuch.urdf"], "nosuch.urdf"),
        (["1", "--robot", "duo.urdf"], "moving links have no shape"),
        (["7", "--robot", "panda"], "test 7 is about a joint limit of puma560"),
        (["1", "--out", "taken"], "taken: is a file; expected the name of a folder"),
        (["1", "--out", "taken/under"], "taken/under: cannot be written to: Not a directory"),
        (
            ["1", "--out", "mine"],
            "mine: is not empty, and nothing in it is overwritten unasked; take another or --force",
        ),
        (["1", "--out", "blocked", "--force"], "blocked: cannot be written to: File exists"),
    ],
)
@pytest.mark.filterwarnings("ignore::elbowroom.errors.ModelWarning")
def test_what_is_wrong_is_said_before_anything_runs(run, tmp_path, arguments, said):
    Path("bad.csv").write_text("Objects\n100\n,,a:head\nFrame,Sub Frame,RX,RY,RZ,TX,TY,TZ\nwhat is this\n")
    Path("bad.bvh").write_text("HIERARCHY\nROOT Hips\n{\n")
    Path("duo.urdf").write_text(ARM)
    Path("taken").write_text("mine")
    Path("mine").mkdir()
    Path("mine/thesis.txt").write_text("mine")
    Path("blocked").mkdir()
    Path("blocked/recordings").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    status, out, err = run(*arguments)
    assert (status, out) == (1, "")
    assert is_one_line("".join(line for line in err.splitlines(True) if not line.startswith("warning: ")))
    assert said in err
    assert sorted(tmp_path.rglob("*")) == before


def test_force_writes_beside_what_is_there(run, brief):
    Path("mine").mkdir()
    Path("mine/thesis.txt").write_text("mine")
    assert run(3, "--out", "mine", "--force")[0] == 0
    assert Path("mine/thesis.txt").read_text() == "mine"
    assert Path("mine/report.html").is_file()


@pytest.mark.slow
def test_the_default_folder_is_the_next_that_is_free(run, brief):
    for name in ("elbowroom-experiments", "elbowroom-experiments-2", "elbowroom-experiments-3"):
        assert f"written: {name}/report.html" in run(3)[2]


@pytest.mark.slow
def test_all_with_another_arm_leaves_test_7_out_and_says_so(run, brief):
    status, out, err = run("all", "--robot", "ur5e", "--json", "--out", "all")
    assert status == 0
    assert {row["test"] for row in json.loads(out)} == {1, 2, 3, 4, 5, 6}
    assert err.startswith("left out: test 7 is about a joint limit of puma560, which means nothing for ur5e")
    assert "Test 7: test 7 is about a joint limit" in Path("all/report.html").read_text()


# ---- what is not installed


def hide(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)


@pytest.mark.slow
def test_without_mujoco(run, brief, monkeypatch):
    hide(monkeypatch, "mujoco")
    status, out, err = run(1, "--plant", "mujoco")
    assert (status, out) == (1, "")
    assert err == f"error: the MuJoCo plant needs MuJoCo: {pip_install('mujoco')}\n"
    monkeypatch.setattr(thesis, "ARMS", ())
    for arguments in (["all"], ["3", "--plant", "all"]):
        status, out, err = run(*arguments, "--json", "--out", f"out{arguments[0]}")
        assert status == 0
        assert {row["plant"] for row in json.loads(out)} == {"kinematic", "rigid"}
        assert err.startswith("left out: the MuJoCo plant needs MuJoCo: pip install")
    assert "the MuJoCo plant needs MuJoCo" in Path("outall/report.html").read_text()


def test_without_matplotlib(run, brief, monkeypatch):
    hide(monkeypatch, "matplotlib")
    status, _, err = run(3, "--out", "plain")
    assert status == 0
    assert f"left out: figures: drawing needs matplotlib: {pip_install('report')}\n" in err
    assert "drawing needs matplotlib" in Path("plain/report.html").read_text()
    assert sorted(path.name for path in Path("plain").iterdir()) == ["recordings", "report.html", "results.json"]


# ---- a full disk


@pytest.mark.slow
def test_no_room_for_any_file(tmp_path):
    """Files end at 4 kB: recordings break off, results and report cannot be; the numbers come out all the same.

    The notes at the head of a recording, with its scene, take 3 kB, and results.json has nearly 5.
    """
    resource = pytest.importorskip("resource")

    def small():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))

    process = start(tmp_path, "3", "--json", "--out", "full", preexec_fn=small)
    out, err = process.communicate(timeout=100)
    assert process.returncode == 1
    assert [row["variant"] for row in json.loads(out)] == list(WALK)
    said = [line for line in err.splitlines() if line.startswith("warning: ")]
    for variant in WALK:
        name = f"recordings/test3_{variant}_kinematic_puma560.csv"
        assert any(f"full/{name}: File too large (EFBIG): the file holds " in line for line in said)
        assert read_recording(tmp_path / "full" / name).rows < 10
    assert "warning: full/results.json: cannot be written: File too large" in said
    also = "; figures: full/figures: cannot be written: File too large" if installed("matplotlib") else ""
    assert any(line.startswith(f"warning: full/report.html: cannot be written: File too large{also}") for line in said)
    assert not list((tmp_path / "full").glob("figures/*"))
    assert "Traceback" not in err
    assert "\nwritten:" not in err
    assert not list((tmp_path / "full").glob("*.part"))


def test_a_recording_that_broke_off_makes_the_status_1(run, brief):
    Path("full/recordings").mkdir(parents=True)
    Path("full/recordings/test3_printed_kinematic_puma560.csv").symlink_to("/dev/full")
    status, out, err = run(3, "--json", "--force", "--out", "full")
    assert status == 1
    assert len(json.loads(out)) == len(WALK)
    assert "warning: full/recordings/test3_printed_kinematic_puma560.csv: cannot be written: No space left" in err
    assert "its numbers come from memory" in err
    assert "written: full/report.html" in err


def test_a_run_that_fails_is_told_and_the_status_is_1(run, brief, monkeypatch):
    def fail(job, *args, real=thesis.run_job, **kwargs):
        if job.variant == "printed":
            raise MemoryError("no more")
        return real(job, *args, **kwargs)

    monkeypatch.setattr(thesis, "run_job", fail)
    status, out, err = run(3, "--json", "--out", "some")
    assert status == 1
    assert [row["variant"] for row in json.loads(out)] == list(WALK[1:])
    assert "failed: test3_printed_kinematic_puma560: MemoryError: no more" in err
    assert "MemoryError: no more" in Path("some/report.html").read_text()


# ---- Ctrl-C


def test_interrupts_wait_for_a_check_and_a_second_one_does_not():
    before = signal.getsignal(signal.SIGINT)
    with Interrupts() as interrupts:
        interrupts.check()
        signal.raise_signal(signal.SIGINT)
        assert interrupts.asked
        with pytest.raises(KeyboardInterrupt):
            interrupts.check()
        interrupts.check()
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        interrupts.check()
    assert signal.getsignal(signal.SIGINT) is before


def test_interrupts_that_are_ignored_stay_so():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Interrupts() as interrupts:
            signal.raise_signal(signal.SIGINT)
            interrupts.check()
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.slow
def test_ctrl_c_in_the_middle_of_all(tmp_path):
    process = start(tmp_path, "all", "--out", "all")
    second = tmp_path / "all/recordings/test1_improved_kinematic_puma560.csv"
    until(process, second.is_file)  # rows reach the file at intervals: waiting for them may outlast the run
    time.sleep(0.1)  # some rows
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=100)
    assert process.returncode == 130
    found = re.search(
        r"^interrupted: in (\w+), after (\d+) of 2400 control steps, which are in (\S+); (\d+) of", err, re.M
    )
    name, cycles, file, finished = found.groups()
    assert file == f"all/recordings/{name}.csv"
    table = read_recording(tmp_path / file)
    assert (table.rows, table.torn) == (int(cycles), None)
    assert 0 < table.rows < 2400
    rows = json.loads((tmp_path / "all/results.json").read_text())
    assert len(rows) == int(finished) == len(list((tmp_path / "all/recordings").iterdir())) - 1
    assert rows[0]["variant"] == "printed"
    page = (tmp_path / "all/report.html").read_text()
    assert page.rstrip().endswith("</html>")
    assert f"interrupted: in {name}" in page
    assert "written: all/report.html" in err
    assert re.search(r"^1 printed ", out, re.M)
    assert "Traceback" not in err


@pytest.mark.slow
def test_ctrl_c_again_while_the_report_is_written(tmp_path):
    pytest.importorskip("matplotlib")
    process = start(tmp_path, "1", "--json", "--out", "one")
    second = tmp_path / "one/recordings/test1_improved_kinematic_puma560.csv"
    until(process, lambda: second.is_file() and second.stat().st_size > 2000)
    process.send_signal(signal.SIGINT)
    until(process, lambda: any((tmp_path / "one").glob("figures/*.svg")))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=100)
    assert process.returncode == 130
    assert len(re.findall(r"^interrupted: ", err, re.M)) == 2
    assert "no report; results.json and recordings are in one" in err
    assert json.loads(out) == json.loads((tmp_path / "one/results.json").read_text()) != []
    assert {path.name for path in (tmp_path / "one").iterdir()} == {"figures", "recordings", "results.json"}
    for figure in (tmp_path / "one/figures").glob("*.svg"):
        assert figure.read_text().rstrip().endswith("</svg>")
    assert "Traceback" not in err


@pytest.mark.slow
def test_an_old_report_is_told_from_a_new_one(run, brief, monkeypatch):
    assert run(3, "--out", "old")[0] == 0

    def figures(*args, progress, **options):
        os.kill(os.getpid(), signal.SIGINT)
        progress(0, 1, "figure 4.8")

    monkeypatch.setattr(results, "draw_all", figures)
    status, _, err = run(3, "--out", "old", "--force")
    assert status == 130
    assert "no report; results.json and recordings are in old; the report.html there is of an earlier call" in err
