"""Object templates: YAML in which `{{ … }}` stands for the object's number, or for arithmetic with it.

In: a file, an index and a count. Out: a raw document. Of Go's templates there is what scheduler_perf's files use:
`.Index`, `.Count`, and the functions below with numbers, fields or parenthesised calls as arguments.
Kubernetes: getSpecFromTextTemplateFile and getTemplateFuncs in operations.go.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import yaml

from bench.perf.problems import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_ACTION = re.compile(r"\{\{-?\s*(.*?)\s*-?\}\}", re.DOTALL)
_KEPT = 64  # documents whose text comes again, as with `Mod .Index 2`
_TOKEN = re.compile(r"[()]|[^\s()]+")

_FUNCTIONS: dict[str, Callable[..., float]] = {
    "AddFloat": lambda *numbers: sum(numbers),
    "AddInt": lambda *numbers: int(sum(numbers)),
    "SubtractFloat": lambda a, b: a - b,
    "SubtractInt": lambda a, b: int(a - b),
    "MultiplyFloat": lambda *numbers: math.prod(numbers),
    "MultiplyInt": lambda *numbers: int(math.prod(numbers)),
    "DivideFloat": lambda a, b: a / b,
    "DivideInt": lambda a, b: int(a / b),
    "Mod": lambda a, b: int(math.fmod(int(a), int(b))),
}


class Template:
    """One file. Equal text is parsed once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
        self._is_static = "{{" not in self._text
        self._parsed: dict[str, dict[str, Any]] = {}

    @property
    def is_static(self) -> bool:
        """Whether all objects made of it are alike."""
        return self._is_static

    def document(self, index: int = 0, count: int = 1) -> dict[str, Any]:
        """The document for one of `count` objects; not to be written to."""
        text = self._text if self._is_static else self._filled(index, count)
        known = self._parsed.get(text)
        if known is not None:
            return known
        if len(self._parsed) >= _KEPT:
            self._parsed.clear()
        raw = self._parsed[text] = self._parse(text)
        return raw

    def _filled(self, index: int, count: int) -> str:
        fields = {".Index": index, ".Count": count}
        try:
            return _ACTION.sub(lambda action: _evaluate(action[1], fields), self._text)
        except (ValueError, ZeroDivisionError, TypeError) as error:
            raise ConfigError(f"{self.path}: {error}") from None

    def _parse(self, text: str) -> dict[str, Any]:
        try:
            raw = yaml.load(text, yaml.CSafeLoader)
        except yaml.YAMLError as error:
            raise ConfigError(f"{self.path}: {error}") from None
        if not isinstance(raw, dict) or not raw.get("kind"):
            raise ConfigError(f"{self.path}: not an object with a kind")
        return raw


def _evaluate(action: str, fields: dict[str, int]) -> str:
    tokens = _TOKEN.findall(action)
    value = _call(tokens, fields)
    if tokens:
        raise ValueError(f"template action {action!r}: unexpected {tokens[0]!r}")
    return str(value)


def _call(tokens: list[str], fields: dict[str, int]) -> float:
    """A function with its arguments, or a single value; takes the tokens it reads."""
    if tokens and tokens[0] in _FUNCTIONS:
        function = _FUNCTIONS[tokens.pop(0)]
        arguments = []
        while tokens and tokens[0] != ")":
            arguments.append(_value(tokens, fields))
        return function(*arguments)
    return _value(tokens, fields)


def _value(tokens: list[str], fields: dict[str, int]) -> float:
    token = tokens.pop(0) if tokens else ""
    if token == "(":
        value = _call(tokens, fields)
        if not tokens or tokens.pop(0) != ")":
            raise ValueError("template action: missing )")
        return value
    if token in fields:
        return fields[token]
    try:
        return int(token) if token.lstrip("-").isdecimal() else float(token)
    except ValueError:
        known = ", ".join([*fields, *_FUNCTIONS])
        raise ValueError(f"template action: cannot read {token!r} (known: {known})") from None
