"""Whose certificates ddbench believes, in every stage that talks to a server.

Those that this machine trusts ($SSL_CERT_FILE and $SSL_CERT_DIR name others) and those that come
with Python's certifi. Names are always checked, and nothing switches that off.
"""

import os
import ssl
from functools import cache
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from requests.utils import DEFAULT_CA_BUNDLE_PATH


def trusted() -> ssl.SSLContext:
    """For connections to servers. One context for as long as the variables stay as they are."""
    return _trusted(*(os.environ.get(name) for name in ("SSL_CERT_FILE", "SSL_CERT_DIR")))


def direct_session() -> requests.Session:
    """A session past any proxy that the environment names, and without .netrc."""
    session = requests.Session()
    session.trust_env = False
    session.mount("https://", _TrustingAdapter())
    return session


@cache
def _trusted(*_variables: str | None) -> ssl.SSLContext:
    context = ssl.create_default_context()  # OpenSSL reads the variables itself
    context.load_verify_locations(DEFAULT_CA_BUNDLE_PATH)
    return context


class _TrustingAdapter(HTTPAdapter):
    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, ssl_context=trusted(), **kwargs)
