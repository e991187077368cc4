from typing import TYPE_CHECKING, Any, Dict, Iterator, Mapping, Optional
from urllib.parse import quote

from ._errors import UNEXPECTED_ANSWER, CofferError

if TYPE_CHECKING:
    from ._transport import Transport

REDACTED = "[redacted]"
#: Two callers may create and delete the same path at the same time; each round sees the newest state.
SET_ROUNDS = 3
#: More pages than any list has.
PAGES_MAX = 1_000_000


class ListedSecret:
    """A secret as a list shows it: without its value."""

    __slots__ = ("vault", "path", "fields")

    def __init__(self, vault: str, fields: Mapping[str, Any]) -> None:
        self.vault = vault
        self.path: str = fields["path"]
        #: All that the service said, such as ``type``, ``version`` and ``metadata``.
        self.fields: Dict[str, Any] = {name: field for name, field in fields.items() if name != "value"}

    @property
    def version(self) -> int:
        return self.fields["version"]

    @property
    def type(self) -> str:
        return self.fields["type"]

    @property
    def metadata(self) -> Dict[str, Any]:
        return self.fields["metadata"]

    def __repr__(self) -> str:
        return f"{type(self).__name__}(vault={self.vault!r}, path={self.path!r}, version={self.version!r})"


class StoredSecret(ListedSecret):
    """A secret as it was stored: the service does not send the value back."""

    __slots__ = ()


class Secret(ListedSecret):
    """A secret with its value, which is printed as ``[redacted]``: read ``secret.value`` where you need it."""

    __slots__ = ("_value",)

    def __init__(self, vault: str, fields: Mapping[str, Any]) -> None:
        super().__init__(vault, fields)
        self._value: str = fields["value"]

    @property
    def value(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return f"Secret(vault={self.vault!r}, path={self.path!r}, version={self.version!r}, value={REDACTED!r})"

    def __str__(self) -> str:
        return REDACTED

    def __format__(self, spec: str) -> str:
        return REDACTED

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("A Secret is not pickled or copied; store secret.value where you mean it.")


class Secrets:
    """The secrets that the caller may reach."""

    def __init__(self, transport: "Transport") -> None:
        self._transport = transport

    def get(self, vault: str, path: str, *, version: Optional[int] = None) -> Secret:
        """Reads a secret, of an older version if one is named."""
        query = {} if version is None else {"version": str(version)}
        return Secret(vault, self._transport.call("GET", self._url(vault, path), query=query))

    def list(self, vault: str, *, prefix: Optional[str] = None, page_size: int = 100) -> Iterator[ListedSecret]:
        """Yields what the caller may see of a vault, fetching a page at a time."""
        query = {"limit": str(page_size)}
        if prefix is not None:
            query["prefix"] = prefix
        former = None
        for number in range(1, PAGES_MAX + 1):
            page = self._transport.call("GET", self._url(vault), query=query)
            for fields in page["secrets"]:
                yield ListedSecret(vault, fields)
            cursor = page["next_cursor"]
            if cursor is None:
                return
            if cursor == former:
                raise CofferError(UNEXPECTED_ANSWER, "The service repeats a page of a list.")
            # Replaced after twice as many pages each time, so that a circle of any length is noticed.
            if number & (number - 1) == 0:
                former = cursor
            query["cursor"] = cursor
        raise CofferError(UNEXPECTED_ANSWER, "The service sent a list that does not end.")

    def set(
        self,
        vault: str,
        path: str,
        value: str,
        *,
        expected_version: Optional[int] = None,
        reason: Optional[str] = None,
        **creation: Any,
    ) -> StoredSecret:
        """Stores a value as a new version, and creates the secret if there is none.

        With ``expected_version`` the secret must exist, and that must be its newest version. ``creation`` has fields for
        a secret that is created: ``type``, ``environment``, ``metadata``, ``promote``, ``protection``.
        """
        change: Dict[str, Any] = {"value": value}
        if reason is not None:
            change["reason"] = reason
        if expected_version is not None:
            change["expected_version"] = expected_version
            return self._stored(vault, self._transport.call("PUT", self._url(vault, path), body=change))
        for attempt in range(SET_ROUNDS):
            try:
                return self._stored(vault, self._transport.call("PUT", self._url(vault, path), body=change))
            except CofferError as error:
                if error.code != "SECRET_NOT_FOUND":
                    raise
            new = {"path": path, "value": value, **creation}
            try:
                return self._stored(vault, self._transport.call("POST", self._url(vault), body=new))
            except CofferError as error:
                if error.code != "SECRET_ALREADY_EXISTS" or attempt == SET_ROUNDS - 1:
                    raise
        raise AssertionError("every round returns or raises")

    @staticmethod
    def _stored(vault: str, fields: Mapping[str, Any]) -> StoredSecret:
        return StoredSecret(vault, fields)

    @staticmethod
    def _url(vault: str, path: Optional[str] = None) -> str:
        base = f"/v1/vaults/{quote(vault, safe='')}/secrets"
        return base if path is None else f"{base}/{quote(path, safe='')}"
