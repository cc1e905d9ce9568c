"""`moorage plan`: the options, and the exit code.

In: the command line. Out: the plan on standard output, complaints about unreadable files on standard error; exit 0 if
a plan was made, 1 with --strict if it leaves something Pending or refused, 2 if something could not be read or the
command line is wrong. Everything else is imported when it is needed.
"""

from __future__ import annotations

import gc
import shutil
import sys
from typing import TYPE_CHECKING

import click

from moorage.cli.options import (
    all_option,
    colour_option,
    config_option,
    context_option,
    gates_option,
    live_kubeconfig_option,
    seed_option,
)
from moorage.cli.shared import coloured, live_input, parsed_gates, piped_input, read_configuration, say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from moorage.cli.progress import Progress
    from moorage.plan.difference import Difference
    from moorage.plan.outcome import Outcome
    from moorage.plan.planner import Planner
    from moorage.plan.rollout import Rollout
    from moorage.plan.what_if import Changes

FORMS = ("text", "json", "yaml", "markdown")
_MADE, _INCOMPLETE, _UNREADABLE = 0, 1, 2
_WORTH_A_BAR = 2_000


@click.command("plan", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.argument("paths", nargs=-1, metavar="[FILE|DIRECTORY|-]...")
@click.option(
    "--change", "files", multiple=True, metavar="FILE", help="What if these manifests were applied on top? Repeatable."
)
@click.option(
    "--taint",
    "taints",
    multiple=True,
    metavar="NODE=KEY=VALUE:EFFECT",
    help="What if a node got this taint? Repeatable.",
)
@click.option(
    "--untaint", "untaints", multiple=True, metavar="NODE=KEY[:EFFECT]", help="What if it lost this taint? Repeatable."
)
@click.option("--drain", "drains", multiple=True, metavar="NODE", help="What if a node were drained? Repeatable.")
@click.option("--remove", "removes", multiple=True, metavar="NODE", help="What if a node were gone? Repeatable.")
@click.option("--cordon", "cordons", multiple=True, metavar="NODE", help="What if a node were cordoned? Repeatable.")
@click.option(
    "--scale",
    "scales",
    multiple=True,
    metavar="KIND/[NAMESPACE/]NAME=REPLICAS",
    help="What if a deployment, statefulset or replicaset were scaled? Repeatable.",
)
@click.option("--add-nodes", type=int, metavar="N", help="What if there were N more nodes, --like NODE?")
@click.option("--like", default="", metavar="NODE", help="Which node the added ones are like.")
@click.option(
    "--at",
    default="",
    metavar="DURATION",
    help="Show the state after so much time, such as 10m: containers end, CronJobs run, evictions happen.",
)
@click.option("--headroom", is_flag=True, help="Say how many more pods of each workload would fit, up to 1,000.")
@click.option(
    "--rollout",
    metavar="KIND/[NAMESPACE/]NAME",
    help="Play a rolling update of a deployment, statefulset or daemonset (to the template in --change, or a restart) "
    "and say whether it completes.",
)
@live_kubeconfig_option
@context_option
@click.option(
    "-n", "--namespace", default="", help="Of objects that name none.  [default: the context's, or 'default']"
)
@gates_option
@config_option
@seed_option
@click.option("--strict", is_flag=True, help="Exit 1 if anything stays Pending or is refused, or a rollout stops.")
@click.option(
    "-o", "--output", "form", type=click.Choice(FORMS), default="text", show_default=True, help="Form of the plan."
)
@all_option
@colour_option
def command(
    paths: tuple[str, ...],
    files: tuple[str, ...],
    taints: tuple[str, ...],
    untaints: tuple[str, ...],
    drains: tuple[str, ...],
    removes: tuple[str, ...],
    cordons: tuple[str, ...],
    scales: tuple[str, ...],
    add_nodes: int | None,
    like: str,
    at: str,
    headroom: bool,
    rollout: str | None,
    kubeconfig: str | None,
    context: str,
    namespace: str,
    gates: tuple[str, ...],
    config: str | None,
    seed: int,
    strict: bool,
    form: str,
    everything: bool,
    colour: str,
) -> int:
    """Say where every pod lands, what stays Pending and why, and how full the nodes become.

    Reads nodes, pods, workloads, volumes and claims from files, directories and standard input (-), written by hand or
    printed by kubectl get; or, with --kubeconfig, from a live cluster, and files say what would be applied to it.
    Pods that have a node keep it; workloads get the pods they lack. Nothing need be running, and nothing is changed.

    \b
    Examples:
      moorage plan cluster/ deployment.yaml
      kubectl get nodes,pods,pv,pvc,sc,deploy,sts,ds,pdb -A -o yaml | moorage plan -
      kubectl get nodes,pods,deploy -A -o yaml | moorage plan - --change new.yaml --strict
      moorage plan cluster/ --taint node-1=maintenance=soon:NoExecute --drain node-2
      moorage plan cluster/ --rollout deployment/web
      moorage plan cluster/ --scale deployment/web=20 --add-nodes 2 --like node-1
      moorage plan cluster/ --at 10m --headroom
      moorage plan cluster/ --config scheduler.yaml
      moorage plan --kubeconfig ~/.kube/config new-deployment.yaml

    \b
    Exit code: 0 a plan was made, 1 it is incomplete and --strict was given, 2 wrong usage or unreadable input.
    """
    from moorage.plan.node_changes import ChangeError, parse_time
    from moorage.plan.planner import Planner, Settings

    gc.disable()  # a plan makes a million objects and no garbage to speak of
    live = None
    if kubeconfig is not None:
        live = live_input(kubeconfig, context)
        paths, files = (), (*paths, *files)
    elif context:
        raise click.UsageError("--context needs a --kubeconfig.")
    elif not paths:
        paths = piped_input("plan")
    if (*paths, *files).count("-") > 1:
        raise click.UsageError("Standard input can be read only once: for the cluster or for --change.")
    switched = parsed_gates(gates)
    namespace = namespace or (live.namespace if live is not None else "default")
    planner = Planner(Settings(switched, seed, read_configuration(config, switched), namespace))
    if live is not None:
        from moorage.plan.input.live_cluster import load_live

        load_live(planner, live)
    try:
        until = parse_time(at)
        changes = _changes(files, taints, untaints, drains, removes, scales, cordons, (add_nodes, like))
        outcome, difference, played = _plan(planner, paths, changes, rollout, until, headroom=headroom)
    except ChangeError as error:
        raise click.UsageError(str(error)) from None
    _write(form, outcome, difference, played, everything=everything, colour=colour)
    if outcome.unreadable:
        return _UNREADABLE
    complete = outcome.is_complete and (played is None or played.completes)
    return _INCOMPLETE if strict and not complete else _MADE


def _changes(
    files: tuple[str, ...],
    taints: tuple[str, ...],
    untaints: tuple[str, ...],
    drains: tuple[str, ...],
    removes: tuple[str, ...],
    scales: tuple[str, ...],
    cordons: tuple[str, ...],
    added: tuple[int | None, str],
) -> Changes:
    from moorage.plan.node_changes import parse_added_nodes, parse_scale, parse_taint, parse_untaint
    from moorage.plan.what_if import Changes

    return Changes(
        files,
        tuple(map(parse_taint, taints)),
        tuple(map(parse_untaint, untaints)),
        drains,
        removes,
        tuple(map(parse_scale, scales)),
        cordons,
        parse_added_nodes(*added),
    )


def _plan(
    planner: Planner,
    paths: tuple[str, ...],
    changes: Changes,
    rollout: str | None,
    until: float | None,
    *,
    headroom: bool,
) -> tuple[Outcome, Difference | None, Rollout | None]:
    from moorage.lint.sources import sources_of

    planner.load(sources_of(paths))
    if not planner.inventory.sources:
        say(f"no *.yaml, *.yml or *.json files in {', '.join(paths)}")
    simulation = planner.build(lives=until is not None)
    progress = _progress(sum(1 for pod in simulation.pods() if not pod.view.spec.nodeName) + _replicas(planner))
    tick = progress.tick if progress is not None else _nothing
    sources = sources_of(changes.files)
    outcome, difference, played = planner.answer(
        simulation, changes, sources, rollout or "", until, headroom=headroom, tick=tick
    )
    if progress is not None:
        progress.clear()
    _complain(outcome)
    return outcome, difference, played


def _replicas(planner: Planner) -> int:
    return sum(
        item.view.spec.replicas or 1 for item in planner.inventory.of_kind("Deployment", "ReplicaSet", "StatefulSet")
    )


def _nothing() -> None:
    """Report no progress."""


def _complain(outcome: Outcome) -> None:
    """What could not be read is told on standard error, too, where it is seen although the plan goes into a file."""
    from moorage.plan.input.notes import UNREADABLE

    for note in outcome.notes:
        if note.message.startswith(UNREADABLE):
            say(str(note))


def _progress(pods: int) -> Progress | None:
    if pods < _WORTH_A_BAR or sys.stderr is None or not sys.stderr.isatty():
        return None
    from moorage.cli.progress import Progress

    return Progress(pods, noun="pods")


def _write(
    form: str,
    outcome: Outcome,
    difference: Difference | None,
    rollout: Rollout | None,
    *,
    everything: bool,
    colour: str,
) -> None:
    lines = _lines(form, outcome, difference, rollout, everything=everything, colour=colour)
    try:
        for line in lines:
            sys.stdout.write(line + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise click.ClickException(f"cannot write the plan: {error}") from None


def _lines(
    form: str,
    outcome: Outcome,
    difference: Difference | None,
    rollout: Rollout | None,
    *,
    everything: bool,
    colour: str,
) -> Iterator[str]:
    reconfigure: Callable[..., None] | None = getattr(sys.stdout, "reconfigure", None)
    if form in ("text", "markdown"):
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
        if form == "markdown":
            from moorage.plan.report.markdown import MarkdownReport

            return MarkdownReport(everything=everything).lines(outcome, difference, rollout)
        from moorage.plan.report.text import TextReport

        width = shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else 100
        report = TextReport(colour=coloured(colour), width=width, everything=everything)
        return report.lines(outcome, difference, rollout)
    if reconfigure is not None:
        reconfigure(encoding="utf-8", errors="backslashreplace")
    from moorage.plan.report.plain import as_json, as_yaml, plain

    document = plain(outcome, difference, rollout)
    return iter([as_json(document) if form == "json" else as_yaml(document)])
