"""What a controller is: which of its objects a change concerns, and what is to be done about one of them.

In: changes of the kinds it watches; then one key at a time, with the world as it is and the time. Out: keys; then a
`Plan`. It does no I/O and does not sleep: whoever runs it carries plans out, tells it what was refused, and asks
again. Reconciling twice with nothing changed in between plans nothing the second time: that is what makes crashes and
lost messages harmless. Kubernetes: the sync functions of pkg/controller.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

from moorage.client.protocol import Object
from moorage.control.framework.actions import Action, Answers, Plan, Question
from moorage.control.framework.world import World
from moorage.model.api_error import ApiError
from moorage.model.kinds import Kind


class Controller(Protocol):
    """See the module. `name` is the one by which it is enabled and disabled, and which its metrics have."""

    @property
    def name(self) -> str: ...

    @property
    def watches(self) -> tuple[Kind, ...]: ...

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        """The keys to be looked at because of a change. The world has the change already."""
        ...

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        """What to do about one object. `now` is the time of day in seconds."""
        ...

    def refused(self, key: str, action: Action, error: ApiError, world: World) -> Sequence[Action]:
        """What to say about an action that the API server refused; the key is tried again after a while anyway.

        If more than one is refused at a time, everything that is to be reported is, and only for the first of them
        anything else is done, such as writing it into a status.
        """
        ...


@runtime_checkable
class HearsOfSuccess(Protocol):
    """A controller that wants to know when all that it planned has been done: to count it."""

    def done(self, key: str, plan: Plan, now: float) -> None: ...


@runtime_checkable
class ManyHands(Protocol):
    """A controller whose keys are many and small, each a request or two: more of them are worked on at a time."""

    @property
    def workers(self) -> int: ...


@runtime_checkable
class SpeaksAs(Protocol):
    """A controller whose events come from somebody who is not called as it is: Kubernetes has a few."""

    @property
    def component(self) -> str: ...


@runtime_checkable
class Inquires(Protocol):
    """A controller that decides some things only on what the API server has now, and not on what was heard of it.

    If there are `questions`, `decide` is asked with the answers, and `reconcile` is not.
    """

    def questions(self, key: str, world: World, now: float) -> Sequence[Question]: ...

    def decide(self, key: str, world: World, answers: Answers, now: float) -> Plan: ...
