"""Collect the lines of a generated function, its constants, its operands, and the costs that were not charged yet.

No text of an expression gets into the source: names are numbered, literals other than small numbers are constants in
the function's namespace. An operand describes a value before it is computed. Costs of steps between which nothing can
be observed are added up and charged together; a charge that exceeds the limit is replayed one by one, so that
evaluation stops at the very one that exceeds it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from moorage.match.cel.functions import Overload
from moorage.match.cel.types import DYN, MAP, Type, TypeKind, list_of
from moorage.match.cel.values import MAX_RESULT_SIZE, CelMap, UInt
from moorage.model.go.integers import INT64_MAX, INT64_MIN

# Bounds on what is generated; CPython's parser takes 100 levels of indentation.
_MAX_LINES = 3000
_MAX_DEPTH = 60
_MANY_LINES = 1500
_GREAT_DEPTH = 36


class CannotGenerate(Exception):
    """The function would be too large or nested too deeply."""


class SourceWriter:
    """Writes the body of one function. `path` tells which blocks are open, by number."""

    def __init__(self) -> None:
        self.namespace: dict[str, Any] = {}
        self.pending: list[int | str] = []
        self.path: tuple[int, ...] = ()
        self._prologue: list[str] = []
        self._lines: list[str | list[str]] = []
        self._hoisted: dict[str, str] = {}
        self._constants: dict[int | str, str] = {}
        self._last_name = 0
        self._last_block = 0

    @property
    def is_full(self) -> bool:
        """Whether what follows should rather be left to closures."""
        return len(self._lines) > _MANY_LINES or len(self.path) > _GREAT_DEPTH

    def name(self, prefix: str = "t") -> str:
        self._last_name += 1
        return f"{prefix}{self._last_name}"

    def line(self, text: str) -> None:
        if len(self._lines) >= _MAX_LINES or len(self.path) > _MAX_DEPTH:
            raise CannotGenerate
        self._lines.append(self._indented(text))

    def assign(self, text: str) -> str:
        """Write the assignment of an expression to a new name."""
        name = self.name()
        self.line(f"{name} = {text}")
        return name

    def reserve(self) -> list[str]:
        """Return lines at this place that can still be added to later, by `add_reserved`."""
        lines: list[str] = []
        self._lines.append(lines)
        return lines

    def add_reserved(self, lines: list[str], path: tuple[int, ...], *texts: str) -> None:
        lines.extend(" " * (len(path) + 2) + text for text in texts)

    def constant(self, value: Any) -> str:
        """Return the name of a value in the function's namespace."""
        known_by = value if type(value) is str else id(value)
        name = self._constants.get(known_by)
        if name is None:
            name = self._constants[known_by] = self.name("K")
            self.namespace[name] = value
        return name

    def is_not(self, name: str, python_type: type) -> str:
        """Return the test that a value is not of this type; there are several types of lists."""
        if python_type is list:
            return f"not isinstance({name}, {self.constant(list)})"
        return f"type({name}) is not {self.constant(python_type)}"

    def hoist(self, text: str) -> str:
        """Return the name of an expression computed once, before anything else; it must not fail."""
        name = self._hoisted.get(text)
        if name is None:
            name = self._hoisted[text] = self.name("h")
            self._prologue.append(f" {name} = {text}")
        return name

    def once(self, text: str) -> str:
        """Return the name of an expression that is computed when first needed, and then kept; it must not fail."""
        name = self.name("m")
        self.prologue(f"{name} = UNSET")
        self.line(f"if {name} is UNSET: {name} = {text}")
        return name

    def prologue(self, text: str) -> None:
        """Write a line that runs before anything else."""
        self._prologue.append(f" {text}")

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """Open an indented block; what is charged within is charged before it ends."""
        self.line(header)
        self._last_block += 1
        self.path = (*self.path, self._last_block)
        written = len(self._lines)
        yield
        self.flush()
        if len(self._lines) == written:
            self.line("pass")
        self.path = self.path[:-1]

    @contextmanager
    def branch(self, header: str, pending: list[int | str]) -> Iterator[None]:
        """Open one of several blocks of which exactly one runs; each charges what was pending before them."""
        self.pending = list(pending)
        with self.block(header):
            yield
        self.pending = []

    # -- costs

    def charge(self, cost: int | str) -> None:
        """Note a cost: a number, or the name of one."""
        if cost != 0:
            self.pending.append(cost)

    def flush(self) -> None:
        """Charge what is pending."""
        costs, self.pending = self.pending, []
        if not costs:
            return
        fixed = sum(cost for cost in costs if isinstance(cost, int))
        total = " + ".join([str(fixed)] * (fixed > 0) + [cost for cost in costs if isinstance(cost, str)])
        self.line(f"c += {total}")
        self.line(f"if c > m: m = over(s, c - ({total}), ({', '.join(map(str, costs))},))")

    # -- the whole

    def source(self, head: str) -> str:
        body = [line for part in self._lines for line in ([part] if isinstance(part, str) else part)]
        return "\n".join([head, *self._prologue, " try:", *body, *_FOOT])

    def _indented(self, text: str) -> str:
        return " " * (len(self.path) + 2) + text


_FOOT = (
    " except STOPPED:",
    "  raise",
    " except BaseException:",
    "  if c > s[0]: s[0] = c",
    "  raise",
    "",
)


NOT_LITERAL: Any = object()

#: The Python types of values of these kinds, which can be told apart by `type(value)`.
PYTHON_TYPES: dict[TypeKind, type] = {
    TypeKind.BOOL: bool,
    TypeKind.BYTES: bytes,
    TypeKind.DOUBLE: float,
    TypeKind.INT: int,
    TypeKind.LIST: list,
    TypeKind.MAP: CelMap,
    TypeKind.STRING: str,
    TypeKind.UINT: UInt,
}
#: Kinds whose values are compared by Python's operators if both are of the same kind.
SCALARS = frozenset((TypeKind.BOOL, TypeKind.BYTES, TypeKind.DOUBLE, TypeKind.INT, TypeKind.STRING, TypeKind.UINT))

Bounds = tuple[int, int]
ANY_INT: Bounds = (INT64_MIN, INT64_MAX)
ANY_SIZE: Bounds = (0, MAX_RESULT_SIZE)


@dataclass(frozen=True, slots=True)
class Operand:
    """A Python expression without side effects.

    `known` is a type the value surely has (the checker's may be wrong about values that came by way of dyn): of a list
    also its elements, unless they are dyn. `bounds` are those of an int, or of the ints in a list. If it `fails`, the
    value may be a CelError. `stable` values are the same throughout a call of the generated function, `hoisted` ones
    computed before everything else. `simple` tells a name or a number from a larger expression.
    """

    text: str
    known: Type | None = None
    bounds: Bounds = ANY_INT
    fails: bool = False
    stable: bool = False
    hoisted: bool = False
    simple: bool = True
    literal: Any = NOT_LITERAL

    @property
    def is_literal(self) -> bool:
        return self.literal is not NOT_LITERAL

    def is_a(self, *kinds: TypeKind) -> bool:
        """Return whether the value is surely of one of these kinds, and no error."""
        return self.known is not None and not self.fails and self.known.kind in kinds


def certain(type_: Type) -> Type | None:
    """Return the type of a function's result as far as it can be relied on: a scalar, or a list of scalars."""
    if type_.kind in SCALARS:
        return type_
    if type_.kind is TypeKind.LIST and type_.parameters and type_.parameters[0].kind in SCALARS:
        return type_
    return None


def element_of(known: Type | None) -> Type | None:
    """Return the type that the elements of a list surely have."""
    if known is None or known.kind is not TypeKind.LIST or not known.parameters:
        return None
    element = known.parameters[0]
    return element if element.kind in PYTHON_TYPES else None


def shallow(type_: Type) -> Type:
    """Return what is known of a value whose Python type is that of a CEL type: nothing of what it contains."""
    return list_of(DYN) if type_.kind is TypeKind.LIST else MAP if type_.kind is TypeKind.MAP else type_


def result_bounds(overload: Overload) -> Bounds:
    """Return the bounds of the ints that a function returns."""
    return ANY_SIZE if overload.id == "lists_range" else ANY_INT
