"""The tutorial's C program, compiled and run: it prints what the page says."""

from __future__ import annotations

import re
import subprocess

import elbowroom as er
from ccompiler import CC, STRICT, compiled, needs_cc
from elbowroom import codegen
from pages import ROOT


@needs_cc
def test_the_loop_of_the_tutorial(tmp_path):
    page = (ROOT / "docs/tutorials/generated_code.md").read_text(encoding="utf-8")
    program = re.search(r"```c\n(.*?)```", page, re.S)[1]
    shown = re.search(r"&& ./loop\n(.*?)```", page, re.S)[1]
    (tmp_path / "loop.c").write_text(program)
    codegen.write(er.load("panda"), ["inverse_dynamics", "forward_dynamics"], tmp_path / "c", real="float", trig="own")
    compiled([CC, *STRICT, "-O2", "-Ic", "-o", "loop", "loop.c", "c/panda.c", "-lm"], cwd=tmp_path)
    done = subprocess.run([tmp_path / "loop"], capture_output=True, text=True, check=True)
    numbers = [[float(x) for x in re.findall(r"-?\d+\.\d+", text)] for text in (done.stdout, shown)]
    # The last digit shown may differ by one where a compiler fuses and another does not.
    assert len(numbers[0]) == len(numbers[1]) == 10
    assert all(abs(a - b) < 0.011 for a, b in zip(*numbers, strict=True))
