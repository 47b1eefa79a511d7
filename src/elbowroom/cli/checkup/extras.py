"""What is optional: packages by the features that need them, and a browser for tests."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from .parts import BROKEN, EXTRAS, MISSING, OK, Finding, imported, there, version

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


class Extra(NamedTuple):
    """A set of packages: what they are for, distribution -> module, and whether importing them is tried, too."""

    use: str
    packages: Mapping[str, str]
    tried: bool = False


EXTRA = {
    "viewer": Extra("the live page (demo, replay)", {"viser": "viser"}, True),
    "report": Extra("figures (experiment, tables, bench --plot)", {"matplotlib": "matplotlib"}, True),
    "mujoco": Extra("arms that MuJoCo moves (--plant mujoco)", {"mujoco-core": "mujoco"}, True),
    "xacro": Extra("robots written as xacro (--xacro)", {"xacro": "xacro"}, True),
    "looks": Extra("the catalogue's panda drawn with its meshes (demo)", {"example-robot-data": ""}),
    "foreign": Extra(
        "arms of others, for tests",
        {"example-robot-data": "", "rtb-data": "rtbdata", "xacro": "xacro"},
    ),
    "gpu": Extra('batches on graphics cards (device="cuda", bench gpu)', {"cupy-cuda13x": "cupy"}),
    "bench": Extra(
        "other libraries beside ours (bench)",
        {
            "pin": "pinocchio",
            "mujoco-core": "mujoco",
            "roboticstoolbox-python": "roboticstoolbox",
            "mink": "mink",
            "pin-pink": "pink",
            "daqp": "daqp",
            "scipy": "scipy",
            "setuptools": "setuptools",
            "matplotlib": "matplotlib",
        },
    ),
    "dev": Extra(
        "tests and documentation of elbowroom itself",
        {
            "pytest": "pytest",
            "pytest-xdist": "xdist",
            "hypothesis": "hypothesis",
            "ruff": "ruff",
            "mypy": "mypy",
            "mkdocs-material": "material",
            "mkdocstrings": "mkdocstrings",
            "build": "build",
            "scipy": "scipy",
            "mpmath": "mpmath",
            "daqp": "daqp",
            "matplotlib": "matplotlib",
            "pin": "pinocchio",
            "mujoco-core": "mujoco",
            "viser": "viser",
            "xacro": "xacro",
            "selenium": "selenium",
        },
    ),
}
"""The extras of pyproject.toml."""


def packages() -> Iterator[Finding]:
    """Each extra: what of it is there, what is not, and what cannot be imported."""
    tried = [m for extra in EXTRA.values() if extra.tried for m in extra.packages.values() if there(m)]
    results = imported(list(dict.fromkeys(tried)))
    for name, extra in EXTRA.items():
        whole, broken, absent = [], [], []
        for package, module in extra.packages.items():
            known, error = results.get(module, ("", "")) if extra.tried else ("", "")
            if not (there(module) if module else version(package)):  # a wheel of data has no module
                absent.append(package)
            elif error:
                broken.append(f"{package} ({error})")
            else:
                whole.append(f"{package} {version(package) or known}".strip())
        data = {"use": extra.use, "there": whole, "missing": absent, "broken": broken}
        mend = f"pip install '.[{name}]'"
        if broken:
            mend = f"pip install --force-reinstall '.[{name}]'"
            yield Finding(EXTRAS, name, BROKEN, f"{extra.use}: cannot be imported: {', '.join(broken)}", data, mend)
        elif absent:
            yield Finding(EXTRAS, name, MISSING, f"{extra.use}: without {', '.join(absent)}", data, mend)
        else:
            shown = ", ".join(whole) if len(whole) <= 2 else f"all {len(whole)} packages"
            yield Finding(EXTRAS, name, OK, f"{extra.use}: {shown}", data)


def browser() -> Iterator[Finding]:
    """Chromium and its driver: the tests of the live page drive them."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    driver, use = shutil.which("chromedriver"), "tests of the live page"
    data = {"use": use, "browser": browser, "driver": driver}
    if browser and driver:
        yield Finding(EXTRAS, "Chromium", OK, f"{use}: {browser}, {driver}", data)
    else:
        lack = " and ".join(name for name, found in (("Chromium", browser), ("chromedriver", driver)) if not found)
        mend = "sudo apt-get install chromium chromium-driver" if shutil.which("apt-get") else ""
        yield Finding(EXTRAS, "Chromium", MISSING, f"{use}: without {lack}", data, mend)
