"""Check fields that several descriptions of pools share: requirements, taints, labels, amounts, durations.

Kubernetes: the CEL rules and patterns in Karpenter's definitions, and the API server's rules about nodes.
"""

from collections.abc import Iterable, Mapping, Sequence

from moorage.admit.metadata import validate_labels
from moorage.admit.pod.tolerations import validate_taints
from moorage.model.field_error import FieldError, invalid, not_supported, required
from moorage.model.go.integers import INT64_MAX, read_int
from moorage.model.go.times import DurationError, parse_duration
from moorage.model.names import label_key_errors
from moorage.model.quantity import Quantity
from moorage.model.types.node import Taint
from moorage.pools.documents import LabelRequirement
from moorage.pools.label_values import BOUNDS, DOES_NOT_EXIST, EXISTS, IN, NOT_IN, OPERATORS

MAX_REQUIREMENTS = 100
NEVER = "Never"
NEEDS_VALUES = "requirements with operator 'In' or 'NotIn' must have a value defined"
NEEDS_NO_VALUES = "must be empty with operator 'Exists' or 'DoesNotExist'"
NEEDS_ONE_INTEGER = "must be a single positive integer with operator 'Gt', 'Lt', 'Gte' or 'Lte'"
NEGATIVE = "must not be negative"


def check_requirements(requirements: Sequence[LabelRequirement], path: str) -> Iterable[FieldError]:
    if len(requirements) > MAX_REQUIREMENTS:
        yield invalid(path, len(requirements), f"must have at most {MAX_REQUIREMENTS} items")
        return
    for index, requirement in enumerate(requirements):
        yield from _check_requirement(requirement, f"{path}[{index}]")


def _check_requirement(requirement: LabelRequirement, path: str) -> Iterable[FieldError]:
    if not requirement.key:
        yield required(f"{path}.key", "the name of a label")
    elif complaints := label_key_errors(requirement.key):
        yield invalid(f"{path}.key", requirement.key, "; ".join(complaints))
    operator, values = requirement.operator, requirement.values
    if operator not in OPERATORS:
        yield not_supported(f"{path}.operator", operator, OPERATORS)
    elif operator in (IN, NOT_IN) and not values:
        yield required(f"{path}.values", NEEDS_VALUES)
    elif operator in (EXISTS, DOES_NOT_EXIST) and values:
        yield invalid(f"{path}.values", ", ".join(values), NEEDS_NO_VALUES)
    elif operator in BOUNDS and (len(values) != 1 or read_int(values[0], 0, INT64_MAX) is None):
        yield invalid(f"{path}.values", ", ".join(values), NEEDS_ONE_INTEGER)


def check_node_facts(labels: Mapping[str, str], taints: Mapping[str, Sequence[Taint]], path: str) -> list[FieldError]:
    """Check the labels of a template at a path, and its lists of taints by their paths."""
    errors = validate_labels(labels, f"{path}.metadata.labels")
    for at, each in taints.items():
        errors += validate_taints(each, at)
    return errors


def check_amounts(amounts: Mapping[str, Quantity], path: str) -> list[FieldError]:
    return [invalid(f"{path}[{name}]", str(each), NEGATIVE) for name, each in amounts.items() if each.sign() < 0]


def check_not_negative(value: float | None, path: str) -> list[FieldError]:
    return [invalid(path, value, NEGATIVE)] if value is not None and not 0 <= value < float("inf") else []


def read_seconds(text: str, path: str, errors: list[FieldError], never: float | None = None) -> float | None:
    """Return a duration in seconds, `never` for "Never"; note an error where it is none."""
    if text == NEVER:
        return never
    try:
        seconds = parse_duration(text) / 1e9
    except DurationError as error:
        errors.append(invalid(path, text, str(error)))
        return None
    errors += check_not_negative(seconds, path)
    return seconds
