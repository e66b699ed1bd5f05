"""A client of ``worlddb serve``, with the names of the library: ``connect`` to wait for answers, or to await them.

It needs ``httpx``, and of WorldDB only the errors and times of the model: no store is opened, no index is loaded.
"""

from worlddb.client.client_calls import (
    JobFailed,
    NotAdmitted,
    PreconditionFailed,
    RateLimited,
    RequestRejected,
    SparqlBytes,
)
from worlddb.client.connection import AsyncClient, Client, connect, connect_async

__all__ = [
    "AsyncClient",
    "Client",
    "JobFailed",
    "NotAdmitted",
    "PreconditionFailed",
    "RateLimited",
    "RequestRejected",
    "SparqlBytes",
    "connect",
    "connect_async",
]
