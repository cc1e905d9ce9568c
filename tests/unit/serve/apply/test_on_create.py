"""What the creator of an object owns of it."""

from tests.unit.serve.apply.cases import T1, created, deployment, owned, pod

from moorage.model.kinds import KINDS
from moorage.serve.apply.managed_fields import created_fields, entry_for, on_create


def test_a_pod() -> None:
    document = pod(
        containers=[
            {
                "name": "c",
                "image": "i",
                "ports": [{"containerPort": 80, "protocol": "TCP"}],
                "env": [{"name": "A", "value": ""}],
                "livenessProbe": {"httpGet": {"port": 80}},
            }
        ],
        nodeSelector={"a": "b"},
        tolerations=[{"key": "k", "operator": "Exists"}],
        hostNetwork=False,
        terminationGracePeriodSeconds=0,
        securityContext={},
        volumes=[],
    )
    document["metadata"]["labels"] = {"app": "x"}
    document["status"] = {"phase": "Running"}
    entry = on_create(document, KINDS.POD, "kubectl-create", T1)["metadata"]["managedFields"]
    assert entry == [
        {
            "manager": "kubectl-create",
            "operation": "Update",
            "apiVersion": "v1",
            "time": T1,
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
                "f:spec": {
                    "f:containers": {
                        'k:{"name":"c"}': {
                            ".": {},
                            "f:env": {".": {}, 'k:{"name":"A"}': {".": {}, "f:name": {}}},
                            "f:image": {},
                            "f:livenessProbe": {".": {}, "f:httpGet": {".": {}, "f:port": {}}},
                            "f:name": {},
                            "f:ports": {
                                ".": {},
                                'k:{"containerPort":80,"protocol":"TCP"}': {
                                    ".": {},
                                    "f:containerPort": {},
                                    "f:protocol": {},
                                },
                            },
                            "f:resources": {},
                        }
                    },
                    "f:nodeSelector": {},
                    "f:securityContext": {},
                    "f:terminationGracePeriodSeconds": {},
                    "f:tolerations": {},
                },
            },
        }
    ]


def test_a_deployment_owns_no_level_that_every_deployment_has() -> None:
    spec = {
        "replicas": 0,
        "selector": {"matchLabels": {"a": "b"}},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "resources": {}}]}},
    }
    assert owned(created(deployment(spec), KINDS.DEPLOYMENT)) == {
        ("creator", "Update"): {
            "f:spec": {
                "f:replicas": {},
                "f:selector": {},
                "f:strategy": {"f:rollingUpdate": {".": {}, "f:maxSurge": {}}, "f:type": {}},
                "f:template": {
                    "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
                    "f:spec": {"f:containers": {'k:{"name":"c"}': {".": {}, "f:name": {}, "f:resources": {}}}},
                },
            }
        }
    }


def test_sets_are_owned_by_value_and_status_by_nobody() -> None:
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n", "finalizers": ["b", "a"], "uid": "u", "generation": 1},
        "spec": {"podCIDRs": ["10.0.0.0/8"]},
        "status": {"capacity": {"cpu": "1"}},
    }
    assert owned(on_create(node, KINDS.NODE, "m", T1)) == {
        ("m", "Update"): {
            "f:metadata": {"f:finalizers": {".": {}, 'v:"a"': {}, 'v:"b"': {}}},
            "f:spec": {"f:podCIDRs": {".": {}, 'v:"10.0.0.0/8"': {}}},
        }
    }


def test_who_sets_nothing_owns_nothing() -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    assert on_create(node, KINDS.NODE, "m", T1) == {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}


def test_elements_of_one_name_are_owned_as_a_whole() -> None:
    document = pod(containers=[{"name": "c", "image": "i"}, {"name": "c", "image": "j"}])
    assert owned(created(document, KINDS.POD)) == {
        ("creator", "Update"): {"f:spec": {"f:containers": {'k:{"name":"c"}': {}}}}
    }


def test_objects_that_do_not_fit_their_schema_get_no_managed_fields() -> None:
    assert "managedFields" not in on_create(pod(containers=["c"]), KINDS.POD, "m", T1)["metadata"]


def test_entries_of_a_restored_object_are_kept() -> None:
    document = created(pod(nodeName="n"), KINDS.POD, "before")
    restored = on_create(
        {**document, "metadata": {**document["metadata"], "labels": {"a": "b"}}}, KINDS.POD, "restore", T1
    )
    assert owned(restored)[("restore", "Update")]["f:metadata"] == {"f:labels": {".": {}, "f:a": {}}}
    assert ("before", "Update") not in owned(restored)  # all that it owned was written anew


def test_reading_entries_that_make_no_sense_is_not_tried() -> None:
    document = pod()
    document["metadata"]["managedFields"] = [{"manager": "m", "operation": "Dance"}]
    assert list(owned(created(document, KINDS.POD))) == [("creator", "Update")]


def test_the_set_of_a_template_can_be_kept() -> None:
    fields = created_fields(pod(), KINDS.POD)
    assert entry_for(fields, KINDS.POD, "m", T1) == on_create(pod(), KINDS.POD, "m", T1)["metadata"]["managedFields"]
    assert entry_for({}, KINDS.POD, "m", T1) == []
    assert entry_for(fields, KINDS.POD, "", T1)[0]["manager"] == "unknown"
