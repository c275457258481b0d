"""Run by SGLang's interpreter: what the series draws and what it refuses, as one line of JSON.

Argument: a folder with the files that the series creates. They are imported into the unpatched
package, so that nothing has to be copied.
"""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import torch

ALL = 1 << 30  # SGLang's top_k for "all tokens"


def load(folder: Path, name: str) -> ModuleType:
    path = folder / Path(*name.split(".")).with_suffix(".py")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def sampling(temperatures: list[float], top_ks: list[int], top_ps: list[float]) -> SimpleNamespace:
    return SimpleNamespace(
        is_all_greedy=all(top_k == 1 for top_k in top_ks),
        sampling_seed=None,
        temperatures=torch.tensor(temperatures)[:, None],
        top_ks=torch.tensor(top_ks),
        top_ps=torch.tensor(top_ps),
        min_ps=torch.zeros(len(top_ks)),
        need_top_k_sampling=any(top_k != ALL for top_k in top_ks),
        need_top_p_sampling=any(top_p != 1.0 for top_p in top_ps),
        need_min_p_sampling=False,
    )


def main(folder: Path) -> dict[str, object]:
    torch.manual_seed(0)
    load(folder, "sglang.srt.speculative.ddtree_tree")
    verify = load(folder, "sglang.srt.speculative.ddtree_verify")
    hook = load(folder, "sglang.srt.arg_groups.ddtree_hook")
    draws, logits = 20_000, torch.tensor([[0.5, -1.0, 2.0, 0.0, 1.5, -2.0]])
    rows = logits.expand(draws, 6).contiguous()
    positions = torch.zeros(draws, dtype=torch.int64)

    def shares(temperature: float, top_k: int, top_p: float) -> list[float]:
        info = sampling([temperature], [top_k], [top_p])
        drawn = verify._draw(rows, info, draws, positions)
        assert drawn.shape == (1, draws)
        return (torch.bincount(drawn[0], minlength=6) / draws).tolist()

    mixed_logits = torch.randn(8, 6)
    mixed = verify._draw(
        mixed_logits, sampling([1.0, 1.0], [1, ALL], [1.0, 1.0]), 4, torch.arange(8)
    )

    def shape(*asked: int | None) -> list[int] | str:
        try:
            return list(hook.tree_shape(*asked))
        except ValueError as error:
            return str(error)

    return {
        "plain": shares(0.7, ALL, 1.0),
        "plain_expected": torch.softmax(logits[0] / 0.7, dim=-1).tolist(),
        "top_k": shares(1.0, 2, 1.0),
        "top_p": shares(1.0, ALL, 0.4),
        "greedy_row": mixed[0].tolist(),
        "greedy_row_expected": mixed_logits[:4].argmax(dim=-1).tolist(),
        "shapes": [
            shape(16, None, None),
            shape(16, 7, 4),
            shape(8, 63, 4),
            shape(8, 7, 1),
            shape(8, 8, 1),
            shape(1, 3, 3),
        ],
    }


if __name__ == "__main__":
    print("RESULT " + json.dumps(main(Path(sys.argv[1]))))
