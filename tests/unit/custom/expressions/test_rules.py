"""Rules of schemas: what they may refer to, what they cost, and what is said where they do not hold."""

from typing import Any

import pytest

from moorage.custom.expressions import RuleFindings, check_rules, rule_tree
from moorage.custom.expressions.declared_types import declare, escape_name
from moorage.custom.expressions.rules import CompiledRule, compile_rules
from moorage.custom.objects.correlation import Correlation
from moorage.custom.structural import compile_schema

Raw = dict[str, Any]


def rules_of(schema: Raw, *rules: Raw | str, is_resource_root: bool = False) -> tuple[CompiledRule, ...]:
    given = [{"rule": rule} if isinstance(rule, str) else rule for rule in rules]
    compiled = compile_schema({**schema, "x-kubernetes-validations": given})
    declared = declare(compiled, is_resource_root=is_resource_root)
    assert declared is not None
    return compile_rules(compiled, declared)


def findings(schema: Raw, value: Any, *rules: Raw | str, old: Any = None, budget: int = 10**7) -> RuleFindings:
    given = [{"rule": rule} if isinstance(rule, str) else rule for rule in rules]
    root = {"type": "object", "properties": {"spec": {**schema, "x-kubernetes-validations": given}}}
    before = None if old is None else {"spec": old}
    return check_rules(rule_tree(compile_schema(root)), {"spec": value}, before, findings=RuleFindings(budget))


def texts(schema: Raw, value: Any, *rules: Raw | str, old: Any = None) -> list[str]:
    return [str(error) for error in findings(schema, value, *rules, old=old).errors]


OBJECT: Raw = {
    "type": "object",
    "properties": {
        "n": {"type": "integer"},
        "a-b": {"type": "string", "maxLength": 5},
        "namespace": {"type": "string"},
        "free": {"x-kubernetes-preserve-unknown-fields": True},
        "port": {"x-kubernetes-int-or-string": True},
        "at": {"type": "string", "format": "date-time"},
        "for": {"type": "string", "format": "duration"},
        "data": {"type": "string", "format": "byte"},
        "half": {"type": "number"},
        "none": {"type": "string", "nullable": True},
        "items": {"type": "array", "maxItems": 3, "items": {"type": "object", "properties": {"x": {"type": "string"}}}},
        "by": {"type": "object", "additionalProperties": {"type": "integer"}},
    },
}


@pytest.mark.parametrize(
    ("name", "escaped"),
    [
        ("a", "a"),
        ("a-b.c/d", "a__dash__b__dot__c__slash__d"),
        ("a__b", "a__underscores__b"),
        ("if", "__if__"),
        ("1a", None),
        ("a b", None),
        ("", None),
        ("ä", None),
    ],
)
def test_names_are_escaped_as_identifiers(name: str, escaped: str | None) -> None:
    assert escape_name(name) == escaped


@pytest.mark.parametrize(
    "rule",
    [
        "self.n == 3",
        "self.a__dash__b == 'x'",
        "self.namespace == 'ns' && self.__namespace__ == 'ns'",
        "type(self.port) == int ? self.port == 80 : self.port == 'http'",
        "self.at < timestamp('2030-01-01T00:00:00Z')",
        "self.__for__ == duration('90s')",
        "self.data == b'hi'",
        "self.half == 1.0",
        "!has(self.none)",
        "self.items.exists(i, i.x == 'b')",
        "self.by['k'] == 7 && 'k' in self.by",
        "self.by == {'k': 7}",
    ],
)
def test_rules_see_values_by_their_schema(rule: str) -> None:
    value = {
        "n": 3,
        "a-b": "x",
        "namespace": "ns",
        "free": [1],
        "port": 80,
        "at": "2020-01-01T00:00:00Z",
        "for": "1m30s",
        "data": "aGk=",
        "half": 1,
        "none": None,
        "items": [{"x": "a"}, {"x": "b"}],
        "by": {"k": 7},
    }
    assert texts(OBJECT, value, rule) == []
    assert texts(OBJECT, value, f"!({rule})") == [f"spec: Invalid value: failed rule: !({rule})"]


@pytest.mark.parametrize(
    ("rule", "complaint"),
    [
        ("self.free == 1", "undefined field 'free'"),
        ("self.n", "cel expression must evaluate to a bool"),
        ("self.n == 'a'", "found no matching overload for '_==_' applied to '(int, string)'"),
        ("cel.bind(x, 1, x == 1)", "undeclared reference to 'cel' (in container '')"),
        ("self.items == 1", "applied to '(list(selfType1.items.@idx), int)'"),
    ],
)
def test_rules_that_do_not_compile_say_why(rule: str, complaint: str) -> None:
    (compiled,) = rules_of(OBJECT, rule)
    assert compiled.program is None
    assert complaint in compiled.error


def test_the_cost_depends_on_the_sizes_in_the_schema() -> None:
    bounded = {"type": "array", "maxItems": 10, "items": {"type": "string", "maxLength": 10}}
    unbounded = {"type": "array", "items": {"type": "string"}}
    rule = "self.all(x, x.contains('a'))"
    assert rules_of(bounded, rule)[0].max_cost == 82
    assert rules_of(unbounded, rule)[0].max_cost > 10**11
    assert rules_of({"type": "string", "enum": ["ab", "cde"]}, "self.contains('a')")[0].max_cost == 2


def test_metadata_names_are_always_there_at_a_root() -> None:
    (compiled,) = rules_of(OBJECT, "self.metadata.name == self.kind", is_resource_root=True)
    assert not compiled.error
    assert rules_of(OBJECT, "self.metadata.name == ''")[0].error


def test_transition_rules_wait_for_an_old_value_unless_it_is_optional() -> None:
    rule = "self.n >= oldSelf.n"
    assert texts(OBJECT, {"n": 1}, rule) == []
    assert texts(OBJECT, {"n": 1}, rule, old={"n": 2}) == [f"spec: Invalid value: failed rule: {rule}"]
    optional = {"rule": "!oldSelf.hasValue() || self.n >= oldSelf.value().n", "optionalOldSelf": True}
    assert texts(OBJECT, {"n": 1}, optional) == []
    assert len(texts(OBJECT, {"n": 1}, optional, old={"n": 2})) == 1


def test_errors_have_their_message_reason_and_path() -> None:
    rules: tuple[Raw, ...] = (
        {"rule": "false", "message": " no way "},
        {"rule": "false", "messageExpression": "'n is ' + string(self.n)"},
        {"rule": "false", "messageExpression": "string(self.n / 0)", "message": "m", "reason": "FieldValueForbidden"},
        {"rule": "false", "message": "m", "reason": "FieldValueRequired", "fieldPath": ".by['a.b']"},
        {"rule": "false", "reason": "FieldValueDuplicate"},
    )
    assert texts(OBJECT, {"n": 1}, *rules) == [
        "spec: Invalid value: no way",
        "spec: Invalid value: n is 1",
        "spec: Forbidden: m",
        "spec.by[a.b]: Required value: m",
        "spec: Duplicate value",
    ]
    scalar = {"rule": "self > 3", "message": "too small"}
    assert texts({"type": "integer"}, 2, scalar) == ["spec: Invalid value: 2: too small"]


def test_a_value_of_the_wrong_type_fails_only_where_a_rule_looks_at_it() -> None:
    value = {"n": 1, "at": "2021-05-05t10:00:00z"}
    assert texts(OBJECT, value, "self.n == 1") == []
    (error,) = texts(OBJECT, value, "self.at.getHours() == 10")
    assert 'Invalid date-time formatted string 2021-05-05t10:00:00z: parsing time "2021-05-05t10:00:00z" as' in error


def test_failing_expressions_and_the_budget_end_in_errors() -> None:
    assert texts(OBJECT, {}, "self.n == 1") == [
        'spec: Invalid value: "object": no such key: n evaluating rule: self.n == 1'
    ]
    exhausted = findings(OBJECT, {"n": 1}, "self.n == 1", "self.n == 1", budget=5)
    assert exhausted.is_exhausted
    assert [error.detail for error in exhausted.errors] == [
        "validation failed due to running out of cost budget, no further validation rules will be run"
    ]
    large = ["a" * 10] * 20_000
    costly = findings({"type": "array", "items": {"type": "string"}}, large, "self.all(x, self.all(y, x != y + 'b'))")
    assert costly.is_exhausted
    assert "operation cancelled: actual cost limit exceeded" in str(costly.errors[0])


def test_values_that_an_update_left_alone_only_warn() -> None:
    schema = compile_schema(
        {
            "type": "object",
            "properties": {
                "a": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 3"}]},
                "b": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 3"}]},
            },
        }
    )
    new, old = {"a": 1, "b": 2}, {"a": 1, "b": 1}
    found = check_rules(rule_tree(schema), new, old, Correlation(new, old, schema))
    assert [str(error) for error in found.errors] == ["b: Invalid value: 2: failed rule: self > 3"]
    assert found.warnings == ["a: Invalid value: 1: failed rule: self > 3"]
