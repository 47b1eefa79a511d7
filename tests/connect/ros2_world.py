"""A simulated robot on ROS 2 in another process, in a DDS domain of its own, on the loopback."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import elbowroom

LONG = 60.0  # s: a limit of patience, not of time
ENV = {k: v for k, v in os.environ.items() if k not in ("CYCLONEDDS_URI", "ROS_DOMAIN_ID")}
ENV["PYTHONPATH"] = str(Path(elbowroom.__file__).parents[1])


def until(condition, what: str = ""):
    """Waits for a condition, and gives up only if something is badly wrong; what it found."""
    end = time.monotonic() + LONG
    while not (found := condition()):
        assert time.monotonic() < end, f"gave up waiting {what}"
        time.sleep(0.005)
    return found


class Robot:
    """The other process."""

    def __init__(self, domain: int) -> None:
        call = [sys.executable, str(Path(__file__).with_name("ros2_robot.py")), str(domain), "planar2"]
        self.process = subprocess.Popen(call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENV)
        assert self.process.stdout.readline() == "ready\n"

    def order(self, line: str) -> dict[str, float]:
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        words = self.process.stdout.readline().split()
        return {"received": float(words[1]), "fastest": float(words[3]), "q": np.array(words[5:], float)}

    def end(self) -> None:
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
