"""`python -m bench.controllers` as a user runs it, on a cluster small enough for a test."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from bench.controllers.__main__ import main, sizes_of
from bench.controllers.scenario import Sizes

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


def test_sizes_that_cannot_settle_are_refused_before_the_start(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--nodes", "1000", "--pods", "10000", "--evicted", "200"]) == 2
    assert (
        "this cannot settle: in the phase 'evict the others' 10,000 pods would have 20 of 1,000 nodes, "
        "which hold 2,200" in capsys.readouterr().err
    )
    assert main(["--nodes", "10", "--pods", "1000", "--evicted", "990"]) == 2
    assert "in the phase 'evict' 1,000 pods would have 1 of 10 nodes" in capsys.readouterr().err


def test_sizes_follow_the_number_of_pods() -> None:
    for told, sizes in (
        ([], Sizes(nodes=100, deployments=10, pods=1_000, evicted=200)),
        (["--full"], Sizes(nodes=5_000, deployments=500, pods=50_000, evicted=10_000)),
        (["--nodes", "1000", "--pods", "10000"], Sizes(nodes=1_000, deployments=100, pods=10_000, evicted=2_000)),
        (["--pods", "3"], Sizes(nodes=1, deployments=1, pods=3, evicted=1)),
    ):
        assert sizes_of(told) == sizes
        assert not sizes.problem() or sizes.nodes == 1


def test_rounds_are_told_one_after_the_other(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    assert main([*_TINY, "--rounds", "2", "--output", str(tmp_path / "out"), "--json", str(out)]) == 0
    phases = json.loads(out.read_text(encoding="utf-8"))["figures"]["phases"]
    assert [phase["objects"] for phase in phases if phase["name"] in ("create", "delete")] == [12, 12, 12, 12]
