"""Report what the API server would say about a custom object, by the definition of its kind in the input.

Kubernetes: a CustomResourceDefinition that is established before the object is applied.
"""

from collections.abc import Iterator

from moorage.admit.kinds.api_server.custom_objects import finalizer_warnings, validate_custom_object
from moorage.admit.raw import copy_document, part
from moorage.admit.request import ANY_REQUEST, complete_metadata
from moorage.custom.objects.decoding import decode_request
from moorage.custom.objects.embedded import MalformedError
from moorage.lint.facts.custom_kinds import DefinedKind
from moorage.lint.rules.decoding import rejections, warnings_given
from moorage.lint.subject import Complaint
from moorage.model.gates import GateSet
from moorage.model.go.quoting import go_quote
from moorage.model.text.documents import Document


def unserved_version(document: Document, versions: dict[str, DefinedKind]) -> Complaint:
    """Report a version that the definition does not have, or does not serve."""
    kind, version = document.raw["kind"], document.raw["apiVersion"]
    served = [one.kind.api_version for one in versions.values() if one.served]
    hint = f"write apiVersion: {served[0]}" if served else "its definition serves no version"
    return Complaint("unserved-version", "apiVersion", f'no matches for kind "{kind}" in version "{version}"', hint)


def check_custom_object(
    document: Document, defined: DefinedKind, gates: GateSet, *, strict: bool
) -> Iterator[Complaint]:
    """Yield complaints about fields, then the API server's refusal or its warnings."""
    prefix = "strict decoding error: " if strict else ""
    obj = copy_document(document.raw)
    kind, rules = defined.kind, defined.rules
    try:
        unknown = decode_request(obj, rules.schema)
    except MalformedError as error:
        text = f'{kind.name} in version "{kind.version}" cannot be handled as a {kind.name}: {error}'
        path = str(error).partition(": Invalid value: ")[0] if ": Invalid value: " in str(error) else "metadata"
        yield Complaint("rejected", path, text, api_server=True)
        return
    for path in unknown:
        yield Complaint("unknown-field", path, f"{prefix}unknown field {go_quote(path)}", api_server=True)
    for duplicate in document.duplicates:
        hint = "remove one of them: the last one wins"
        yield Complaint("duplicate-field", duplicate.path, f"{prefix}{duplicate}", hint, api_server=True)
    if any(one.name == "status" for one in kind.subresources):
        obj.pop("status", None)
    complete_metadata(obj, None, ANY_REQUEST, namespaced=kind.namespaced)
    part(obj, "metadata")["generation"] = 1
    found = validate_custom_object(obj, rules)
    yield from rejections(found.errors, gates)
    if not found.errors:
        warnings = [defined.warning] if defined.warning else []
        yield from warnings_given([*warnings, *finalizer_warnings(obj, None)])
