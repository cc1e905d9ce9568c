"""The pages in docs/plugins and the tables of docs/scheduler-configuration.md say what the code says."""

import re
from pathlib import Path

import pytest
from tests.plugin_pages import INDEX, plugin_pages, write_pages

from moorage.model.gates import default_gates
from moorage.schedule.config.configuration_views import KubeSchedulerConfiguration, Plugins, Point
from moorage.schedule.config.configured_profiles import MAX_WEIGHT, MULTI_POINT, NOT_HERE
from moorage.schedule.config.default_profile import DEFAULT_PLUGINS, PLUGINS, Row, Shared
from moorage.schedule.config.plugin_args import Args

ROOT = Path(__file__).resolve().parents[3]
PAGES = ROOT / "docs" / "plugins"
CONFIGURATION = (ROOT / "docs" / "scheduler-configuration.md").read_text(encoding="utf-8")
AGAIN = "run: python -m tests.plugin_pages docs/plugins"


def test_the_committed_pages_are_what_the_docstrings_give() -> None:
    committed = {path.name: path.read_text(encoding="utf-8") for path in PAGES.glob("*.md")}
    made = plugin_pages()
    assert sorted(committed) == sorted(made), AGAIN
    for name, text in made.items():
        assert committed[name] == text, f"{name} is old; {AGAIN}"


def test_pages_are_written_into_a_new_directory(tmp_path: Path) -> None:
    write_pages(tmp_path / "pages")
    assert {path.name for path in (tmp_path / "pages").iterdir()} == set(plugin_pages())


def test_every_plugin_but_the_binder_has_a_page() -> None:
    assert set(plugin_pages()) == {INDEX, *(f"{name}.md" for name in PLUGINS if name != "DefaultBinder")}


@pytest.mark.parametrize("name", [name for name in plugin_pages() if name != INDEX])
def test_a_page_says_what_the_plugin_does_and_where_kubernetes_does_it(name: str) -> None:
    text = plugin_pages()[name]
    title, _, summary, *_ = text.split("\n")
    assert title == f"# {name.removesuffix('.md')}"
    assert summary.endswith(".")
    assert "## In Kubernetes\n\n`pkg/scheduler/framework/plugins/" in text
    source = re.search(r"\| source \| \[`(.+)`\]\(\.\./\.\./(.+)\) \|", text)
    assert source is not None
    assert source[1] == source[2]
    assert (ROOT / source[1]).is_file()


def listed(row: Row) -> tuple[str, ...]:
    name = row.name if row.name == "DefaultBinder" else f"[{row.name}](plugins/{row.name}.md)"
    points = ", ".join(f"`{point}`" for point in Point if point in row.points)
    fields = row.args.__struct_fields__ if row.args is not None else ()
    arguments = ", ".join(f"`{field}`" for field in fields if field not in Args.__struct_fields__)
    return name, points, str(row.weight or ""), arguments


def cells(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in line.strip("|").split("|"))


def test_the_table_of_plugins_is_the_registry() -> None:
    _, _, table = CONFIGURATION.partition("| plugin | extension points | weight | arguments |\n|---|---|---|---|\n")
    rows = [cells(line) for line in table.split("\n\n")[0].splitlines()]
    assert rows == [listed(row) for row in DEFAULT_PLUGINS]


def test_every_field_of_the_file_is_in_the_table() -> None:
    fields = set(KubeSchedulerConfiguration.__struct_fields__) - {"apiVersion", "kind", "profiles"}
    assert fields <= set(re.findall(r"`(\w+)`", CONFIGURATION))


def test_everything_that_is_refused_by_name_is_in_the_table() -> None:
    assert all(f"`{name}`" in CONFIGURATION and reason in CONFIGURATION for name, reason in NOT_HERE.items())
    assert str(MAX_WEIGHT) in CONFIGURATION


def test_rows_go_by_the_names_of_their_plugins() -> None:
    for row in DEFAULT_PLUGINS:
        if row.make is not None:
            plugin = row.make(row.args() if row.args is not None else None, Shared(default_gates()))
            assert plugin.name == row.name
        if row.args is not None:
            assert row.args.__name__ == f"{row.name}Args"


def test_every_extension_point_can_be_configured() -> None:
    assert {*Point, MULTI_POINT} == set(Plugins.__struct_fields__)
