"""Server-side apply: twice is once, letting go gives back, strangers do not disturb each other, sets are sets."""

from collections.abc import Callable
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices

from moorage.admit.apply import field_set
from moorage.admit.apply.field_set import Fields, in_order, intersects, paths
from moorage.model.kinds import KINDS
from moorage.serve.apply.managed_fields import ApplyConflict, apply_patch, on_create, on_update

Raw = dict[str, Any]
Apply = Callable[[Raw | None, Raw, str], Raw]
Combine = Callable[[Fields, Fields], Fields]

T1, T2 = "2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z"

LABELS = st.dictionaries(st.sampled_from("abc"), st.sampled_from("12"), max_size=3)
PORTS = st.lists(
    st.fixed_dictionaries(
        {"containerPort": st.sampled_from([80, 443])}, optional={"protocol": st.sampled_from(["TCP", "UDP"])}
    ),
    max_size=2,
    unique_by=lambda port: (port["containerPort"], port.get("protocol", "TCP")),
)
CONTAINERS = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from("xyz")},
        optional={
            "image": st.sampled_from(["i", "j"]),
            "command": st.lists(st.sampled_from("ab"), max_size=2),
            "ports": PORTS,
            "resources": st.fixed_dictionaries({}, optional={"limits": LABELS}),
            "stdin": st.booleans(),
        },
    ),
    max_size=3,
    unique_by=lambda container: str(container["name"]),
)
SPECS = st.fixed_dictionaries(
    {},
    optional={
        "replicas": st.integers(0, 2),
        "paused": st.booleans(),
        "selector": st.fixed_dictionaries({"matchLabels": LABELS}),
        "strategy": st.fixed_dictionaries({}, optional={"type": st.sampled_from(["Recreate", "RollingUpdate"])}),
        "template": st.fixed_dictionaries({"spec": st.fixed_dictionaries({"containers": CONTAINERS})}),
    },
)
METADATA = st.fixed_dictionaries(
    {"name": st.just("d")},
    optional={
        "labels": LABELS,
        "finalizers": st.lists(st.sampled_from(["a/x", "a/y"]), max_size=2, unique=True),
    },
)
DOCUMENTS = st.builds(
    lambda metadata, rest: {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, **rest},
    METADATA,
    st.fixed_dictionaries({}, optional={"spec": SPECS}),
)
NOTHING: Raw = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}}


def insist(live: Raw | None, patch: Raw, manager: str) -> Raw:
    return apply_patch(live, patch, KINDS.DEPLOYMENT, manager, True, "", T2)


def created(document: Raw) -> Raw:
    metadata = {**document["metadata"], "uid": "u"}
    return on_create({**document, "metadata": metadata}, KINDS.DEPLOYMENT, "creator", T1)


def owners(document: Raw) -> dict[str, Raw]:
    return {entry["manager"]: entry["fieldsV1"] for entry in document["metadata"].get("managedFields", [])}


def without_order(value: Any) -> Any:
    """A document in which the order of a list does not count."""
    if isinstance(value, dict):
        return {name: without_order(item) for name, item in value.items()}
    return sorted(map(without_order, value), key=repr) if isinstance(value, list) else value


def without_times(document: Raw) -> Raw:
    entries = document["metadata"].get("managedFields", [])
    timeless = [{name: value for name, value in entry.items() if name != "time"} for entry in entries]
    timeless.sort(key=lambda entry: (entry["operation"], entry["manager"]))
    return {**document, "metadata": {**document["metadata"], "managedFields": timeless}}


def twice_is_once_law(apply: Apply) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(DOCUMENTS, DOCUMENTS)
    def law(live: Raw, patch: Raw) -> None:
        once = apply(created(live), patch, "me")
        assert without_times(apply(once, patch, "me")) == without_times(once)

    return law


def applied_or_not(live: Raw, patch: Raw) -> Raw:
    """The object after an apply that does not insist; as it was, if somebody objects."""
    try:
        return apply_patch(live, patch, KINDS.DEPLOYMENT, "me", False, "", T2)
    except ApplyConflict:
        return live


def letting_go_law(apply: Apply) -> Callable[[], None]:
    """Who applies something and then nothing leaves what others own as it was."""

    @LAW_SETTINGS
    @given(DOCUMENTS, DOCUMENTS)
    def law(live: Raw, patch: Raw) -> None:
        before = created(live)
        after = apply(applied_or_not(before, patch), NOTHING, "me")
        assert "me" not in owners(after)
        assert owners(after) == owners(before)
        untouched = on_update({**before}, after, KINDS.DEPLOYMENT, "judge", "", T2)
        judged = owners(untouched).get("judge", {})
        assert not any(intersects(judged, fields) for fields in owners(before).values())

    return law


def apart(one: Fields, other: Fields) -> bool:
    """Whether no field of either is, or is in, a field of the other."""
    mine, theirs = list(paths(one)), list(paths(other))
    return not any(a[: len(b)] == b or b[: len(a)] == a for a in mine for b in theirs)


def strangers_law(apply: Apply) -> Callable[[], None]:
    """Two who apply different fields come to the same, whoever is first."""

    @LAW_SETTINGS
    @given(DOCUMENTS, DOCUMENTS, DOCUMENTS)
    def law(live: Raw, one: Raw, other: Raw) -> None:
        mine, theirs = insist(None, one, "one"), insist(None, other, "other")
        assume(apart(owners(mine).get("one", {}), owners(theirs).get("other", {})))
        base = created(live)
        forth = apply(apply(base, one, "one"), other, "other")
        back = apply(apply(base, other, "other"), one, "one")
        assert without_order(without_times(forth)) == without_order(without_times(back))

    return law


FIELDS: st.SearchStrategy[Fields] = st.recursive(
    st.just({}),
    lambda below: st.dictionaries(st.sampled_from(["f:a", "f:b", 'k:{"a":1}', "."]), below, max_size=3).map(
        field_set.decode
    ),
    max_leaves=12,
)


def sets_law(union: Combine, difference: Combine, intersection: Combine) -> Callable[[], None]:
    """Trees of fields do what sets of their paths do."""

    @LAW_SETTINGS
    @given(FIELDS, FIELDS)
    def law(one: Fields, other: Fields) -> None:
        one, other = ({name: node for name, node in tree.items() if name != "."} for tree in (one, other))
        mine, theirs = set(paths(one)), set(paths(other))
        assert set(paths(union(one, other))) == mine | theirs
        assert set(paths(difference(one, other))) == mine - theirs
        assert set(paths(intersection(one, other))) == mine & theirs
        assert field_set.intersects(one, other) == bool(mine & theirs)
        assert field_set.includes(one, other) == (theirs <= mine)
        assert in_order(one) == one

    return law


def forgetful(live: Raw | None, patch: Raw, manager: str) -> Raw:
    """Broken: every apply is somebody else's, so nothing is ever let go of."""
    entries = len((live or {}).get("metadata", {}).get("managedFields", []))
    return insist(live, patch, f"{manager}-{entries}")


def greedy(live: Raw | None, patch: Raw, manager: str) -> Raw:
    """Broken: what the applier does not mention is lost."""
    after = insist(live, patch, manager)
    return {**after, "metadata": {**after["metadata"], "labels": patch["metadata"].get("labels", {})}}


def clinging(live: Raw | None, patch: Raw, manager: str) -> Raw:
    """Broken: letting go of everything takes what others own along."""
    after = insist(live, patch, manager)
    return on_update({**after, "spec": {}}, after, KINDS.DEPLOYMENT, "thief", "", T2) if patch == NOTHING else after


def test_applying_twice_is_applying_once() -> None:
    twice_is_once_law(insist)()


def test_a_change_with_every_apply_is_noticed() -> None:
    assert_notices(twice_is_once_law(forgetful))


def test_letting_go_restores_what_others_own() -> None:
    letting_go_law(insist)()


def test_taking_others_fields_along_is_noticed() -> None:
    assert_notices(letting_go_law(clinging))


def test_who_applies_other_fields_does_not_disturb() -> None:
    strangers_law(insist)()


def test_losing_strangers_fields_is_noticed() -> None:
    assert_notices(strangers_law(greedy))


def test_trees_of_fields_are_sets() -> None:
    sets_law(field_set.union, field_set.difference, field_set.intersection)()


def test_a_difference_that_takes_children_along_is_noticed() -> None:
    assert_notices(sets_law(field_set.union, field_set.recursive_difference, field_set.intersection))
