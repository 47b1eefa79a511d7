"""What a plant says of itself, to those who ask and to those it refuses."""

from __future__ import annotations

import socket
import threading

import numpy as np
import pytest

import elbowroom as er
from elbowroom.cell import Kinematic, PlantClient, PlantServer, RigidBody, Stop
from elbowroom.connect import PlantInfo, ask
from elbowroom.connect.packet import NUMBERS, hello
from elbowroom.connect.plant_info import HEAD, LONGEST, refusal
from elbowroom.errors import ConfigError

GIVE_UP = 30.0  # s: a test that hangs ends; none is judged by it


@pytest.fixture(scope="module")
def arm():
    return er.load("planar2")


@pytest.fixture
def served():
    """A function that serves a plant from a thread."""
    ended, threads, servers = threading.Event(), [], []

    def serve(plant, **options) -> PlantServer:
        servers.append(PlantServer(plant, **options))
        threads.append(threading.Thread(target=servers[-1].serve, args=(ended.is_set,)))
        threads[-1].start()
        return servers[-1]

    yield serve
    ended.set()
    for thread in threads:
        thread.join()
    for server in servers:
        server.close()


def refused(client: PlantClient, why: str) -> bool:
    """Whether the plant says so, sooner or later."""
    end = client.clock() + GIVE_UP
    while client.refused != why and client.clock() < end:
        client.wait(0.02)
    return client.refused == why and not client.connected


@pytest.mark.parametrize("lockstep", [False, True])
def test_anybody_may_ask(arm, served, lockstep):
    server = served(RigidBody(arm, drive="torque"), lockstep=lockstep, timeout=0.25, period=0.005)
    info = ask(server.address, GIVE_UP)
    assert (info.arm, info.plant, info.joints) == ("planar2", "rigid", 2)
    assert (info.lockstep, info.period, info.timeout) == (lockstep, 0.005, 0.25)
    assert (info.torque, info.controlled, info.refused) == (True, False, "")
    assert info.text == "planar2 on the rigid plant"
    assert info.difference(arm) == ""
    assert server.stop_reason is Stop.START
    assert server.dropped.total == 0


def test_nothing_answers(arm):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as deaf:
        deaf.bind(("127.0.0.1", 0))
        there = deaf.getsockname()
        assert ask(there, 0.05) is None
    assert ask(there, 0.05) is None  # and now nobody listens
    with pytest.raises(ConfigError, match="expected one of this machine"):
        ask(("192.0.2.1", 7), 0.05)


def test_another_arm_is_refused_and_both_are_named(arm, served):
    server = served(Kinematic(arm))
    for other, why, said in (
        (er.load("puma560"), "joints", "planar2 on the kinematic plant; the controller is for puma560"),
        (arm.with_payload(1.0), "model", "has the joints of planar2 here, but another base, tool, mass or limit"),
    ):
        with PlantClient(other, server.address) as client:
            assert refused(client, why)
            assert said in client.info.difference(other)
    assert server.dropped["joints"] > 0
    assert server.dropped["model"] > 0
    with PlantClient(arm, server.address, lockstep=True, patience=0.05) as client:
        assert refused(client, "mode")
        assert client.info.difference(arm) == ""


def test_a_controller_that_leaves_makes_room_at_once(arm, served):
    server = served(Kinematic(arm), timeout=GIVE_UP)  # else it would have to wait for that
    first = PlantClient(arm, server.address, timeout=1.0)
    assert first.wait(GIVE_UP)
    first.reset(arm.ready)
    assert first.settle(GIVE_UP)
    assert not first.stopped
    assert ask(server.address, GIVE_UP).controlled
    with PlantClient(arm, server.address, timeout=0.05) as second:
        assert refused(second, "busy")
        first.close()
        assert second.wait(GIVE_UP)
        assert second.refused == ""
        assert second.connections == 1
        assert second.stop_reason is Stop.LEFT
        assert second.held == "its controller left"
        second.unlatch()
        assert second.held == ""  # not yet known otherwise
        assert second.settle(GIVE_UP)
        assert (second.stop_reason, second.held) == (Stop.NONE, "")
        assert second.description == f"kinematic at 127.0.0.1:{server.address[1]}"


INFO = PlantInfo(6, 2**32 - 1, 2**48 - 1, True, 0.004, 0.1, 78, False, True, "limits", "Ärmchen", "mujoco")


def test_information_is_packed_and_read():
    numbers = np.zeros(NUMBERS)
    assert PlantInfo.read(numbers[: INFO.pack(numbers)]) == INFO
    long = PlantInfo(**{**vars(INFO), "arm": "é" * 500, "plant": "\0" * 500})
    assert long.pack(numbers) <= HEAD + LONGEST
    assert PlantInfo.read(numbers[: long.pack(numbers)]).arm.startswith("é" * 40)


@pytest.mark.parametrize(
    "at, value", [(0, -1.0), (0, 1.5), (9, 1000.0), (HEAD, 256.0), (HEAD, -1.0), (HEAD + 1, 0.5), (2, -3.0)]
)
def test_what_makes_no_sense_is_no_information(at, value):
    numbers = np.zeros(NUMBERS)
    size = INFO.pack(numbers)
    numbers[at] = value
    assert PlantInfo.read(numbers[:size]) is None
    assert PlantInfo.read(numbers[: HEAD - 1]) is None
    assert PlantInfo.read(np.zeros(HEAD + LONGEST + 1)) is None


def test_why_a_hello_is_refused(arm):
    numbers = np.array(hello(arm, False))
    assert refusal(numbers, arm, False) == ""
    assert refusal(numbers, arm, True) == "mode"
    assert refusal(numbers[:2], arm, False) == "joints"
    assert refusal(numbers + np.eye(4)[0], arm, False) == "joints"
    assert refusal(numbers + np.eye(4)[2], arm, False) == "model"
