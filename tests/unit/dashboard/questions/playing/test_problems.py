"""Problems of a rule stand where the mistake is written, in every style of YAML, and inside of expressions."""

import pytest
from tests.unit.dashboard.questions.playing.playing import ask, base_of

from moorage.dashboard.questions import Base
from moorage.model.gates import default_gates


@pytest.fixture(scope="module")
def base() -> Base:
    return base_of()


def marked(base: Base, kind: str, text: str) -> list[tuple[str, str]]:
    """The text under each problem, and the beginning of its message."""
    lines = text.split("\n")
    return [
        (lines[one["line"] - 1][one["column"] - 1 : one["endColumn"] - 1], one["message"].rpartition(": ")[2][:40])
        for one in ask(base, kind, text)["errors"]
    ]


FIELDS = {
    "value": ('- key: a\n  operator: Lt\n  value: "05"\n', [('"05"', "must be a valid decimal integer in canon")]),
    "type": ("- {key: a, operator: Lt, value: 5}", [("5", "cannot unmarshal number into Go struct f")]),
    "unknown": (
        "- key: a\n  efect: NoSchedule\n  operator: Exists\n",
        [("efect", 'unknown field "spec.tolerations[0].efect')],
    ),
    "duplicate": ("key: a\nkey: b\noperator: Exists\n", [("key", 'duplicate field "spec.tolerations[0].key')]),
    "missing": (
        "- key: a\n  operator: Exists\n  tolerationSeconds: 5\n",
        [("key: a", "effect must be 'NoExecute' when `tolerat")],
    ),
    "in a manifest": (
        "apiVersion: apps/v1\nkind: Deployment\nspec:\n  template:\n    spec:\n      tolerations:\n"
        "      - {key: a, operator: Foo}\n",
        [("Foo", '"Equal", "Exists"')],
    ),
    "syntax": ("- key: a\n  operator: {Exists\n  effect: b\n", [(": b", "did not find expected ',' or '}' while p")]),
    "a scalar": ("sla", [("sla", "a list of tolerations is expected, not s")]),
}


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_is_marked_where_it_is_written(base: Base, name: str) -> None:
    text, wanted = FIELDS[name]
    found = marked(base, "tolerations", text)
    assert found == wanted


STYLES = {
    "plain": "- expression: taint.key == foo",
    "folded plain": "- expression: taint.key\n    == foo",
    "double": '- expression: "taint.key == \\"ü\\" && \\\n     foo"',
    "single": "- expression: 'taint.key == ''x'' && foo'",
    "literal": "- expression: |\n    taint.key ==\n      foo\n",
    "literal with an indicator": "- expression: |2\n     taint.key ==\n     foo\n",
    "folded": "- expression: >-\n    taint.key ==\n    foo\n",
    "flow": "[{expression: 'taint.key == foo'}]",
    "JSON": '[{"expression": "taint.key == foo"}]',
}


@pytest.mark.parametrize("style", STYLES)
def test_an_issue_of_an_expression_is_marked_in_every_style(base: Base, style: str) -> None:
    assert ("foo", "undeclared reference to 'foo'"[:40]) in [
        (text, message) for text, message in marked(base, "tolerations", STYLES[style])
    ]


EXPRESSIONS = {
    "taint.key == 'a' && taint.foo": "foo",
    "taint.key.startsWith(1)": "startsWith",
    "taint.key ==": "=",
    "'ü' == taint.key && x\n": "x",
    "taint.key == 'a' &&\n\n  taint.value": "value",
    "taint.key": "taint.key",
    "taint.key.split('/')[1].contains('a')": "taint.key.split('/')[1].contains('a')",
}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_issue_is_marked_in_a_bare_expression(base: Base, expression: str) -> None:
    assert marked(base, "cel", expression)[0][0] == EXPRESSIONS[expression]


def test_each_issue_is_reported_once(base: Base) -> None:
    found = marked(base, "cel", "foo == bar || taint.baz == ''")
    assert [text for text, _ in found] == ["foo", "bar", "baz"]


def test_a_disabled_gate_has_the_message_of_the_api_server() -> None:
    text = '- {key: sla, operator: Gt, value: "5"}\n- expression: "true"\n'
    found = ask(base_of(default_gates()), "tolerations", text)["errors"]
    assert [one["message"] for one in found if one["apiServer"]] == [
        'spec.tolerations[0].operator: Unsupported value: "Gt": supported values: "Equal", "Exists", "Lt", "Gt"',
        "spec.tolerations[1].expression: Forbidden: "
        "may not be set when the TaintTolerationCEL feature gate is disabled",
    ]
    assert "TaintTolerationComparisonOperators=true" in found[0]["hint"]


def test_what_lint_finds_surprising_is_a_warning(base: Base) -> None:
    (found,) = ask(base, "cel", "taint.value == 'x'")["errors"]
    assert (found["rule"], found["severity"]) == ("cel-ignores-key", "warning")


@pytest.mark.parametrize(
    "text",
    [
        "- key: disk\n  operator: Foo\n",
        "matchExpressions:\n- key: disk\n  operator: Foo\n",
        "- matchExpressions:\n  - {key: disk, operator: Foo}\n",
        "nodeSelectorTerms:\n- matchExpressions:\n  - {key: disk, operator: Foo}\n",
        "preferredDuringSchedulingIgnoredDuringExecution:\n- weight: 1\n  preference:\n    matchExpressions:\n"
        "    - {key: disk, operator: Foo}\n",
        "affinity:\n  nodeAffinity:\n    requiredDuringSchedulingIgnoredDuringExecution:\n      nodeSelectorTerms:\n"
        "      - matchExpressions:\n        - {key: disk, operator: Foo}\n",
        "key: disk\noperator: Foo\n",
    ],
)
def test_every_part_of_node_affinity_is_a_rule(base: Base, text: str) -> None:
    assert marked(base, "affinity", text) == [("Foo", "not a valid selector operator")]


def test_terms_about_pods_are_a_rule(base: Base) -> None:
    text = "requiredDuringSchedulingIgnoredDuringExecution:\n- topologyKey: zone\n  matchLabelKeys: [a]\n"
    assert [text for text, _ in marked(base, "affinity", text)] == ["matchLabelKeys"]


@pytest.mark.parametrize(
    ("kind", "text", "wanted"),
    [
        ("tolerations", "nodeSelectorTerms:\n- matchExpressions: []\n", "affinity"),
        ("tolerations", "- {key: zone, operator: In, values: [a]}", "affinity"),
        ("tolerations", "kind: Pod\nspec:\n  nodeSelector: {a: b}\n", "nodeSelector"),
        ("tolerations", "apiVersion: v1\nkind: Pod\nspec: {affinity: {nodeAffinity: {}}}", "affinity"),
        ("affinity", "- {key: a, operator: Exists, effect: NoSchedule}", "tolerations"),
        ("cel", "- expression: taint.key == 'a'", "tolerations"),
        ("tolerations", "- {key: a, operator: Lt, value: '05'}", None),
        ("cel", "taint.key ==", None),
        ("nodeSelector", "values: [a]", None),
        ("tolerations", "", None),
        ("tolerations", "[", None),
    ],
)
def test_a_text_of_another_kind_is_recognized(base: Base, kind: str, text: str, wanted: str | None) -> None:
    assert ask(base, kind, text)["looksLike"] == wanted
