"""Read the options of `moorage lint`, and print findings. The linter itself is imported when it is needed."""

from __future__ import annotations

import gc
import os
import sys
from textwrap import wrap
from typing import TYPE_CHECKING

import click

from moorage.cli.admission_options import call_webhooks_option, chosen_caller, webhook_service_option
from moorage.cli.input.pools import pools_option
from moorage.cli.optional_value import BARE, OptionalValue, OptionalValueCommand
from moorage.cli.options import allow_empty_option, colour_option, gates_option
from moorage.cli.shared import (
    Progress,
    coloured,
    parsed_gates,
    piped_input,
    prepare_output,
    say,
    terminal_width,
    write_lines,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from moorage.lint.engine import Linter
    from moorage.lint.reading import Reading
    from moorage.lint.report.form import Form, LintSummary, Problem
    from moorage.lint.rules.attached import AttachedBy
    from moorage.lint.sources import Source
    from moorage.model.gates import GateSet
    from moorage.pools.mirror import PoolTemplate
    from moorage.pools.reading import Pools

FORMS = ("text", "json", "sarif", "junit", "github")
_CLEAN, _FOUND, _UNREADABLE = 0, 1, 2
#: Input that is worth more than one process.
_MANY_DOCUMENTS, _MANY_BYTES = 200, 1024 * 1024
#: One process puts all together; more than these only wait for it.
_MAX_JOBS = 4


class _IncompleteError(click.ClickException):
    """Input that was not linted to its end."""

    exit_code = _UNREADABLE


def _list_rules(ctx: click.Context, option: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    from moorage.lint.pages import listed_rules

    rules = listed_rules()
    widest = max(len(rule.name) for rule in rules)
    room = terminal_width() if sys.stdout.isatty() else 1000
    for rule in rules:
        lead = f"{rule.name:<{widest}}  {rule.severity:<7}  "
        if room > len(lead) + 20:
            click.echo("\n".join(wrap(rule.summary, room, initial_indent=lead, subsequent_indent=" " * len(lead))))
        else:
            click.echo(f"{rule.name}  {rule.severity}")
            click.echo("\n".join(wrap(rule.summary, room, initial_indent="  ", subsequent_indent="  ")))
    ctx.exit()


def _explain(ctx: click.Context, option: click.Parameter, name: str | None) -> None:
    if name is None or ctx.resilient_parsing:
        return
    from moorage.lint.catalogue import SelectionError, rule_of
    from moorage.lint.pages import for_terminal, page_of

    try:
        page = page_of(rule_of(name).name)
    except (SelectionError, FileNotFoundError) as error:
        raise click.UsageError(str(error), ctx) from None
    prepare_output(is_text=True)
    is_terminal = sys.stdout.isatty()
    colour = coloured(ctx.params.get("colour", "auto"))
    write_lines(for_terminal(page, terminal_width(), colour=colour) if is_terminal else page.rstrip("\n").split("\n"))
    ctx.exit()


@click.command("lint", cls=OptionalValueCommand)
@click.argument("paths", nargs=-1, metavar="[FILE|DIRECTORY|-]...")
@gates_option
@click.option(
    "--kubernetes-version",
    metavar="VERSION",
    help="Check for this release, such as 1.33: its feature gates, their defaults, and the versions that it serves.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Report unknown and duplicate fields as errors, as a server that validates strictly does.",
)
@click.option(
    "--attached",
    cls=OptionalValue,
    type=click.Choice(["webhook", "policies", BARE]),
    metavar="[=webhook|policies]",
    help="Check for a cluster with moorage attach: operators that it lowers, in both forms, and what surprises there; "
    "--attached=policies if it has no webhook.",
)
@click.option(
    "--select", multiple=True, metavar="RULE,...", help="Run only these rules; cel-* for a family. Repeatable."
)
@click.option("--ignore", multiple=True, metavar="RULE,...", help="Skip these rules. Repeatable.")
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(FORMS),
    default="text",
    show_default=True,
    help="Output format.",
)
@colour_option
@click.option(
    "--show-ignored", is_flag=True, help="Print the findings that `# moorage: ignore RULE` comments cover, marked so."
)
@pools_option
@call_webhooks_option
@webhook_service_option
@click.option("--show-mutations", is_flag=True, help="Show what the policies of the input change of its other objects.")
@click.option(
    "--jobs",
    type=click.IntRange(1, 256),
    metavar="N",
    help="Check with N processes.  [default: as many as there are cores for more than 200 documents or 1 MiB, else 1]",
)
@click.option("--exit-zero", is_flag=True, help="Exit 0 even with findings. Unreadable and empty input still exit 2.")
@allow_empty_option
@click.option(
    "--rules", is_flag=True, is_eager=True, expose_value=False, callback=_list_rules, help="List the rules and exit."
)
@click.option(
    "--explain",
    metavar="RULE",
    is_eager=True,
    expose_value=False,
    callback=_explain,
    help="Print the page of a rule, with an example before and after, and exit.",
)
def command(
    paths: tuple[str, ...],
    gates: tuple[str, ...],
    kubernetes_version: str | None,
    strict: bool,
    attached: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    form: str,
    colour: str,
    show_ignored: bool,
    pool_paths: tuple[str, ...],
    calls_webhooks: bool,
    webhook_services: tuple[str, ...],
    show_mutations: bool,
    jobs: int | None,
    exit_zero: bool,
    allows_empty: bool,
) -> int:
    """Find what the API server rejects in manifests, and valid manifests that behave unexpectedly.

    Reads files, directories (*.yaml, *.yml, *.json below them) and standard input (-): Kubernetes objects in YAML or
    JSON, as written by hand, by Helm or Kustomize, or as kubectl get prints them. Nothing needs to be running.

    \b
    Examples:
      moorage lint deployment.yaml
      moorage lint --feature-gates=TaintTolerationComparisonOperators=true manifests/
      set -o pipefail; helm template my-chart | moorage lint -
      moorage dump | moorage lint --select 'taint-*,spread-*' -
      moorage lint --kubernetes-version 1.33 manifests/
      moorage lint --output sarif manifests/ > lint.sarif
      moorage lint --explain toleration-never-matches

    \b
    Exit code: 0 nothing found (or notes only), 1 something found, 2 wrong usage, or input that could not be read or has
    no object.
    """
    from moorage.lint.catalogue import SelectionError, selected_rules
    from moorage.lint.engine import Linter

    paths = paths or piped_input("lint")
    try:
        rules = selected_rules(select, ignore)
    except SelectionError as error:
        raise click.UsageError(str(error)) from None
    release = None if kubernetes_version is None else _release(kubernetes_version)
    caller = chosen_caller(calls_webhooks, webhook_services)
    gate_set = parsed_gates(gates, release=release)
    linter = Linter(
        gate_set,
        rules,
        strict=strict,
        shows_mutations=show_mutations,
        call_webhooks=caller,
        attached=_attached_by(attached),
        pools=_pools(pool_paths),
        pool_templates=_pool_templates(pool_paths) if attached else (),
    )
    # What was imported stays, and documents leave little behind: looking for garbage after each few took a tenth.
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    in_one = attached is not None or caller is not None  # what they do needs its turn, or threads
    read = _readings(1 if in_one else jobs, gate_set, strict=strict)
    outcome = _lint(
        paths, linter, read, form=form, colour=colour, allows_empty=allows_empty, shows_ignored=show_ignored
    )
    if outcome.unreadable or outcome.empty:
        return _UNREADABLE
    return _FOUND if outcome.failing and not exit_zero else _CLEAN


def _readings(jobs: int | None, gates: GateSet, *, strict: bool) -> Callable[[Iterable[Source]], Iterator[Reading]]:
    """Return how sources are read: with several processes ahead of their turn."""
    from moorage.lint.jobs.read_ahead import ReadAhead, Threshold
    from moorage.lint.reading import plain_readings

    number = jobs or _cores()
    if number == 1 or not hasattr(os, "fork"):
        return plain_readings
    threshold = Threshold(_MANY_DOCUMENTS, _MANY_BYTES) if jobs is None else Threshold(0, 0)
    return ReadAhead(number, gates, strict=strict, threshold=threshold).readings


def _cores() -> int:
    """Return the number of cores that this process may use, as far as more of them help."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable, _MAX_JOBS)


def _attached_by(text: str | None) -> AttachedBy | None:
    from moorage.lint.rules.attached import AttachedBy

    return None if text is None else AttachedBy.WEBHOOK if text == BARE else AttachedBy(text)


def _pools(paths: tuple[str, ...]) -> Pools | None:
    from moorage.lint.sources import sources_of
    from moorage.plan.pools.reading import read_pool_sources

    return read_pool_sources(sources_of(paths)) if paths else None


def _pool_templates(paths: tuple[str, ...]) -> list[PoolTemplate]:
    from moorage.attached.status.pool_sources import read_templates
    from moorage.lint.sources import sources_of

    templates, _ = read_templates(sources_of(paths))  # what cannot be read is reported with the pools
    return templates


def _release(version: str) -> int:
    from moorage.model.kubernetes_version import minor_version

    try:
        return minor_version(version)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="'--kubernetes-version'") from None


def _lint(
    paths: tuple[str, ...],
    linter: Linter,
    read: Callable[[Iterable[Source]], Iterator[Reading]],
    *,
    form: str,
    colour: str,
    allows_empty: bool,
    shows_ignored: bool,
) -> LintSummary:
    from moorage.lint.input_contents import ALLOW_EMPTY
    from moorage.lint.reading import WorkerDiedError
    from moorage.lint.run import OutputError, Run
    from moorage.lint.sources import sources_of

    progress = _progress(paths)

    def write(text: str) -> None:
        if progress is not None:
            progress.clear()
        try:
            sys.stdout.write(text)
        except OSError as error:
            raise OutputError(error) from error

    def on_problem(problem: Problem) -> None:
        if progress is not None:
            progress.clear()
        say(f"{problem.file}: {problem.reason}")

    run = Run(
        linter,
        _form(form, write, colour),
        on_problem,
        allows_empty=allows_empty,
        shows_ignored=shows_ignored,
        read=read,
    )
    try:
        outcome = run.lint(sources_of(paths), progress.tick if progress is not None else lambda: None, paths)
    except OutputError as error:
        raise error.__cause__ or error from None
    except WorkerDiedError as error:
        raise _IncompleteError(str(error)) from None
    if outcome.empty:
        say(f"input without a Kubernetes object is an error; {ALLOW_EMPTY}")
    for mention in (*linter.contents.mentions(), *linter.ignores.mistakes):
        say(str(mention))
    return outcome


def _progress(paths: tuple[str, ...]) -> Progress | None:
    """Return a progress bar if standard error is a terminal; counting the files costs a walk of the directories."""
    if sys.stderr is None or not sys.stderr.isatty() or "-" in paths:
        return None
    from moorage.lint.sources import sources_of

    return Progress(sum(1 for _ in sources_of(paths)))


def _form(name: str, write: Callable[[str], None], colour: str) -> Form:
    prepare_output(is_text=name == "text")
    if name == "text":
        from moorage.lint.report.form import TextForm

        width = terminal_width() if sys.stdout.isatty() else None
        return TextForm(write, colour=coloured(colour), width=width)
    if name == "github":
        from moorage.lint.report.form import GitHubForm

        return GitHubForm(write)
    from moorage.lint.report.documents import JsonForm, JUnitForm, SarifForm

    forms: dict[str, Callable[[Callable[[str], None]], Form]]
    forms = {"json": JsonForm, "sarif": SarifForm, "junit": JUnitForm}
    return forms[name](write)
