"""Nodes, volumes, claims, and the small kinds."""

import copy
from typing import Any

import pytest
from tests.unit.admit.objects import Raw, complaints, document, node, rejected, stored, volume

NOT_NEGATIVE = "must be greater than or equal to 0"
CLAIM_SPEC = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def changed(old: Raw, path: str, value: Any) -> list[str]:
    new = copy.deepcopy(old)
    at = new
    *steps, last = path.split(".")
    for step in steps:
        at = at.setdefault(step, {})
    at[last] = value
    return complaints(new, old)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}], "podCIDRs": ["10.0.0.0/24", "fd00::/64"]}}, []),
        ({"spec": {"taints": [{"key": "a"}]}}, ["metadata.taints[0].effect: Required value"]),
        (
            {"spec": {"podCIDR": "10.0.0.0"}},
            [
                'spec.podCIDRs[0]: Invalid value: "10.0.0.0": must be a valid CIDR value, (e.g. 10.9.8.0/24 or '
                "2001:db8::/64)"
            ],
        ),
        (
            {"spec": {"podCIDRs": ["10.0.0.0/24", "10.1.0.0/24"]}},
            [
                'spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.1.0.0/24"]: may specify no more than one CIDR for '
                "each "
                "IP family"
            ],
        ),
        (
            {"status": {"capacity": {"memory": "-1", "pods": "1.5"}, "allocatable": {}}},
            [
                f'status.capacity.memory: Invalid value: "-1": {NOT_NEGATIVE}',
                'status.capacity.pods: Invalid value: "1500m": must be an integer',
            ],
        ),
        (
            {"status": {"nodeInfo": {"swap": {"capacity": 0}}}},
            ["metadata.nodeSwapStatus.capacity: Invalid value: 0: must be greater than zero"],
        ),
        ({"status": {"declaredFeatures": ["A", "B/c"]}}, []),
        (
            {"status": {"declaredFeatures": ["B", "A", "A"]}},
            [
                'status.declaredFeatures[1]: Invalid value: "A": list must be sorted alphabetically',
                'status.declaredFeatures[2]: Duplicate value: "A"',
            ],
        ),
        (
            {"status": {"declaredFeatures": ["a"]}},
            [
                'status.declaredFeatures[0]: Invalid value: "a": invalid feature name "a": must start with an '
                "UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or "
                "MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
            ],
        ),
    ],
)
def test_nodes(fields: Raw, expected: list[str]) -> None:
    assert complaints(document("Node", "n1", **fields)) == expected


def test_node_updates() -> None:
    old = stored(node(podCIDRs=["10.0.0.0/24"], providerID="a"))
    assert changed(old, "spec.taints", [{"key": "a", "effect": "NoExecute"}]) == []
    assert (
        changed(old, "spec.taints", [{"key": "a", "effect": "Odd"}])
        == [
            'metadata.taints[0].effect: Unsupported value: "Odd": supported values: "NoSchedule", "PreferNoSchedule", '
            '"NoExecute"'
        ]
        * 2
    )
    cidr = 'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid'
    assert changed(old, "spec.podCIDRs", ["10.1.0.0/24"]) == [cidr]
    assert changed(old, "spec.podCIDRs", []) == [cidr]
    assert changed(old, "spec.providerID", "b") == [
        'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid'
    ]
    assert changed(old, "spec.externalID", "x") == ["spec.externalID: Forbidden: may not be updated"]
    assert changed(old, "status.addresses", [{"type": "a"}] * 2) == []  # an update does not write the status
    twice = copy.deepcopy(old)
    twice["status"] = {"addresses": [{"type": "Hostname", "address": "h"}] * 2}
    assert complaints(twice, twice) == [
        'status.addresses[1]: Duplicate value: {"Type":"Hostname","Address":"h"}',
    ]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, []),
        (
            {"accessModes": [], "capacity": None},
            [
                "spec.accessModes: Required value",
                "spec.capacity: Required value",
                'spec.capacity: Unsupported value: null: supported values: "storage"',
            ],
        ),
        (
            {"accessModes": ["ReadWriteOnce", "ReadWriteOncePod", "Odd"]},
            [
                'spec.accessModes: Unsupported value: "Odd": supported values: "ReadOnlyMany", "ReadWriteMany", '
                '"ReadWriteOnce", "ReadWriteOncePod"',
                "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes",
            ],
        ),
        (
            {"capacity": {"storage": "-1", "cpu": "1"}},
            [
                'spec.capacity: Unsupported value: {"cpu":"1","storage":"-1"}: supported values: "storage"',
                "spec.capacity[storage]: Invalid value: -1: must be a valid resource quantity",
                'spec.capacity[storage]: Invalid value: "-1": must be greater than zero',
            ],
        ),
        ({"hostPath": None}, ["spec: Required value: must specify a volume type"]),
        ({"nfs": {"server": "s", "path": "/p"}}, ["spec.nfs: Forbidden: may not specify more than 1 volume type"]),
        (
            {"hostPath": None, "local": {"path": "a/../b"}},
            [
                "spec.local.path: Invalid value: \"a/../b\": must not contain '..'",
                "spec.nodeAffinity: Required value: Local volume requires node affinity",
            ],
        ),
        ({"nodeAffinity": {}}, ["spec.nodeAffinity.required: Required value: must specify required node constraints"]),
        (
            {"hostPath": None, "csi": {"driver": "d.io", "nodePublishSecretRef": {"name": "A"}}},
            [
                "spec.csi.volumeHandle: Required value",
                'spec.csi.nodePublishSecretRef.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist '
                "of "
                "lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character "
                "(e.g. 'example.com', regex used for validation is "
                "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*"
                "[a-z0-9])?)*')",
                "spec.csi.nodePublishSecretRef.namespace: Required value",
            ],
        ),
        (
            {"hostPath": {"path": "/"}, "persistentVolumeReclaimPolicy": "Recycle"},
            ["spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'"],
        ),
        (
            {"persistentVolumeReclaimPolicy": "Odd", "volumeMode": "Odd"},
            [
                'spec.persistentVolumeReclaimPolicy: Unsupported value: "Odd": supported values: "Delete", "Recycle", '
                '"Retain"',
                'spec.volumeMode: Unsupported value: "Odd": supported values: "Block", "Filesystem"',
            ],
        ),
        (
            {"volumeAttributesClassName": ""},
            [
                "spec.volumeAttributesClassName: Required value: an empty string is disallowed",
                "spec.csi: Required value: has to be specified when using volumeAttributesClassName",
            ],
        ),
    ],
)
def test_volumes(spec: Raw, expected: list[str]) -> None:
    assert complaints(volume(**spec)) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"glusterfs": {"endpointsNamespace": ""}}, ["endpoints", "path", "endpointsNamespace"]),
        ({"glusterfs": {"endpoints": "e", "path": "p", "endpointsNamespace": "A"}}, ["endpointsNamespace"]),
        ({"rbd": {}}, ["monitors", "image"]),
        ({"cephfs": {}}, ["monitors"]),
        ({"cinder": {}}, ["volumeID"]),
        ({"cinder": {"secretRef": {}}}, ["volumeID", "secretRef.name", "secretRef.namespace"]),
        ({"flexVolume": {"options": {"k8s.io/a": "b"}}}, ["driver", "options[k8s.io/a]"]),
        ({"azureFile": {"secretNamespace": ""}}, ["secretName", "shareName", "secretNamespace"]),
        ({"scaleIO": {}}, ["gateway", "system", "volumeName"]),
        (
            {"storageos": {"volumeNamespace": "A", "secretRef": {"name": "a"}}},
            ["volumeName", "volumeNamespace", "secretRef.namespace"],
        ),
        (
            {"iscsi": {"targetPortal": "t" * 64, "secretRef": {}, "initiatorName": "x"}},
            ["targetportal", "iqn", "secretRef.name", "initiatorname"],
        ),
        ({"iscsi": {"iqn": "x", "lun": -1, "chapAuthSession": True}}, ["targetPortal", "iqn", "lun", "secretRef"]),
        ({"local": {}}, ["path"]),
        ({"vsphereVolume": {}}, ["volumePath"]),
    ],
)
def test_volume_sources(source: Raw, expected: list[str]) -> None:
    (name,) = source
    affinity: Raw = {"required": {"nodeSelectorTerms": [{}]}}
    found = complaints(volume(hostPath=None, nodeAffinity=affinity, **source))
    assert [text.partition(": ")[0] for text in found] == [f"spec.{name}.{field}" for field in expected]


def test_iscsi_names_have_shorter_error_texts_than_pod_names() -> None:
    found = complaints(volume(hostPath=None, iscsi={"targetPortal": "t", "iqn": "x"}))
    assert found == ['spec.iscsi.iqn: Invalid value: "x": must be valid format']


def test_an_empty_capacity_is_shown_as_such() -> None:
    supported = 'supported values: "storage"'
    for capacity, shown in ((None, "null"), ({}, "{}"), ({"cpu": "1000m"}, '{"cpu":"1"}')):
        assert complaints(volume(capacity=capacity))[-1] == f"spec.capacity: Unsupported value: {shown}: {supported}"


def zone_affinity(key: str, *zones: str) -> Raw:
    requirement = {"key": key, "operator": "In", "values": list(zones)}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}}


def test_volume_updates() -> None:
    beta, stable = "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"
    old = stored(volume(nodeAffinity=zone_affinity(beta, "a")))
    assert changed(old, "spec.nodeAffinity", zone_affinity(stable, "a")) == []
    assert changed(old, "spec.nodeAffinity", zone_affinity(stable, "b")) == [
        'nodeAffinity: Invalid value: {"Required":{"NodeSelectorTerms":[{"MatchExpressions":[{"Key":"'
        f'{stable}","Operator":"In","Values":["b"]}}],"MatchFields":null}}]}}}}: field is immutable, except for '
        "updating "
        "from beta label to GA"
    ]
    assert changed(old, "spec.nodeAffinity", None) == [
        "nodeAffinity: Invalid value: null: field is immutable, except for updating from beta label to GA"
    ]
    assert changed(stored(volume()), "spec.nodeAffinity", zone_affinity(beta, "a")) == []
    # Upstream takes an empty key for the new name of any other, so that only the key itself is wrong.
    affinities = stored(volume(nodeAffinity=zone_affinity("a", "a")))
    found = changed(affinities, "spec.nodeAffinity", zone_affinity("", "a"))
    assert {text.partition("[")[0] for text in found} == {"spec.nodeAffinity.required.nodeSelectorTerms"}
    assert changed(old, "spec.hostPath", {"path": "/other", "type": ""}) == [
        "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation"
    ]
    assert changed(old, "spec.volumeMode", "Block") == ['volumeMode: Invalid value: "Block": field is immutable']
    assert changed(old, "spec.capacity", {"storage": "2Gi"}) == []


def test_a_secret_for_growing_may_be_added_to_a_csi_volume() -> None:
    old = stored(volume(hostPath=None, csi={"driver": "d.io", "volumeHandle": "h"}, volumeAttributesClassName="c"))
    secret = {"name": "s", "namespace": "n"}
    assert changed(old, "spec.csi.controllerExpandSecretRef", secret) == []
    assert len(changed(old, "spec.csi.nodeStageSecretRef", secret)) == 1
    assert changed(old, "spec.volumeAttributesClassName", None) == [
        "spec.volumeAttributesClassName: Forbidden: update from non-nil value to nil is forbidden"
    ]


def test_claims() -> None:
    made = document("PersistentVolumeClaim", spec={})
    assert complaints(made) == [
        "spec.accessModes: Required value: at least 1 access mode is required",
        "spec.resources[storage]: Required value",
    ]
    old = stored(document("PersistentVolumeClaim", spec=CLAIM_SPEC))
    immutable = (
        "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for "
        "bound claims"
    )
    assert changed(old, "spec.volumeName", "v") == []
    assert changed(old, "spec.storageClassName", "c") == []
    assert changed(old, "spec.resources", {"requests": {"storage": "2Gi"}}) == [immutable]
    assert changed(old, "spec.volumeMode", "Block") == [
        immutable,
        'volumeMode: Invalid value: "Block": field is immutable',
    ]
    bound = copy.deepcopy(old)
    bound["status"] = {"phase": "Bound", "capacity": {"storage": "1Gi"}, "currentVolumeAttributesClassName": "c"}
    bound["spec"] |= {"volumeAttributesClassName": "c", "volumeName": "v"}
    assert changed(bound, "spec.resources", {"requests": {"storage": "2Gi"}}) == []
    assert changed(bound, "spec.resources", {"requests": {"storage": "1Mi"}}) == [
        "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"
    ]
    assert changed(bound, "spec.volumeName", "w") == [immutable]
    for value, to in ((None, "nil"), ("", "empty string")):
        assert changed(bound, "spec.volumeAttributesClassName", value) == [
            f"spec.volumeAttributesClassName: Forbidden: update to {to} is forbidden when "
            "status.currentVolumeAttributesClassName is not nil"
        ]


def test_the_class_of_a_claim_may_move_from_annotation_to_field() -> None:
    annotation = "volume.beta.kubernetes.io/storage-class"
    made = document("PersistentVolumeClaim", spec=CLAIM_SPEC)
    made["metadata"]["annotations"] = {annotation: "c"}
    old = stored(made)
    assert changed(old, "spec.storageClassName", "c") == []
    assert [text.partition(":")[0] for text in changed(old, "spec.storageClassName", "d")] == ["spec"]
    assert changed(old, "metadata.annotations", {}) == [
        f'metadata.annotations.{annotation}: Invalid value: "": field is immutable'
    ]


def test_the_selector_of_an_old_claim_may_keep_its_mistake() -> None:
    selector = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["-"]}]}
    old = stored(document("PersistentVolumeClaim", spec=CLAIM_SPEC))
    old["spec"]["selector"] = selector
    assert complaints(old, old) == []


PRIORITY_PREFIX = (
    "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. "
)


@pytest.mark.parametrize(
    ("name", "fields", "expected"),
    [
        ("a", {"value": 1000000000}, []),
        (
            "a",
            {"value": 1000000001},
            ["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"],
        ),
        ("system-node-critical", {"value": 2000001000}, []),
        (
            "system-node-critical",
            {"value": 5},
            [f"{PRIORITY_PREFIX}error: value of system-node-critical PriorityClass must be 2000001000"],
        ),
        (
            "system-node-critical",
            {"value": 2000001000, "globalDefault": True},
            [f"{PRIORITY_PREFIX}error: globalDefault of system-node-critical PriorityClass must be false"],
        ),
        ("system-x", {}, [f"{PRIORITY_PREFIX}error: system-x is not a known system priority class"]),
        ("a", {"preemptionPolicy": ""}, ["preemptionPolicy: Required value"]),
        (
            "a",
            {"preemptionPolicy": "Odd"},
            ['preemptionPolicy: Unsupported value: "Odd": supported values: "PreemptLowerPriority", "Never"'],
        ),
    ],
)
def test_priority_classes(name: str, fields: Raw, expected: list[str]) -> None:
    assert complaints(document("PriorityClass", name, **fields)) == expected


def test_priority_class_updates() -> None:
    old = stored(document("PriorityClass", value=5))
    assert changed(old, "description", "x") == []
    assert changed(old, "value", 6) == ["value: Forbidden: may not be changed in an update."]
    assert changed(old, "preemptionPolicy", "Never") == ['preemptionPolicy: Invalid value: "Never": field is immutable']


TOPOLOGY = "allowedTopologies[0].matchLabelExpressions[1]"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"provisioner": "Example.com/disk"}, []),
        ({}, ["provisioner: Required value"]),
        (
            {"provisioner": "a/b", "parameters": {"": "x"}, "reclaimPolicy": "Recycle", "volumeBindingMode": "Odd"},
            [
                'parameters: Invalid value: "": field can not be empty.',
                'reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"',
                'volumeBindingMode: Unsupported value: "Odd": supported values: "Immediate", "WaitForFirstConsumer"',
            ],
        ),
        (
            {"provisioner": "a/b", "parameters": {str(i): "" for i in range(513)}},
            ["parameters: Too long: may not be more than 512 bytes"],
        ),
        (
            {"provisioner": "a/b", "parameters": {"a": "b" * 256 * 1024}},
            ["parameters: Too long: may not be more than 262144 bytes"],
        ),
        (
            {
                "provisioner": "a/b",
                "allowedTopologies": [
                    {"matchLabelExpressions": [{"key": "k", "values": ["a"]}, {"key": "k", "values": ["a", "a"]}]},
                    {"matchLabelExpressions": [{"key": "k", "values": ["a"]}]},
                    {"matchLabelExpressions": [{"key": "z"}]},
                ],
            },
            [
                f'{TOPOLOGY}.values[1]: Duplicate value: "a"',
                f'{TOPOLOGY}.key: Duplicate value: "k"',
                'allowedTopologies[1].matchLabelExpressions: Duplicate value: ""',
                "allowedTopologies[2].matchLabelExpressions[0].values: Required value",
            ],
        ),
    ],
)
def test_storage_classes(fields: Raw, expected: list[str]) -> None:
    assert complaints(document("StorageClass", **fields)) == expected


def test_storage_class_updates() -> None:
    old = stored(document("StorageClass", provisioner="a/b"))
    assert changed(old, "allowVolumeExpansion", True) == []
    assert changed(old, "parameters", {"a": "b"}) == ['parameters: Invalid value: {"a":"b"}: field is immutable']


def test_namespaces() -> None:
    assert complaints(document("Namespace", "a.b")) == ['metadata.name: Invalid value: "a.b": must not contain dots']
    assert complaints(document("Namespace", "a", spec={"finalizers": ["mine", "a/b"]})) == [
        'spec.finalizers: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified'
    ]
    old = stored(document("Namespace", "a"))
    assert set(changed(old, "metadata.uid", "other")) == {'metadata.uid: Invalid value: "other": field is immutable'}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"minAvailable": "50%"}, []),
        (
            {"minAvailable": 1, "maxUnavailable": "101%", "unhealthyPodEvictionPolicy": "Odd", "selector": {}},
            [
                'spec: Invalid value: {"MinAvailable":1,"Selector":{},"MaxUnavailable":"101%",'
                '"UnhealthyPodEvictionPolicy":"Odd"}: minAvailable and maxUnavailable cannot be both set',
                'spec.maxUnavailable: Invalid value: "101%": must not be greater than 100%',
                'spec.unhealthyPodEvictionPolicy: Unsupported value: "Odd": supported values: "AlwaysAllow", '
                '"IfHealthyBudget"',
            ],
        ),
        ({"minAvailable": -1}, [f"spec.minAvailable: Invalid value: -1: {NOT_NEGATIVE}"]),
        ({"selector": {"matchLabels": {"a": "b"}}, "maxUnavailable": 0}, []),
    ],
)
def test_disruption_budgets(spec: Raw, expected: list[str]) -> None:
    assert complaints(document("PodDisruptionBudget", spec=spec)) == expected


def test_disruption_budgets_have_the_generic_rule_for_names() -> None:
    assert complaints(document("PodDisruptionBudget", "Any_Name", spec={})) == []
    assert complaints(document("PodDisruptionBudget", "a/b%", spec={})) == [
        f"metadata.name: Invalid value: \"a/b%\": may not contain '{character}'" for character in "/%"
    ]
    assert complaints(document("PodDisruptionBudget", "..", spec={})) == [
        "metadata.name: Invalid value: \"..\": may not be '..'"
    ]


def test_an_old_budget_may_keep_its_mistake() -> None:
    old = stored(document("PodDisruptionBudget", spec={}))
    old["spec"]["selector"] = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["-"]}]}
    assert complaints(old, old) == []
    assert len(rejected(old).errors) == 1
