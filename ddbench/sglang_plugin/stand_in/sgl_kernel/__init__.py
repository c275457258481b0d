"""A stand-in for SGLang's compiled kernels: the few CPU functions that SGLang 0.5.23 imports.

PyPI's `sglang-kernel` is built for CUDA and cannot be imported on a machine without it. A sweep
that serves on a CPU puts the folder above this package first on the server's PYTHONPATH; nothing
else does. Names, argument order and in-place results are those of SGLang's call sites, which are
named in each module. Slow and obvious; a name that a new SGLang adds fails at start.

`torch.ops.sgl_kernel` must stay empty, so that SGLang takes its torch paths elsewhere.
"""

import os

if os.environ.get("DDBENCH_SGLANG_CPU") != "1":
    raise ImportError(
        "this `sgl_kernel` is ddbench's stand-in for servers on a CPU, found through PYTHONPATH: "
        "take ddbench's stand_in folder off PYTHONPATH, or set DDBENCH_SGLANG_CPU=1"
    )

from sgl_kernel.after_acceptance import (
    fill_accept_out_cache_loc_cpu,
    fill_bonus_tokens_cpu,
    rotate_input_ids_cpu,
)
from sgl_kernel.kv_rows import copy_all_layer_kv_cache_cpu
from sgl_kernel.token_table import (
    assign_draft_cache_locs_contiguous_cpu,
    assign_extend_cache_locs_cpu,
    assign_req_to_token_pool_cpu,
)
from sgl_kernel.tree import build_tree_kernel_efficient_cpu, verify_tree_greedy_cpu

__all__ = [
    "assign_draft_cache_locs_contiguous_cpu",
    "assign_extend_cache_locs_cpu",
    "assign_req_to_token_pool_cpu",
    "build_tree_kernel_efficient_cpu",
    "copy_all_layer_kv_cache_cpu",
    "fill_accept_out_cache_loc_cpu",
    "fill_bonus_tokens_cpu",
    "rotate_input_ids_cpu",
    "verify_tree_greedy_cpu",
]
