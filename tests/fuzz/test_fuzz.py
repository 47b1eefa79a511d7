"""A short, seeded part of the fuzzing; and the fuzzer itself, which must find what is there to be found."""

from __future__ import annotations

import sys

import pytest

from fuzz import cli, misbehaving
from fuzz.runner import Job, Limits, run
from fuzz.target import judge, rng_of
from fuzz.targets import TARGETS, make

SEED = 14
SHORT = {
    "urdf": 40, "robot": 60, "scene": 60, "settings": 80, "vicon": 60, "bvh": 60, "placement": 100, "mesh": 60,
    "recording": 25, "measured": 40, "mcap": 40, "server": 60, "client": 100, "page": 20, "supervisor": 50, "path": 120,
}  # fmt: skip
"""Inputs of each target: half a second of them, and a few seconds that their kernels take to compile."""


@pytest.mark.parametrize("name", TARGETS)
def test_nothing_comes_back_but_answers_and_the_librarys_own_errors(name, tmp_path):
    if name == "page":
        pytest.importorskip("viser")
    target, findings, taken = make(name, tmp_path), [], set()
    try:
        for k in range(SHORT[name]):
            outcome = judge(target, target.generate(rng_of(SEED, name, k)))
            taken.add(outcome.accepted)
            if outcome.kind:
                again = f"python tests/fuzz --seed {SEED} --target {name} --only {k}"
                findings.append(f"{outcome.kind}\n{outcome.detail}\n{again}")
    finally:
        target.close()
    assert not findings, "\n\n".join(findings)
    assert taken == {True, False}  # both sides of the check are reached


def test_an_input_depends_on_seed_target_and_number_alone(tmp_path):
    one, other = (make("urdf", tmp_path) for _ in range(2))
    first = [one.generate(rng_of(1, "urdf", k)) for k in range(6)]
    assert first == [other.generate(rng_of(1, "urdf", k)) for k in range(6)]
    assert first[5] == other.generate(rng_of(1, "urdf", 5))
    assert first[5] != other.generate(rng_of(2, "urdf", 5))
    assert len(set(first)) == 6


@pytest.mark.parametrize(
    ("what", "kind"),
    [
        (misbehaving.ACCEPTED, ""),
        (misbehaving.REFUSED, ""),
        (misbehaving.CALM, ""),
        (misbehaving.RAISES, "KeyError"),
        (misbehaving.WARNS, "RuntimeWarning"),
        (misbehaving.WRONG, "not finite"),
        (misbehaving.WORDLESS, "without words"),
    ],
)
def test_what_is_a_finding_and_what_is_none(tmp_path, what, kind):
    outcome = judge(misbehaving.Soft(tmp_path), bytes([what]))
    assert (kind in outcome.kind) if kind else not outcome.kind
    assert outcome.accepted is (what in (misbehaving.ACCEPTED, misbehaving.CALM))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals and limits on memory are POSIX")
def test_hangs_crashes_and_memory_are_found_by_the_input_that_made_them(tmp_path):
    name = "fuzz.misbehaving:Hard"
    job = Job(name, 3, range(4), 1e9, Limits(seconds=1.0), tmp_path)
    (tally,) = run([job], 1, lambda jobs: None)
    kinds = [misbehaving.Hard(tmp_path).generate(rng_of(3, "hard", k))[0] for k in range(4)]
    assert sorted(kinds) == [0, 1, 2, 3]  # the seed has all of them
    found = {finding.index: finding for finding in tally.findings}
    told = {1: "no answer", 2: "SIGSEGV", 3: "MemoryError"}
    for k, what in enumerate(kinds):
        assert what == 0 or told[what] in found[k].kind
    assert tally.tried == 4
    hung = found[kinds.index(1)]
    assert "misbehaving.py" in hung.detail  # where it hangs
    assert (tmp_path / f"hard-3-{kinds.index(1)}.bin").read_bytes() == b"\1"


def test_a_target_that_is_broken_itself_is_a_finding_too(tmp_path):
    job = Job("fuzz.misbehaving:Itself", 3, range(2), 1e9, Limits(), tmp_path)
    (tally,) = run([job], 1, lambda jobs: None)
    assert tally.tried == len(tally.findings) == 2
    assert "a slip of the fuzzer's own" in tally.findings[0].kind


def test_the_command_says_how_to_see_a_finding_again(tmp_path, capsys):
    name = "fuzz.misbehaving:Soft"
    common = ["--target", name, "--seed", "5", "--out", str(tmp_path)]
    assert cli.main([*common, "--inputs", "40"]) == 1
    said = capsys.readouterr().out
    assert "seed 5" in said
    assert "KeyError at fuzz/misbehaving.py" in said
    line = next(line for line in said.splitlines() if "--only" in line)
    assert cli.main([*line.split("tests/fuzz")[1].split(), "--out", str(tmp_path)]) == 1
    assert "nobody caught it" in capsys.readouterr().out
    saved = next(iter(tmp_path.glob("soft-5-*.soft")))
    assert cli.main(["--target", name, "--file", str(saved)]) == 1
    assert saved.with_name(f"{saved.name}.txt").exists()


def test_the_command_is_content_with_what_is_well(tmp_path, capsys):
    assert cli.main(["--target", "fuzz.misbehaving:Well", "--inputs", "300", "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "nothing but the library's own errors" in said
    assert not (tmp_path / "out").exists()
    assert cli.main(["--target", "nothing"]) == 2
    assert cli.main(["--only", "3"]) == 2
    assert cli.main(["--list"]) == 0
