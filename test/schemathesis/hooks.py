"""What a document cannot say of the service, read by schemathesis through SCHEMATHESIS_HOOKS."""

import itertools
import os
import re

import schemathesis

NUMBERS = itertools.count(1)
# Of the caller: whoever deletes or limits itself learns nothing more.
OWN_NAMES = set(os.environ["COFFER_OWN_NAMES"].split(","))
VALID_KEY = re.compile(r"[\x21-\x7e]{1,255}")
CURSOR_LENGTH_MAX = 2071


@schemathesis.hook
def before_call(context, case, kwargs):
    number = next(NUMBERS)
    # Failed authentications are counted by address: from a single one, most requests would only ever see 429.
    case.headers["X-Forwarded-For"] = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    # The same key with another request is refused, which is what it is for.
    key = case.headers.get("Idempotency-Key")
    if isinstance(key, str) and VALID_KEY.fullmatch(key):
        case.headers["Idempotency-Key"] = f"{number}-{key}"[:255]
    # What a cursor is only the service knows: one that is made up is refused.
    cursor = (case.query or {}).get("cursor")
    if isinstance(cursor, str) and len(cursor) <= CURSOR_LENGTH_MAX:
        del case.query["cursor"]
    for name, value in (case.path_parameters or {}).items():
        if value in OWN_NAMES:
            case.path_parameters[name] = "another"
