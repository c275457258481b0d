"""Which servers a conformance run starts."""

from pathlib import Path

from ddbench.conformance.cases import CONCURRENCIES, cases
from ddbench.plan.argv import server_command
from ddbench.server.accelerators import count_gpus


def names(**asked: object) -> list[str]:
    return [case.name for case in cases(**asked)]  # type: ignore[arg-type]


def test_stock_sglang_is_asked_for_no_tree() -> None:
    assert names(trees=False) == ["autoregressive", "linear-8"]


def test_trees_are_narrower_than_the_block_a_chain_and_much_wider() -> None:
    assert names(trees=True)[2:] == ["tree-8-3-2", "tree-8-7-1", "tree-8-31-4"]


def test_a_gpu_host_runs_everything_without_graphs_too_and_one_tree_on_several_gpus() -> None:
    on_four = names(trees=True, gpus=4)

    assert {f"{name}-eager" for name in names(trees=True)} < set(on_four)
    assert [name for name in on_four if "tp" in name] == ["tree-8-31-4-tp2", "tree-8-31-4-tp4"]
    assert [name for name in names(trees=True, gpus=1) if "tp" in name] == []


def test_every_server_of_a_gpu_run_gets_what_its_name_says() -> None:
    for case in cases(trees=True, gpus=8):
        config = case.config("/usr/bin/python3", flags=(("attention-backend", "triton"),))
        argv = server_command(config, port=1, environment={}).argv

        assert ("--disable-cuda-graph" in argv) == ("eager" in case.name or "cpu" in argv)
        assert ("--tp-size" in argv) == ("tp" in case.name)
        assert argv[argv.index("--attention-backend") + 1] == "triton"
        assert argv[argv.index("--max-running-requests") + 1] == str(max(CONCURRENCIES))


def test_gpus_are_counted_as_a_server_would_see_them(tmp_path: Path) -> None:
    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "null"):
        (tmp_path / name).touch()

    assert count_gpus(tmp_path, {}) == 2
    assert count_gpus(tmp_path, {"CUDA_VISIBLE_DEVICES": "1"}) == 1
    assert count_gpus(tmp_path, {"CUDA_VISIBLE_DEVICES": ""}) == 0
    assert count_gpus(tmp_path, {"CUDA_VISIBLE_DEVICES": "-1"}) == 0
    assert count_gpus(tmp_path, {"CUDA_VISIBLE_DEVICES": "0,1,2"}) == 2
