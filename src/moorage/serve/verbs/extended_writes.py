"""Admit writes that policies or webhooks may be about, in steps; between them, webhooks are called.

What other writes do in one call is cut where policies and webhooks are asked: after the fields have their owners, and
after validation. Kubernetes: the handlers of create, update and patch, the generic registry's Create and Update.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from moorage.admit.admission import Admitted, Mutated, Rejected
from moorage.admit.extension.extended_request import ExtendedRequest
from moorage.admit.extension.steps import Answer, Steps, advance
from moorage.admit.kinds.devices.claim_rights import AuthorizeChange
from moorage.admit.not_admitted import NotAdmitted, check_types
from moorage.admit.raw import Raw, copy_document
from moorage.admit.registry import row_of
from moorage.admit.request import Request
from moorage.admit.subresources.pod_parts import POD_PARTS
from moorage.admit.subresources.status_update import APPROVAL
from moorage.model.api_error import ApiError
from moorage.model.kinds import Kind
from moorage.model.schema.known_fields import write_as_go
from moorage.serve.access.certificates import with_requester
from moorage.serve.apply.managed_fields import on_create, on_update
from moorage.serve.custom.admission import changing_custom, checking_custom
from moorage.serve.custom.served_kind import ServedKind
from moorage.serve.requests.options import WriteOptions
from moorage.serve.verbs.registry import Registry, admitted
from moorage.serve.webhooks.request_time import begin_request, end_request

Result = TypeVar("Result")


async def carried_out(api: Registry, steps: Steps[Result], *, takes_long: bool = False) -> Result:
    """Run steps to their end, and return their result; in a thread if it takes long. Raises what they raise."""
    answers: Sequence[Answer] | None = None
    while True:
        step = await api.long_work.run(advance, steps, answers) if takes_long else advance(steps, answers)
        if step.is_over:
            result: Result = step.result  # type: ignore[assignment]
            return result
        if step.calls:
            answers = await api.answer(step.calls)
        else:  # what comes may take long
            answers, takes_long = (), takes_long or api.is_busy


async def remarked(api: Registry, extended: ExtendedRequest, verb: Awaitable[Result]) -> Result:
    """Await a verb that policies or webhooks may be about; a refusal carries their warnings, too."""
    begun = begin_request()
    try:
        return await verb
    except ApiError as error:
        raise error.warned(extended.warnings) from None
    finally:
        end_request(begun)
        api.note(extended)


class Begun(NamedTuple):
    """A new object that policies and webhooks have changed. It has no name, uid and time yet."""

    kind: Kind
    object: Raw
    mutated: Mutated | None  # of a kind of the table


def changing_new(
    api: Registry,
    kind: Kind,
    raw: Raw,
    namespace: str,
    manager: str | None,
    options: WriteOptions,
    extended: ExtendedRequest,
) -> Steps[Begun]:
    """Carry out the first phase of a create. Raises ApiError."""
    request = api.request_for(namespace or "default", "", options.restricted)
    if not api.tracks_owners:
        manager = None
    own = None if manager is None else lambda new: on_create(new, kind, manager, request.timestamp)
    raw = copy_document(raw)  # the caller's document stays as it was sent
    if type(kind) is ServedKind:
        document = yield from changing_custom(kind, raw, None, api.admission, request, own, extended)
        if isinstance(document, Rejected):
            raise NotAdmitted(document)
        begun = Begun(kind, document, None)
    else:
        mutated = yield from api.admission.changing(kind, raw, None, request, own, extended)
        if isinstance(mutated, Rejected):
            raise NotAdmitted(mutated)
        begun = Begun(kind, mutated.object, mutated)
    if options.guard is not None:
        options.guard.check_new(kind, namespace, begun.object)
    return begun


def checking_new(
    api: Registry, begun: Begun, namespace: str, options: WriteOptions, extended: ExtendedRequest
) -> Steps[Admitted]:
    """Carry out the second phase of a create, under another name each time if it is generated. Raises ApiError."""
    suffix = "" if begun.object["metadata"].get("name") else api.new_suffix()
    request = api.request_for(namespace or "default", suffix, options.restricted)
    document = copy_document(begun.object)
    if options.requester is not None:
        document["spec"] = with_requester(document.get("spec"), options.requester)
    if type(begun.kind) is ServedKind:
        result = yield from checking_custom(begun.kind, document, None, api.admission, request, extended)
    else:
        assert begun.mutated is not None
        result = yield from api.admission.checking(begun.mutated, document, request, extended)
    return admitted(result)


def changing_part(
    api: Registry,
    kind: Kind,
    new: Raw,
    old: Raw,
    manager: str | None,
    subresource: str,
    old_view: Any,
    authorize: AuthorizeChange | None,
    extended: ExtendedRequest,
    look: Callable[[Raw], None],
) -> Steps[Admitted]:
    """Admit an object that replaces another, or a part of one. `look` sees what policies and webhooks have made of it.

    Raises ApiError.
    """
    if not api.tracks_owners:
        manager = None
    now = api.now_text()
    if subresource in ("status", APPROVAL) or subresource in POD_PARTS:
        return (yield from _part(api, kind, new, old, manager, subresource, old_view, authorize, extended, look))
    own = None if manager is None else lambda new: on_update(new, old, kind, manager, subresource, now)
    request = Request(old["metadata"].get("namespace") or "default", timestamp=now)
    if type(kind) is ServedKind:
        document = yield from changing_custom(kind, new, old, api.admission, request, own, extended)
        if isinstance(document, Rejected):
            raise NotAdmitted(document)
        look(document)
        return admitted((yield from checking_custom(kind, document, old, api.admission, request, extended)))
    if kind.view is not type(old_view):
        old_view = None
    mutated = yield from api.admission.changing(kind, new, old, request, own, extended, old_view=old_view)
    if isinstance(mutated, Rejected):
        raise NotAdmitted(mutated)
    look(mutated.object)
    return admitted((yield from api.admission.checking(mutated, mutated.object, request, extended)))


def _part(
    api: Registry,
    kind: Kind,
    new: Raw,
    old: Raw,
    manager: str | None,
    subresource: str,
    old_view: Any,
    authorize: AuthorizeChange | None,
    extended: ExtendedRequest,
    look: Callable[[Raw], None],
) -> Steps[Admitted]:
    new = copy_document(new)
    if type(kind) is not ServedKind:
        check_types(new, kind)
        row_of(kind).default(new)
        write_as_go(new, kind.view)
    if manager is not None:  # what policies and webhooks change has no owner
        on_update(new, old, kind, manager, subresource, api.now_text())
    document = yield from extended.change(new, old)
    look(document)
    result = api.admit_changed(kind, document, old, None, subresource, old_view, authorize)
    return admitted((yield from extended.checked(result, old)))
