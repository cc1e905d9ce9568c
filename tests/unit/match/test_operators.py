"""The table of operators: rows are complete, their names stand nowhere else, and every operator works in its places."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.objects import pod

import moorage
from moorage.admit.admission import Admitted, admit
from moorage.match.comparison import VERSION
from moorage.match.node_selector import compile_node_selector
from moorage.match.operators import (
    BY_NAME,
    EXIT_CODES,
    LABEL_SELECTOR,
    NODE_FIELD,
    NODE_SELECTOR,
    OPERATOR_GATES,
    OPERATORS,
    TOLERATION,
    Arity,
    Operator,
    OperatorPlace,
    gate_of,
    less_first,
    names_in,
)
from moorage.match.tolerations import compile_toleration
from moorage.model.gates import GATES, GateSet, gates_from
from moorage.model.schema.conversion import convert_view
from moorage.model.types.node import NodeSelector, Taint
from moorage.model.types.pod import Toleration
from moorage.serve.openapi.definitions import TEXTS, VALUES

if TYPE_CHECKING:
    from collections.abc import Callable

ALL_GATES = gates_from({"AllAlpha": True, "AllBeta": True})
SOURCE = Path(moorage.__file__).parent
COMPARING = [row for row in OPERATORS if any(use.comparison is not None for use in row.places.values())]

#: Files beside the table that may name a comparing operator, and why.
MAY_NAME_OPERATORS = {
    "match/operators.py": "the table itself",
    "model/gates.py": "a gate's description in `--help` and in docs/gates.md says what it switches on",
    "schedule/live/metrics.py": "the help text of a metric that KEP-5471 defines for its two operators",
    "attach/alternatives.py": "format v1 is frozen: an operator that comes later is not in it",
    "attach/policies/lowering.py": "the CEL of a policy that lowers two operators",
    "attach/policies/additions.py": "the operators that attach lowers, of which format v1 is frozen",
    "attached/install/additions.py": "signs of a command line",
    "attached/install/chart.py": "words of a chart's values",
    "attached/status/pieces.py": "a sentence about the policy",
    "cli/commands/attach/install.py": "help texts",
    "cli/commands/attach/native.py": "help texts",
    "cli/commands/attach/policies.py": "help texts",
    "cli/commands/capacity/curve.py": "help texts",
    "lint/rules/attached.py": "the operators that attach lowers, of which format v1 is frozen",
    "lint/rules/pools/findings.py": "the operators whose thresholds no pool may meet",
    "pools/checks.py": "Karpenter's words about its own operators",
    "pools/label_values.py": "Karpenter's own operators",
}


# -- the table --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", OPERATORS, ids=lambda row: row.name)
def test_rows_are_complete(row: Operator) -> None:
    assert row.places, "an operator must exist somewhere"
    if row.places.keys() & {NODE_SELECTOR, LABEL_SELECTOR}:
        assert row.selection, "requirements on labels need the name in the selection package"
    for use in row.places.values():
        assert use.gate is None or use.gate in GATES
        if use.comparison is not None:
            assert row.arity is Arity.ONE
            assert row.spellings, "hints need the words people write for it"
            assert "{value}" in row.never
            assert row.never_hint
            if use.comparison.kind is VERSION:
                assert "{base}" in row.prerelease
                assert "{value}" in row.prerelease


def test_names_spellings_and_selections_are_unique() -> None:
    for texts in (
        [row.name for row in OPERATORS],
        [word for row in OPERATORS for word in row.spellings],
        [row.selection for row in OPERATORS if row.selection],
    ):
        assert len(texts) == len(set(texts))
    assert all(word == word.lower() for row in OPERATORS for word in row.spellings)


def test_every_gate_of_the_table_is_known_once() -> None:
    assert len({gate.name for gate in OPERATOR_GATES}) == len(OPERATOR_GATES)


def test_validation_lists_less_before_greater() -> None:
    names = ["Equal", "Exists", "Gt", "Lt", "SemverGt", "SemverLt", "SemverEq"]
    assert less_first(names) == ["Equal", "Exists", "Lt", "SemverLt", "Gt", "SemverGt", "SemverEq"]


def named_elsewhere(names: list[str], sources: dict[str, str]) -> list[str]:
    """List the places that write the name of a comparing operator as a word of its own."""
    word = re.compile(r"(?<![\w.])(" + "|".join(names) + r")(?!\w)")
    return [
        f"{path}: {found[1]}"
        for path, text in sorted(sources.items())
        if path not in MAY_NAME_OPERATORS
        for found in word.finditer(text)
    ]


def test_comparing_operators_are_named_in_the_table_only() -> None:
    sources = {path.relative_to(SOURCE).as_posix(): path.read_text() for path in SOURCE.rglob("*.py")}
    assert named_elsewhere([row.name for row in COMPARING], {p: _code(t) for p, t in sources.items()}) == []
    assert sources.keys() >= MAY_NAME_OPERATORS.keys()


def _code(text: str) -> str:
    """Leave out docstrings and comments, where examples may stand."""
    return re.sub(r'"""(?:.|\n)*?"""|#[^\n"]*$', "", text, flags=re.MULTILINE)


def test_a_second_list_of_operators_is_noticed() -> None:
    second = {"lint/other.py": 'NUMERIC = ("Lt", "Gt")\n', "match/operators.py": '"Lt"'}
    assert named_elsewhere(["Gt", "Lt"], second) == ["lint/other.py: Lt", "lint/other.py: Gt"]


# -- operators in places ----------------------------------------------------------------------------------------------


def _values(row: Operator, value: str = "5") -> list[str]:
    return [] if row.arity is Arity.NONE else [value]


def _expression(row: Operator, key: str = "k", value: str = "5") -> dict[str, Any]:
    return {"key": key, "operator": row.name, "values": _values(row, value)}


def _in_toleration(row: Operator) -> dict[str, Any]:
    return pod(tolerations=[{"key": "k", "operator": row.name, "value": "".join(_values(row))}])


def _node_affinity(term: dict[str, Any]) -> dict[str, Any]:
    return pod(
        affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    )


def _in_node_affinity(row: Operator) -> dict[str, Any]:
    return _node_affinity({"matchExpressions": [_expression(row)]})


def _in_preferred_node_affinity(row: Operator) -> dict[str, Any]:
    preferred = [{"weight": 1, "preference": {"matchExpressions": [_expression(row)]}}]
    return pod(affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}})


def _in_volume(row: Operator) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "v"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
            "local": {"path": "/data"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [_expression(row)]}]}},
        },
    }


def _in_match_fields(row: Operator) -> dict[str, Any]:
    return _node_affinity({"matchFields": [_expression(row, "metadata.name")]})


def _in_label_selector(row: Operator) -> dict[str, Any]:
    selector = {"matchExpressions": [_expression(row)]}
    term = {"topologyKey": "zone", "labelSelector": selector}
    return pod(affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}})


def _in_exit_codes(row: Operator) -> dict[str, Any]:
    rule = {"action": "Ignore", "onExitCodes": {"operator": row.name, "values": [5]}}
    template = {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "default", "uid": "u"},
        "spec": {"template": template, "podFailurePolicy": {"rules": [rule]}},
    }


PLACES: list[tuple[OperatorPlace, Callable[[Operator], dict[str, Any]]]] = [
    (TOLERATION, _in_toleration),
    (NODE_SELECTOR, _in_node_affinity),
    (NODE_SELECTOR, _in_preferred_node_affinity),
    (NODE_SELECTOR, _in_volume),
    (NODE_FIELD, _in_match_fields),
    (LABEL_SELECTOR, _in_label_selector),
    (EXIT_CODES, _in_exit_codes),
]
MATRIX = [
    pytest.param(row, place, made, id=f"{row.name}{made.__name__}") for row, (place, made) in product(OPERATORS, PLACES)
]


def is_admitted(document: dict[str, Any], gates: GateSet) -> bool:
    return isinstance(admit(document, None, gates, plugins=(), request=None), Admitted)


@pytest.mark.parametrize(("row", "place", "made"), MATRIX)
def test_an_operator_is_admitted_where_its_row_says(
    row: Operator, place: OperatorPlace, made: Callable[[Operator], dict[str, Any]]
) -> None:
    assert is_admitted(made(row), ALL_GATES) is (place in row.places)


@pytest.mark.parametrize(("row", "place", "made"), MATRIX)
def test_an_operator_is_refused_while_its_gate_is_off(
    row: Operator, place: OperatorPlace, made: Callable[[Operator], dict[str, Any]]
) -> None:
    gate = gate_of(row.name, place)
    others = ALL_GATES if gate is None else ALL_GATES.with_gate(gate, False)
    assert is_admitted(made(row), others) is (place in row.places and gate is None)


@pytest.mark.parametrize("row", COMPARING, ids=lambda row: row.name)
@pytest.mark.parametrize(("actual", "wanted"), [("5", "5"), ("3", "5"), ("7", "5"), ("word", "5")])
def test_comparisons_match_as_their_relation_says(row: Operator, actual: str, wanted: str) -> None:
    for place, use in row.places.items():
        assert use.comparison is not None
        holds = actual.isdigit() and use.comparison.holds(int(actual), int(wanted))
        expression = {"key": "k", "operator": row.name, "values": [wanted]}
        for gates in (ALL_GATES, ALL_GATES if use.gate is None else ALL_GATES.with_gate(use.gate, False)):
            if place is TOLERATION:
                matcher = compile_toleration(Toleration("k", row.name, wanted), gates)
                matches = matcher.match(Taint("k", actual, "NoSchedule"))
            else:
                term = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
                matches = compile_node_selector(convert_view(term, NodeSelector), gates).match({"k": actual}, "n")
            assert matches is (holds and (use.gate is None or gates.enabled(use.gate)))


@pytest.mark.parametrize(
    ("type_name", "place"), [("Toleration", TOLERATION), ("NodeSelectorRequirement", NODE_SELECTOR)]
)
def test_openapi_lists_and_describes_the_operators(type_name: str, place: OperatorPlace) -> None:
    assert set(VALUES[type_name, "operator"]) == set(names_in(place))
    description = TEXTS[type_name, "operator"]
    for name in names_in(place):
        assert re.search(rf"\b{name}\b", description), name
        gate = gate_of(name, place)
        assert gate is None or gate.name in description


def test_unknown_operators_have_no_row() -> None:
    assert "Ge" not in BY_NAME
    assert gate_of("Ge", TOLERATION) is None
