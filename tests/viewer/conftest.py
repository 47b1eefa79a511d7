"""What the viewer's tests share: a small recording of a person."""

from __future__ import annotations

import pytest

from handwritten import vicon


@pytest.fixture
def take(tmp_path):
    """A Vicon CSV of one second: a person who goes 0.1 m along x."""
    path = tmp_path / "take.csv"
    path.write_text(vicon(100, step=1.0))
    return path
