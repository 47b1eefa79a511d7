"""A process with a simulated robot on ROS 2: python ros2_robot.py DOMAIN ARM; orders on stdin, answers on stdout."""

from __future__ import annotations

import os
import select
import sys

from elbowroom.connect.ros2.node import Node
from elbowroom.connect.ros2.simulated import SimulatedRobot
from elbowroom.loading import load


def main() -> None:
    domain, name = sys.argv[1:]
    given = b""

    def orders() -> str | None:
        nonlocal given
        if select.select([0], [], [], 0)[0]:
            part = os.read(0, 4096)
            if not part:
                return "quit"
            given += part
        line, newline, rest = given.partition(b"\n")
        if not newline:
            return None
        given = rest
        return line.decode()

    with Node(int(domain)) as node:
        robot = SimulatedRobot(load(name), node)
        print("ready", flush=True)
        robot.serve(orders, answer=lambda line: print(line, flush=True))


main()
