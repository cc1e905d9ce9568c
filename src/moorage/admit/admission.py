"""The way into the cluster, in one call: a document is decoded, defaulted, mutated, validated.

In: the new raw object, the old one if this is an update, the API server's gates. Out: `Admitted` with the object as
it would be stored, or `Rejected` with all the reasons and the `Status` made of them; warnings in either case. Nothing
that was handed in is changed. Kubernetes: what happens between the URL handler and etcd. Differs: objects of kinds
Moorage does not know are admitted as they are.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from moorage.admit.messages.rejection_status import bad_request_status, forbidden_status, invalid_status
from moorage.admit.messages.warnings import name_warnings, pod_warnings
from moorage.admit.options import with_privileged
from moorage.admit.plugins import Forbidden, Plugin
from moorage.admit.plugins.default_toleration_seconds import DefaultTolerationSeconds
from moorage.admit.plugins.priority import Priority
from moorage.admit.raw import Raw, copy_document, part
from moorage.admit.registry import KindRow, row_of
from moorage.admit.request import ANY_REQUEST, Request, complete_metadata
from moorage.model.api_error import ApiError
from moorage.model.field_error import FieldError
from moorage.model.gates import GateSet
from moorage.model.kinds import ConversionError, Kind, TypeProblem, kind_of, view_of
from moorage.model.types.pod import Pod, PodTemplateSpec
from moorage.model.types.view import INT64_MAX, View

#: The plugins every cluster runs, in upstream's order. Where there are PriorityClasses, `Priority` must be given them.
STANDARD_PLUGINS: tuple[Plugin, ...] = (Priority(), DefaultTolerationSeconds())


class Admitted(msgspec.Struct, frozen=True):
    """The object as it would be stored, and its view."""

    object: Raw
    view: View | None
    warnings: tuple[str, ...] = ()


class Rejected(msgspec.Struct, frozen=True):
    """Why not: field errors (422), a plugin's refusal (403 or what it says), fields of the wrong type (400).

    Never two of them.
    """

    kind: Kind
    name: str
    errors: tuple[FieldError, ...] = ()
    forbidden: str = ""
    problems: tuple[TypeProblem, ...] = ()
    warnings: tuple[str, ...] = ()
    object: Raw | None = None
    view: View | None = None
    refusal: Raw | None = None

    @property
    def status(self) -> Raw:
        """The `Status` that a client of the API gets."""
        if self.refusal is not None:
            return self.refusal
        if self.problems:
            return bad_request_status(self.kind, [problem.reason for problem in self.problems])
        if self.forbidden:
            return forbidden_status(self.kind, self.name, self.forbidden)
        return invalid_status(self.kind, self.name, self.errors)


def admit(
    new: Raw,
    old: Raw | None,
    gates: GateSet,
    *,
    plugins: Sequence[Plugin] = STANDARD_PLUGINS,
    request: Request | None = ANY_REQUEST,
) -> Admitted | Rejected:
    """Admit an object, created if `old` is None and else updated. `old` is what is stored.

    `plugins=()` leaves out the admission plugins; `request=None` leaves metadata as they are in the document, so that a
    missing namespace or a name yet to be generated is an error.
    """
    facts = kind_of(new)
    if facts is None:
        return Admitted(copy_document(new), None)
    try:
        view = view_of(new)
        if old is not None:
            view_of(old)
    except ConversionError as error:
        return Rejected(facts, _name(new), problems=error.problems)
    raw = copy_document(new)
    row = row_of(facts)
    old = None if old is None else _as_read_from_the_store(old, facts, row)
    try:
        _complete(raw, old, gates, facts, row, plugins, request)
    except Forbidden as refusal:
        return Rejected(facts, _name_to_be(new), forbidden=str(refusal), object=raw)
    except ApiError as error:
        return Rejected(facts, _name_to_be(new), object=raw, refusal=error.status)
    view, old_view = view_of(raw), None if old is None else view_of(old)
    options = row.options(gates, old_view)
    if request is not None and request.allow_privileged:
        options = with_privileged(options)
    errors = row.validate(view, options) if old_view is None else row.validate_update(view, old_view, options)
    warnings = tuple(_warnings(facts, view, old_view))
    if errors:
        return Rejected(facts, _name(raw), tuple(errors), warnings=warnings, object=raw, view=view)
    try:
        for plugin in plugins:
            plugin.validate(facts.name, raw, old)
    except Forbidden as refusal:
        return Rejected(facts, _name_to_be(new), forbidden=str(refusal), warnings=warnings, object=raw, view=view)
    except ApiError as error:
        return Rejected(facts, _name_to_be(new), warnings=warnings, object=raw, view=view, refusal=error.status)
    if row.has_generation and old_view is not None and _spec_changed(view, old_view):
        part(raw, "metadata")["generation"] = _next_generation(old_view)
        view = view_of(raw)
    return Admitted(raw, view, warnings)


def _as_read_from_the_store(old: Raw, facts: Kind, row: KindRow) -> Raw:
    """The real server defaults what it reads, too: the old object may be older than some default."""
    if kind_of(old) is not facts:
        raise ValueError(f"a {facts.name} cannot be an update of {old.get('apiVersion')} {old.get('kind')}")
    old = copy_document(old)
    row.default(old)
    return old


def _complete(
    raw: Raw,
    old: Raw | None,
    gates: GateSet,
    facts: Kind,
    row: KindRow,
    plugins: Sequence[Plugin],
    request: Request | None,
) -> None:
    """Everything that changes the object, in the order in which the API server does it."""
    if request is not None:
        complete_metadata(raw, old, request, namespaced=facts.namespaced)
    row.default(raw)
    for plugin in plugins:
        plugin.admit(facts.name, raw, old)
    row.prepare(raw, old, gates)


def _warnings(facts: Kind, view: Any, old_view: Any) -> list[str]:
    if old_view is None:
        warnings = name_warnings(facts.name, view.metadata.name)
        if isinstance(view, Pod):
            return warnings + pod_warnings(view.metadata, view.spec, "")
    else:
        warnings = []
    if facts.template is None:
        return warnings
    template, old_template = _template(view, facts), _template(old_view, facts)
    if template is None or template == old_template:
        return warnings
    return warnings + pod_warnings(template.metadata, template.spec, ".".join(facts.template))


def _template(view: Any, facts: Kind) -> PodTemplateSpec | None:
    if view is None:
        return None
    for step in facts.template or ():
        view = getattr(view, step)
    template: PodTemplateSpec = view
    return template


def _spec_changed(view: Any, old_view: Any) -> bool:
    return bool(view.spec != old_view.spec)


def _next_generation(view: Any) -> int:
    """Some kinds keep the one that their maker gave them: the largest number has none after it."""
    generation: int = view.metadata.generation
    return min(generation + 1, INT64_MAX)


def _name(raw: Raw) -> str:
    metadata = raw.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else ""


def _name_to_be(new: Raw) -> str:
    """What plugins call an object: names are generated after they were asked."""
    return _name(new) or (new.get("metadata") or {}).get("generateName") or "Unknown"
