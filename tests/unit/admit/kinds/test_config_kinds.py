"""ConfigMaps, Secrets, Services, Events, Leases and drivers: defaults, rules, texts."""

import base64
from typing import Any

import pytest
from tests.unit.admit.objects import Raw, complaints, document, stored

from moorage.admit.admission import admit
from moorage.model.gates import default_gates


def secret(kind: str, **data: str) -> Raw:
    return document("Secret", type=kind, stringData=data)


def test_text_in_a_secret_becomes_bytes() -> None:
    made = stored(document("Secret", data={"a": "YQ==", "b": "Yg=="}, stringData={"b": "x"}))
    assert made["data"] == {"a": "YQ==", "b": base64.b64encode(b"x").decode()}
    assert made["type"] == "Opaque"
    assert "stringData" not in made
    kept = stored(document("Secret", type="example.com/x"))
    assert complaints({**document("Secret"), "type": "Opaque"}, kept) == [
        'type: Invalid value: "Opaque": field is immutable'
    ]


@pytest.mark.parametrize(
    ("made", "texts"),
    [
        (secret("kubernetes.io/tls"), ["data[tls.crt]: Required value", "data[tls.key]: Required value"]),
        (secret("kubernetes.io/basic-auth"), ["data[username]: Required value", "data[password]: Required value"]),
        (secret("kubernetes.io/basic-auth", username="a"), []),
        (secret("kubernetes.io/ssh-auth"), ["data[ssh-privatekey]: Required value"]),
        (secret("kubernetes.io/dockerconfigjson"), ["data[.dockerconfigjson]: Required value"]),
        (
            secret("kubernetes.io/dockercfg", **{".dockercfg": ""}),
            [
                'data[.dockercfg]: Invalid value: "<secret contents redacted>": unexpected end of JSON input',
            ],
        ),
        (secret("kubernetes.io/dockercfg", **{".dockercfg": "{}"}), []),
        (
            secret("kubernetes.io/service-account-token"),
            ["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
        ),
        (document("ConfigMap", data={"..": "x"}), ["data[..]: Invalid value: \"..\": must not be '..'"]),
        (
            document("ConfigMap", data={"a": "x"}, binaryData={"a": "eA=="}),
            ['data[a]: Invalid value: "a": duplicate of key present in binaryData'],
        ),
        (document("ConfigMap", data={"a": "x" * 1048577}), ["[]: Too long: may not be more than 1048576 bytes"]),
    ],
)
def test_contents(made: Raw, texts: list[str]) -> None:
    assert complaints(made) == texts


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret"])
def test_what_is_immutable_stays(kind: str) -> None:
    old = stored(document(kind, immutable=True, data={"a": "YQ=="}))
    text = "field is immutable when `immutable` is set"
    assert complaints(document(kind, data={"a": "Yg=="}), old) == [
        f"immutable: Forbidden: {text}",
        f"data: Forbidden: {text}",
    ]


def service(*ports: Raw, **spec: Any) -> Raw:
    return document("Service", spec={"ports": list(ports), **spec})


def test_defaults_of_a_service() -> None:
    made = stored(service({"port": 80}, sessionAffinity="ClientIP", type="NodePort"))
    assert made["spec"] == {
        "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
        "sessionAffinity": "ClientIP",
        "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}},
        "type": "NodePort",
        "externalTrafficPolicy": "Cluster",
        "internalTrafficPolicy": "Cluster",
    }
    assert made["status"] == {"loadBalancer": {}}


@pytest.mark.parametrize(
    ("made", "texts"),
    [
        (service(), ["spec.ports: Required value"]),
        (service(clusterIP="None"), []),
        (service({"port": 80}, {"port": 81}), [f"spec.ports[{index}].name: Required value" for index in (0, 1)]),
        (
            service({"port": 0}),
            [
                f"spec.ports[0].{name}: Invalid value: 0: must be between 1 and 65535, inclusive"
                for name in ("port", "targetPort")
            ],
        ),
        (
            service({"port": 80, "nodePort": 30000}),
            ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
        ),
        (service({"port": 80}, type="Odd"), ['spec.type: Unsupported value: "Odd"']),
        (service(type="ExternalName"), ["spec.externalName: Required value"]),
        (
            service({"port": 80}, type="NodePort", clusterIP="None"),
            ["spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort services"],
        ),
        (
            service({"port": 80}, externalTrafficPolicy="Local"),
            ['spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services'],
        ),
        (
            service({"port": 80}, loadBalancerClass="a/b"),
            ["spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'"],
        ),
        (
            service({"port": 80, "name": "a"}, {"port": 80, "name": "a"}),
            ['spec.ports[1].name: Duplicate value: "a"', "spec.ports[1]: Duplicate value"],
        ),
        (service({"port": 80}, clusterIP="x"), ["spec.clusterIPs[0]: Invalid value"]),
        (service({"port": 80}, sessionAffinity="Odd"), ['spec.sessionAffinity: Unsupported value: "Odd"']),
    ],
)
def test_services(made: Raw, texts: list[str]) -> None:
    found = complaints(made)
    assert len(found) == len(texts)
    assert all(one.startswith(text) for one, text in zip(found, texts, strict=True))


def test_an_address_stays() -> None:
    old = stored(service({"port": 80}, clusterIP="10.0.0.1"))
    assert complaints(service({"port": 80}, clusterIP="10.0.0.2"), old) == [
        'spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set'
    ]
    assert complaints(service({"port": 81}), old) == []


def event(group: str = "v1", **fields: Any) -> Raw:
    return {"apiVersion": group, "kind": "Event", "metadata": {"name": "e"}, **fields}


TIME = "2025-01-01T00:00:00.000000Z"
NEW = {
    "eventTime": TIME,
    "reportingController": "example.com/c",
    "reportingInstance": "i",
    "action": "a",
    "reason": "r",
    "type": "Normal",
}


def test_events_of_the_core_group() -> None:
    assert complaints(event()) == []
    assert complaints(event(involvedObject={"namespace": "other"})) == [
        'involvedObject.namespace: Invalid value: "other": does not match event.namespace'
    ]
    assert complaints(event(eventTime=TIME)) == [
        "reportingComponent: Required value",
        'reportingComponent: Invalid value: "": name part must be non-empty',
        "reportingComponent: Invalid value: \"\": name part must consist of alphanumeric characters, '-', '_' or '.', "
        "and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', "
        "regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        "reportingInstance: Required value",
        "action: Required value",
        "reason: Required value",
    ]
    bad = event()
    bad["metadata"]["name"] = "a/b%c"
    assert complaints(bad) == [
        f"metadata.name: Invalid value: \"a/b%c\": may not contain '{part}'" for part in ("/", "%")
    ]


def test_events_of_the_newer_group_are_strict() -> None:
    assert complaints(event("events.k8s.io/v1", **NEW)) == []
    found = complaints(event("events.k8s.io/v1", **NEW, deprecatedCount=1, series={"count": 1}))
    assert found == [
        'series.count: Invalid value: "": should be at least 2',
        "series.lastObservedTime: Required value",
        'count: Invalid value: "": needs to be unset',
    ]
    old = stored(event("events.k8s.io/v1", **NEW))
    again = {**old, "note": "more", "series": {"count": 2, "lastObservedTime": TIME}}
    assert complaints(again, old) == ['message: Invalid value: "more": field is immutable']


def test_leases() -> None:
    spec = {"leaseDurationSeconds": 0, "leaseTransitions": -1, "strategy": "Odd"}
    assert complaints(document("Lease", spec=spec)) == [
        "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
        "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
    ]


def test_service_accounts_name_secrets_and_nothing_else() -> None:
    made = stored(document("ServiceAccount", secrets=[{"name": "s", "kind": "Secret"}]))
    assert made["secrets"] == [{"name": "s"}]


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (document("CSINode", spec={"drivers": [{"name": "d"}]}), "spec.drivers[0].nodeID: Required value"),
        (document("CSIDriver", spec={"fsGroupPolicy": "Odd"}), 'spec.fsGroupPolicy: Unsupported value: "Odd"'),
        (document("CSIStorageCapacity", capacity="-1", storageClassName="x"), "capacity: Invalid value"),
        (
            document("VolumeAttachment", spec={"attacher": "d", "nodeName": "n"}),
            "spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName",
        ),
    ],
)
def test_what_drivers_write(made: Raw, text: str) -> None:
    (found,) = complaints(made)
    assert found.startswith(text)


def warnings(new: Raw, old: Raw | None = None) -> tuple[str, ...]:
    return admit(new, old, default_gates()).warnings


def test_tokens_that_a_driver_may_log_are_warned_of() -> None:
    driver = document("CSIDriver", spec={"tokenRequests": [{"audience": "a"}]})
    (warning,) = warnings(driver)
    assert warning.startswith("spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver")
    assert warnings(driver, stored(driver)) == ()
    assert warnings(document("CSIDriver")) == ()
