"""Fixtures: a simulated robot on ROS 2 in another process, in a DDS domain of its own, on the loopback."""

from __future__ import annotations

import fcntl
import os
import tempfile
from pathlib import Path

import pytest
from ros2_world import Robot


@pytest.fixture(autouse=True)
def own_network(monkeypatch):
    monkeypatch.delenv("CYCLONEDDS_URI", raising=False)
    monkeypatch.delenv("ROS_DOMAIN_ID", raising=False)


@pytest.fixture(scope="module")
def domain():
    """A DDS domain that no other test on this machine has."""
    for k in range(200):
        number = 20 + (os.getpid() + k) % 200
        file = (Path(tempfile.gettempdir()) / f"elbowroom-dds-{number}.lock").open("w")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            continue
        yield number
        file.close()
        return
    pytest.fail("no DDS domain is free")


@pytest.fixture(scope="module")
def simulated(domain):
    robot = Robot(domain)
    yield robot
    robot.end()


@pytest.fixture
def robot(simulated):
    simulated.order("well")
    yield simulated
    simulated.order("well")
