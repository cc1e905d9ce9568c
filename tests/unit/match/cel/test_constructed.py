"""Objects that expressions construct: their types, values, costs, and how they are shown."""

from dataclasses import replace
from typing import Any

import pytest

from moorage.match.cel import CelError, Environment, Program, compile_expression
from moorage.match.cel.constructed import ConstructedType, ConstructedValue, FieldedValue
from moorage.match.cel.environment import KUBERNETES_FUNCTIONS
from moorage.match.cel.trace.shown_value import shown_value
from moorage.match.cel.trace.tracing import Trace, trace_expression
from moorage.match.cel.types import DYN, INT, STRING, Type, struct
from moorage.match.cel.values import CelMap


class _Boat:
    """A boat has a name and a length, and may carry anything."""

    type = struct("Boat")

    def field(self, name: str) -> Type | None:
        return {"name": STRING, "length": INT, "cargo": DYN}.get(name)

    def construct(self, fields: dict[str, Any]) -> ConstructedValue:
        if fields.get("length") == 0:
            raise CelError("a boat has a length")
        return _BoatValue(self.type, fields)


class _BoatValue(FieldedValue):
    __slots__ = ()

    def has_field(self, name: Any) -> bool:
        return name in self.fields

    def get_field(self, name: Any) -> Any:
        if name not in self.fields:
            raise CelError(f"a boat without {name}")
        return self.fields[name]


class _Crate:
    """A crate in a crate in a crate, each of a type of its own: `Crate.Crate`."""

    def __init__(self, name: str) -> None:
        self.type = struct(name)

    def field(self, name: str) -> Type | None:
        return DYN

    def construct(self, fields: dict[str, Any]) -> ConstructedValue:
        return ConstructedValue(self.type, fields)


def _find(name: str) -> ConstructedType | None:
    if name == "Boat":
        return _Boat()
    return _Crate(name) if name.split(".")[0] == "Crate" else None


ENVIRONMENT = Environment(KUBERNETES_FUNCTIONS, variables={"x": DYN}, constructed=_find, homogeneous=False)


def _program(source: str, environment: Environment = ENVIRONMENT) -> Program:
    program = compile_expression(source, environment)
    assert isinstance(program, Program), program
    return program


def _value(source: str, x: Any = None) -> Any:
    return _program(source).run({"x": x})


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("Boat{name: 'Ada', length: 7} == Boat{length: 7, name: 'Ada'}", True),
        ("Boat{length: 7} == Boat{length: 8}", False),
        ("Boat{length: 7} != Boat{length: 7, name: ''}", True),
        ("Crate{} == x", False),  # not an error, as it is for other types of Kubernetes
        ("Boat{length: 7}.length + 1", 8),
        ("has(Boat{length: 7}.name)", False),
        ("has(Boat{length: 7}.length)", True),
        ("Boat{length: 7}.?name.orValue('none')", "none"),
        ("Boat{?name: x.?name, length: 1} == Boat{length: 1}", True),
        ("Boat{?name: optional.of('Ada')}.name", "Ada"),
        ("has(Crate{a: 1}.a)", False),
        ("type(Crate.lid{}) == Crate.lid", True),
        ("type(Crate.lid{}) == Crate", False),
        ("[1, 2, 3].map(i, Boat{length: i})[2].length", 3),
        ("optional.ofNonZeroValue(Crate{}).hasValue()", False),
        ("optional.ofNonZeroValue(Crate{a: 0}).hasValue()", True),
    ],
)
def test_values(source: str, value: Any) -> None:
    assert _value(source, CelMap()) == value


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("Boat{length: 0}", "a boat has a length"),
        ("Boat{length: 1}.name", "a boat without name"),
        ("Crate{a: 1}.a", "no such key: a"),
        ("Crate{a: x.y, b: 1 / 0}", "no such key: y"),
        ("Crate{?a: dyn(1)}", "cannot initialize optional entry 'a' from non-optional value 1"),
    ],
)
def test_values_that_cannot_be_made(source: str, reason: str) -> None:
    with pytest.raises(CelError) as failed:
        _value(source, CelMap())
    assert str(failed.value) == reason


@pytest.mark.parametrize(
    ("source", "column", "message"),
    [
        ("Boat{depth: 1}", 11, "undefined field 'depth'"),
        ("Boat{length: 'x'}", 12, "expected type of field 'length' is 'int' but provided type is 'string'"),
        ("Boat{?length: 1}", 15, "expected type 'optional_type(int)' but found 'int'"),
        ("Boat{length: 1}.depth", 16, "undefined field 'depth'"),
        ("Ship{}", 5, "undeclared reference to 'Ship' (in container '')"),
        ("x{}", 2, "'dyn' is not a type"),
        ("int{}", 4, "'int' is not a message type"),
    ],
)
def test_expressions_that_do_not_compile(source: str, column: int, message: str) -> None:
    issues = compile_expression(source, ENVIRONMENT)
    assert not isinstance(issues, Program)
    assert [(issue.column, issue.message) for issue in issues] == [(column, message)]


def test_the_type_of_the_result_is_the_name_of_the_object() -> None:
    assert str(_program("[Boat{}]").result_type) == "list(Boat)"
    assert str(_program("true ? [Crate.lid{}] : []").result_type) == "list(Crate.lid)"


def test_environments_without_constructed_types_know_none() -> None:
    issues = compile_expression("Boat{}", replace(ENVIRONMENT, constructed=None))
    assert not isinstance(issues, Program)
    assert "undeclared reference to 'Boat'" in issues[0].message


def test_an_object_costs_forty_and_its_fields() -> None:
    program = _program("Crate{a: x, b: Crate.b{}}")
    assert program.run_with_cost({"x": 1})[1] == 40 + 1 + 40
    assert (program.estimate.min, program.estimate.max) == (81, 81)


def test_objects_are_shown_as_they_are_written() -> None:
    assert shown_value(_value("Crate{a: [1, 'b'], lid: Crate.lid{}}")) == 'Crate{a: [1, "b"], lid: Crate.lid{}}'


def test_the_fields_of_an_object_are_traced() -> None:
    trace = trace_expression("Crate{a: x + 1}", ENVIRONMENT, {"x": 1})
    assert isinstance(trace, Trace)
    assert (trace.root.value, [part.expression for part in trace.root.parts]) == ("Crate{a: 2}", ["x + 1"])
