"""Actions that a controller plans and the runner carries out, and questions it asks the API server."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from moorage.client.event_recorders import NORMAL, WARNING
from moorage.client.protocol import DeletionDemands, Object, PatchType, Raw
from moorage.model.kinds import Kind

__all__ = ["NORMAL", "WARNING", "Raw"]


def _key(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name


class Report(NamedTuple):
    """Record an event about an object.

    With `event`, the name of one Event, that Event is written, or its message is replaced; `times` is how often it was.
    """

    regarding: Raw
    type: str
    reason: str
    message: str
    event: str = ""
    times: int = 1


class Create(NamedTuple):
    """Create an object. Several creates in a row are carried out concurrently, in growing batches.

    `report` is recorded once it is created; "{name}" in its message becomes the name that the object was given.
    """

    kind: Kind
    document: Raw
    namespace: str = ""
    report: Report | None = None


class Update(NamedTuple):
    """Replace an object, if its resourceVersion is absent or still current.

    `then` is carried out right after it, with the resourceVersion that it was given.
    """

    kind: Kind
    document: Raw
    subresource: str = ""
    then: "Update | None" = None

    def following(self, revision: int) -> "Update":
        """Return the update of the object as it is at a revision."""
        metadata = {**self.document["metadata"], "resourceVersion": str(revision)}
        return self._replace(document={**self.document, "metadata": metadata})


class Patch(NamedTuple):
    """Patch an object."""

    kind: Kind
    namespace: str
    name: str
    patch: Raw | list[Raw]
    subresource: str = ""
    patch_type: PatchType = PatchType.STRATEGIC


class Delete(NamedTuple):
    """Delete an object if it has this UID and, if given, this revision. Deletes in a row are carried out concurrently.

    `report` is recorded once it is deleted, but not if it was gone already.
    """

    kind: Kind
    namespace: str
    name: str
    uid: str = ""
    grace_seconds: int | None = None
    propagation: str = ""
    report: Report | None = None
    revision: int = 0

    @property
    def key(self) -> str:
        return _key(self.namespace, self.name)

    @property
    def demands(self) -> DeletionDemands:
        grace, policy = self.grace_seconds, self.propagation
        return {"uid": self.uid, "grace_seconds": grace, "propagation": policy, "revision": self.revision}


class Evict(NamedTuple):
    """Evict the pod that has this UID: as `Delete`, but its disruption budgets are asked, and may refuse with 429."""

    namespace: str
    name: str
    uid: str
    report: Report | None = None

    @property
    def key(self) -> str:
        return _key(self.namespace, self.name)


Action = Create | Update | Patch | Delete | Evict | Report


def note(found: Object, reason: str, message: str) -> Report:
    return Report(found.reference, NORMAL, reason, message)


def warn(found: Object, reason: str, message: str) -> Report:
    return Report(found.reference, WARNING, reason, message)


def patch_metadata(found: Object, metadata: Raw) -> Patch:
    """Patch the metadata of the object that has this UID."""
    return Patch(found.kind, found.namespace, found.name, {"metadata": {"uid": found.uid, **metadata}})


def patch_status(found: Object, status: Raw, revision: int = 0) -> Patch:
    """Patch the status of the object that has this UID and, if given, this revision."""
    metadata = {"uid": found.uid, **({"resourceVersion": str(revision)} if revision else {})}
    return Patch(found.kind, found.namespace, found.name, {"metadata": metadata, "status": status}, "status")


class Plan(NamedTuple):
    """The actions for one key, in order, and when to reconcile it again if nothing changes before.

    `retries`: reconcile again after a growing delay, as after a failure. `wakes`: other keys of the same controller
    to reconcile once this plan is carried out.
    """

    actions: tuple[Action, ...] = ()
    again_after: float | None = None
    retries: bool = False
    wakes: tuple[str, ...] = ()


NOTHING = Plan()


class Question(NamedTuple):
    """A lookup at the API server before deciding: one object, or without a name all objects of a namespace.

    `review` is the JSON of a review instead, which the API server answers. `path` is that of a document instead, of a
    Scale or of a metrics API: the answer is an object with it, or with the Status of the refusal.
    """

    kind: Kind
    namespace: str = ""
    name: str = ""
    review: bytes = b""
    path: str = ""

    @property
    def key(self) -> str:
        return _key(self.namespace, self.name)


#: The objects found for each question; empty if there is none.
Answers = Mapping[Question, Sequence[Object]]
