"""The command: which targets, how long, and what is said at the end.  Its status is 1 if there is any finding."""

from __future__ import annotations

import argparse
import os
import secrets
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from .runner import Finding, Job, Limits, Tally, run
from .target import judge, rng_of
from .targets import TARGETS, kind, make

SECONDS = 300.0
EVERY = 10.0  # s between two lines of progress
ENDLESS = 10**9


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; its exit status."""
    asked = _parser().parse_args(arguments)
    if asked.list:
        for name in TARGETS:
            print(f"{name:<12} {(kind(name).__doc__ or '').splitlines()[0]}")
        return 0
    seed = secrets.randbits(32) if asked.seed is None else asked.seed
    names = list(TARGETS) if not asked.target else asked.target.split(",")
    for name in names:
        if name not in TARGETS and ":" not in name:
            print(f"--target: expected {', '.join(TARGETS)}; got {name!r}", file=sys.stderr)
            return 2
    cache = _cache()
    try:
        if asked.file is not None:
            return _one_file(names, Path(asked.file))
        if asked.only is not None:
            return _only(names, seed, asked.only)
        return _many(names, seed, asked)
    finally:
        if cache is not None:
            shutil.rmtree(cache, ignore_errors=True)


def _cache() -> str | None:
    """Kernels of odd arms stay out of the user's cache; the folder that was made for them."""
    if "ELBOWROOM_CACHE" in os.environ:
        return None
    os.environ["ELBOWROOM_CACHE"] = folder = tempfile.mkdtemp(prefix="elbowroom-fuzz-cache-")
    return folder


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python tests/fuzz", description="Fuzzes elbowroom.")
    parser.add_argument("--seconds", type=float, help=f"for all targets together; {SECONDS:g} if nothing is said")
    parser.add_argument("--inputs", type=int, help="how many in all, instead of a time")
    parser.add_argument("--seed", type=int, help="the same seed makes the same inputs; drawn at random if left out")
    parser.add_argument("--target", default="", help="names, with commas between; all if left out")
    parser.add_argument("--only", help="the number of an input, or FIRST:LAST+1: feeds it here and shows what happens")
    parser.add_argument("--file", help="a saved input: feeds it here and shows what happens")
    parser.add_argument("--limit", type=float, default=Limits.seconds, help="s that one input may take")
    parser.add_argument("--memory", type=float, default=Limits.memory, help="MB that a target may take")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="targets at once")
    parser.add_argument("--out", default="out/fuzz", help="where inputs of findings are saved")
    parser.add_argument("--list", action="store_true", help="says which targets there are")
    return parser


def _one_file(names: Sequence[str], file: Path) -> int:
    """One input that lies in a file; its name begins with that of its target."""
    known = [name for name in names if len(names) == 1 or file.name.startswith(f"{name}-")]
    if len(known) != 1:
        print("--file: expected --target NAME with it", file=sys.stderr)
        return 2
    return _feed(known[0], [(str(file), file.read_bytes())])


def _only(names: Sequence[str], seed: int, which: str) -> int:
    first, _, last = which.partition(":")
    if len(names) != 1:
        print("--only: expected --target NAME with it", file=sys.stderr)
        return 2
    indices = range(int(first), int(last) if last else int(first) + 1)
    return _feed(names[0], [(f"input {k}", k) for k in indices], seed)


def _feed(name: str, given: Sequence[tuple[str, bytes | int]], seed: int = 0) -> int:
    """Feeds inputs in this process, where a debugger can look."""
    bad = 0
    with tempfile.TemporaryDirectory(prefix="elbowroom-fuzz-") as folder:
        target = make(name, Path(folder))
        try:
            for title, what in given:
                data = what if isinstance(what, bytes) else target.generate(rng_of(seed, target.name, what))
                outcome = judge(target, data)
                said = outcome.kind or ("accepted" if outcome.accepted else "refused")
                print(f"{name} {title}, {len(data)} bytes: {said}")
                if outcome.detail:
                    print(outcome.detail)
                bad += bool(outcome.kind)
        finally:
            target.close()
    return 1 if bad else 0


def _many(names: Sequence[str], seed: int, asked: argparse.Namespace) -> int:
    limits = Limits(seconds=asked.limit, memory=asked.memory)
    total = sum(kind(name).share for name in names)
    at_once = max(1, min(asked.jobs, len(names)))
    seconds = asked.seconds if asked.seconds is not None else SECONDS if asked.inputs is None else float("inf")
    jobs = []
    for name in names:
        part = kind(name).share / total
        count = ENDLESS if asked.inputs is None else max(1, round(asked.inputs * part))
        jobs.append(Job(name, seed, range(count), seconds * at_once / len(names), limits, Path(asked.out)))
    jobs.sort(key=lambda job: job.tally.target != "page")  # it waits more than it works: first, beside others
    print(f"seed {seed}; {len(names)} targets, {at_once} at once", flush=True)
    started, said = time.monotonic(), [time.monotonic()]

    def progress(jobs: Sequence[Job]) -> None:
        if time.monotonic() - said[0] < EVERY:
            return
        said[0] = time.monotonic()
        tallies = [job.now for job in jobs]
        busy = ", ".join(f"{job.tally.target} {job.now.tried}" for job in jobs if job.started and not job.done)
        print(
            f"{said[0] - started:5.0f} s  {sum(t.tried for t in tallies)} inputs, "
            f"{sum(len(t.findings) for t in tallies)} findings; now {busy}",
            flush=True,
        )

    tallies = run(jobs, at_once, progress)
    print(report(tallies, seed))
    return 1 if any(tally.findings for tally in tallies) else 0


def report(tallies: Sequence[Tally], seed: int) -> str:
    """A line for each target, then every kind of finding with how to see it again."""
    head = f"{'target':<12}{'inputs':>9}{'accepted':>10}{'refused':>10}{'not ours':>10}{'slowest':>11}{'memory':>10}"
    lines = ["", head]
    for tally in tallies:
        lines.append(
            f"{tally.target:<12}{tally.tried:>9}{tally.accepted:>10}{tally.refused:>10}{len(tally.findings):>10}"
            f"{1e3 * tally.slowest:>8.0f} ms{tally.peak:>7.0f} MB"
        )
    sums = [sum(getattr(t, what) for t in tallies) for what in ("tried", "accepted", "refused")]
    found = sum(len(t.findings) for t in tallies)
    lines.append(f"{'all':<12}{sums[0]:>9}{sums[1]:>10}{sums[2]:>10}{found:>10}")
    lines.append("")
    for tally in tallies:
        for what, findings in sorted(tally.kinds.items(), key=lambda each: -len(each[1])):
            lines += _told(what, findings, seed)
    said = f"{found} findings" if found else "nothing but the library's own errors"
    lines.append(f"{sums[0]} inputs, seed {seed}: {said}")
    return "\n".join(lines)


def _told(what: str, findings: Sequence[Finding], seed: int) -> list[str]:
    first = findings[0]
    last = [line for line in first.detail.strip().splitlines() if line.strip()][-1:]
    return [
        f"{first.target}: {what}  ({len(findings)} times)",
        *(f"    {line.strip()[:200]}" for line in last),
        f"    again: python tests/fuzz --seed {seed} --target {first.target} --only {first.index}",
        *([f"    saved: {first.file}"] if first.file else []),
    ]
