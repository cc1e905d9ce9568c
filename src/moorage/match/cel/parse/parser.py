"""Parse tokens to a syntax tree with macros expanded.

The nesting of grammar rules is counted as cel-go's ANTLR parser does, which gives up beyond 250, long before Python.
Kubernetes: cel-go parser/parser.go. Differs: syntax errors are worded more briefly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from moorage.match.cel.parse import syntax
from moorage.match.cel.parse.macros import COPYING_MACROS, MacroError, expand_macro
from moorage.match.cel.parse.tokens import (
    EXPRESSION,
    RESERVED,
    STARTS,
    Mismatch,
    Token,
    TokenStream,
    TooManyErrors,
    unescape_bytes,
    unescape_string,
)
from moorage.match.cel.values import UInt
from moorage.model.go.integers import INT64_MAX, INT64_MIN, UINT64_MAX

MAX_DEPTH = 250
MAX_CODE_POINTS = 100_000
# Macros that use their receiver twice double an expression each; cel-go takes as long as it takes.
MAX_COPIED = 5000
# No number with more digits than this is within 64 bits, leading zeros aside.
_MAX_DIGITS = 20
# What may follow `Name{`, in the words of cel-go's messages.
_FIRST_FIELD = "{'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}"

_RELATIONS = {"<": "_<_", "<=": "_<=_", ">=": "_>=_", ">": "_>_", "==": "_==_", "!=": "_!=_", "in": "@in"}
# Function and how tightly it binds.
_ARITHMETIC = {"+": ("_+_", 1), "-": ("_-_", 1), "*": ("_*_", 2), "/": ("_/_", 2), "%": ("_%_", 2)}
_CONSTANTS = {"true": True, "false": False, "null": None}


class _DepthError(Exception):
    """The expression is nested too deeply."""


MakeParser: TypeAlias = "Callable[[syntax.Source, bool], Parser]"


def parse(source: syntax.Source, *, has_bindings: bool = True) -> syntax.Node | list[syntax.Issue]:
    """Return the tree of an expression, or what is wrong with it."""
    return parse_by(Parser, source, has_bindings=has_bindings)


def parse_by(make: MakeParser, source: syntax.Source, *, has_bindings: bool) -> syntax.Node | list[syntax.Issue]:
    """Parse with a parser that notes more than the tree."""
    if len(source.text) > MAX_CODE_POINTS:
        words = f"expression code point size exceeds limit: size: {len(source.text)}, limit {MAX_CODE_POINTS}"
        return [source.issue(syntax.NO_POSITION, words)]
    syntax.make_room(syntax.nesting(source.text))
    try:
        return make(source, has_bindings).parse_all()
    except TooManyErrors as error:
        return error.issues


class Parser(TokenStream):
    """Parses one source by recursive descent."""

    def __init__(self, source: syntax.Source, has_bindings: bool) -> None:
        super().__init__(source)
        self.has_bindings = has_bindings
        # How deep the parser is within each of the recursive grammar rules.
        self.expr_depth = 0
        self.relation_depth = 0
        self.calc_depth = 0
        self.member_depth = 0
        # Nodes that macros have copied.
        self.copied = 0

    def parse_all(self) -> syntax.Node | list[syntax.Issue]:
        try:
            root = self.expr()
            if self.token.kind != "eof":
                kind = "extraneous" if self.following() == "eof" else "mismatched"
                self.complain(f"{kind} input '{self.token.text}' expecting <EOF>")
            if root.depth > MAX_DEPTH and not self.issues:
                raise _DepthError("max recursion depth exceeded")
        except _DepthError as error:
            return [*self.issues, self.source.issue(syntax.NO_POSITION, str(error))]
        return self.issues or root

    # -- grammar rules

    def expr(self) -> syntax.Node:
        self.expr_depth = self.deeper(self.expr_depth)
        node = self.logical("||")
        if self.token.kind == "?":
            node = self.ternary(node)
        self.expr_depth -= 1
        return node

    def ternary(self, condition: syntax.Node) -> syntax.Node:
        at = self.advance().position
        self.awaited.append(":")
        then = self.logical("||")
        self.awaited.pop()
        try:
            self.expect(":")
        except Mismatch:
            self.recover(selectable=False)
            return condition
        return self.call(at, "_?_:_", None, [condition, then, self.expr()], nested=1)

    def nested(self, awaited: str) -> syntax.Node:
        """Return an expression within something that goes on with one of these tokens, each a character."""
        self.awaited.append(awaited)
        node = self.expr()
        self.awaited.pop()
        return node

    def logical(self, operator: str) -> syntax.Node:
        """Return a chain of || or of &&, as a balanced tree, so that long chains are not deep."""
        inner = operator == "||"
        first = self.logical("&&") if inner else self.relation()
        if self.token.kind != operator:
            return first
        terms = [first]
        positions: list[int] = []
        while self.token.kind == operator:
            positions.append(self.advance().position)
            terms.append(self.logical("&&") if inner else self.relation())
        return self.balance(f"_{operator}_", terms, positions, 0, len(positions) - 1)

    def balance(
        self, function: str, terms: list[syntax.Node], positions: list[int], low: int, high: int
    ) -> syntax.Node:
        middle = (low + high + 1) // 2
        left = terms[middle] if middle == low else self.balance(function, terms, positions, low, middle - 1)
        right = terms[middle + 1] if middle == high else self.balance(function, terms, positions, middle + 1, high)
        return self.call(positions[middle], function, None, [left, right])

    def relation(self) -> syntax.Node:
        entered = self.relation_depth
        self.relation_depth = self.deeper(entered)
        node = self.calc(0)
        while (function := _RELATIONS.get(self.token.kind)) is not None:
            at = self.advance().position
            self.relation_depth = self.deeper(self.relation_depth)
            self.relation_depth = self.deeper(self.relation_depth)  # the right operand is a relation of its own
            node = self.call(at, function, None, [node, self.calc(0)], nested=1)
            self.relation_depth -= 1
        self.relation_depth = entered
        return node

    def calc(self, least: int) -> syntax.Node:
        """Parse binary operators of at least this precedence."""
        entered = self.calc_depth
        self.calc_depth = self.deeper(entered)
        node = self.unary()
        while (operator := _ARITHMETIC.get(self.token.kind)) is not None and operator[1] >= least:
            at = self.advance().position
            self.calc_depth = self.deeper(self.calc_depth)
            node = self.call(at, operator[0], None, [node, self.calc(operator[1] + 1)], nested=1)
        self.calc_depth = entered
        return node

    @staticmethod
    def deeper(depth: int) -> int:
        """Enter one more level of a grammar rule, within the limit."""
        if depth >= MAX_DEPTH:
            raise _DepthError(f"expression recursion limit exceeded: {MAX_DEPTH}")
        return depth + 1

    def unary(self) -> syntax.Node:
        kind = self.token.kind
        if kind not in STARTS:
            if self.following() not in STARTS or kind == "eof":
                self.complain(f"mismatched input '{self.token.text}' expecting {EXPRESSION}")
                self.recover(selectable=False)
                return syntax.Literal(self.token.position, None)
            self.complain(f"extraneous input '{self.token.text}' expecting {EXPRESSION}")
            self.skip()
            kind = self.token.kind
        if kind == "!" or (kind == "-" and self.following() not in ("int", "float")):
            first = self.advance()
            count = 1
            while self.accept(kind):
                count += 1
            node = self.member()
            return node if count % 2 == 0 else self.call(first.position, f"{kind}_", None, [node])
        return self.member()

    def member(self) -> syntax.Node:
        entered = self.member_depth
        self.member_depth = self.deeper(entered)
        node: syntax.Node = syntax.Literal(self.token.position, None)
        try:
            node = self.primary()
            while self.token.kind in (".", "["):
                self.member_depth = self.deeper(self.member_depth)
                node = self.select_or_call(node) if self.token.kind == "." else self.index_of(node)
        except Mismatch:
            self.recover(selectable=True)
        self.member_depth = entered
        return node

    def index_of(self, operand: syntax.Node) -> syntax.Node:
        at = self.advance().position
        optional = self.accept("?")
        index = self.nested("]")
        self.expect("]")
        return self.call(at, "_[?_]" if optional else "_[_]", None, [operand, index], nested=1)

    def select_or_call(self, operand: syntax.Node) -> syntax.Node:
        dot = self.advance()
        optional = self.accept("?")
        if self.token.kind not in ("ident", "quoted"):
            self.complain(f"no viable alternative at input '.{self.token.text}'")
            raise Mismatch
        name = self.advance()
        if name.kind == "ident" and not optional and self.token.kind == "(":
            at = self.advance().position
            args = self.arguments()
            return self.call(at, name.text, operand, args, nested=1)
        field = name.text
        if name.kind == "quoted":
            self.issue(name.position, "unsupported syntax: '`'")
        if optional:
            node: syntax.Node = syntax.Call(dot.position, "_?._", None, [operand, syntax.Literal(name.position, field)])
        else:
            node = syntax.Select(dot.position, operand, field)
        node.depth = operand.depth + 1
        return node

    def arguments(self) -> list[syntax.Node]:
        args: list[syntax.Node] = []
        if not self.accept(")"):
            args.append(self.nested(",)"))
            while self.accept(","):
                args.append(self.nested(",)"))
            self.expect(")")
        return args

    def primary(self) -> syntax.Node:
        if self.token.kind not in STARTS or self.token.kind == "!":
            self.complain(f"mismatched input '{self.token.text}' expecting {EXPRESSION}")
            raise Mismatch
        token = self.advance()
        kind = token.kind
        if kind == "string" or kind == "bytes":
            return self.text_literal(token)
        if kind == "ident" or kind == ".":
            return self.name(token)
        if kind in _CONSTANTS:
            return syntax.Literal(token.position, _CONSTANTS[kind])
        if kind == "(":
            node = self.nested(")")
            self.expect(")")
            return node
        if kind == "[":
            return self.list_literal(token.position)
        if kind == "{":
            return self.map_literal(token.position)
        if kind == "-":
            if self.token.kind not in ("int", "float"):
                self.complain(f"mismatched input '{self.token.text}' expecting a number")
                raise Mismatch
            return self.number(self.advance(), token)
        return self.number(token, None)

    def text_literal(self, token: Token) -> syntax.Node:
        try:
            if token.kind == "string":
                return syntax.Literal(token.position, unescape_string(token.text))
            return syntax.Literal(token.position, unescape_bytes(token.text))
        except ValueError as error:
            return self.issue(token.position, str(error))

    def number(self, token: Token, sign: Token | None) -> syntax.Node:
        at = token.position if sign is None else sign.position
        text = token.text
        if token.kind == "float":
            value = float(text if sign is None else f"-{text}")
            return syntax.Literal(at, value) if abs(value) != float("inf") else self.issue(at, "invalid double literal")
        unsigned = token.kind == "uint"
        digits = text[:-1] if unsigned else text
        base = 16 if digits.startswith("0x") else 10
        significant = (digits[2:] if base == 16 else digits).lstrip("0")
        number = int(significant or "0", base) if len(significant) <= _MAX_DIGITS else UINT64_MAX + 1
        if unsigned:
            return syntax.Literal(at, UInt(number)) if number <= UINT64_MAX else self.issue(at, "invalid uint literal")
        if sign is not None:
            number = -number
        return syntax.Literal(at, number) if INT64_MIN <= number <= INT64_MAX else self.issue(at, "invalid int literal")

    def name(self, token: Token) -> syntax.Node:
        dot = ""
        start = token.position
        if token.kind == ".":
            dot = "."
            token = self.identifier(("ident",))
        message = self.message_literal(dot + token.text)
        if message is not None:
            return message
        if token.text in RESERVED:
            if self.accept("("):
                self.arguments()
            return self.issue(start, f"reserved identifier: {token.text}")
        if self.token.kind == "(":
            at = self.advance().position
            return self.call(at, dot + token.text, None, self.arguments())
        return syntax.Ident(token.position, dot + token.text)

    def identifier(self, kinds: tuple[str, ...], expecting: str = "IDENTIFIER") -> Token:
        if self.token.kind not in kinds:
            self.complain(f"mismatched input '{self.token.text}' expecting {expecting}")
            raise Mismatch
        return self.advance()

    def message_literal(self, name: str) -> syntax.Node | None:
        """Parse `a.b.C{…}` if the tokens ahead are one."""
        ahead = self.index
        while self.tokens[ahead].kind == "." and self.tokens[ahead + 1].kind == "ident":
            name = f"{name}.{self.tokens[ahead + 1].text}"
            ahead += 2
        if self.tokens[ahead].kind != "{":
            return None
        self.index = ahead
        self.token = self.tokens[ahead]
        at = self.advance().position
        fields: list[syntax.Field] = []
        for _ in self.items("}"):
            optional = self.accept("?")
            expecting = "IDENTIFIER" if optional or fields else _FIRST_FIELD
            field = self.identifier(("ident", "quoted"), expecting)
            if field.kind == "quoted":
                self.issue(field.position, "unsupported syntax: '`'")
            colon = self.expect(":")
            fields.append(syntax.Field(colon.position, field.text, self.nested(",}"), optional))
        node = syntax.StructLiteral(at, name, fields)
        node.depth = max((field.value.depth for field in fields), default=0)
        return node

    def items(self, end: str) -> Iterator[None]:
        """Stop at each item of a literal, then go past the commas between them and the end."""
        while self.token.kind not in (end, ","):
            yield
            if self.token.kind != "," or self.tokens[self.index + 1].kind == end:
                break
            self.advance()
        self.close(end)

    def list_literal(self, at: int) -> syntax.Node:
        elements: list[syntax.Node] = []
        optional: list[int] = []
        for _ in self.items("]"):
            if self.accept("?"):
                optional.append(len(elements))
            elements.append(self.nested(",]"))
        node = syntax.ListLiteral(at, elements, frozenset(optional))
        node.depth = max((element.depth for element in elements), default=0)
        return node

    def map_literal(self, at: int) -> syntax.Node:
        entries: list[syntax.Entry] = []
        for _ in self.items("}"):
            optional = self.accept("?")
            key = self.nested(":,}")
            colon = self.expect(":")
            entries.append(syntax.Entry(colon.position, key, self.nested(",}"), optional))
        node = syntax.MapLiteral(at, entries)
        node.depth = max((max(entry.key.depth, entry.value.depth) for entry in entries), default=0)
        return node

    def call(
        self, at: int, function: str, target: syntax.Node | None, args: list[syntax.Node], nested: int = 0
    ) -> syntax.Node:
        """Return a call, or what the macro of that name makes of it."""
        if target is not None and function in COPYING_MACROS:
            self.copied += syntax.count_nodes(target)
            if self.copied > MAX_COPIED:
                raise _DepthError(f"macros expand to too large an expression: {' and '.join(COPYING_MACROS)} copy it")
        depth = 0 if target is None else target.depth
        for arg in args:
            depth = max(depth, arg.depth)
        try:
            expansion = expand_macro(at, function, target, args) if self.has_bindings or function != "bind" else None
            node = expansion or syntax.Call(at, function, target, args)
        except MacroError as error:
            node = self.issue(error.position, str(error))
        node.depth = depth + nested
        return node
