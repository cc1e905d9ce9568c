"""Make a documentation page for each plugin of its module's docstring and its row in `default_profile`.

`python -m tests.plugin_pages docs/plugins` writes the pages; a test fails when they are out of date. What a docstring
says after `Kubernetes:` and `Differs:` gets a heading of its own.
"""

import re
import sys
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path
from textwrap import fill

from moorage.model.gates import default_gates
from moorage.schedule.config.configuration_views import Point
from moorage.schedule.config.default_profile import DEFAULT_PLUGINS, Row, Shared
from moorage.schedule.config.plugin_args import Args
from moorage.schedule.plugins.priority_sort import PrioritySort
from moorage.schedule.plugins.scheduling_gates import SchedulingGates
from moorage.schedule.preemption.preemption import DefaultPreemption

INDEX = "README.md"
_PART = re.compile(r"(?:^|(?<=\s))(Kubernetes|Differs): ")
_PATH = re.compile(r"(?<!\S)([\w.{},-]+(?:/[\w.{},-]+)+(?<=[\w}]))")
_HEADINGS = {"Kubernetes": "In Kubernetes", "Differs": "Where Moorage differs"}
# Plugins that are a part of the queue or the cycle; whoever binds has no module of its own.
_OTHERS: dict[str, type] = {
    SchedulingGates.name: SchedulingGates,
    PrioritySort.name: PrioritySort,
    DefaultPreemption.name: DefaultPreemption,
}


def plugin_pages() -> dict[str, str]:
    """The text of every page by its file's name, the index included."""
    documented = [(row, _module_of(row)) for row in DEFAULT_PLUGINS]
    pages = {f"{row.name}.md": _page(row, module) for row, module in documented if module}
    return {INDEX: _index(), **pages}


def _module_of(row: Row) -> str:
    if row.make is None:
        found = _OTHERS.get(row.name)
        return found.__module__ if found is not None else ""
    args = row.args() if row.args is not None else None
    return type(row.make(args, Shared(default_gates()))).__module__


def _summary_and_rest(module: str) -> tuple[str, str]:
    first, _, rest = cleandoc(sys.modules[module].__doc__ or "").partition("\n")
    return first.partition(": ")[2], rest.strip()


def _page(row: Row, module: str) -> str:
    summary, rest = _summary_and_rest(module)
    body, *parts = _PART.split(rest)
    source = f"src/{module.replace('.', '/')}.py"
    lines = [f"# {row.name}", "", _sentence(summary), ""]
    if body.strip():
        lines += [_filled(body), ""]
    lines += ["| | |", "|---|---|", f"| asked at | {_points(row)} |"]
    if row.weight:
        lines.append(f"| weight | {row.weight} |")
    if row.args is not None:
        lines.append(f"| [arguments](../scheduler-configuration.md) | {_arguments(row.args)} |")
    lines += [f"| source | [`{source}`](../../{source}) |", ""]
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        if name in _HEADINGS:
            lines += [f"## {_HEADINGS[name]}", "", _filled(_sentence(text)), ""]
    return "\n".join(lines).rstrip() + "\n"


def _index() -> str:
    rows = "\n".join(_index_rows())
    return f"""# Plugins

All plugins, in the order in which they run unless a [configuration file](../scheduler-configuration.md) says otherwise.
The first plugin to refuse a node gives the reason that a FailedScheduling event counts; `moorage explain` shows what
all of them say. `python -m tests.plugin_pages docs/plugins` makes these pages of the docstrings of plugins.

| plugin | asked at | weight | |
|---|---|---|---|
{rows}
"""


def _index_rows() -> Iterator[str]:
    for row in DEFAULT_PLUGINS:
        module = _module_of(row)
        name = f"[{row.name}]({row.name}.md)" if module else row.name
        summary = _sentence(_summary_and_rest(module)[0]) if module else "The pod gets its node."
        yield f"| {name} | {_points(row)} | {row.weight or ''} | {summary} |"


def _points(row: Row) -> str:
    return ", ".join(f"`{point}`" for point in Point if point in row.points)


def _arguments(args: type[Args]) -> str:
    return ", ".join(f"`{name}`" for name in args.__struct_fields__ if name not in Args.__struct_fields__)


def _filled(text: str) -> str:
    """Lines of even length, with paths as code."""
    paths = _PATH.sub(r"`\1`", text)
    return "\n\n".join(fill(part, 120, break_long_words=False, break_on_hyphens=False) for part in paths.split("\n\n"))


def _sentence(text: str) -> str:
    """Begins with a capital, unless it begins with a path or a name."""
    first = text.split(maxsplit=1)[0]
    return text if not first.isalpha() or not first.islower() else text[0].upper() + text[1:]


def write_pages(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in plugin_pages().items():
        (directory / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_pages(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/plugins"))
