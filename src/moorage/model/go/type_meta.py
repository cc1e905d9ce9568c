"""Explain why a document does not tell its kind: it is no object, its apiVersion or kind is no text, or not known.

Kubernetes: SimpleMetaFactory of runtime/serializer/json, by which every document is looked at first.
"""

from typing import Any

from moorage.model.go.json_syntax import json_complaint
from moorage.model.go.quoting import go_quote
from moorage.model.text.json_text import json_type

_TYPE_FIELDS = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
#: Where Kubernetes registers its kinds, as its messages say.
_SCHEME = "pkg/api/legacyscheme/scheme.go:30"
_EXTENSIONS_SCHEME = "pkg/apiserver/apiserver.go:55"
_NO_KIND = "couldn't get version/kind; json parse error: "


def syntax_complaint(text: bytes) -> str:
    """Return why a text is not JSON, or an empty string if it is."""
    complaint = json_complaint(text)
    return complaint and f"{_NO_KIND}{complaint}"


def type_meta_complaint(document: Any) -> str:
    """Return why the kind of a document cannot be told, or an empty string. A null has no kind, which is no error."""
    if document is None:
        return ""
    if not isinstance(document, dict):
        return f"{_NO_KIND}json: cannot unmarshal {json_type(document)} into Go value of type {_TYPE_FIELDS}"
    for name in ("apiVersion", "kind"):
        if not isinstance(document.get(name), str | None):
            found = json_type(document[name])
            return f"{_NO_KIND}json: cannot unmarshal {found} into Go struct field .{name} of type string"
    return ""


def unregistered(api_version: str, kind: str) -> str:
    """Return what the API server says of a kind that it does not know, where it decodes objects of built-in kinds."""
    scheme = _EXTENSIONS_SCHEME if api_version.startswith("apiextensions.k8s.io/") else _SCHEME
    return f"no kind {go_quote(kind)} is registered for version {go_quote(api_version)} in scheme {go_quote(scheme)}"
