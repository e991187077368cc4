import os
from typing import Any, Iterable, Optional

from ._auth import Auth, client_auth, token_auth
from ._secrets import Secrets
from ._transport import Transport


class Coffer:
    """A client of one Coffer service.

    Give one of: ``token``; ``client_id`` and ``client_secret``; ``auth``, from :func:`workload_auth` or :func:`ci_auth`.
    Without a URL or credentials, ``COFFER_URL`` and ``COFFER_TOKEN`` are used. It may be shared by threads.
    """

    def __init__(
        self,
        url: Optional[str] = None,
        *,
        token: Optional[str] = None,
        client_id: Optional[str] = None,
        client_secret: Optional[str] = None,
        auth: Optional[Auth] = None,
        timeout: float = 30.0,
        retries: int = 3,
        ca_file: Optional[str] = None,
        allowed_origins: Iterable[str] = (),
    ) -> None:
        """``ca_file`` is a PEM file with the root of the service's certificate, if no public authority signed it. ``allowed_origins``
        are the URLs of other regions, to which the service may redirect a request."""
        url = url or os.environ.get("COFFER_URL")
        if not url:
            raise ValueError("Give the URL of Coffer, or set COFFER_URL.")
        chosen = _auth(token, client_id, client_secret, auth)
        self._transport = Transport(url, chosen, timeout, retries, ca_file, allowed_origins)
        self.secrets = Secrets(self._transport)

    @property
    def url(self) -> str:
        return self._transport.url

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> "Coffer":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Coffer(url={self.url!r})"


def _auth(token: Optional[str], client_id: Optional[str], client_secret: Optional[str], auth: Optional[Auth]) -> Auth:
    is_client = client_id is not None or client_secret is not None
    if sum([token is not None, is_client, auth is not None]) > 1:
        raise ValueError("Give only one of token, client_id with client_secret, and auth.")
    if auth is not None:
        return auth
    if is_client:
        if not client_id or not client_secret:
            raise ValueError("client_id and client_secret belong together: give both.")
        return client_auth(client_id, client_secret)
    token = token or os.environ.get("COFFER_TOKEN")
    if not token:
        raise ValueError("Give token, client_id with client_secret, or auth; or set COFFER_TOKEN.")
    return token_auth(token)
