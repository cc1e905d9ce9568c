"""What is offered at a cursor, written `‸`, and which part of the line it takes the place of."""

import pytest
from tests.unit.dashboard.questions.playing.playing import base_of

from moorage.dashboard.questions import QUESTIONS, Base
from moorage.dashboard.questions.base import parts_of
from moorage.dashboard.questions.playing.cel_completion import NOTES, complete_cel


@pytest.fixture(scope="module")
def base() -> Base:
    return base_of()


def complete(base: Base, kind: str, text: str) -> tuple[list[str], str]:
    """The texts that are offered, and what they would replace."""
    before, _, after = text.partition("‸")
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    arguments = {"kind": kind, "text": before + after, "line": line, "column": column}
    (found,) = parts_of(QUESTIONS["complete"], base, arguments)
    written = (before + after).split("\n")[found["line"] - 1]
    return [one["insert"] for one in found["candidates"]], written[found["column"] - 1 : found["endColumn"] - 1]


_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_TERM = f"nodeAffinity:\n  {_REQUIRED}:\n    nodeSelectorTerms:\n    - matchExpressions:\n"
_POD_TERM = f"podAffinity:\n  {_REQUIRED}:\n  - labelSelector:\n      matchExpressions:\n      - key: a\n"

YAML: dict[str, tuple[str, list[str], str]] = {
    "- k‸": ("tolerations", ["key: "], "k"),
    "- key: s‸la\n": ("tolerations", ["sla", "soft"], "sla"),
    "- key: sla\n  op‸": ("tolerations", ["operator: "], "op"),
    "- key: sla\n  operator: Se‸": ("tolerations", ["SemverGt", "SemverLt", "SemverEq"], "Se"),
    "- key: sla\n  value: ‸": ("tolerations", ['"007"', '"800"', '"950"'], ""),
    "- value: ‸\n  key: sla\n": ("tolerations", ['"007"', '"800"', '"950"'], ""),
    '- key: sla\n  value: "9‸"': ("tolerations", ["950"], "9"),
    "- {key: sla, ef‸": ("tolerations", ["effect: "], "ef"),
    "- {key: sla, effect: NoE‸}": ("tolerations", ["NoExecute"], "NoE"),
    "spec:\n  tolerations:\n  - key: sla\n    toler‸": ("tolerations", ["tolerationSeconds: "], "toler"),
    "nodeAffinity:\n  req‸": ("affinity", [f"{_REQUIRED}:"], "req"),
    f"{_TERM}      - key: ker‸": ("affinity", ["kernel"], "ker"),
    f"{_TERM}      - key: kernel\n        values: [‸": ("affinity", ['"5.4"', '"6.1.0"', '"custom"'], ""),
    "- key: kernel\n  values:\n  - ‸": ("affinity", ['"5.4"', '"6.1.0"', '"custom"'], ""),
    f"{_TERM}      - {{key: kernel, operator: D‸": ("affinity", ["DoesNotExist"], "D"),
    f"{_POD_TERM}        operator: ‸": ("affinity", ["In", "NotIn", "Exists", "DoesNotExist"], ""),
    f"podAffinity:\n  {_REQUIRED}:\n  - topologyKey: pool‸": ("affinity", ["pool"], "pool"),
    f"podAffinity:\n  {_REQUIRED}:\n  - labelSelector:\n      matchExpressions:\n      - key: ‸": (
        "affinity",
        ["app"],
        "",
    ),
    f"podAffinity:\n  {_REQUIRED}:\n  - labelSelector:\n      matchLabels:\n        app: ‸": ("affinity", ['"db"'], ""),
    f"podAffinity:\n  {_REQUIRED}:\n  - labelSelector:\n      matchLabels:\n        a‸": ("affinity", ["app: "], "a"),
    f"podAffinity:\n  {_REQUIRED}:\n  - matchLabelKeys: [‸": ("affinity", ["app"], ""),
    "matchFields:\n- key: ‸": ("affinity", ["metadata.name"], ""),
    "pool: ‸": ("nodeSelector", ['"a"'], ""),
    "pool: a\nker‸": ("nodeSelector", ["kernel: "], "ker"),
}


@pytest.mark.parametrize("text", YAML)
def test_fields_and_values_are_offered(base: Base, text: str) -> None:
    kind, offered, replaced = YAML[text]
    found, part = complete(base, kind, text)
    assert found[: len(offered)] == offered
    assert part == replaced


CEL: dict[str, tuple[list[str], str]] = {
    "tai‸": (["taint"], "tai"),
    "taint.‸": (["key", "value", "effect"], ""),
    "taint.key.star‸": (["startsWith("], "star"),
    "semver(taint.value, true).is‸": (["isGreaterThan(", "isLessThan("], "is"),
    "[1, 2].max().‸": ([], ""),
    "lists.‸": (["range("], ""),
    "isSem‸": (["isSemver("], "isSem"),
    "taint.value.split(',').all(x, x.tri‸": (["trim()"], "tri"),
    "cel.bind(v, semver(taint.value), v.maj‸": (["major()"], "maj"),
    "taint.key == 'sl‸": (["sla'"], "sl"),
    'taint.effect in ["NoE‸': (['NoExecute"'], "NoE"),
    "taint.key ‸": ([], ""),
    "taint.ke‸y == 'a'": (["key"], "key"),
    "nothing.‸": ([], ""),
    "taint.key.startsWith('env').‸": ([], ""),
    "'ü' == taint.‸": (["key", "value", "effect"], ""),
}


@pytest.mark.parametrize("text", CEL)
@pytest.mark.parametrize("frame", ["{}", "- expression: |\n    {}", "- key: a\n- expression: {}"])
def test_cel_is_completed_by_type(base: Base, text: str, frame: str) -> None:
    if frame.endswith(": {}") and text[0] in "'[":
        frame = '- expression: "{}'  # a plain scalar begins with neither
    offered, replaced = CEL[text]
    found, part = complete(base, "cel" if frame == "{}" else "tolerations", frame.format(text))
    assert found[: len(offered)] == offered
    assert bool(found) == bool(offered)
    assert part == replaced


def test_a_quote_that_ends_a_text_is_written_for_the_yaml_around_it(base: Base) -> None:
    assert complete(base, "tolerations", "- expression: 'taint.key == ''sl‸'")[0] == ["sla''"]
    assert complete(base, "tolerations", '- expression: "taint.key == \\"sl‸"')[0] == ['sla\\"']
    assert complete(base, "tolerations", '- expression: "taint.key == \'sl‸"')[0] == ["sla'"]


def test_every_function_that_is_offered_is_explained() -> None:
    offered = complete_cel("", lambda field: []).candidates
    for receiver in ("''", "[1]", "[['']]", "semver('1.0.0')", "quantity('1')", "ip('::')", "cidr('::/0')", "url('a')"):
        offered += complete_cel(f"{receiver}.", lambda field: []).candidates
    for receiver in ("optional.of(1)", "timestamp('')", "duration('')", "format.uri()", "optional", "sets", "strings"):
        offered += complete_cel(f"{receiver}.", lambda field: []).candidates
    functions = {one.label: one for one in offered if one.kind == "function"}
    assert len(functions) > 80
    assert [name for name, one in functions.items() if not one.doc or not one.detail] == []
    assert (
        {"isGreaterThan", "hasValue", "getScheme", "validate"}
        <= functions.keys()
        <= {name.rpartition(".")[2] for name in NOTES}
    )


@pytest.mark.parametrize("arguments", [{}, {"line": 0, "column": 1}, {"line": 1, "column": "x"}, {"line": True}])
def test_an_invalid_cursor_position_is_refused(base: Base, arguments: dict[str, int]) -> None:
    (part,) = parts_of(QUESTIONS["complete"], base, {"kind": "cel", "text": "", **arguments})
    assert "must be a number from 1" in part["error"]


@pytest.mark.parametrize("kind", ["tolerations", "affinity", "nodeSelector", "cel"])
def test_no_place_of_an_odd_text_is_too_much(base: Base, kind: str) -> None:
    text = "- {a: [b, {c: 'd\n-\n - - x: |\n   y\n\t#:\n}]) '\"\n: : -\nexpression: \"[((x.all(y,"
    for line in range(1, text.count("\n") + 3):
        for column in range(1, 24):
            arguments = {"kind": kind, "text": text, "line": line, "column": column}
            (part,) = parts_of(QUESTIONS["complete"], base, arguments)
            assert part["endColumn"] >= part["column"] >= 1
