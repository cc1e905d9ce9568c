"""A new operator is a row of the table: lint, explain, the slider and the playground know it without another change."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.unit.match.trial_operator import TABLE

import moorage

ROOT = Path(moorage.__file__).parents[2]


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Any:
    command = [sys.executable, "-m", "tests.unit.match.trial_operator", str(tmp_path_factory.mktemp("trial"))]
    run = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    return json.loads(run.stdout)


def suggestions(explanation: Any) -> list[str]:
    return [one["summary"] for one in explanation["suggestions"]]


def test_the_operator_does_not_exist_yet() -> None:
    assert "SemverGe" not in {row.name for row in sys.modules[TABLE].OPERATORS}


def test_lint_finds_a_toleration_that_others_make_redundant(said: Any) -> None:
    (redundant,) = [one for one in said["lint"]["findings"] if one["rule"] == "toleration-redundant"]
    assert redundant["path"] == "spec.tolerations[2]"
    assert "together match every taint that kernel SemverGe 5.15.0:NoSchedule matches" in redundant["message"]


def test_lint_finds_taints_that_cannot_be_compared(said: Any) -> None:
    (taint,) = [one for one in said["lint"]["findings"] if one["rule"] == "taint-not-comparable"]
    assert "it never matches toleration SemverGe 5.15.0" in taint["message"]
    assert taint["object"] == "Node odd"


def test_explain_moves_its_thresholds(said: Any) -> None:
    assert "toleration for kernel: SemverGe 5.15.0 → SemverGe 5.4.0" in suggestions(said["tolerates"])
    assert "required node affinity: kernel SemverGe v5.15 → SemverGe v5.4" in suggestions(said["selects"])
    assert "label node old with kernel=v5.15 (now 5.4.0)" in suggestions(said["selects"])


@pytest.mark.parametrize(("where", "rule"), [("taints", ">= 5.15.0"), ("labels", ">= v5.15")])
def test_the_slider_has_its_thresholds(said: Any, where: str, rule: str) -> None:
    scale = said["slider"][where]["kernel"]
    (tick,) = [one for one in scale["ticks"] if one["rule"] == rule]
    ((start, end),) = tick["holds"]
    assert start == tick["stop"] > 0
    assert end == len(scale["stops"])
    assert start in scale["turns"]


def test_the_playground_writes_it_in_cel(said: Any) -> None:
    assert said["playground"]["errors"] == []
    (rule,) = said["playground"]["forms"]
    (cel,) = [one for one in rule["forms"] if one["form"] == "expression"]
    assert cel["agreement"]["differs"] == cel["agreement"]["madeUpDiffers"] == 0
    assert "compareTo(semver('5.15.0', true)) >= 0" in cel["yaml"]
