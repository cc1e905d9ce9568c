import pytest

from moorage.model.schema.known_fields import MAX_SUGGESTIONS, UnknownField, nearest_name, unknown_fields
from moorage.model.types.pod import Pod
from moorage.model.types.storage import PersistentVolume


def test_documents_without_unknown_fields() -> None:
    raw = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"labels": {"anything": "x"}, "managedFields": [{"fieldsV1": {"f:spec": {}}}]},
        "spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": 1}}}], "volumes": [{"emptyDir": {}}]},
        "status": {"phase": "Running"},
    }
    assert unknown_fields(raw, Pod) == []


def test_unknown_fields_come_in_document_order_with_the_nearest_known() -> None:
    raw = {
        "metadata": {"lables": {}},
        "spec": {
            "toleration": [],
            "containers": [{"name": "a"}, {"Image": "x", "ports": [{"hostport": 1}]}],
            "quite-something-else": 1,
        },
    }
    found = unknown_fields(raw, Pod)
    assert found == [
        UnknownField("metadata.lables", "labels"),
        UnknownField("spec.toleration", "tolerations"),
        UnknownField("spec.containers[1].Image", "image"),
        UnknownField("spec.containers[1].ports[0].hostport", "hostPort"),
        UnknownField("spec.quite-something-else", None),
    ]
    assert str(found[1]) == 'unknown field "spec.toleration"'


def test_values_of_wrong_types_hide_nothing_and_raise_nothing() -> None:
    assert unknown_fields({"spec": {"containers": {"a": 1}, "affinity": [1], "volumes": [1, None]}}, Pod) == []
    assert unknown_fields([], Pod) == []


def test_inlined_structs_are_part_of_their_parent() -> None:
    assert unknown_fields({"spec": {"csi": {"driver": "x"}, "capacity": {}}}, PersistentVolume) == []
    assert unknown_fields({"spec": {"csi": {"drivr": "x"}}}, PersistentVolume) == [
        UnknownField("spec.csi.drivr", "driver")
    ]


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("toleration", "tolerations"),
        ("Tolerations", "tolerations"),
        ("node_selector", "nodeSelector"),
        ("nodeselctor", "nodeSelector"),
        ("affintiy", "affinity"),
        ("x", None),
        ("containres", "containers"),
    ],
)
def test_nearest_names(name: str, nearest: str | None) -> None:
    assert nearest_name(name, frozenset(("tolerations", "nodeSelector", "affinity", "containers"))) == nearest


def test_suggestions_are_made_for_the_first_fields_only() -> None:
    raw = {f"spe{number}": None for number in range(2 * MAX_SUGGESTIONS)}
    found = unknown_fields(raw, Pod)
    assert len(found) == 2 * MAX_SUGGESTIONS
    assert [field.nearest for field in found] == ["spec"] * 10 + [field.nearest for field in found[10:]]
    assert all(field.nearest is None for field in found[MAX_SUGGESTIONS:])
