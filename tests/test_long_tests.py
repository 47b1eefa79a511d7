"""The list of long tests: what it names is there, and a test that is in it is slow."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import long_tests

ROOT = Path(long_tests.__file__).parent.parent


def test_what_the_list_names_is_there():
    names = long_tests.LIST.read_text(encoding="utf-8").splitlines()
    assert names == sorted(set(names))
    gone = []
    for name in names:
        path, *within = name.split("[")[0].split("::")
        text = (ROOT / path).read_text(encoding="utf-8") if (ROOT / path).exists() else ""
        found = re.search(rf"def {re.escape(within[-1])}\(", text)
        if not found:
            gone.append(name)
    assert not gone, f"{long_tests.LIST.name}: `make long-tests` writes it anew"


@pytest.mark.parametrize("listed", [True, False])
def test_the_list_makes_a_test_slow(request, monkeypatch, listed):
    name = request.node.nodeid if listed else "tests/other.py::test_else"
    monkeypatch.setattr(long_tests, "names", lambda: frozenset([name]))
    assert request.node.get_closest_marker("slow") is None
    long_tests.mark([request.node])
    assert (request.node.get_closest_marker("slow") is not None) == listed
