"""Read what is to be added to pods for everyone, from options of a command or from a file, and check it.

Kubernetes: KEP-3633, story 2; the forms of `kubectl -l` and `kubectl taint`. Differs: without any selector nothing is
added, because it would be added to every pod. A file has the form of the chart's value `additions`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from moorage.admit.metadata import validate_label_name, validate_label_selector
from moorage.admit.options import options_for_create
from moorage.admit.pod.tolerations import TAINT_EFFECTS, validate_tolerations
from moorage.attach.formats import Raw
from moorage.attach.policies.additions import Addition
from moorage.attach.refusals import Refused, Unreadable, check_tolerations
from moorage.attach.tolerations import is_comparing, without_empty
from moorage.match.label_selector import Selector, parse_selector
from moorage.match.operators import EQUAL
from moorage.match.requirement import (
    DOES_NOT_EXIST,
    DOUBLE_EQUALS,
    EQUALS,
    EXISTS,
    IN,
    NOT_EQUALS,
    NOT_IN,
    SelectorError,
)
from moorage.model.gates import all_gates
from moorage.model.names import dns1123_label_errors
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.text.decode_error import DecodeError
from moorage.model.text.documents import read_values
from moorage.model.text.readers import reads_text
from moorage.model.types.meta import LabelSelector
from moorage.model.types.pod import Toleration
from moorage.model.types.view import ABSENT_LIST, View

_OPTIONS = options_for_create(all_gates())
_FIELDS: Final = ("name", "namespaceSelector", "podSelector", "matchLabelKeys", "tolerations")
_OPERATORS: Final = {
    EXISTS: "Exists",
    DOES_NOT_EXIST: "DoesNotExist",
    IN: "In",
    EQUALS: "In",
    DOUBLE_EQUALS: "In",
    NOT_IN: "NotIn",
    NOT_EQUALS: "NotIn",
}
#: A policy has a limit to what its expressions cost.
_MOST: Final = 16


class AdditionError(Exception):
    """What is to be added cannot be read, or would be refused: one line for each reason."""

    def __init__(self, reasons: Sequence[str]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = list(reasons)


class _Addition(View, frozen=True):
    name: str = ""
    namespaceSelector: LabelSelector | None = None
    podSelector: LabelSelector | None = None
    matchLabelKeys: tuple[str, ...] = ABSENT_LIST
    tolerations: tuple[Toleration, ...] = ABSENT_LIST


def read_additions(text: bytes, source: str) -> list[Addition]:
    """Read the list in a file. Raises AdditionError."""
    try:
        values = [value.raw for value in read_values(text, source) if value.raw is not None]
    except DecodeError as error:
        raise AdditionError([f"{source}:{error.line}: {error.reason}"]) from None
    listed = values[0] if len(values) == 1 else values
    if isinstance(listed, dict) and set(listed) == {"additions"}:
        listed = listed["additions"]
    if not isinstance(listed, list) or not listed:
        raise AdditionError([f"{source}: is not a list of additions, each with {', '.join(_FIELDS)}"])
    made = [_made(each, f"{source}: [{index}]") for index, each in enumerate(listed)]
    names = [each.name for each in made]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise AdditionError([f"{source}: two additions have the name {repeated[0]}"])
    return made


def _made(raw: Any, where: str) -> Addition:
    if not isinstance(raw, dict):
        raise AdditionError([f"{where}: is not a map with {', '.join(_FIELDS)}"])
    unknown = sorted(str(name) for name in raw if name not in _FIELDS)
    if unknown:
        raise AdditionError([f"{where}.{unknown[0]}: there is no such field; there are {', '.join(_FIELDS)}"])
    try:
        view = convert_view(raw, _Addition)
    except ConversionError as error:
        raise AdditionError([f"{where}.{problem.path}: {problem.reason}" for problem in error.problems]) from None
    return checked_addition(
        Addition(
            view.name,
            raw.get("namespaceSelector"),
            raw.get("podSelector"),
            list(view.matchLabelKeys),
            [without_empty(each) for each in raw.get("tolerations") or []],
        ),
        where,
    )


def checked_addition(addition: Addition, where: str = "") -> Addition:
    """Return what can be a policy. Raises AdditionError."""
    head = f"{where}: " if where else ""
    reasons = [f"name: {reason}" for reason in dns1123_label_errors(addition.name)]
    for field, selector in (("namespaceSelector", addition.namespaces), ("podSelector", addition.pods)):
        view = convert_view(selector, LabelSelector) if selector else None
        reasons += map(str, validate_label_selector(view, field, _OPTIONS))
    for index, key in enumerate(addition.match_label_keys):
        reasons += map(str, validate_label_name(key, f"matchLabelKeys[{index}]"))
    reasons += _wrong_tolerations(addition.tolerations)
    if not reasons and not addition.match_label_keys and not addition.tolerations:
        reasons.append("it has neither matchLabelKeys nor tolerations")
    if not reasons and not _selects(addition.namespaces) and not _selects(addition.pods):
        reasons.append("it has neither a namespaceSelector nor a podSelector, and would change every pod")
    if len(addition.match_label_keys) + len(addition.tolerations) > _MOST:
        reasons.append(f"it has more than {_MOST} keys and tolerations")
    if reasons:
        raise AdditionError([f"{head}{reason}" for reason in reasons])
    return addition


def _selects(selector: Mapping[str, Any] | None) -> bool:
    return bool(selector and (selector.get("matchLabels") or selector.get("matchExpressions")))


def _wrong_tolerations(tolerations: Sequence[Raw]) -> list[str]:
    try:
        reasons = [str(error) for error in check_tolerations(tolerations, "tolerations")]
    except (Refused, Unreadable) as error:
        return [str(error)]
    plain = [each for each in tolerations if not is_comparing(each)]
    views = [convert_view(each, Toleration) for each in plain]
    return reasons or [str(error) for error in validate_tolerations(views, "tolerations", _OPTIONS)]


def compares(additions: Iterable[Addition]) -> bool:
    """Whether a toleration is added that has to be lowered."""
    return any(is_comparing(each) for addition in additions for each in addition.tolerations)


# -- as options have it ------------------------------------------------------------------------------------------------


@reads_text("a", "=", "!", "(", ")", ",", " in ", " notin ", "b", raises=AdditionError)
def selector_of(text: str) -> Raw:
    """Return a selector such as `team=a,tier in (x,y),!old` as a manifest has it."""
    try:
        selector: Selector = parse_selector(text)
    except SelectorError as error:
        raise AdditionError([f"{text!r}: {error}"]) from None
    labels: dict[str, str] = {}
    expressions: list[Raw] = []
    for each in selector.requirements:
        if each.operator not in _OPERATORS:
            raise AdditionError([f"{text!r}: {each} compares, which selectors of a manifest cannot"])
        if each.operator in (EQUALS, DOUBLE_EQUALS) and each.key not in labels:
            labels[each.key] = each.values[0]
            continue
        values = {"values": list(each.values)} if each.values else {}
        expressions.append({"key": each.key, "operator": _OPERATORS[each.operator], **values})
    return {
        **({"matchLabels": labels} if labels else {}),
        **({"matchExpressions": expressions} if expressions else {}),
    }


@reads_text("a", "=", ">", "<", ":", "1", ":NoSchedule", raises=AdditionError)
def toleration_of(text: str) -> Raw:
    """Return the toleration in `KEY`, `KEY=VALUE`, `KEY>INTEGER` or `KEY<INTEGER`, with `:EFFECT` behind it or not."""
    body, colon, effect = text.rpartition(":")
    if not colon:
        body, effect = text, ""
    elif effect not in TAINT_EFFECTS:
        raise AdditionError([f"{text!r}: {effect!r} is no effect; there are {', '.join(TAINT_EFFECTS)}"])
    toleration: Raw = {"key": body, "operator": "Exists"}
    signs = {"=": EQUAL, ">": "Gt", "<": "Lt"}
    places = [(body.index(sign), sign) for sign in signs if sign in body]
    if places:
        place, sign = min(places)
        toleration = {"key": body[:place], "operator": signs[sign], "value": body[place + 1 :]}
    if not toleration["key"]:
        raise AdditionError([f"{text!r}: is not of the form KEY, KEY=VALUE, KEY>INTEGER or KEY<INTEGER, and :EFFECT"])
    return without_empty({**toleration, "effect": effect})
