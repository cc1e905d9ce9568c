"""Creates and deletes whose outcome is unknown because the connection broke before the answer.

Once the server can be reached, look up what became of them: the world must show that before the key is reconciled
again, else a pod might be created twice or one too many deleted. Differs: Kubernetes has nothing like it; a ReplicaSet
may have a pod too many for a moment.
"""

from collections.abc import Sequence
from typing import NamedTuple

from moorage.client.protocol import Client, Object
from moorage.control.framework.actions import Create, Delete
from moorage.model.api_error import ApiError
from moorage.model.kinds import Kind


class Found(NamedTuple):
    """Revisions that the world must reach, and objects that must be gone or terminating in it."""

    revisions: list[tuple[Kind, int]]
    deleted: list[tuple[Kind, str, str]]


class UncertainWrites:
    """Unanswered writes by key."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._of: dict[str, list[Create | Delete]] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._of

    def add(self, key: str, action: Create | Delete) -> None:
        self._of.setdefault(key, []).append(action)

    async def look(self, key: str) -> Found:
        """Look up what became of a key's writes and forget them. Raises ApiError, Unreachable."""
        found = Found([], [])
        for action in self._of[key]:
            if isinstance(action, Create):
                there = await self._made(action)
                if there:
                    found.revisions.append((action.kind, max(one.revision for one in there)))
            elif await self._is_going(action):
                found.deleted.append((action.kind, action.key, action.uid))
        del self._of[key]
        return found

    async def _made(self, action: Create) -> Sequence[Object]:
        """Return what it may have created: with a generated name, all objects that have its labels."""
        metadata = action.document.get("metadata") or {}
        if metadata.get("name"):
            return await find(self._client, action.kind, metadata["name"], action.namespace)
        labels = ",".join(f"{name}={value}" for name, value in (metadata.get("labels") or {}).items())
        return (await self._client.list_all(action.kind, action.namespace, labels=labels)).items

    async def _is_going(self, action: Delete) -> bool:
        there = await find(self._client, action.kind, action.name, action.namespace)
        metadata = there[0].view.metadata if there else None
        return metadata is None or metadata.uid != action.uid or metadata.deletionTimestamp is not None


async def find(client: Client, kind: Kind, name: str, namespace: str) -> Sequence[Object]:
    """Return the object as the only element; empty if it does not exist."""
    try:
        return (await client.get(kind, name, namespace),)
    except ApiError as error:
        if error.code != 404:
            raise
        return ()
