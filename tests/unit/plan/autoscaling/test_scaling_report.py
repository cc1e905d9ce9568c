"""What a plan tells of its autoscaler: text, Markdown, JSON, and the cost."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.unit.autoscale.autoscaled import CLUSTER_AUTOSCALER, Autoscaled, deployment, group, node_of_group
from tests.unit.plan.pools.pool_worlds import TYPES, node_pool

from moorage.cli.commands.plan import command
from moorage.plan.autoscaling.report import scaling_of
from moorage.plan.report.autoscaling import money, pool_line, step_groups, summary_line


def world() -> Autoscaled:
    made = Autoscaled(CLUSTER_AUTOSCALER, [group("a", price=0.6), group("b")], deployment("web", 8))
    return made.until(1800)


def test_the_cost_is_the_price_of_each_node_while_it_is_there() -> None:
    made = Autoscaled(CLUSTER_AUTOSCALER, [group("a", price=3.6)], node_of_group("n", "a"))
    scaling = scaling_of(made.simulation, made.until(2000).attached)
    [(removed, _)] = made.removed()
    assert scaling.cost == pytest.approx(removed * 3.6 / 3600)
    assert scaling.per_hour == 0.0
    assert scaling.highest == 3.6
    assert [(rate.nodes, rate.per_hour) for rate in scaling.rates] == [(1, 3.6), (0, 0.0)]
    [pool] = scaling.pools
    assert (pool.first, pool.most, pool.last, pool.added, pool.removed) == (1, 1, 0, 0, 1)


def test_nodes_without_a_price_are_counted_and_named() -> None:
    made = Autoscaled(CLUSTER_AUTOSCALER, [group("a", price=None)], deployment("web", 1)).until(100)
    scaling = scaling_of(made.simulation, made.attached)
    assert scaling.unpriced == 1
    assert scaling.cost == 0.0


def test_steps_that_are_alike_are_one_line() -> None:
    made = Autoscaled(CLUSTER_AUTOSCALER, [group("a")], deployment("web", 8)).until(100)
    scaling = scaling_of(made.simulation, made.attached)
    [line] = step_groups(scaling)
    assert line.what == "2 nodes of a (a/a, 0.1/h each)"
    assert line.why.startswith("for 8 pods: default/web-")
    text = "cluster-autoscaler in 1m40s: 2 nodes added, 0 removed; 0.2/h at the end, at most 0.2/h, 0.001667 in all"
    assert summary_line(scaling) == text
    assert pool_line(scaling.pools[0]).startswith("0 at the beginning, at most 2, 2 at the end; added 2, removed 0")


@pytest.mark.parametrize(("amount", "text"), [(0.0, "0"), (0.03, "0.03"), (12.3456, "12.35"), (1234.5, "1,234.50")])
def test_money(amount: float, text: str) -> None:
    assert money(amount) == text


def write(directory: Path) -> list[str]:
    (directory / "app.json").write_text(
        json.dumps(deployment("web", 3)) + "\n---\n" + json.dumps(deployment("huge", 1, "99"))
    )
    (directory / "pools.yaml").write_text(node_pool("any") + "\n---\n" + group("own"))
    (directory / "types.json").write_text(TYPES)
    return [
        str(directory / "app.json"),
        "--pools",
        str(directory / "pools.yaml"),
        "--pools",
        str(directory / "types.json"),
    ]


def plan(*words: str) -> Any:
    return CliRunner().invoke(command, words, standalone_mode=True)


def test_the_command_in_all_forms(tmp_path: Path) -> None:
    files = write(tmp_path)
    text = plan(*files, "--autoscale", "karpenter")
    assert text.exit_code == 0, text.output
    assert "1m1s + 1 node of any (c.large/a/spot, 0.03/h)" in text.output
    assert "any: no instance type has enough resources" in text.output
    assert "note: karpenter leaves alone the pools of another autoscaler: own" in text.output
    markdown = plan(*files, "--autoscale", "cluster-autoscaler", "-o", "markdown")
    assert "| 1m10s | + | 1 node of own (own/a, 0.1/h) |" in markdown.output
    document = plan(*files, "--autoscale", "karpenter", "--at", "1h", "-o", "json")
    scaling = json.loads(document.stdout)["autoscaling"]
    assert scaling["autoscaler"] == "karpenter"
    assert [step["did"] for step in scaling["steps"]] == ["requested", "added"]
    assert scaling["notHelped"][0]["pools"].keys() == {"any"}
    assert scaling["seconds"] == 3600


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--autoscale", "nobody"], "'nobody' is not one of 'karpenter', 'cluster-autoscaler'"),
        (["--autoscaler-option", "expander=price"], "--autoscaler-option needs --autoscale."),
        (["--autoscale", "karpenter", "--autoscaler-option", "x=1"], "karpenter has no option 'x' here"),
    ],
)
def test_wrong_options_are_one_line(tmp_path: Path, words: list[str], text: str) -> None:
    result = plan(*write(tmp_path), *words)
    assert result.exit_code == 2
    assert text in result.output


def test_a_plan_without_a_pool_of_the_autoscaler_is_refused(tmp_path: Path) -> None:
    files = write(tmp_path)
    (tmp_path / "pools.yaml").write_text(group("own"))
    result = plan(*files, "--autoscale", "karpenter")
    assert result.exit_code == 2
    assert "there is no pool of karpenter among them" in result.output


def test_what_if_an_autoscaler_is_at_work(tmp_path: Path) -> None:
    """A scale-up of a workload is answered with nodes, which the difference names."""
    files = write(tmp_path)
    result = plan(*files, "--autoscale", "cluster-autoscaler", "--scale", "deployment/web=9", "-o", "json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["whatIf"]
    assert document["autoscaling"]["pools"][0]["last"] == 3
    assert document["summary"]["pending"] == 1
