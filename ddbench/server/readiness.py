"""Is it ready, and is it ours?

SGLang prints its ready line even when another program holds its port, so only an answer that
names our model counts.
"""

import time
from collections.abc import Callable
from pathlib import Path

from ddbench.errors import ServerError, ServerNotReady, ServerUntrusted
from ddbench.server.http import ask
from ddbench.server.log_tail import last_lines

POLL_INTERVAL_S = 0.25
ANSWER_TIMEOUT_S = 20.0  # /health_generate decodes a token, and the first one may compile kernels


def wait_until_ready(
    require_running: Callable[[], None],
    base_url: str,
    *,
    expected_model: str | None,
    log_path: Path,
    timeout_s: float,
) -> None:
    """Returns when the server answers and its process lives.

    require_running raises when it does not, and that passes through at once. Raises ServerNotReady
    after `timeout_s`.
    """
    started_at = time.monotonic()
    while (waited_s := time.monotonic() - started_at) < timeout_s:
        require_running()
        answer_s = min(ANSWER_TIMEOUT_S, timeout_s - waited_s)
        if is_ready(base_url, expected_model, timeout_s=answer_s):
            require_running()
            return
        time.sleep(min(POLL_INTERVAL_S, max(0.0, timeout_s - waited_s)))
    raise ServerNotReady(timeout_s, log_path, last_lines(log_path))


def is_ready(base_url: str, expected_model: str | None, *, timeout_s: float) -> bool:
    """True when a server there generates text and serves `expected_model` (None: any model).

    Of a server that is not SGLang, and of which no model is expected, /health is enough.
    Raises ServerUntrusted at once: no waiting helps.
    """
    try:
        health = ask(base_url, "/health_generate", timeout_s=timeout_s).status_code
        if health == 404 and expected_model is None:
            health = ask(base_url, "/health", timeout_s=timeout_s).status_code
        if expected_model is None and health in (401, 403):
            return True  # a gateway that wants a key for this, too
        if health != 200:
            return False
        if expected_model is None:
            return True
        answer = ask(base_url, "/server_info", timeout_s=timeout_s)
        said = answer.json()
    except ServerUntrusted:
        raise
    except (ServerError, ValueError):  # nobody listens yet; or somebody who speaks no JSON
        return False
    return isinstance(said, dict) and said.get("model_path") == expected_model
