from io import BytesIO

import msgspec
import pytest

from moorage.model.kinds import KINDS, Kind, Kinds, constant_of, kind_of, view_of
from moorage.model.schema.conversion import ConversionError
from moorage.model.schema.known_fields import unknown_fields
from moorage.model.schema.shapes import struct_shape
from moorage.model.text.documents import Document, read_documents
from moorage.model.types.pod import Pod


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_every_kind_has_a_view_of_its_name_that_holds_its_pod_template(kind: Kind) -> None:
    assert kind.view.__name__ == kind.name
    view = view_of({"apiVersion": kind.api_version, "kind": kind.name, "metadata": {"name": "x"}})
    assert isinstance(view, kind.view)
    if kind.template is not None:
        found: object = view
        for step in kind.template:
            found = getattr(found, step)
        assert type(found).__name__ == "PodTemplateSpec"


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_every_field_of_every_kind_has_a_shape(kind: Kind) -> None:
    pending, seen = [struct_shape(kind.view)], set()
    while pending:
        shape = pending.pop()
        if shape.go_name in seen:
            continue
        seen.add(shape.go_name)
        assert shape.known or shape.go_name == "CustomResourceSubresourceStatus"
        for below in shape.nested.values():
            while not hasattr(below, "go_name"):
                below = next(getattr(below, name) for name in ("item", "value", "struct") if hasattr(below, name))
            pending.append(below)


def test_what_a_view_prints_is_what_it_reads() -> None:
    raw = {"apiVersion": "v1", "kind": "Pod", "spec": {"tolerations": [{"key": "a", "expression": "true"}]}}
    view = view_of(raw)
    assert view_of(msgspec.to_builtins(view, enc_hook=str)) == view


def test_unknown_kinds_have_no_view() -> None:
    assert kind_of({"apiVersion": "v1", "kind": "ComponentStatus"}) is None
    assert view_of({"apiVersion": "v1", "kind": "ComponentStatus"}) is None
    assert kind_of({}) is None


def test_groups() -> None:
    assert KINDS.DEPLOYMENT.group == "apps"
    assert KINDS.POD.group == ""


def test_conversion_problems_get_their_lines() -> None:
    (document,) = read_documents(BytesIO(b"apiVersion: v1\nkind: Pod\nspec:\n  priority: high\n  color: red\n"), "f")
    assert isinstance(document, Document)
    with pytest.raises(ConversionError) as caught:
        view_of(document.raw)
    (problem,) = caught.value.problems
    assert (problem.path, *document.location(problem.path)) == ("spec.priority", 4, 3)
    (unknown,) = unknown_fields(document.raw, Pod)
    assert document.location(unknown.path) == (5, 3)


def test_bytes_and_microseconds_are_checked_as_they_are_read() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "data": {"a": "foo!", "b": 5, "c": None, "d": "YQ=="}}
    with pytest.raises(ConversionError) as caught:
        view_of(secret)
    assert [str(problem.reason) for problem in caught.value.problems] == [
        "illegal base64 data at input byte 3",
        "json: cannot unmarshal number into Go struct field Secret.data of type []uint8",
    ]
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {"renewTime": "2024-01-01T00:00:00Z"}}
    with pytest.raises(ConversionError, match=r'cannot parse "Z" as "\.000000"'):
        view_of(lease)


def test_events_of_both_groups_have_their_own_fields() -> None:
    core = view_of({"apiVersion": "v1", "kind": "Event", "involvedObject": {"name": "p"}})
    reported = view_of({"apiVersion": "events.k8s.io/v1", "kind": "Event", "regarding": {"name": "p"}})
    assert (core.involvedObject.name, reported.regarding.name) == ("p", "p")  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: f"{kind.api_version} {kind.name}")
def test_every_kind_has_a_typed_constant(kind: Kind) -> None:
    assert constant_of(kind) in Kinds.__annotations__
    assert getattr(KINDS, constant_of(kind)) is kind
