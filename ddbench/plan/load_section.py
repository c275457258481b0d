"""The `load` section of a sweep file: what is sent to every server, once for each concurrency.

A closed loop has `concurrency: [1, 4, 8]`. An open one has `rate: [0.5, 2]`, requests a second, and
`arrival: poisson` (the default), `constant`, or `gamma` with a `burstiness`.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from ddbench.plan.marked_yaml import Marked
from ddbench.records import Arrival, LoadConfig, Route

KEYS = (
    "prompts",
    "count",
    "concurrency",
    "rate",
    "arrival",
    "burstiness",
    "max_new_tokens",
    "temperature",
    "seed",
    "ignore_eos",
    "logprobs",
    "record_drafts",
    "timeout_s",
    "route",
    "api_key_env",
    "thinking",
)
ARRIVALS = ("poisson", "constant", "gamma")
ROUTES = ("generate", "completions", "chat")

DEFAULT_CONCURRENCY: tuple[int, ...] = (1, 4, 8)
SLOWEST_RATE_PER_S = 0.001

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

DEFAULT = LoadConfig(prompts="builtin:mixed", count=48, concurrency=1, max_new_tokens=64)


def read_load_section(node: Marked) -> tuple[LoadConfig, ...]:
    """One LoadConfig a concurrency or rate, in the order of the file; else the defaults.

    Raises PlanError, also for a load that is closed and open at once.
    """
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
    if "route" in given:
        load = replace(load, route=_route(given, load))
    if "api_key_env" in given:
        load = replace(load, api_key_env=_variable(given["api_key_env"]))
    if "thinking" in given:
        load = replace(load, thinking=given["thinking"].flag())
    return _open(given, load) if "rate" in given else _closed(node, given, load)


def _closed(node: Marked, given: Mapping[str, Marked], load: LoadConfig) -> tuple[LoadConfig, ...]:
    for name in ("arrival", "burstiness"):
        if name in given:
            raise given[name].error(
                "a closed loop sends when an answer has come", remedy="Remove it, or add a `rate`."
            )
    concurrencies = DEFAULT_CONCURRENCY
    if "concurrency" in given:
        concurrencies = given["concurrency"].integers(at_least=1)
    if load.count <= max(concurrencies):
        raise given.get("count", given.get("concurrency", node)).error(
            f"{load.count} prompts cannot keep {max(concurrencies)} requests in flight",
            remedy=f"Ask for a count above {max(concurrencies)}, several times that if you can.",
        )
    return tuple(replace(load, concurrency=concurrency) for concurrency in concurrencies)


def _open(given: Mapping[str, Marked], load: LoadConfig) -> tuple[LoadConfig, ...]:
    if "concurrency" in given:
        raise given["concurrency"].error(
            "a load has a `rate` (open loop) or a `concurrency` (closed loop)",
            remedy="Remove one of the two, or write two sweep files.",
        )
    arrival = cast(Arrival, given["arrival"].one_of(ARRIVALS)) if "arrival" in given else "poisson"
    if "burstiness" in given and arrival != "gamma":
        raise given["burstiness"].error(
            f"{arrival} arrivals have no burstiness", remedy="Write `arrival: gamma`, or remove it."
        )
    if arrival == "gamma" and "burstiness" not in given:
        raise given["arrival"].error(
            "gamma arrivals need a burstiness",
            remedy="Add `burstiness:`, below 1 for bursts, above 1 for evener gaps.",
        )
    if load.count < 2:
        raise given["count"].error("one request has no rate", remedy="Ask for at least 2.")
    burstiness = given["burstiness"].number(at_least=0.01) if "burstiness" in given else 1.0
    load = replace(load, concurrency=0, arrival=arrival, burstiness=burstiness)
    return tuple(replace(load, rate_per_s=rate) for rate in _rates(given["rate"]))


def _rates(node: Marked) -> tuple[float, ...]:
    seen: dict[float, Marked] = {}
    for item in node.items():
        rate = item.number(at_least=SLOWEST_RATE_PER_S)
        if rate in seen:
            raise item.error(f"{rate:g} stands twice", remedy="Remove one of the two.")
        seen[rate] = item
    return tuple(seen)


def _route(given: Mapping[str, Marked], load: LoadConfig) -> Route:
    route = cast(Route, given["route"].one_of(ROUTES))
    if route != "generate" and (load.logprobs or load.record_drafts):
        wants = "logprobs" if load.logprobs else "record_drafts"
        raise given["route"].error(
            f"`{wants}` is read from SGLang's own route",
            remedy=f"Write `route: generate`, or remove `{wants}`.",
        )
    return route


def _variable(node: Marked) -> str:
    name = node.text()
    if not _VARIABLE.fullmatch(name):  # perhaps the key itself: not repeated in the message
        raise node.error(
            "this is no name of a variable",
            remedy="Name the variable that holds the key, never the key: `api_key_env: MY_KEY`.",
        )
    return name
