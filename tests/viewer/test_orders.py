"""Orders never wait for the pipe, keep their order, and lose nothing that counts."""

from __future__ import annotations

import multiprocessing
import threading

import pytest

from elbowroom.viewer.session.exchange import MOST, Orders


@pytest.fixture
def ends():
    ours, theirs = multiprocessing.Pipe()
    orders = Orders(ours)
    yield orders, theirs
    theirs.close()
    orders.close(5.0)


def take(pipe, until="quit"):
    """What arrives, up to an order of that name."""
    found = []
    while not found or found[-1][0] != until:
        assert pipe.poll(10.0)
        found.append(pipe.recv())
    return found


def test_what_is_sent_arrives_in_its_order(ends):
    orders, theirs = ends
    for order in (("play",), ("set", "gain", 0.1), ("reset",), ("set", "gain", 0.2), ("stop",)):
        assert orders.send(*order)
    found = take(theirs, "stop")
    assert [order for order in found if order[0] != "set"] == [("play",), ("reset",), ("stop",)]
    assert found[-2] == ("set", "gain", 0.2)


def test_nobody_waits_for_an_engine_that_reads_nothing(ends):
    orders, theirs = ends

    def press():
        for k in range(5000):
            orders.send("step")
            orders.send("drag", (0.0, float(k)))
            orders.send("set", "gain", float(k))
        orders.send("stop")

    pressing = threading.Thread(target=press, daemon=True)
    pressing.start()
    pressing.join(60.0)
    assert not pressing.is_alive()  # a pipe that is full would hold it for ever
    assert len(orders) <= MOST + 2
    assert take(theirs, "stop")[-1] == ("stop",)


def test_of_the_same_the_last_counts_but_not_across_others(ends):
    orders, theirs = ends
    filling = 0
    while not len(orders):  # until the pipe is full, so that what comes now waits here
        orders.send("step")
        filling += 1
        assert filling < 10**6
    threading.Event().wait(0.2)
    for y in range(50):
        orders.send("drag", (0.0, float(y)))
    orders.send("let_go")
    orders.send("drag", (1.0, 1.0))
    orders.send("stop")
    drags = [order for order in take(theirs, "stop") if order[0] in ("drag", "let_go")]
    assert drags == [("drag", (0.0, 49.0)), ("let_go",), ("drag", (1.0, 1.0))]


def test_after_the_engine_has_gone_orders_go_nowhere(ends):
    orders, theirs = ends
    theirs.close()
    orders.send("play")
    orders.close(5.0)
    assert not orders.send("play")
