"""Complete a rule at the cursor: `line` and `column` beside the arguments of `playground`.

Out: candidates, and the range of the line that each would take the place of.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from moorage.dashboard.questions.base import BadQuestion, Base, Part
from moorage.dashboard.questions.playground import asked, nodes_of
from moorage.dashboard.questions.playing.cel_completion import complete_cel
from moorage.dashboard.questions.playing.completion_words import Candidate, ClusterWords, Completion, fitting
from moorage.dashboard.questions.playing.rule_text import CEL, TOLERATIONS
from moorage.dashboard.questions.playing.yaml_completion import YamlCandidates
from moorage.dashboard.questions.playing.yaml_cursor import YamlCursor, cursor_in


def answer(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    asked_for = asked(arguments)
    line, column = (_number(arguments, name) for name in ("line", "column"))
    words = ClusterWords(base.simulation, lambda: nodes_of(base, asked_for)[0])
    result = completion(asked_for.kind, asked_for.text, line, column, words)
    yield {**msgspec.to_builtins(result), "done": True}


def _number(arguments: dict[str, Any], name: str) -> int:
    value = arguments.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise BadQuestion(f"{name} must be a number from 1")
    return value


def completion(kind: str, text: str, line: int, column: int, words: ClusterWords) -> Completion:
    """Return what may be written at the cursor."""
    lines = text.split("\n")
    line = min(line, len(lines))
    column = min(column, len(lines[line - 1]) + 1)
    if kind == CEL:
        script = "\n".join([*lines[: line - 1], lines[line - 1][: column - 1]])
        return _of_expression(script, lines[line - 1], line, column, words)
    cursor = cursor_in(text, line, column)
    if kind == TOLERATIONS and cursor.key == "expression":
        script = _plain_script(cursor)
        return _of_expression(script, lines[line - 1], line, column, words, cursor.quote)
    candidates = fitting(YamlCandidates(kind, words).at(cursor), cursor.typed)
    return Completion(line, cursor.column, cursor.end_column, candidates)


def _plain_script(cursor: YamlCursor) -> str:
    """Return the expression so far, without YAML's escapes of quotes."""
    if cursor.quote == "'":
        return cursor.typed.replace("''", "'")
    return cursor.typed.replace('\\"', '"') if cursor.quote else cursor.typed


def _of_expression(
    script: str, written: str, line: int, column: int, words: ClusterWords, quote: str = ""
) -> Completion:
    def values_of(field: str) -> list[tuple[str, str]]:
        counts: dict[str, int] = {}
        for taint, count in words.nodes.taints:
            value = getattr(taint, field)
            counts[value] = counts.get(value, 0) + count
        return [(value, f"{count:,} node{'' if count == 1 else 's'}") for value, count in counts.items()]

    cursor = complete_cel(script, values_of)
    end = column
    while end <= len(written) and (written[end - 1].isalnum() or written[end - 1] == "_"):
        end += 1
    candidates = tuple(_escaped(one, quote) for one in fitting(cursor.candidates, cursor.typed))
    if any(candidate.kind == "value" for candidate in candidates):
        end = column
    return Completion(line, column - len(cursor.typed), end, candidates, cursor.context)


def _escaped(candidate: Candidate, quote: str) -> Candidate:
    """Write the quote that ends a text as the YAML around it demands."""
    if candidate.kind != "value" or candidate.insert[-1:] != quote:
        return candidate
    ending = "''" if quote == "'" else '\\"'
    return msgspec.structs.replace(candidate, insert=candidate.insert[:-1] + ending)
