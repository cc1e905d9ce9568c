"""Tolerations: every row of the rules, and CEL expressions with their limits and neighbours."""

from typing import Any

import pytest

from moorage.admit.options import STRICT, ValidationOptions
from moorage.admit.pod.tolerations import EXPRESSION_GATE_IS_OFF, EXPRESSION_STANDS_ALONE, validate_tolerations
from moorage.match.operators import OPERATOR_GATES
from moorage.model.types.pod import Toleration

ALL = ValidationOptions(
    operator_gates=frozenset(gate.name for gate in OPERATOR_GATES),
    allow_taint_toleration_cel=True,
)
NOT_A_LABEL_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
UNSUPPORTED = 'operator: Unsupported value: "{}": supported values: "Equal", "Exists"'


def errors_of(options: ValidationOptions, **fields: Any) -> list[str]:
    errors = validate_tolerations([Toleration(**fields)], "spec.tolerations", options)
    return [str(error).removeprefix("spec.tolerations[0].") for error in errors]


@pytest.mark.parametrize(
    ("options", "fields", "expected"),
    [
        (STRICT, {"operator": "Exists"}, []),
        (STRICT, {"key": "a"}, []),
        (
            STRICT,
            {},
            [
                'operator: Invalid value: "": operator must be Exists when `key` is empty, which means '
                '"match all values and all keys"'
            ],
        ),
        (
            STRICT,
            {"key": "a", "tolerationSeconds": 0},
            ["effect: Invalid value: \"\": effect must be 'NoExecute' when `tolerationSeconds` is set"],
        ),
        (STRICT, {"key": "a", "tolerationSeconds": -1, "effect": "NoExecute"}, []),
        (STRICT, {"key": "a", "value": "-"}, [f'operator: Invalid value: "-": {NOT_A_LABEL_VALUE}']),
        (
            STRICT,
            {"key": "a", "operator": "Exists", "value": "v"},
            ["operator: Invalid value: \"v\": value must be empty when `operator` is 'Exists'"],
        ),
        (STRICT, {"key": "a", "operator": "Gt", "value": "x"}, [UNSUPPORTED.format("Gt") + ', "Lt", "Gt"']),
        (STRICT, {"key": "a", "operator": "SemverGt", "value": "x"}, [UNSUPPORTED.format("SemverGt")]),
        (ALL, {"key": "a", "operator": "<", "value": "1"}, [UNSUPPORTED.format("\\u003c")]),
        (ALL, {"key": "a", "operator": "Lt", "value": "-5"}, []),
        (
            ALL,
            {"key": "a", "operator": "Lt", "value": "007"},
            ['value: Invalid value: "007": must be a valid decimal integer in canonical form'],
        ),
        (ALL, {"key": "a", "operator": "SemverLt", "value": "v1.2"}, []),
        (
            ALL,
            {"key": "a", "operator": "SemverEq", "value": "1.2-rc1"},
            ['value: Invalid value: "1.2-rc1": Short version cannot contain PreRelease/Build meta data'],
        ),
        (
            STRICT,
            {"key": "a", "effect": "NoRun"},
            ['effect: Unsupported value: "NoRun": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"'],
        ),
    ],
)
def test_without_expression(options: ValidationOptions, fields: dict[str, Any], expected: list[str]) -> None:
    assert errors_of(options, **fields) == expected


EXPRESSION = "taint.key == 'gpu'"


def test_an_expression_needs_no_key_and_takes_seconds_without_an_effect() -> None:
    assert errors_of(ALL, expression=EXPRESSION) == []
    assert errors_of(ALL, expression=EXPRESSION, tolerationSeconds=30) == []


@pytest.mark.parametrize("field", ["key", "operator", "value", "effect"])
def test_an_expression_stands_alone(field: str) -> None:
    value = {"key": "a", "operator": "Exists", "value": "v", "effect": "NoSchedule"}[field]
    expected = [f'expression: Invalid value: "{EXPRESSION}": {EXPRESSION_STANDS_ALONE}']
    assert errors_of(ALL, expression=EXPRESSION, **{field: value}) == expected


def test_with_the_gate_off_an_expression_is_the_only_thing_complained_about() -> None:
    assert errors_of(STRICT, expression="not even ( CEL", key="bad key") == [
        f"expression: Forbidden: {EXPRESSION_GATE_IS_OFF}"
    ]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("'" + "a" * (10 * 1024 - 8) + "'!=''" + " ", []),
        ("'" + "a" * (10 * 1024) + "'", ["expression: Too long: may not be more than 10240 bytes"]),
        ("'" + "é" * (5 * 1024) + "'", ["expression: Too long: may not be more than 10240 bytes"]),
        ("taint.key.split('/')[1].contains('a')", ["expression: Forbidden: too complex, exceeds cost limit"]),
        (
            "taint.key",
            ['expression: Invalid value: "taint.key": must evaluate to bool or the unknown type, not string'],
        ),
        (
            "taint.foo == ''",
            [
                "expression: Invalid value: \"taint.foo == ''\": compilation failed: ERROR: <input>:1:6: undefined "
                "field 'foo'\n | taint.foo == ''\n | .....^"
            ],
        ),
        (
            "taint.key.find('(') == ''",
            ["expression: Internal error: program instantiation failed: error parsing regexp: missing closing ): `(`"],
        ),
    ],
)
def test_limits_and_compilation(expression: str, expected: list[str]) -> None:
    assert errors_of(ALL, expression=expression) == expected


def test_both_the_company_and_the_expression_are_complained_about() -> None:
    errors = errors_of(ALL, expression="taint.key", effect="NoExecute")
    assert [error.partition(": ")[2].rpartition(": ")[2] for error in errors] == [
        EXPRESSION_STANDS_ALONE,
        "must evaluate to bool or the unknown type, not string",
    ]
