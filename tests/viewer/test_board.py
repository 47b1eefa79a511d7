"""The board: the newest picture, whole, whatever the other side does."""

from __future__ import annotations

import multiprocessing
import threading
import time

import numpy as np

from elbowroom.viewer.session.exchange import SharedBuffer


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
