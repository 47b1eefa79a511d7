"""The board: the newest picture, whole, whatever the other side does."""

from __future__ import annotations

import multiprocessing
import threading

import numpy as np

from elbowroom.viewer.board import Board


def test_the_newest_is_seen():
    board = Board()
    assert board.look() is None
    for k in range(5):
        board.put({"k": k, "x": np.arange(3.0) * k})
        seen = board.look()
        assert seen["k"] == k
        np.testing.assert_array_equal(seen["x"], np.arange(3.0) * k)
    assert board.number == 5


def test_what_does_not_fit_is_left_out_and_counted():
    board = Board(size=256)
    board.put("small")
    board.put("x" * 1000)
    assert (board.look(), board.dropped) == ("small", 1)


def test_a_picture_is_never_half_of_one_and_half_of_another():
    board, stop = Board(), threading.Event()

    def write():
        k = 0
        while not stop.is_set():
            k += 1
            board.put((k, np.full(2000, float(k))))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        last = 0
        for _ in range(3000):
            seen = board.look()
            if seen is not None:
                assert (seen[1] == seen[0]).all()
                assert seen[0] >= last
                last = seen[0]
    finally:
        stop.set()
        writer.join()
    assert last > 1


def _put(board):
    board.put("from the child")


def test_it_reaches_from_one_process_to_another():
    context, board = multiprocessing.get_context("spawn"), Board()
    child = context.Process(target=_put, args=(board,))
    child.start()
    child.join(60)
    assert child.exitcode == 0
    assert board.look() == "from the child"
