"""`lint --attached`: both forms are accepted and judged alike, and what cannot be lowered or surprises is found."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from tests.unit.lint.linting import lint, tolerating, workload

from moorage.attach.objects import lowered
from moorage.cli.main import moorage
from moorage.lint.finding import Finding
from moorage.lint.rules.attached import AttachedBy

WEBHOOK, POLICIES = AttachedBy.WEBHOOK, AttachedBy.POLICIES
GT = '{key: spot, operator: Gt, value: "950", effect: NoSchedule}'
CEL = "{key: spot, operator: CEL, value: 'int(taint.value) > 950', effect: NoSchedule}"


def attached(*texts: str, by: AttachedBy = WEBHOOK) -> list[Finding]:
    return lint(*texts, gates=False, attached=by)


def names(findings: list[Finding]) -> list[str]:
    return [finding.rule for finding in findings]


def lowered_text(text: str) -> str:
    return yaml.safe_dump(lowered(yaml.safe_load(text)))


@pytest.mark.parametrize(
    "tolerations",
    [
        (GT,),
        ('{key: v, operator: SemverGt, value: "1.2.3"}', "{key: other, operator: Exists}"),
        ('{key: spot, operator: Lt, value: "0"}',),
        (GT, GT),
        ('{key: spot, operator: Gt, value: "950", effect: NoSchedule}', "{key: spot, operator: Exists}"),
        (CEL,),
        ("{key: spot, operator: CEL, value: 'true'}",),
        ("{key: spot, operator: CEL, value: 'taint.value > \"9\"'}",),
    ],
)
def test_both_forms_have_the_same_findings(tolerations: tuple[str, ...]) -> None:
    original = tolerating(*tolerations)
    without = lint(original, gates=False)
    assert "rejected" in names(without)
    found = attached(original)
    assert "rejected" not in names(found)
    assert sorted((each.rule, each.message) for each in attached(lowered_text(original))) == sorted(
        (each.rule, each.message) for each in found
    )


def test_places_are_those_of_the_input() -> None:
    (found,) = [each for each in attached(tolerating(CEL)) if each.rule == "attach-needs-match-label"]
    assert (found.place.line, found.place.column) == (6, 32)
    (found,) = attached(lowered_text(tolerating('{key: spot, operator: Lt, value: "0", effect: NoSchedule}')))
    assert found.rule == "toleration-never-matches"
    assert "tolerations:" in found.place.excerpt.line


def test_what_is_said_of_expressions_is_about_their_key() -> None:
    found = attached(tolerating("{key: spot, operator: CEL, value: 'true', effect: NoSchedule}"))
    assert names(found) == ["attach-needs-match-label", "cel-constant"]
    assert "tolerates every taint with the key spot" in found[1].message


@pytest.mark.parametrize(
    ("text", "rule", "words"),
    [
        (tolerating("{key: spot, operator: SemverGt, value: x}"), "attach-refused", "x"),
        (tolerating("{key: spot, expression: 'true'}"), "attach-refused", "write operator CEL"),
        (
            tolerating("{operator: CEL, value: 'true'}"),
            "attach-keyless-expression",
            "labels of nodes are about one key",
        ),
        (tolerating(GT, metadata=", namespace: kube-system"), "attach-exempt", "in namespace kube-system"),
        (
            tolerating(GT, metadata=', labels: {attach.moorage.dev/exempt: "true"}'),
            "attach-exempt",
            "with the label attach.moorage.dev/exempt",
        ),
        (workload("DaemonSet", f"      tolerations: [{GT}]\n"), "attach-daemon-pods-deleted", "daemon pod is deleted"),
        (
            workload("Rollout", f"      tolerations: [{GT}]\n").replace("apps/v1", "argoproj.io/v1alpha1"),
            "attach-kind-not-lowered",
            "its ReplicaSets are refused",
        ),
        (
            workload("Cache", f"      tolerations: [{GT}]\n").replace("apps/v1", "example.com/v1"),
            "attach-kind-not-lowered",
            "if its controller owns ReplicaSets",
        ),
    ],
)
def test_traps(text: str, rule: str, words: str) -> None:
    found = attached(text)
    assert names(found) == [rule]
    assert words in str(found[0])
    assert rule not in names(lint(text, gates=False))


@pytest.mark.parametrize("effect", ["NoExecute", "PreferNoSchedule"])
def test_daemon_pods_are_deleted_by_no_schedule_only(effect: str) -> None:
    text = workload("DaemonSet", f"      tolerations: [{GT.replace('NoSchedule', effect)}]\n")
    assert names(attached(text)) == []


@pytest.mark.parametrize(
    ("tolerations", "words"),
    [
        ((CEL,), "lowers Lt and Gt only, not CEL"),
        (
            tuple(f'{{key: k{number}, operator: Gt, value: "1", effect: NoSchedule}}' for number in range(5)),
            "these are 5",
        ),
        (tuple(f'{{key: k{number}, operator: Gt, value: "1"}}' for number in range(3)), "these are 6"),
    ],
)
def test_the_policy_lowers_less_than_the_webhook(tolerations: tuple[str, ...], words: str) -> None:
    found = attached(tolerating(*tolerations), by=POLICIES)
    assert names(found) == ["attach-refused"]
    assert words in found[0].message
    assert names(attached(tolerating(GT), by=POLICIES)) == []


def test_an_edited_annotation_is_found() -> None:
    text = lowered_text(tolerating(GT))
    assert names(attached(text)) == []
    assert "attach-inconsistent" in names(attached(text.replace('"value":"950"', '"value":"9"')))


def test_a_daemon_pod_of_a_cluster_has_the_affinity_of_its_node() -> None:
    document = lowered(yaml.safe_load(tolerating(GT)))
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u", "controller": True}
    document["metadata"] |= {"uid": "1", "resourceVersion": "1", "ownerReferences": [owner]}
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    document["spec"]["affinity"] = {"nodeAffinity": required}
    assert names(attached(yaml.safe_dump(document))) == []
    del document["metadata"]["ownerReferences"]
    assert names(attached(yaml.safe_dump(document))) == ["attach-inconsistent"]


def definition(operator: dict[str, Any]) -> str:
    items = {"type": "object", "properties": {"operator": {"type": "string", **operator}}}
    tolerations = {"type": "array", "items": items}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"tolerations": tolerations}}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {
        "group": "example.com",
        "names": {"kind": "Cache", "plural": "caches"},
        "scope": "Namespaced",
        "versions": [version],
    }
    metadata = {"name": "caches.example.com"}
    document = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": spec,
    }
    return yaml.safe_dump(document)


def test_schemas_that_list_operators() -> None:
    (found,) = attached(definition({"enum": ["Exists", "Equal", "Lt", "Gt"]}))
    assert found.rule == "attach-schema-refuses"
    assert "objects with SemverLt, SemverGt, SemverEq, CEL in tolerations" in found.message
    assert attached(definition({})) == []


def test_pools_need_the_labels_of_their_taints() -> None:
    pool = (
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: spot}\n"
        "spec: {template: {metadata: {labels: %s}, spec: {taints: [{key: spot, value: x, effect: NoSchedule}]}}}\n"
    )
    (found,) = attached(pool % "{}")
    assert found.rule == "attach-pool-lacks-labels"
    assert found.hint == "give the template the labels raw.noschedule.taint.moorage.dev/spot=x"
    assert attached(pool % "{raw.noschedule.taint.moorage.dev/spot: x}") == []
    (found,) = attached((pool % "{}").replace("key: spot", "key: server.io/spot"))
    assert "server.io.raw.noschedule.taint.moorage.dev/spot=x" in found.hint


def test_pools_that_are_named_apart_are_checked_too(tmp_path: Path) -> None:
    file = tmp_path / "groups.json"
    tag = {"Key": "k8s.io/cluster-autoscaler/node-template/taint/spot", "Value": "x:NoSchedule"}
    group = {"AutoScalingGroupName": "spot", "MinSize": 0, "MaxSize": 3, "Tags": [tag]}
    file.write_text(json.dumps({"AutoScalingGroups": [group]}))
    options = ["lint", "--attached", "--pools", str(file), "-"]
    result = CliRunner().invoke(moorage, options, input=tolerating(GT), standalone_mode=False)
    assert "attach-pool-lacks-labels" in result.output
    assert "raw.noschedule.taint.moorage.dev/spot=x" in result.output


@pytest.mark.parametrize(
    ("options", "code"), [((), 1), (("--attached",), 0), (("--attached=policies",), 1), (("--attached=x",), 2)]
)
def test_the_option(options: tuple[str, ...], code: int) -> None:
    result = CliRunner().invoke(moorage, ["lint", *options, "-"], input=tolerating(CEL), standalone_mode=False)
    assert (2 if result.exception else result.return_value) == code


HOSTILE = [
    "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {attach.moorage.dev/tolerations: '[[['}}\nspec: 3\n",
    "apiVersion: v1\nkind: Pod\nmetadata: 3\nspec: {tolerations: [{operator: Gt}]}\n",
    "apiVersion: x.io/v1\nkind: Odd\nmetadata: {name: o}\nspec: {tolerations: {a: [3]}}\n",
    "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: o}\nspec: {versions: [3]}\n",
    "apiVersion: karpenter.sh/v1\nkind: NodePool\nspec: []\n",
    "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {tolerations: [{key: 3, operator: Gt, value: '1'}, null]}\n",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_odd_input_is_no_internal_error(text: str) -> None:
    for by in AttachedBy:
        attached(text, by=by)
