"""Admit one object: decode, default and mutate it, then validate it.

This is the part that needs no cluster; `moorage.admit.chain` adds the plugins, which look things up in one.

`admit` changes nothing that was handed in. Kubernetes: what happens between the URL handler and etcd. Differs: objects
of kinds Moorage does not know are admitted as they are.
"""

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from moorage.admit.kinds.row import KindRow
from moorage.admit.messages.rejections import invalid_status, undecodable
from moorage.admit.messages.warnings import name_warnings, pod_warnings
from moorage.admit.metadata import validate_written_meta
from moorage.admit.options import with_privileged
from moorage.admit.plugins import Forbidden, Plugin
from moorage.admit.raw import Raw, copy_document, part
from moorage.admit.registry import row_of
from moorage.admit.request import ANY_REQUEST, Request, complete_metadata
from moorage.admit.world import Assumption
from moorage.model.api_error import ApiError, forbidden
from moorage.model.field_error import FieldError, FieldErrors
from moorage.model.gates import GateSet
from moorage.model.go.integers import INT64_MAX
from moorage.model.kinds import KINDS, Kind, kind_of
from moorage.model.schema.conversion import ConversionError, TypeProblem, convert_view
from moorage.model.schema.known_fields import write_as_go
from moorage.model.types.meta import ObjectMeta
from moorage.model.types.pod import Pod, PodTemplateSpec
from moorage.model.types.view import View

_replace = msgspec.structs.replace

#: The most errors about the fields of one object. Differs: Kubernetes has no limit, and answers of a hundred megabytes.
MAX_ERRORS = 1_000
#: Texts that the API server writes into the metadata of a new object.
_STAMPS = frozenset({"name", "namespace", "uid", "creationTimestamp"})


class Admitted(msgspec.Struct, frozen=True):
    """The object as it would be stored, and its view; what was taken for granted about the cluster (see `world`)."""

    object: Raw
    view: View | None
    warnings: tuple[str, ...] = ()
    assumptions: tuple[Assumption, ...] = ()


class Rejected(msgspec.Struct, frozen=True):
    """Why not: field errors (422), a plugin's refusal (403 or what it says), fields of the wrong type (400).

    Never two of them. `told` are the warnings that go out with the refusal.
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
    told: tuple[str, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    refused_by: str = ""  # the plugin, if it was one

    @property
    def status(self) -> Raw:
        """The `Status` that a client of the API gets."""
        if self.refusal is not None:
            return self.refusal
        if self.problems:
            return undecodable(self.kind, self.problems[0].reason).status  # the decoder stops there
        if self.forbidden:
            return forbidden(self.kind, self.name, self.forbidden).status
        return invalid_status(self.kind, self.name, self.errors)


class PluginPhases(NamedTuple):
    """Plugins by what they do with an object, in their order. Few do all three, and the others need not be called."""

    changing: tuple[Plugin, ...]
    refusing: tuple[Plugin, ...]
    warning: tuple[Plugin, ...]


def phases_of(plugins: Sequence[Plugin]) -> PluginPhases:
    """Sort plugins by the methods that they have of their own."""
    return PluginPhases(
        tuple(plugin for plugin in plugins if type(plugin).admit is not Plugin.admit),
        tuple(plugin for plugin in plugins if type(plugin).validate is not Plugin.validate),
        tuple(plugin for plugin in plugins if type(plugin).warnings is not Plugin.warnings),
    )


NO_PLUGINS = phases_of(())
_NO_PLUGIN = Plugin()


class Mutated(msgspec.Struct):
    """An object between the two phases of admission: complete, and not validated yet.

    The API server awaits here what changes objects from outside (webhooks), before `validate` looks at the result.
    `given` is the document as it came, if it was copied, and `given_view` its view: parts that nothing has changed are
    not read a second time.
    """

    kind: Kind
    row: KindRow
    object: Raw
    old: Raw | None
    old_view: Any
    gates: GateSet
    request: Request | None
    given: Raw | None = None
    given_view: Any = None
    shown_name: str = ""  # in refusals of plugins: names are generated after they were asked


def admit(
    new: Raw,
    old: Raw | None,
    gates: GateSet,
    *,
    plugins: Sequence[Plugin] = (),
    request: Request | None = ANY_REQUEST,
) -> Admitted | Rejected:
    """Admit an object by the rules of its kind alone, created if `old` is None and else updated.

    `old` is what is stored. Only the chain and tests pass `plugins`. `request=None` leaves metadata as they are in the
    document, so that a missing namespace or a name yet to be generated is an error.
    """
    kind = kind_of(new)
    if kind is None:
        return Admitted(copy_document(new), None)
    if old is not None and kind_of(old) is not kind:
        raise ValueError(f"a {kind.name} cannot be an update of {old.get('apiVersion')} {old.get('kind')}")
    return admit_own(kind, new, old, gates, plugins=phases_of(plugins), request=request, copies=True)


def admit_own(
    kind: Kind,
    raw: Raw,
    old: Raw | None,
    gates: GateSet,
    *,
    plugins: PluginPhases = NO_PLUGINS,
    request: Request | None,
    own: Callable[[Raw], object] | None = None,
    old_view: Any = None,
    copies: bool = False,
) -> Admitted | Rejected:
    """Admit a document that the caller gives away: unless `copies`, it is completed in place.

    `own` writes the field owners into the document once it has its defaults. `old_view` is the view of `old`, which
    then has its defaults; without it `old` is read and defaulted as the API server does with what it reads.
    """
    mutated = mutate(kind, raw, old, gates, plugins=plugins, request=request, own=own, old_view=old_view, copies=copies)
    return mutated if isinstance(mutated, Rejected) else validate(mutated, plugins)


def mutate(
    kind: Kind,
    raw: Raw,
    old: Raw | None,
    gates: GateSet,
    *,
    plugins: PluginPhases,
    request: Request | None,
    own: Callable[[Raw], object] | None = None,
    old_view: Any = None,
    copies: bool = False,
) -> Mutated | Rejected:
    """Decode and default an object, and let the plugins change it."""
    mutated = complete(kind, raw, old, gates, request=request, own=own, old_view=old_view, copies=copies)
    if isinstance(mutated, Rejected):
        return mutated
    return changed_by(plugins.changing, mutated, mutated.object) or mutated


def complete(
    kind: Kind,
    raw: Raw,
    old: Raw | None,
    gates: GateSet,
    *,
    request: Request | None,
    own: Callable[[Raw], object] | None = None,
    old_view: Any = None,
    copies: bool = False,
    stamps: bool = True,
) -> Mutated | Rejected:
    """Decode and default an object. Unless it `stamps`, a new object gets no name, uid and time yet: see `stamp`."""
    row = row_of(kind)
    try:
        given_view = convert_view(raw, kind.view)
        if old is not None and old_view is None:
            convert_view(old, kind.view)
    except ConversionError as error:
        return Rejected(kind, _name(raw), problems=error.problems)
    shown_name = _name_to_be(raw)
    given = raw if copies else None
    raw = copy_document(raw) if copies else raw
    if old is not None and old_view is None:
        old = copy_document(old)
        row.default(old)
    try:
        if request is not None:
            complete_metadata(raw, old, request, namespaced=kind.namespaced, stamps=stamps)
        row.default(raw)
        if row.stamp is not None and request is not None and request.timestamp and stamps:
            row.stamp(raw, old, request.timestamp)
        if own is not None:
            own(raw)
    except ApiError as error:
        return Rejected(kind, shown_name, object=raw, refusal=error.status)
    return Mutated(kind, row, raw, old, old_view, gates, request, given, given_view, shown_name)


def stamp(mutated: Mutated, request: Request) -> Mutated:
    """Return a complete object with what `complete` left out: a name, a uid, the time."""
    raw, old, row = mutated.object, mutated.old, mutated.row
    complete_metadata(raw, old, request, namespaced=mutated.kind.namespaced, wipes=False)
    if mutated.kind is KINDS.NAMESPACE and old is None:
        row.default(raw)  # a label has its name, which may have been generated just now
    if row.stamp is not None and request.timestamp:
        row.stamp(raw, old, request.timestamp)
    return _replace(mutated, request=request)


def changed_by(plugins: Sequence[Plugin], mutated: Mutated, document: Raw) -> Rejected | None:
    """Let plugins change a document in place; return the refusal if one refuses it."""
    kind, old, name = mutated.kind, mutated.old, mutated.shown_name
    plugin = _NO_PLUGIN
    try:
        for plugin in plugins:
            plugin.admit(kind, document, old)
    except Forbidden as refusal:
        return Rejected(kind, name, forbidden=str(refusal), object=document, refused_by=plugin.name)
    except ApiError as error:
        return Rejected(kind, name, object=document, refusal=error.status, refused_by=plugin.name)
    return None


def validate(mutated: Mutated, plugins: PluginPhases) -> Admitted | Rejected:
    """Prepare a complete object as its kind does, and validate it: by its kind, then by the plugins."""
    kind, row, raw, old = mutated.kind, mutated.row, mutated.object, mutated.old
    gates, request, old_view = mutated.gates, mutated.request, mutated.old_view
    row.prepare(raw, old, gates)
    view: Any = _completed_view(mutated)
    if old is not None:
        old_view = _as_stored(old, kind, old_view)
    options = row.options(gates, old_view)
    if request is not None and request.allow_privileged:
        options = with_privileged(options)
    if old_view is not None:
        errors = tuple(islice(row.validate_update(view, old_view, options), MAX_ERRORS))
        if request is not None:
            errors = (*common_errors(view, old_view, kind, row, errors), *errors)
    else:
        errors = (*_authorize(view, row, request), *islice(row.validate(view, options), MAX_ERRORS))
    warnings = (*_warnings(kind, view, old_view), *row.warnings(view), *row.warnings_of_change(view, old_view))
    if old_view is None:
        warnings = (*warnings, *row.create_warnings(view))
    if errors:
        return Rejected(kind, _name(raw), errors, warnings=warnings, object=raw, view=view)
    for plugin in plugins.refusing:
        try:
            plugin.validate(kind, raw, old)
        except (Forbidden, ApiError) as error:
            refused = Rejected(kind, _name(raw), warnings=warnings, object=raw, view=view, refused_by=plugin.name)
            if isinstance(error, Forbidden):
                return _replace(refused, forbidden=str(error))
            return _replace(refused, refusal=error.status)
    for plugin in plugins.warning:
        warnings = (*warnings, *plugin.warnings(kind, raw, old))
    if row.has_generation and old_view is not None and _is_counted(view, old_view, row):
        # Some kinds keep the generation that their maker gave them, and the largest number has none after it.
        generation = min(old_view.metadata.generation + 1, INT64_MAX)
        part(raw, "metadata")["generation"] = generation
        view = _replace(view, metadata=_replace(view.metadata, generation=generation))
    row.canonicalize(raw)
    write_as_go(raw, kind.view)
    return Admitted(raw, view, warnings)


def _completed_view(mutated: Mutated) -> Any:
    """Return the view of the complete object. If only its metadata were stamped, it differs by the stamps alone."""
    raw, given, view = mutated.object, mutated.given, mutated.given_view
    if given is None or raw.keys() != given.keys():
        return convert_view(raw, mutated.kind.view)
    for name, value in raw.items():
        if name != "metadata" and value != given[name]:
            return convert_view(raw, mutated.kind.view)
    metadata, before = raw["metadata"], given["metadata"] or {}
    if not before.keys() <= metadata.keys():
        return convert_view(raw, mutated.kind.view)
    written = {name: value for name, value in metadata.items() if name not in before or value != before[name]}
    if not written.keys() <= _STAMPS:
        return convert_view(raw, mutated.kind.view)
    return _replace(view, metadata=_replace(view.metadata, **written))


def _is_counted(view: Any, old_view: Any, row: KindRow) -> bool:
    if getattr(view, row.counted) != getattr(old_view, row.counted):
        return True
    return bool(row.counts_annotations and view.metadata.annotations != old_view.metadata.annotations)


def common_errors(view: Any, old_view: Any, kind: Kind, row: KindRow, errors: tuple[FieldError, ...]) -> FieldErrors:
    """Return what is wrong with the metadata of an update; there is nothing if the kind, which looked, said nothing."""
    new, old = view.metadata, old_view.metadata
    if row.checks_metadata and not errors and new.finalizers == old.finalizers:
        return ()
    return validate_written_meta(new, old, namespaced=kind.namespaced)


def _authorize(view: View, row: KindRow, request: Request | None) -> FieldErrors:
    if row.authorize is None or request is None or request.namespace_labels is None:
        return []
    return row.authorize(view, request.namespace_labels)


def _as_stored(old: Raw, kind: Kind, old_view: Any) -> Any:
    """Return the view of the old object; a view that is given may lack the field owners and the resourceVersion."""
    if old_view is None:
        return convert_view(old, kind.view)
    return _replace(old_view, metadata=convert_view(old["metadata"], ObjectMeta))


def _warnings(kind: Kind, view: Any, old_view: Any) -> list[str]:
    if old_view is None:
        warnings = name_warnings(kind.name, view.metadata.name)
        if isinstance(view, Pod):
            return warnings + pod_warnings(view.metadata, view.spec, "")
    else:
        warnings = []
    if kind.template is None:
        return warnings
    template, old_template = _template(view, kind), _template(old_view, kind)
    if template is None or template == old_template:
        return warnings
    return warnings + pod_warnings(template.metadata, template.spec, ".".join(kind.template))


def _template(view: Any, kind: Kind) -> PodTemplateSpec | None:
    if view is None:
        return None
    for step in kind.template or ():
        view = getattr(view, step)
    template: PodTemplateSpec = view
    return template


def _name(raw: Raw) -> str:
    metadata = raw.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else ""


def _name_to_be(new: Raw) -> str:
    """What plugins call an object: names are generated after they were asked."""
    return _name(new) or (new.get("metadata") or {}).get("generateName") or "Unknown"
