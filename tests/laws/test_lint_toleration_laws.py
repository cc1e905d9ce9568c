"""The linter's algebra of tolerations: its few taints stand for all, and what it calls redundant can be removed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import given
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices

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
