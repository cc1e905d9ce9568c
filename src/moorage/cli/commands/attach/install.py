"""Print the manifests of an installation, or write them as a chart or a base (`moorage attach install`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from moorage.attached.names import NAMESPACE
from moorage.cli.commands.attach.documents import print_documents
from moorage.cli.commands.attach.live import CANNOT, asked
from moorage.cli.commands.attach.native import chosen_operators, native_option, new_comparisons_option
from moorage.cli.options import context_option, kubeconfig_option

if TYPE_CHECKING:
    from moorage.attach.policies.additions import Addition
    from moorage.attached.install.settings import Installation

_NAME_VERSION = "name the version with --kubernetes-version, and no cluster is asked"


def _no_definitions(ctx: click.Context, option: click.Parameter, wanted: bool) -> None:
    """Print the custom resource definitions of attach: it has no custom resources, so nothing."""
    from moorage.cli.shared import say

    if wanted and not ctx.resilient_parsing:
        say("moorage attach defines no custom resources: there is nothing to apply before the installation")
        ctx.exit()


@click.command("install")
@click.option(
    "--crs",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_no_definitions,
    help="Print the definitions of custom resources only. Attach has no custom resources: nothing is printed.",
)
@click.option(
    "--image", required=True, metavar="IMAGE", help="The image with moorage, which the cluster's nodes can pull."
)
@click.option(
    "--kubernetes-version",
    "version",
    default="",
    metavar="1.MINOR",
    help="The cluster's version, 1.30 or later.  [default: asked of the cluster]",
)
@kubeconfig_option
@context_option
@click.option("--namespace", default=NAMESPACE, show_default=True, metavar="NAMESPACE", help="Where it is installed.")
@click.option(
    "--policies-only", is_flag=True, help="Lower Lt and Gt by an admission policy, without webhook; needs 1.36."
)
@click.option("--cert-manager", is_flag=True, help="Let cert-manager make the certificates.")
@click.option(
    "--evict-by",
    type=click.Choice(("delete", "eviction")),
    default="delete",
    show_default=True,
    help="How pods leave when a value crosses; eviction asks budgets.",
)
@native_option("auto", "auto lets the webhook ask the API server; none lowers all.")
@new_comparisons_option
@click.option(
    "--additions",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="A list of matchLabelKeys and tolerations that policies add to pods by label of namespace or pod; needs 1.36.",
)
@click.option("--replicas", type=click.IntRange(1, 100), default=2, show_default=True, help="Replicas of each part.")
@click.option(
    "--priority-class",
    default="system-cluster-critical",
    show_default=True,
    metavar="CLASS",
    help="The PriorityClass of its pods.",
)
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(("yaml", "json", "kustomize", "helm")),
    default="yaml",
    show_default=True,
    help="A stream, a List, or a directory with a Kustomize base or a Helm chart.",
)
@click.option(
    "--directory",
    type=click.Path(path_type=Path),
    metavar="DIRECTORY",
    help="The new or empty directory for kustomize and helm.",
)
def print_installation(
    image: str,
    version: str,
    kubeconfig: str,
    context: str,
    namespace: str,
    policies_only: bool,
    cert_manager: bool,
    evict_by: str,
    native: str,
    new_comparisons: str,
    additions: Path | None,
    replicas: int,
    priority_class: str,
    form: str,
    directory: Path | None,
) -> int:
    """Print what has to be applied so that a cluster lowers, mirrors and evicts; nothing is applied.

    Accounts with the rights that are needed, webhook and controller with two replicas each, certificates that are
    replaced in time, the mirror of nodes, and what sends pods to the webhook. No custom resources are defined.

    \b
    Try:
      moorage attach install --image registry.example.com/moorage:1 | kubectl apply -f -
      moorage attach install --image … --kubernetes-version 1.33 -o helm --directory chart
      moorage attach install --image … --kubernetes-version 1.36 --policies-only
    """
    from moorage.attached.install.settings import Installation, Workload

    is_directory = form in ("kustomize", "helm")
    if is_directory != (directory is not None):
        raise click.UsageError(
            f"-o {form} needs --directory." if is_directory else "--directory needs -o kustomize or -o helm."
        )
    _check(image, namespace, priority_class, native, policies_only=policies_only, cert_manager=cert_manager)
    minor = _minor(version, kubeconfig, context, asks=form != "helm")
    workload = Workload(replicas)
    installation = Installation(
        image=image,
        minor=minor,
        namespace=namespace,
        policies_only=policies_only,
        cert_manager=cert_manager,
        evict_by=evict_by,
        native=native,
        new_comparisons=new_comparisons,
        priority_class=priority_class,
        additions=_additions(additions, policies_only=policies_only),
        webhook=workload,
        controller=workload,
    )
    if installation.additions and not installation.has_policies:
        raise click.UsageError(f"--additions needs Kubernetes 1.36; this is 1.{minor}.")
    if policies_only and not installation.has_policies:
        raise click.UsageError(f"--policies-only needs Kubernetes 1.36; this is 1.{minor}.")
    return _written(installation, form, directory)


def _check(
    image: str, namespace: str, priority_class: str, native: str, *, policies_only: bool, cert_manager: bool
) -> None:
    """Refuse what the API server would refuse later. Raises UsageError."""
    from moorage.model.names import dns1123_label_errors, dns1123_subdomain_errors

    chosen_operators(native)
    if not image.strip() or any(character.isspace() for character in image):
        raise click.BadParameter(f"{image!r} is not the name of an image", param_hint="'--image'")
    for option, name, errors in (
        ("--namespace", namespace, dns1123_label_errors(namespace)),
        ("--priority-class", priority_class, dns1123_subdomain_errors(priority_class)),
    ):
        for error in errors:
            raise click.BadParameter(f"{name!r}: {error}", param_hint=f"'{option}'")
    if policies_only and cert_manager:
        raise click.UsageError("--policies-only has no webhook, and so no certificates for --cert-manager.")


def _additions(path: Path | None, *, policies_only: bool) -> tuple[Addition, ...]:
    """Return what the file lists; exit if it cannot be read. Raises UsageError."""
    from moorage.attached.install.additions import AdditionError, compares, read_additions
    from moorage.cli.shared import say
    from moorage.lint.sources import reason_of

    if path is None:
        return ()
    try:
        read = tuple(read_additions(path.read_bytes(), str(path)))
    except AdditionError as error:
        for reason in error.reasons:
            say(reason)
        raise click.exceptions.Exit(CANNOT) from None
    except OSError as error:
        say(f"{path}: {reason_of(error)}")
        raise click.exceptions.Exit(CANNOT) from None
    if policies_only and compares(read):
        raise click.UsageError("tolerations with Lt and Gt in --additions need the webhook: policies run in any order.")
    return read


def _minor(version: str, kubeconfig: str, context: str, *, asks: bool) -> int:
    from moorage.attached.install.cluster_version import UnknownVersion, minor_of, read_minor
    from moorage.attached.install.settings import POLICY_MINOR

    if version:
        try:
            return minor_of(version)
        except UnknownVersion as error:
            raise click.BadParameter(str(error), param_hint="'--kubernetes-version'") from None
    return asked(kubeconfig, context, read_minor, _NAME_VERSION) if asks else POLICY_MINOR


def _written(installation: Installation, form: str, directory: Path | None) -> int:
    from moorage.attached.install.chart import chart, kustomization
    from moorage.attached.install.directory import NotEmpty, write_new_directory
    from moorage.attached.install.parts import manifests
    from moorage.cli.shared import say
    from moorage.lint.sources import reason_of

    if directory is None:
        print_documents(manifests(installation), form)
        return 0
    files = chart(installation) if form == "helm" else kustomization(installation)
    try:
        write_new_directory(directory, files)
    except NotEmpty as error:
        say(str(error))
        return CANNOT
    except OSError as error:
        say(f"{directory} cannot be written: {reason_of(error)}")
        return CANNOT
    tool = f"helm install attach {directory}" if form == "helm" else f"kubectl apply -k {directory}"
    say(f"{len(files)} files are in {directory}: {tool}")
    return 0
