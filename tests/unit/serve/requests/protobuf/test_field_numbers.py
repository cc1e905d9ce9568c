"""Our field numbers are the published ones."""

from tests.unit.serve.requests.protobuf.published import published_numbers, read_proto
from tests.unit.test_every_kind import unpublished_numbers

from moorage.model.kinds import KINDS, VIRTUAL_KINDS
from moorage.model.types.request import Binding, DeleteOptions, Eviction
from moorage.model.types.view import View


def test_every_field_has_its_published_number() -> None:
    views: list[type[View]] = [kind.view for kind in (*KINDS.values(), *VIRTUAL_KINDS)]
    views += [Binding, DeleteOptions, Eviction]
    for view in views:
        assert unpublished_numbers(view) == []


def test_published_files_are_read() -> None:
    text = (
        "// a thing\nmessage Thing {\n  // its name\n  optional string name = 1;\n\n  repeated k8s.io.api.B b = 3;\n"
        "  map<string, string> labels = 2;\n}\n"
    )
    assert read_proto(text, "x") == ["x.Thing: name=1 labels=2 b=3"]
    assert published_numbers()["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"]["managedfields"] == 17
