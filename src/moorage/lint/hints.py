"""Turn field errors of the API server into hints: what to write instead, or which gate is needed.

Kubernetes: says what is wrong, rarely what to write instead.
"""

import re
from typing import Any

from moorage.admit.raw import Raw
from moorage.lint.facts.device_gates import unreleased
from moorage.lint.meant_words import did_you_mean, meant_effect, meant_operator
from moorage.match.comparison import CANONICAL_INTEGER, VERSION
from moorage.match.numeric import MUST_BE_CANONICAL, NumberError, parse_canonical_int64
from moorage.match.operators import (
    LABEL_SELECTOR,
    NODE_SELECTOR,
    TOLERATION,
    OperatorPlace,
    comparisons_in,
    gate_of,
    less_first,
)
from moorage.match.semver import version_or_none
from moorage.model.field_error import ErrorKind, FieldError, parse_field_path
from moorage.model.gates import TAINT_TOLERATION_CEL, Gate, GateSet

NOT_AN_OPERATOR = "not a valid selector operator"
TOO_COMPLEX = "too complex, exceeds cost limit"
_VERSION_OPERATORS = tuple(comparisons_in(TOLERATION, VERSION))

#: Texts of an error's detail, each with its hint.
_SENTENCES = (
    (
        "operator must be Exists when `key` is empty",
        "name the taint's key, or write operator: Exists to tolerate every taint",
    ),
    ("effect must be 'NoExecute' when", "only NoExecute evicts: write effect: NoExecute, or remove tolerationSeconds"),
    ("value must be empty when `operator` is 'Exists'", "remove the value, or write operator: Equal to compare it"),
    (
        "exists in both matchLabelKeys and labelSelector",
        "matchLabelKeys adds `key In [the pod's value]` to the labelSelector when the pod is created: remove the key "
        "from one of them",
    ),
    (
        "exists in both matchLabelKeys and mismatchLabelKeys",
        "a pod cannot both match and mismatch: remove the key from one of them",
    ),
    (
        "must not be specified when labelSelector is not set",
        "add a labelSelector to the same term; {} selects every pod",
    ),
    ("must be specified single value when `operator` is", "write exactly one value, in quotes"),
    ("taints must be unique by key and effect pair", "keep one of them; a node cannot have two values of one taint"),
    ("name or generateName is required", "give the object a metadata.name"),
    ("`selector` does not match template `labels`", "write the selector's labels under spec.template.metadata.labels"),
)

#: The same for expressions of tolerations.
_OF_TOLERATIONS = (
    (
        "expression cannot be used with",
        "say it all in the expression: taint.key == '…' && taint.value == '…' && taint.effect == '…'",
    ),
    (
        TOO_COMPLEX,
        "the estimate assumes the longest key (317) and value (63), and texts of unknown size, such as the parts of "
        "split(), count as the longest possible: compare taint.key and taint.value directly, with startsWith or ==",
    ),
    (
        "may not be more than 10240 bytes",
        "split the expression into several tolerations: any one that matches is enough",
    ),
    ("must evaluate to bool", "compare with something, so that the result is true or false"),
    ("undeclared reference to 'key'", "write taint.key"),
    ("undeclared reference to 'value'", "write taint.value"),
    ("undeclared reference to 'effect'", "write taint.effect"),
    ("undefined field '", "a taint has the fields taint.key, taint.value and taint.effect"),
)

_DEVICE_FIELDS = (
    "a device has the fields device.driver, device.attributes, device.capacity and device.allowMultipleAllocations"
)
_ATTRIBUTE = 'write device.attributes["DOMAIN"].NAME or device.capacity["DOMAIN"].NAME'
#: The same for CEL selectors of devices.
_OF_SELECTORS = (
    ("may not be more than 10240 bytes", "split the expression into several selectors: all of them must be true"),
    ("must evaluate to bool", "compare with something, so that the result is true or false"),
    ("undeclared reference to 'driver'", "write device.driver"),
    ("undeclared reference to 'attributes'", _ATTRIBUTE),
    ("undeclared reference to 'capacity'", _ATTRIBUTE),
    ("undefined field '", _DEVICE_FIELDS),
)


def hint_for(error: FieldError, gates: GateSet, raw: Raw | None = None) -> str:
    """Say what to write instead; `raw` is the object, for the values beside the field."""
    if (gate := gate_needed(error, gates)) is not None:
        return gate_hint(unreleased(gate) if ".devices.requests[" in error.path else gate, gates.release)
    path, value = error.path, _plain(error.rendered_value)
    if path.endswith(".operator"):
        if error.kind is ErrorKind.NOT_SUPPORTED or error.detail == NOT_AN_OPERATOR:
            rule = value_at(raw or {}, path.rpartition(".")[0])
            if hint := meant_operator(value, _place(path), rule if isinstance(rule, dict) else None):
                return hint
    elif path.endswith(".effect") and error.kind is ErrorKind.NOT_SUPPORTED and ".devices" not in path:
        return meant_effect(value)
    elif path.endswith(".value") and "tolerations[" in path:
        return _value_hint(value, error)
    elif "].values" in path and error.kind is ErrorKind.INVALID and (hint := _version_hint(value, error.detail)):
        return hint
    for text, sentence in (*_expression_sentences(path), *_SENTENCES):
        if text in error.detail:
            return sentence
    if error.kind is ErrorKind.NOT_SUPPORTED and error.detail.startswith("supported values: "):
        supported = error.detail.removeprefix("supported values: ").split(", ")
        return did_you_mean(value, [_plain(one) for one in supported])
    return ""


def _expression_sentences(path: str) -> tuple[tuple[str, str], ...]:
    if ".selectors[" in path:
        return _OF_SELECTORS
    return _OF_TOLERATIONS if "tolerations[" in path else ()


def value_at(raw: Raw, path: str) -> Any:
    """Return the value of a field; None if the object does not have it."""
    value: Any = raw
    for step in parse_field_path(path):
        try:
            value = value[int(step)] if isinstance(value, list) else value[step]
        except (KeyError, IndexError, ValueError, TypeError):
            return None
    return value


def gate_needed(error: FieldError, gates: GateSet) -> Gate | None:
    """Return the gate that would remove the error if it were enabled."""
    path, value = error.path, _plain(error.rendered_value)
    gate: Gate | None = None
    if path.endswith(".expression") and error.kind is ErrorKind.FORBIDDEN and error.detail != TOO_COMPLEX:
        gate = TAINT_TOLERATION_CEL
    elif path.endswith(".operator") and (error.kind is ErrorKind.NOT_SUPPORTED or error.detail == NOT_AN_OPERATOR):
        gate = gate_of(value, _place(path))
    return gate if gate is not None and not gates.enabled(gate) else None


def _place(path: str) -> OperatorPlace:
    if "tolerations[" in path:
        return TOLERATION
    in_term = ".matchExpressions[" in path and ("nodeSelectorTerms[" in path or ".preference." in path)
    return NODE_SELECTOR if in_term else LABEL_SELECTOR


def gate_hint(gate: Gate, release: int | None = None) -> str:
    """Say how to enable a feature, and which releases have it; `release` is the one that is asked about."""
    first = gate.accepted_from()
    if release is not None and (first is None or first > release):
        later = "no release has it so far" if first is None else f"1.{first} and later do"
        return f"Kubernetes 1.{release} does not have the feature gate {gate.name}, {later}"
    where = (
        "no Kubernetes release has it so far, Moorage does"
        if first is None
        else f"Kubernetes 1.{first} and later have it"
    )
    return f"needs --feature-gates={gate.name}=true ({where})"


def _plain(rendered: str | None) -> str:
    """Return a rendered value without quotes and without Go's JSON escapes."""
    if not rendered or rendered[0] != '"':
        return rendered or ""
    return rendered[1:-1].replace("\\u003c", "<").replace("\\u003e", ">").replace("\\u0026", "&")


def _value_hint(value: str, error: FieldError) -> str:
    if error.detail == MUST_BE_CANONICAL or "strconv.ParseInt" in error.detail:
        if better := canonical_number(value):
            return f'write "{better}"'
        if _is_decimal(value):
            return "only whole numbers can be compared: use a smaller unit on taints and tolerations (955 for 95.5 %)"
        if error.detail.endswith("value out of range"):
            return "only 64-bit integers can be compared: use a larger unit on taints and tolerations alike"
        if nearest_version(value) == value.removeprefix("v") or value.count(".") > 1:
            return f"to compare versions write {', '.join(_VERSION_OPERATORS[:-1])} or {_VERSION_OPERATORS[-1]}"
        numeric = less_first(comparisons_in(TOLERATION, CANONICAL_INTEGER))
        return f'{" and ".join(numeric)} compare whole numbers, such as "950"'
    if error.detail == "must be non-empty":
        return "write the number to compare with, in quotes"
    return _version_hint(value, error.detail)


def _is_decimal(value: str) -> bool:
    whole, dot, fraction = value.partition(".")
    return bool(dot) and whole.lstrip("+-").isdigit() and fraction.isdigit()


def _version_hint(value: str, detail: str) -> str:
    """Return a hint for the version parser's errors, else the empty string."""
    told = ("Version string empty", "Short version", "Invalid character(s)", "leading zeroes", "Prerelease is empty")
    if not any(
        text in detail for text in (*told, "No Major.Minor.Patch", "Build meta data is empty", "strconv.ParseUint")
    ):
        return ""
    if value[:2] in (">=", "<=") or value[:1] in (">", "<", "=", "~", "^"):
        return "write a bare version; the operator says how to compare"
    better = nearest_version(value)
    return f'write a version such as "{better}"' if better else 'write a version such as "1.36.0"'


_INTEGER = re.compile(r"([+-]?)0*([0-9]+)(?:\.0*)?", re.ASCII)
_SCIENTIFIC = re.compile(r"([+-]?[1-9][0-9]*)[eE]\+?([0-9]{1,2})", re.ASCII)
_VERSION = re.compile(r"v?([0-9]+(?:\.[0-9]+){0,2})(-[0-9A-Za-z][0-9A-Za-z.-]*)?", re.ASCII)
_LONGEST = 100


def canonical_number(text: str) -> str | None:
    """Return the integer in canonical form: `007` → `7`, `1e3` → `1000`; None if the text is no integer."""
    if len(text) > _LONGEST:
        return None
    plain = text.strip().replace("_", "").replace(",", "")
    if number := _SCIENTIFIC.fullmatch(plain):
        candidate = number[1].removeprefix("+") + "0" * int(number[2])
    elif number := _INTEGER.fullmatch(plain):
        digits = number[2].lstrip("0") or "0"
        candidate = f"-{digits}" if number[1] == "-" and digits != "0" else digits
    else:
        return None
    try:
        parse_canonical_int64(candidate)
    except NumberError:
        return None
    return candidate


def nearest_version(text: str) -> str | None:
    """Return the first version in the text: `containerd://2.1.4` → `2.1.4`; None if there is none."""
    version = _VERSION.search(text[:_LONGEST].strip())
    if version is None:
        return None
    numbers = version[1] + ".0" * (2 - version[1].count("."))
    for candidate in (numbers + (version[2] or ""), numbers):
        if version_or_none(candidate) is not None:
            return candidate if candidate != text else None
    return None
