"""Short questions to a server, past any proxy that the environment names."""

import threading
from concurrent.futures import Future

import requests

from ddbench.errors import ServerError, ServerUntrusted
from ddbench.tls import direct_session

TIMEOUT_S = 30.0


def ask(
    base_url: str,
    route: str,
    *,
    method: str = "GET",
    timeout_s: float = TIMEOUT_S,
    api_key: str | None = None,
) -> requests.Response:
    """The whole answer, whatever its status. Raises ServerError without one within `timeout_s`;
    ServerUntrusted when that is for its certificate.

    In a thread that is left behind when the time is over: to `requests` every byte is a sign of
    life, and a server may send one a second.
    """
    headers = {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
    answer: Future[requests.Response] = Future()

    def exchange() -> None:
        with direct_session() as session:  # a proxy cannot reach this machine's loopback
            try:
                answer.set_result(
                    session.request(
                        method, f"{base_url}{route}", headers=headers, timeout=timeout_s
                    )
                )
            except Exception as cause:  # noqa: BLE001 raised below, in the thread that asked
                answer.set_exception(cause)

    threading.Thread(target=exchange, daemon=True).start()
    try:
        return answer.result(timeout_s)
    except requests.exceptions.SSLError as cause:
        raise ServerUntrusted(base_url, str(cause)) from cause
    except (requests.RequestException, TimeoutError) as cause:
        raise ServerError(
            f"no answer from {base_url}{route}: {type(cause).__name__}",
            remedy="Look at the end of the server's log.",
        ) from cause
