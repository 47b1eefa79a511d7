"""What all tests share: one Hypothesis profile, and files that live a test."""

from __future__ import annotations

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


@pytest.fixture
def urdf_file(tmp_path):
    """A function that writes URDF text into a file and gives its path."""

    def write(text: str, name: str = "arm.urdf"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write
