"""Runs scim2-tester against the SCIM address of the first argument, with the token of standard input. Prints one line of JSON for each check."""

import json
import sys

from httpx2 import Client
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import check_server

token = sys.stdin.readline().strip()
client = SyncSCIMClient(Client(base_url=sys.argv[1], headers={"authorization": f"Bearer {token}"}))
for result in check_server(client):
    urn = result.data.get("urn") if isinstance(result.data, dict) else None
    print(json.dumps({
        "status": result.status.name,
        "title": result.title,
        "resource": result.resource_type,
        "attribute": urn,
        "reason": result.reason,
    }))
