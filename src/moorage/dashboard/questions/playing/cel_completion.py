"""Complete a CEL expression at its end: members by the type before the dot, values inside of a text, else names.

What stands before the dot is compiled on its own; variables of macros around it, such as `x` of `all(x, …)`, get the
type of the elements that they go through.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import msgspec

from moorage.dashboard.questions.playing.completion_words import Candidate
from moorage.match.cel import Program, compile_expression, taint_environment
from moorage.match.cel.environment import Environment
from moorage.match.cel.functions import Overload
from moorage.match.cel.libraries import authz
from moorage.match.cel.parse.tokens import Token, tokenize
from moorage.match.cel.types import DYN, Bindings, Type, TypeKind, assign

NOTES = {
    "add": "the sum of two quantities, or of a quantity and a whole number",
    "asApproximateFloat": "the quantity as a floating-point number",
    "asInteger": "the quantity as a whole number; fails for anything else",
    "bool": "reads true or false from a text",
    "bytes": "the text's UTF-8 bytes",
    "charAt": "the character at an index",
    "cidr": "reads a network, such as 10.0.0.0/8; fails for anything else",
    "compareTo": "-1, 0 or 1: below, equal or above",
    "contains": "whether the text holds another",
    "containsCIDR": "whether a network lies inside of this one",
    "containsIP": "whether an address lies inside of the network",
    "distinct": "the list without repetitions",
    "double": "reads a floating-point number, or converts to one",
    "duration": "reads a duration, such as 1h30m",
    "dyn": "forgets the type: it is checked when the expression runs",
    "endsWith": "whether the text ends with another",
    "family": "4 or 6: the address's version",
    "find": "the first part that a pattern matches, or an empty text",
    "findAll": "all parts that a pattern matches",
    "first": "the first element, if there is one",
    "flatten": "the elements of the lists in the list",
    "format": "fills %s, %d and the like with the elements of a list",
    "format.byte": "the named format byte, for validate()",
    "format.date": "the named format date, for validate()",
    "format.datetime": "the named format datetime, for validate()",
    "format.dns1035Label": "the named format dns1035Label, for validate()",
    "format.dns1035LabelPrefix": "the named format dns1035LabelPrefix, for validate()",
    "format.dns1123Label": "the named format dns1123Label, for validate()",
    "format.dns1123LabelPrefix": "the named format dns1123LabelPrefix, for validate()",
    "format.dns1123Subdomain": "the named format dns1123Subdomain, for validate()",
    "format.dns1123SubdomainPrefix": "the named format dns1123SubdomainPrefix, for validate()",
    "format.labelValue": "the named format labelValue, for validate()",
    "format.named": "the format of this name, if there is one",
    "format.qualifiedName": "the named format qualifiedName, for validate()",
    "format.uri": "the named format uri, for validate()",
    "format.uuid": "the named format uuid, for validate()",
    "getDate": "the day of the month, from 1",
    "getDayOfMonth": "the day of the month, from 0",
    "getDayOfWeek": "the day of the week, Sunday is 0",
    "getDayOfYear": "the day of the year, from 0",
    "getEscapedPath": "the URL's path, escaped",
    "getFullYear": "the year",
    "getHost": "the URL's host and port",
    "getHostname": "the URL's host",
    "getHours": "the hours",
    "getMilliseconds": "the milliseconds",
    "getMinutes": "the minutes",
    "getMonth": "the month, from 0",
    "getPort": "the URL's port",
    "getQuery": "the URL's query as a map of lists",
    "getScheme": "the URL's scheme",
    "getSeconds": "the seconds",
    "hasValue": "whether the optional has a value",
    "indexOf": "where a part or an element is first, -1 if nowhere",
    "int": "reads a whole number from a text, or converts to one; fails for anything else",
    "ip": "reads an address; fails for anything else",
    "ip.isCanonical": "whether an address is written in its usual form",
    "isCIDR": "whether a text is a network",
    "isGlobalUnicast": "whether the address is a global unicast one",
    "isGreaterThan": "whether this is above the other",
    "isIP": "whether a text is an address",
    "isInteger": "whether the quantity is a whole number",
    "isLessThan": "whether this is below the other",
    "isLinkLocalMulticast": "whether the address is a link-local multicast one",
    "isLinkLocalUnicast": "whether the address is a link-local unicast one",
    "isLoopback": "whether the address is a loopback one",
    "isQuantity": "whether a text is a quantity, such as 1Gi",
    "isSemver": "whether a text is a version; with true also 1.2 and v1.2.3",
    "isSorted": "whether the elements are in order",
    "isURL": "whether a text is a URL",
    "isUnspecified": "whether the address is 0.0.0.0 or ::",
    "join": "the texts of a list as one",
    "last": "the last element, if there is one",
    "lastIndexOf": "where a part or an element is last, -1 if nowhere",
    "lists.range": "the list 0, 1, … up to a number",
    "lowerAscii": "the text in lower case",
    "major": "the version's first number",
    "masked": "the network with the bits behind its prefix cleared",
    "matches": "whether a part of the text matches a pattern (RE2): begin with ^ and end with $ for the whole",
    "max": "the largest element",
    "min": "the smallest element",
    "minor": "the version's second number",
    "optional.none": "an optional without a value",
    "optional.of": "an optional with this value",
    "optional.ofNonZeroValue": "an optional with this value, unless it is empty or zero",
    "optional.unwrap": "the values of the optionals that have one",
    "or": "this optional if it has a value, else the other",
    "orValue": "the value, or another one if there is none",
    "patch": "the version's third number",
    "prefixLength": "the length of the network's prefix",
    "quantity": "reads a quantity, such as 1Gi; fails for anything else",
    "replace": "the text with parts replaced",
    "reverse": "the list backwards",
    "semver": "reads a version strictly, 1.2.3; with true also 1.2 and v1.2.3; fails for anything else",
    "sets.contains": "whether the first list has all elements of the second",
    "sets.equivalent": "whether both lists have the same elements",
    "sets.intersects": "whether both lists have an element in common",
    "sign": "-1, 0 or 1: the quantity's sign",
    "size": "how many characters, elements or entries",
    "slice": "the elements from one index up to another",
    "sort": "the list in order",
    "split": "the parts between separators",
    "startsWith": "whether the text starts with another",
    "string": "the value as a text",
    "strings.quote": "the text in quotes",
    "sub": "the difference of two quantities, or of a quantity and a whole number",
    "substring": "the text from one index up to another",
    "sum": "the sum of the elements",
    "timestamp": "reads a time, such as 2026-01-01T00:00:00Z",
    "trim": "the text without blanks around it",
    "type": "the value's type",
    "uint": "reads an unsigned whole number, or converts to one",
    "unwrapOpt": "the values of the optionals that have one",
    "upperAscii": "the text in upper case",
    "url": "reads a URL; fails for anything else",
    "validate": "what is wrong with a text in this format, if anything",
    "value": "the optional's value; fails if there is none",
}

MACROS = {
    "all": "whether a condition holds for every element",
    "exists": "whether a condition holds for some element",
    "exists_one": "whether a condition holds for exactly one element",
    "filter": "the elements for which a condition holds",
    "map": "what an expression makes of each element",
    "bind": "a name for a value that is used several times",
    "has": "whether a field is there",
    "optMap": "what an expression makes of the value, if there is one",
    "optFlatMap": "the optional that an expression makes of the value, if there is one",
}

KEYWORDS = {"true": "", "false": "", "in": "whether a list or map has it: x in [a, b]", "null": ""}


_CLOSING = {")": "(", "]": "[", "}": "{"}
_LITERALS = ("string", "bytes", "int", "uint", "float", "true", "false", "null")
_HIDDEN = {row.name for row in authz.FUNCTIONS}
_MAX_TOKENS = 2_000
_LOOPS = frozenset({"all", "exists", "exists_one", "existsOne", "map", "filter", "sortBy"})
#: Texts that are compared with a field, and so complete to what the cluster has there.
_FIELDS = ("key", "value", "effect")


class CelCursor(msgspec.Struct, frozen=True):
    """What was typed of the last word, the candidates, and what they are members of."""

    typed: str
    candidates: tuple[Candidate, ...]
    context: str = ""


def complete_cel(text: str, values_of: Callable[[str], list[tuple[str, str]]]) -> CelCursor:
    """Complete the end of a text. `values_of` lists what the cluster's taints have in a field, with a note each."""
    tokens, errors = tokenize(text)
    tokens = tokens[:-1]
    if len(tokens) > _MAX_TOKENS:
        return CelCursor("", ())
    if errors and errors[-1][1][:1] in "\"'" and errors[-1][0] + len(errors[-1][1]) >= len(text):
        if text.endswith("\n"):
            return CelCursor("", ())  # the text ought to have ended in the line before
        return _in_text(text, [token for token in tokens if token.position < errors[-1][0]], errors[-1][0], values_of)
    typed = ""
    if tokens and tokens[-1].kind in ("ident", "in", *_LITERALS[4:]) and _ends(tokens[-1]) == len(text):
        typed = tokens[-1].text
        tokens = tokens[:-1]
    environment = _with_loop_variables(text, tokens)
    if tokens and tokens[-1].kind == ".":
        return _members(text, tokens[:-1], typed, environment)
    if tokens and tokens[-1].kind in (*_LITERALS[:5], "ident", ")", "]", "}") and not typed:
        return CelCursor(typed, ())
    return CelCursor(typed, tuple(_names(environment)))


def _ends(token: Token) -> int:
    return token.position + len(token.text)


def _in_text(
    text: str, tokens: list[Token], start: int, values_of: Callable[[str], list[tuple[str, str]]]
) -> CelCursor:
    """Complete a text that is compared with a field of the taint: the last one before it in the same brackets."""
    quote = text[start]
    for index in range(len(tokens) - 1, 1, -1):
        token = tokens[index]
        if token.kind in ("&&", "||", "?"):
            break
        if token.text in _FIELDS and tokens[index - 1].kind == "." and tokens[index - 2].text == "taint":
            values = values_of(token.text)
            candidates = tuple(Candidate(f"{value}{quote}", value or '""', "value", note) for value, note in values)
            return CelCursor(text[start + 1 :], candidates, f"taint.{token.text}")
    return CelCursor(text[start + 1 :], ())


# -- types ------------------------------------------------------------------------------------------------------------


def _receiver(tokens: list[Token]) -> int:
    """Return the index of the first token of the operand that the tokens end with."""
    index = len(tokens) - 1
    while index >= 0:
        kind = tokens[index].kind
        if kind in _CLOSING:
            depth = 0
            while index >= 0:
                depth += (tokens[index].kind in _CLOSING) - (tokens[index].kind in _CLOSING.values())
                if not depth:
                    break
                index -= 1
            if index > 0 and tokens[index].kind in "([" and tokens[index - 1].kind in ("ident", ")", "]", "string"):
                index -= 1
                continue
        elif kind != "ident" and kind not in _LITERALS:
            return index + 1
        if index > 0 and tokens[index - 1].kind == ".":
            index -= 2
            continue
        return max(index, 0)
    return 0


def _type_of(text: str, tokens: list[Token], environment: Environment) -> Type | None:
    """Return the type of the operand that the tokens end with; None if it does not compile."""
    if not tokens:
        return None
    first = _receiver(tokens)
    if first >= len(tokens):
        return None
    source = text[tokens[first].position : _ends(tokens[-1])]
    compiled = compile_expression(source, replace(environment, results=()))
    return compiled.result_type if isinstance(compiled, Program) else None


def _with_loop_variables(text: str, tokens: list[Token]) -> Environment:
    """Return the environment with the variables of the macros that the end of the text is inside of."""
    environment = taint_environment()
    for opening in _open_brackets(tokens):
        after = tokens[opening + 1 : opening + 4]
        called = tokens[opening - 1] if opening else None
        if called is None or len(after) < 2 or after[0].kind != "ident" or after[1].kind != ",":
            continue
        name = after[0].text
        if called.text == "bind":
            comma = _next_comma(tokens, opening + 3)
            bound = _type_of(text, tokens[opening + 3 : comma], environment) if comma else None
            environment = replace(environment, variables={**environment.variables, name: bound or DYN})
        elif called.text in _LOOPS and opening > 2:
            ranged = _type_of(text, tokens[: opening - 2], environment)
            environment = replace(environment, variables={**environment.variables, name: _element(ranged)})
    return environment


def _open_brackets(tokens: list[Token]) -> list[int]:
    brackets: list[int] = []
    for index, token in enumerate(tokens):
        if token.kind in ("(", "[", "{"):
            brackets.append(index)
        elif token.kind in _CLOSING and brackets:
            brackets.pop()
    return [index for index in brackets if tokens[index].kind == "("]


def _next_comma(tokens: list[Token], start: int) -> int | None:
    depth = 0
    for index in range(start, len(tokens)):
        depth += (tokens[index].kind in _CLOSING.values()) - (tokens[index].kind in _CLOSING)
        if tokens[index].kind == "," and not depth:
            return index
    return None


def _element(ranged: Type | None) -> Type:
    if ranged is None or not ranged.parameters:
        return DYN
    return ranged.parameters[0]


# -- candidates -------------------------------------------------------------------------------------------------------


def _members(text: str, before: list[Token], typed: str, environment: Environment) -> CelCursor:
    candidates = list(_namespaced(before, environment))
    type_ = None if candidates else _type_of(text, before, environment)
    if type_ is not None:
        candidates = [*_fields(type_, environment), *_methods(type_, environment), *_macros(type_)]
    return CelCursor(typed, tuple(candidates), str(type_) if type_ is not None else "")


def _namespaced(before: list[Token], environment: Environment) -> Iterator[Candidate]:
    """Yield the functions of a namespace, such as `lists.`."""
    if not before or before[-1].kind != "ident" or (len(before) > 1 and before[-2].kind == "."):
        return
    prefix = f"{before[-1].text}."
    for name, function in sorted(environment.functions.items()):
        if name.startswith(prefix) and "@" not in name:
            rest = name.removeprefix(prefix)
            yield _function(rest, name, function.overloads)
    if prefix == "cel.":
        yield Candidate("bind(", "bind", "macro", "cel.bind(name, value, expression)", MACROS["bind"])


def _fields(type_: Type, environment: Environment) -> Iterator[Candidate]:
    for name, field in environment.objects.get(type_.name, {}).items():
        note = f"at most {field.max_size} bytes" if field.max_size else ""
        yield Candidate(name, name, "field", str(field.type), note)


def _methods(type_: Type, environment: Environment) -> Iterator[Candidate]:
    for name, function in sorted(environment.functions.items()):
        if not name[0].isalpha() or "." in name or name in _HIDDEN:
            continue
        fits = [
            overload
            for overload in function.overloads
            if overload.member and assign(Bindings(), type_, overload.params[0])
        ]
        if fits:
            yield _function(name, name, tuple(fits))


def _macros(type_: Type) -> Iterator[Candidate]:
    if type_.kind in (TypeKind.LIST, TypeKind.MAP):
        for name in ("all", "exists", "exists_one", "filter", "map"):
            yield Candidate(f"{name}(", name, "macro", f"{type_}.{name}(x, …)", MACROS[name])
    elif type_.is_optional:
        for name in ("optMap", "optFlatMap"):
            yield Candidate(f"{name}(", name, "macro", f"{type_}.{name}(x, …)", MACROS[name])


def _names(environment: Environment) -> Iterator[Candidate]:
    own = taint_environment().variables
    for name, type_ in environment.variables.items():
        yield Candidate(name, name, "variable", str(type_), "the taint" if name in own else "")
    namespaces = {name.partition(".")[0] for name in environment.functions if "." in name}
    for name, function in sorted(environment.functions.items()):
        overloads = tuple(overload for overload in function.overloads if not overload.member)
        if name[0].isalpha() and "." not in name and overloads and name not in _HIDDEN:
            yield _function(name, name, overloads)
    yield Candidate("has(", "has", "macro", "has(field) -> bool", MACROS["has"])
    for name in sorted(namespaces):
        yield Candidate(f"{name}.", f"{name}.", "namespace", "", f"functions of {name}")
    for name, note in KEYWORDS.items():
        yield Candidate(name, name, "keyword", "", note)


def _function(insert: str, name: str, overloads: tuple[Overload, ...]) -> Candidate:
    first = overloads[0]
    params = first.params[1:] if first.member else first.params
    called = f"{insert}(" if params or len(overloads) > 1 else f"{insert}()"
    return Candidate(called, insert, "function", " or ".join(map(_signature(name), overloads[:3])), NOTES.get(name, ""))


def _signature(name: str) -> Callable[[Overload], str]:
    def signature(overload: Overload) -> str:
        params = [str(param).rpartition(".")[2] for param in overload.params]
        receiver = f"{params.pop(0)}." if overload.member else ""
        return f"{receiver}{name}({', '.join(params)}) → {str(overload.result).rpartition('.')[2]}"

    return signature
