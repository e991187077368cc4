import datetime
import os
import random
import ssl
import tempfile
import threading
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, Optional, Tuple, Union
from urllib.parse import quote

if TYPE_CHECKING:
    from ._transport import Transport

#: A token is renewed when this part of its life is over, or up to a tenth of its life before, so that many do not renew at once.
RENEWED_AT = 2 / 3
JITTER = 0.1
#: Text, or what returns it: a token that expires is then read anew for each login.
Text = Union[str, Callable[[], str]]


def _text(given: Text) -> str:
    return _header("id_token", given() if callable(given) else given)


def _header(name: str, value: str) -> str:
    """Refuses what no header can carry, before an error message of the standard library shows it."""
    stripped = value.strip()
    if not stripped or any(not "!" <= character <= "~" for character in stripped):
        raise ValueError(f"{name} is empty, or has spaces, line breaks or characters that no credential has.")
    return stripped


class Auth:
    """How requests prove who sends them."""

    def headers(self, transport: "Transport") -> Dict[str, str]:
        raise NotImplementedError

    def renew(self, transport: "Transport", refused: Dict[str, str]) -> bool:
        """After a 401 to a request with these headers: whether there are other credentials to try."""
        return False


class _Fixed(Auth):
    def __init__(self, headers: Dict[str, str]) -> None:
        self._headers = headers

    def headers(self, transport: "Transport") -> Dict[str, str]:
        return self._headers


class _Renewed(Auth):
    """Logs in when it must, one thread at a time, and again before the token ends."""

    def __init__(self, login: Callable[["Transport"], Tuple[str, float]], clock: Callable[[], float] = time.monotonic) -> None:
        self._login = login
        self._clock = clock
        self._lock = threading.Lock()
        self._headers: Optional[Dict[str, str]] = None
        self._renew_at = 0.0

    def headers(self, transport: "Transport") -> Dict[str, str]:
        with self._lock:
            if self._headers is None or self._clock() >= self._renew_at:
                self._log_in(transport)
            assert self._headers is not None
            return self._headers

    def renew(self, transport: "Transport", refused: Dict[str, str]) -> bool:
        with self._lock:
            if self._headers == refused:
                self._log_in(transport)
            return True

    def _log_in(self, transport: "Transport") -> None:
        token, life_seconds = self._login(transport)
        self._headers = {"Authorization": f"Bearer {_header('token', token)}"}
        self._renew_at = self._clock() + life_seconds * (RENEWED_AT - random.random() * JITTER)


def token_auth(token: str) -> Auth:
    """A personal access token, or any other bearer token."""
    return _Fixed({"Authorization": f"Bearer {_header('token', token)}"})


def client_auth(client_id: str, client_secret: str) -> Auth:
    """The client id and secret of an AppConnection."""
    return _Fixed({"X-Client-Id": _header("client_id", client_id), "X-Client-Secret": _header("client_secret", client_secret)})


def workload_auth(method_id: int, credentials: Callable[[], Dict[str, Any]]) -> Auth:
    """Workload identity. ``credentials`` returns what the method takes, such as ``{"k8s_token": "…"}``, and is called for each login."""

    def login(transport: "Transport") -> Tuple[str, float]:
        answer, sent_at = transport.log_in("/workload-identity/login", body={"method_id": method_id, **credentials()})
        return answer["cv_jwt"], _life(answer["expires_at"], sent_at)

    return _Renewed(login)


def ci_auth(connection: str, id_token: Text) -> Auth:
    """The id_token of a CI system, exchanged for a certificate and a token of the connection. The URL must be that of the TLS port."""

    def login(transport: "Transport") -> Tuple[str, float]:
        headers = {"Authorization": f"Bearer {_text(id_token)}"}
        answer, sent_at = transport.log_in(f"/app-connections/{quote(connection, safe='')}/federated-token", headers=headers)
        transport.show_certificate(_context_with(transport, answer["certificate"], answer["private_key"]))
        return answer["access_token"], _life(answer["expires_at"], sent_at)

    return _Renewed(login)


def _life(expires_at: str, sent_at: float) -> float:
    """Seconds between the answer and the end of the token, both by the service's clock: that of this machine may be wrong."""
    end = datetime.datetime.strptime(expires_at, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=datetime.timezone.utc)
    return max(end.timestamp() - sent_at, 0.0)


def _context_with(transport: "Transport", certificate: str, private_key: str) -> ssl.SSLContext:
    """Python loads a key from a file only: it is there for a moment, for its owner alone."""
    context = transport.new_context()
    descriptor, path = tempfile.mkstemp(prefix="coffer-")
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(f"{certificate.rstrip()}\n{private_key.rstrip()}\n")
        context.load_cert_chain(path)
    finally:
        os.unlink(path)
    return context
