"""Pod templates: as pods, but reported elsewhere and a little more lenient."""

from tests.unit.admit.pod.manifests import NOT_A_KEY, Fragment, pod_view

from moorage.admit.options import STRICT
from moorage.admit.pod.pod import validate_pod_template
from moorage.model.types.pod import PodTemplateSpec


def template_errors(spec: Fragment | None = None, metadata: Fragment | None = None) -> list[str]:
    pod = pod_view(spec, {"name": "", "namespace": "", **(metadata or {})})
    template = PodTemplateSpec(metadata=pod.metadata, spec=pod.spec)
    return [str(error) for error in validate_pod_template(template, "spec.template", STRICT)]


def test_no_name_is_needed() -> None:
    assert template_errors() == []


def test_paths() -> None:
    metadata = {"labels": {"_": ""}, "annotations": {"_": "", "controller.kubernetes.io/pod-deletion-cost": "x"}}
    assert template_errors({"containers": [{"image": ""}]}, metadata) == [
        f'spec.template.labels: Invalid value: "_": {NOT_A_KEY}',
        f'spec.template.annotations: Invalid value: "_": {NOT_A_KEY}',
        'spec.template.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "x": '
        "must be a 32bit integer",
        "spec.template.spec.containers[0].image: Required value",
    ]


def test_what_only_pods_must_heed() -> None:
    token = {"path": "t", "expirationSeconds": 600}
    volumes = [{"name": "v", "projected": {"sources": [{"serviceAccountToken": token}]}}]
    gated = {"nodeName": "n", "schedulingGates": [{"name": "g"}]}
    assert template_errors({"containers": [{"image": " i "}], "volumes": volumes, **gated}) == []


def test_what_only_templates_must_heed() -> None:
    annotations = {"seccomp.security.alpha.kubernetes.io/pod": "unconfined"}
    spec = {"securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}, "ephemeralContainers": [{}]}
    assert template_errors(spec, {"annotations": annotations}) == [
        "spec.template.spec.securityContext.seccompProfile.type: Forbidden: "
        "seccomp type in annotation and field must match",
        "spec.template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template",
    ]


def test_no_claim_name_without_a_pod_name() -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}}
    ephemeral = {"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}
    borrowed = {"name": "v", "persistentVolumeClaim": {"claimName": "-e"}}
    assert template_errors({"volumes": [ephemeral, borrowed]}) == []
