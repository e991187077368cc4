"""Vaults and secrets by the client that openapi-python-client makes. Prints what it did, as JSON."""

import json
import sys

from generated import AuthenticatedClient
from generated.api.anomalies import list_anomalies
from generated.api.secrets import create_secret, delete_secret, list_secrets, read_secret, update_secret
from generated.api.vaults import create_vault
from generated.models import (
    CreateSecretInput,
    CreateVaultInput,
    Error,
    ListAnomaliesOutput,
    SecretMetadataChange,
    UpdateSecretInput,
)
from generated.types import UNSET

given = json.load(sys.stdin)
client = AuthenticatedClient(base_url=given["baseUrl"], token=given["token"])
name, path = given["vault"], "db/password"


def done(response):
    assert response.parsed is not None and not isinstance(response.parsed, Error), response
    return response.parsed


def refusal(response):
    assert isinstance(response.parsed, Error), response
    error = response.parsed.error
    details = error.details
    fields = [] if details is UNSET or details.fields is UNSET else details.fields
    return {
        "status": response.status_code.value,
        "code": error.code.value,
        "message": error.message,
        "request_id": error.request_id,
        "pointers": [one.pointer for one in fields],
    }


wanted = CreateVaultInput(name=name, environment="staging", tags=["generated"])
vault = done(create_vault.sync_detailed(client=client, body=wanted))
secret = CreateSecretInput(path=path, value="hunter2")
created = done(create_secret.sync_detailed(name, client=client, body=secret, idempotency_key=name))
read = done(read_secret.sync_detailed(name, path, client=client))
assert created.secret_id == read.secret_id
change = UpdateSecretInput(metadata=SecretMetadataChange(tags=["new"]))
changed = done(update_secret.sync_detailed(name, path, client=client, body=change, if_match='"v1"'))
listed = done(list_secrets.sync_detailed(name, client=client, tags=["new"]))
deleted = done(delete_secret.sync_detailed(name, path, client=client))
missing = refusal(read_secret.sync_detailed(name, path, client=client))
invalid = refusal(create_vault.sync_detailed(client=client, body=CreateVaultInput(name="not a name")))
assert isinstance(done(list_anomalies.sync_detailed(client=client)), ListAnomaliesOutput)

print(
    json.dumps(
        {
            "vault": {"id": vault.id, "name": vault.name, "environment": str(vault.environment.value)},
            "secret": {"path": read.path, "version": read.version, "value": read.value},
            "tags": changed.metadata.tags,
            "listed": [one.path for one in listed.secrets],
            "deleted": deleted.deleted,
            "missing": missing,
            "invalid": invalid,
            "text": None,
            "binary": None,
        }
    )
)
