"""The site: every page is in its navigation, every public name on its room's page, and nothing comes from elsewhere."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import elbowroom as er

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
CONFIG = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
NAV = re.findall(r"[ :]([\w/]+\.md)$", CONFIG[CONFIG.index("\nnav:") :], re.M)
PAGES = sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))
ROOMS = ("model", "dynamics", "algebra", "codegen", "geometry", "avoidance", "cell", "compile", "identification")


def test_every_page_is_in_the_navigation_once():
    assert sorted(NAV) == PAGES


def exported(room: str) -> list[str]:
    """What the room's `__init__` imports for others, `from .x import y as y`."""
    text = Path(importlib.import_module(f"elbowroom.{room}").__file__).read_text(encoding="utf-8")
    return re.findall(r"^from \.\w* import (\w+) as \1$", text, re.M)


def documented(room: str) -> set[str]:
    """The names with an entry on the room's page."""
    text = (DOCS / "api" / f"{room}.md").read_text(encoding="utf-8")
    return set(re.findall(rf"^::: elbowroom\.{room}\.(\w+)$", text, re.M))


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_name_of_a_room_is_on_its_page(room):
    names = exported(room)
    assert names
    assert set(names) - documented(room) == set()


@pytest.mark.parametrize("room", ROOMS)
def test_no_name_on_a_page_is_made_up(room):
    module = importlib.import_module(f"elbowroom.{room}")
    for name in documented(room):
        if not hasattr(module, name):
            importlib.import_module(f"elbowroom.{room}.{name}")  # a module that the room does not import by itself


def test_the_front_page_of_the_api_has_every_name_of_the_package():
    text = (DOCS / "api/elbowroom.md").read_text(encoding="utf-8")
    errors = {
        name for name in er.__all__ if name.endswith(("Error", "Notice", "Warning"))
    }  # all of elbowroom.errors is there
    rooms = {"algebra", "avoidance", "cell", "chains", "codegen", "dynamics", "geometry", "model", "simulation"}
    assert [name for name in set(er.__all__) - errors - rooms if not re.search(rf"\b{name}\b", text)] == []
    assert "::: elbowroom.errors" in text


@pytest.mark.parametrize("page", PAGES)
def test_pages_take_no_picture_from_elsewhere(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)
    assert [p for p in pictures if not (DOCS / page).parent.joinpath(p).is_file()] == []


HINTS = re.compile(r"pip install ([^`;:()\"\n]+)")
WITH_EXTRAS = re.compile(r"'([\w.]+)\[([\w,]+)\]'")


def test_install_hints_name_what_can_be_installed():
    """This package is on no index: it is installed from its own folder, with extras that there are."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    files = [*(ROOT / "src").rglob("*.py"), *DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    hints = [(file.name, hint) for file in files for hint in HINTS.findall(file.read_text("utf-8"))]
    assert len(hints) > 20
    assert [hint for hint in hints if re.search(r"\belbowroom\b", hint[1])] == []
    named = [(file, *found) for file, hint in hints for found in WITH_EXTRAS.findall(hint)]
    assert {place for _, place, _ in named} == {"."}
    assert [one for one in named for extra in one[2].split(",") if extra not in extras] == []
    asked = [extra for file in files for extra in re.findall(r"pip_install\(['\"](\w+)", file.read_text("utf-8"))]
    assert len(asked) > 20
    assert set(asked) <= set(extras)


def test_messages_name_extras_by_the_helper_that_knows_how_this_was_installed():
    """An editable installation stays one: `pip install '.[x]'` would replace it."""
    files = [file for file in (ROOT / "src").rglob("*.py") if file.name != "errors.py"]
    plain = re.compile(r"""["'].*pip install '\.\[""")
    assert [file.name for file in files if plain.search(file.read_text("utf-8"))] == []


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built strictly."""
    pytest.importorskip("mkdocstrings")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},  # the theme's notice about its successor
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stdout + done.stderr
    return folder


@pytest.mark.slow
def test_the_site_fetches_nothing_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) >= len(PAGES)
    for page in pages:
        text = page.read_text(encoding="utf-8")
        fetched = re.findall(r"""<(?:script|link|img|iframe)\b[^>]*(?:src|href)=["']?(?:https?:)?//[^"'\s>]+""", text)
        assert fetched == [], page


@pytest.mark.slow
def test_docstrings_look_as_they_are_written(site):
    """What docs/api/fields.py does: fields with defaults and comments in a table, columns kept, no link of [w x]."""

    def shown(page: str) -> str:
        return " ".join(re.sub(r"<[^>]+>", " ", (site / "api" / page / "index.html").read_text("utf-8")).split())

    assert "gain 0.1 k of the profile; of inverse, m^2/s (m/s)" in shown("avoidance")
    assert "kinds one letter a joint: R revolute, P prismatic" in shown("model")
    assert "[w x][w x]" in shown("dynamics")
    supervisor = (site / "api/avoidance/index.html").read_text("utf-8")
    assert re.search(r"<code>(?:<[^>]+>)*joint_names    of the plant", supervisor)
