"""Parse and compile the selectors of a request: `?fieldSelector=status.phase!=Running`, `?labelSelector=app in (a,b)`.

The fields that objects can be selected by are data, one row for each kind that has more than name and namespace.
Authorization reads the same terms. Kubernetes: apimachinery's pkg/fields, storage.SelectionPredicate, the field label
conversions of pkg/apis and `ToSelectableFields` of pkg/registry.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from moorage.match.label_selector import Selector, parse_selector
from moorage.match.requirement import Requirement, SelectorError
from moorage.model.api_error import ApiError, Raw, bad_request
from moorage.model.go.quoting import go_quote
from moorage.model.kinds import Kind
from moorage.model.text.readers import reads_text
from moorage.serve.custom.columns import compile_path, go_text
from moorage.serve.custom.served_kind import ServedKind
from moorage.serve.resources.objects import decode
from moorage.store.protocol import Stored

Reader = Callable[[Raw], str]

_NAME, _NAMESPACE = "metadata.name", "metadata.namespace"


def _text(*steps: str, absent: str = "") -> Reader:
    """Read the field at these steps as text, as Go prints it; `absent` if there is none."""
    *holders, last = steps

    def read(raw: Raw) -> str:
        holder: Any = raw
        for step in holders:
            holder = holder.get(step)
            if not isinstance(holder, dict):
                return absent
        value = holder.get(last)
        if value is None:
            return absent
        if value is True or value is False:
            return "true" if value else "false"
        return str(value)

    return read


def _pod_ip(raw: Raw) -> str:
    addresses = (raw.get("status") or {}).get("podIPs")
    return str(addresses[0].get("ip", "")) if addresses else ""


def _first_of(*readers: Reader) -> Reader:
    return lambda raw: next((value for read in readers if (value := read(raw))), "")


def _never(raw: Raw) -> str:
    """Read a field that can be selected by, but that upstream never fills."""
    return ""


_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_OBJECT: dict[str, Reader] = {_NAME: _text("metadata", "name"), _NAMESPACE: _text("metadata", "namespace")}
_CLUSTER_OBJECT = {_NAME: _OBJECT[_NAME]}
_REPORTER = _text("reportingComponent")

#: Kinds that are not listed can be selected by name and namespace.
_FIELDS: dict[tuple[str, str], dict[str, Reader]] = {
    ("v1", "Pod"): {
        **_OBJECT,
        "spec.nodeName": _text("spec", "nodeName"),
        "spec.host": _text("spec", "nodeName"),  # the name of old
        "spec.restartPolicy": _text("spec", "restartPolicy"),
        "spec.schedulerName": _text("spec", "schedulerName"),
        "spec.serviceAccountName": _text("spec", "serviceAccountName"),
        "spec.hostNetwork": _text("spec", "hostNetwork", absent="false"),
        "status.phase": _text("status", "phase"),
        "status.podIP": _pod_ip,
        "status.podIPs": _never,
        "status.nominatedNodeName": _text("status", "nominatedNodeName"),
    },
    ("v1", "Node"): {**_CLUSTER_OBJECT, "spec.unschedulable": _text("spec", "unschedulable", absent="false")},
    ("v1", "Namespace"): {**_CLUSTER_OBJECT, "status.phase": _text("status", "phase")},
    ("v1", "Secret"): {**_OBJECT, "type": _text("type")},
    ("v1", "Service"): {
        **_OBJECT,
        "spec.clusterIP": _text("spec", "clusterIP"),
        "spec.type": _text("spec", "type"),
    },
    ("v1", "Event"): {
        **_OBJECT,
        **{f"involvedObject.{field}": _text("involvedObject", field) for field in _REFERENCE},
        "reason": _text("reason"),
        "reportingComponent": _REPORTER,
        "source": _first_of(_text("source", "component"), _REPORTER),
        "type": _text("type"),
    },
    ("events.k8s.io/v1", "Event"): {
        **_OBJECT,
        **{f"regarding.{field}": _text("regarding", field) for field in _REFERENCE},
        "reason": _text("reason"),
        "reportingController": _text("reportingController"),
        "type": _text("type"),
    },
    ("resource.k8s.io/v1", "ResourceSlice"): {
        **_CLUSTER_OBJECT,
        "spec.nodeName": _text("spec", "nodeName"),
        "spec.driver": _text("spec", "driver"),
    },
    ("v1", "ReplicationController"): {**_OBJECT, "status.replicas": _text("status", "replicas", absent="0")},
    ("certificates.k8s.io/v1", "CertificateSigningRequest"): {
        **_CLUSTER_OBJECT,
        "spec.signerName": _text("spec", "signerName"),
    },
    ("batch/v1", "Job"): {**_OBJECT, "status.successful": _text("status", "succeeded", absent="0")},
}


_FEW_REQUIREMENTS = 8


class FieldRequirement(NamedTuple):
    """A field is, or is not, this value. A field that is absent has the value ""."""

    read: Reader
    value: str
    equal: bool


class FieldMatcher(NamedTuple):
    """A conjunction. `name` is the only name that can match, or ""; `excluded` has values that fields must not have."""

    requirements: tuple[FieldRequirement, ...]
    name: str = ""
    excluded: tuple[tuple[Reader, frozenset[str]], ...] = ()

    @classmethod
    def of(cls, requirements: Sequence[FieldRequirement], name: str) -> "FieldMatcher":
        """Make a matcher; what many requirements exclude of one field is looked up at once."""
        excluded: dict[Reader, set[str]] = {}
        kept = []
        for requirement in dict.fromkeys(requirements):
            if requirement.equal or len(requirements) <= _FEW_REQUIREMENTS:
                kept.append(requirement)
            else:
                excluded.setdefault(requirement.read, set()).add(requirement.value)
        return cls(tuple(kept), name, tuple((read, frozenset(values)) for read, values in excluded.items()))

    @property
    def is_only_name(self) -> bool:
        """Whether it selects by name only, so that a get can answer it."""
        return bool(self.name) and len(self.requirements) == 1 and not self.excluded

    def matches(self, raw: Raw) -> bool:
        for read, value, equal in self.requirements:
            if (read(raw) == value) is not equal:
                return False
        return all(read(raw) not in values for read, values in self.excluded)


class ManyLabels:
    """A selector of many requirements, of which only those about the labels that an object has are asked."""

    def __init__(self, selector: Selector) -> None:
        self._by_key: dict[str, list[Requirement]] = {}
        for requirement in selector.requirements:
            self._by_key.setdefault(requirement.key, []).append(requirement)
        # A requirement that no label at all meets needs its key.
        self._needed = frozenset(each.key for each in selector.requirements if not each.match({}))

    def match(self, labels: Mapping[str, str]) -> bool:
        if not self._needed <= labels.keys():
            return False
        return all(requirement.match(labels) for key in labels for requirement in self._by_key.get(key, ()))


def compile_field_selector(kind: Kind, text: str) -> FieldMatcher | None:
    """Compile a field selector; None if it selects everything. Raises ApiError."""
    requirements, name = [], ""
    for field, equal, value in field_terms(text):
        requirements.append(FieldRequirement(_reader(kind, field), value, equal))
        if field == _NAME and equal:
            name = name or value
    return FieldMatcher.of(requirements, name) if requirements else None


def compile_label_selector(text: str) -> Selector | ManyLabels | None:
    """Compile a label selector; None if it selects everything. Raises ApiError."""
    try:
        selector = parse_selector(text)
    except SelectorError as error:
        raise bad_request(str(error)) from None
    if len(selector.requirements) > _FEW_REQUIREMENTS and not selector.nothing:
        return ManyLabels(selector)
    return None if selector.everything else selector


def _custom_reader(kind: ServedKind, field: str) -> Reader:
    read = (_OBJECT if kind.namespaced else _CLUSTER_OBJECT).get(field)
    if read is not None:
        return read
    paths = [selectable_field.get("jsonPath") or "" for selectable_field in kind.facts.get("selectableFields") or ()]
    if f".{field}" not in paths:
        raise bad_request(f"field label not supported: {field}")
    find = compile_path(f".{field}")

    def read_field(raw: Raw) -> str:
        values = find(raw)
        return go_text(values[0]) if values and values[0] is not None else ""

    return read_field


def _reader(kind: Kind, field: str) -> Reader:
    if type(kind) is ServedKind:
        return _custom_reader(kind, field)
    fields = _FIELDS.get((kind.api_version, kind.name))
    read = (_OBJECT if fields is None else fields).get(field)
    if read is not None:
        return read
    if fields is None:
        known = f"{go_quote(_NAME)}, {go_quote(_NAMESPACE)}"
        raise bad_request(f"{go_quote(field)} is not a known field selector: only {known}")
    if kind.name == "ResourceSlice":
        raise bad_request(f"field label not supported for {kind.api_version}, Kind={kind.name}: {field}")
    if kind.name == "Job":
        raise bad_request(f"field label {go_quote(field)} not supported for Job")
    raise bad_request(f"field label not supported: {field}")


class Selection(msgspec.Struct, frozen=True):
    """Label and field selectors of a request. `name` is the only name that can match, or ""."""

    labels: Selector | ManyLabels | None = None
    fields: FieldMatcher | None = None

    @property
    def is_everything(self) -> bool:
        return self.labels is None and self.fields is None

    @property
    def name(self) -> str:
        return self.fields.name if self.fields is not None else ""

    @property
    def is_only_name(self) -> bool:
        return self.labels is None and self.fields is not None and self.fields.is_only_name

    def wants(self, raw: Raw) -> bool:
        if self.labels is not None and not self.labels.match(raw["metadata"].get("labels") or {}):
            return False
        return self.fields is None or self.fields.matches(raw)

    def wants_stored(self, kind: Kind, stored: Stored) -> bool:
        """Return the same of what is stored, which need not be decoded if its view knows."""
        view = stored.view
        if self.labels is not None and view is not None:
            if not self.labels.match(view.metadata.labels):
                return False
            if self.fields is None:
                return True
        return self.wants(decode(kind, stored))


EVERYTHING = Selection()


def compile_selection(kind: Kind, labels: str, fields: str) -> Selection:
    if not labels and not fields:
        return EVERYTHING
    return Selection(
        compile_label_selector(labels) if labels else None, compile_field_selector(kind, fields) if fields else None
    )


_ESCAPED = frozenset("\\,=")


@reads_text("a", "=", "!=", ",", "\\", "==", raises=ApiError)
def field_terms(text: str) -> list[tuple[str, bool, str]]:
    """Return (field, whether it must be equal, value) for each term. Raises ApiError 400, in Kubernetes' order."""
    terms = []
    for part in sorted(_split(text)):
        if not part:
            continue
        for position, letter in enumerate(part):
            if part.startswith("!=", position):
                terms.append((part[:position], False, _unescaped(part[position + 2 :])))
                break
            if letter == "=":
                start = position + (2 if part.startswith("==", position) else 1)
                terms.append((part[:position], True, _unescaped(part[start:])))
                break
        else:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
    return terms


def _split(text: str) -> list[str]:
    """Split at commas without a backslash before them; escapes stay."""
    parts, start, escaped = [], 0, False
    for position, letter in enumerate(text):
        if escaped:
            escaped = False
        elif letter == "\\":
            escaped = True
        elif letter == ",":
            parts.append(text[start:position])
            start = position + 1
    return [*parts, text[start:]]


def _unescaped(value: str) -> str:
    if _ESCAPED.isdisjoint(value):
        return value
    letters, escaped = [], False
    for letter in value:
        if escaped:
            if letter not in _ESCAPED:
                raise bad_request(f"invalid field selector: invalid escape sequence: \\{letter}")
            letters.append(letter)
            escaped = False
        elif letter == "\\":
            escaped = True
        elif letter in _ESCAPED:
            # Go prints the character as the number it is.
            raise bad_request(f"invalid field selector: unescaped character in value: {ord(letter)}")
        else:
            letters.append(letter)
    if escaped:
        raise bad_request("invalid field selector: invalid escape sequence: \\")
    return "".join(letters)
