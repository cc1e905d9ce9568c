"""Read the options of `moorage policy test` and `moorage policy explain`, and print what policies decide."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import click
import msgspec

from moorage.cli.options import colour_option, gates_option
from moorage.cli.shared import coloured, parsed_gates, piped_input, prepare_output, say, write_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from moorage.model.gates import GateSet
    from moorage.policy.report import SuiteResult

_PASSED, _FAILED, _UNREADABLE = 0, 1, 2


@click.group("policy")
def command() -> None:
    """Test admission policies on cases in files, and explain how they decide."""


@command.command("test")
@click.argument("paths", nargs=-1, metavar="[FILE|DIRECTORY|-]...")
@gates_option
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(("text", "json", "junit")),
    default="text",
    show_default=True,
    help="Output format.",
)
@colour_option
def test(paths: tuple[str, ...], gates: tuple[str, ...], form: str, colour: str) -> int:
    """Run test cases of ValidatingAdmissionPolicies and MutatingAdmissionPolicies.

    Reads documents of kind PolicyTest: policies and other objects in files, and cases with an object, a user, and the
    decision and message that are expected. Each case is a request to an API server without a wire. Nothing needs to be
    running; webhooks are not called.

    \b
    Examples:
      moorage policy test policies/tests/
      moorage policy test -o junit policies/tests/ > report.xml

    \b
    Exit code: 0 all cases pass, 1 a case fails, 2 wrong usage, or input that is unreadable or has no case.
    """
    from moorage.policy.cases import UnreadableCases

    prepare_output(is_text=form == "text")
    try:
        suites = asyncio.run(_suites(paths or piped_input("test"), parsed_gates(gates)))
    except UnreadableCases as error:
        say(str(error))
        return _UNREADABLE
    _print(suites, form, coloured(colour))
    return _FAILED if any(suite.failed or suite.errors for suite in suites) else _PASSED


async def _suites(paths: tuple[str, ...], gates: GateSet) -> list[SuiteResult]:
    from moorage.policy.cases import read_suites
    from moorage.policy.judging import run_suite
    from moorage.policy.report import SuiteResult

    return [
        SuiteResult(suite.name, [result async for result in run_suite(suite, gates)])
        for suite in list(read_suites(paths))
    ]


def _print(suites: list[SuiteResult], form: str, colour: bool) -> None:
    from moorage.policy.report import json_document, junit_lines, text_lines

    if form == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(json_document(suites))).decode())
    elif form == "junit":
        write_lines(junit_lines(suites))
    else:
        write_lines(text_lines(suites, _mark(colour)))


def _mark(colour: bool) -> Callable[[str, bool], str]:
    def marked(text: str, good: bool) -> str:
        return click.style(text, fg="green" if good else "red", bold=not good) if colour else text

    return marked


@command.command("explain")
@click.argument("policies", metavar="POLICIES")
@click.argument("subject", metavar="OBJECT")
@gates_option
@click.option("--policy", "names", multiple=True, metavar="NAME", help="Explain only this policy. Repeatable.")
@click.option(
    "--objects",
    multiple=True,
    metavar="FILE|DIRECTORY",
    help="Other objects of the cluster: namespaces, parameters, roles, definitions. Repeatable.",
)
@click.option("--old", metavar="FILE", help="The object as it was: OBJECT is an update of it.")
@click.option("--delete", "deletes", is_flag=True, help="OBJECT is deleted.")
@click.option("--as", "user", default="", metavar="USER", help="Who makes the request.  [default: kubernetes-admin]")
@click.option("--as-group", "groups", multiple=True, metavar="GROUP", help="A group of that user. Repeatable.")
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(("text", "json")),
    default="text",
    show_default=True,
    help="Output format.",
)
def explain(
    policies: str,
    subject: str,
    gates: tuple[str, ...],
    names: tuple[str, ...],
    objects: tuple[str, ...],
    old: str | None,
    deletes: bool,
    user: str,
    groups: tuple[str, ...],
    form: str,
) -> int:
    """Show how policies decide about an object: the value of each variable and of each part of an expression.

    POLICIES is a file or a directory with policies and their bindings, OBJECT a file with the object of the request.

    \b
    Examples:
      moorage policy explain policies.yaml deployment.yaml
      moorage policy explain policies/ pod.yaml --objects params.yaml --as alice
      moorage policy explain policies.yaml new.yaml --old old.yaml -o json

    \b
    Exit code: 0 allowed, 1 refused, 2 wrong usage or unreadable input.
    """
    from moorage.policy.cases import ALLOW, CREATE, DELETE, UPDATE, CaseUser, UnreadableCases, read_objects, read_one
    from moorage.policy.explaining import explain_policies
    from moorage.policy.explanation_text import explanation_document, explanation_lines
    from moorage.policy.judging import user_of
    from moorage.policy.server import PolicyRequest

    if groups and not user:
        raise click.UsageError("--as-group needs --as.")
    if deletes and old is not None:
        raise click.UsageError("--delete has no --old: OBJECT is what is deleted.")
    prepare_output(is_text=form == "text")
    try:
        given, before = read_one(subject), read_one(old) if old is not None else None
        who = user_of(CaseUser(user, groups=groups) if user else "")
        known = read_objects([*objects, policies])
        if deletes:
            request = PolicyRequest(DELETE, None, given, who)
        else:
            request = PolicyRequest(CREATE if before is None else UPDATE, given, before, who)
        explanation = asyncio.run(explain_policies(known, request, parsed_gates(gates), names))
    except UnreadableCases as error:
        say(str(error))
        return _UNREADABLE
    if form == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(explanation_document(explanation))).decode())
    else:
        write_lines(explanation_lines(explanation))
    return _PASSED if explanation.answer.decision == ALLOW else _FAILED
