"""Faults that can be planted on purpose, so that a check can be shown to see them.

`--fault NAME` (not shown by --help) switches one on. A healthy server has none, and says in
/server_info which one it has.

mask-dropped   a drafted tree is verified with a plain causal mask: every node sees all nodes before
               it, not only its ancestors
kv-not-moved   the cache rows of accepted tree nodes stay where the tree was written, so that later
               tokens attend to whatever stands in the first rows behind the prefix
"""

from enum import StrEnum


class Fault(StrEnum):
    MASK_DROPPED = "mask-dropped"
    KV_NOT_MOVED = "kv-not-moved"
