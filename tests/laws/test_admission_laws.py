"""Laws of admission: it changes nothing it is given, stands by its answers, and no gate takes away what was allowed."""

import copy
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices

from moorage.admit.admission import Admitted, Rejected, admit
from moorage.model.gates import GateSet, default_gates, gates_from

Raw = dict[str, Any]
Admission = Callable[[Raw, Raw | None, GateSet], Admitted | Rejected]

OFF, ON = default_gates(), gates_from({"AllAlpha": True})

keys = st.sampled_from(["a", "zone", "example.com/gpu", "bad key", ""])
values = st.sampled_from(["", "5", "007", "1.2.3", "v1", "x y"])
junk = st.sampled_from([None, "", 0, -1, "x", [], {}, [None], {"a": None}, True])
operators = st.sampled_from(["Equal", "Exists", "Gt", "Lt", "SemverGt", "SemverEq", "In", "DoesNotExist", "Odd", ""])
tolerations = st.fixed_dictionaries(
    {},
    optional={
        "key": keys,
        "operator": operators,
        "value": values,
        "effect": st.sampled_from(["NoSchedule", "NoExecute", "", "Odd"]),
        "tolerationSeconds": st.sampled_from([0, 30, None]),
        "expression": st.sampled_from(["true", "taint.key == 'a'", "taint.foo", ""]),
    },
)
useful_tolerations = st.sampled_from(
    [
        {"key": "a", "operator": "Gt", "value": "5"},
        {"key": "a", "operator": "SemverGt", "value": "v1"},
        {"expression": "taint.key == 'a'", "tolerationSeconds": 5},
        {"operator": "Exists"},
    ]
)
requirements = st.fixed_dictionaries(
    {"key": keys, "operator": operators}, optional={"values": st.lists(values, max_size=2)}
)
terms = st.fixed_dictionaries({}, optional={"matchExpressions": st.lists(requirements, max_size=2)})
selectors = st.fixed_dictionaries(
    {}, optional={"matchLabels": st.dictionaries(keys, values, max_size=1), "matchExpressions": st.lists(requirements)}
)
pod_terms = st.fixed_dictionaries(
    {"topologyKey": keys},
    optional={"labelSelector": selectors, "matchLabelKeys": st.lists(keys), "mismatchLabelKeys": st.lists(keys)},
)
required = "requiredDuringSchedulingIgnoredDuringExecution"
affinities = st.fixed_dictionaries(
    {},
    optional={
        "nodeAffinity": st.fixed_dictionaries(
            {required: st.fixed_dictionaries({"nodeSelectorTerms": st.lists(terms, min_size=1, max_size=2)})}
        ),
        "podAntiAffinity": st.fixed_dictionaries({required: st.lists(pod_terms, max_size=2)}),
    },
)
pod_specs = st.fixed_dictionaries(
    {"containers": st.just([{"name": "c", "image": "i"}])},
    optional={
        "tolerations": st.lists(useful_tolerations | tolerations, max_size=2),
        "affinity": affinities,
        "nodeSelector": st.dictionaries(keys, values, max_size=2),
        "schedulingGates": st.lists(st.fixed_dictionaries({"name": keys}), max_size=1),
        "volumes": junk,
        "hostNetwork": junk,
    },
)
labels = st.dictionaries(keys, values, max_size=2)


def pod(spec: Raw, own_labels: Raw) -> Raw:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": own_labels}, "spec": spec}


def deployment(spec: Raw, own_labels: Raw) -> Raw:
    template = {"metadata": {"labels": {**own_labels, "app": "web"}}, "spec": spec}
    workload = {"selector": {"matchLabels": {"app": "web"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": workload}


pods, deployments = st.builds(pod, pod_specs, labels), st.builds(deployment, pod_specs, labels)
documents = pods | deployments
updates = st.tuples(pods, pods) | st.tuples(deployments, deployments)


def leaves_its_arguments_alone(implementation: Admission) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(updates)
    def law(update: tuple[Raw, Raw]) -> None:
        new, old = update
        before = copy.deepcopy((new, old))
        implementation(new, None, ON)
        implementation(new, old, OFF)
        assert (new, old) == before

    return law


def stands_by_its_answer(implementation: Admission) -> Callable[[], None]:
    """What was admitted can be stored and written again, and stays the same."""

    @LAW_SETTINGS
    @given(documents)
    def law(new: Raw) -> None:
        answer = implementation(new, None, ON)
        if isinstance(answer, Admitted):
            answer.object["metadata"]["resourceVersion"] = "1"
            for gates in (ON, OFF):
                again = implementation(answer.object, answer.object, gates)
                assert isinstance(again, Admitted), again.status["message"]
                assert again.object == answer.object

    return law


def no_alpha_gate_takes_anything_away(implementation: Admission) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(documents)
    def law(new: Raw) -> None:
        before, after = implementation(new, None, OFF), implementation(new, None, ON)
        if isinstance(before, Admitted):
            assert isinstance(after, Admitted), after.status["message"]
            assert after.object == before.object

    return law


def test_arguments() -> None:
    leaves_its_arguments_alone(admit)()


def test_answers() -> None:
    stands_by_its_answer(admit)()


def test_gates() -> None:
    no_alpha_gate_takes_anything_away(admit)()


def _forgets_to_copy(new: Raw, old: Raw | None, gates: GateSet) -> Admitted | Rejected:
    answer = admit(new, old, gates)
    if isinstance(answer, Admitted):
        new["spec"] = answer.object["spec"]
    return answer


def _forgets_to_ratchet(new: Raw, old: Raw | None, gates: GateSet) -> Admitted | Rejected:
    answer = admit(new, old, gates)
    if old is not None and isinstance(answer, Admitted):
        fresh = admit(new, None, gates)
        return fresh if isinstance(fresh, Rejected) else answer
    return answer


def _reads_one_gate_backwards(new: Raw, old: Raw | None, gates: GateSet) -> Admitted | Rejected:
    swapped = OFF if gates == ON else ON
    return admit(new, old, swapped)


def test_the_laws_notice_mistakes() -> None:
    assert_notices(leaves_its_arguments_alone(_forgets_to_copy))
    assert_notices(stands_by_its_answer(_forgets_to_ratchet))
    assert_notices(no_alpha_gate_takes_anything_away(_reads_one_gate_backwards))
