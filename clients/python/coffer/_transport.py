import email.utils
import http.client
import json
import random
import socket
import ssl
import threading
import time
import uuid
from typing import Any, Dict, FrozenSet, Iterable, Mapping, Optional, Tuple
from urllib.parse import SplitResult, urlencode, urljoin, urlsplit

from ._auth import Auth
from ._errors import UNEXPECTED_ANSWER, NO_ANSWER, REGION_REDIRECT, TIMED_OUT, CofferError
from ._version import VERSION

LOOPBACK = ("localhost", "127.0.0.1", "::1")
REPEATED_STATUS = (429, 503)
BACKOFF_SECONDS = 0.25
WAIT_SECONDS_MAX = 30.0
ANSWER_BYTES_MAX = 64 * 1024 * 1024
REDIRECTS_MAX = 3
DEFAULT_PORTS = {"https": 443, "http": 80}


class Transport:
    """Sends requests: to its own origin and to those that were listed, over https, and repeated only where that is safe."""

    def __init__(
        self, url: str, auth: Auth, timeout: float, retries: int, ca_file: Optional[str], allowed_origins: Iterable[str]
    ) -> None:
        self._url = _checked(url)
        self._auth = auth
        self._timeout = timeout
        self._retries = retries
        self._ca_file = ca_file
        self._context: Optional[ssl.SSLContext] = None if self._url.scheme == "http" else self.new_context()
        self._origins: FrozenSet[Tuple[str, str, int]] = frozenset(
            _origin(_checked(each)) for each in [url, *allowed_origins]
        )
        self._local = threading.local()

    @property
    def url(self) -> str:
        return self._url.geturl()

    def new_context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self._ca_file)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        return context

    def show_certificate(self, context: ssl.SSLContext) -> None:
        """Connections from now on show the certificate of this context."""
        self._context = context

    def call(self, method: str, path: str, query: Optional[Mapping[str, str]] = None, body: Any = None) -> Any:
        """A write carries an Idempotency-Key, so that it happens once however often it is sent."""
        extra = {} if method == "GET" else {"Idempotency-Key": str(uuid.uuid4())}
        target = self._url._replace(path=path, query=urlencode(query or {}))
        has_renewed = False
        while True:
            headers = self._auth.headers(self)
            try:
                return self._repeated(method, target, {**headers, **extra}, body, is_safe=True)[0]
            except CofferError as error:
                if error.status != 401 or has_renewed or not self._auth.renew(self, headers):
                    raise
                has_renewed = True

    def log_in(self, path: str, headers: Optional[Mapping[str, str]] = None, body: Any = None) -> Tuple[Any, float]:
        """An exchange, repeated only if the service said that it did nothing; and when it was answered, by the service's clock."""
        # An open connection may have been closed by the other side, which would be noticed only after the exchange was sent.
        self.close()
        return self._repeated("POST", self._url._replace(path=path), dict(headers or {}), body, is_safe=False)

    def close(self) -> None:
        """Closes the connections of this thread."""
        for connection in getattr(self._local, "connections", {}).values():
            connection[0].close()
        self._local.connections = {}

    def _repeated(
        self, method: str, url: SplitResult, headers: Dict[str, str], body: Any, is_safe: bool
    ) -> Tuple[Any, float]:
        attempt = 0
        while True:
            attempt += 1
            try:
                return self._redirected(method, url, headers, body)
            except CofferError as error:
                is_refused_for_load = error.status in REPEATED_STATUS
                is_lost = error.code in (NO_ANSWER, TIMED_OUT) and is_safe
                if attempt > self._retries or not (is_refused_for_load or is_lost):
                    raise
                wait = _retry_after(error)
            if wait is None:
                wait = BACKOFF_SECONDS * 2 ** (attempt - 1) * (0.5 + random.random())
            time.sleep(min(wait, WAIT_SECONDS_MAX))

    def _redirected(self, method: str, url: SplitResult, headers: Dict[str, str], body: Any) -> Tuple[Any, float]:
        for _ in range(REDIRECTS_MAX):
            status, answered, text = self._once(method, url, headers, body)
            if status not in (307, 308):
                return _parsed(status, answered, text)
            url = urlsplit(urljoin(url.geturl(), answered.get("location", "")))
            if url.scheme not in DEFAULT_PORTS or _origin(url) not in self._origins:
                message = f"The service sent the request to {url.hostname}, which is not in allowed_origins. Nothing was sent there."
                raise CofferError(REGION_REDIRECT, message, status, answered.get("x-request-id"))
        raise CofferError(REGION_REDIRECT, "The service redirects in a circle.", status)

    def _once(
        self, method: str, url: SplitResult, headers: Dict[str, str], body: Any
    ) -> Tuple[int, Mapping[str, str], bytes]:
        sent = {"Accept": "application/json", "User-Agent": f"coffer-python/{VERSION}", **headers}
        data: Optional[bytes] = None
        if body is not None:
            data = json.dumps(body).encode()
            sent["Content-Type"] = "application/json"
        connection = self._connection(url)
        try:
            connection.request(method, f"{url.path}?{url.query}" if url.query else url.path, body=data, headers=sent)
            response = connection.getresponse()
            text = self._whole(connection, response)
        except (socket.timeout, TimeoutError):
            self._drop(url)
            raise CofferError(TIMED_OUT, f"{url.hostname} did not answer within {self._timeout} s.") from None
        except (OSError, http.client.HTTPException) as error:
            self._drop(url)
            raise CofferError(NO_ANSWER, f"{url.hostname} cannot be reached ({_reason(error)}).") from None
        if len(text) > ANSWER_BYTES_MAX:
            self._drop(url)
            raise CofferError(UNEXPECTED_ANSWER, "The answer is too large.", response.status)
        return response.status, {name.lower(): value for name, value in response.getheaders()}, text

    def _whole(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> bytes:
        """The body, within one deadline: a server that sends a byte now and then would otherwise hold the caller for ever."""
        deadline = time.monotonic() + self._timeout
        text = bytearray()
        while len(text) <= ANSWER_BYTES_MAX:
            left = deadline - time.monotonic()
            if left <= 0:
                raise socket.timeout()
            if connection.sock is not None:
                connection.sock.settimeout(left)
            piece = response.read1(64 * 1024)
            if not piece:
                if response.length:
                    raise http.client.IncompleteRead(bytes(text), response.length)
                # Nothing is left; this tells the connection that it can be used again.
                response.read()
                break
            text += piece
        if connection.sock is not None:
            connection.sock.settimeout(self._timeout)
        return bytes(text)

    def _connection(self, url: SplitResult) -> http.client.HTTPConnection:
        """One open connection per thread and origin; a new one once another certificate is shown."""
        connections: Dict[Any, Any] = self._local.__dict__.setdefault("connections", {})
        key = _origin(url)
        connection, context = connections.get(key, (None, None))
        if connection is not None and context is self._context:
            return connection
        if connection is not None:
            connection.close()
        host, port = url.hostname or "", key[2]
        if url.scheme == "http":
            connection = http.client.HTTPConnection(host, port, timeout=self._timeout)
        else:
            connection = http.client.HTTPSConnection(host, port, timeout=self._timeout, context=self._context)
        connections[key] = (connection, self._context)
        return connection

    def _drop(self, url: SplitResult) -> None:
        connection, _ = self._local.connections.pop(_origin(url))
        connection.close()


def _checked(url: str) -> SplitResult:
    """The origin of a URL. Credentials never travel in clear text to another machine."""
    split = urlsplit(url)
    if split.scheme != "https" and not (split.scheme == "http" and split.hostname in LOOPBACK):
        raise ValueError("The URL of Coffer must begin with https://; http:// is for this machine only.")
    if not split.hostname or split.username or split.password or split.query or split.fragment or split.path not in ("", "/"):
        raise ValueError("The URL of Coffer must have a host and no user, path or query, as https://coffer.example.com.")
    return split._replace(path="/")


def _origin(url: SplitResult) -> Tuple[str, str, int]:
    return (url.scheme, (url.hostname or "").lower(), url.port or DEFAULT_PORTS[url.scheme])


def _reason(error: BaseException) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate was not accepted: {error.verify_message}"
    return type(error).__name__


def _retry_after(error: CofferError) -> Optional[float]:
    seconds = error.details.get("retry_after_seconds")
    return float(seconds) if isinstance(seconds, (int, float)) else None


def _parsed(status: int, headers: Mapping[str, str], text: bytes) -> Tuple[Any, float]:
    try:
        body = json.loads(text)
    except ValueError:
        raise CofferError(UNEXPECTED_ANSWER, "The answer is no JSON.", status, headers.get("x-request-id")) from None
    if 200 <= status < 300:
        return body, _date(headers)
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict) or not isinstance(error.get("code"), str):
        message = f"The answer is not one of Coffer (status {status}). Check the URL and what is in between."
        raise CofferError(UNEXPECTED_ANSWER, message, status, headers.get("x-request-id"))
    details = dict(error["details"]) if isinstance(error.get("details"), dict) else {}
    if headers.get("retry-after", "").isdigit():
        details["retry_after_seconds"] = int(headers["retry-after"])
    message = str(error.get("message", "The service refused without a reason."))
    request_id = error.get("request_id", headers.get("x-request-id"))
    raise CofferError(error["code"], message, status, request_id, details)


def _date(headers: Mapping[str, str]) -> float:
    """The time by the clock of the service, or by this machine's where the answer does not say."""
    try:
        return email.utils.parsedate_to_datetime(headers["date"]).timestamp()
    except (KeyError, TypeError, ValueError):
        return time.time()
