"""`moorage capacity lose`: forms of output, exit codes, and what it says of input that is not as it should be."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result
from tests.unit.plan.planning import node, workload

from moorage.cli.commands.capacity.lose import lose_nodes


@pytest.fixture(autouse=True)
def _collects_garbage() -> Iterator[None]:
    yield
    gc.enable()


def lose(tmp_path: Path, *arguments: str) -> Result:
    file = tmp_path / "cluster.yaml"
    documents = [node("n0", "2", zone="a"), node("n1", "2", zone="b"), workload("Deployment", "web", replicas=3)]
    file.write_text(yaml.safe_dump_all(documents))
    return CliRunner().invoke(lose_nodes, [str(file), *arguments], standalone_mode=False)


def test_json_has_the_loss_in_camel_case(tmp_path: Path) -> None:
    document = json.loads(lose(tmp_path, "zone=a", "-o", "json").stdout)
    assert document["version"] == 1
    assert document["nodes"] == ["n0"]
    assert {"afterSeconds", "replacedBy", "newNode"} <= document["evicted"][0].keys()


def test_strict_fails_for_a_pod_that_waits(tmp_path: Path) -> None:
    assert lose(tmp_path, "zone=a", "--strict").return_value == 1
    assert lose(tmp_path, "zone=a").return_value == 0


def test_the_worst_loss_can_be_played_by_its_command(tmp_path: Path) -> None:
    document = json.loads(lose(tmp_path, "--random", "1", "--times", "10", "--seed", "3", "-o", "json").stdout)
    assert document["command"].endswith(f"{document['replay'][0]} --seed 3")
    again = json.loads(lose(tmp_path, *document["replay"], "--seed", "3", "-o", "json").stdout)
    assert len(again["pending"]) == document["pending"]["most"]
    assert again == {"version": 1, **document["worstLoss"]}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "Nothing to lose"),
        (("zone=x",), "none of the 2 nodes has zone=x; there are a, b"),
        (("zone=a", "--random", "1", "--value", "k=v"), "--random loses nodes, and --value keeps them"),
        (("--random", "3"), "--random must be from 1 to 2"),
        (("zone=a", "--value", "k"), "'k' is not of the form KEY=VALUE or KEY=VALUE:EFFECT"),
        (("zone=a", "--value", "k=a b"), "Invalid value"),
    ],
)
def test_wrong_usage_is_one_clear_line(tmp_path: Path, arguments: tuple[str, ...], complaint: str) -> None:
    assert complaint in str(lose(tmp_path, *arguments).exception)
