"""`python -m bench.e2e` as a user runs it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from bench.e2e.__main__ import INTERRUPTED, SHORT, main
from bench.e2e.real_cluster import MEASURED
from bench.process import ROOT
from tests.unit.bench.perf.suites import measured, nodes, write_suite

if TYPE_CHECKING:
    from pathlib import Path


def test_a_workload_is_run_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figures = tmp_path / "out.json"
    arguments = ["--workloads", "SchedulingBasic/5Nodes", "--output", str(tmp_path / "out"), "--json", str(figures)]
    assert main([*arguments, "--no-restart"]) == 0
    document = json.loads(figures.read_text(encoding="utf-8"))
    (one,) = document["workloads"]
    assert (one["workload"], one["scheduled"], one["runs"]) == ("SchedulingBasic/5Nodes", 10, 1)
    assert one["pods_per_second"] > 0
    assert {"python", "cpus", "load"} <= document["machine"].keys()
    assert document["failed"] == document["notSupported"] == []
    said = capsys.readouterr()
    assert said.out == (tmp_path / "out" / "table.md").read_text(encoding="utf-8")
    assert "createPods 10" in said.err


def test_what_fails_and_what_is_not_supported_is_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_suite(tmp_path, nodes(1), measured(2, "budget.yaml"))
    assert main(["--suite", str(tmp_path), "--output", str(tmp_path / "out")]) == 1
    assert "Case/Small on sqlite: failed: POST" in capsys.readouterr().out
    write_suite(tmp_path, nodes(1), {"opcode": "createAny", "templatePath": "config-map.yaml"}, measured(1))
    assert main(["--suite", str(tmp_path), "--output", str(tmp_path / "out")]) == 0
    assert "Case/Small: not supported: createAny of ConfigMap" in capsys.readouterr().out


def test_unless_told_the_workloads_of_the_real_one_are_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    names = [line.partition(" ")[0] for line in capsys.readouterr().out.splitlines()]
    assert sorted(names) == sorted(SHORT)
    assert {name.partition("/")[0] for name in names} == MEASURED.keys()
    assert main(["--list", "--memory"]) == 0
    assert capsys.readouterr().out == "Memory/5000Nodes_50000Pods\n"


def test_mistakes_end_with_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--workloads", "Nothing"]) == 2
    assert "no workload is called 'Nothing'" in capsys.readouterr().err


def test_who_is_told_to_end_leaves_nothing_behind(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench.e2e", "--workloads", "SchedulingBasic/5000Nodes", "--output", str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "started" in line:
                process.send_signal(signal.SIGTERM)
        assert process.wait() == INTERRUPTED
        assert line == "interrupted\n"
    assert list((tmp_path / "data").iterdir()) == []
