from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Lacks, Outcome, Severity
from ddbench.checks.limits import number_setting
from ddbench.checks.needs import REQUESTS, RUNNING, SPECULATIVE_ARM
from ddbench.checks.offenders import some_of
from ddbench.checks.rule import rule


@rule(
    "DDB128",
    "cache-slots-leak",
    Severity.ERROR,
    remedy="Check that a step frees the cache slots of rejected nodes, each once.",
    needs=(SPECULATIVE_ARM, REQUESTS, RUNNING),
)
def cache_slots_leak(evidence: Evidence) -> Iterator[Outcome]:
    """The cache holds more tokens than the running requests can have.

    ## Why it matters
    A verify step writes a slot for every node and keeps those of the accepted path. A tree keeps
    scattered slots; the others leak if they are not freed, until requests are retracted for want
    of memory hours later.

    ## How it is computed
    For each decode line, #token <= running * (longest prompt + longest answer + verify width),
    rounded up to pages. Only with --disable-radix-cache, since a radix cache keeps finished
    prefixes on purpose.

    ## Example
    Bad: 2,950 tokens for 4 running requests of at most 80 tokens each.
    Good: 310 tokens for the same.
    """
    if evidence.settings.get("disable_radix_cache") != "True":
        yield Lacks("a server with --disable-radix-cache")
        return
    page = max(1, number_setting(evidence, "page_size") or 1)
    width = (evidence.speculation.verify_width if evidence.speculation else None) or 0
    longest = max(r.prompt_tokens + r.completion_tokens for r in evidence.completed) + 2 * width
    a_request = -(-longest // page) * page
    windows = [w for w in evidence.windows if w.kv_tokens is not None and w.running_requests]
    over = [
        f"{w.kv_tokens} tokens for {w.running_requests} running of at most {a_request}"
        for w in windows
        if (w.kv_tokens or 0) > (w.running_requests or 0) * a_request
    ]
    if over:
        yield some_of(over, len(windows), "windows")
