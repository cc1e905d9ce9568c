"""The benchmarks run: every theme, on inputs small enough for a test. How long things take is not asserted."""

from __future__ import annotations

import json
import math
import sys
from typing import TYPE_CHECKING

import pytest
from bench import __main__ as command
from bench import autoscale, cel_loops, fit, lint, lose, measure, plan, startup, twins
from bench.measure import Timing, race
from bench.perf import twin_race
from bench.result import Result, shown, table, timed
from bench.themes import THEMES

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "BATCHES", 2)
    monkeypatch.setattr(measure, "BATCH_NS", 1)
    monkeypatch.setattr(startup, "RUNS", 1)
    monkeypatch.setattr(lint, "RUNS", 1)
    monkeypatch.setattr(plan, "RUNS", 1)
    monkeypatch.setattr(plan, "NODES", 20)
    monkeypatch.setattr(plan, "REPLICAS", 2)
    monkeypatch.setattr(plan, "PLACED", 400)
    monkeypatch.setattr(lint, "PODS", 20)
    monkeypatch.setattr(lint, "FILES", 2)
    monkeypatch.setattr(lint, "GROWTH", (1, 2))
    monkeypatch.setattr(twins, "SIZE", "500Nodes")
    monkeypatch.setattr(twins, "SUITES", twins.SUITES[1:])
    monkeypatch.setattr(twin_race, "PODS", 50)
    monkeypatch.setattr(twin_race, "UNEQUAL_PODS", 50)
    monkeypatch.setattr(twin_race, "RACES", 1)
    monkeypatch.setattr(cel_loops, "COST", 500)
    monkeypatch.setattr(fit, "PODS", 500)
    monkeypatch.setattr(fit, "SEEDS", (1,))
    monkeypatch.setattr(fit, "SHAPES", (5,))
    monkeypatch.setattr(autoscale, "DEPLOYMENTS", 2)
    monkeypatch.setattr(autoscale, "REPLICAS", 5)
    monkeypatch.setattr(autoscale, "HOURS", "10m")
    monkeypatch.setattr(lose, "NODES", 20)
    monkeypatch.setattr(lose, "REPLICAS", 4)
    monkeypatch.setattr(lose, "TIMES", 3)


@pytest.mark.parametrize("theme", THEMES)
def test_every_theme_measures_something(theme: str) -> None:
    results = list(THEMES[theme]())
    assert results
    for result in results:
        assert result.theme == theme
        assert math.isfinite(result.median)
        assert result.unit in {"s", "B", "1/s"}
    assert len({result.what for result in results}) == len(results)


def test_the_command_prints_a_table_and_writes_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.json"
    monkeypatch.setattr(sys, "argv", ["bench", "--only", "parsing", "--json", str(out)])
    assert command.main() == 0
    lines = capsys.readouterr().out.splitlines()
    document = json.loads(out.read_text(encoding="utf-8"))
    assert {result["theme"] for result in document["results"]} == {"parsing"}
    assert len(lines) == len(document["results"]) + 2


def test_a_race_times_each_call() -> None:
    calls: list[str] = []
    timings = race(lambda: calls.append("a"), lambda: calls.append("b"))
    assert len(timings) == 2
    assert {"a", "b"} == set(calls)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.25, "s", "250.00 ms"),
        (2.5, "s", "2.50 s"),
        (4.2e-6, "s", "4.20 µs"),
        (8.4e-8, "s", "84 ns"),
        (3 * 2**20, "B", "3.0 MiB"),
        (2345.6, "1/s", "2,346 /s"),
        (None, "s", ""),
    ],
)
def test_values_are_shown_with_a_unit_people_read(value: float | None, unit: str, text: str) -> None:
    assert shown(value, unit) == text


def test_the_table_is_aligned_and_shows_ratios() -> None:
    lines = table(
        [
            timed("t", "ours", Timing(1e-6, 2e-6), against=Timing(4e-6, 5e-6), compared_with="theirs"),
            Result("t", "something longer", 1.0),
        ]
    ).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert "0.25×" in lines[2]
