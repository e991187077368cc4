"""Checks events, one JSON object a line, against the published schema of OCSF 1.7.0. Prints one problem a line."""

import json
import sys

from ocsf.v1_7_0.events import ApiActivity, Authentication
from pydantic import BaseModel, ValidationError

CLASSES = {6003: ApiActivity, 3002: Authentication}
# What no attribute of the schema fits goes there, in any form.
FREE = "unmapped"


def unknown(model, place):
    """The attributes that the schema does not have, at any depth."""
    for name in model.model_extra or {}:
        yield f"{place}/{name} is not an attribute"
    for name in type(model).model_fields:
        value = getattr(model, name)
        if name == FREE:
            continue
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, BaseModel):
                yield from unknown(item, f"{place}/{name}")


def problems(event):
    event_class = CLASSES.get(event.get("class_uid"))
    if event_class is None:
        yield f"class_uid {event.get('class_uid')} is none of {list(CLASSES)}"
        return
    try:
        yield from unknown(event_class.model_validate(event), "")
    except ValidationError as error:
        for one in error.errors():
            yield f"/{'/'.join(map(str, one['loc']))}: {one['msg']}"


for line in sys.stdin:
    event = json.loads(line)
    for problem in problems(event):
        print(json.dumps([event.get("metadata", {}).get("uid"), problem]))
