"""`moorage lint` refuses what an API server refuses whose policies change and refuse objects, wherever they stand."""

import asyncio
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, UNTIL_NOTICED, assert_notices, examples
from tests.unit.lint.linting import lint

from moorage.lint.finding import Severity
from moorage.lint.rules.admission import AdmissionFacts
from moorage.model.gates import default_gates
from moorage.policy.cases import ALLOW, CREATE, PlacedObject
from moorage.policy.server import PolicyCluster, PolicyRequest

Raw = dict[str, Any]
GROUP = "admissionregistration.k8s.io/v1"
#: Of each kind: its group and plural, where it has a value that policies change, and values: the first is valid.
KINDS = {
    "Pod": ("", "pods", "/spec/tolerations/0/operator", ("Exists", "Foo", "Gt")),
    "Deployment": ("apps", "deployments", "/spec/template/spec/tolerations/0/operator", ("Exists", "Foo", "Gt")),
    "ConfigMap": ("", "configmaps", "/metadata/labels/a", ("fine", "not fine!", "-")),
    "Service": ("", "services", "/spec/ports/0/protocol", ("TCP", "tcp", "FOO")),
    "Limit": ("law.example.com", "limits", "/spec/level", ("low", "high?", "")),
}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "limits.law.example.com"},
    "spec": {
        "group": "law.example.com",
        "scope": "Namespaced",
        "names": {"plural": "limits", "singular": "limit", "kind": "Limit", "listKind": "LimitList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {"level": {"type": "string", "pattern": "^[a-z]+$"}},
                            }
                        },
                    }
                },
            }
        ],
    },
}
Value = tuple[str, str]


def values_of(kinds: Sequence[str]) -> st.SearchStrategy[Value]:
    return st.sampled_from(kinds).flatmap(lambda kind: st.tuples(st.just(kind), st.sampled_from(KINDS[kind][3])))


def worlds_of(kinds: Sequence[str]) -> st.SearchStrategy[tuple[list[Value], list[Value], list[Value]]]:
    """Objects of a few kinds, and policies about these: what they set, and what they refuse."""
    values = values_of(kinds)
    return st.tuples(
        st.lists(values, min_size=1, max_size=3), st.lists(values, max_size=2), st.lists(values, max_size=1)
    )


WORLDS = st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=2, unique=True).flatmap(worlds_of)


def made(kind: str, name: str, value: str) -> Raw:
    spec: Raw = {"containers": [{"name": "c", "image": "i"}], "tolerations": [{"key": "a", "operator": value}]}
    raw: Raw = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}}
    if kind == "Pod":
        return raw | {"spec": spec}
    if kind == "Limit":
        return raw | {"apiVersion": "law.example.com/v1", "spec": {"level": value}}
    if kind == "ConfigMap":
        return raw | {"metadata": {"name": name, "labels": {"a": value}}}
    if kind == "Service":
        return raw | {"spec": {"ports": [{"port": 1, "protocol": value}]}}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": spec}
    return raw | {
        "apiVersion": "apps/v1",
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
    }


def policy(kind: str, number: int, of: str, more: Raw, binding: Raw) -> list[Raw]:
    group, plural, _, _ = KINDS[of]
    rule = {"apiGroups": [group], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": [plural]}
    name = {"name": f"p{number}"}
    spec = {"matchConstraints": {"resourceRules": [rule]}, **more}
    return [
        {"apiVersion": GROUP, "kind": kind, "metadata": name, "spec": spec},
        {
            "apiVersion": GROUP,
            "kind": f"{kind}Binding",
            "metadata": name,
            "spec": {"policyName": f"p{number}", **binding},
        },
    ]


def changing(number: int, of: str, value: str) -> list[Raw]:
    """A policy that sets the value."""
    expression = f'[JSONPatch{{op: "replace", path: "{KINDS[of][2]}", value: "{value}"}}]'
    mutation = {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}
    return policy("MutatingAdmissionPolicy", number, of, {"mutations": [mutation], "reinvocationPolicy": "Never"}, {})


def refusing(number: int, of: str, value: str) -> list[Raw]:
    """A policy that refuses the value."""
    path = KINDS[of][2].strip("/").replace("/0/", "[0].").replace("/", ".")
    more = {"validations": [{"expression": f"object.{path} != '{value}'"}]}
    return policy("ValidatingAdmissionPolicy", number, of, more, {"validationActions": ["Deny"]})


async def refused_by_server(policies: Sequence[Raw], objects: Sequence[Raw]) -> set[str]:
    cluster = await PolicyCluster.made(default_gates(), [PlacedObject(one, "the world") for one in policies])
    answers = [await cluster.ask(PolicyRequest(CREATE, one, None)) for one in objects]
    return {one["metadata"]["name"] for one, answer in zip(objects, answers, strict=True) if answer.decision != ALLOW}


def refused_by_linter(documents: Sequence[Raw]) -> set[str]:
    found = lint(msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": list(documents)}), gates=False)
    return {
        finding.place.object.rpartition("/")[2]
        for finding in found
        if finding.severity is Severity.ERROR and "but its pods will be refused" not in finding.message
    }


def lint_law(often: settings) -> Callable[[], None]:
    @often
    @given(WORLDS, st.randoms(use_true_random=False))
    def law(world: tuple[list[Value], list[Value], list[Value]], random: Random) -> None:
        values, set_, refused = world
        objects = [made(kind, f"x{number}", value) for number, (kind, value) in enumerate(values)]
        policies = [DEFINITION]
        policies += [one for number, (of, value) in enumerate(set_) for one in changing(number, of, value)]
        policies += [one for of, value in refused for one in refusing(9, of, value)]
        documents = [*objects, *policies]
        random.shuffle(documents)
        assert refused_by_linter(documents) == asyncio.run(refused_by_server(policies, objects))

    return law


def test_lint_refuses_what_a_server_with_policies_refuses() -> None:
    lint_law(settings(LAW_SETTINGS, max_examples=examples(40)))()


def test_refusals_that_ignore_what_policies_mend_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: what is refused as it is written is refused, whatever policies make of it."""
    judge = AdmissionFacts._judge_refused

    def judged(self: Any, held: Any) -> Any:
        yield from judge(self, held)
        yield from held.refusals

    monkeypatch.setattr(AdmissionFacts, "_judge_refused", judged)
    assert_notices(lint_law(UNTIL_NOTICED))
