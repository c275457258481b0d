"""The `load` section of a sweep file: what is sent to every server, once for each concurrency."""

from dataclasses import replace

from ddbench.plan.marked_yaml import Marked
from ddbench.records import LoadConfig

KEYS = (
    "prompts",
    "count",
    "concurrency",
    "max_new_tokens",
    "temperature",
    "seed",
    "ignore_eos",
    "logprobs",
    "record_drafts",
    "timeout_s",
)

DEFAULT_CONCURRENCY: tuple[int, ...] = (1, 4, 8)
DEFAULT = LoadConfig(prompts="builtin:mixed", count=48, concurrency=1, max_new_tokens=64)


def read_load_section(node: Marked) -> tuple[LoadConfig, ...]:
    """One LoadConfig a concurrency, in the order of the file; what is not given is the default."""
    given = node.mapping(known=KEYS)
    load = DEFAULT
    if "prompts" in given:
        load = replace(load, prompts=given["prompts"].text())
    if "count" in given:
        load = replace(load, count=given["count"].integer(at_least=1))
    if "max_new_tokens" in given:
        load = replace(load, max_new_tokens=given["max_new_tokens"].integer(at_least=1))
    if "temperature" in given:
        load = replace(load, temperature=given["temperature"].number(at_least=0.0))
    if "seed" in given:
        load = replace(load, seed=given["seed"].integer(at_least=0))
    if "ignore_eos" in given:
        load = replace(load, ignore_eos=given["ignore_eos"].flag())
    if "logprobs" in given:
        load = replace(load, logprobs=given["logprobs"].flag())
    if "record_drafts" in given:
        load = replace(load, record_drafts=given["record_drafts"].flag())
    if "timeout_s" in given:
        load = replace(load, timeout_s=given["timeout_s"].number(at_least=1.0))
    concurrencies = DEFAULT_CONCURRENCY
    if "concurrency" in given:
        concurrencies = given["concurrency"].integers(at_least=1)
    if load.count <= max(concurrencies):
        raise given.get("count", given.get("concurrency", node)).error(
            f"{load.count} prompts cannot keep {max(concurrencies)} requests in flight",
            remedy=f"Ask for a count above {max(concurrencies)}, several times that if you can.",
        )
    return tuple(replace(load, concurrency=concurrency) for concurrency in concurrencies)
