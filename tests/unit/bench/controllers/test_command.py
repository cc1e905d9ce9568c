"""`python -m bench.controllers` as a user runs it, on a cluster small enough for a test."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from bench.controllers.__main__ import main

if TYPE_CHECKING:
    from pathlib import Path

_TINY = ["--nodes", "4", "--deployments", "2", "--pods", "12", "--evicted", "3"]


def test_every_phase_is_run_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.json"
    assert main([*_TINY, "--output", str(tmp_path / "out"), "--json", str(out)]) == 0
    document = json.loads(out.read_text(encoding="utf-8"))
    figures = document["figures"]
    phases = {phase["name"]: phase for phase in figures["phases"]}
    assert [*phases] == ["taint", "create", "roll", "evict", "evict the others", "delete"]
    assert [phases[name]["objects"] for name in ("taint", "create", "roll", "delete")] == [4, 12, 12, 12]
    assert 3 <= phases["evict"]["objects"] <= 12
    assert phases["evict the others"]["told_seconds"] > 0
    assert figures["most_of_an_owner"] <= figures["allowed"] == 8
    assert figures["moved"] == 0
    reconciled = {queue["controller"] for queue in figures["queues"]}
    assert {"deployment-controller", "replicaset-controller", "taint-eviction-controller"} <= reconciled
    assert {"python", "cpus", "load"} <= document["machine"].keys()
    said = capsys.readouterr()
    assert said.out == (tmp_path / "out" / "table.md").read_text(encoding="utf-8")
    assert list((tmp_path / "out").iterdir()) == [tmp_path / "out" / "table.md"]


def test_sizes_that_cannot_be_end_with_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    for sizes in (["--pods", "5", "--deployments", "10"], ["--deployments", "0"], ["--rounds", "0"]):
        assert main(sizes) == 2
        assert "at least one of everything" in capsys.readouterr().err


def test_rounds_are_told_one_after_the_other(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    assert main([*_TINY, "--rounds", "2", "--output", str(tmp_path / "out"), "--json", str(out)]) == 0
    phases = json.loads(out.read_text(encoding="utf-8"))["figures"]["phases"]
    assert [phase["objects"] for phase in phases if phase["name"] in ("create", "delete")] == [12, 12, 12, 12]
