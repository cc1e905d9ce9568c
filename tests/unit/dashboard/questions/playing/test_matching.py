"""Which nodes a rule matches, why not the others, which gates it needs; and arguments that make no sense."""

from typing import Any

import pytest
from tests.unit.dashboard.questions.playing.playing import ask, base_of

from moorage.dashboard.questions import Base
from moorage.model.gates import default_gates


@pytest.fixture(scope="module")
def base() -> Base:
    return base_of()


def by_node(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: group for group in found["nodes"]["groups"] for name in group["nodes"]}


def test_a_number_is_compared_on_every_node(base: Base) -> None:
    found = ask(base, "tolerations", '- {key: sla, operator: Gt, value: "900"}')
    groups = by_node(found)
    assert {name for name, group in groups.items() if group["matches"]} == {"high", "plain"}
    assert groups["low"]["reason"] == "taint sla=800 is not tolerated: 800 > 900 is false (toleration Gt 900)"
    assert 'taint value "007" is not a 64-bit integer in canonical form' in groups["odd"]["reason"]
    assert groups["low"]["eviction"]["when"] == "now"
    assert (found["nodes"]["matched"], found["nodes"]["unmatched"]) == (2, 2)
    assert [(row["value"], row["tolerated"]) for row in found["taints"] if row["key"] == "sla"] == [
        ("007", False),
        ("800", False),
        ("950", True),
    ]


def test_seconds_evict_although_the_taint_is_tolerated(base: Base) -> None:
    text = '- {key: sla, operator: Lt, value: "900", effect: NoExecute, tolerationSeconds: 30}'
    group = by_node(ask(base, "tolerations", text))["low"]
    assert group["matches"]
    assert (group["eviction"]["when"], group["eviction"]["seconds"]) == ("after", 30)


def test_a_taint_that_is_only_preferred_is_a_note(base: Base) -> None:
    group = by_node(ask(base, "tolerations", "- {key: sla, operator: Exists}"))["odd"]
    assert group["matches"]
    assert "the scheduler prefers other nodes: taint soft" in group["notes"][0]


def test_an_expression_has_a_type_and_a_cost(base: Base) -> None:
    found = ask(base, "cel", "taint.key == 'sla' && int(taint.value) > 900")
    assert {name for name, group in by_node(found).items() if group["matches"]} == {"high", "plain"}
    (facts,) = found["cel"]
    assert (facts["type"], facts["exceeds"], facts["limit"]) == ("bool", False, 1_000_000)
    assert 0 < facts["cost"][0] <= facts["cost"][1] < 1_000
    assert facts["variables"] == [{"name": "taint", "type": "kubernetes.Taint"}]


def test_pasted_taints_take_the_place_of_the_cluster(base: Base) -> None:
    pasted = "n1 sla=950:NoSchedule\nsla=1:NoSchedule,kernel=6.2\n\n# no node\nn3 sla=1:Foo what\n"
    found = ask(base, "tolerations", '- {key: sla, operator: Gt, value: "900"}', taints=pasted)
    assert {name: group["matches"] for name, group in by_node(found).items()} == {
        "n1": True,
        "line 2": False,
        "n3": True,
    }
    assert [one["line"] for one in found["pasteProblems"]] == [5, 5]
    found = ask(base, "affinity", '{key: kernel, operator: SemverGt, values: ["6"]}', taints=pasted)
    assert {name for name, group in by_node(found).items() if group["matches"]} == {"line 2"}


def test_many_values_with_the_same_reason_are_one_group(base: Base) -> None:
    pasted = "\n".join(f"n{level} sla={level}:NoSchedule" for level in range(100))
    found = ask(base, "tolerations", '- {key: sla, operator: Gt, value: "49"}', taints=pasted)["nodes"]
    assert (found["matched"], found["unmatched"]) == (50, 50)
    assert [(group["matches"], group["count"]) for group in found["groups"]] == [(True, 50), (False, 50)]
    refused = found["groups"][1]
    assert refused["alike"]["count"] == 49
    assert "taint sla=7 is not tolerated: 7 > 49 is false (toleration Gt 49)" in refused["alike"]["reasons"]


def test_versions_of_labels_are_compared(base: Base) -> None:
    groups = by_node(ask(base, "affinity", '{key: kernel, operator: SemverGt, values: ["5.10"]}'))
    assert {name for name, group in groups.items() if group["matches"]} == {"high"}
    assert groups["low"]["reason"] == "label kernel=5.4: 5.4 > 5.10 is false"
    assert "is not a semantic version" in groups["odd"]["reason"]
    assert "is missing" in groups["plain"]["reason"]


def test_a_node_selector_and_pod_affinity_are_matched(base: Base) -> None:
    groups = by_node(ask(base, "nodeSelector", "pool: a"))
    assert {name for name, group in groups.items() if group["matches"]} == {"plain"}
    text = (
        "podAntiAffinity:\n  requiredDuringSchedulingIgnoredDuringExecution:\n"
        "  - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: db}}}\n"
    )
    groups = by_node(ask(base, "affinity", text))
    assert {name for name, group in groups.items() if not group["matches"]} == {"plain"}


def test_gates_are_listed_with_components_versions_and_messages() -> None:
    base = base_of(default_gates())
    text = '- {key: sla, operator: Gt, value: "900"}\n- {key: v, operator: SemverLt, value: "1"}\n'
    found = ask(base, "tolerations", text)
    numbers, versions = found["gates"]
    assert numbers["name"] == "TaintTolerationComparisonOperators"
    assert (numbers["on"], numbers["since"]) == (False, "alpha (off by default) since 1.35")
    assert "Unsupported value" in numbers["says"]
    assert [one["component"] for one in numbers["components"]] == [
        "kube-apiserver",
        "kube-scheduler",
        "kube-controller-manager",
        "kubelet",
    ]
    assert all(one["whenOff"] for one in numbers["components"])
    assert "no Kubernetes release" in versions["since"]
    reason = by_node(found)["high"]["reason"]
    assert "operator Gt needs the feature gate TaintTolerationComparisonOperators in the scheduler" in reason
    found = ask(base, "tolerations", text, gates={"TaintTolerationComparisonOperators": True})
    assert by_node(found)["high"]["matches"]
    assert found["gates"][0]["on"]


def test_each_form_lists_the_gates_it_needs(base: Base) -> None:
    (rule,) = ask(base, "tolerations", '- {key: sla, operator: Gt, value: "900"}')["forms"]
    assert {form["form"]: form.get("gates") for form in rule["forms"]} == {
        "text": None,
        "number": ["TaintTolerationComparisonOperators"],
        "version": ["TaintTolerationNodeAffinitySemverComparisonOperators"],
        "expression": ["TaintTolerationCEL"],
    }
    (rule,) = ask(base, "affinity", '{key: kernel, operator: In, values: ["5.4"]}')["forms"]
    assert {form["form"]: form.get("gates") for form in rule["forms"]} == {
        "text": [],
        "number": None,
        "version": ["TaintTolerationNodeAffinitySemverComparisonOperators"],
        "expression": None,
    }


def test_a_form_lists_the_values_of_the_cluster_for_which_it_differs(base: Base) -> None:
    (rule,) = ask(base, "tolerations", '- {key: sla, operator: Lt, value: "900"}')["forms"]
    version = next(form for form in rule["forms"] if form["form"] == "version")
    assert not version["exact"]
    assert version["agreement"]["differ"] == [{"taint": "sla=007:NoSchedule", "before": False, "after": True}]
    expression = next(form for form in rule["forms"] if form["form"] == "expression")
    assert expression["exact"]
    assert (expression["agreement"]["differs"], expression["agreement"]["madeUpDiffers"]) == (0, 0)
    assert expression["agreement"]["madeUp"] > 50


def test_label_keys_are_dropped_without_a_word_where_their_gate_is_off(base: Base) -> None:
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata: {labels: {app: db}}\nspec:\n  affinity:\n    podAffinity:\n"
        "      requiredDuringSchedulingIgnoredDuringExecution:\n"
        "      - {topologyKey: zone, labelSelector: {}, matchLabelKeys: [app]}\n"
    )
    (gate,) = ask(base, "affinity", text)["gates"]
    assert gate["name"] == "MatchLabelKeysInPodAffinity"
    assert "drops the fields" in gate["says"]


BAD: dict[str, dict[str, Any]] = {
    "kind": {"kind": "pod"},
    "text": {"text": 5},
    "longer than 64 KiB": {"text": "a" * 70_000},
    "no Unicode": {"text": "\ud800"},
    "no feature gate 'X'": {"gates": {"X": True}},
    "gates.TaintTolerationCEL": {"gates": {"TaintTolerationCEL": "yes"}},
    "taints": {"taints": 1},
}


@pytest.mark.parametrize("reason", BAD)
def test_arguments_that_make_no_sense_are_refused(base: Base, reason: str) -> None:
    arguments: dict[str, Any] = {"text": "", **BAD[reason]}
    kind, text = arguments.pop("kind", "tolerations"), arguments.pop("text")
    assert reason in ask(base, kind, text, **arguments)["error"]


@pytest.mark.parametrize("text", ["", "   \n", "# nothing\n", "[]", "---\n"])
def test_an_empty_text_has_no_errors_and_no_matches(base: Base, text: str) -> None:
    found = ask(base, "tolerations", text)
    assert found["errors"] == []
    assert "nodes" not in found


def test_expensive_expressions_end_within_a_budget(base: Base) -> None:
    loop = "lists.range(300).all(a, lists.range(300).all(b, a + b >= 0))"
    found = ask(base, "cel", f"taint.key == 'sla' && {loop}")
    assert found["done"]
