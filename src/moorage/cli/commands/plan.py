"""Read the options of `moorage plan`, and print the plan in the form that is asked for.

In: the command line. Out: the plan on standard output, complaints about unreadable files on standard error; exit 0 if
a plan was made, 1 with --strict if it leaves something Pending, evicted or refused, or changes make it worse, 2 if
something could not be read or the command line is wrong. Everything else is imported when it is needed.
"""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING

import click

from moorage.cli.admission_options import call_webhooks_option, chosen_caller, webhook_service_option
from moorage.cli.diff_input import check_sides, with_sides
from moorage.cli.gate_order import order_lines, read_order
from moorage.cli.input.autoscaler import autoscale_options, complain_of_autoscaler, take_pools
from moorage.cli.optional_value import BARE, OptionalValue, OptionalValueCommand
from moorage.cli.options import (
    Command,
    all_option,
    allow_empty_option,
    colour_option,
    component_gates_options,
    config_option,
    context_option,
    gates_option,
    live_kubeconfig_option,
    namespace_option,
    scrape_option,
    seed_option,
)
from moorage.cli.shared import (
    Progress,
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
    from collections.abc import Callable, Iterable, Iterator

    from moorage.cli.input.autoscaler import AutoscalerChoice
    from moorage.dashboard.export.command_pages import PlanPage
    from moorage.lint.sources import Source
    from moorage.plan.difference.difference import Difference
    from moorage.plan.gates.gate_file import Switch
    from moorage.plan.outcome import Outcome
    from moorage.plan.planner import Planner
    from moorage.plan.rollout import Rollout
    from moorage.plan.what_if import Changes

NEW, ALL = STRICT = ("new", "all")
FORMS = ("text", "json", "yaml", "markdown", "html")
_MADE, _INCOMPLETE, _UNREADABLE = 0, 1, 2
_WORTH_A_BAR = 2_000


def _what_if(name: str, parameter: str, metavar: str, what: str) -> Callable[[Command], Command]:
    return click.option(f"--{name}", parameter, multiple=True, metavar=metavar, help=f"What if {what}? Repeatable.")


def _strict(_context: click.Context, _option: click.Parameter, value: str) -> str:
    if value not in ("", BARE, *STRICT):
        raise click.BadParameter(f"must be {' or '.join(STRICT)}, or have no value, not {value!r}")
    return value


@click.command("plan", cls=OptionalValueCommand)
@click.argument("paths", nargs=-1, metavar="[FILE|DIRECTORY|-]...")
@_what_if("change", "files", "FILE", "these manifests were applied on top")
@_what_if("taint", "taints", "NODE=KEY=VALUE:EFFECT", "a node got this taint")
@_what_if("untaint", "untaints", "NODE=KEY[:EFFECT]", "a node lost this taint")
@_what_if("label", "labels", "NODE=KEY=VALUE", "a node got this label, or with KEY- lost it")
@_what_if("drain", "drains", "NODE", "a node were drained, or with {KEY=VALUE} those with that label")
@_what_if("remove", "removes", "NODE", "a node were gone")
@_what_if("cordon", "cordons", "NODE", "a node were cordoned")
@_what_if("evict", "evicts", "[NAMESPACE/]POD", "a pod were evicted")
@_what_if("scale", "scales", "KIND/[NAMESPACE/]NAME=REPLICAS", "a deployment, statefulset, rs or rc were scaled")
@_what_if("load", "loads", "KIND/[NAMESPACE/]NAME=cpu=AMOUNT", "the pods of a workload shared this load")
@click.option(
    "--diff",
    "sides",
    nargs=2,
    metavar="OLD NEW",
    help="Compare two inputs: files, directories, -, git revisions (main:deploy/), or live as OLD.",
)
@click.option("--upgrade", "pool", metavar="SELECTOR", help="Play the upgrade of the nodes with these labels.")
@click.option("--max-unavailable", metavar="N|N%", help="How many nodes --upgrade takes at a time.  [default: 1]")
@click.option("--replace", "replaces", is_flag=True, help="Let --upgrade put new nodes in the place of the old ones.")
@click.option("--force", "forces", is_flag=True, help="Let --upgrade evict pods that no controller makes again.")
@click.option("--delete-emptydir-data", "deletes_empty_dirs", is_flag=True, help="... and pods with emptyDir volumes.")
@click.option("--add-nodes", type=int, metavar="N", help="What if there were N more nodes, --like NODE?")
@click.option("--like", default="", metavar="NODE", help="The node that the added ones are copies of.")
@click.option(
    "--at",
    default="",
    metavar="DURATION",
    help="Show the state after this time, such as 10m: containers end, CronJobs run, evictions happen.",
)
@autoscale_options
@click.option("--headroom", is_flag=True, help="Count how many more pods of each workload would fit, up to 1,000.")
@click.option(
    "--rollout",
    metavar="KIND/[NAMESPACE/]NAME",
    help="Play a rolling update of a deployment, statefulset or daemonset (to the template in --change, or a restart) "
    "and say whether it completes.",
)
@live_kubeconfig_option
@context_option
@scrape_option
@namespace_option
@gates_option
@component_gates_options
@click.option("--gates-before", metavar="FILE", help="The gates of components that --gates-after begins with.")
@click.option("--gates-after", metavar="FILE", help="Switch the gates of components as this file says, in turn.")
@config_option
@seed_option
@click.option(
    "--strict",
    cls=OptionalValue,
    default="",
    callback=_strict,
    metavar="[=new|all]",
    help="Exit 1 if anything stays Pending, is evicted by a taint or is refused, or a rollout or upgrade stops. =new, "
    "the default of changes: if they make something worse. =all: whatever the reason.",
)
@click.option(
    "-o", "--output", "form", type=click.Choice(FORMS), default="text", show_default=True, help="Output format."
)
@all_option
@colour_option
@allow_empty_option
@call_webhooks_option
@webhook_service_option
def command(
    paths: tuple[str, ...],
    files: tuple[str, ...],
    taints: tuple[str, ...],
    untaints: tuple[str, ...],
    labels: tuple[str, ...],
    drains: tuple[str, ...],
    removes: tuple[str, ...],
    cordons: tuple[str, ...],
    evicts: tuple[str, ...],
    scales: tuple[str, ...],
    loads: tuple[str, ...],
    sides: tuple[str, str] | None,
    pool: str | None,
    max_unavailable: str | None,
    replaces: bool,
    forces: bool,
    deletes_empty_dirs: bool,
    add_nodes: int | None,
    like: str,
    at: str,
    autoscaler: str | None,
    pool_paths: tuple[str, ...],
    autoscaler_options: tuple[str, ...],
    headroom: bool,
    rollout: str | None,
    kubeconfig: str | None,
    context: str,
    endpoints: tuple[str, ...],
    namespace: str,
    gates: tuple[str, ...],
    gates_before: str | None,
    gates_after: str | None,
    config: str | None,
    seed: int,
    strict: str,
    form: str,
    everything: bool,
    colour: str,
    allows_empty: bool,
    calls_webhooks: bool,
    webhook_services: tuple[str, ...],
    **component_gates: tuple[str, ...],
) -> int:
    """Show where every pod lands, what stays Pending and why, and how full the nodes become.

    Reads nodes, pods, workloads, volumes and claims from files, directories and standard input (-), written by hand or
    printed by kubectl get; or, with --kubeconfig, from a live cluster, and files say what would be applied to it.
    Pods that have a node keep it; workloads get the pods they lack. Nothing need be running, and nothing is changed.

    \b
    Examples:
      moorage plan cluster/ deployment.yaml
      moorage dump | moorage plan -
      moorage dump | moorage plan - --change new.yaml --strict
      moorage plan cluster/ --taint node-1=maintenance=soon:NoExecute --drain node-2
      moorage plan cluster/ --taint '{pool=spot}=failure-probability=35:NoExecute' --label 'node-3=pool=spot'
      moorage plan cluster/ --rollout deployment/web
      moorage plan nodes.yaml --diff main:deploy/ deploy/ --output markdown
      moorage plan --context prod --diff live deploy/ --strict
      moorage plan cluster/ --upgrade pool=spot --max-unavailable 1 --label example.com/kubelet-version=v1.37.0
      moorage plan cluster/ --scale deployment/web=20 --add-nodes 2 --like node-1
      moorage plan cluster/ --at 10m --headroom
      moorage plan cluster/ --autoscale karpenter --pools pools/ --at 2h
      moorage plan cluster/ --load 'deployment/web=cpu=pulse(2, 4, 1m, 20m)' --at 15m
      moorage plan cluster/ --gates-before now.yaml --gates-after rollback.yaml
      moorage plan cluster/ --config scheduler.yaml
      moorage plan cluster/ --drain node-2 --output html > plan.html
      moorage plan --kubeconfig ~/.kube/config new-deployment.yaml

    \b
    Exit code: 0 a plan was made, 1 it is incomplete or worse and --strict was given, 2 wrong usage, unreadable or empty
    input.
    """
    from moorage.plan.node_changes import (
        ChangeError,
        UnreadableChange,
        parse_added_nodes,
        parse_label,
        parse_load,
        parse_nodes,
        parse_scale,
        parse_taint,
        parse_time,
        parse_untaint,
    )
    from moorage.plan.pool_upgrade import is_for_upgraded, parse_upgrade
    from moorage.plan.what_if import Changes

    gc.disable()  # a plan makes a million objects and no garbage to speak of
    if sides is not None:
        check_sides(sides, kubeconfig)
    elif gates_before is not None or gates_after is not None:
        switches = read_order(gates_before, gates_after, form, component_gates)
    elif kubeconfig is not None:
        paths, files = (), (*paths, *files)
    if not paths and kubeconfig is None and sides is None:
        paths = piped_input("plan")
    if (*paths, *files, *(sides or ())).count("-") > 1:
        raise click.UsageError(
            "Standard input can be read only once: for the cluster, for --change or for one side of --diff."
        )
    planner = make_planner(
        kubeconfig,
        context,
        endpoints,
        namespace,
        gates,
        config,
        seed,
        component_gates,
        applies=bool(files) or sides is not None,
        reads_pools=autoscaler is not None or bool(pool_paths),
    )
    scaled = complain_of_autoscaler(autoscaler, pool_paths, autoscaler_options)
    planner.inventory.call_webhooks = chosen_caller(calls_webhooks, webhook_services)
    if gates_after is not None:
        return _switch_gates(
            planner,
            paths,
            switches,
            form,
            everything=everything,
            colour=colour,
            strict=bool(strict),
            allows_empty=allows_empty,
        )
    try:
        until = parse_time(at)
        if pool is None and (max_unavailable is not None or replaces or forces or deletes_empty_dirs):
            raise ChangeError("--max-unavailable, --replace, --force and --delete-emptydir-data need --upgrade")
        of_upgraded = tuple(filter(is_for_upgraded, labels)) if pool is not None else ()
        upgrade = None
        if pool is not None:
            how = {"replaces": replaces, "forces": forces, "deletes_empty_dirs": deletes_empty_dirs}
            upgrade = parse_upgrade(pool, max_unavailable, of_upgraded, **how)
        changes = Changes(
            files,
            tuple(map(parse_taint, taints)),
            tuple(map(parse_untaint, untaints)),
            tuple(map(parse_nodes, drains)),
            tuple(map(parse_nodes, removes)),
            tuple(map(parse_scale, scales)),
            tuple(map(parse_nodes, cordons)),
            parse_added_nodes(add_nodes, like),
            tuple(parse_label(text) for text in labels if text not in of_upgraded),
            upgrade,
            evicts=evicts,
            loads=tuple(map(parse_load, loads)),
        )
        is_changed = bool(changes) or bool(rollout) or sides is not None
        if strict == NEW and not is_changed:
            raise ChangeError(
                "--strict=new fails for what changes make worse, and there is no change: use --strict=all"
            )
        outcome, difference, played, page = _plan(
            planner,
            paths,
            changes,
            sides,
            rollout,
            until,
            scaled=scaled,
            pool_paths=pool_paths,
            headroom=headroom,
            with_page=form == "html",
            allows_empty=allows_empty,
        )
    except UnreadableChange as error:
        for line in error.lines:
            say(line)
        say("nothing is planned: the manifests to apply cannot be read")
        return _UNREADABLE
    except ChangeError as error:
        raise click.UsageError(str(error)) from None
    lines = _lines(form, outcome, difference, played, page, everything=everything, colour=colour)
    write_lines(lines)
    if outcome.unreadable:
        return _UNREADABLE
    if strict == BARE:
        strict = NEW if is_changed else ALL
    return _INCOMPLETE if _fails(strict, outcome, difference, played) else _MADE


def _fails(strict: str, outcome: Outcome, difference: Difference | None, rollout: Rollout | None) -> bool:
    """Return whether --strict fails for a plan, or for what changes make worse."""
    if not strict:
        return False
    if (rollout is not None and not rollout.completes) or (difference is not None and difference.stops):
        return True
    if strict == ALL:
        return not outcome.is_complete
    return difference is not None and difference.is_worse


def _plan(
    planner: Planner,
    paths: tuple[str, ...],
    changes: Changes,
    sides: tuple[str, str] | None,
    rollout: str | None,
    until: float | None,
    *,
    scaled: AutoscalerChoice | None,
    pool_paths: tuple[str, ...],
    headroom: bool,
    with_page: bool,
    allows_empty: bool,
) -> tuple[Outcome, Difference | None, Rollout | None, PlanPage | None]:
    from moorage.lint.sources import sources_of

    planner.allows_empty = allows_empty
    planner.load(sources_of(paths))
    if sides is None:
        refuse_empty(planner.inventory, paths, allows_empty=allows_empty)
        sources: Iterable[Source] = sources_of(changes.files)
    else:
        changes, sources = with_sides(planner, changes, sides, allows_empty=allows_empty)
    unreadable_pools = take_pools(planner, scaled, pool_paths)
    simulation = planner.build(lives=until is not None)
    page = None
    if with_page:
        from moorage.dashboard.export.command_pages import PlanPage

        page = PlanPage(planner, simulation, changes, until, (*paths, *(sides or ())), rolls_out=bool(rollout))
    progress = _progress(sum(1 for pod in simulation.pods() if not pod.view.spec.nodeName) + _replicas(planner))
    tick = progress.tick if progress is not None else lambda: None
    try:
        outcome, difference, played = planner.answer(
            simulation, changes, sources, rollout or "", until, headroom=headroom, tick=tick
        )
    except BaseException:
        if page is not None:
            page.close()
        raise
    if progress is not None:
        progress.clear()
    for empty in planner.inventory.contents.mentions() if changes.files else ():
        say(str(empty))
    complain_of_unreadable(outcome.notes)
    outcome.unreadable += unreadable_pools
    return outcome, difference, played, page


def _switch_gates(
    planner: Planner,
    paths: tuple[str, ...],
    switches: list[Switch],
    form: str,
    *,
    everything: bool,
    colour: str,
    strict: bool,
    allows_empty: bool,
) -> int:
    from moorage.lint.sources import sources_of
    from moorage.plan.gates.switching import play_switches

    play = play_switches(planner, sources_of(paths), switches)
    refuse_empty(planner.inventory, paths, allows_empty=allows_empty)
    complain_of_unreadable(play.before.notes)
    prepare_output(is_text=form in ("text", "markdown"))
    write_lines(order_lines(form, play, everything=everything, colour=coloured(colour), width=terminal_width()))
    if play.before.unreadable:
        return _UNREADABLE
    return _INCOMPLETE if strict and play.harms else _MADE


def _replicas(planner: Planner) -> int:
    from moorage.plan.rollout import SCALED

    return sum(item.view.spec.replicas or 1 for item in planner.inventory.of_kind(*SCALED))


def _progress(pods: int) -> Progress | None:
    if pods < _WORTH_A_BAR or sys.stderr is None or not sys.stderr.isatty():
        return None

    return Progress(pods, noun="pods")


def _lines(
    form: str,
    outcome: Outcome,
    difference: Difference | None,
    rollout: Rollout | None,
    page: PlanPage | None,
    *,
    everything: bool,
    colour: str,
) -> Iterator[str]:
    prepare_output(is_text=form in ("text", "markdown"))
    if form == "markdown":
        from moorage.plan.report.markdown import MarkdownReport

        return MarkdownReport(everything=everything).lines(outcome, difference, rollout)
    if form == "text":
        from moorage.plan.report.text import TextReport

        report = TextReport(colour=coloured(colour), width=terminal_width(), everything=everything)
        return report.lines(outcome, difference, rollout)
    from moorage.plan.report.plain import as_json, as_yaml, plain

    document = plain(outcome, difference, rollout)
    if page is not None:
        return iter([page.render(outcome, document)])
    return iter([as_json(document) if form == "json" else as_yaml(document)])
