"""What the admission policies of attach do in the API server is what the pure functions do."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices
from tests.unit.admit.extension.policies.mutating.mutating_world import MutatingWorld, mutated_twice
from tests.unit.attach.workloads import KINDS, pod, requirement, term, toleration, workload
from tests.unit.attached.webhook.reviewed import stored

from moorage.admit.extension.attributes import Attributes, ObjectKind, ObjectResource, UserInfo
from moorage.attach.decisions import to_be_mirrored
from moorage.attach.mirror import mirrored
from moorage.attach.objects import lowered, pod_of
from moorage.attach.policies.lowering import lowering_policy
from moorage.attach.policies.mirror import mirror_policy
from moorage.model.kinds import KINDS as ROWS

Raw = dict[str, Any]
Mirror = Callable[..., dict[str, str]]
NODES, NODE = ObjectResource("", "v1", "nodes"), ObjectKind("", "v1", "Node")
_PREFIX = ".".join(["a" * 54] * 4)
_KEYS = (
    "spot",
    "example.com/driver",
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/sla",
    f"{_PREFIX}/k",
    f"{_PREFIX}.b/k",
)
_VALUES = st.one_of(
    st.sampled_from(
        (
            *("", "0", "7", "007", "950", "9223372036854775807", "9223372036854775808", "99999999999999999999", "word"),
            *("1.2", "v1.2.3", "vv1", "1.2.3-rc.1", "1.2.3-01", "01.002.3", "1000000", "999999.999999.999999"),
            *("18446744073709551615.1.1", "18446744073709551616", "1.2-rc", "1.2.-rc", "1.2.3--rc", "1.2.3-rc..1"),
        )
    ),
    st.from_regex(r"v?[0-9]{1,3}(\.[0-9]{0,2}){0,3}(-[0-9a-z.-]{0,6})?[0-9a-z]", fullmatch=True).filter(
        lambda text: len(text) <= 63
    ),
)
_OWN = ("moorage.dev/mirrored", "num.noschedule.taint.moorage.dev/spot", "x.ver.label.moorage.dev/y")
_MATCH = "match.moorage.dev/0123456789abcdef0123"
_LABEL_KEYS = (
    *_OWN,
    _MATCH,
    "kernel",
    "example.com/gpu",
    "simulate.moorage.dev/x",
    "x.taint.moorage.dev",
    f"{_PREFIX}.b/k",
)
_TAINTS = st.lists(
    st.builds(
        lambda key, value, effect: {"key": key, "effect": effect, **({"value": value} if value else {})},
        st.sampled_from(_KEYS),
        _VALUES,
        st.sampled_from(("NoSchedule", "NoExecute", "PreferNoSchedule")),
    ),
    max_size=3,
    unique_by=lambda taint: (taint["key"], taint["effect"]),
)
_LABELS = st.one_of(st.none(), st.dictionaries(st.sampled_from(_LABEL_KEYS), _VALUES, max_size=5))


def node(taints: list[Raw], labels: Raw | None) -> Raw:
    metadata: Raw = {"name": "n"} if labels is None else {"name": "n", "labels": labels}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {"taints": taints} if taints else {}}


#: Of who writes a node: users, and kubelets.
_GROUPS = ((), ("system:authenticated",), ("system:nodes", "system:authenticated"))
_NODES = st.builds(node, _TAINTS, _LABELS)


def world_of(policy: Raw) -> MutatingWorld:
    spec = deepcopy(policy["spec"])
    expressions = [each["jsonPatch"]["expression"] for each in spec.pop("mutations")]
    world = MutatingWorld()
    world.put_mutator(policy["metadata"]["name"], *expressions, **spec)
    return world


WORLD = world_of(mirror_policy()[0])
LOWERING = world_of(lowering_policy()[0])


def by_policy(document: Raw, old: Raw | None, subresource: str = "", groups: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the labels of a node as the policy has them written."""
    operation, user = "CREATE" if old is None else "UPDATE", UserInfo("jane", groups=groups)
    attributes = Attributes(operation, NODES, NODE, "", "n", subresource, deepcopy(document), deepcopy(old), user=user)
    changed = mutated_twice(WORLD, attributes)
    assert changed is not None
    labels: dict[str, str] = changed["metadata"].get("labels") or {}
    return labels


def mirror_law(mirror: Mirror) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(_NODES, st.one_of(st.none(), _NODES), st.sampled_from(_GROUPS), st.booleans())
    def law(document: Raw, old: Raw | None, groups: tuple[str, ...], has_same_taints: bool) -> None:
        if old is not None and has_same_taints:
            old = {**old, "spec": document["spec"]}
        wanted = mirror(document, old, "", groups)
        assert by_policy(document, old, "", groups) == wanted
        labelled = {**document, "metadata": {**document["metadata"], "labels": wanted}}
        assert by_policy(labelled, labelled) == wanted
        if old is not None and old["metadata"].get("labels", {}) != document["metadata"].get("labels", {}):
            assert by_policy(document, old, "status", groups) == mirror(document, old, "status", groups)

    return law


def test_the_policy_mirrors_nodes_as_the_function_does() -> None:
    mirror_law(mirrored)()


def by_webhook(document: Raw, old: Raw | None, subresource: str = "", groups: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the labels of a node as the webhook has them written."""
    made = stored(document, old, subresource, to_be_mirrored, groups)
    labels: dict[str, str] = made["metadata"].get("labels") or {}
    return labels


def test_the_webhook_mirrors_nodes_as_the_policy_does() -> None:
    mirror_law(by_webhook)()


def test_a_webhook_that_does_not_look_at_the_stored_node_is_noticed() -> None:
    assert_notices(mirror_law(lambda document, old, *others: by_webhook(document, None, *others)))


def test_a_mirror_that_keeps_match_labels_is_noticed() -> None:
    assert_notices(mirror_law(lambda document, old, *others: mirrored(document, document, *others)))


def test_a_mirror_of_taints_that_a_status_pretends_is_noticed() -> None:
    assert_notices(mirror_law(lambda document, old, subresource, groups: mirrored(document, old, "", groups)))


def test_answers_that_a_kubelet_may_add_are_noticed() -> None:
    assert_notices(mirror_law(lambda document, old, subresource, groups: mirrored(document, old, subresource)))


def test_the_status_of_a_node_costs_nothing_while_its_labels_stay() -> None:
    document = node([{"key": "spot", "effect": "NoSchedule"}], {"zone": "a"})
    assert by_policy(document, document, "status") == {"zone": "a"}


# -- lowering of Lt and Gt ---------------------------------------------------------------------------------------------

_NUMBERS = ("0", "7", "950", "-5", "9223372036854775807")
_OTHERS = (("SemverGt", "1.2.3"), ("CEL", "taint.value.startsWith('a')"))
_EFFECTS = ("", "NoSchedule", "NoExecute", "PreferNoSchedule")


@st.composite
def _tolerations(draw: st.DrawFn) -> Raw:
    operator = draw(st.sampled_from(("Lt", "Gt", "Gt", "Equal", "Exists", "")))
    value = "" if operator == "Exists" else draw(st.sampled_from([n for n in _NUMBERS if operator or n != "-5"]))
    effect = draw(st.sampled_from(_EFFECTS))
    seconds = draw(st.sampled_from((None, 8, 60))) if effect == "NoExecute" else None
    return toleration(operator, value, draw(st.sampled_from(("spot", "spot", "example.com/lag"))), effect, seconds)


_TERMS = st.sampled_from(
    [
        term(requirement("zone", "In", "a", "b")),
        term(requirement("zone", "Exists"), requirement("cpus", "Gt", "4")),
        {"matchFields": [requirement("metadata.name", "In", "n")]},
        {},
    ]
)
_PREFERRED = st.builds(lambda it: {"weight": 3, "preference": it}, _TERMS)
_PODS = st.builds(
    lambda tolerations, beside, required, preferred, others: pod(
        *tolerations, *beside, required=required or None, preferred=preferred, **others
    ),
    st.lists(_tolerations(), max_size=4),
    st.sampled_from([[]] * 6 + [[toleration(*other, "spot", "", None)] for other in _OTHERS]),
    st.lists(_TERMS, max_size=2, unique_by=str),
    st.lists(_PREFERRED, max_size=1),
    st.sampled_from([{}, {"nodeSelector": {"a": "b"}}]),
)


def lowered_by_policy(kind: str, document: Raw, old: Raw | None = None) -> Raw:
    row = ROWS[document["apiVersion"], kind]
    resource, own = ObjectResource(row.group, "v1", row.plural), ObjectKind(row.group, "v1", kind)
    operation = "CREATE" if old is None else "UPDATE"
    attributes = Attributes(operation, resource, own, "team-a", "w", "", deepcopy(document), deepcopy(old))
    changed = mutated_twice(LOWERING, attributes)
    assert changed is not None
    return completed(changed)


def completed(document: Raw) -> Raw:
    return LOWERING.complete(document, NODES, "")


def is_left_alone(document: Raw, wanted: Raw) -> bool:
    """Whether the policy does not lower what the function does: other operators, and what becomes a match label."""
    within = pod_of(document)
    assert within is not None
    others = [name for name, _ in _OTHERS]
    has_others = any(one.get("operator") in others for one in within["spec"].get("tolerations") or [])
    return has_others or "match.moorage.dev/" in str(wanted)


def lowering_law(lower: Callable[[Raw], Raw]) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(st.sampled_from(sorted(KINDS)), _PODS, st.lists(_tolerations(), max_size=2))
    def law(kind: str, given_pod: Raw, others: list[Raw]) -> None:
        document = completed(workload(kind, given_pod))
        wanted = lower(document)
        if is_left_alone(document, wanted):
            assert lowered_by_policy(kind, document) == document
            return
        assert lowered_by_policy(kind, document) == completed(wanted)
        assert lowered_by_policy(kind, wanted) == completed(wanted)
        applied = deepcopy(wanted)
        within = pod_of(applied)
        assert within is not None
        within["spec"]["tolerations"] = others
        if not is_left_alone(applied, lower(applied)):
            assert lowered_by_policy(kind, applied, wanted) == completed(lower(applied))

    return law


def test_the_policy_lowers_thresholds_as_the_function_does() -> None:
    lowering_law(lowered)()


@pytest.mark.parametrize("other", _OTHERS)
def test_the_policy_lowers_nothing_beside_other_operators(other: tuple[str, str]) -> None:
    both = toleration("Gt", "950", "spot", "", None), toleration(*other, "spot", "", None)
    document = completed(workload("Deployment", pod(*both)))
    assert lowered_by_policy("Deployment", document) == document


def test_lowering_that_forgets_the_marker_is_noticed() -> None:
    def forgetful(document: Raw) -> Raw:
        changed = deepcopy(lowered(document))
        within = pod_of(changed)
        assert within is not None
        there = within["spec"].get("tolerations", [])
        within["spec"]["tolerations"] = [each for each in there if each["key"] != "attach.moorage.dev/lowered"]
        return changed

    assert_notices(lowering_law(forgetful))
