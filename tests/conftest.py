"""What all tests share: one Hypothesis profile, a cache of kernels of their own, and files that live a test."""

from __future__ import annotations

import os
import shutil
import tempfile

import pytest
from hypothesis import HealthCheck, settings

# Seeded, so that a failure in CI is a failure here; no deadline, because no test asserts a time.
settings.register_profile(
    "elbowroom",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("elbowroom")

# Kernels compiled by the tests stay out of the user's cache, and what an earlier run left there stays out of the tests.
# The workers of pytest-xdist inherit the folder, so that a kernel is compiled once.
_OURS = "ELBOWROOM_CACHE" not in os.environ
if _OURS:
    os.environ["ELBOWROOM_CACHE"] = tempfile.mkdtemp(prefix="elbowroom-tests-")


def pytest_unconfigure():
    if _OURS:
        shutil.rmtree(os.environ["ELBOWROOM_CACHE"], ignore_errors=True)


@pytest.fixture
def urdf_file(tmp_path):
    """A function that writes URDF text into a file and gives its path."""

    def write(text: str, name: str = "arm.urdf"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write
