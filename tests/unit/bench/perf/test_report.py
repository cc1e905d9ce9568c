"""Figures → medians, twins, table and plot."""

from __future__ import annotations

from xml.etree import ElementTree

from bench.perf.figures import Figures, percentile
from bench.perf.plot import plot, series_of
from bench.perf.report import table
from bench.perf.summary import summarize


def figures(workload: str, nodes: int, rate: float) -> Figures:
    seconds = 100 / rate
    return Figures(workload, nodes, seconds, seconds / 2, rate, 10.0, 20.0, 100, 1, 2, 2**20, "")


def test_runs_are_summarized_by_their_median() -> None:
    (summary,) = summarize(figures("SchedulingBasic/5000Nodes", 5000, rate) for rate in (100.0, 300.0, 200.0))
    assert (summary.runs, summary.pods_per_second, summary.pods_per_cpu_second) == (3, 200.0, 400.0)
    assert summary.goal == 10_020
    assert summary.as_json()["unschedulable"] == 1


def test_goals_are_for_5000_nodes() -> None:
    (summary,) = summarize([figures("SchedulingBasic/500Nodes", 500, 1.0)])
    assert summary.goal is None


def test_ratios_to_twins_are_shown() -> None:
    runs = [figures("CelTolerations/5Nodes", 5, 100.0), figures("CelTolerationsEqualTwin/5Nodes", 5, 100.0)]
    summaries = summarize(runs, {"CelTolerations/5Nodes": 1.034})
    assert [summary.twin_ratio for summary in summaries] == [1.034, None]
    assert table(summaries).splitlines()[2].endswith("1.03 |")


def test_the_table_is_aligned() -> None:
    lines = table(summarize([figures("A/1Node", 1, 12345.0), figures("B/100000Nodes", 100000, 1.0)])).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert "12,345" in lines[2]


def test_the_plot_is_well_formed_and_has_a_line_for_each_case_of_several_sizes() -> None:
    runs = [figures(f"A<&>/{nodes}Nodes", nodes, 1e5 / nodes) for nodes in (1000, 5000, 100_000)]
    runs += [figures("B/10Nodes", 10, 5.0), figures("C/10Nodes", 10, 5.0), figures("C/20Nodes", 20, 5.0)]
    summaries = summarize(runs)
    assert {case: len(line) for case, line in series_of(summaries).items()} == {"A<&>": 3, "C": 2}
    root = ElementTree.fromstring(plot(summaries))
    space = {"svg": "http://www.w3.org/2000/svg"}
    assert len(root.findall("svg:polyline", space)) == 2
    assert "A<&>" in [text.text for text in root.findall("svg:text", space)]


def test_a_plot_of_nothing_says_so() -> None:
    root = ElementTree.fromstring(plot(summarize([figures("A/1Node", 1, 1.0)])))
    assert "several numbers of nodes" in "".join(root.itertext())


def test_percentiles() -> None:
    assert percentile([], 0.5) == 0
    assert percentile([3, 1, 2], 0.5) == 2
    assert percentile(list(range(100)), 0.99) == 99
