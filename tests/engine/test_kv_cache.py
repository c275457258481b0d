import pytest
import torch

from ddbench.engine.kv_cache import FIRST_CAPACITY, KvCache


def rows(n, width, seed=0):
    generator = torch.Generator().manual_seed(seed)
    k, v = torch.randn(2, n, width, 2, 4, generator=generator)
    return k, v


def read(cache, layer, slot, length):
    keys, values = cache.view(layer, torch.tensor([slot]), length)
    return keys[0].transpose(0, 1), values[0].transpose(0, 1)  # (length, heads, size)


@pytest.mark.parametrize("slots", [[0], [2], [1, 2], [3, 0, 2]])
def test_what_is_written_is_read_at_its_slot_and_rows(slots):
    cache = KvCache(layers=2, kv_heads=2, head_dim=4, slots=4)
    starts = [5, 0, 9][: len(slots)]
    k, v = rows(len(slots), 3)

    cache.write(1, torch.tensor(slots), torch.tensor(starts), k, v)

    for i, (slot, start) in enumerate(zip(slots, starts, strict=True)):
        keys, values = read(cache, 1, slot, start + 3)
        assert torch.equal(keys[start:], k[i])
        assert torch.equal(values[start:], v[i])
        assert not keys[:start].any()
    assert not cache.view(0, torch.arange(4), 20)[0].any()


def test_growing_keeps_every_row():
    cache = KvCache(layers=1, kv_heads=2, head_dim=4, slots=2)
    k, v = rows(2, FIRST_CAPACITY)
    cache.write(0, torch.tensor([0, 1]), torch.tensor([0, 0]), k, v)

    more, _ = rows(1, 1, seed=1)
    cache.write(0, torch.tensor([1]), torch.tensor([5 * FIRST_CAPACITY]), more, more)

    assert cache.capacity == 8 * FIRST_CAPACITY
    assert torch.equal(read(cache, 0, 0, FIRST_CAPACITY)[0], k[0])
    assert torch.equal(read(cache, 0, 1, FIRST_CAPACITY)[1], v[1])
    assert torch.equal(read(cache, 0, 1, 5 * FIRST_CAPACITY + 1)[0][-1], more[0, 0])


def test_a_run_of_slots_is_read_without_a_copy():
    cache = KvCache(layers=1, kv_heads=2, head_dim=4, slots=4)

    run, _ = cache.view(0, torch.tensor([1, 2, 3]), 6)
    scattered, _ = cache.view(0, torch.tensor([1, 3]), 6)
    cache.write(0, torch.tensor([1]), torch.tensor([0]), *rows(1, 1))

    assert run[0].any()
    assert not scattered[0].any()


def test_a_moved_path_reads_all_its_sources_first():
    cache = KvCache(layers=3, kv_heads=2, head_dim=4, slots=2)
    written = [rows(1, 8, seed=layer) for layer in range(3)]
    for layer, (k, v) in enumerate(written):
        cache.write(layer, torch.tensor([1]), torch.tensor([4]), k, v)

    cache.move(1, torch.tensor([6, 5, 9]), torch.tensor([5, 6, 7]))

    for layer, (k, v) in enumerate(written):
        keys, values = read(cache, layer, 1, 8)
        assert torch.equal(keys[5:], k[0, [2, 1, 5]])
        assert torch.equal(values[5:], v[0, [2, 1, 5]])


def test_a_cache_grown_in_inference_mode_can_be_moved_outside_it():
    cache = KvCache(layers=1, kv_heads=2, head_dim=4, slots=1)
    k, v = rows(1, 2)
    with torch.inference_mode():
        cache.write(0, torch.tensor([0]), torch.tensor([FIRST_CAPACITY]), k, v)

    cache.move(0, torch.tensor([FIRST_CAPACITY + 1]), torch.tensor([0]))

    assert torch.equal(read(cache, 0, 0, 1)[0][0], k[0, 1])
