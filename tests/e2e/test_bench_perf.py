"""`python -m bench.perf` as a user runs it, on workloads that take a moment."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest
from bench import measure
from bench.perf import twin_race
from bench.perf.__main__ import main
from tests.unit.bench.perf.suites import measured, nodes, write_suite

if TYPE_CHECKING:
    from pathlib import Path


def test_chosen_workloads_are_run_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, figures = tmp_path / "out", tmp_path / "out.json"
    names = "SchedulingBasic/5Nodes TopologySpreading/500Nodes"
    assert main(["--workloads", names, "--output", str(out), "--json", str(figures), "--repeat", "1"]) == 0
    document = json.loads(figures.read_text(encoding="utf-8"))
    assert {one["workload"] for one in document["workloads"]} == set(names.split())
    assert all(one["pods_per_second"] > 0 and one["peak_bytes"] > 0 for one in document["workloads"])
    assert document["notSupported"] == []
    assert {"python", "cpus", "load"} <= document["machine"].keys()
    assert capsys.readouterr().out == (out / "table.md").read_text(encoding="utf-8")
    ElementTree.parse(out / "plot.svg")


def test_twins_that_are_chosen_together_are_raced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(measure, "BATCHES", 2)
    monkeypatch.setattr(measure, "BATCH_NS", 1)
    monkeypatch.setattr(twin_race, "PODS", 1000)
    figures = tmp_path / "out.json"
    names = "NumericTolerations/500Nodes NumericTolerationsEqualTwin/500Nodes"
    assert main(["--workloads", names, "--output", str(tmp_path), "--json", str(figures), "--repeat", "1"]) == 0
    ours, twin = json.loads(figures.read_text(encoding="utf-8"))["workloads"]
    assert ours["twin_ratio"] > 0
    assert twin["twin_ratio"] is None


def test_what_is_not_supported_is_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_suite(tmp_path, nodes(), {"opcode": "createAny", "templatePath": "config-map.yaml"}, measured(1))
    figures = tmp_path / "out.json"
    assert main(["--suite", str(tmp_path), "--output", str(tmp_path / "out"), "--json", str(figures)]) == 0
    reason = "not supported: createAny of ConfigMap (v1), in config-map.yaml"
    assert f"Case/Small: {reason}" in capsys.readouterr().out
    document = json.loads(figures.read_text(encoding="utf-8"))
    assert document["notSupported"] == [{"workload": "Case/Small", "reason": reason}]


def test_workloads_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "SchedulingBasic/5000Nodes [short]" in lines
    assert all("short" in line for line in lines)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--workloads", "Nothing"], "no workload is called 'Nothing'"),
        (["--suite", "nowhere"], "nowhere: No such file or directory"),
    ],
)
def test_mistakes_end_with_a_sentence(arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert complaint in capsys.readouterr().err


def test_a_workload_that_fails_while_it_runs_ends_with_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_suite(tmp_path, nodes(), measured(1, "none.yaml"))
    assert main(["--suite", str(tmp_path), "--output", str(tmp_path / "out")]) == 2
    assert "none.yaml: No such file" in capsys.readouterr().err
