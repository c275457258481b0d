"""Short questions to a server, past any proxy that the environment names."""

import requests

from ddbench.errors import ServerError

TIMEOUT_S = 30.0


def ask(
    base_url: str,
    route: str,
    *,
    method: str = "GET",
    timeout_s: float = TIMEOUT_S,
    api_key: str | None = None,
) -> requests.Response:
    """The answer, whatever its status. Raises ServerError when there is none."""
    headers = {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
    with requests.Session() as session:
        session.trust_env = False  # a proxy cannot reach this machine's loopback
        try:
            return session.request(method, f"{base_url}{route}", headers=headers, timeout=timeout_s)
        except requests.RequestException as cause:
            raise ServerError(
                f"no answer from {base_url}{route}: {type(cause).__name__}",
                remedy="Look at the end of the server's log.",
            ) from cause
