"""Hold what actions work with: the clients of a live cluster, whether changes are allowed, which rights are known."""

import time
from collections.abc import Callable

import msgspec

from moorage.client.protocol import Client

#: A right as it was asked for: verb, group, resource, namespace, name.
Right = tuple[str, str, str, str, str]


class ActionError(Exception):
    """Why an action is refused: an HTTP status and one sentence for the user."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


class ActionContext(msgspec.Struct):
    """A live cluster. `trial` is a client whose writes are never stored (HttpClient with dry_run)."""

    client: Client | None = None
    trial: Client | None = None
    allow_changes: bool = False
    clock: Callable[[], float] = time.monotonic
    known_rights: dict[Right, tuple[float, bool, str]] = msgspec.field(default_factory=dict)

    def clients(self) -> tuple[Client, Client]:
        """Return the client and the one that only tries. Raises ActionError where there is no live cluster."""
        if self.client is None or self.trial is None:
            raise ActionError(400, "this dashboard shows files: there is no cluster to change")
        return self.client, self.trial
