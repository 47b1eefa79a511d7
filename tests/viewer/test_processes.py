"""The board has the newest snapshot, whole, whatever the other side does; orders never wait, and none is lost."""

from __future__ import annotations

import multiprocessing
import threading
import time

import numpy as np
import pytest

from elbowroom.viewer.session.processes import MOST, Orders, SharedBuffer


def test_the_newest_is_seen():
    board = SharedBuffer()
    assert board.look() is None
    for k in range(5):
        board.put({"k": k, "x": np.arange(3.0) * k})
        seen = board.look()
        assert seen["k"] == k
        np.testing.assert_array_equal(seen["x"], np.arange(3.0) * k)
    assert board.number == 5


def test_what_does_not_fit_is_left_out_and_counted():
    board = SharedBuffer(size=256)
    board.put("small")
    board.put("x" * 1000)
    assert (board.look(), board.dropped) == ("small", 1)


def test_a_picture_is_never_half_of_one_and_half_of_another():
    board, stop = SharedBuffer(), threading.Event()

    def write():
        k = 0
        while not stop.is_set():
            k += 1
            board.put((k, np.full(2000, float(k))))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        last, end = 0, time.monotonic() + 60.0
        while last < 300 and time.monotonic() < end:  # the writer may be slow to come to its turn
            seen = board.look()
            if seen is not None:
                assert (seen[1] == seen[0]).all()
                assert seen[0] >= last
                last = seen[0]
    finally:
        stop.set()
        writer.join()
    assert last >= 300


def _put(board):
    board.put("from the child")


def test_it_reaches_from_one_process_to_another():
    context, board = multiprocessing.get_context("spawn"), SharedBuffer()
    child = context.Process(target=_put, args=(board,))
    child.start()
    child.join(60)
    assert child.exitcode == 0
    assert board.look() == "from the child"


class Overtaken:
    """The board's head, which the writer overtakes once, just when the reader has read how long the picture is."""

    def __init__(self, board):
        self._real, self._board, self._done = board._head, board, False

    def __getitem__(self, k):
        value = self._real[k]
        if k > 0 and not self._done:
            self._done = True
            self._board.put("second " * 50)
            self._board.put("third " * 100)  # into the slot that is being read
        return value

    def __setitem__(self, k, value):
        self._real[k] = value


def test_a_reader_who_is_overtaken_looks_again():
    board = SharedBuffer()
    board.put("first")
    board._head = Overtaken(board)
    assert board.look() == "third " * 100


# ---- orders
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
