"""Tokens → syntax tree, macros expanded.

In comes a `Source`; out comes the root node, or issues. A recursive-descent parser for the grammar of CEL.g4 which
counts the nesting of grammar rules as cel-go's ANTLR parser does and gives up beyond 250, long before Python would.

Kubernetes: cel-go parser/parser.go. Differs: after a syntax error cel-go's parser repairs and goes on; this one does so
only where a single superfluous token can be left out, so it may report fewer errors, and words them more briefly. The
place of the first one is the same. Next on the path: checker.py.
"""

from __future__ import annotations

from typing import NoReturn

from moorage.match.cel.escapes import unescape_bytes, unescape_string
from moorage.match.cel.lexer import RESERVED, Token, tokenize
from moorage.match.cel.macros import MacroError, expand_macro
from moorage.match.cel.stack import make_room, nesting
from moorage.match.cel.syntax import (
    NO_POSITION,
    Call,
    Entry,
    Field,
    Ident,
    Issue,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
    Select,
    Source,
    StructLiteral,
)
from moorage.match.cel.values import INT_MAX, INT_MIN, UINT_MAX, UInt

MAX_DEPTH = 250
MAX_SYNTAX_ERRORS = 100
# No number with more digits than this is within 64 bits, leading zeros aside.
_MOST_DIGITS = 20

_RELATIONS = {"<": "_<_", "<=": "_<=_", ">=": "_>=_", ">": "_>_", "==": "_==_", "!=": "_!=_", "in": "@in"}
# Function and how tightly it binds.
_ARITHMETIC = {"+": ("_+_", 1), "-": ("_-_", 1), "*": ("_*_", 2), "/": ("_/_", 2), "%": ("_%_", 2)}
_STARTS = frozenset(
    ("[", "{", "(", ".", "-", "!", "true", "false", "null", "float", "int", "uint", "string", "bytes", "ident")
)
_EXPRESSION = "expecting an expression"
_CONSTANTS = {"true": True, "false": False, "null": None}


class _SyntaxError(Exception):
    """Parsing cannot go on; the issue has been noted."""


class _DepthError(Exception):
    """The expression is nested too deeply."""


def parse(source: Source) -> Node | list[Issue]:
    """The tree of an expression, or what is wrong with it."""
    make_room(nesting(source.text))
    parser = _Parser(source)
    if parser.gave_up:
        return parser.issues
    try:
        root = parser.parse()
    except _SyntaxError:
        return parser.issues
    except _DepthError as error:
        return [*parser.issues, source.issue(NO_POSITION, str(error))]
    return parser.issues or root


class _Parser:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.tokens, errors = tokenize(source.text)
        self.issues = [
            source.issue(error.position, f"Syntax error: token recognition error at: '{_escape(error.text)}'")
            for error in errors[:MAX_SYNTAX_ERRORS]
        ]
        self.gave_up = len(errors) > MAX_SYNTAX_ERRORS
        if self.gave_up:
            message = f"Syntax error: More than {MAX_SYNTAX_ERRORS} syntax errors"
            self.issues.append(source.issue(errors[MAX_SYNTAX_ERRORS].position, message))
        self.index = 0
        self.token = self.tokens[0]
        # How deep the parser is within each of the recursive grammar rules.
        self.expr_depth = 0
        self.relation_depth = 0
        self.calc_depth = 0
        self.member_depth = 0

    # -- tokens and errors

    def advance(self) -> Token:
        token = self.token
        self.index += 1
        self.token = self.tokens[self.index]
        return token

    def accept(self, kind: str) -> bool:
        if self.token.kind == kind:
            self.advance()
            return True
        return False

    def expect(self, kind: str) -> Token:
        if self.token.kind != kind:
            self.skip_superfluous(frozenset((kind,)), f"expecting '{kind}'")
        return self.advance()

    def syntax_issue(self, message: str) -> None:
        self.issues.append(self.source.issue(self.token.position, f"Syntax error: {message}"))

    def fail(self, expectation: str) -> NoReturn:
        self.syntax_issue(f"mismatched input '{self.token.text}' {expectation}")
        raise _SyntaxError

    def skip_superfluous(self, wanted: frozenset[str], expectation: str) -> None:
        """The present token cannot stay: leave it out if what follows is wanted, otherwise give up."""
        if self.token.kind == "eof" or self.tokens[self.index + 1].kind not in wanted:
            self.fail(expectation)
        self.syntax_issue(f"extraneous input '{self.token.text}' {expectation}")
        self.advance()

    def issue(self, position: int, message: str) -> Node:
        """Note an issue that does not stop parsing, and give something to go on with."""
        self.issues.append(self.source.issue(position, message))
        return Literal(position, None)

    # -- grammar rules

    def parse(self) -> Node:
        root = self.expr()
        if self.token.kind != "eof":
            self.skip_superfluous(frozenset(("eof",)), "expecting <EOF>")
        if root.depth > MAX_DEPTH:
            raise _DepthError("max recursion depth exceeded")
        return root

    def expr(self) -> Node:
        self.expr_depth = self.deeper(self.expr_depth)
        node = self.logical("||")
        if self.token.kind == "?":
            at = self.advance().position
            then = self.logical("||")
            self.expect(":")
            otherwise = self.expr()
            node = self.call(at, "_?_:_", None, [node, then, otherwise], nested=1)
        self.expr_depth -= 1
        return node

    def logical(self, operator: str) -> Node:
        """A chain of || or of &&, as a balanced tree, so that long chains are not deep."""
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

    def balance(self, function: str, terms: list[Node], positions: list[int], low: int, high: int) -> Node:
        middle = (low + high + 1) // 2
        left = terms[middle] if middle == low else self.balance(function, terms, positions, low, middle - 1)
        right = terms[middle + 1] if middle == high else self.balance(function, terms, positions, middle + 1, high)
        return self.call(positions[middle], function, None, [left, right])

    def relation(self) -> Node:
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

    def calc(self, least: int) -> Node:
        """Sums and products of operators that bind at least so tightly."""
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
        """One level more of a grammar rule, within the limit."""
        if depth >= MAX_DEPTH:
            raise _DepthError(f"expression recursion limit exceeded: {MAX_DEPTH}")
        return depth + 1

    def unary(self) -> Node:
        kind = self.token.kind
        if kind == "!":
            first = self.advance()
            count = 1
            while self.accept("!"):
                count += 1
            node = self.member()
            return node if count % 2 == 0 else self.call(first.position, "!_", None, [node])
        if kind == "-" and self.tokens[self.index + 1].kind not in ("int", "float"):
            first = self.advance()
            count = 1
            while self.accept("-"):
                count += 1
            node = self.member()
            return node if count % 2 == 0 else self.call(first.position, "-_", None, [node])
        return self.member()

    def member(self) -> Node:
        entered = self.member_depth
        self.member_depth = self.deeper(entered)
        node = self.primary()
        while True:
            kind = self.token.kind
            if kind == "." or kind == "[":
                self.member_depth = self.deeper(self.member_depth)
            if kind == ".":
                node = self.select_or_call(node)
            elif kind == "[":
                at = self.advance().position
                optional = self.accept("?")
                index = self.expr()
                self.expect("]")
                node = self.call(at, "_[?_]" if optional else "_[_]", None, [node, index], nested=1)
            else:
                break
        self.member_depth = entered
        return node

    def select_or_call(self, operand: Node) -> Node:
        dot = self.advance()
        optional = self.accept("?")
        if self.token.kind not in ("ident", "quoted"):
            self.syntax_issue(f"no viable alternative at input '.{self.token.text}'")
            raise _SyntaxError
        name = self.advance()
        if name.kind == "ident" and not optional and self.token.kind == "(":
            at = self.advance().position
            args = self.arguments()
            return self.call(at, name.text, operand, args, nested=1)
        field = name.text
        if name.kind == "quoted":
            self.issue(name.position, "unsupported syntax: '`'")
        if optional:
            literal = Literal(name.position, field)
            node: Node = Call(dot.position, "_?._", None, [operand, literal])
        else:
            node = Select(dot.position, operand, field)
        node.depth = operand.depth + 1
        return node

    def arguments(self) -> list[Node]:
        """Arguments of a call up to and including the closing parenthesis."""
        args: list[Node] = []
        if not self.accept(")"):
            args.append(self.expr())
            while self.accept(","):
                args.append(self.expr())
            self.expect(")")
        return args

    def primary(self) -> Node:
        if self.token.kind not in _STARTS:
            self.skip_superfluous(_STARTS, _EXPRESSION)
        token = self.advance()
        kind = token.kind
        if kind == "string" or kind == "bytes":
            return self.text_literal(token)
        if kind == "ident" or kind == ".":
            return self.name(token)
        if kind in _CONSTANTS:
            return Literal(token.position, _CONSTANTS[kind])
        if kind == "(":
            node = self.expr()
            self.expect(")")
            return node
        if kind == "[":
            return self.list_literal(token.position)
        if kind == "{":
            return self.map_literal(token.position)
        if kind == "-":
            if self.token.kind not in ("int", "float"):
                self.fail(_EXPRESSION)
            return self.number(self.advance(), token)
        if kind == "!":
            self.index -= 1
            self.token = token
            self.fail(_EXPRESSION)
        return self.number(token, None)

    def text_literal(self, token: Token) -> Node:
        try:
            if token.kind == "string":
                return Literal(token.position, unescape_string(token.text))
            return Literal(token.position, unescape_bytes(token.text))
        except ValueError as error:
            return self.issue(token.position, str(error))

    def number(self, token: Token, sign: Token | None) -> Node:
        at = token.position if sign is None else sign.position
        text = token.text
        if token.kind == "float":
            value = float(text if sign is None else f"-{text}")
            return Literal(at, value) if abs(value) != float("inf") else self.issue(at, "invalid double literal")
        unsigned = token.kind == "uint"
        digits = text[:-1] if unsigned else text
        base = 16 if digits.startswith("0x") else 10
        significant = (digits[2:] if base == 16 else digits).lstrip("0")
        number = int(significant or "0", base) if len(significant) <= _MOST_DIGITS else UINT_MAX + 1
        if unsigned:
            return Literal(at, UInt(number)) if number <= UINT_MAX else self.issue(at, "invalid uint literal")
        if sign is not None:
            number = -number
        return Literal(at, number) if INT_MIN <= number <= INT_MAX else self.issue(at, "invalid int literal")

    def name(self, token: Token) -> Node:
        """An identifier, a global call, or a message literal."""
        dot = ""
        start = token.position
        if token.kind == ".":
            dot = "."
            if self.token.kind != "ident":
                self.fail("expecting IDENTIFIER")
            token = self.advance()
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
        return Ident(token.position, dot + token.text)

    def message_literal(self, name: str) -> Node | None:
        """`a.b.C{…}` if that is what the tokens ahead are."""
        ahead = self.index
        while self.tokens[ahead].kind == "." and self.tokens[ahead + 1].kind == "ident":
            name = f"{name}.{self.tokens[ahead + 1].text}"
            ahead += 2
        if self.tokens[ahead].kind != "{":
            return None
        self.index = ahead
        self.token = self.tokens[ahead]
        at = self.advance().position
        fields: list[Field] = []
        while self.token.kind not in ("}", ","):
            optional = self.accept("?")
            field = self.token
            if field.kind not in ("ident", "quoted"):
                self.fail("expecting IDENTIFIER")
            self.advance()
            if field.kind == "quoted":
                self.issue(field.position, "unsupported syntax: '`'")
            colon = self.expect(":")
            fields.append(Field(colon.position, field.text, self.expr(), optional))
            if self.token.kind != "," or self.tokens[self.index + 1].kind == "}":
                break
            self.advance()
        self.accept(",")
        self.expect("}")
        node = StructLiteral(at, name, fields)
        node.depth = max((field.value.depth for field in fields), default=0)
        return node

    def list_literal(self, at: int) -> Node:
        elements: list[Node] = []
        optional: list[int] = []
        while self.token.kind not in ("]", ","):
            if self.accept("?"):
                optional.append(len(elements))
            elements.append(self.expr())
            if self.token.kind != "," or self.tokens[self.index + 1].kind == "]":
                break
            self.advance()
        self.accept(",")
        self.expect("]")
        node = ListLiteral(at, elements, frozenset(optional))
        node.depth = max((element.depth for element in elements), default=0)
        return node

    def map_literal(self, at: int) -> Node:
        entries: list[Entry] = []
        while self.token.kind not in ("}", ","):
            optional = self.accept("?")
            key = self.expr()
            colon = self.expect(":")
            entries.append(Entry(colon.position, key, self.expr(), optional))
            if self.token.kind != "," or self.tokens[self.index + 1].kind == "}":
                break
            self.advance()
        self.accept(",")
        self.expect("}")
        node = MapLiteral(at, entries)
        node.depth = max((max(entry.key.depth, entry.value.depth) for entry in entries), default=0)
        return node

    def call(self, at: int, function: str, target: Node | None, args: list[Node], nested: int = 0) -> Node:
        """A call, or what the macro of that name makes of it."""
        depth = 0 if target is None else target.depth
        for arg in args:
            depth = max(depth, arg.depth)
        try:
            node = expand_macro(at, function, target, args) or Call(at, function, target, args)
        except MacroError as error:
            node = self.issue(error.position, str(error))
        node.depth = depth + nested
        return node


def _escape(text: str) -> str:
    return text.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
