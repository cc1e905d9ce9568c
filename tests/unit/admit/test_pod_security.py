"""PodSecurity: what the levels of a namespace forbid and warn of, in Kubernetes' words."""

from typing import Any

import pytest

from moorage.admit.objects_world import ObjectsWorld
from moorage.admit.plugins import Forbidden
from moorage.admit.plugins.pod_security import PodSecurity
from moorage.model.kinds import KINDS
from moorage.model.types.core import Namespace
from moorage.model.types.meta import ObjectMeta

Raw = dict[str, Any]
FINE = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def plugin(**labels: str) -> PodSecurity:
    spelled = {f"pod-security.kubernetes.io/{mode}": level for mode, level in labels.items()}
    namespace = Namespace(metadata=ObjectMeta(name="n", labels=spelled))
    return PodSecurity(ObjectsWorld.of([(KINDS.NAMESPACE, namespace)]))


def pod(context: Raw | None = None, **spec: Any) -> Raw:
    container = {"name": "c", "image": "i", **({"securityContext": context} if context is not None else {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "n"},
        "spec": {"containers": [container], **spec},
    }


@pytest.mark.parametrize(
    ("document", "text"),
    [
        (pod(), ""),
        (pod({"privileged": True}), 'privileged (container "c" must not set securityContext.privileged=true)'),
        (pod(hostNetwork=True, hostPID=True), "host namespaces (hostNetwork=true, hostPID=true)"),
        (pod(volumes=[{"name": "v", "hostPath": {"path": "/"}}]), 'hostPath volumes (volume "v")'),
        (
            pod({"capabilities": {"add": ["SYS_ADMIN", "CHOWN"]}}),
            'non-default capabilities (container "c" must not include "SYS_ADMIN" in securityContext.capabilities.add)',
        ),
        (
            pod(containers=[{"name": name, "ports": [{"hostPort": 80}]} for name in "ab"]),
            'hostPort (containers "a", "b" use hostPort 80)',
        ),
        (
            pod(securityContext={"seccompProfile": {"type": "Unconfined"}, "sysctls": [{"name": "kernel.msgmax"}]}),
            'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined"), '
            "forbidden sysctls (kernel.msgmax)",
        ),
    ],
)
def test_baseline(document: Raw, text: str) -> None:
    if not text:
        plugin(enforce="baseline").validate(KINDS.POD, document, None)
        return
    with pytest.raises(Forbidden) as refusal:
        plugin(enforce="baseline").validate(KINDS.POD, document, None)
    assert str(refusal.value) == f'violates PodSecurity "baseline:latest": {text}'


def test_restricted() -> None:
    plugin(enforce="restricted").validate(KINDS.POD, pod(FINE), None)
    plugin(enforce="privileged").validate(KINDS.POD, pod({"privileged": True}), None)
    with pytest.raises(Forbidden) as refusal:
        plugin(enforce="restricted").validate(KINDS.POD, pod(volumes=[{"name": "v", "nfs": {"server": "s"}}]), None)
    assert str(refusal.value) == (
        'violates PodSecurity "restricted:latest": '
        'allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), '
        'unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]), '
        'restricted volume types (volume "v" uses restricted volume type "nfs"), '
        'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), '
        'seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or '
        '"Localhost")'
    )


def test_workloads_are_warned_of_and_not_refused() -> None:
    template = {"spec": pod({"privileged": True})["spec"]}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": "n"}}
    deployment["spec"] = {"template": template}
    both = plugin(enforce="baseline", warn="baseline")
    both.validate(KINDS.DEPLOYMENT, deployment, None)
    warned = 'privileged (container "c" must not set securityContext.privileged=true)'
    assert both.warnings(KINDS.DEPLOYMENT, deployment, None) == [
        f'would violate PodSecurity "baseline:latest": {warned}'
    ]
    assert plugin(enforce="baseline").warnings(KINDS.DEPLOYMENT, deployment, None) == [
        f'would violate PodSecurity "baseline:latest": {warned}'
    ]
    assert not plugin(enforce="baseline", warn="privileged").warnings(KINDS.DEPLOYMENT, deployment, None)
    assert not both.warnings(
        KINDS.CONFIG_MAP, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "n"}}, None
    )
