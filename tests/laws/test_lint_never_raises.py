"""Whatever the bytes, the linter answers: arbitrary bytes, arbitrary YAML, valid manifests with something changed."""

from __future__ import annotations

import copy
import json
from io import BytesIO
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices, examples
from tests.unit.lint.linting import linter

from moorage.lint.catalogue import rules
from moorage.lint.report.documents import JsonForm, JUnitForm, SarifForm
from moorage.lint.report.form import GitHubForm, TextForm
from moorage.lint.sources import Source

if TYPE_CHECKING:
    from collections.abc import Callable

    from moorage.lint.finding import Finding

_SPEC: dict[str, Any] = {
    "tolerations": [
        {"key": "sla", "operator": "Gt", "value": "950", "effect": "NoExecute", "tolerationSeconds": 30},
        {"key": "kernel", "operator": "SemverGt", "value": "5.15.0-91-generic"},
        {"expression": "taint.key == 'a' && taint.value != ''", "tolerationSeconds": 3},
    ],
    "nodeSelector": {"disk": "ssd"},
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {
                        "matchExpressions": [
                            {"key": "kernel", "operator": "SemverLt", "values": ["6.0.0"]},
                            {"key": "cores", "operator": "Gt", "values": ["4"]},
                        ],
                        "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}],
                    }
                ]
            },
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 5, "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}
            ],
        },
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {
                    "topologyKey": "kubernetes.io/hostname",
                    "labelSelector": {"matchLabels": {"app": "web"}},
                    "matchLabelKeys": ["pod-template-hash", "app"],
                    "mismatchLabelKeys": ["tenant"],
                    "namespaceSelector": {},
                }
            ]
        },
    },
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]},
            "matchLabelKeys": ["app"],
        }
    ],
    "containers": [{"name": "app", "image": "app:1", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}],
}
_TEMPLATE = {"metadata": {"labels": {"app": "web", "tenant": "a"}}, "spec": _SPEC}
_WORKLOAD = {
    "replicas": 3,
    "selector": {"matchLabels": {"app": "web"}},
    "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": 1}},
    "template": _TEMPLATE,
}
_REQUESTS: list[dict[str, Any]] = [
    {
        "name": "gpu",
        "exactly": {
            "deviceClassName": "gpu",
            "count": 2,
            "selectors": [{"cel": {"expression": "device.driver == 'gpu.example.com'"}}],
            "tolerations": [{"key": "sla", "operator": "Gt", "value": "950", "effect": "NoExecute"}],
            "capacity": {"requests": {"memory": "1Gi"}},
        },
    },
    {"name": "any", "firstAvailable": [{"name": "a", "deviceClassName": "gpu", "allocationMode": "All"}]},
]
_SLICE: dict[str, Any] = {
    "driver": "gpu.example.com",
    "nodeName": "n",
    "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1},
    "devices": [
        {
            "name": "gpu-0",
            "attributes": {"model": {"string": "a"}, "driver": {"version": "1.2.3"}},
            "capacity": {"memory": {"value": "40Gi"}},
            "taints": [{"key": "sla", "value": "910", "effect": "NoExecute"}],
        }
    ],
}
_CLAIM: dict[str, Any] = {"devices": {"requests": _REQUESTS, "constraints": [{"matchAttribute": "a.example.com/b"}]}}
_DRA = "resource.k8s.io/v1"
_DEVICES: list[dict[str, Any]] = [
    {"apiVersion": _DRA, "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": _SLICE},
    {"apiVersion": _DRA, "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {"extendedResourceName": "a/b"}},
    {"apiVersion": _DRA, "kind": "ResourceClaim", "metadata": {"name": "c"}, "spec": _CLAIM},
    {"apiVersion": _DRA, "kind": "ResourceClaimTemplate", "metadata": {"name": "t"}, "spec": {"spec": _CLAIM}},
    {
        "apiVersion": "resource.k8s.io/v1beta2",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "r"},
        "spec": {"deviceSelector": {"driver": "gpu.example.com"}, "taint": {"key": "sla", "effect": "NoSchedule"}},
    },
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {**_SPEC, "resourceClaims": [{"name": "a", "resourceClaimName": "c"}]},
    },
]
MANIFESTS: list[dict[str, Any]] = [
    *_DEVICES,
    {"apiVersion": "resource.k8s.io/v1beta1", "kind": "ResourceClaim", "metadata": {"name": "c"}, "spec": _CLAIM},
    {"apiVersion": "resource.k8s.io/v1alpha4", "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": _SLICE},
    {"apiVersion": "v1", "kind": "List", "items": _DEVICES},
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"app": "web"}, "uid": "u"}, "spec": _SPEC},
    {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": _WORKLOAD},
    {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "s"}, "spec": {"template": _TEMPLATE}},
    {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "s"},
        "spec": {"template": _TEMPLATE, "updateStrategy": {"rollingUpdate": {"maxSurge": 1}}},
    },
    {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "c"},
        "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": _TEMPLATE}}},
    },
    {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n", "labels": {"kernel": "5.15.0-91-generic", "kubernetes.io/hostname": "n"}},
        "spec": {"taints": [{"key": "sla", "value": "high", "effect": "NoSchedule"}], "unschedulable": True},
    },
    {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "v"},
        "spec": {
            "nodeAffinity": {
                "required": _SPEC["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
            }
        },
    },
    {"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Pod", "spec": _SPEC}]},
]
_ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=6),
    st.sampled_from(
        ["", "-0", "007", "v1.2", "1.2.3-", "taint.key", "(((", "25%", "SemverEq", "Lt", "Gt", "In", "\x1b[31m\x00"]
    ),
    st.sampled_from([[], {}, [None], {"": ""}, [[]], {"a": {"b": []}}]),
)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A valid manifest in which some places hold something else, or nothing, or one thing more."""
    document = copy.deepcopy(draw(st.sampled_from(MANIFESTS)))
    for _ in range(draw(st.integers(1, 3))):
        where: Any = document
        while True:
            steps = list(where) if isinstance(where, dict) else list(range(len(where)))
            if not steps:
                break
            step = draw(st.sampled_from(steps))
            below = where[step]
            if isinstance(below, dict | list) and below and draw(st.integers(0, 9)):
                where = below
                continue
            change = draw(st.integers(0, 3))
            if change == 0:
                del where[step]
            elif change == 1 and isinstance(where, dict):
                where[draw(st.text(max_size=5))] = copy.deepcopy(draw(_ODD))
            else:
                where[step] = copy.deepcopy(draw(_ODD))
            break
    if draw(st.booleans()):
        return json.dumps(document).encode()
    return str(yaml.safe_dump(document, allow_unicode=True)).encode("utf-8", "surrogatepass")


def lint_and_report(data: bytes) -> list[Finding]:
    """Lint, and print the findings in every form."""
    one = linter()
    findings = [*one.lint(Source("f.yaml"), BytesIO(data)), *one.finish()]
    written: list[str] = []
    write = written.append
    for form in (TextForm(write, colour=True), JsonForm(write), SarifForm(write), JUnitForm(write), GitHubForm(write)):
        form.begin()
        form.source("f.yaml", findings)
        form.end(one.outcome)
    return findings


def answers(check: Callable[[bytes], list[Finding]], inputs: st.SearchStrategy[bytes], many: int) -> Callable[[], None]:
    @settings(LAW_SETTINGS, max_examples=examples(many))
    @given(inputs)
    def law(data: bytes) -> None:
        try:
            findings = check(data)
        except Exception as error:
            raise AssertionError(f"raised {error!r}") from error
        assert all(finding.rule in rules() and finding.message and finding.place.source for finding in findings)

    return law


_YAML_TEXT = st.text(st.sampled_from("ab:-[]{}&*!|>'\"%@`#,? \n\t\x001~é"), max_size=60).map(str.encode)
_HEADED = _YAML_TEXT.map(lambda text: b"apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec:\n  " + text)


def test_arbitrary_bytes() -> None:
    answers(lint_and_report, st.binary(max_size=200), 100)()


def test_arbitrary_yaml() -> None:
    answers(lint_and_report, _YAML_TEXT | _HEADED, 200)()


def test_mutated_manifests() -> None:
    answers(lint_and_report, mutated(), 250)()


@pytest.mark.slow
def test_many_mutated_manifests() -> None:
    answers(lint_and_report, mutated(), 20_000)()


def test_the_law_notices_a_linter_that_raises() -> None:
    def reads_json_only(data: bytes) -> list[Finding]:
        json.loads(data)
        return []

    def needs_tolerations(data: bytes) -> list[Finding]:
        data.index(b"tolerations")
        return []

    assert_notices(answers(reads_json_only, st.binary(max_size=200), 100))
    assert_notices(answers(needs_tolerations, mutated(), 250))
