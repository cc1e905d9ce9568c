"""Define the options of admission and audit that `moorage up` and `moorage apiserver` share."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from moorage.lint.policies.offline_extensions import CallWebhooks

admission_plugins_option = click.option(
    "--enable-admission-plugins",
    "plugins",
    multiple=True,
    metavar="PLUGIN,...",
    help=(
        "Also run these admission plugins. TaintNodesByCondition: nodes begin as not ready, until the node lifecycle "
        "controller has seen them. StorageObjectInUseProtection: volumes and claims are kept while in use, until the "
        "protection controllers release them. ServiceAccount: pods get a volume with the token of their service "
        "account, which must exist. Repeatable."
    ),
)


def chosen_plugins(lists: Iterable[str]) -> frozenset[str]:
    """Return the plugins of `--enable-admission-plugins`. Raises click.BadParameter for other names."""
    from moorage.cluster.admission_plugins import OPTIONAL_PLUGINS

    names = frozenset(word.strip() for text in lists for word in text.split(",") if word.strip())
    if unknown := sorted(names.difference(OPTIONAL_PLUGINS)):
        possible = ", ".join(OPTIONAL_PLUGINS)
        raise click.BadParameter(f"{unknown[0]!r} is not one of {possible}", param_hint="'--enable-admission-plugins'")
    return names


def _check_services(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """Return the texts but empty ones, which forget what a kept cluster remembers. Raises BadParameter."""
    if any(given):
        from moorage.serve.webhooks.services import BadAddress, read_webhook_service

        for text in filter(None, given):
            try:
                read_webhook_service(text)
            except BadAddress as error:
                raise click.BadParameter(f"{text!r}: {error}", context, parameter) from None
    return given


webhook_service_option = click.option(
    "--webhook-service",
    "webhook_services",
    multiple=True,
    callback=_check_services,
    metavar="NAMESPACE/NAME=URL",
    help="Where the webhooks of a Service are, such as system/hooks=https://127.0.0.1:9443: none listen in simulated "
    "pods. Repeatable.",
)


call_webhooks_option = click.option(
    "--call-webhooks",
    "calls_webhooks",
    is_flag=True,
    help="Call the webhooks of the input that have no side effects, with reviews that say dryRun; others are named.",
)


def chosen_caller(calls: bool, services: tuple[str, ...]) -> CallWebhooks | None:
    """Return what calls webhooks, if that was asked for. Raises click.UsageError."""
    if not calls:
        if services:
            raise click.UsageError("--webhook-service needs --call-webhooks.")
        return None
    from moorage.lint.policies.calling import webhook_caller

    return webhook_caller(filter(None, services))


def _absolute(context: click.Context, parameter: click.Parameter, given: str) -> str:
    """Return where a file is, also from another directory: a kept cluster remembers it."""
    return given if given in ("", "-") else str(Path(given).absolute())


audit_log_option = click.option(
    "--audit-log-path",
    default="",
    callback=_absolute,
    metavar="FILE",
    help="Write an audit event (audit.k8s.io/v1, level Metadata) for each request to this file, or to standard output "
    "if it is -.",
)
