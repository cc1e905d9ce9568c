"""Validate a value against its schema: errors with the texts of Kubernetes, in its order.

With a `Correlation`, errors of parts that an update left alone are dropped (ratcheting, KEP 4008), but none in allOf,
anyOf, oneOf and not. Rules of CEL, types of lists and embedded objects are checked elsewhere.
Kubernetes: kube-openapi, pkg/validation/validate; apiextensions-apiserver, validation/ratcheting.go.
"""

from typing import Any

from moorage.custom.formats import format_check
from moorage.custom.objects.correlation import Correlation, same_values
from moorage.custom.objects.failures import Result, ValuePlace
from moorage.custom.objects.numbers import is_float, is_whole, number_failures
from moorage.custom.structural import Structural
from moorage.match.cel.patterns import searcher
from moorage.match.cel.values import CelError
from moorage.model.field_error import FieldError
from moorage.model.go.quoting import go_quote

#: Fields of the root that are compared by version and kind: never left alone by an update.
_TYPE_FIELDS = frozenset(("kind", "apiVersion"))


def schema_errors(
    value: Any, schema: Structural, correlation: Correlation | None = None, base: str = ""
) -> list[FieldError]:
    """Return the errors of a value, which is found at `base` of the object."""
    result = _validate(value, schema, ValuePlace(base, ""), correlation)
    return list(result.failures.values())


def _validate(value: Any, schema: Structural, place: ValuePlace, correlation: Correlation | None) -> Result:
    result = Result()
    _check_type(value, schema, place, result)
    if value is not None:
        _check_value(value, schema, place, correlation, result)
    elif schema.enum:
        result.add(place.not_in_enum(value, schema.enum))
    if result.failures and correlation is not None and correlation.unchanged:
        result.failures.clear()
    return result


def _check_value(
    value: Any, schema: Structural, place: ValuePlace, correlation: Correlation | None, result: Result
) -> None:
    """Make the checks that a value other than null needs. Each that applies counts, whether it passes or not."""
    result.matches += 4 if schema.types or schema.known_format else 3
    if schema.allOf or schema.anyOf or schema.oneOf or schema.not_ is not None:
        _check_combinators(value, schema, place, result)
    result.matches += 1
    if isinstance(value, str):
        _check_string(value, schema, place, result)
    elif isinstance(value, list):
        _check_list(value, schema, place, correlation, result)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        for failure in number_failures(value, schema, place):
            result.add(failure)
        result.matches += 2
    if schema.enum and not _is_member(value, schema):
        result.add(place.not_in_enum(value, schema.enum))
    if isinstance(value, dict):
        _check_object(value, schema, place, correlation, result)


def json_type(value: Any) -> tuple[str, str]:
    """Return a value's type and, for numbers, its format."""
    if isinstance(value, bool):
        return "boolean", ""
    if isinstance(value, str):
        return "string", ""
    if isinstance(value, int | float):
        return ("number", "float64") if is_float(value) else ("integer", "int64")
    return ("array", "") if isinstance(value, list) else ("object", "")


def _check_type(value: Any, schema: Structural, place: ValuePlace, result: Result) -> None:
    types, form = schema.types, schema.known_format
    if value is None:
        if types and not schema.nullable:
            result.add(place.wrong_type(",".join(types), "null"))
        else:
            result.matches += 1
        return
    if not types and not form:
        return
    actual, number_format = json_type(value)
    fits = (
        actual in types
        or (actual == "integer" and "number" in types)
        or (actual == "number" and "integer" in types and is_whole(float(value)))
    )
    is_text = isinstance(value, str | list)
    if form and not fits and not is_text and number_format != form:
        result.add(place.wrong_type(form, number_format))
    elif (form and is_text and "number" not in types and "integer" not in types) or fits:
        result.matches += 1
    else:
        result.add(place.wrong_type(",".join(types), actual))


def _check_string(value: str, schema: Structural, place: ValuePlace, result: Result) -> None:
    result.matches += 1
    if schema.maxLength is not None and len(value) > schema.maxLength:
        result.add(place.longer_than(schema.maxLength))
    elif schema.minLength is not None and len(value) < schema.minLength:
        result.add(place.failure(value, f"should be at least {schema.minLength} chars long"))
    elif schema.pattern and (expected := _mismatch(value, schema.pattern)):
        result.add(place.failure(value, f"should match '{expected}'"))
    accepts = format_check(schema.known_format) if schema.known_format else None
    if accepts is not None:
        result.matches += 1
        if not accepts(value):
            result.add(place.wrong_type(schema.known_format, value))


def _mismatch(value: str, pattern: str) -> str:
    """Return what the text had to match, or nothing if it does."""
    try:
        return "" if searcher(pattern)(value.encode("utf-8", "surrogatepass")) else pattern
    except CelError as error:
        return f"{pattern}, but pattern is invalid: {error}"


def _check_list(
    value: list[Any], schema: Structural, place: ValuePlace, correlation: Correlation | None, result: Result
) -> None:
    if schema.items is not None:
        for number, item in enumerate(value):
            below = None if correlation is None else correlation.at_item(number)
            result.merge(_validate(item, schema.items, place.at_item(number), below))
            if result.is_full:
                break
    if schema.minItems is not None and len(value) < schema.minItems:
        result.add(place.failure(len(value), f"should have at least {schema.minItems} items"))
    if schema.maxItems is not None and len(value) > schema.maxItems:
        result.add(place.more_than(schema.maxItems, len(value), "items"))
    result.matches += 2


def _is_member(value: Any, schema: Structural) -> bool:
    if isinstance(value, str):
        return value in schema.text_members
    return any(_equals_member(value, member) for member in schema.enum)


def _equals_member(value: Any, member: Any) -> bool:
    """Return whether a value is a member of an enumeration, as Go converts it: 1.5 is 1, and 97 is "a"."""
    if isinstance(value, bool) or isinstance(member, bool) or member is None:
        return value is member and member is not None
    if isinstance(value, int | float):
        if isinstance(member, str):
            return not is_float(value) and member == (chr(int(value)) if 0 <= value < 0x110000 else "\ufffd")
        if isinstance(member, int) and not is_float(member):
            return int(value) == member
        return isinstance(member, float | int) and float(value) == float(member)
    return same_values(value, member)


def _check_object(
    value: dict[str, Any], schema: Structural, place: ValuePlace, correlation: Correlation | None, result: Result
) -> None:
    size = len(value)
    if schema.minProperties is not None and size < schema.minProperties:
        result.add(place.failure(size, f"should have at least {schema.minProperties} properties"))
    if schema.maxProperties is not None and size > schema.maxProperties:
        result.add(place.more_than(schema.maxProperties, size, "properties"))
    properties = schema.properties
    if schema.additional is not None:
        for name, item in value.items():
            if name not in properties:
                below = _below(correlation, name, place)
                result.merge(_validate(item, schema.additional, place.at_key(name), below))
                if result.is_full:
                    break
    elif schema.additionalProperties is False:
        for name in value:
            if name not in properties:
                result.add(place.forbidden_property(name))
    for name, child in properties.items():
        if name in value:
            below = _below(correlation, name, place)
            result.merge(_validate(value[name], child, place.at_property(name), below))
    for name in schema.required:
        if name not in value:
            result.add(place.missing(name))
    result.matches += 1


def _below(correlation: Correlation | None, name: str, place: ValuePlace) -> Correlation | None:
    if correlation is None or (not place.path and name in _TYPE_FIELDS):
        return None
    return correlation.at_property(name)


def _check_combinators(value: Any, schema: Structural, place: ValuePlace, result: Result) -> None:
    shown = go_quote(place.path)
    if schema.anyOf:
        _check_any_of(value, schema.anyOf, place, shown, result)
    if schema.oneOf:
        _check_one_of(value, schema.oneOf, place, shown, result)
    if schema.allOf:
        answers = [_validate(value, node, place, None) for node in schema.allOf]
        for answer in answers:
            result.merge(answer)
        if any(answer.failures for answer in answers):
            none = ". None validated" if all(answer.failures for answer in answers) else ""
            result.add(place.general(f"{shown} must validate all the schemas (allOf){none}"))
    if schema.not_ is not None and not _validate(value, schema.not_, place, None).failures:
        result.add(place.general(f"{shown} must not validate the schema (not)"))


def _check_any_of(value: Any, nodes: tuple[Structural, ...], place: ValuePlace, shown: str, result: Result) -> None:
    closest: Result | None = None
    for node in nodes:
        answer = _validate(value, node, place, None)
        if not answer.failures:
            result.merge(answer)
            return
        if closest is None or answer.matches > closest.matches:
            closest = answer
    result.add(place.general(f"{shown} must validate at least one schema (anyOf)"))
    if closest is not None:
        result.merge(closest)


def _check_one_of(value: Any, nodes: tuple[Structural, ...], place: ValuePlace, shown: str, result: Result) -> None:
    valid: list[Result] = []
    closest: Result | None = None
    for node in nodes:
        answer = _validate(value, node, place, None)
        if not answer.failures:
            valid.append(answer)
        elif not valid and (closest is None or answer.matches > closest.matches):
            closest = answer
    if len(valid) == 1:
        result.merge(valid[0])
        return
    summary = f"Found {len(valid)} valid alternatives" if valid else "Found none valid"
    result.add(place.general(f"{shown} must validate one and only one schema (oneOf). {summary}"))
    if not valid and closest is not None:
        result.merge(closest)
