"""What updates and patches do to who owns what."""

from typing import Any

import pytest
from tests.unit.serve.apply.cases import T1, T2, T3, Raw, body, created, deployment, owned, pod, updated

from moorage.model.kinds import KINDS
from moorage.serve.apply.managed_fields import keep_times, on_update

SPEC: Raw = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": {"spec": {"containers": []}}}


def test_who_changes_a_value_takes_it() -> None:
    live = created(deployment(SPEC), KINDS.DEPLOYMENT)
    after = updated(live, KINDS.DEPLOYMENT, "scaler", {"spec": {**SPEC, "replicas": 2}})
    assert owned(after) == {
        ("creator", "Update"): {"f:spec": {"f:selector": {}}},
        ("scaler", "Update"): {"f:spec": {"f:replicas": {}}},
    }
    assert [entry["time"] for entry in after["metadata"]["managedFields"]] == [T1, T2]


def test_equal_values_keep_their_owner_and_a_write_without_change_keeps_all() -> None:
    live = created(deployment(SPEC), KINDS.DEPLOYMENT)
    assert updated(live, KINDS.DEPLOYMENT, "other", {}) == live
    assert updated(live, KINDS.DEPLOYMENT, "creator", {}, time=T3) == live


def test_who_does_not_know_managed_fields_does_not_lose_them() -> None:
    live = created(deployment(SPEC), KINDS.DEPLOYMENT)
    assert on_update(body(live), live, KINDS.DEPLOYMENT, "other", "", T2) == live


def test_what_is_removed_nobody_owns() -> None:
    live = created(deployment(SPEC, labels={"a": "1", "b": "2"}), KINDS.DEPLOYMENT)
    after = updated(live, KINDS.DEPLOYMENT, "other", {"metadata": {"labels": {"b": "2"}}})
    assert owned(after)[("creator", "Update")]["f:metadata"] == {"f:labels": {".": {}, "f:b": {}}}
    assert len(owned(after)) == 1
    gone = updated(after, KINDS.DEPLOYMENT, "other", {"metadata": {"labels": None}})
    assert "f:metadata" not in owned(gone)[("creator", "Update")]


def test_empty_and_absent_are_the_same() -> None:
    live = created(deployment(SPEC), KINDS.DEPLOYMENT)
    after = updated(
        live, KINDS.DEPLOYMENT, "other", {"metadata": {"labels": {}}, "spec": {**SPEC, "paused": False}, "status": {}}
    )
    assert after["metadata"]["managedFields"] == live["metadata"]["managedFields"]


def test_an_element_of_a_list_is_owned_by_who_added_it() -> None:
    live = created(pod(), KINDS.POD)
    more = [{"name": "sidecar", "image": "s"}, {"name": "c", "image": "i"}]
    after = updated(live, KINDS.POD, "injector", {"spec": {"containers": more}})
    assert owned(after)[("injector", "Update")] == {
        "f:spec": {"f:containers": {'k:{"name":"sidecar"}': {".": {}, "f:image": {}, "f:name": {}, "f:resources": {}}}}
    }
    assert owned(after)[("creator", "Update")] == owned(live)[("creator", "Update")]


def test_status_is_owned_by_who_reports_it_and_spec_is_not() -> None:
    live = created(pod(), KINDS.POD)
    condition = {"type": "Ready", "status": "True"}
    after = updated(
        live, KINDS.POD, "kubelet", {"spec": {}, "status": {"phase": "Running", "conditions": [condition]}}, "status"
    )
    assert owned(after)[("kubelet", "Update", "status")] == {
        "f:status": {
            "f:conditions": {
                ".": {},
                'k:{"type":"Ready"}': {
                    ".": {},
                    "f:lastProbeTime": {},
                    "f:lastTransitionTime": {},
                    "f:status": {},
                    "f:type": {},
                },
            },
            "f:phase": {},
        }
    }
    assert owned(after)[("creator", "Update")] == owned(live)[("creator", "Update")]
    assert "kubelet" not in str(owned(updated(live, KINDS.POD, "kubelet", {"status": {"phase": "Running"}})))


def test_the_same_report_again_only_moves_the_time() -> None:
    live = created(pod(), KINDS.POD)
    first = updated(live, KINDS.POD, "kubelet", {"status": {"phase": "Pending"}}, "status")
    second = updated(first, KINDS.POD, "kubelet", {"status": {"phase": "Running"}}, "status", T3)
    assert owned(second) == owned(first)
    assert [entry["time"] for entry in second["metadata"]["managedFields"]] == [T1, T3]
    kept = second["metadata"]["managedFields"][1]["fieldsV1"]
    assert kept is first["metadata"]["managedFields"][1]["fieldsV1"]


def test_structs_that_go_always_writes_are_there_before_they_are_set() -> None:
    live = created(
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {"unschedulable": True}}, KINDS.NODE
    )
    after = updated(live, KINDS.NODE, "kubelet", {"status": {"nodeInfo": {"kubeletVersion": "v1.36.4"}}}, "status")
    assert owned(after)[("kubelet", "Update", "status")] == {"f:status": {"f:nodeInfo": {"f:kubeletVersion": {}}}}
    gone = updated(after, KINDS.NODE, "other", {"status": {}}, "status")
    assert owned(gone)[("other", "Update", "status")] == {"f:status": {"f:nodeInfo": {"f:kubeletVersion": {}}}}


@pytest.mark.parametrize("sent", [[], [{}]])
def test_clients_may_reset_managed_fields(sent: list[Any]) -> None:
    live = created(pod(), KINDS.POD)
    assert "managedFields" not in updated(live, KINDS.POD, "m", {"metadata": {"managedFields": sent}})["metadata"]
    kept = updated(live, KINDS.POD, "m", {"metadata": {"managedFields": sent}}, "status")
    assert owned(kept) == owned(live)


def test_objects_without_managed_fields_are_not_tracked() -> None:
    live = pod()
    live["metadata"]["uid"] = "u"
    assert updated(live, KINDS.POD, "m", {"metadata": {"labels": {"a": "b"}}})["metadata"].get("managedFields") is None


def test_clients_may_edit_managed_fields() -> None:
    live = created(pod(), KINDS.POD)
    entry = {
        "manager": "z",
        "operation": "Apply",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:nodeSelector": {"f:a": {}}, "f:nodeName": {".": {}}}},
    }
    old_version = {**entry, "manager": "y", "apiVersion": "v9"}
    after = updated(live, KINDS.POD, "m", {"metadata": {"managedFields": [entry, old_version]}})
    assert owned(after) == {("z", "Apply"): {"f:spec": {"f:nodeName": {}, "f:nodeSelector": {}}}}


@pytest.mark.parametrize(
    "nonsense",
    [
        {"operation": "Dance"},
        {"apiVersion": ""},
        {"fieldsType": ""},
        {"fieldsType": "FieldsV2"},
        {"fieldsV1": {"bad": {}}},
        {"fieldsV1": []},
        {"manager": 1},
        {"time": 1},
    ],
)
def test_managed_fields_that_make_no_sense_are_ignored(nonsense: Raw) -> None:
    entry = {
        "manager": "m",
        "operation": "Update",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:a": {}},
    }
    live = created(pod(), KINDS.POD)
    for sent in ([{**entry, **nonsense}], ["x"], "x", 1):
        after = updated(live, KINDS.POD, "m", {"metadata": {"managedFields": sent}})
        assert owned(after) == owned(live)


def test_only_ten_updaters_are_remembered() -> None:
    live = created(deployment(SPEC), KINDS.DEPLOYMENT)
    for index in range(12):
        annotations = {**live["metadata"].get("annotations", {}), f"a{index}": "x"}
        time = f"2026-01-02T00:00:{index:02}Z"
        live = updated(live, KINDS.DEPLOYMENT, f"m{index:02}", {"metadata": {"annotations": annotations}}, time=time)
    names = [entry["manager"] for entry in live["metadata"]["managedFields"]]
    assert names == ["ancient-changes", *(f"m{index:02}" for index in range(3, 12))]
    assert owned(live)[("ancient-changes", "Update")] == {
        "f:metadata": {"f:annotations": {".": {}, "f:a0": {}, "f:a1": {}, "f:a2": {}}},
        "f:spec": {"f:replicas": {}, "f:selector": {}},
    }
    assert live["metadata"]["managedFields"][0]["time"] == "2026-01-02T00:00:02Z"


def test_entries_keep_their_times_if_nothing_else_has_changed() -> None:
    live = created(pod(), KINDS.POD)
    entries = [{**entry, "time": T3} for entry in live["metadata"]["managedFields"]]
    again = {**live, "metadata": {**live["metadata"], "managedFields": entries}}
    assert keep_times(again, live) == live
    renamed = {**again, "metadata": {**again["metadata"], "labels": {"a": "b"}}}
    assert keep_times(renamed, live) is renamed
    fewer = {**live, "metadata": {**live["metadata"], "managedFields": []}}
    assert keep_times(fewer, live) is fewer
    assert keep_times(live, fewer) is live
    other = {**live, "metadata": {**live["metadata"], "managedFields": [{**entries[0], "manager": "o"}]}}
    assert keep_times(other, live) is other


def test_elements_of_one_name_are_compared_as_a_whole() -> None:
    one, other = {"name": "c", "image": "i"}, {"name": "c", "image": "j"}
    element = 'k:{"name":"c"}'
    single = created(pod(containers=[one]), KINDS.POD)
    double = updated(single, KINDS.POD, "doubler", {"spec": {"containers": [one, other]}})
    assert owned(double) == {("doubler", "Update"): {"f:spec": {"f:containers": {element: {}}}}}
    swapped = updated(double, KINDS.POD, "swapper", {"spec": {"containers": [other, one]}})
    assert list(owned(swapped)) == [("swapper", "Update")]
    again = updated(swapped, KINDS.POD, "cleaner", {"spec": {"containers": [one]}})
    assert owned(again) == {
        ("cleaner", "Update"): {
            "f:spec": {"f:containers": {element: {".": {}, "f:image": {}, "f:name": {}, "f:resources": {}}}}
        }
    }


def test_objects_that_stop_fitting_their_schema_lose_managed_fields() -> None:
    live = created(pod(), KINDS.POD)
    assert "managedFields" not in updated(live, KINDS.POD, "m", {"spec": {"containers": ["c"]}})["metadata"]


def test_a_kind_without_status_resets_nothing() -> None:
    live = created(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": ""}}, KINDS.CONFIG_MAP
    )
    after = updated(live, KINDS.CONFIG_MAP, "m", {"data": {"a": "", "b": "x"}})
    assert owned(after) == {
        ("creator", "Update"): {"f:data": {".": {}, "f:a": {}}},
        ("m", "Update"): {"f:data": {"f:b": {}}},
    }


def test_fields_that_are_not_known_are_owned_all_the_same() -> None:
    live = created(pod(), KINDS.POD)
    after = updated(live, KINDS.POD, "m", {"spec": {**live["spec"], "novel": {"a": {"b": [1]}, "c": {}}}})
    novel: Raw = {".": {}, "f:a": {".": {}, "f:b": {}}, "f:c": {}}
    assert owned(after)[("m", "Update")] == {"f:spec": {"f:novel": novel}}
    more = updated(after, KINDS.POD, "n", {"spec": {**live["spec"], "novel": {"a": {"b": [2]}, "c": {}}}})
    assert owned(more)[("n", "Update")] == {"f:spec": {"f:novel": {"f:a": {"f:b": {}}}}}
