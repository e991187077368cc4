from typing import Any, Mapping, Optional

#: Codes of this library, beside those of the service (docs/generated/errors.md).
NO_ANSWER = "NO_ANSWER"
TIMED_OUT = "TIMED_OUT"
REGION_REDIRECT = "REGION_REDIRECT"
UNEXPECTED_ANSWER = "UNEXPECTED_ANSWER"


class CofferError(Exception):
    """What the service refused, or why it could not be reached. Never holds a secret value.

    ``status`` is the HTTP status, or 0 if there was no answer. ``request_id`` finds the request in the audit log.
    """

    def __init__(
        self,
        code: str,
        message: str,
        status: int = 0,
        request_id: Optional[str] = None,
        details: Optional[Mapping[str, Any]] = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
        self.request_id = request_id
        self.details = dict(details or {})

    def __str__(self) -> str:
        where = f", {self.request_id}" if self.request_id else ""
        return f"{self.code}: {self.message} (status {self.status}{where})"

    def __reduce__(self):  # type: ignore[override]
        return (CofferError, (self.code, self.message, self.status, self.request_id, self.details))
