"""Documents and writers for the tests of this folder."""

from typing import Any

from tests.objects import pod as pod

from moorage.serve.apply.managed_fields import apply_patch, on_create, on_update

Raw = dict[str, Any]


T1, T2, T3 = (f"2026-01-01T00:00:0{second}Z" for second in (1, 2, 3))


def deployment(spec: Raw, **metadata: Any) -> Raw:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "namespace": "default", **metadata},
        "spec": spec,
    }


def created(document: Raw, kind: Any, manager: str = "creator", time: str = T1) -> Raw:
    stored = on_create(document, kind, manager, time)
    stored["metadata"]["uid"] = "u"
    return stored


def updated(old: Raw, kind: Any, manager: str, changes: Raw, subresource: str = "", time: str = T2) -> Raw:
    """An update that replaces top-level fields, metadata member by member."""
    metadata = {**old["metadata"], **changes.get("metadata", {})}
    return on_update({**old, **changes, "metadata": metadata}, old, kind, manager, subresource, time)


def applied(live: Raw | None, patch: Raw, kind: Any, manager: str, *, force: bool = False, time: str = T2) -> Raw:
    return apply_patch(live, patch, kind, manager, force, "", time)


def owned(document: Raw) -> dict[tuple[str, ...], Raw]:
    """Who owns what: (manager, operation) or (manager, operation, subresource) to a set."""
    found: dict[tuple[str, ...], Raw] = {}
    for entry in document["metadata"].get("managedFields", []):
        who = (entry["manager"], entry["operation"], *([entry["subresource"]] if "subresource" in entry else []))
        found[who] = entry["fieldsV1"]
    return found


def body(document: Raw) -> Raw:
    """The document without its managedFields."""
    metadata = {name: value for name, value in document["metadata"].items() if name != "managedFields"}
    return {**document, "metadata": metadata}
