"""Complete words of a command line: subcommands, options and their values.

The values of an option or argument follow from its name, or from the metavar in its help: stories, gates, rules,
contexts, clusters, nodes, pods, files. `completion_scripts` has what the shells and kubectl are told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from moorage.cli.object_names import ObjectName
    from moorage.model.kinds import Kind

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
    source = _NAMED.get(param.name or "") or _SOURCES.get(metavar)
    if source is not None:
        prefix = f"{begun}," if begun and metavar.endswith(",") else ""
        word = word if prefix or not begun else incomplete
        choices = [choice._replace(value=prefix + choice.value) for choice in source(context, word)]
    else:
        choices = [_from_click(item) for item in param.shell_complete(context, incomplete)]
    if "FILE" in metavar or metavar == "DIRECTORY":
        choices.append(Choice("", kind=FILES if "FILE" in metavar else DIRECTORIES))
    return [choice for choice in choices if choice.kind or choice.value.startswith(incomplete)]


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
    from moorage.lint.pages import listed_rules

    return [Choice(rule.name, rule.summary) for rule in listed_rules()]


def _releases(_context: click.Context, _word: str) -> Iterable[Choice]:
    from moorage.model.kubernetes_version import NEWEST_MINOR, OLDEST_MINOR

    return [Choice(f"1.{minor}") for minor in range(NEWEST_MINOR, OLDEST_MINOR - 1, -1)]


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
        stories = [Choice(shelved.story.name, shelved.story.title) for shelved in all_stories(default_shelf())]
    except (NoSuchStory, StoryError):
        stories = []
    return [*stories, Choice("", kind=DIRECTORIES)]


def _controllers(_context: click.Context, word: str) -> Iterable[Choice]:
    from moorage.control.registry import chosen

    names = [row.name for row in chosen(("*",), simulated=True)]
    if word.startswith("-"):
        return [Choice(f"-{name}", "all but this one") for name in names]
    return [Choice(name) for name in names]


def _plugins(_context: click.Context, _word: str) -> Iterable[Choice]:
    from moorage.cluster.admission_plugins import OPTIONAL_PLUGINS

    return [Choice(name) for name in OPTIONAL_PLUGINS]


def _commands(context: click.Context, _word: str) -> Iterable[Choice]:
    """Return the commands of `moorage help`, or those below the ones that are named already."""
    root = context.find_root()
    command: click.Command | None = root.command
    for name in context.params.get("names") or ():
        command = command.get_command(root, name) if isinstance(command, click.Group) else None
    if not isinstance(command, click.Group):
        return []
    return [Choice(name) for name in command.list_commands(root)]


def _components(context: click.Context, _word: str) -> Iterable[Choice]:
    """Return the processes of a cluster that have a log of their own."""
    from moorage.cluster.ha.layout import LOGS
    from moorage.cluster.kept.kept_cluster import find_cluster

    cluster = find_cluster(context.params.get("name") or "", context.params.get("data_dir"))
    return [Choice(path.stem) for path in sorted((cluster.directory / LOGS).glob("*.log"))]


def _nodes(context: click.Context, _word: str) -> Iterable[Choice]:
    from moorage.cli.object_names import object_names
    from moorage.model.kinds import KINDS

    return [Choice(name) for _, name in object_names(context, KINDS.NODE)]


def _changed_nodes(context: click.Context, word: str) -> Iterable[Choice]:
    """Return nodes with `=`, after which a taint or label follows."""
    return [] if "=" in word else [Choice(f"{choice.value}=") for choice in _nodes(context, word)]


def _namespaces(context: click.Context, _word: str) -> Iterable[Choice]:
    from moorage.cli.object_names import object_names
    from moorage.model.kinds import KINDS

    return [Choice(name) for _, name in object_names(context, KINDS.NAMESPACE)]


def _targets(context: click.Context, word: str) -> Iterable[Choice]:
    """Return what `explain` takes: kinds, after their `/` the names, and pods by their names alone."""
    from moorage.model.kinds import KINDS

    workloads = [kind for kind in KINDS.values() if kind.template and kind.read_by_plan]
    if "/" in word:
        named = _with_kind(context, word, (KINDS.POD, KINDS.NODE, *workloads))
        return named or [Choice(f"{one}/{name}") for one, name in _chosen(context, KINDS.POD) if one]
    kinds = [Choice(f"{kind.singular}/") for kind in (KINDS.POD, *workloads, KINDS.NODE)]
    return [*kinds, *(Choice(name, namespace) for namespace, name in (_chosen(context, KINDS.POD) if word else ()))]


def _rolled_out(context: click.Context, word: str) -> Iterable[Choice]:
    from moorage.model.kinds import KINDS

    kinds = (KINDS.DEPLOYMENT, KINDS.STATEFUL_SET, KINDS.DAEMON_SET)
    return _with_kind(context, word, kinds) if "/" in word else [Choice(f"{kind.singular}/") for kind in kinds]


def _scaled(context: click.Context, word: str) -> Iterable[Choice]:
    """Return workloads with `=`, after which a number follows."""
    from moorage.model.kinds import KINDS

    kinds = [kind for kind in KINDS.values() if kind.subresource("scale") is not None]
    if "/" not in word:
        return [Choice(f"{kind.singular}/") for kind in kinds]
    return [Choice(f"{choice.value}=", choice.text) for choice in _with_kind(context, word, kinds)]


def _with_kind(context: click.Context, word: str, kinds: Iterable[Kind]) -> list[Choice]:
    """Return `kind/name` in the kind's spelling of the word; with the namespace where two have objects of a name."""
    spelled = word.partition("/")[0]
    kind = next((kind for kind in kinds if spelled.lower() in (kind.singular, kind.plural, *kind.short_names)), None)
    if kind is None:
        return []
    named = _chosen(context, kind)
    names = [name for _, name in named]
    plain = [Choice(f"{spelled}/{name}", namespace) for namespace, name in named]
    several = [Choice(f"{spelled}/{one.namespace}/{one.name}") for one in named if names.count(one.name) > 1]
    return [*{choice.value: choice for choice in plain}.values(), *several]


def _chosen(context: click.Context, kind: Kind) -> list[ObjectName]:
    """Return the names of objects, of one namespace if `explain -n` chooses one."""
    from moorage.cli.object_names import object_names

    wanted = context.params.get("namespace") if context.command.name == "explain" else ""
    return [one for one in object_names(context, kind) if not wanted or one.namespace in (wanted, "")]


#: By the name of the option or argument.
_NAMED: dict[str, Callable[[click.Context, str], Iterable[Choice]]] = {
    "kubernetes_version": _releases,
    "name": _clusters,
    "component": _components,
    "namespace": _namespaces,
    "namespaces": _namespaces,
    "pod": _targets,
    "node": _nodes,
}
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
    "PLUGIN,": _plugins,
    "COMMAND": _commands,
    "NODE": _nodes,
    "NODE=KEY=VALUE:EFFECT": _changed_nodes,
    "NODE=KEY[:EFFECT": _changed_nodes,
    "NODE=KEY=VALUE": _changed_nodes,
    "KIND/[NAMESPACE/]NAME": _rolled_out,
    "KIND/[NAMESPACE/]NAME=REPLICAS": _scaled,
}


def complete(root: click.Command, program: str, words: list[str], incomplete: str) -> list[Choice]:
    """Return what may stand for the incomplete word after the given words."""
    found_context = _context(root, program, words)
    if found_context is None:
        return []
    context, rest_are_arguments = found_context
    option, equals, value = incomplete.partition("=")
    if equals and option.startswith("--") and not rest_are_arguments:
        param = _option(context, option)
        if param is None or param.is_flag:
            return []
        return [
            choice if choice.kind else choice._replace(value=f"{option}={choice.value}")
            for choice in choices_of(param, context, value)
        ]
    if not rest_are_arguments:
        if words and (waiting := _option(context, words[-1])) is not None and not waiting.is_flag:
            return choices_of(waiting, context, incomplete)
        if incomplete.startswith("-") and incomplete != "-":
            return _options(context, incomplete)
    found_words = _arguments(context, incomplete)
    return found_words or ([] if rest_are_arguments else _options(context, incomplete))


def _context(root: click.Command, program: str, words: list[str]) -> tuple[click.Context, bool] | None:
    """Return the innermost command's context, and whether only arguments follow; None if there is no such command."""
    command, name, parent, rest = root, program, None, list(words)
    while True:
        context = command.make_context(name, [], parent=parent, resilient_parsing=True)
        position = _first_argument(context, rest)
        if not isinstance(command, click.Group) or position >= len(rest):
            break
        below = command.get_command(context, rest[position])
        if below is None:
            return None
        command, name, parent, rest = below, rest[position], context, rest[position + 1 :]
    waiting = _option(context, rest[-1]) if rest else None
    given = rest[:-1] if waiting is not None and not waiting.is_flag else rest
    context = command.make_context(name, list(given), parent=parent, resilient_parsing=True)
    return context, "--" in given


def _first_argument(context: click.Context, words: list[str]) -> int:
    """Return the position of the first word that is neither an option nor an option's value."""
    position = 0
    while position < len(words) and words[position].startswith("-"):
        option = _option(context, words[position])
        position += 2 if option is not None and not option.is_flag else 1
    return position


def _option(context: click.Context, name: str) -> click.Option | None:
    """Return the option of that name which takes a value or is a flag."""
    for param in context.command.get_params(context):
        if isinstance(param, click.Option) and name in (*param.opts, *param.secondary_opts):
            return param
    return None


def _options(context: click.Context, incomplete: str) -> list[Choice]:
    """Return the options that are not given yet, or may be given again."""
    from click.core import ParameterSource

    choices = []
    for param in context.command.get_params(context):
        if not isinstance(param, click.Option) or param.hidden:
            continue
        given = context.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
        if given and not param.multiple:
            continue
        names = [name for name in (*param.opts, *param.secondary_opts) if name.startswith(incomplete)]
        long = [name for name in names if name.startswith("--")]
        text = " ".join((param.help or "").split())
        choices += [Choice(name, text) for name in long or names]
    return choices


def _arguments(context: click.Context, incomplete: str) -> list[Choice]:
    command = context.command
    if isinstance(command, click.Group):
        return [Choice(str(item.value), item.help or "") for item in command.shell_complete(context, incomplete)]
    for param in command.get_params(context):
        if isinstance(param, click.Argument) and (param.nargs == -1 or not context.params.get(param.name or "")):
            return choices_of(param, context, incomplete)
    return []
