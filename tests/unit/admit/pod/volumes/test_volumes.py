"""Volumes, source by source."""

from typing import Any

import pytest
from tests.unit.admit.pod.manifests import (
    NOT_A_KEY,
    NOT_A_LABEL,
    NOT_A_SUBDOMAIN,
    container_errors,
    pod_errors,
    volume_errors,
)

from moorage.admit.options import ValidationOptions
from moorage.model.types.storage import Volume, VolumeSource

NOT_A_MODE = "must be a number between 0 and 0777 (octal), both inclusive"
SEVERAL = "Forbidden: may not specify more than 1 volume type"
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}

FILES: list[tuple[dict[str, Any], list[str]]] = [
    ({"emptyDir": {}}, []),
    ({"emptyDir": {"sizeLimit": "0"}}, []),
    (
        {"emptyDir": {"sizeLimit": "-1"}},
        ["emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity"],
    ),
    ({"hostPath": {"path": "/x", "type": ""}}, []),
    ({"hostPath": {"type": "Odd"}}, ["hostPath.path: Required value"]),
    (
        {"hostPath": {"path": "/a/../b", "type": "<"}},
        [
            "hostPath.path: Invalid value: \"/a/../b\": must not contain '..'",
            'hostPath.type: Unsupported value: "\\u003c": supported values: "", "BlockDevice", "CharDevice", '
            '"Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"',
        ],
    ),
    ({"secret": {"secretName": "s", "defaultMode": 0o777}}, []),
    (
        {"secret": {"defaultMode": 0o1000, "items": [{}]}},
        [
            "secret.secretName: Required value",
            f"secret.defaultMode: Invalid value: 512: {NOT_A_MODE}",
            "secret.items[0].key: Required value",
            "secret.items[0].path: Required value",
        ],
    ),
    (
        {"configMap": {"defaultMode": -1, "items": [{"key": "k", "path": "/a/..", "mode": -2}]}},
        [
            "configMap.name: Required value",
            f"configMap.defaultMode: Invalid value: -1: {NOT_A_MODE}",
            'configMap.items[0].path: Invalid value: "/a/..": must be a relative path',
            "configMap.items[0].path: Invalid value: \"/a/..\": must not contain '..'",
            f"configMap.items[0].mode: Invalid value: -2: {NOT_A_MODE}",
        ],
    ),
    (
        {"configMap": {"name": "c", "items": [{"key": "k", "path": "..x"}, {"key": "k", "path": "../x"}]}},
        [
            "configMap.items[0].path: Invalid value: \"..x\": must not start with '..'",
            "configMap.items[1].path: Invalid value: \"../x\": must not contain '..'",
        ],
    ),
    (
        {"downwardAPI": {"defaultMode": 999, "items": [{"path": "", "mode": 999}]}},
        [
            f"downwardAPI.defaultMode: Invalid value: 999: {NOT_A_MODE}",
            "downwardAPI.path: Required value",
            "downwardAPI: Required value: one of fieldRef and resourceFieldRef is required",
            f"downwardAPI.mode: Invalid value: 999: {NOT_A_MODE}",
        ],
    ),
    (
        {
            "downwardAPI": {
                "items": [
                    {
                        "path": "x",
                        "fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"},
                        "resourceFieldRef": {"resource": "limits.cpu"},
                    }
                ]
            }
        },
        [
            'downwardAPI.fieldRef.fieldPath: Unsupported value: "spec.nodeName": supported values: '
            '"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"',
            'downwardAPI: Invalid value: "resource": fieldRef and resourceFieldRef can not be specified simultaneously',
        ],
    ),
    (
        {"downwardAPI": {"items": [{"path": "x", "resourceFieldRef": {"resource": "limits.cpu", "divisor": "2"}}]}},
        [
            "downwardAPI.resourceFieldRef.containerName: Required value",
            'downwardAPI.resourceFieldRef.divisor: Invalid value: "limits.cpu": '
            "only divisor's values 1m and 1 are supported with the cpu resource",
        ],
    ),
    ({"image": {"reference": "r", "pullPolicy": "Always"}}, []),
    ({"image": {}}, ["image.reference: Required value", "image.pullPolicy: Required value"]),
]

BACKENDS: list[tuple[dict[str, Any], list[str]]] = [
    ({"persistentVolumeClaim": {}}, ["persistentVolumeClaim.claimName: Required value"]),
    (
        {"gitRepo": {"directory": "/x"}},
        ["gitRepo.repository: Required value", 'gitRepo.directory: Invalid value: "/x": must be a relative path'],
    ),
    (
        {"gcePersistentDisk": {"partition": 256}},
        [
            "persistentDisk.pdName: Required value",
            "persistentDisk.partition: Invalid value: 256: must be between 1 and 255, inclusive",
        ],
    ),
    (
        {"awsElasticBlockStore": {"partition": -1}},
        [
            "awsElasticBlockStore.volumeID: Required value",
            "awsElasticBlockStore.partition: Invalid value: -1: must be between 1 and 255, inclusive",
        ],
    ),
    (
        {"nfs": {}},
        [
            "nfs.server: Required value",
            "nfs.path: Required value",
            'nfs.path: Invalid value: "": must be an absolute path',
        ],
    ),
    ({"iscsi": {"targetPortal": "t", "iqn": "iqn.2001-04.com.example:storage.1"}}, []),
    ({"iscsi": {"targetPortal": "t", "iqn": "eui.0123456789ABCDEF"}}, []),
    ({"iscsi": {"targetPortal": "t", "iqn": "naa." + "0" * 32}}, []),
    (
        {"iscsi": {"lun": 256, "chapAuthSession": True}},
        [
            "iscsi.targetPortal: Required value",
            "iscsi.iqn: Required value",
            "iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive",
            "iscsi.secretRef: Required value",
        ],
    ),
    (
        {"iscsi": {"targetPortal": "t" * 63, "iqn": "x", "initiatorName": "iqn.bad"}},
        [
            'iscsi.iqn: Invalid value: "x": must be valid format starting with iqn, eui, or naa',
            'iscsi.initiatorname: Invalid value: "iqn.bad": must be valid format',
            'name: Invalid value: "v": Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters '
            "if iscsi.initiatorName is specified.",
        ],
    ),
    ({"glusterfs": {}}, ["glusterfs.endpoints: Required value", "glusterfs.path: Required value"]),
    ({"flocker": {}}, ["flocker: Required value: one of datasetName and datasetUUID is required"]),
    (
        {"flocker": {"datasetName": "a/b", "datasetUUID": "u"}},
        [
            'flocker: Invalid value: "resource": datasetName and datasetUUID can not be specified simultaneously',
            "flocker.datasetName: Invalid value: \"a/b\": must not contain '/'",
        ],
    ),
    ({"rbd": {}}, ["rbd.monitors: Required value", "rbd.image: Required value"]),
    ({"cinder": {"secretRef": {}}}, ["cinder.volumeID: Required value", "cinder.secretRef.name: Required value"]),
    ({"cephfs": {}}, ["cephfs.monitors: Required value"]),
    (
        {"quobyte": {}},
        [
            "quobyte.registry: Required value: must be a host:port pair or multiple pairs separated by commas",
            "quobyte.volume: Required value",
        ],
    ),
    ({"quobyte": {"registry": "a:1,[::1]:2,:3", "volume": "v"}}, []),
    (
        {"quobyte": {"registry": "a,::1,[::1],[a]b:1", "volume": "v"}},
        [
            'quobyte.registry: Invalid value: "a,::1,[::1],[a]b:1": '
            "must be a host:port pair or multiple pairs separated by commas"
        ]
        * 4,
    ),
    (
        {"quobyte": {"registry": "a", "volume": "v", "tenant": "t" * 65}},
        ["quobyte.tenant: Required value: must be a UUID and may not exceed a length of 64 characters"],
    ),
    ({"fc": {"wwids": ["w"]}}, []),
    ({"fc": {}}, ["fc.targetWWNs: Required value: must specify either targetWWNs or wwids, but not both"]),
    (
        {"fc": {"targetWWNs": ["a"], "wwids": ["b"]}},
        [
            'fc.targetWWNs: Invalid value: ["a"]: targetWWNs and wwids can not be specified simultaneously',
            "fc.lun: Required value: lun is required if targetWWNs is specified",
        ],
    ),
    (
        {"fc": {"targetWWNs": ["a"], "lun": -1}},
        ["fc.lun: Invalid value: -1: must be between 0 and 255, inclusive"],
    ),
    (
        {"flexVolume": {"options": {"x": "", "K8s.io/a": "", "a.kubernetes.io": "", "notk8s.io": ""}}},
        [
            "flexVolume.driver: Required value",
            'flexVolume.options[K8s.io/a]: Invalid value: "K8s.io/a": kubernetes.io and k8s.io namespaces are reserved',
            'flexVolume.options[a.kubernetes.io]: Invalid value: "a.kubernetes.io": '
            "kubernetes.io and k8s.io namespaces are reserved",
        ],
    ),
    ({"azureFile": {}}, ["azureFile.secretName: Required value", "azureFile.shareName: Required value"]),
    (
        {"azureDisk": {"cachingMode": "Some", "kind": "Odd"}},
        [
            "azureDisk.diskName: Required value",
            "azureDisk.diskURI: Required value",
            'azureDisk.cachingMode: Unsupported value: "Some": supported values: "None", "ReadOnly", "ReadWrite"',
            'azureDisk.kind: Unsupported value: "Odd": supported values: "Dedicated", "Managed", "Shared"',
            'azureDisk.diskURI: Unsupported value: "": supported values: '
            '"https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"',
        ],
    ),
    (
        {"azureDisk": {"diskName": "d", "diskURI": "https://x", "kind": "Managed"}},
        [
            'azureDisk.diskURI: Unsupported value: "https://x": supported values: "/subscriptions/{sub-id}/'
            'resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"'
        ],
    ),
    ({"azureDisk": {"diskName": "d", "diskURI": "u"}}, []),
    ({"vsphereVolume": {}}, ["vsphereVolume.volumePath: Required value"]),
    ({"photonPersistentDisk": {}}, ["photonPersistentDisk.pdID: Required value"]),
    ({"portworxVolume": {}}, ["portworxVolume.volumeID: Required value"]),
    (
        {"scaleIO": {}},
        [f"scaleIO.{field}: Required value" for field in ("gateway", "system", "volumeName")],
    ),
    (
        {"storageos": {"secretRef": {}, "volumeNamespace": "_"}},
        [
            "storageos.volumeName: Required value",
            f'storageos.volumeNamespace: Invalid value: "_": {NOT_A_LABEL}',
            "storageos.secretRef.name: Required value",
        ],
    ),
    ({"csi": {"driver": "Driver.example"}}, []),
    (
        {"csi": {"nodePublishSecretRef": {}}},
        ["csi.driver: Required value", "csi.nodePublishSecretRef.name: Required value"],
    ),
    (
        {"csi": {"driver": "D" * 64, "nodePublishSecretRef": {"name": "_"}}},
        ["csi.driver: Too long: may not be more than 63 bytes", f'csi.name: Invalid value: "_": {NOT_A_SUBDOMAIN}'],
    ),
]

CLAIMS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, []),
    (
        {"accessModes": [], "resources": {}},
        [
            "spec.accessModes: Required value: at least 1 access mode is required",
            "spec.resources[storage]: Required value",
        ],
    ),
    (
        {"accessModes": ["ReadWriteOncePod", "Odd", "ReadOnlyMany"], "resources": {"requests": {"storage": "0"}}},
        [
            'spec.accessModes: Unsupported value: "Odd": supported values: "ReadOnlyMany", "ReadWriteMany", '
            '"ReadWriteOnce", "ReadWriteOncePod"',
            "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes",
            'spec.resources[storage]: Invalid value: "0": must be greater than zero',
        ],
    ),
    ({"accessModes": ["ReadWriteOncePod", "ReadWriteOncePod"]}, []),
    (
        {"storageClassName": "_", "volumeMode": "Raw", "volumeAttributesClassName": "_"},
        [
            f'spec.storageClassName: Invalid value: "_": {NOT_A_SUBDOMAIN}',
            'spec.volumeMode: Unsupported value: "Raw": supported values: "Block", "Filesystem"',
            f'spec.volumeAttributesClassName: Invalid value: "_": {NOT_A_SUBDOMAIN}',
        ],
    ),
    (
        {"dataSource": {"kind": "VolumeSnapshot", "name": ""}, "dataSourceRef": {"kind": "", "name": "x"}},
        [
            "spec.dataSource.name: Required value",
            'spec.dataSource: Invalid value: "VolumeSnapshot": '
            "must be 'PersistentVolumeClaim' when referencing the default apiGroup",
            "spec.dataSourceRef.kind: Required value",
            'spec.dataSourceRef: Invalid value: "": '
            "must be 'PersistentVolumeClaim' when referencing the default apiGroup",
            "spec: Invalid value: {}: must match dataSourceRef",
        ],
    ),
    (
        {
            "dataSource": {"kind": "A", "name": "a", "apiGroup": "_"},
            "dataSourceRef": {"kind": "A", "name": "a", "apiGroup": "g", "namespace": "a.b"},
        },
        [
            f'spec.dataSource.apiGroup: Invalid value: "_": {NOT_A_SUBDOMAIN}',
            'spec.dataSourceRef.namespace: Invalid value: "a.b": must not contain dots',
            "spec: Invalid value: {}: may not be specified when dataSourceRef.namespace is specified",
        ],
    ),
    (
        {"selector": {"matchLabels": {"_": "v"}}},
        [f'spec.selector.matchLabels: Invalid value: "_": {NOT_A_KEY}'],
    ),
]


@pytest.mark.parametrize(("volume", "expected"), FILES + BACKENDS)
def test_sources(volume: dict[str, Any], expected: list[str]) -> None:
    assert volume_errors(volume) == expected


@pytest.mark.parametrize(("spec", "expected"), CLAIMS)
def test_claim_templates(spec: dict[str, Any], expected: list[str]) -> None:
    found = volume_errors({"ephemeral": {"volumeClaimTemplate": {"spec": {**CLAIM, **spec}}}})
    assert found == [f"ephemeral.volumeClaimTemplate.{error}" for error in expected]


def test_claim_template_metadata() -> None:
    metadata = {"name": "n", "uid": "u", "generation": 3, "labels": {"a": "b"}, "annotations": {"_": "x"}}
    found = volume_errors({"ephemeral": {"volumeClaimTemplate": {"metadata": metadata, "spec": CLAIM}}})
    at = "ephemeral.volumeClaimTemplate.metadata"
    assert found == [
        f'{at}.annotations: Invalid value: "_": {NOT_A_KEY}',
        f"{at}.name: Forbidden: cannot be set",
        f"{at}.uID: Forbidden: cannot be set",
        f"{at}.generation: Forbidden: cannot be set",
    ]
    assert volume_errors({"ephemeral": {}}) == ["ephemeral.volumeClaimTemplate: Required value"]


def test_an_ephemeral_volume_makes_a_claim_of_its_own() -> None:
    ephemeral = {"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": CLAIM}}}
    borrowed = {"name": "v", "persistentVolumeClaim": {"claimName": "p-e"}}
    detail = "must not reference a PVC that gets created for an ephemeral volume"
    assert pod_errors({"volumes": [ephemeral, borrowed]}) == [
        f'spec.volumes[1].persistentVolumeClaim.claimName: Invalid value: "p-e": {detail}'
    ]
    assert pod_errors({"volumes": [ephemeral]}, {"name": "p" * 252}) == [
        f'spec.volumes[0].name: Invalid value: "e": PVC name "{"p" * 252}-e": must be no more than 253 characters'
    ]


def test_names_and_number_of_sources() -> None:
    nothing = volume_errors({})
    assert nothing == ["spec.volumes[0]: Required value: must specify a volume type"]
    two = {"cephfs": {"monitors": ["m"]}, "downwardAPI": {}, "hostPath": {"path": "/x"}, "image": {}}
    assert volume_errors(two) == [f"cephFS: {SEVERAL}", f"downwarAPI: {SEVERAL}", f"image: {SEVERAL}"]
    assert pod_errors({"volumes": [{"emptyDir": {}}, {"name": "_", "emptyDir": {}}]}) == [
        "spec.volumes[0].name: Required value",
        f'spec.volumes[1].name: Invalid value: "_": {NOT_A_LABEL}',
    ]


def test_only_valid_volumes_can_be_mounted_and_taken() -> None:
    broken, whole = {"name": "v", "configMap": {}}, {"name": "v", "emptyDir": {}}
    assert container_errors({"volumeMounts": [{"name": "v", "mountPath": "/"}]}, {"volumes": [broken]}) == [
        "spec.volumes[0].configMap.name: Required value",
        'volumeMounts[0].name: Not found: "v"',
    ]
    assert pod_errors({"volumes": [broken, whole, whole]}) == [
        "spec.volumes[0].configMap.name: Required value",
        'spec.volumes[2].name: Duplicate value: "v"',
    ]


def test_templates_may_leave_an_image_volume_open() -> None:
    image = {"image": {"pullPolicy": "Always"}}
    assert volume_errors(image, ValidationOptions(resource_is_pod=False)) == []


def test_the_name_is_the_last_field_of_the_view() -> None:
    """Sources are found by their position among the view's fields."""
    assert Volume.__struct_fields__ == (*VolumeSource.__struct_fields__, "name")
