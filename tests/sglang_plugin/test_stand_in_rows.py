"""Slots and rows: what the stand-in reads and writes, against plain Python lists."""

import os
import subprocess
import sys
from types import ModuleType

import pytest
import torch

from ddbench.sglang_plugin import stand_in_folder


def test_kv_rows_move_in_every_layer_even_where_they_overlap(sgl_kernel: ModuleType) -> None:
    """The second move's source is the first move's target: sources are read before any write."""
    layers = [torch.rand(10, 2, 3), torch.rand(10, 2, 3), torch.rand(10, 4).to(torch.bfloat16)]
    before = [layer.clone() for layer in layers]

    sgl_kernel.copy_all_layer_kv_cache_cpu(
        torch.tensor([layer.data_ptr() for layer in layers], dtype=torch.uint64),
        torch.tensor([layer.stride(0) * layer.itemsize for layer in layers]),
        torch.tensor([4, 3, 9], dtype=torch.int32),
        torch.tensor([6, 4, 1], dtype=torch.int32),
    )

    for layer, old in zip(layers, before, strict=True):
        expected = old.clone()
        expected[4], expected[3], expected[9] = old[6], old[4], old[1]
        assert torch.equal(layer, expected)


def test_moving_no_rows_is_nothing(sgl_kernel: ModuleType) -> None:
    nothing = torch.tensor([], dtype=torch.int64)

    sgl_kernel.copy_all_layer_kv_cache_cpu(
        torch.tensor([8], dtype=torch.uint64), torch.tensor([4]), nothing, nothing
    )


def test_spans_of_the_token_table_are_written_and_read_back(sgl_kernel: ModuleType) -> None:
    table = torch.zeros(3, 6, dtype=torch.int32)
    rows, starts, ends = torch.tensor([2, 0]), torch.tensor([1, 4]), torch.tensor([4, 6])
    read = torch.zeros(5, dtype=torch.int64)

    sgl_kernel.assign_req_to_token_pool_cpu(
        rows, table, starts, ends, torch.tensor([11, 12, 13, 21, 22]), 6
    )
    sgl_kernel.assign_extend_cache_locs_cpu(rows, table, starts, ends, read, 6)

    assert table.tolist() == [[0, 0, 0, 0, 21, 22], [0] * 6, [0, 11, 12, 13, 0, 0]]
    assert read.tolist() == [11, 12, 13, 21, 22]


def test_draft_slots_follow_each_requests_tokens(sgl_kernel: ModuleType) -> None:
    table = torch.arange(20, dtype=torch.int32).view(2, 10)
    slots = torch.zeros(8, dtype=torch.int64)

    sgl_kernel.assign_draft_cache_locs_contiguous_cpu(
        torch.tensor([1, 0]), table, torch.tensor([3, 0]), slots, 10, 2, 2
    )

    assert slots.tolist() == [13, 14, 15, 16, 0, 1, 2, 3]


def test_the_bonus_is_the_last_accepted_token(sgl_kernel: ModuleType) -> None:
    bonus = torch.zeros(2, dtype=torch.int32)

    sgl_kernel.fill_bonus_tokens_cpu(
        torch.tensor([[5, 6, 7], [8, 9, 0]]), torch.tensor([3, 1], dtype=torch.int32), bonus, 3
    )

    assert bonus.tolist() == [7, 8]


def test_slots_of_accepted_rows_are_closed_up(sgl_kernel: ModuleType) -> None:
    closed = torch.zeros(4, dtype=torch.int64)

    sgl_kernel.fill_accept_out_cache_loc_cpu(
        torch.tensor([[0, 2, -1], [3, -1, -1]], dtype=torch.int32),
        torch.tensor([100, 101, 102, 103, 104, 105]),
        closed,
    )

    assert closed.tolist() == [100, 102, 103, 0]


@pytest.mark.parametrize(
    ("places", "expected"),
    [(None, [2, 3, 90, 5, 91, 7]), (torch.tensor([1, 4]), [2, 90, 3, 5, 91, 7])],
)
def test_a_new_token_enters_from_the_right(
    sgl_kernel: ModuleType, places: torch.Tensor | None, expected: list[int]
) -> None:
    ids = torch.tensor([1, 2, 3, 4, 5, 7])

    sgl_kernel.rotate_input_ids_cpu(
        ids, torch.tensor([0, 3, 5]), torch.tensor([3, 2, 0]), torch.tensor([90, 91, 92]), places
    )

    assert ids.tolist() == expected


def test_the_stand_in_refuses_to_be_found_by_accident() -> None:
    found = subprocess.run(
        [sys.executable, "-c", "import sgl_kernel"],
        env={**os.environ, "PYTHONPATH": str(stand_in_folder()), "DDBENCH_SGLANG_CPU": ""},
        capture_output=True,
        text=True,
    )

    assert found.returncode == 1
    assert "take ddbench's stand_in folder off PYTHONPATH" in found.stderr
