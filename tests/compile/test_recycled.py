"""Memory of large results: used again when nobody looks at it any more, and never before."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

import elbowroom as er
from elbowroom.compile import recycled
from elbowroom.compile.recycled import IDLE, KEPT, LARGE, LARGEST, PIECE, SLAB, fresh, piece

FLOAT = np.dtype(float)
ROWS = LARGE // FLOAT.itemsize // 4
STATES = LARGE // FLOAT.itemsize // 4 + 100  # of a matrix of 2 x 2


@pytest.fixture(autouse=True)
def nothing_idle():
    gc.collect()
    recycled._idle.clear()
    yield
    recycled._idle.clear()


def place(array):
    return array.__array_interface__["data"][0]


def test_it_is_as_empty_gives_it():
    for dtype in (np.dtype(np.float32), FLOAT):
        array = fresh((ROWS, 2, 8), dtype)
        assert array.shape == (ROWS, 2, 8)
        assert array.dtype == dtype
        assert array.flags.carray


def test_memory_is_used_again_when_the_array_and_its_views_are_gone():
    array = fresh((ROWS, 4), FLOAT)
    where, view = place(array), array[5:, 1]
    del array
    other = fresh((ROWS, 4), FLOAT)
    assert place(other) != where  # the view still looks at it
    view[:] = 1.0
    assert not np.shares_memory(view, other)
    del view
    assert place(fresh((ROWS, 2, 2), FLOAT)) == where  # whatever the shape
    assert place(fresh((ROWS, 8), FLOAT)) != where  # but not for another size


def test_pieces_lie_apart_and_are_used_again():
    shapes = [(PIECE // 8 + 100 * (k % 3),) for k in range(40)]
    arrays = [piece(shape, FLOAT) for shape in shapes]
    for k, array in enumerate(arrays):
        assert place(array) % 64 == 0
        array[:] = k
    assert all((array == k).all() for k, array in enumerate(arrays))
    where, view = place(arrays[7]), arrays[7][3:5]
    del array, arrays[7]
    assert place(piece(shapes[7], FLOAT)) != where  # the view still looks at it
    del view
    assert place(piece(shapes[7], FLOAT)) == where


def waiting():
    return sum(size * len(idle) for size, idle in recycled._pieces.items())


def test_pieces_of_any_sizes_wait_in_bounded_number():
    rng = np.random.default_rng(0)
    for _ in range(40):  # 20 MB each
        arrays = [piece((int(rng.integers(PIECE, SLAB // 8)),), np.dtype(np.uint8)) for _ in range(20)]
        before = waiting()
        arrays.clear()
        assert waiting() <= IDLE
    assert before < waiting()  # the last ones wait
    many = [piece((SLAB // 4,), np.dtype(np.uint8)) for _ in range(IDLE * 4 // SLAB + 1)]
    many.clear()
    assert waiting() <= IDLE


def test_pieces_of_nearly_one_size_serve_each_other():
    where = [place(piece((5 * PIECE // 4 - k,), np.dtype(np.uint8))) for k in range(0, PIECE // 4, 50)]
    assert len(set(where)) == 1


def test_small_and_huge_pieces_are_the_systems():
    for numbers in (PIECE // 8 - 1, SLAB // 32 + 1):  # too small and too large
        assert piece((numbers,), FLOAT).flags.owndata


def test_small_and_huge_ones_are_the_systems():
    for numbers, ours in ((LARGE // 8 - 1, False), (LARGE // 8, True), (LARGEST // 8, True), (LARGEST // 8 + 1, False)):
        assert fresh((numbers,), FLOAT).flags.owndata != ours


def test_no_more_is_kept_than_is_said():
    arrays = [fresh((ROWS, 4), FLOAT) for _ in range(2 * KEPT)]
    assert len({place(each) for each in arrays}) == 2 * KEPT
    arrays.clear()
    assert len(recycled._idle) == KEPT


def test_results_that_live_are_each_their_own_and_the_same_bits():
    """The emitted entry leaves large batches to the Python way; `out=` and short batches do not use this at all."""
    arm = er.load("planar2")
    q = np.random.default_rng(1).uniform(-3.0, 3.0, (STATES, 2))
    kernel = arm.compile("mass_matrix")
    short = np.concatenate([kernel(part) for part in np.array_split(q, 8)])
    first, second = kernel(q), kernel(q[::-1].copy())
    assert not np.shares_memory(first, second)
    for got, wanted in ((first, short), (second, short[::-1]), (kernel(q, out=np.empty_like(first)), short)):
        np.testing.assert_array_equal(got, wanted)
    where = place(first)
    del first
    again = kernel(q)
    assert place(again) == where
    np.testing.assert_array_equal(again, short)


def test_threads_share_it_without_sharing_memory():
    wrong = []

    def work(number):
        for k in range(50):
            array = fresh((ROWS, 4), FLOAT)
            array[::1000] = number * 100 + k
            if not (array[::1000] == number * 100 + k).all():
                wrong.append((number, k))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong
