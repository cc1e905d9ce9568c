"""Remembering must not show: a pod that is like an earlier one is admitted as if it were the first."""

import copy
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, UNTIL_NOTICED, assert_notices

from moorage.admit.admission import STANDARD_PLUGINS, Admitted, Rejected, admit
from moorage.admit.request import Request
from moorage.admit.template_memo import TemplateMemo
from moorage.model.gates import default_gates

Raw = dict[str, Any]
Law = Callable[[], None]
GATES = default_gates()

names = st.sampled_from(["a", "b", "pod-1", "a.b", "a" * 60, "Not_A_Name", "", None, 5, "x" * 300])
values = st.sampled_from([{}, {"a": "b"}, {"A b": "c"}, {"a": 1}, None])
specs = st.fixed_dictionaries(
    {"containers": st.sampled_from([[{"name": "c", "image": "i"}], [{"name": "c"}], [], None, "x"])},
    optional={
        "priorityClassName": st.sampled_from(["", "system-node-critical", "unknown"]),
        "hostNetwork": st.sampled_from([True, 1, "yes"]),
        "tolerations": st.sampled_from([[], [{"key": "k", "operator": "Exists"}], [{"operator": "Exists"}]]),
        "nodeSelector": st.sampled_from([{"beta.kubernetes.io/os": "linux"}, {1: "x"}, {"1": "x"}]),
        "schedulingGates": st.just([{"name": "g"}]),
    },
)
metadata = st.fixed_dictionaries(
    {},
    optional={
        "name": names,
        "generateName": st.sampled_from(["a-", "A-", "b" * 100, ""]),
        "namespace": st.sampled_from(["ns-1", "ns_2", "", None]),
        "labels": values,
        "annotations": values,
        "creationTimestamp": st.sampled_from([None, "2024-01-01T00:00:00Z", "soon"]),
        "uid": st.sampled_from(["u", 5]),
        "resourceVersion": st.just("7"),
        "finalizers": st.sampled_from([["a/b"], ["nope"]]),
    },
)
pods = st.builds(
    lambda meta, spec, more: {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, **more},
    st.one_of(metadata, st.just(None)),
    specs,
    st.sampled_from([{}, {"status": {}}, {"status": {"phase": 5}}, {"color": "red"}]),
)
requests = st.builds(
    Request,
    namespace=st.sampled_from(["default", "ns-1"]),
    name_suffix=st.sampled_from(["abcde", "fghij"]),
    uid=st.sampled_from(["u1", "u2"]),
    timestamp=st.sampled_from(["", "2025-01-01T00:00:00Z"]),
    allow_privileged=st.booleans(),
)


def said(answer: Admitted | Rejected) -> object:
    if isinstance(answer, Admitted):
        return answer.object, answer.view, answer.warnings
    return answer.status, answer.warnings


def memo_law(make: Callable[[], TemplateMemo], often: settings = LAW_SETTINGS) -> Law:
    @often
    @given(st.lists(st.tuples(pods, requests, names), min_size=1, max_size=8))
    def law(history: list[tuple[Raw, Request, Any]]) -> None:
        memo = make()
        for pod, request, other_name in history:
            for name in (None, other_name):
                made = copy.deepcopy(pod)
                if name is not None and made["metadata"] is not None:
                    made["metadata"]["name"] = name
                before = copy.deepcopy(made)
                expected = admit(copy.deepcopy(made), None, GATES, plugins=STANDARD_PLUGINS, request=request)
                assert said(memo.admit_pod(made, request)) == said(expected)
                assert made == before

    return law


def test_a_remembered_pod_is_admitted_as_if_it_were_the_first() -> None:
    memo_law(lambda: TemplateMemo(GATES, STANDARD_PLUGINS, limit=3))()


class ForgetfulMemo(TemplateMemo):
    """Thinks that pods are alike whatever their labels."""

    def admit_pod(self, raw: Raw, request: Request, key: bytes | None = None) -> Admitted | Rejected:
        metadata = raw.get("metadata") or {}
        plain = {**raw, "metadata": {key: value for key, value in metadata.items() if key != "labels"}}
        answer = super().admit_pod(plain, request)
        return answer if isinstance(answer, Admitted) else super().admit_pod(raw, request)


def test_a_memo_that_overlooks_labels_is_noticed() -> None:
    assert_notices(memo_law(lambda: ForgetfulMemo(GATES, STANDARD_PLUGINS), UNTIL_NOTICED))
