"""docs/gates.md has every gate that Kubernetes 1.36 has on by default, and the table agrees with our own gates."""

import pytest
from tests.release_gates import HAS, PAGE, release_gates, written

from moorage.model.gates import GATES

TABLE = {gate.name: gate for gate in release_gates()}
#: Locked in Kubernetes 1.36; here it can still be turned off.
_LOCKED_THERE = {"MatchLabelKeysInPodAffinity"}


def test_page_is_generated_from_the_table() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert written(page) == page, "run: python -m tests.release_gates"


def test_rows_are_sorted_and_have_reasons() -> None:
    names = [gate.name.lower() for gate in release_gates()]
    assert names == sorted(set(names))
    assert all(gate.reason and gate.stage in ("BETA", "GA", "DEPRECATED") for gate in TABLE.values())


@pytest.mark.parametrize("gate", [gate for gate in GATES if gate.releases and gate.default], ids=lambda gate: gate.name)
def test_gates_of_ours_that_are_on_have_a_row(gate: object) -> None:
    known = next(one for one in GATES if one is gate)
    if known.locked or known.name in _LOCKED_THERE:
        assert known.name not in TABLE
        return
    row = TABLE[known.name]
    assert (row.state, row.stage) == (HAS, known.stage.value)


def test_gates_that_are_off_by_default_have_no_row() -> None:
    assert not {gate.name for gate in GATES if not gate.default} & TABLE.keys()


def test_a_switch_is_one_of_our_gates_and_the_other_way_round() -> None:
    switches = {name for name, row in TABLE.items() if row.reason.startswith(("a switch", "declared by nodes"))}
    assert switches == {gate.name for gate in GATES if gate.name in TABLE}
