"""What may change of a pod; the vectors cover scheduling, these the rest."""

import copy
from collections.abc import Callable

import pytest
from tests.unit.admit.objects import Raw, complaints, pod, rejected, stored

OLD = stored(pod(activeDeadlineSeconds=10, tolerations=[{"key": "a", "operator": "Exists"}]))
GATED = stored(
    pod(
        schedulingGates=[{"name": "g"}],
        affinity={
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]
                }
            }
        },
    )
)
MIRROR = "metadata.annotations[kubernetes.io/config.mirror]"
APPARMOR = "metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]"
ONLY = "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`"


def changed(old: Raw, change: Callable[[Raw], object]) -> list[str]:
    new = copy.deepcopy(old)
    change(new)
    return [text.removesuffix(text[len(ONLY) :]) if text.startswith(ONLY) else text for text in complaints(new, old)]


def set_spec(**fields: object) -> Callable[[Raw], object]:
    return lambda new: new["spec"].update(fields)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda new: None, []),
        (lambda new: new["spec"]["containers"][0].update(image="j"), []),
        (
            lambda new: new["spec"]["containers"][0].update(image=" j"),
            ['spec.containers[0].image: Invalid value: " j": must not have leading or trailing whitespace'] * 2,
        ),
        (lambda new: new["spec"]["containers"][0].update(command=["x"]), [ONLY]),
        (
            lambda new: new["spec"]["containers"].append({"name": "d", "image": "i"}),
            ["spec.containers: Forbidden: pod updates may not add or remove containers"],
        ),
        (
            lambda new: new["spec"].update(initContainers=[{"name": "d", "image": "i"}]),
            ["spec.initContainers: Forbidden: pod updates may not add or remove containers"],
        ),
        (set_spec(activeDeadlineSeconds=5), []),
        (
            set_spec(activeDeadlineSeconds=11),
            ["spec.activeDeadlineSeconds: Invalid value: 11: must be less than or equal to previous value"],
        ),
        (
            set_spec(activeDeadlineSeconds=None, hostname="h"),
            [
                "spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value",
                ONLY,
            ],
        ),
        (set_spec(terminationGracePeriodSeconds=1), [ONLY]),
        (set_spec(nodeSelector={"a": "b"}), [ONLY]),
        (
            set_spec(schedulingGates=[{"name": "g"}]),
            [
                "spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'g'",
            ],
        ),
        (
            lambda new: new["spec"]["tolerations"].pop(0),
            ["spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"],
        ),
        (
            lambda new: new["metadata"].update(
                annotations={
                    "kubernetes.io/config.mirror": "x",
                    "container.apparmor.security.beta.kubernetes.io/c": "unconfined",
                }
            ),
            [
                f'{MIRROR}: Invalid value: "x": must set spec.nodeName if mirror pod annotation is set',
                f"{APPARMOR}: Forbidden: may not add AppArmor annotations",
                f"{MIRROR}: Forbidden: may not add mirror pod annotation",
                f'{MIRROR}: Invalid value: "x": must set spec.nodeName if mirror pod annotation is set',
            ],
        ),
    ],
)
def test_changes(change: Callable[[Raw], object], expected: list[str]) -> None:
    assert changed(OLD, change) == expected


def test_annotations_that_were_fields_stay() -> None:
    old = pod(nodeName="n")
    old["metadata"]["annotations"] = {
        "kubernetes.io/config.mirror": "x",
        "container.apparmor.security.beta.kubernetes.io/c": "unconfined",
        "mine": "a",
    }
    assert changed(stored(old), lambda new: new["metadata"].update(annotations={})) == [
        f"{APPARMOR}: Forbidden: may not remove or update AppArmor annotations",
        f"{MIRROR}: Forbidden: may not remove or update mirror pod annotation",
    ]


def _terms(new: Raw) -> list[Raw]:
    affinity = new["spec"]["affinity"]["nodeAffinity"]
    terms: list[Raw] = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    return terms


TERMS = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda new: new["spec"].update(schedulingGates=[]), []),
        (lambda new: new["spec"].update(nodeSelector={"a": "b"}), []),
        (lambda new: _terms(new)[0]["matchExpressions"].append({"key": "b", "operator": "Exists"}), []),
        (
            lambda new: _terms(new)[0]["matchExpressions"].insert(0, {"key": "b", "operator": "Exists"}),
            [
                f'{TERMS}[0]: Invalid value: {{"MatchExpressions":[{{"Key":"b","Operator":"Exists","Values":null}},'
                '{"Key":"a","Operator":"Exists","Values":null}],"MatchFields":null}: only additions are allowed (no '
                "mutations or deletions)"
            ],
        ),
        (
            lambda new: new["spec"].pop("affinity"),
            [f"{TERMS}: Invalid value: null: no additions/deletions to non-empty NodeSelectorTerms list are allowed"],
        ),
        (
            lambda new: new["spec"]["affinity"].update(podAffinity={}),
            [ONLY],
        ),
    ],
)
def test_gated_pods_may_be_steered(change: Callable[[Raw], object], expected: list[str]) -> None:
    assert changed(GATED, change) == expected


def test_a_gated_pod_keeps_its_node_selector_and_its_empty_terms() -> None:
    old = copy.deepcopy(GATED)
    old["spec"]["nodeSelector"] = {"a": "b"}
    _terms(old)[:] = [{}]
    for selector, shown in ((None, "null"), ({}, "{}"), ({"a": "c"}, '{"a":"c"}')):
        assert changed(old, set_spec(nodeSelector=selector)) == [
            f"spec.nodeSelector: Invalid value: {shown}: only additions to spec.nodeSelector are allowed (no "
            "mutations or "
            "deletions)"
        ]
    wider = changed(old, lambda new: _terms(new)[0].update(matchExpressions=[{"key": "a", "operator": "Exists"}]))
    assert [text.partition(":")[0] for text in wider] == [f"{TERMS}[0]"]


def test_a_gated_pod_without_affinity_may_get_node_affinity_only() -> None:
    old = stored(pod(schedulingGates=[{"name": "g"}]))
    affinity = copy.deepcopy(GATED["spec"]["affinity"])
    assert changed(old, set_spec(affinity=affinity)) == []
    assert changed(old, set_spec(affinity={**affinity, "podAffinity": {}})) == [ONLY]
    empty = stored(pod(schedulingGates=[{"name": "g"}], affinity={}))
    assert changed(empty, set_spec(affinity=affinity)) == []


def test_the_difference_is_shown_after_the_first_line() -> None:
    new = copy.deepcopy(OLD)
    new["spec"]["hostname"] = "h"
    text = str(rejected(new, OLD).errors[-1])
    assert '\n+ "hostname": "h",\n' in text
