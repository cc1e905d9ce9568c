"""What people mean by words that Kubernetes does not know."""

from __future__ import annotations

import pytest
from tests.unit.lint.linting import lint, node, pod, stream, tolerating, workload

from moorage.lint.meant_words import meant_effect, meant_field, meant_kind, meant_operator, meant_topology_key
from moorage.match.operators import LABEL_SELECTOR, NODE_SELECTOR, TOLERATION, OperatorPlace

STRICT = "does not exist, comparisons are strict: write"


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("Less", "Lt"),
        ("LessThan", "Lt"),
        ("less-than", "Lt"),
        ("<", "Lt"),
        ("lt", "Lt"),
        ("LT", "Lt"),
        ("below", "Lt"),
        ("Greater", "Gt"),
        ("GreaterThan", "Gt"),
        ("greater_than", "Gt"),
        (">", "Gt"),
        ("gt", "Gt"),
        ("Above", "Gt"),
        ("Equals", "Equal"),
        ("==", "Equal"),
        ("=", "Equal"),
        ("eq", "Equal"),
        ("Exist", "Exists"),
        ("exists", "Exists"),
        ("*", "Exists"),
        ("Present", "Exists"),
        ("SemVerGt", "SemverGt"),
        ("semverGreater", "SemverGt"),
        ("Semver>", "SemverGt"),
        ("NewerThan", "SemverGt"),
        ("SemverLess", "SemverLt"),
        ("olderThan", "SemverLt"),
        ("SemverEqual", "SemverEq"),
        ("VersionEq", "SemverEq"),
    ],
)
def test_operators_of_tolerations(word: str, name: str) -> None:
    assert meant_operator(word, TOLERATION) == f"did you mean {name}?"
    [rejected] = lint(tolerating(f"{{key: a, operator: '{word}', value: '{'' if name == 'Exists' else '5'}'}}"))
    assert (rejected.rule, rejected.hint) == ("rejected", f"did you mean {name}?")


@pytest.mark.parametrize(
    ("word", "value", "hint"),
    [
        ("Gte", "950", f"Gte {STRICT} Gt 949, or two tolerations, Equal 950 and Gt 950"),
        (">=", "0", f">= {STRICT} Gt -1, or two tolerations, Equal 0 and Gt 0"),
        ("AtLeast", "5", f"AtLeast {STRICT} Gt 4, or two tolerations, Equal 5 and Gt 5"),
        ("LessThanOrEqual", "5", f"LessThanOrEqual {STRICT} Lt 6, or two tolerations, Equal 5 and Lt 5"),
        ("lte", "9223372036854775807", f"lte {STRICT} two tolerations, one with Equal, one with Lt"),
        ("le", "five", f"le {STRICT} two tolerations, one with Equal, one with Lt"),
        ("SemverGte", "v1.36", f"SemverGte {STRICT} two tolerations, SemverEq v1.36 and SemverGt v1.36"),
        ("NotEqual", "5", "NotEqual does not exist: write two tolerations, Lt 5 and Gt 5"),
        (
            "!=",
            "spot",
            "!= does not exist; an expression can say it: taint.key == 'a' && taint.value != 'spot'",
        ),
        (
            "NotIn",
            "x",
            "NotIn is an operator of node affinity; a toleration compares with one value, by Equal or Exists",
        ),
        ("oneOf", "x", "In is an operator of node affinity; a toleration compares with one value, by Equal or Exists"),
        ("wobble", "x", ""),
    ],
)
def test_words_without_an_operator(word: str, value: str, hint: str) -> None:
    [rejected] = lint(tolerating(f"{{key: a, operator: '{word}', value: '{value}'}}"))
    assert rejected.hint == hint
    in_template = workload("Deployment", f"      tolerations: [{{key: a, operator: '{word}', value: '{value}'}}]\n")
    [rejected] = lint(in_template)
    assert rejected.hint == hint


@pytest.mark.parametrize(
    ("word", "place", "hint"),
    [
        ("GreaterThan", NODE_SELECTOR, "did you mean Gt?"),
        ("Equals", NODE_SELECTOR, "write In with one value"),
        ("!=", NODE_SELECTOR, "did you mean NotIn?"),
        ("NotEqual", LABEL_SELECTOR, "did you mean NotIn?"),
        ("oneOf", LABEL_SELECTOR, "did you mean In?"),
        ("Absent", NODE_SELECTOR, "did you mean DoesNotExist?"),
        ("notExists", LABEL_SELECTOR, "did you mean DoesNotExist?"),
        ("==", LABEL_SELECTOR, "write In with one value"),
        ("Less", LABEL_SELECTOR, "label selectors have no Lt, only In, NotIn, Exists and DoesNotExist"),
    ],
)
def test_operators_of_selectors(word: str, place: OperatorPlace, hint: str) -> None:
    assert meant_operator(word, place) == hint


@pytest.mark.parametrize(
    ("word", "effect"),
    [
        ("noschedule", "NoSchedule"),
        ("No-Schedule", "NoSchedule"),
        ("NoExec", "NoExecute"),
        ("evict", "NoExecute"),
        ("prefer", "PreferNoSchedule"),
        ("PreferNoSched", "PreferNoSchedule"),
    ],
)
def test_effects(word: str, effect: str) -> None:
    assert meant_effect(word) == f"did you mean {effect}?"
    [rejected] = lint(tolerating(f"{{key: a, operator: Exists, effect: {word}}}"))
    assert rejected.hint == f"did you mean {effect}?"


@pytest.mark.parametrize(
    ("version", "kind", "hint"),
    [
        ("apps/v1", "Deployments", "did you mean Deployment?"),
        ("apps/v1", "deploy", "did you mean Deployment?"),
        ("v1", "svc", "did you mean Service?"),
        ("v1", "cm", "did you mean ConfigMap?"),
        ("policy/v1", "PDB", "did you mean PodDisruptionBudget?"),
        ("autoscaling/v2", "HPA", "did you mean HorizontalPodAutoscaler?"),
        ("apps/v1beta1", "Deployment", "write apiVersion: apps/v1"),
        ("app/v1", "Deployment", "write apiVersion: apps/v1"),
        ("v1", "Deployment", "write apiVersion: apps/v1"),
        ("networking.k8.io/v1", "Ingress", "write apiVersion: networking.k8s.io/v1"),
    ],
)
def test_kinds_and_versions(version: str, kind: str, hint: str) -> None:
    [unserved] = lint(f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a}}\n")
    assert (unserved.rule, unserved.hint) == ("unserved-version", hint)


@pytest.mark.parametrize(
    ("version", "kind"),
    [("example.com/v1", "Deployment"), ("snapshot.storage.k8s.io/v1", "VolumeSnapshot"), ("cert.io/v1", "Ingress")],
)
def test_groups_that_may_be_custom(version: str, kind: str) -> None:
    assert lint(f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a}}\n") == []


def test_a_kind_that_is_not_known() -> None:
    assert meant_kind("Zebra", ["Pod"]) == ""
    assert meant_kind("deploy", ["Pod"]) == ""


@pytest.mark.parametrize(
    ("spec", "hint"),
    [
        ("  affinity: {antiAffinity: {}}\n", "did you mean podAntiAffinity?"),
        ("  topologySpread: []\n", "did you mean topologySpreadConstraints?"),
        ("  priorityClass: high\n", "did you mean priorityClassName?"),
        (
            "  tolerations: [{key: a, operator: Exists, effect: NoExecute, seconds: 5}]\n",
            "did you mean tolerationSeconds?",
        ),
        ("  tolerationz: []\n", "did you mean tolerations?"),
        ("  node_selector: {}\n", "did you mean nodeSelector?"),
    ],
)
def test_fields(spec: str, hint: str) -> None:
    [unknown] = lint(pod(spec))
    assert (unknown.rule, unknown.hint) == ("unknown-field", hint)


def test_a_field_elsewhere_is_another_one() -> None:
    assert meant_field("spec.antiAffinity") == ""
    assert meant_field("spec.template.spec.affinity.anti_affinity") == "podAntiAffinity"


def spread(key: str, when: str = "DoNotSchedule") -> str:
    constraint = f"{{maxSkew: 1, topologyKey: {key}, whenUnsatisfiable: {when}, labelSelector: {{}}}}"
    return pod(f"  topologySpreadConstraints: [{constraint}]\n")


def anti_affinity(key: str, name: str = "podAntiAffinity") -> str:
    term = f"{{topologyKey: {key}, labelSelector: {{}}}}"
    return pod(f"  affinity: {{{name}: {{requiredDuringSchedulingIgnoredDuringExecution: [{term}]}}}}\n")


ZONED = node("n1", labels="{topology.kubernetes.io/zone: a, example.com/rack: r}")


@pytest.mark.parametrize(
    ("text", "consequence", "hint"),
    [
        (spread("zone"), "the pods stay Pending", "did you mean topology.kubernetes.io/zone?"),
        (spread("zone", "ScheduleAnyway"), "it has no effect", "did you mean topology.kubernetes.io/zone?"),
        (spread("hostname"), "the pods stay Pending", "did you mean kubernetes.io/hostname?"),
        (anti_affinity("kubernetes.io/zone"), "it has no effect", "did you mean topology.kubernetes.io/zone?"),
        (anti_affinity("zone", "podAffinity"), "the pods stay Pending", "did you mean topology.kubernetes.io/zone?"),
        (spread("example.com/racks"), "the pods stay Pending", "did you mean example.com/rack?"),
        (spread("pdu"), "the pods stay Pending", "label the nodes with pdu"),
        (
            spread("topology.kubernetes.io/region"),
            "the pods stay Pending",
            "label the nodes with topology.kubernetes.io/r",
        ),
    ],
)
def test_topology_keys_that_no_node_has(text: str, consequence: str, hint: str) -> None:
    [missing] = [finding for finding in lint(stream(text, ZONED)) if finding.rule == "topology-key-missing"]
    assert missing.message.endswith(f": {consequence}")
    assert missing.hint.startswith(hint)
    assert missing.place.path.endswith(".topologyKey")


@pytest.mark.parametrize(
    "documents",
    [
        (spread("topology.kubernetes.io/zone"), ZONED),
        (spread("kubernetes.io/hostname"), ZONED),
        (anti_affinity("example.com/rack"), ZONED),
        (spread("zone"),),
    ],
)
def test_topology_keys_that_nodes_have_or_that_are_not_known(documents: tuple[str, ...]) -> None:
    assert "topology-key-missing" not in {finding.rule for finding in lint(stream(*documents))}


def test_words_of_topology() -> None:
    assert meant_topology_key("AvailabilityZone") == "topology.kubernetes.io/zone"
    assert meant_topology_key("failure-domain.beta.kubernetes.io/zone") == "topology.kubernetes.io/zone"
    assert meant_topology_key("xyzzy") == ""
