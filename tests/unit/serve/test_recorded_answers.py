"""Answers of a v1.36.4 API server to objects that are rarely written, and to updates of them."""

import asyncio
from typing import Any

import msgspec
import pytest
from tests.conformance.checks.platform.server import Answer, PlatformServer, built_in, collection_path

Raw = dict[str, Any]
_SINGLE = "must be 'SingleStack' to release the secondary IP family"
_LABEL_VALUE = "a valid label must be an empty string or consist of alphanumeric characters"


def _service(**spec: Any) -> Raw:
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}, "spec": {"ports": [{"port": 80}], **spec}}


async def _written(document: Raw, update: Raw | None) -> Answer:
    server = await PlatformServer.started("default")
    answer = await server.post(document)
    if update is None:
        return answer
    assert answer.code == 201, answer.document
    kind = built_in(document["apiVersion"], document["kind"])
    path = collection_path(kind.api_version, kind.plural, "default" if kind.namespaced else "")
    metadata = {**update["metadata"], "resourceVersion": answer.document["metadata"]["resourceVersion"]}
    body = msgspec.json.encode({**update, "metadata": metadata})
    return await server.ask("PUT", f"{path}/{metadata['name']}", body)


def written(document: Raw, update: Raw | None = None) -> Answer:
    return asyncio.run(_written(document, update))


def causes(answer: Answer) -> list[tuple[str, str]]:
    assert answer.code == 422, answer.document
    return [(cause["field"], cause["message"]) for cause in answer.document["details"]["causes"]]


@pytest.mark.parametrize(
    ("document", "update", "wanted"),
    [
        (
            _service(ipFamilies=["IPv6"]),
            None,
            [("spec.ipFamilies[0]", 'Invalid value: "IPv6": not configured on this cluster')],
        ),
        (
            _service(ipFamilyPolicy="RequireDualStack"),
            None,
            [
                (
                    "spec.ipFamilyPolicy",
                    'Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services',
                )
            ],
        ),
        (
            _service(ipFamilies=["IPv4", "IPv6"]),
            None,
            [
                (
                    "spec.ipFamilyPolicy",
                    'Invalid value: "SingleStack": must be '
                    "'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified",
                )
            ],
        ),
        (
            _service(clusterIP="10.0.9.9", ipFamilies=["IPv6"], type="Odd"),
            None,
            [
                (
                    "spec.clusterIPs[0]",
                    'Invalid value: "10.0.9.9": expected an IPv6 value as indicated by `ipFamilies[0]`',
                )
            ],
        ),
        (
            _service(clusterIP="None"),
            _service(clusterIP="None", ipFamilies=["IPv4"]),
            [("spec.ipFamilyPolicy", f'Invalid value: "RequireDualStack": {_SINGLE}')],
        ),
    ],
)
def test_families_of_a_service(document: Raw, update: Raw | None, wanted: list[tuple[str, str]]) -> None:
    assert causes(written(document, update)) == wanted


def test_a_services_annotations_are_checked() -> None:
    ranges, mode = "service.beta.kubernetes.io/load-balancer-source-ranges", "service.kubernetes.io/topology-mode"
    service = _service(type="LoadBalancer")
    service["metadata"]["annotations"] = {ranges: "10.0.0.0/8, x", mode: "Auto"}
    service["metadata"]["annotations"]["service.kubernetes.io/topology-aware-hints"] = "Disabled"
    assert [path for path, _ in causes(written(service))] == [
        f"metadata.annotations[{mode}]",
        f"metadata.annotations[{ranges}]",
    ]


@pytest.mark.parametrize(
    ("kind", "fields", "times"),
    [
        (("networking.k8s.io/v1", "NetworkPolicy"), {"spec": {"podSelector": {}}}, 3),
        (("policy/v1", "PodDisruptionBudget"), {"spec": {}}, 2),
        (("node.k8s.io/v1", "RuntimeClass"), {"handler": "a"}, 4),
        (("v1", "Endpoints"), {}, 4),
    ],
)
def test_what_is_wrong_with_the_metadata_of_an_update_is_told_by_each_that_looks(
    kind: tuple[str, str], fields: Raw, times: int
) -> None:
    document = {"apiVersion": kind[0], "kind": kind[1], "metadata": {"name": "x"}, **fields}
    found = causes(written(document, {**document, "metadata": {"name": "x", "labels": {"a": "b c"}}}))
    assert [path for path, _ in found] == ["metadata.labels"] * times
    assert all(_LABEL_VALUE in message for _, message in found)


def test_some_kinds_take_any_finalizer() -> None:
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "x", "finalizers": ["mine"]}}
    assert written(lease).code == 201
    assert causes(written({**lease, "apiVersion": "v1", "kind": "ConfigMap"}))[0][0] == "metadata.finalizers[0]"


def test_zeros_are_written_as_go_writes_them() -> None:
    spec = {"selector": {"matchLabels": {"a": "b"}}, "ordinals": {}, "minReadySeconds": 0}
    spec["template"] = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    document = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "x"}, "spec": spec}
    stored = written(document).document["spec"]
    assert (stored["serviceName"], stored["ordinals"], "minReadySeconds" in stored) == ("", {"start": 0}, False)


def test_the_generation_of_a_deployment_counts_its_annotations() -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    document = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}, "spec": spec}
    for changed, generation in (({"annotations": {"a": "b"}}, 2), ({"labels": {"a": "b"}}, 1)):
        answer = written(document, {**document, "metadata": {"name": "x", **changed}})
        assert answer.document["metadata"]["generation"] == generation


@pytest.mark.parametrize(
    ("document", "named"),
    [
        (
            {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "spec": {"rules": [{"http": "x"}]}},
            "IngressRule.spec.rules.IngressRuleValue.http of type v1.HTTPIngressRuleValue",
        ),
        (
            {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "spec": {"behavior": "x"}},
            "HorizontalPodAutoscalerSpec.spec.behavior of type v2.HorizontalPodAutoscalerBehavior",
        ),
    ],
)
def test_what_does_not_decode_is_named_as_in_go(document: Raw, named: str) -> None:
    answer = written({**document, "metadata": {"name": "x"}})
    assert answer.document["message"].endswith(f"json: cannot unmarshal string into Go struct field {named}")


def test_amounts_are_stored_in_canonical_form_and_quotas_warn_when_they_are_made() -> None:
    hard = {"requests.cpu": 1.5, "limits.cpu": "1000m", "memory": "1024Mi"}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "x"}, "spec": {"hard": hard}}
    made = written(quota)
    assert made.document["spec"]["hard"] == {"requests.cpu": "1500m", "limits.cpu": "1", "memory": "1Gi"}
    assert made.warnings == ["ResourceQuota requests.cpu (1500m) should be less than limits.cpu (1)"]
    assert written(quota, quota).warnings == []


def test_a_new_volume_says_since_when_it_is_pending() -> None:
    spec = {"capacity": {"storage": "1024Mi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}
    volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "x"}, "spec": spec}
    made = written(volume).document
    assert made["status"] == {
        "phase": "Pending",
        "lastPhaseTransitionTime": made["metadata"]["creationTimestamp"],
    }
    assert made["spec"]["capacity"] == {"storage": "1Gi"}
    assert written(volume, volume).document["status"]["lastPhaseTransitionTime"]
