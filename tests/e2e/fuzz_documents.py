"""Documents of every kind that are nearly right: for tests that send what nobody should.

In: a seeded `Random`. Out: documents that admission takes, documents drawn from the schema of a kind, and either with
a few of their parts exchanged for something odd. The same seed gives the same documents.
"""

from random import Random
from typing import Any

from tests.e2e.fuzz_values import NUMBERS, QUANTITIES, TIMES, WORDS
from tests.unit.admit.objects import certificate_request, custom_resource_definition
from tests.unit.admit.stored_objects import STORED

from moorage.model.kinds import KINDS, Kind
from moorage.model.schema.merge_schema import ListType, MapType, Scalar, SchemaType, StructType, schema_of

Raw = dict[str, Any]

_TEMPLATE: Raw = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "web", "image": "nginx", "resources": {"requests": {"cpu": "100m"}}}]},
}
_SELECTOR: Raw = {"matchLabels": {"app": "web"}}

_ROLE: Raw = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
#: What admission takes, besides apiVersion, kind and metadata.
_CLAIM: Raw = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}}
_FINE: dict[str, Raw] = {
    "Pod": {
        "spec": {
            "containers": [{"name": "web", "image": "nginx", "ports": [{"containerPort": 80}]}],
            "tolerations": [{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}],
            "affinity": {
                "podAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [
                        {"labelSelector": _SELECTOR, "topologyKey": "kubernetes.io/hostname"}
                    ]
                }
            },
        }
    },
    "Node": {"spec": {"taints": [{"key": "a", "value": "1", "effect": "NoSchedule"}]}, "status": {}},
    "PersistentVolume": {
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/data"}}
    },
    "PersistentVolumeClaim": {
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    },
    "ConfigMap": {"data": {"a": "b"}, "binaryData": {"c": "AAEC"}},
    "Secret": {"data": {"a": "Yg=="}, "type": "Opaque"},
    "Service": {"spec": {"ports": [{"port": 80, "targetPort": "web"}], "selector": {"app": "web"}}},
    "Lease": {"spec": {"holderIdentity": "me", "leaseDurationSeconds": 15, "renewTime": "2026-01-02T03:04:05.000000Z"}},
    "StorageClass": {"provisioner": "example.com/disk"},
    "ResourceClaim": {"spec": _CLAIM},
    "ResourceClaimTemplate": {"spec": {"spec": _CLAIM}},
    "ResourceSlice": {
        "spec": {
            "driver": "gpu.example.com",
            "nodeName": "n1",
            "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "gpu-0", "attributes": {"model": {"string": "a100"}}}],
        }
    },
    "DeviceClass": {"spec": {"selectors": [{"cel": {"expression": "device.driver == 'gpu.example.com'"}}]}},
    "DeviceTaintRule": {"spec": {"deviceSelector": {"pool": "n1"}, "taint": {"key": "bad", "effect": "NoExecute"}}},
    "CSINode": {"spec": {"drivers": [{"name": "a.example.com", "nodeID": "n"}]}},
    "CSIDriver": {"spec": {}},
    "CSIStorageCapacity": {"storageClassName": "fast", "capacity": "1Gi"},
    "VolumeAttachment": {
        "spec": {"attacher": "a.example.com", "nodeName": "n", "source": {"persistentVolumeName": "pv"}}
    },
    "Deployment": {"spec": {"selector": _SELECTOR, "template": _TEMPLATE, "replicas": 2}},
    "ReplicaSet": {"spec": {"selector": _SELECTOR, "template": _TEMPLATE, "replicas": 2}},
    "StatefulSet": {"spec": {"selector": _SELECTOR, "template": _TEMPLATE, "serviceName": "web"}},
    "ControllerRevision": {"data": {"spec": {"template": {"$patch": "replace"}}}, "revision": 1},
    "DaemonSet": {"spec": {"selector": _SELECTOR, "template": _TEMPLATE}},
    "Job": {"spec": {"template": {**_TEMPLATE, "spec": {**_TEMPLATE["spec"], "restartPolicy": "Never"}}}},
    "CronJob": {
        "spec": {
            "schedule": "*/5 * * * *",
            "jobTemplate": {
                "spec": {"template": {**_TEMPLATE, "spec": {**_TEMPLATE["spec"], "restartPolicy": "Never"}}}
            },
        }
    },
    "ReplicationController": {"spec": {"template": _TEMPLATE, "replicas": 2}},
    "Endpoints": {"subsets": [{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]}]},
    "EndpointSlice": {
        "addressType": "IPv4",
        "endpoints": [
            {"addresses": ["10.0.0.1"], "conditions": {"ready": True}, "hints": {"forZones": [{"name": "a"}]}}
        ],
        "ports": [{"name": "http", "port": 80}],
    },
    "RuntimeClass": {"handler": "kata", "overhead": {"podFixed": {"cpu": "1m"}}},
    "CertificateSigningRequest": {
        "spec": {"request": certificate_request(), "signerName": "example.com/s", "usages": ["any"]}
    },
    "RoleBinding": {"roleRef": _ROLE, "subjects": [{"kind": "Group", "name": "g"}]},
    "ClusterRoleBinding": {"roleRef": _ROLE, "subjects": [{"kind": "Group", "name": "g"}]},
    "PriorityClass": {"value": 100},
    "PodDisruptionBudget": {"spec": {"minAvailable": 1, "selector": _SELECTOR}},
}
_EXAMPLES: dict[str, Raw] = {**STORED, "CustomResourceDefinition": custom_resource_definition()}
_NAMED_BY_THEIR_CONTENT = ("APIService", "CustomResourceDefinition", "IPAddress")
_DEEPEST = 7


def fine(facts: Kind, name: str, namespace: str) -> Raw:
    """A document that admission takes."""
    metadata: Raw = {"name": name, "labels": {"app": "web"}}
    if facts.namespaced:
        metadata["namespace"] = namespace
    document: Raw = {"apiVersion": facts.api_version, "kind": facts.name, "metadata": metadata}
    if facts.name == "Event":
        about = {"kind": "Pod", "name": "web", "namespace": namespace}
        if facts.api_version == "v1":
            return {**document, "involvedObject": about, "reason": "Tested", "message": "words", "type": "Normal"}
        said = {"regarding": about, "reason": "Tested", "note": "words", "type": "Normal", "action": "Testing"}
        who = {"reportingController": "example.com/test", "reportingInstance": "me"}
        return {**document, **said, **who, "eventTime": "2026-01-02T03:04:05.000001Z"}
    if facts.name in _FINE:
        return {**document, **copied(_FINE[facts.name])}
    example = copied(_EXAMPLES.get(facts.name, {}))
    own_name = (example.pop("metadata", None) or {}).get("name")
    if facts.name in _NAMED_BY_THEIR_CONTENT:
        metadata["name"] = own_name
    return {**document, **example, "apiVersion": facts.api_version}


def copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: copied(item) for name, item in value.items()}
    return [copied(item) for item in value] if isinstance(value, list) else value


class Oddities:
    """Draws odd values and puts them into documents."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def word(self) -> str:
        return self.random.choice(WORDS)

    def value(self, depth: int = 0) -> Any:
        """Anything that JSON can say."""
        random = self.random
        which = random.randrange(10 if depth < 3 else 7)
        if which < 2:
            return random.choice(NUMBERS)
        if which < 4:
            return self.word()
        if which < 7:
            return random.choice(
                (None, True, False, 1.5, -0.0, 1e308, {}, [], "", [None], {"": None}, [[]], [{}], {"a": {}})
            )
        if which == 7:
            return [self.value(depth + 1) for _ in range(random.randrange(4))]
        if which == 8:
            return {self.word(): self.value(depth + 1) for _ in range(random.randrange(4))}
        return random.choice(QUANTITIES + TIMES)

    def of_type(self, kind: SchemaType, depth: int = 0) -> Any:
        """A value of a type, mostly; of its fields only some."""
        random = self.random
        if random.random() < 0.02:
            return self.value()
        if isinstance(kind, StructType):
            names = list(kind.fields)
            some = random.sample(names, min(len(names), random.randrange(1, 6)))
            if depth > _DEEPEST:
                return {}
            return {name: self.of_type(kind.fields[name].type, depth + 1) for name in some}
        if isinstance(kind, MapType):
            return {self.word(): self.of_type(kind.element, depth + 1) for _ in range(random.randrange(3))}
        if isinstance(kind, ListType):
            return [self.of_type(kind.element, depth + 1) for _ in range(random.randrange(3))]
        if isinstance(kind, Scalar):
            return self._scalar(kind)
        return self.value()

    def _scalar(self, kind: Scalar) -> Any:
        random = self.random
        if "Quantity" in kind.definition:
            return random.choice(QUANTITIES)
        if "Time" in kind.definition:
            return random.choice(TIMES)
        if "IntOrString" in kind.definition:
            return random.choice((0, 1, "50%", "1", "x", -1, 2**31))
        if kind.json_type == "boolean":
            return random.random() < 0.5
        if kind.json_type == "integer":
            return random.choice(NUMBERS)
        return self.word()

    def drawn(self, facts: Kind, name: str, namespace: str) -> Raw:
        """A document drawn from the kind's schema, over one that is fine."""
        document = fine(facts, name, namespace)
        schema = schema_of(facts)
        fields = [field for field in schema.fields if field not in ("apiVersion", "kind")]
        for field in self.random.sample(fields, min(len(fields), self.random.randrange(1, 3))):
            made = self.of_type(schema.fields[field].type)
            there = document.get(field)
            if isinstance(made, dict) and isinstance(there, dict) and self.random.random() < 0.8:
                made = {**there, **made}
            document[field] = made
        return document

    def mutated(self, document: Any, times: int = 0) -> Any:
        """A copy in which a few parts are something else, gone, or there twice."""
        document = copied(document)
        for _ in range(times or self.random.choice((1, 1, 1, 2, 3))):
            places = list(_places(document))
            if not places:
                return self.value()
            self._exchange(*self.random.choice(places))
        return document

    def _exchange(self, parent: Any, at: Any) -> None:
        random = self.random
        which = random.randrange(8)
        if which == 0:
            del parent[at]
        elif which == 1 and isinstance(parent, list):
            parent.append(copied(parent[at]))
        elif which == 1:
            parent[self.word()] = copied(parent[at])
        elif which == 2:
            parent[at] = [copied(parent[at])]
        elif which == 3:
            parent[at] = {self.word(): copied(parent[at])}
        elif which == 4 and isinstance(parent[at], str):
            parent[at] = parent[at] + self.word()
        else:
            parent[at] = self.value()


def _places(value: Any) -> Any:
    """Every place in a document, as its parent and the key in it."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from _places(value[key])


ALL_KINDS: tuple[Kind, ...] = tuple(KINDS.values())
