"""Object templates: what stands in braces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from bench.perf.problems import ConfigError
from bench.perf.templates import Template

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("action", "value"),
    [
        ("{{.Index}}", 7),
        ("{{ .Count }}", 20),
        ("{{ AddInt .Index 1 2 }}", 10),
        ("{{ SubtractInt .Count .Index }}", 13),
        ("{{ MultiplyInt .Index 3 }}", 21),
        ("{{ DivideInt .Index 2 }}", 3),
        ("{{ DivideFloat .Index 2 }}", 3.5),
        ("{{Mod .Index 5}}", 2),
        ("{{ AddInt 500 (MultiplyInt 450 (Mod .Index 2)) }}", 950),
        ("{{ AddFloat 0.5 .Index }}", 7.5),
        ("{{- .Index -}}", 7),
    ],
)
def test_actions(tmp_path: Path, action: str, value: float) -> None:
    file = tmp_path / "t.yaml"
    file.write_text(f"kind: Pod\nvalue: {action}\n", encoding="utf-8")
    template = Template(file)
    assert not template.is_static
    assert template.document(7, 20)["value"] == value


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("kind: Pod\nx: {{ .Name }}", "cannot read '.Name'"),
        ("kind: Pod\nx: {{ Sqrt .Index }}", "cannot read 'Sqrt'"),
        ("kind: Pod\nx: {{ DivideInt .Index 0 }}", "division by zero"),
        ("kind: Pod\nx: {{ Mod .Index }}", "missing 1 required positional argument"),
        ("kind: Pod\nx: {{ AddInt (Mod .Index 2 }}", "missing )"),
        ("kind: Pod\nx: {{ .Index .Count }}", "unexpected '.Count'"),
        ("a: [", "while parsing"),
        ("- a", "not an object with a kind"),
        ("metadata: {}", "not an object with a kind"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_file(tmp_path: Path, text: str, complaint: str) -> None:
    file = tmp_path / "t.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as raised:
        Template(file).document(1, 2)
    assert str(raised.value).startswith(f"{file}: ")
    assert complaint in str(raised.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        Template(tmp_path / "none.yaml")


def test_equal_text_is_parsed_once(tmp_path: Path) -> None:
    file = tmp_path / "t.yaml"
    file.write_text("kind: Pod\nx: {{ Mod .Index 2 }}\n", encoding="utf-8")
    template = Template(file)
    assert template.document(0, 4) is template.document(2, 4)
    assert template.document(0, 4) is not template.document(1, 4)
    made = {template.document(index, 200)["x"] for index in range(200)}
    assert made == {0, 1}
