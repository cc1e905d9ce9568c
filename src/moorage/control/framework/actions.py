"""What a controller wants done: instructions for whoever can carry them out.

In: a controller's decisions. Out: nothing has happened yet.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from moorage.client.protocol import Object, PatchType
from moorage.model.kinds import Kind

Raw = dict[str, Any]

NORMAL, WARNING = "Normal", "Warning"


class Report(NamedTuple):
    """Tell of it in an event about an object."""

    regarding: Raw
    type: str
    reason: str
    message: str


class Create(NamedTuple):
    """Make an object. Several creates in a row are carried out together, a few at first and then more and more.

    `report` is told when it was made; "{name}" in its message becomes the name that the object was given.
    """

    kind: Kind
    document: Raw
    namespace: str = ""
    report: Report | None = None


class Update(NamedTuple):
    """Replace an object; its resourceVersion, if it has one, must still be the newest."""

    kind: Kind
    document: Raw
    subresource: str = ""


class Patch(NamedTuple):
    """Change a part of an object."""

    kind: Kind
    namespace: str
    name: str
    patch: Raw | list[Raw]
    subresource: str = ""
    patch_type: PatchType = PatchType.STRATEGIC


class Delete(NamedTuple):
    """Delete an object, if it is still the one with this UID. Several deletes in a row are carried out together.

    With a `revision`, only if it has not changed since. `report` is told when it was deleted, and not if it was gone
    already.
    """

    kind: Kind
    namespace: str
    name: str
    uid: str = ""
    grace_seconds: int | None = None
    propagation: str = ""
    report: Report | None = None
    revision: int = 0


Action = Create | Update | Patch | Delete | Report


class Plan(NamedTuple):
    """What to do for one object, in this order; and when to look again, if not before something changes.

    `retries` asks to look again after a growing delay, as after a failure. `wakes` are other keys of the same
    controller that are to be looked at once this is done.
    """

    actions: tuple[Action, ...] = ()
    again_after: float | None = None
    retries: bool = False
    wakes: tuple[str, ...] = ()


NOTHING = Plan()


class Question(NamedTuple):
    """Something to be looked up at the API server before deciding: one object, or without a name all of a namespace."""

    kind: Kind
    namespace: str = ""
    name: str = ""


#: What was found, for each question: nothing if there is no such object.
Answers = Mapping[Question, Sequence[Object]]
