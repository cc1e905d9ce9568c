"""Every kind of the table has its rows in the layers, and a kind that lacks them is found."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.serve.requests.protobuf.published import published_numbers

from moorage.admit.registry import HOMES, REGISTRY, row_of
from moorage.admit.subresources.pod_parts import POD_PARTS
from moorage.admit.subresources.status_update import APPROVAL
from moorage.model.kinds import KINDS, STANDARD_VERBS, VIRTUAL_KINDS, Kind, Subresource
from moorage.model.schema.merge_schema import struct_type
from moorage.model.schema.shapes import EitherShape, ListShape, MapShape, StructShape, struct_shape
from moorage.model.types.meta import ObjectMeta, TypeMeta
from moorage.model.types.view import Int32, View
from moorage.serve.openapi.definitions import definition_name, describe_type
from moorage.serve.requests.protobuf_reader import UNNUMBERED, field_numbers
from moorage.serve.resources.served import RESOURCES
from moorage.serve.subresources.requests import SUBRESOURCES
from moorage.serve.tables.render import TABLES

API_PAGE = (Path(__file__).resolve().parents[2] / "docs" / "api.md").read_text(encoding="utf-8")

PUBLISHED = published_numbers()


def structs_of(view: type[View]) -> Iterator[StructShape]:
    """Every struct that a document of this type is made of."""
    waiting, seen = [struct_shape(view)], set()
    while waiting:
        struct = waiting.pop()
        if struct in seen:
            continue
        seen.add(struct)
        yield struct
        for shape in struct.nested.values():
            while isinstance(shape, ListShape | MapShape):
                shape = shape.item if isinstance(shape, ListShape) else shape.value
            shape = shape.struct if isinstance(shape, EitherShape) else shape
            assert isinstance(shape, StructShape)
            waiting.append(shape)


def unpublished_numbers(view: type[View]) -> list[str]:
    """Fields whose protobuf number is not the published one; apiVersion and kind are not part of the message."""
    wrong = []
    for struct in structs_of(view):
        message = "events.Event" if struct.view is KINDS.REPORTED_EVENT.view else struct.go_name
        package = definition_name(struct.view).removesuffix(f".{struct.go_name}")
        ours = dict(_numbers(struct.view, message))
        names = {name: number for name, number in ours.items() if not name.startswith("^")}
        grouped = [name[1:] for name in ours if name.startswith("^")]
        published = PUBLISHED.get(definition_name(struct.view), {})
        wrong += [f"{message}.{name}" for name, number in names.items() if published.get(name.lower()) != number]
        known = {name.lower() for name in struct.known}
        groups = {field: number for field, number in published.items() if field not in known}
        wrong += [f"{message}.^{name}" for name in grouped if ours[f"^{name}"] not in groups.values()]
        named = set(names).union(*(_group(struct.view, f"{package}.{name}", wrong) for name in grouped))
        metadata = {"apiVersion", "kind"} if issubclass(struct.view, TypeMeta) else set()
        wrong += [f"{message}.{name}" for name in struct.known - named - metadata]
    return sorted(set(wrong) - UNNUMBERED)


def _numbers(view: type[View], message: str) -> list[tuple[str, int]]:
    return [(name, number) for number, name in field_numbers(view, message)]


def _group(view: type[View], definition: str, wrong: list[str]) -> set[str]:
    """The fields of a group and of those in it; those with a wrong number are added to the list."""
    package, _, message = definition.rpartition(".")
    found = dict(_numbers(view, message))
    names = {name: number for name, number in found.items() if not name.startswith("^")}
    wrong += [
        f"{message}.{name}" for name, number in names.items() if PUBLISHED[definition].get(name.lower()) != number
    ]
    inner = [_group(view, f"{package}.{name[1:]}", wrong) for name in found if name.startswith("^")]
    return set(names).union(*inner)


def missing_rows(kind: Kind) -> list[str]:
    """Name the tables that lack a kind."""
    row = row_of(kind) if kind.view in REGISTRY or kind.name in HOMES else None
    found = {
        "admission (ROWS in admit/kinds, admit/registry.py)": row is not None,
        "status rule (validate_status in ROWS)": kind.has_status
        is (row is not None and row.validate_status is not None),
        "discovery": RESOURCES.get((kind.group, kind.version, kind.plural)) is kind,
        "subresource handlers (serve/subresources.requests.py)": all(
            sub.name in ("status", APPROVAL, *POD_PARTS) or sub.name in SUBRESOURCES for sub in kind.subresources
        ),
        "table (serve/tables/)": (kind.api_version, kind.name) in TABLES,
        "field numbers (serve/protobuf/reader.py)": not unpublished_numbers(kind.view),
        "merge schema": "metadata" in struct_type(kind.view).fields,
        "OpenAPI name": definition_name(kind.view) == f"{kind.openapi_package}.{kind.name}",
        "OpenAPI description (serve/openapi/texts.py)": "of the Kubernetes API" not in describe_type(kind.name),
        "documentation (docs/api.md)": re.search(rf"^\| {kind.name} \| `{kind.api_version}` \|", API_PAGE, re.MULTILINE)
        is not None,
    }
    return [table for table, has_it in found.items() if not has_it]


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: f"{kind.api_version} {kind.name}")
def test_every_kind_has_its_rows(kind: Kind) -> None:
    missing = missing_rows(kind)
    assert not missing, f"{kind.name} has no row in: {', '.join(missing)}"


class BoatSpec(View, frozen=True, gc=False):
    """A part of a kind that has no rows."""

    sails: Int32 = 0


class Boat(TypeMeta, frozen=True, gc=False):
    """A kind that has no rows."""

    metadata: ObjectMeta = ObjectMeta()
    spec: BoatSpec = BoatSpec()


def test_a_kind_without_rows_is_found() -> None:
    row = Kind("example.com/v1", "boats", Boat, subresources=(Subresource("status", ()), Subresource("sail", ())))
    assert [table.split(" (")[0] for table in missing_rows(row)] == [
        "admission",
        "status rule",
        "discovery",
        "subresource handlers",
        "table",
        "field numbers",
        "OpenAPI name",
        "OpenAPI description",
        "documentation",
    ]
    assert unpublished_numbers(Boat) == ["Boat.metadata", "Boat.spec", "BoatSpec.sails"]


def test_no_table_has_a_row_without_a_kind() -> None:
    views = {kind.view for kind in KINDS.values()}
    assert all(row_of(kind) is REGISTRY[kind.view] for kind in KINDS.values())  # imports those that come later
    assert set(REGISTRY) == views
    assert set(HOMES) <= {view.__name__ for view in views}
    assert set(RESOURCES.values()) == {*KINDS.values(), *VIRTUAL_KINDS}
    assert set(TABLES) - set(KINDS) == {
        ("autoscaling/v1", "Scale"),
        ("v1", "ComponentStatus"),
        ("metrics.k8s.io/v1beta1", "NodeMetrics"),
        ("metrics.k8s.io/v1beta1", "PodMetrics"),
    }


def test_names_that_clients_type_lead_to_one_resource() -> None:
    for kind in KINDS.values():
        others = [other for other in KINDS.values() if other is not kind and other.name != kind.name]
        typed = {kind.plural, kind.singular, *kind.short_names}
        assert not any(typed & {other.plural, other.singular, *other.short_names} for other in others)
        assert set(kind.verbs) <= set(STANDARD_VERBS)
