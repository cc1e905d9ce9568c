"""kubectl's command lines, taken apart."""

import pytest

from moorage.demo.kubectl_stand_in import NotUnderstood, parse


def test_words_and_options() -> None:
    line = parse(["get", "pods", "-A", "-o", "wide", "--field-selector", "a=b,c=d", "--namespace=x"])
    assert line.words == ["get", "pods"]
    assert line.options == {"all-namespaces": "true", "output": "wide", "field-selector": "a=b,c=d", "namespace": "x"}
    assert (line.option("output"), line.option("selector")) == ("wide", "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["get", "-o"], "error: flag needs an argument: -o"),
        (["get", "--watch"], "error: without kubectl there is no option --watch"),
        (["get", "-A=x"], "error: without kubectl there is no option -A=x"),
    ],
)
def test_what_is_not_understood(words: list[str], said: str) -> None:
    with pytest.raises(NotUnderstood) as caught:
        parse(words)
    assert str(caught.value) == said
