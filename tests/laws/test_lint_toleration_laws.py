"""The linter's algebra of tolerations: its few taints stand for all, and what it calls redundant can be removed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices
from tests.unit.lint.linting import lint

from moorage.lint.facts.possible_taints import EFFECTS, possible_taints
from moorage.lint.rules.tolerations import redundant_tolerations
from moorage.match.devices.eviction import tolerated_seconds
from moorage.match.devices.tolerations import compile_device_tolerations
from moorage.match.tolerations import compile_tolerations
from moorage.model.gates import gates_from
from moorage.model.names import label_value_errors
from moorage.model.types.devices import DeviceTaint, DeviceToleration
from moorage.model.types.node import Taint
from moorage.model.types.pod import Toleration

GATES = gates_from({"AllAlpha": True})
NUMBERS = ["0", "1", "5", "6", "7", "8", "9223372036854775806", "9223372036854775807", "9223372036854775808"]
VERSIONS = [
    "1.2.3",
    "v1.2.3",
    "1.2.3-rc.1",
    "1.2.3-0",
    "1.2.4-0",
    "1.2",
    "7.0.0",
    "0.0.0-0",
    "007",
    "5.15.0-91-generic",
]
VALUES = st.one_of(
    st.sampled_from([*NUMBERS, *VERSIONS, "", "word", "some-word"]),
    st.integers(0, 12).map(str),
    st.tuples(st.integers(0, 8), st.integers(0, 3), st.integers(0, 4)).map(lambda parts: ".".join(map(str, parts))),
)
KEYS = st.sampled_from(["a", "b"])
SECONDS = st.sampled_from([None, None, 30, 60])


@st.composite
def tolerations(draw: st.DrawFn) -> Toleration:
    operator = draw(st.sampled_from(["Equal", "Exists", "Lt", "Gt", "SemverLt", "SemverGt", "SemverEq"]))
    key = draw(KEYS) if operator != "Exists" else draw(st.sampled_from(["a", "b", ""]))
    value = "" if operator == "Exists" else draw(VALUES)
    effect = draw(st.sampled_from(["", *EFFECTS]))
    seconds = draw(SECONDS) if effect == "NoExecute" else None
    return Toleration(key, operator, value, effect, seconds)


TAINTS = st.builds(Taint, KEYS, VALUES.filter(lambda value: not label_value_errors(value)), st.sampled_from(EFFECTS))
LISTS = st.lists(tolerations(), min_size=1, max_size=6)


def signature(wanted: Sequence[Toleration], taint: Taint) -> tuple[bool, ...]:
    return tuple(compile_tolerations([one], GATES).tolerates(taint) for one in wanted)


def stands_for_all(listed: Callable[[Sequence[Toleration]], list[Taint]]) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(LISTS, TAINTS)
    def law(wanted: list[Toleration], taint: Taint) -> None:
        mine = signature(wanted, taint)
        if any(mine):
            same_effect = [other for other in listed(wanted) if other.effect == taint.effect]
            assert mine in {signature(wanted, other) for other in same_effect}

    return law


def removable(find: Callable[[Sequence[Toleration]], list[int]]) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(LISTS, st.lists(TAINTS, min_size=1, max_size=8))
    def law(wanted: list[Toleration], taints: list[Taint]) -> None:
        dropped = set(find(wanted))
        kept = [one for index, one in enumerate(wanted) if index not in dropped]
        before, after = compile_tolerations(wanted, GATES), compile_tolerations(kept, GATES)
        for taint in taints:
            first, then = before.first_matching(taint), after.first_matching(taint)
            assert (first is None) == (then is None)
            if first is not None and then is not None and taint.effect == "NoExecute":
                assert first[1].tolerationSeconds == then[1].tolerationSeconds

    return law


def removable_from_requests(find: Callable[[Sequence[Toleration]], list[int]]) -> Callable[[], None]:
    """What is removed changes neither which devices can be allocated nor for how long pods stay on them."""

    @LAW_SETTINGS
    @given(LISTS, st.lists(TAINTS, min_size=1, max_size=8))
    def law(wanted: list[Toleration], taints: list[Taint]) -> None:
        dropped = set(find(wanted))
        kept = [one for index, one in enumerate(wanted) if index not in dropped]
        before, after = (compile_device_tolerations(map(_of_device, one), GATES) for one in (wanted, kept))
        for taint in (DeviceTaint(one.key, one.value, one.effect) for one in taints):
            assert before.tolerates(taint) == after.tolerates(taint)
            if taint.effect == "NoExecute":
                assert tolerated_seconds(taint, before) == tolerated_seconds(taint, after)

    return law


def _of_device(toleration: Toleration) -> DeviceToleration:
    one = toleration
    return DeviceToleration(
        key=one.key,
        operator=one.operator,
        value=one.value,
        effect=one.effect,
        tolerationSeconds=one.tolerationSeconds,
    )


def test_what_is_redundant_in_a_request_for_devices_can_be_removed() -> None:
    removable_from_requests(lambda wanted: [found.index for found in redundant_tolerations(wanted, of_devices=True)])()


def test_the_law_notices_rules_of_pods_applied_to_devices() -> None:
    assert_notices(removable_from_requests(lambda wanted: [found.index for found in redundant_tolerations(wanted)]))


def test_a_few_taints_stand_for_all() -> None:
    stands_for_all(possible_taints)()


def test_the_law_notices_taints_that_stand_for_too_little() -> None:
    assert_notices(stands_for_all(lambda wanted: possible_taints(wanted)[::2]))


def test_what_is_redundant_can_be_removed() -> None:
    removable(lambda wanted: [found.index for found in redundant_tolerations(wanted)])()


def test_the_law_notices_what_was_needed() -> None:
    assert_notices(removable(lambda wanted: [len(wanted) - 1]))


# -- tolerations that match no taint of the input ---------------------------------------------------------------------

NODE_TAINTS = st.lists(TAINTS, min_size=1, max_size=4, unique_by=lambda taint: (taint.key, taint.effect))
_THRESHOLD = re.compile(r"write (?P<operator>\w+) (?P<value>\S+) (?:if|to match)")


def documents_of(taints: Sequence[Taint], wanted: Sequence[Toleration]) -> bytes:
    written = [{name: value for name, value in msgspec.to_builtins(one).items() if value} for one in wanted]
    nodes = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": f"n{number}"},
            "spec": {"taints": [{name: value for name, value in msgspec.to_builtins(taint).items() if value}]},
        }
        for number, taint in enumerate(taints)
    ]
    spec = {"containers": [{"name": "c", "image": "i"}], "tolerations": written}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    return msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": [*nodes, pod]})


def unmatched(taints: Sequence[Taint], wanted: Sequence[Toleration]) -> dict[int, str]:
    """Return the tolerations that are reported, each with its hint."""
    return {
        int(finding.place.path.partition("[")[2].partition("]")[0]): finding.hint
        for finding in lint(documents_of(taints, wanted))
        if finding.rule == "toleration-matches-no-taint"
    }


def unmatched_law(find: Callable[[Sequence[Taint], Sequence[Toleration]], dict[int, str]] = unmatched) -> None:
    @LAW_SETTINGS
    @given(
        NODE_TAINTS, st.lists(tolerations().filter(lambda one: one.tolerationSeconds is None), min_size=1, max_size=3)
    )
    def law(taints: list[Taint], wanted: list[Toleration]) -> None:
        found = find(taints, wanted)
        for index, one in enumerate(wanted):
            of_key = [taint for taint in taints if taint.key == one.key]
            matches = any(signature([one], taint)[0] for taint in taints)
            tolerated = all(compile_tolerations(wanted, GATES).tolerates(taint) for taint in of_key)
            assert index not in found or (of_key and not matches and not tolerated)
            alone = len([other for other in wanted if other.key in ("", one.key)]) == 1
            readable = all(compile_tolerations([one], GATES).matchers[0].unreadable(taint) is None for taint in of_key)
            never = compile_tolerations([one], GATES).matchers[0].never
            if alone and of_key and not matches and readable and never is None and one.operator != "Exists":
                assert index in found or not all(taint.effect == one.effect or not one.effect for taint in of_key)
            if index in found and (threshold := _THRESHOLD.search(found[index])):
                moved = msgspec.structs.replace(one, operator=threshold["operator"], value=threshold["value"])
                assert any(signature([moved], taint)[0] for taint in of_key)

    law()


def test_a_toleration_that_matches_no_taint_is_reported_and_the_hint_makes_it_match() -> None:
    unmatched_law()


def test_a_hint_that_does_not_help_is_noticed() -> None:
    def same_threshold(taints: Sequence[Taint], wanted: Sequence[Toleration]) -> dict[int, str]:
        found = unmatched(taints, wanted)
        return {index: f"write {wanted[index].operator} {wanted[index].value} to match" for index in found}

    assert_notices(lambda: unmatched_law(same_threshold))


def test_findings_that_are_missing_or_too_many_are_noticed() -> None:
    assert_notices(lambda: unmatched_law(lambda taints, wanted: {}))
    assert_notices(lambda: unmatched_law(lambda taints, wanted: dict.fromkeys(range(len(wanted)), "")))
