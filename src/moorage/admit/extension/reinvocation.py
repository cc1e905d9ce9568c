"""Remember which policies and webhooks have changed an object, so that others are asked about it a second time.

The chain of everything that changes objects runs once, and a second time if a policy or webhook has changed the object.
In the second round, only those are asked again that want it (`reinvocationPolicy: IfNeeded`), and whose object has
changed since they saw it. Kubernetes: reinvocationContext, webhookReinvokeContext and policyReinvokeContext.
"""

from collections.abc import Hashable

from moorage.admit.raw import Raw, copy_document


class CallRounds:
    """What one plugin (the policies, or the webhooks) has called: by a key for each policy or webhook."""

    __slots__ = ("_last", "_to_repeat", "_was_called")

    def __init__(self) -> None:
        self._last: Raw | None = None
        self._was_called: set[Hashable] = set()
        self._to_repeat: set[Hashable] = set()

    def may_call(self, key: Hashable, round_: "Reinvocation") -> bool:
        """Return whether a policy or webhook is to be asked in this round."""
        return not round_.is_second or key in self._to_repeat

    def wants_repetition(self, key: Hashable) -> None:
        """Note that a policy or webhook with `IfNeeded` was asked, and wants to see what later ones make of it."""
        self._was_called.add(key)

    def begin(self, document: Raw | None, round_: "Reinvocation") -> None:
        """Begin a round: if another plugin has changed the object since the first round, all are asked again."""
        if round_.is_second and document != self._last:
            self._repeat()

    def changed(self, round_: "Reinvocation") -> None:
        """Note that the object was changed: those that were called before are asked again."""
        self._repeat()
        round_.is_needed = True

    def end(self, document: Raw | None) -> None:
        """End a round with the object as it is now, also if the round fails."""
        if self._was_called:  # else nothing is repeated, whatever changes
            self._last = None if document is None else copy_document(document)

    def _repeat(self) -> None:
        self._to_repeat |= self._was_called
        self._was_called = set()


class Reinvocation:
    """The rounds of one request. `is_needed`: something has changed the object, so there is a second round."""

    __slots__ = ("is_needed", "is_second", "policies", "webhooks")

    def __init__(self) -> None:
        self.is_second = self.is_needed = False
        self.policies, self.webhooks = CallRounds(), CallRounds()
