"""`moorage lint` refuses what an API server refuses, in its words, whatever the order of the objects in the input."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, UNTIL_NOTICED, assert_notices
from tests.unit.lint.linting import ALL_GATES, lint

from moorage.admit.admission import Admitted, admit
from moorage.admit.plugins import Forbidden
from moorage.admit.plugins.limit_ranger import LimitRanger
from moorage.admit.plugins.pod_security import PodSecurity
from moorage.lint.finding import Severity
from moorage.lint.subject import identity
from moorage.match.quota.usage import count_used
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, kind_of
from moorage.plan.simulation.api import Clock, SimulatedApi

Raw = dict[str, Any]
#: One namespace has rules of its own; `default` has whatever comes into it.
NAMESPACES = st.sampled_from(["default", "team"])
CPU = st.sampled_from(["100m", "1", "3"])


def document(kind: str, name: str, namespace: str = "", version: str = "v1", **fields: Any) -> Raw:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}


def team(labels: Raw) -> Raw:
    made = document("Namespace", "team")
    made["metadata"]["labels"] = {f"pod-security.kubernetes.io/{mode}": level for mode, level in labels.items()}
    return made


LEVELS = st.sampled_from(["privileged", "baseline", "restricted"])
LIMITS = st.fixed_dictionaries(
    {"type": st.sampled_from(["Container", "Pod"])},
    optional={"min": st.builds(lambda cpu: {"cpu": cpu}, CPU), "maxLimitRequestRatio": st.just({"cpu": "2"})},
)
INFRASTRUCTURE = st.tuples(
    st.builds(team, st.fixed_dictionaries({}, optional={"enforce": LEVELS, "warn": LEVELS})),
    st.just(
        document("RuntimeClass", "kata", version="node.k8s.io/v1", handler="kata", overhead={"podFixed": {"cpu": "1"}})
    ),
    st.just(document("PriorityClass", "high", version="scheduling.k8s.io/v1", value=7)),
    st.builds(lambda item, where: document("LimitRange", "l", where, spec={"limits": [item]}), LIMITS, NAMESPACES),
    st.builds(
        lambda hard, where: document("ResourceQuota", "q", where, spec={"hard": hard}),
        st.fixed_dictionaries(
            {}, optional={"pods": st.just("1"), "requests.cpu": CPU, "count/configmaps": st.just("1")}
        ),
        NAMESPACES,
    ),
)
CONTEXTS = st.sampled_from(
    [
        {},
        {"privileged": True},
        {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    ]
)
RESOURCES = st.fixed_dictionaries(
    {}, optional={side: st.builds(lambda cpu: {"cpu": cpu}, CPU) for side in ("requests", "limits")}
)
PODS = st.builds(
    lambda where, context, resources, fields: document(
        "Pod",
        "",
        where,
        spec={
            "containers": [{"name": "c", "image": "i", "securityContext": context, "resources": resources}],
            **fields,
        },
    ),
    NAMESPACES,
    CONTEXTS,
    RESOURCES,
    st.fixed_dictionaries(
        {},
        optional={
            "priorityClassName": st.sampled_from(["high", "system-node-critical"]),
            "priority": st.just(7),
            "preemptionPolicy": st.just("Never"),
            "runtimeClassName": st.just("kata"),
            "overhead": st.just({"cpu": "2"}),
            "hostNetwork": st.just(True),
            "nodeName": st.just("n1"),
        },
    ),
)
OTHERS = st.one_of(
    st.builds(lambda where: document("ConfigMap", "", where), NAMESPACES),
    st.builds(
        lambda where: document(
            "Service", "", where, spec={"type": "NodePort", "ports": [{"port": 1, "nodePort": 30080}]}
        ),
        NAMESPACES,
    ),
    st.builds(
        lambda name: document("PriorityClass", name, version="scheduling.k8s.io/v1", value=3, globalDefault=True),
        st.just(""),
    ),
)


def named(objects: Sequence[Raw]) -> list[Raw]:
    made = copy.deepcopy(list(objects))
    for number, raw in enumerate(made):
        raw["metadata"]["name"] = f"x{number}"
    return made


def refused_by_server(infrastructure: Sequence[Raw], objects: Sequence[Raw]) -> dict[str, str]:
    """Return the messages of refusals by object; classes come first, as in the linter."""
    api = SimulatedApi(ALL_GATES, Clock(0.0), Random(0))
    api.create(KINDS.NAMESPACE, document("Namespace", "default"))
    for raw in copy.deepcopy(list(infrastructure)):
        kind = kind_of(raw)
        assert kind is not None
        made = api.create(kind, raw, raw["metadata"].get("namespace", ""))
        if kind is KINDS.RESOURCE_QUOTA:
            used = count_used(made.view, lambda kind: [], 0.0)
            status = msgspec.structs.replace(made.view.status, hard=made.view.spec.hard, used=used)
            api.put(kind, made.raw, msgspec.structs.replace(made.view, status=status))
    refused: dict[str, str] = {}
    for raw in sorted(copy.deepcopy(list(objects)), key=lambda one: one["kind"] != "PriorityClass"):
        kind = kind_of(raw)
        assert kind is not None
        namespace = raw["metadata"].get("namespace", "")
        try:
            api.create(kind, raw, namespace)
        except ApiError as error:
            name = raw["metadata"]["name"]
            refused[f"{kind.name} {namespace}/{name}" if namespace else f"{kind.name} {name}"] = str(error.message)
    return refused


def refused_by_linter(documents: Sequence[Raw]) -> dict[str, list[str]]:
    refused: dict[str, list[str]] = {}
    for finding in lint(msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": list(documents)})):
        if finding.severity is Severity.ERROR:
            refused.setdefault(finding.place.object, []).append(finding.message)
    return refused


def lint_law(often: settings) -> Callable[[], None]:
    @often
    @given(INFRASTRUCTURE, st.lists(st.one_of(PODS, OTHERS), min_size=1, max_size=4), st.randoms(use_true_random=False))
    def law(infrastructure: tuple[Raw, ...], objects: list[Raw], random: Random) -> None:
        objects = named(objects)
        documents = [(random.random(), one) for one in infrastructure]
        places = sorted(random.random() for _ in objects)  # they keep their order, and stand anywhere
        mixed = sorted([*documents, *zip(places, objects, strict=True)], key=lambda pair: pair[0])
        expected, found = refused_by_server(infrastructure, objects), refused_by_linter([raw for _, raw in mixed])
        assert found.keys() == expected.keys(), (found, expected)
        # Of an object with errors in its fields the linter lists these; a server may refuse it before it looks so far.
        sound = {identity(raw, kind_of(raw)) for raw in objects if isinstance(admit(raw, None, ALL_GATES), Admitted)}
        for name in expected.keys() & sound:
            assert any(text in expected[name] for text in found[name]), (found[name], expected[name])

    return law


def test_lint_refuses_what_the_server_refuses() -> None:
    lint_law(LAW_SETTINGS)()


@pytest.mark.parametrize("plugin", [PodSecurity, LimitRanger])
def test_a_plugin_that_refuses_more_in_one_of_the_two_is_noticed(
    plugin: type[PodSecurity] | type[LimitRanger], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: a server whose plugin has another opinion than that of the linter."""
    calls = refused_by_server

    def stricter(infrastructure: Sequence[Raw], objects: Sequence[Raw]) -> dict[str, str]:
        def refuse(self: Any, kind: Any, new: Raw, old: Raw | None) -> None:
            if kind is KINDS.POD and new["metadata"].get("namespace") == "team":
                raise Forbidden("stricter")

        with monkeypatch.context() as changed:
            changed.setattr(plugin, "validate", refuse)
            return calls(infrastructure, objects)

    monkeypatch.setitem(globals(), "refused_by_server", stricter)
    assert_notices(lint_law(UNTIL_NOTICED))
