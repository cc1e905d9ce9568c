"""Convert the objects of a request to the version that was matched, if need be by the webhook of their definition.

Kubernetes: ConvertToGVK of apiserver/pkg/admission, the versioned attributes of the dispatchers.
Differs: object and old object are converted at the same time, and once for all policies or webhooks of a round.
"""

from collections.abc import Sequence

from moorage.admit.extension.attributes import Attributes, ObjectKind
from moorage.admit.extension.matching.matcher import Versioned, versioned
from moorage.admit.extension.remarks import NotCalled, Remarks
from moorage.admit.extension.steps import ConversionAnswer, ConversionCall, Steps, answers_of_converters
from moorage.admit.extension.world import ExtensionWorld
from moorage.admit.raw import Raw
from moorage.model.api_error import failure


class ObjectVersions:
    """The objects of a request in other versions. Each is converted once for as long as the objects stay the same."""

    def __init__(self, attributes: Attributes, world: ExtensionWorld, remarks: Remarks) -> None:
        self._attributes, self._world, self._remarks = attributes, world, remarks
        self._kept: dict[ObjectKind, tuple[Raw | None, Raw | None, Versioned]] = {}

    def at_once(self, kind: ObjectKind) -> Versioned | None:
        """Return the objects in a version; None if a webhook is to be asked for them. Raises ApiError."""
        attributes = self._attributes
        if kind == attributes.kind:
            return versioned(attributes, kind, self._world)
        kept = self._kept.get(kind)
        if kept is not None and kept[0] is attributes.object and kept[1] is attributes.old:
            return kept[2]
        if any(self._world.conversion(document, kind) is not None for document in self._documents()):
            return None
        found = versioned(attributes, kind, self._world)
        self.keep(found)
        return found

    def by_webhook(self, kind: ObjectKind) -> Steps[Versioned]:
        """Return the objects in a version that `at_once` does not have. Raises ApiError."""
        documents = iter((yield from converted(self._documents(), kind, self._world, self._remarks)))
        old = None if self._attributes.old is None else next(documents)
        found = Versioned(kind, None if self._attributes.object is None else next(documents), old)
        self.keep(found)
        return found

    def keep(self, found: Versioned) -> None:
        """Keep the objects of the request, as they are now, in a version."""
        self._kept[found.kind] = (self._attributes.object, self._attributes.old, found)

    def _documents(self) -> list[Raw]:
        return [document for document in (self._attributes.old, self._attributes.object) if document is not None]


def converted(documents: Sequence[Raw], kind: ObjectKind, world: ExtensionWorld, remarks: Remarks) -> Steps[list[Raw]]:
    """Return documents in another version, whether a webhook converts them or not. Raises ApiError."""
    calls = [world.conversion(document, kind) for document in documents]
    asked = [call for call in calls if call is not None]
    answers = (yield from answers_of_converters(asked)) if asked else ()
    if any(answer.is_large for answer in answers):
        yield ()
    found = iter(answers)
    return [
        world.convert(document, kind) if call is None else _taken(call, next(found), kind, world, remarks)
        for document, call in zip(documents, calls, strict=True)
    ]


def _taken(
    call: ConversionCall, answer: ConversionAnswer, kind: ObjectKind, world: ExtensionWorld, remarks: Remarks
) -> Raw:
    """Return the document of an answer. Where webhooks are not called, only its apiVersion is another one."""
    if answer.not_called:
        remarks.not_called.append(NotCalled(call.definition, "", is_mutating=False, is_conversion=True))
        return world.convert(call.document, kind)
    if answer.document is None:
        raise failure(500, "", answer.failure)
    return answer.document
