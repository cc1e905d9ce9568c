"""The documents' examples with every gate off: what is refused, in which words, and what is dropped."""

import pytest
from tests.e2e.stories.stage import Stage, documents_of, pods_of

GATES = (
    "TaintTolerationComparisonOperators",
    "TaintTolerationNodeAffinitySemverComparisonOperators",
    "TaintTolerationCEL",
    "MatchLabelKeysInPodAffinity",
)
UP_OPTIONS = ("--feature-gates=" + ",".join(f"{gate}=false" for gate in GATES),)
TERM = "requiredDuringSchedulingIgnoredDuringExecution"
NO_NUMBERS = 'operator: Unsupported value: "{}": supported values: "Equal", "Exists", "Lt", "Gt"'
NO_VERSIONS = 'operator: Unsupported value: "{}": supported values: "Equal", "Exists"'
NO_AFFINITY = 'operator: Invalid value: "{}": not a valid selector operator'
NO_EXPRESSION = "expression: Forbidden: "


@pytest.mark.parametrize(
    ("folder", "file", "said"),
    [
        ("spot-nodes-by-sla", "workloads.yaml", "spec.tolerations[0]." + NO_NUMBERS.format("Gt")),
        ("inference-eviction-on-sla-drop", "inference.yaml", "spec.tolerations[1]." + NO_NUMBERS.format("Gt")),
        ("parameter-servers-and-workers", "training.yaml", "spec.tolerations[0]." + NO_NUMBERS.format("Gt")),
        ("gpu-claims-by-node-sla", "dra-workload.yaml", "spec.tolerations[0]." + NO_NUMBERS.format("Gt")),
        ("spot-protection", "payment-processor.yaml", "spec.tolerations[0]." + NO_NUMBERS.format("Lt")),
        ("gpu-tiers", "models.yaml", "spec.tolerations[0]." + NO_NUMBERS.format("Gt")),
        ("cost-limit", "nightly-report.yaml", "spec.tolerations[0]." + NO_NUMBERS.format("Lt")),
        ("disk-iops-minimum", "search-index.yaml", "spec.tolerations[0]." + NO_NUMBERS.format("Gt")),
        ("cni-upgrade", "tolerant-pod.yaml", "spec.tolerations[0]." + NO_VERSIONS.format("SemverLt")),
        (
            "kubelet-version-rollout",
            "modern-app.yaml",
            f"spec.affinity.nodeAffinity.{TERM}.nodeSelectorTerms[0].matchExpressions[0]."
            + NO_AFFINITY.format("SemverGt"),
        ),
        (
            "container-runtime",
            "user-namespaces.yaml",
            f"spec.affinity.nodeAffinity.{TERM}.nodeSelectorTerms[0].matchExpressions[0]."
            + NO_AFFINITY.format("SemverGt"),
        ),
        ("environment-taints-by-prefix", "log-collector.yaml", "spec.tolerations[0]." + NO_EXPRESSION),
        ("kernel-version-by-cel", "my-app.yaml", "spec.tolerations[0]." + NO_EXPRESSION),
        ("zones-by-regex", "my-app.yaml", "spec.tolerations[0]." + NO_EXPRESSION),
    ],
)
def test_pods_are_refused(stage: Stage, folder: str, file: str, said: str) -> None:
    first = pods_of(folder, file)[0]
    first["spec"].pop("priorityClassName", None)  # which is looked for before anything is validated
    refused = stage.refused(first)
    assert refused.startswith(f'The Pod "{first["metadata"]["name"]}" is invalid: {said}')


def test_a_volume_is_refused(stage: Stage) -> None:
    assert stage.refused(documents_of("pv-by-kernel-version", "storage.yaml")[1]) == (
        'The PersistentVolume "advanced-storage-pv" is invalid: '
        "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0]." + NO_AFFINITY.format("SemverGt")
    )


def test_claims_are_refused(stage: Stage) -> None:
    """Upstream's operators of device tolerations are Equal and Exists."""
    claim, template = (
        documents_of("gpu-claims-by-node-sla", "dra-workload.yaml")[0],
        documents_of("gpu-error-budget", "workloads.yaml")[0],
    )
    said = "devices.requests[0].exactly.tolerations[0]." + NO_VERSIONS.format("Gt")
    assert stage.refused(claim) == f'The ResourceClaim "gpu-claim-high-sla" is invalid: spec.{said}'
    assert stage.refused(template) == f'The ResourceClaimTemplate "inference-gpu" is invalid: spec.spec.{said}'


def test_templates_are_refused_as_pods_are(stage: Stage) -> None:
    [deployment] = documents_of("zones-by-regex", "my-app.yaml")
    said = stage.refused(deployment)
    assert said.startswith('The Deployment "my-app" is invalid: spec.template.spec.tolerations[0].' + NO_EXPRESSION)


@pytest.mark.parametrize(
    ("folder", "file"),
    [("rolling-update-with-match-label-keys", "application-server.yaml"), ("exclusive-tenants", "tenants.yaml")],
)
def test_label_keys_are_dropped_and_nothing_is_merged(stage: Stage, folder: str, file: str) -> None:
    made = pods_of(folder, file)[0]
    stage.create(made)
    stored = stage.object(f"pod {made['metadata']['name']}")["spec"]["affinity"]
    for kind, terms in made["spec"]["affinity"].items():
        kept = {"labelSelector", "topologyKey", "namespaceSelector"}
        assert stored[kind][TERM] == [{key: term[key] for key in term if key in kept} for term in terms[TERM]]
