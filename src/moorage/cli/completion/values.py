"""List the values of an option or argument by the metavar in its help: stories, gates, rules, contexts, files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

FILES, DIRECTORIES = "file", "dir"


class Choice(NamedTuple):
    """A word, or with `kind` files or directories, which the shell completes by itself."""

    value: str
    text: str = ""
    kind: str = ""


def choices_of(param: click.Parameter, context: click.Context, incomplete: str) -> list[Choice]:
    """Return the values of a parameter that begin with the incomplete word; empty if it takes any text."""
    metavar = (param.metavar or "").strip("[].")
    begun, _, word = incomplete.rpartition(",")  # lists are completed at their last element
    source = _clusters if param.name == "name" else _SOURCES.get(metavar)
    if source is not None:
        prefix = f"{begun}," if begun and metavar.endswith(",") else ""
        word = word if prefix or not begun else incomplete
        found = [choice._replace(value=prefix + choice.value) for choice in source(context, word)]
    else:
        found = [_from_click(item) for item in param.shell_complete(context, incomplete)]
    if "FILE" in metavar or metavar == "DIRECTORY":
        found.append(Choice("", kind=FILES if "FILE" in metavar else DIRECTORIES))
    return [choice for choice in found if choice.kind or choice.value.startswith(incomplete)]


def _from_click(item: CompletionItem[str]) -> Choice:
    if item.type in (FILES, DIRECTORIES):
        return Choice("", kind=item.type)
    return Choice(str(item.value), item.help or "")


def _gates(_context: click.Context, word: str) -> Iterable[Choice]:
    """Return gates with `=`, the groups AllAlpha and AllBeta too; after it the two values."""
    name, has_value, _ = word.partition("=")
    if has_value:
        return [Choice(f"{name}=true"), Choice(f"{name}=false")]
    groups = [Choice("AllAlpha=", "all alpha gates"), Choice("AllBeta=", "all beta gates")]
    return [*groups, *(choice._replace(value=f"{choice.value}=") for choice in _gate_names(_context, word))]


def _gate_names(_context: click.Context, _word: str) -> Iterable[Choice]:
    from moorage.model.gates import GATES

    return [Choice(gate.name, f"{gate.stage.value}, {'on' if gate.default else 'off'} by default") for gate in GATES]


def _rules(_context: click.Context, _word: str) -> Iterable[Choice]:
    from moorage.lint.catalogue import RULES

    return [Choice(rule.name, rule.summary) for rule in RULES]


def _contexts(context: click.Context, _word: str) -> Iterable[Choice]:
    from moorage.client.kubeconfig.access import KubeconfigError
    from moorage.client.kubeconfig.loading import context_names

    try:
        return [Choice(name) for name in context_names(str(context.params.get("kubeconfig") or ""))]
    except KubeconfigError:
        return []


def _clusters(_context: click.Context, _word: str) -> Iterable[Choice]:
    from moorage.cluster.kept.kept_cluster import all_clusters

    return [Choice(cluster.name, str(cluster.directory)) for cluster in all_clusters() if cluster.name]


def _stories(_context: click.Context, _word: str) -> Iterable[Choice]:
    from moorage.demo.story import NoSuchStory, StoryError, all_stories, default_shelf

    try:
        stories = [Choice(found.story.name, found.story.title) for found in all_stories(default_shelf())]
    except (NoSuchStory, StoryError):
        stories = []
    return [*stories, Choice("", kind=DIRECTORIES)]


def _controllers(_context: click.Context, word: str) -> Iterable[Choice]:
    from moorage.control.registry import chosen

    names = [row.name for row in chosen(("*",), simulated=True)]
    if word.startswith("-"):
        return [Choice(f"-{name}", "all but this one") for name in names]
    return [Choice(name) for name in names]


def _commands(context: click.Context, _word: str) -> Iterable[Choice]:
    """Return the commands of `moorage help`, or those below the ones that are named already."""
    root = context.find_root()
    command: click.Command | None = root.command
    for name in context.params.get("names") or ():
        command = command.get_command(root, name) if isinstance(command, click.Group) else None
    if not isinstance(command, click.Group):
        return []
    return [Choice(name) for name in command.list_commands(root)]


#: By metavar, without the brackets and dots around it.
_SOURCES: dict[str, Callable[[click.Context, str], Iterable[Choice]]] = {
    "NAME=BOOL,": _gates,
    "GATE": _gate_names,
    "RULE,": _rules,
    "RULE": _rules,
    "CONTEXT": _contexts,
    "CONTEXT|FILE": _contexts,
    "STORY": _stories,
    "CONTROLLER,": _controllers,
    "COMMAND": _commands,
}
