"""Read test cases of policies: a request, who makes it, and what is expected of it.

    apiVersion: moorage.dev/v1alpha1
    kind: PolicyTest
    policies: [policies/]              # paths from the folder of this file
    objects: [namespaces.yaml]         # what else is in the cluster: namespaces, parameters, roles, definitions
    cases:
    - name: two replicas are enough
      object: {apiVersion: apps/v1, kind: Deployment, …}   # or the path of a file with one object
      user: alice
      expect: {decision: deny, message: replicas must be}

A field that is unknown or of the wrong type is an error with its line.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import msgspec

from moorage.lint.sources import Source, opened, reason_of, sources_of
from moorage.model.text.decode_error import DecodeError
from moorage.model.text.documents import Document, read_documents

Raw = dict[str, Any]
API_VERSION, KIND = "moorage.dev/v1alpha1", "PolicyTest"
ALLOW: Final = "allow"
DENY: Final = "deny"
INVALID: Final = "invalid"
POLICY_KINDS: Final = ("ValidatingAdmissionPolicy", "MutatingAdmissionPolicy")
CREATE, UPDATE, DELETE, CONNECT = "CREATE", "UPDATE", "DELETE", "CONNECT"
_DECISIONS, _OPERATIONS = (ALLOW, DENY, INVALID), (CREATE, UPDATE, DELETE, CONNECT)
#: What msgspec says of a field, and where: "Object contains unknown field `x` - at `$.cases[0].user`".
_COMPLAINT = re.compile(r"(?P<what>.*?)(?: - at `\$(?P<path>.*)`)?", re.DOTALL)
_OTHER = re.compile(r"Invalid enum value (?P<value>.*)", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>.*)`", re.DOTALL)


class UnreadableCases(Exception):
    """A file that cannot be read as test cases. The text begins with its name and line."""


class CaseUser(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who makes the request of a case."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}


class Expectation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a case expects. `message` and `warnings` are parts of the texts, `object` the fields that it names.

    `invalid`: the API server itself refuses the object, no policy.
    """

    decision: Literal["allow", "deny", "invalid"]
    message: str = ""
    warnings: tuple[str, ...] | None = None
    object: Raw | None = None
    audit: dict[str, str] | None = None


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One request. With an `oldObject` alone, or with both and no operation, it deletes or updates."""

    name: str
    object: Raw | str | None = None
    oldObject: Raw | str | None = None
    operation: Literal["", "CREATE", "UPDATE", "DELETE", "CONNECT"] = ""
    subresource: str = ""
    user: str | CaseUser = ""
    expect: Literal["allow", "deny", "invalid"] | Expectation

    @property
    def expectation(self) -> Expectation:
        return Expectation(self.expect) if isinstance(self.expect, str) else self.expect


class _PolicyTest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A document of test cases."""

    apiVersion: str
    kind: str
    policies: tuple[str, ...]
    cases: tuple[Case, ...]
    metadata: Raw = {}
    objects: tuple[str, ...] = ()


class PlacedObject(NamedTuple):
    """An object of a file, and where it stands: file and line. `document` has the lines of its fields."""

    raw: Raw
    place: str
    document: Document | None = None

    def place_of(self, field: str) -> str:
        """Return file and line of a field of the object, as far as it is there."""
        if self.document is None:
            return self.place
        return f"{self.place.rpartition(':')[0]}:{self.document.location(field).line}"


class PlacedCase(NamedTuple):
    """A case with its objects read, and where it stands: file and line."""

    case: Case
    operation: str
    object: Raw | None
    old: Raw | None
    file: str
    line: int


class PolicySuite(NamedTuple):
    """The cases of a document, with the policies and other objects that they are about."""

    name: str
    policies: Sequence[PlacedObject]
    objects: Sequence[PlacedObject]
    cases: Sequence[PlacedCase]


def read_suites(paths: Sequence[str]) -> Iterator[PolicySuite]:
    """Yield the documents of cases in files and directories, whose other documents are passed over.

    Raises UnreadableCases, also if there are no cases.
    """
    is_empty = True
    for source in sources_of(paths):
        for document in _documents(source):
            if document.raw.get("kind") == KIND and document.raw.get("apiVersion") == API_VERSION:
                is_empty = False
                yield _suite(document, source)
    if is_empty:
        raise UnreadableCases(f"{', '.join(paths)}: no document with apiVersion {API_VERSION} and kind {KIND}")


def read_objects(paths: Sequence[str]) -> list[PlacedObject]:
    """Return all objects of files and directories. Raises UnreadableCases."""
    return [
        PlacedObject(document.raw, f"{source.name}:{document.line}", document)
        for source in sources_of(paths)
        for document in _documents(source)
        if document.raw.get("kind") != KIND or document.raw.get("apiVersion") != API_VERSION
    ]


def read_one(path: str) -> Raw:
    """Return the object of a file that has one. Raises UnreadableCases."""
    found = read_objects([path])
    if len(found) != 1:
        raise UnreadableCases(f"{path}: {len(found)} objects where there should be one")
    return found[0].raw


def _documents(source: Source) -> Iterator[Document]:
    if source.problem:
        raise UnreadableCases(f"{source.name}: {source.problem}")
    try:
        with opened(source) as stream:
            for document in read_documents(stream, source.name):
                if isinstance(document, DecodeError):
                    raise UnreadableCases(str(document))
                yield document
    except OSError as error:
        raise UnreadableCases(f"{source.name}: {reason_of(error)}") from None


def _suite(document: Document, source: Source) -> PolicySuite:
    try:
        read: _PolicyTest = msgspec.convert(document.raw, _PolicyTest)
    except msgspec.ValidationError as error:
        raise _misplaced(document, str(error)) from None
    if document.duplicates:
        again = document.duplicates[0]
        raise UnreadableCases(f"{source.name}:{again.location.line}: {again}")
    folder = Path() if source.content is not None or source.path == "-" else Path(source.path).parent
    objects = _Objects(folder)
    cases = [_placed(case, source.name, document, index, objects.one) for index, case in enumerate(read.cases)]
    names = [case.name for case in read.cases]
    for index, name in enumerate(names):
        if name in names[:index]:
            raise _at(document, f"cases[{index}].name", f"another case has the name {name!r}")
    name = str(read.metadata.get("name") or source.name)
    policies, others = (objects.all(getattr(read, field), document, field) for field in ("policies", "objects"))
    if not any(placed.raw.get("kind") in POLICY_KINDS for placed in (*policies, *others)):
        raise _at(document, "policies", f"no {' and no '.join(POLICY_KINDS)} in {', '.join(read.policies) or 'it'}")
    return PolicySuite(name, policies, others, cases)


class _Objects:
    """Reads the files that a document of cases names, by paths from its folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def all(self, paths: Sequence[str], document: Document, field: str) -> list[PlacedObject]:
        for index, path in enumerate(paths):
            if path == "-" or not (self._folder / path).exists():
                raise _at(document, f"{field}[{index}]", f"{path}: No such file or directory")
        return read_objects([str(self._folder / path) for path in paths])

    def one(self, path: str) -> Raw:
        """Return the object of a file that has one. Raises UnreadableCases."""
        return read_one(str(self._folder / path))


def _placed(case: Case, file: str, document: Document, index: int, read: Callable[[str], Raw]) -> PlacedCase:
    where = f"cases[{index}]"
    objects: dict[str, Raw | None] = {}
    for field, given in (("object", case.object), ("oldObject", case.oldObject)):
        try:
            objects[field] = read(given) if isinstance(given, str) else given
        except UnreadableCases as error:
            raise _at(document, f"{where}.{field}", str(error)) from None
        raw = objects[field]
        if raw is not None and (complaint := _unidentified(raw)):
            raise _at(document, f"{where}.{field}", complaint)
    new, old = objects["object"], objects["oldObject"]
    operation = case.operation or (UPDATE if new and old else DELETE if old else CREATE)
    if complaint := _incomplete(operation, new, old, case):
        raise _at(document, where, complaint)
    expected = case.expectation
    if expected.message and expected.decision == ALLOW:
        raise _at(document, f"{where}.expect.message", "is the message of a refusal; what is allowed has warnings")
    return PlacedCase(case, operation, new, old, file, document.location(where).line)


def _unidentified(raw: Raw) -> str:
    """Return what is missing of an object that requests cannot be made for."""
    for name in ("apiVersion", "kind"):
        if not isinstance(raw.get(name), str) or not raw[name]:
            return f"{name} is missing"
    if not isinstance(raw.get("metadata", {}), dict):
        return "metadata is not an object"
    return ""


def _incomplete(operation: str, new: Raw | None, old: Raw | None, case: Case) -> str:
    if operation == DELETE:
        return "" if old is not None and new is None else "DELETE is of an oldObject, and has no object"
    if new is None:
        return f"{operation} needs an object"
    if operation == UPDATE and old is None:
        return "UPDATE needs an oldObject"
    if operation == CONNECT and (not case.subresource or old is None):
        return "CONNECT needs a subresource, such as exec, and the oldObject that it is about"
    return ""


def _misplaced(document: Document, text: str) -> UnreadableCases:
    found = _COMPLAINT.fullmatch(text)
    what, path = (found["what"], found["path"] or "") if found else (text, "")
    path = path.lstrip(".")
    unknown = _UNKNOWN.fullmatch(what)
    if unknown is None:
        other = _OTHER.fullmatch(what)
        values = _OPERATIONS if path.endswith("operation") else _DECISIONS
        return _at(document, path, what if other is None else f"{other['value']}: one of {', '.join(values)} is needed")
    fields = ", ".join(field.name for field in msgspec.structs.fields(_struct_at(path)))
    field = f"{path}.{unknown['name']}" if path else unknown["name"]
    return _at(document, field, f"unknown field; there are {fields}")


def _struct_at(path: str) -> type[msgspec.Struct]:
    """Return what a path of a document of cases leads to."""
    structs: dict[str, type[msgspec.Struct]] = {"": _PolicyTest, "user": CaseUser, "expect": Expectation}
    return structs.get(path.rpartition(".")[2], Case)


def _at(document: Document, path: str, what: str) -> UnreadableCases:
    line = document.location(path).line
    return UnreadableCases(f"{document.source}:{line}: {path}: {what}" if path else f"{document.source}:{line}: {what}")


def subset_difference(wanted: Any, given: Any, path: str = "") -> str:
    """Return the first field that is wanted and differs, as a sentence, or "". Lists are compared whole."""
    if isinstance(wanted, Mapping) and isinstance(given, Mapping):
        for name, value in wanted.items():
            below = f"{path}.{name}" if path else str(name)
            if name not in given:
                return f"{below} is absent, want {_shown(value)}"
            if difference := subset_difference(value, given[name], below):
                return difference
        return ""
    if isinstance(wanted, list) and isinstance(given, list) and len(wanted) == len(given):
        for index, (one, other) in enumerate(zip(wanted, given, strict=True)):
            if difference := subset_difference(one, other, f"{path}[{index}]"):
                return difference
        return ""
    return "" if wanted == given else f"{path} is {_shown(given)}, want {_shown(wanted)}"


def _shown(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 200 else f"{text[:199]}…"
