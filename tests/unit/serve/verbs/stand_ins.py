"""Stand-ins for policies and webhooks, which note what they are shown."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from copy import copy
from typing import Any

import pytest
from tests.unit.admit.extension.plain_world import PlainWorld
from tests.unit.serve.verbs.bench import new_api

from moorage.admit.extension import extensions
from moorage.admit.extension.attributes import Attributes
from moorage.admit.extension.reinvocation import Reinvocation
from moorage.admit.extension.remarks import Remarks
from moorage.admit.extension.steps import Steps, WebhookCall
from moorage.admit.extension.world import ExtensionWorld
from moorage.admit.raw import Raw, copy_document
from moorage.model.api_error import failure
from moorage.serve.verbs.api import Api


class Asked:
    """What the stand-ins do, and what they were shown."""

    def __init__(self) -> None:
        self.changes: list[Callable[[Raw], Any]] = []
        self.refuses: Callable[[Attributes], bool] = lambda attributes: False
        self.mutations: list[Attributes] = []
        self.validations: list[Attributes] = []
        self.calls: tuple[WebhookCall, ...] | None = None
        self.notes: dict[str, str] = {}

    def mutate(
        self, attributes: Attributes, world: ExtensionWorld, remarks: Remarks, reinvocation: Reinvocation
    ) -> Steps[None]:
        if self.calls is not None:
            yield self.calls
        self.mutations.append(_copy(attributes))
        if attributes.object is None:
            return
        for change in self.changes:
            new = copy_document(attributes.object)
            change(new)
            if new != attributes.object:
                attributes.object = new
                reinvocation.is_needed = True

    def validate(self, attributes: Attributes, world: ExtensionWorld, remarks: Remarks) -> Steps[None]:
        if self.calls is not None:
            yield self.calls
        self.validations.append(_copy(attributes))
        remarks.warnings.append("looked at")
        remarks.audit |= self.notes
        if self.refuses(attributes):
            raise failure(403, "Forbidden", f"{attributes.name} refused")


def _copy(attributes: Attributes) -> Attributes:
    """Return a request as it is now: documents are changed in place later."""
    copied = copy(attributes)
    for name in ("object", "old", "options"):
        document = getattr(attributes, name)
        setattr(copied, name, None if document is None else copy_document(document))
    return copied


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Let stand-ins be asked in the place of policies and webhooks."""
    asked = Asked()
    monkeypatch.setattr(extensions, "may_concern", lambda attributes, world: True)
    monkeypatch.setattr(extensions, "answers_templates", lambda attributes, world: False)
    monkeypatch.setattr(extensions, "MUTATING", (asked.mutate,))
    monkeypatch.setattr(extensions, "VALIDATING", (asked.validate,))
    return asked


@asynccontextmanager
async def extended_api(*, suffixes: Iterator[str] | None = None) -> AsyncIterator[Api]:
    """An API of a cluster in which a policy is registered."""
    async with new_api(suffixes=suffixes) as api:
        world = PlainWorld()
        world.put_policy("p", {})
        api.admission.extensions = world
        yield api
