"""Pods that were given a node which the watch has not confirmed yet.

Such a pod counts on its node until the watch shows it there, or until it is certain that it was not bound.
Kubernetes: the scheduler cache's assumed pods. Differs: they never expire.
"""

from moorage.model.types.pod import Pod
from moorage.schedule.actions import Bind


class Assumption:
    """One pod on its way to a node. `latest` is the newest version of it; the attempt `began` then."""

    __slots__ = ("action", "began", "key", "latest", "uid")

    def __init__(self, action: Bind, began: float) -> None:
        record = action.record
        self.action = action
        self.began = began
        self.key = record.key
        self.uid = record.pod.metadata.uid
        self.latest: Pod = record.pod


class Assumptions:
    """All assumptions by the pod's key."""

    def __init__(self) -> None:
        self._by_key: dict[str, Assumption] = {}

    def make(self, action: Bind, began: float) -> Assumption:
        made = Assumption(action, began)
        self._by_key[made.key] = made
        return made

    def get(self, key: str) -> Assumption | None:
        return self._by_key.get(key)

    def holds(self, assumption: Assumption) -> bool:
        """Return whether the assumption is still unresolved."""
        return self._by_key.get(assumption.key) is assumption

    def resolve(self, key: str) -> Assumption | None:
        return self._by_key.pop(key, None)

    def __len__(self) -> int:
        return len(self._by_key)
