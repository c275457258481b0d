"""Names that SGLang 0.5.11 imports at start (sglang/srt/mem_cache/memory_pool_host.py).

They move KV between a GPU and its host, which a server on a CPU never does.
"""

from collections.abc import Callable
from typing import NoReturn

_NAMES = (
    "transfer_kv_all_layer",
    "transfer_kv_all_layer_direct_lf_pf",
    "transfer_kv_all_layer_lf_pf",
    "transfer_kv_all_layer_lf_ph",
    "transfer_kv_all_layer_mla",
    "transfer_kv_all_layer_mla_lf_pf",
    "transfer_kv_direct",
    "transfer_kv_per_layer",
    "transfer_kv_per_layer_direct_pf_lf",
    "transfer_kv_per_layer_mla",
    "transfer_kv_per_layer_mla_pf_lf",
    "transfer_kv_per_layer_pf_lf",
    "transfer_kv_per_layer_ph_lf",
)


def _refusing(name: str) -> Callable[..., NoReturn]:
    def refuse(*_args: object, **_kwargs: object) -> NoReturn:
        raise RuntimeError(f"sgl_kernel.kvcacheio.{name} needs a GPU; this server runs on a CPU")

    return refuse


globals().update({name: _refusing(name) for name in _NAMES})
