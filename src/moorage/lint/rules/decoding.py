"""Report what kubectl and the API server would refuse: syntax, kinds, fields, types, and validation errors with hints.

Kubernetes: a server that validates strictly also refuses unknown and duplicate fields.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from moorage.admit.kinds.api_server.custom_objects import finalizer_warnings, validate_custom_object
from moorage.admit.metadata import ANNOTATIONS_SIZE_LIMIT
from moorage.admit.raw import Raw, copy_document, part
from moorage.admit.request import ANY_REQUEST, complete_metadata
from moorage.custom.objects.decoding import decode_request
from moorage.custom.objects.embedded import MalformedError
from moorage.lint.catalogue import ERROR, WARNING, Rule, Theme, declare
from moorage.lint.facts.custom_kinds import DefinedKind
from moorage.lint.facts.served_kinds import (
    GROUPS,
    REMOVED_KINDS,
    SERVED_KINDS,
    first_release,
    kinds_of_release,
    served_kinds,
    version_of_kind,
)
from moorage.lint.hints import gate_hint, gate_needed, hint_for, value_at
from moorage.lint.meant_words import meant_field, meant_kind
from moorage.lint.subject import Complaint
from moorage.model.field_error import FieldError
from moorage.model.gates import DRA_DEVICE_TAINT_RULES, DRA_DEVICE_TAINTS, GateSet
from moorage.model.go.quoting import go_quote
from moorage.model.kinds import KINDS, OLDER_VERSIONS, Kind
from moorage.model.schema.conversion import TypeProblem
from moorage.model.schema.known_fields import nearest_name, unknown_fields
from moorage.model.schema.older_versions import EXACT_FIELDS, from_older
from moorage.model.text.decode_error import DecodeError, Problem
from moorage.model.text.documents import Document
from moorage.model.well_known.annotations import LAST_APPLIED

declare(
    Theme.INPUT,
    Rule("unreadable", ERROR, "The input is not YAML or JSON, or is larger or deeper than can be checked."),
    Rule("not-an-object", ERROR, "A document that is no Kubernetes object: apiVersion or kind is missing."),
    Rule(
        "unserved-version",
        ERROR,
        "The API server does not serve this kind in this apiVersion.",
    ),
    Rule("unknown-field", WARNING, "The API server drops this field, or refuses it when it validates strictly."),
    Rule("duplicate-field", WARNING, "The same field is given twice; the last one wins, or the object is refused."),
)
declare(
    Theme.API_SERVER,
    Rule("rejected", ERROR, "The API server refuses the object."),
    Rule("api-server-warning", WARNING, "The API server accepts the object, and warns."),
)

_ENTRY = re.compile(r"""["']?[\w./-]+["']?\s*:\s+([\w.+-]+)""")
_KIND = re.compile(r"""["']?kind["']?\s*:\s+["']?(\w+)""")
UNCHECKED = frozenset({Problem.UNREADABLE, Problem.BINARY, Problem.SYNTAX, Problem.LIMIT})
NO_OBJECT = frozenset({Problem.NOT_AN_OBJECT, Problem.NO_KIND})


def decode_complaint(error: DecodeError, line: str, release: int | None = None) -> Complaint:
    """Report a stream or document that cannot be read; `line` is the text of the line it fails at."""
    if error.problem is Problem.TYPE:
        return Complaint("rejected", error.path, error.reason, _quoting_hint(error.reason), api_server=True)
    if error.problem in UNCHECKED:
        return Complaint("unreadable", "", error.reason, _syntax_hint(error.reason, line))
    hint = "every object needs an apiVersion and a kind"
    named = _KIND.match(line) if "apiVersion" in error.reason else None
    if named is not None and (version := version_of_kind(named[1], release)):
        hint = f"{hint}: write apiVersion: {version}"
    return Complaint("not-an-object", error.path, error.reason, hint)


def _syntax_hint(reason: str, line: str) -> str:
    if "{{" in line:
        return "if this is a Helm template, render it first: helm template CHART | moorage lint -"
    if "cannot start any token" in reason and line[: len(line) - len(line.lstrip())].count("\t"):
        return "indent with spaces: YAML does not allow tabs there"
    return ""


def conversion_complaints(document: Document, problems: Iterable[TypeProblem]) -> Iterator[Complaint]:
    """Report all values of the wrong type; the API server stops at the first."""
    kind, version = document.raw["kind"], document.raw["apiVersion"]
    for problem in problems:
        text = f'{kind} in version "{version}" cannot be handled as a {kind}: {problem.reason}'
        yield Complaint(
            "rejected", problem.path, text, _type_hint(document, problem.path, problem.reason), api_server=True
        )


def _quoting_hint(reason: str) -> str:
    return "quote it" if reason.endswith("of type string") and "cannot unmarshal" in reason else ""


def _type_hint(document: Document, path: str, reason: str) -> str:
    value = value_at(document.raw, path)
    wants_text = reason.endswith("of type string") or ".TaintEffect" in reason or ".TolerationOperator" in reason
    if wants_text and isinstance(value, bool):
        written = _written(document, path) or ("true" if value else "false")
        return f'quote it: "{written}" (YAML reads yes, no, on, off, y, n, true and false as booleans)'
    if wants_text and isinstance(value, int | float):
        # Quote a float as it is written: 5.10 is the number 5.1.
        return f'quote it: "{_written(document, path) or value if isinstance(value, float) else value}"'
    if reason.startswith(("quantities must match", "unable to parse quantity")):
        return "write a quantity, such as 500m, 2 or 1Gi"
    if "DeviceAttribute" in reason and isinstance(value, str | int | bool):
        name = "bool" if isinstance(value, bool) else "int" if isinstance(value, int) else "string"
        return f"say of which type it is: {{{name}: {_scalar(value)}}}"
    if "DeviceCapacity" in reason and isinstance(value, str | int):
        return f"write {{value: {_scalar(str(value))}}}"
    if isinstance(value, str) and ("of type int" in reason or "of type bool" in reason):
        return "write it without quotes"
    return ""


def _scalar(value: str | int) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def _written(document: Document, path: str) -> str:
    """Return the plain scalar of a field as it is written in its line, or the empty string."""
    line, column = document.location(path)
    entry = _ENTRY.match(document.line_text(line), column - 1)
    return entry[1] if entry else ""


def field_complaints(document: Document, kind: Kind, *, strict: bool) -> Iterator[Complaint]:
    """Report fields that the kind does not have, and fields given twice."""
    prefix = "strict decoding error: " if strict else ""
    for unknown in unknown_fields(document.raw, kind.view):
        meant = unknown.nearest or meant_field(unknown.path)
        hint = f"did you mean {meant}?" if meant else _elsewhere(unknown.path)
        yield Complaint("unknown-field", unknown.path, f"{prefix}{unknown}", hint, api_server=True)
    for path in document.misplaced:
        hint = "only newer versions have it there: write apiVersion: resource.k8s.io/v1"
        yield Complaint("unknown-field", path, f'{prefix}unknown field "{path}"', hint, api_server=True)
    for duplicate in document.duplicates:
        hint = "remove one of them: the last one wins"
        yield Complaint("duplicate-field", duplicate.path, f"{prefix}{duplicate}", hint, api_server=True)


def _elsewhere(path: str) -> str:
    """Say where the field belongs, for those most often put one level too high or too low."""
    name = path.rpartition(".")[2].partition("[")[0]
    if ".devices.requests[" in path and path.count("[") == 1 and name in EXACT_FIELDS:
        return "write it below exactly: in resource.k8s.io/v1 a request has a name and either exactly or firstAvailable"
    if name == "basic":
        return "write its fields beside the device's name: only v1beta1 of resource.k8s.io has basic"
    if path in ("spec.requests", "spec.constraints", "spec.config"):
        return f"{name} belongs into spec.devices of a ResourceClaim (spec.spec.devices of a template)"
    in_pods = ("tolerations", "affinity", "nodeSelector", "topologySpreadConstraints")
    home = dict.fromkeys(in_pods, "the pod's spec (spec.template.spec in a workload)") | {
        "matchLabelKeys": "a pod affinity term or a topology spread constraint",
        "mismatchLabelKeys": "a pod affinity term",
        "taints": "a Node's spec",
    }
    return f"{name} belongs into {home[name]}" if name in home else ""


def kind_complaint(document: Document, release: int | None = None) -> Complaint | None:
    """Report an object that no API server serves, or not that of a release; None if its kind is only not checked."""
    kind, version = document.raw["kind"], document.raw["apiVersion"]
    served = served_kinds(release).get(version)
    known_version = version_of_kind(kind, release)
    if served is not None:
        if kind.removesuffix("List") in served or kind in served:
            return None
    elif "." in (group := version.rpartition("/")[0]) and group not in GROUPS and not _is_misspelt(group, kind):
        return None  # it may be a custom kind, whose group is a domain
    hint = _where_served(kind, version, release)
    if known_version and (current := KINDS.get((known_version, kind))) is not None:
        hint += _other_structure(document.raw, current)
    path = "apiVersion" if known_version or kind in REMOVED_KINDS else "kind"
    return Complaint("unserved-version", path, f'no matches for kind "{kind}" in version "{version}"', hint)


def _is_misspelt(group: str, kind: str) -> bool:
    """Return whether the group is nearly that of Kubernetes which has the kind: `network.k8s.io` for an Ingress."""
    meant = version_of_kind(kind).rpartition("/")[0]
    return "." in meant and nearest_name(group, frozenset({meant})) is not None


def _where_served(kind: str, version: str, release: int | None) -> str:
    """Say in which version a kind is served, since when, or what there is instead."""
    known = version_of_kind(kind, release)
    if known:
        return f"Kubernetes 1.{release} serves {kind} in {known}" if release else f"write apiVersion: {known}"
    if kind in REMOVED_KINDS:
        return REMOVED_KINDS[kind]
    if release is not None and (first := first_release(version, kind)) is not None:
        return f"Kubernetes 1.{first} and later serve it"
    return meant_kind(kind, kinds_of_release(release))


def release_complaint(document: Document, release: int | None) -> Complaint | None:
    """Report a kind that Moorage knows in a version that a release does not serve."""
    version, kind = document.raw["apiVersion"], document.raw["kind"]
    if release is None or kind not in SERVED_KINDS.get(version, ()) or kind in served_kinds(release).get(version, ()):
        return None
    return kind_complaint(document, release)


def _other_structure(raw: Raw, kind: Kind) -> str:
    """Say what else of a claim or slice is written differently in its own version."""
    if kind.group != "resource.k8s.io" or from_older(raw, kind, "v1beta1") == {**raw, "apiVersion": kind.api_version}:
        return ""
    if kind.name == "ResourceSlice":
        return "; there a device has its attributes, capacity and taints beside its name, without basic"
    return "; there a request has deviceClassName, selectors, count and tolerations below exactly"


def unserved_device_kind(raw: Raw) -> Kind | None:
    """Return the kind of a document of resource.k8s.io in a version that is not served, to check it as if it were."""
    version, name = str(raw["apiVersion"]), str(raw["kind"])
    current = KINDS.get((version_of_kind(name), name))
    is_stale = current is not None and current.group == "resource.k8s.io" == version.rpartition("/")[0]
    return current if is_stale and (version, name) not in OLDER_VERSIONS else None


def gate_complaint(kind: Kind, gates: GateSet) -> Complaint | None:
    """Report a kind that is not served because its gate is off."""
    gate = kind.gate
    if gate is DRA_DEVICE_TAINT_RULES and gates.release is not None and gate.in_release(gates.release) is None:
        gate = DRA_DEVICE_TAINTS  # as it was before the rules had a gate of their own
    if gate is None or gates.enabled(gate):
        return None
    message = f'no matches for kind "{kind.name}" in version "{kind.api_version}"'
    return Complaint("unserved-version", "kind", message, gate_hint(gate, gates.release))


def rejections(errors: Sequence[FieldError], gates: GateSet, raw: Raw | None = None) -> Iterator[Complaint]:
    """Report the API server's errors in its words and order; of several about one field, the first has the hint."""
    hinted: set[str] = set()
    for error in errors:
        hint = "" if error.path in hinted else hint_for(error, gates, raw)
        if hint:
            hinted.add(error.path)
        yield Complaint("rejected", written_path(error.path), str(error), hint, api_server=True)


def exists_already(raw: Raw) -> bool:
    """Return whether a server made this object: only servers set a uid."""
    metadata = raw.get("metadata")
    return isinstance(metadata, dict) and bool(metadata.get("uid"))


def errors_of_existing(raw: Raw, errors: Sequence[FieldError], gates: GateSet) -> tuple[FieldError, ...]:
    """Return the errors of an update that changes nothing, for objects printed by `kubectl get`.

    Label keys that were merged at creation need not be merged again, and fields that only updates may set are set. What
    its gates forbid still counts, for the next object made from it.
    """
    from moorage.admit.admission import Rejected, admit

    unchanged = admit(raw, raw, gates)
    still = {str(error) for error in unchanged.errors} if isinstance(unchanged, Rejected) else set()
    return tuple(error for error in errors if str(error) in still or gate_needed(error, gates) is not None)


def warnings_given(warnings: Sequence[str]) -> Iterator[Complaint]:
    """Yield what any API server warns of: that Moorage's own calls no webhooks says nothing about a manifest."""
    from moorage.admit.messages.warnings import STORED_ONLY

    for warning in warnings:
        if warning in STORED_ONLY:
            continue
        path, colon, _ = warning.partition(": ")
        yield Complaint("api-server-warning", path if colon and " " not in path else "", warning, api_server=True)


def written_path(path: str) -> str:
    """Return where the mistake is written: for a key that selector and matchLabelKeys share, upstream's path is the
    term's own followed by the key's index.
    """
    if "][" in path:
        term, _, index = path.rpartition("[")
        return f"{term}.matchLabelKeys[{index}"
    return path.replace(".podAffinityTerm[", ".podAffinityTerm.matchLabelKeys[")


def unserved_version(document: Document, served: Sequence[str]) -> Complaint:
    """Report a version that the definition does not have, or does not serve; `served` are those that it serves."""
    kind, version = document.raw["kind"], document.raw["apiVersion"]
    hint = f"write apiVersion: {served[0]}" if served else "its definition serves no version"
    return Complaint("unserved-version", "apiVersion", f'no matches for kind "{kind}" in version "{version}"', hint)


class CustomComplaints(NamedTuple):
    """What the API server says of a custom object: certainly, and as long as nothing changes it.

    `decoded` has defaults, and no fields that the schema does not know; there is none if the object cannot be decoded.
    """

    complaints: list[Complaint]
    refusals: Sequence[Complaint] = ()
    decoded: Raw | None = None


def check_custom_object(document: Document, defined: DefinedKind, gates: GateSet, *, strict: bool) -> CustomComplaints:
    """Return complaints about fields and warnings, and why the object is refused unless something changes it."""
    prefix = "strict decoding error: " if strict else ""
    obj = copy_document(document.raw)
    kind, rules = defined.kind, defined.rules
    try:
        unknown = decode_request(obj, rules.schema)
    except MalformedError as error:
        text = f'{kind.name} in version "{kind.version}" cannot be handled as a {kind.name}: {error}'
        path = str(error).partition(": Invalid value: ")[0] if ": Invalid value: " in str(error) else "metadata"
        return CustomComplaints([Complaint("rejected", path, text, api_server=True)])
    decoded = copy_document(obj)
    complaints = [
        Complaint("unknown-field", path, f"{prefix}unknown field {go_quote(path)}", api_server=True) for path in unknown
    ]
    for duplicate in document.duplicates:
        hint = "remove one of them: the last one wins"
        complaints.append(Complaint("duplicate-field", duplicate.path, f"{prefix}{duplicate}", hint, api_server=True))
    if any(subresource.name == "status" for subresource in kind.subresources):
        obj.pop("status", None)
    complete_metadata(obj, None, ANY_REQUEST, namespaced=kind.namespaced)
    part(obj, "metadata")["generation"] = 1
    validated = validate_custom_object(obj, rules)
    if not validated.errors:
        warnings = [defined.warning] if defined.warning else []
        complaints += warnings_given([*warnings, *finalizer_warnings(obj, None)])
    return CustomComplaints(complaints, list(rejections(validated.errors, gates, obj)), decoded)


# -- too large to be applied ------------------------------------------------------------------------------------------

_TOO_LONG = "apply-annotation-too-long"
declare(
    Theme.API_SERVER,
    Rule(_TOO_LONG, WARNING, "The object is too large for the annotation that kubectl apply keeps it in."),
)
#: `kubectl apply` keeps the object as JSON in an annotation, with the namespace and an empty map of annotations. Go's
#: encoder writes these as \\u003c and so on: five bytes more.
_ESCAPED = (b"<", b">", b"&")
_EMPTY_ANNOTATIONS = len('"annotations":{},')
_NAMESPACE = len('"namespace":"default",')


def check_applied_size(raw: Raw, *, namespaced: bool) -> Complaint | None:
    """Report an object that can be created, and not applied. What a server made, or is to name, is not applied.

    Kubernetes: GetModifiedConfiguration of kubectl, ValidateAnnotationsSize: annotations have at most 262,144 bytes.
    """
    if exists_already(raw):
        return None
    written = msgspec.json.encode(raw)
    if len(written) * 6 <= ANNOTATIONS_SIZE_LIMIT:
        return None
    metadata = raw.get("metadata")
    if not isinstance(metadata, dict) or not metadata.get("name"):
        return None
    annotations = metadata.get("annotations")
    others = dict(annotations) if isinstance(annotations, dict) else {}
    applied = _without_last_applied(raw, metadata, others) if LAST_APPLIED in others else written
    size = len(applied) + 5 * sum(map(applied.count, _ESCAPED)) + 1  # and a line feed
    size += _EMPTY_ANNOTATIONS if not isinstance(annotations, dict) else 0
    size += _NAMESPACE if namespaced and not metadata.get("namespace") else 0
    others.pop(LAST_APPLIED, None)
    total = size + sum(len(str(text).encode()) for pair in others.items() for text in pair) + len(LAST_APPLIED)
    if total <= ANNOTATIONS_SIZE_LIMIT:
        return None
    largest = max((len(msgspec.json.encode(value)), name) for name, value in raw.items())[1]
    return Complaint(
        _TOO_LONG,
        largest,
        f"kubectl apply fails: with the annotation {LAST_APPLIED}, which holds the whole object, the annotations have "
        f"{total:,} bytes, and at most {ANNOTATIONS_SIZE_LIMIT:,} are allowed",
        "use kubectl apply --server-side, or kubectl create and replace, which do not need the annotation; or split it",
    )


def _without_last_applied(raw: Raw, metadata: Raw, annotations: dict[str, object]) -> bytes:
    rest = {name: value for name, value in annotations.items() if name != LAST_APPLIED}
    return msgspec.json.encode({**raw, "metadata": {**metadata, "annotations": rest}})
