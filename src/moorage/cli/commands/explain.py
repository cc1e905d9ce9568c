"""Read the options of `moorage explain`, and print the explanation in the form that is asked for.

In: the command line. Out: the explanation on standard output, complaints on standard error; exit 0 if the pod is
explained, 1 with --strict if it stays Pending, 2 if there is no such pod, something could not be read, or the command
line is wrong. Everything else is imported when it is needed.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import click

from moorage.cli.input.pools import given_pools, pools_option
from moorage.cli.options import (
    all_option,
    allow_empty_option,
    colour_option,
    component_gates_options,
    config_option,
    context_option,
    gates_option,
    live_kubeconfig_option,
    scrape_option,
    seed_option,
)
from moorage.cli.shared import (
    coloured,
    complain_of_unreadable,
    make_planner,
    piped_input,
    prepare_output,
    refuse_empty,
    say,
    terminal_width,
    write_lines,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from moorage.plan.explain.daemon_set import DaemonExplanation
    from moorage.plan.explain.explanation import Explanation
    from moorage.plan.planner import Planner

_EXPLAINED, _PENDING, _UNREADABLE = 0, 1, 2


@click.command("explain")
@click.argument("pod", metavar="[KIND/]NAME")
@click.option(
    "-f",
    "--filename",
    "paths",
    multiple=True,
    metavar="FILE|DIRECTORY|-",
    help="The cluster and the pod: manifests, or what kubectl get prints. Repeatable; standard input if piped.",
)
@click.option("-n", "--namespace", default="", help="The pod's namespace, if there are pods of this name in several.")
@click.option(
    "--node", default="", metavar="NODE", help="Explain one node in full: every plugin, also those that agree."
)
@click.option(
    "--alone",
    is_flag=True,
    help="Take the cluster as it is, without placing first the pods that come before this one in the queue.",
)
@live_kubeconfig_option
@context_option
@scrape_option
@gates_option
@component_gates_options
@config_option
@seed_option
@click.option(
    "--strict",
    is_flag=True,
    help="Exit 1 if the pod stays Pending or is refused, or others would have to leave for it.",
)
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(["text", "json", "markdown", "html"]),
    default="text",
    show_default=True,
    help="Output format.",
)
@pools_option
@all_option
@colour_option
@allow_empty_option
def command(
    pod: str,
    paths: tuple[str, ...],
    namespace: str,
    node: str,
    alone: bool,
    kubeconfig: str | None,
    context: str,
    endpoints: tuple[str, ...],
    gates: tuple[str, ...],
    config: str | None,
    seed: int,
    strict: bool,
    form: str,
    pool_paths: tuple[str, ...],
    everything: bool,
    colour: str,
    allows_empty: bool,
    **component_gates: tuple[str, ...],
) -> int:
    """Explain where a pod goes, or why it is Pending, node by node, and what would help.

    Names every reason of every node, not only the first; the scores of the nodes that fit; whom preemption would evict;
    and the smallest changes that would make the pod fit, each of which was tried. With --pools it says for each pool of
    an autoscaler why it would or would not start a node for the pod, and names the cheapest. deployment/NAME (and
    replicaset, statefulset, job, cronjob; short names too) counts its pods and explains the first that stays Pending,
    or the next one it would create. daemonset/NAME tells of each node why it has or has not a pod; node/NAME tells
    which pods are on a node, and of all others why they are not.

    \b
    Examples:
      moorage explain pod/web-1 -f cluster/
      moorage dump | moorage explain shop/web-1
      moorage explain deployment/web -f cluster/ -f web.yaml --node node-3
      moorage explain daemonset/agent -f cluster/
      moorage explain node/node-3 -f cluster/
      moorage explain pod/web-1 --kubeconfig ~/.kube/config
      moorage explain pod/web-1 -f cluster/ --output html > web-1.html
      moorage explain pod/web-1 -f cluster/ --pools pools.yaml --pools types.json

    \b
    Exit code: 0 it is explained, 1 it stays Pending and --strict was given, 2 no such pod, wrong usage or input.
    """
    from moorage.plan.explain.target import TargetError, node_named

    gc.disable()  # an explanation makes many objects and no garbage to speak of
    if kubeconfig is None and not context and not paths:
        paths = piped_input("explain")
    named = node_named(pod)
    if named and node:
        raise click.UsageError("--node is for pods: node/NAME explains a node by itself.")
    planner = make_planner(
        kubeconfig, context, endpoints, namespace, gates, config, seed, component_gates, reads_pools=True
    )
    _load(planner, paths, allows_empty=allows_empty)
    if pool_paths:
        planner.inventory.pools = given_pools(pool_paths, planner.inventory)
    try:
        if form == "html":
            return _write_page(planner, named, pod, namespace, node, paths, alone=alone, strict=strict)
        if named:
            about = _node_lines(planner, named, form, alone=alone, everything=everything, colour=colour)
            write_lines(about)
            return _UNREADABLE if planner.inventory.unreadable else _EXPLAINED
        explanation = _explain(planner, pod, namespace, node, alone=alone)
    except TargetError as error:
        say(str(error))
        return _UNREADABLE
    write_lines(_lines(explanation, form, everything=everything, colour=colour))
    if planner.inventory.unreadable:
        return _UNREADABLE
    return _PENDING if strict and explanation.is_pending else _EXPLAINED


def _write_page(
    planner: Planner,
    named: str,
    pod: str,
    namespace: str,
    node: str,
    paths: tuple[str, ...],
    *,
    alone: bool,
    strict: bool,
) -> int:
    """Write a page about a pod, or about the node `named`, and return the exit code. Raises TargetError."""
    from moorage.dashboard.export.command_pages import node_page, pod_page
    from moorage.plan.explain.sentence.standings import PENDING_STANDINGS

    prepare_output(is_text=False)
    standing = ""
    if named:
        page = node_page(planner, named, paths, alone=alone)
    else:
        page, document = pod_page(planner, pod, namespace, node, paths, alone=alone)
        standing = document["standing"]
    write_lines([page])
    if planner.inventory.unreadable:
        return _UNREADABLE
    return _PENDING if strict and standing in PENDING_STANDINGS else _EXPLAINED


def _load(planner: Planner, paths: tuple[str, ...], *, allows_empty: bool) -> None:
    from moorage.lint.sources import sources_of

    inventory = planner.inventory
    planner.load(sources_of(paths), announces_updates=not inventory.sources)
    complain_of_unreadable(inventory.notes)
    refuse_empty(inventory, paths, allows_empty=allows_empty)


def _explain(planner: Planner, pod: str, namespace: str, node: str, *, alone: bool) -> Explanation | DaemonExplanation:
    from moorage.plan.explain.daemon_set import explain_daemon_set
    from moorage.plan.explain.explanation import explain_pod
    from moorage.plan.explain.target import daemon_set_named, find_target

    daemon_set = daemon_set_named(planner.inventory, pod, namespace)
    simulation, inventory = planner.build(), planner.inventory
    if daemon_set is not None:
        return explain_daemon_set(simulation, inventory, daemon_set, node, alone=alone)
    target = find_target(simulation, inventory, pod, namespace, alone=alone)
    return explain_pod(simulation, inventory, target, node)


def _node_lines(planner: Planner, name: str, form: str, *, alone: bool, everything: bool, colour: str) -> Iterator[str]:
    from moorage.plan.explain.node import explain_node, plain_node
    from moorage.plan.explain.node_text import NodeText
    from moorage.plan.report.plain import as_json

    explanation = explain_node(planner.build(), planner.inventory, name, alone=alone)
    prepare_output(is_text=form == "text")
    if form == "json":
        return iter([as_json(plain_node(explanation))])
    if form == "markdown":
        from moorage.plan.report.explanation_markdown import fenced

        return fenced(f"node {name}", NodeText(everything=everything).lines(explanation))
    return NodeText(colour=coloured(colour), width=terminal_width(), everything=everything).lines(explanation)


def _lines(explanation: Explanation | DaemonExplanation, form: str, *, everything: bool, colour: str) -> Iterator[str]:
    from moorage.plan.explain.daemon_set import DaemonExplanation, plain_daemon_set
    from moorage.plan.explain.daemon_text import DaemonText
    from moorage.plan.explain.explanation import plain
    from moorage.plan.report.plain import as_json

    prepare_output(is_text=form == "text")
    if form == "markdown":
        from moorage.plan.report.explanation_markdown import explanation_markdown, fenced

        if isinstance(explanation, DaemonExplanation):
            return fenced("DaemonSet", DaemonText(everything=everything).daemon_lines(explanation))
        return explanation_markdown(explanation)
    if form == "text":
        text = DaemonText(colour=coloured(colour), width=terminal_width(), everything=everything)
        if isinstance(explanation, DaemonExplanation):
            return text.daemon_lines(explanation)
        return text.lines(explanation)
    if isinstance(explanation, DaemonExplanation):
        return iter([as_json(plain_daemon_set(explanation))])
    return iter([as_json(plain(explanation))])
