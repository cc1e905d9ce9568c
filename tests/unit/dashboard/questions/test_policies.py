"""The questions `policies` and `policies-known`: the answers of `moorage policy explain`, with places in the texts."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from tests.unit.dashboard.questions.playing.playing import base_of
from tests.unit.plan.planning import written

from moorage.cli.main import moorage
from moorage.dashboard.questions import QUESTIONS, Base
from moorage.dashboard.questions.base import parts_of
from moorage.lint.sources import sources_of
from moorage.model.gates import GateSet, all_gates
from moorage.plan.planner import Planner, Settings

pytestmark = pytest.mark.real_time
POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: replicas}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: ["*"], resources: [deployments]}
  variables:
  - name: most
    expression: >-
      has(namespaceObject.metadata.labels.most)
      ? int(namespaceObject.metadata.labels.most) : 2
  validations:
  - expression: object.spec.replicas <= variables.most
    messageExpression: "'at most ' + string(variables.most)"
"""
BINDING = """\
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: replicas}
spec: {policyName: replicas, validationActions: [Deny]}
"""
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}
"""
BOAT = "{apiVersion: example.com/v1, kind: Boat, metadata: {name: a}}"
EXAMPLES = Path(__file__).resolve().parents[4] / "examples"


def ask(policies: str, subject: str, base: Base | None = None, **arguments: Any) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    question = {"policies": policies, "object": subject, **arguments}
    for part in parts_of(QUESTIONS["policies"], base or base_of(), question):
        merged |= part
    assert merged["done"]
    decoded: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(merged))
    return decoded


def base_with(*documents: dict[str, Any], gates: GateSet | None = None) -> Base:
    planner = Planner(Settings(all_gates() if gates is None else gates))
    planner.load(written(*documents))
    return Base(planner, planner.build())


def test_an_object_is_refused_and_each_expression_has_its_line() -> None:
    explanation = ask(POLICY + BINDING, WEB)["explanation"]
    assert explanation["decision"] == "deny"
    assert explanation["message"].endswith("denied request: at most 2")
    (policy,) = explanation["policies"]
    assert policy["failures"] == [
        {
            "field": "spec.validations[0].expression",
            "message": "at most 2",
            "actions": ["Deny"],
            "line": 14,
            "column": 5,
        }
    ]
    (params,) = policy["params"]
    assert (params["variables"][0]["value"], params["variables"][0]["line"]) == ("2", 10)
    (validation,) = params["validations"]
    assert (validation["value"], validation["line"]) == ("false", 14)
    assert [(part["expression"], part["value"]) for part in validation["parts"]["parts"]] == [
        ("object.spec.replicas", "3"),
        ("variables.most", "2"),
    ]


def test_the_namespaces_of_the_cluster_count_and_those_of_the_text_more() -> None:
    shop = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"most": "3"}}}
    assert ask(POLICY + BINDING, WEB, base_with(shop))["explanation"]["decision"] == "allow"
    text = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {most: '1'}}\n"
    answer = ask(POLICY + BINDING + text, WEB, base_with(shop))
    assert answer["explanation"]["message"].endswith("at most 1")


def test_a_policy_that_does_not_compile_has_its_problems_where_they_are_written() -> None:
    text = POLICY.replace("? int(namespaceObject", "? int(namespaceObjct").replace("object.spec.replicas", "objet.spec")
    answer = ask(text, WEB)
    places = [(one["line"], one["column"], one["endColumn"], one["message"]) for one in answer["problems"]["policies"]]
    assert (12, 13, 27, "undeclared reference to 'namespaceObjct'") in places
    assert (14, 17, 22, "undeclared reference to 'objet'") in places
    assert (answer["refused"], "explanation" in answer) == ("", False)


def test_an_object_that_is_no_object_has_its_problem() -> None:
    answer = ask(POLICY, WEB + "  colour: blue\n")
    (problem,) = answer["problems"]["object"]
    assert (problem["line"], problem["message"]) == (8, 'unknown field "spec.colour"')
    answer = ask(POLICY, "kind: [")
    assert answer["problems"]["object"][0]["severity"] == "error"
    assert answer["refused"] == "Write an object that the policies are asked about."


@pytest.mark.parametrize(
    ("policies", "subject", "arguments", "refused"),
    [
        ("", "", {}, "Write a policy, or choose an example."),
        (POLICY, WEB, {"operation": "UPDATE"}, "An update needs two objects, divided by ---: as it was, and as"),
        (POLICY, f"{WEB}---\n{WEB}", {}, "There should be one object, and there are 2."),
        (
            POLICY,
            "{apiVersion: example.com/v1, kind: Boat, metadata: {name: a}}",
            {},
            "the object: Boat in example.com/v1",
        ),
    ],
)
def test_what_cannot_be_asked(policies: str, subject: str, arguments: dict[str, Any], refused: str) -> None:
    answer = ask(policies, subject, **arguments)
    assert answer["refused"].startswith(refused)


@pytest.mark.parametrize("arguments", [{"operation": "PATCH"}, {"user": 3}, {"policies": 3}, {"gates": {"No": True}}])
def test_arguments_that_make_no_sense(arguments: dict[str, Any]) -> None:
    [part] = parts_of(QUESTIONS["policies"], base_of(), arguments)
    assert part["done"]
    assert part["error"]


def test_updates_deletions_and_users() -> None:
    text = POLICY.replace("object.spec.replicas <= variables.most", "request.userInfo.username != 'alice'")
    old_and_new = WEB + "---\n" + WEB.replace("replicas: 3", "replicas: 4")
    assert ask(text + BINDING, old_and_new, operation="UPDATE", user="alice")["explanation"]["decision"] == "deny"
    assert ask(text + BINDING, WEB, operation="DELETE", user="bob")["explanation"]["decision"] == "allow"


def test_mutations_show_their_patches() -> None:
    folder = EXAMPLES / "match-label-keys-by-policy"
    pod = """\
apiVersion: v1
kind: Pod
metadata: {name: web-1, labels: {app: web, pod-template-hash: abc}}
spec:
  containers: [{name: web, image: web}]
  affinity:
    podAntiAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - {labelSelector: {matchLabels: {app: web}}, topologyKey: kubernetes.io/hostname}
"""
    explanation = ask((folder / "policy.yaml").read_text(), pod)["explanation"]
    (mutation,) = explanation["policies"][0]["params"][0]["mutations"]
    assert [operation["value"] for operation in mutation["patch"]] == [["pod-template-hash"]]
    assert mutation["expression"]["line"] > mutation["variables"][0]["line"] > 1


def test_policies_of_the_cluster_come_with_bindings_and_parameters_and_can_be_asked() -> None:
    planner = Planner(Settings(all_gates()))
    planner.load(sources_of([str(EXAMPLES / "threshold-limit-by-namespace")]))
    base = Base(planner, planner.build())
    (part,) = parts_of(QUESTIONS["policies-known"], base, {})
    (policy,) = part["policies"]
    assert (policy["kind"], policy["name"], part["left"]) == ("ValidatingAdmissionPolicy", "threshold-limit", 0)
    assert [line for line in policy["text"].splitlines() if line.startswith("kind: ")] == [
        "kind: ValidatingAdmissionPolicy",
        "kind: ValidatingAdmissionPolicyBinding",
        "kind: ConfigMap",
        "kind: ConfigMap",
    ]
    bold = (EXAMPLES / "threshold-limit-by-namespace" / "bold.yaml").read_text()
    bold = bold.replace("name: bold", "name: bold\n  namespace: payments")
    explanation = ask(policy["text"], bold, base)["explanation"]
    assert explanation["message"].endswith("failure-probability Lt 20 is above the limit of the namespace, 5")


def test_the_answers_are_those_of_the_command(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY + BINDING)
    (tmp_path / "web.yaml").write_text(WEB)
    words = ["policy", "explain", str(tmp_path / "policy.yaml"), str(tmp_path / "web.yaml"), "-o", "json"]
    told = msgspec.json.decode(CliRunner().invoke(moorage, words, standalone_mode=False).output)
    answer = ask(POLICY + BINDING, WEB)["explanation"]
    for name in ("decision", "message", "warnings", "audit"):
        assert answer[name] == told[name]
    ours, theirs = (each["policies"][0]["params"][0]["validations"] for each in (answer, told))
    assert [one["parts"] for one in ours] == [one["parts"] for one in theirs]


def test_of_many_policies_the_first_are_explained_and_all_decide() -> None:
    texts = [POLICY.replace("name: replicas", f"name: r{number:02}") for number in range(22)]
    last = BINDING.replace("replicas", "r21")
    answer = ask("---\n".join(texts) + last, WEB)
    assert (len(answer["explanation"]["policies"]), answer["left"]) == (20, 2)
    assert "'r21'" in answer["explanation"]["message"]
