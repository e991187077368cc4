"""The client library of Coffer, a secrets-management service. It needs Python 3.9 and nothing else."""

from ._auth import ci_auth, client_auth, token_auth, workload_auth
from ._client import Coffer
from ._errors import CofferError
from ._secrets import ListedSecret, Secret, StoredSecret
from ._version import VERSION

__version__ = VERSION
__all__ = [
    "Coffer",
    "CofferError",
    "ListedSecret",
    "Secret",
    "StoredSecret",
    "ci_auth",
    "client_auth",
    "token_auth",
    "workload_auth",
]
