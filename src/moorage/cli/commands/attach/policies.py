"""Print the admission policies of attach (`moorage attach policies`)."""

from __future__ import annotations

from typing import Any

import click

from moorage.cli.commands.attach.documents import form_option, print_documents
from moorage.cli.commands.attach.native import REFUSE, new_comparisons_option


@click.command("policies")
@click.option("--lower", "lowers", is_flag=True, help="Print also the policy that lowers tolerations with Lt and Gt.")
@new_comparisons_option
@click.option(
    "--add-match-label-keys",
    "keys",
    multiple=True,
    metavar="KEY,...",
    help="Print a policy that adds matchLabelKeys to spread constraints and pod affinity of new pods. Repeatable.",
)
@click.option(
    "--add-toleration",
    "tolerations",
    multiple=True,
    metavar="KEY[=VALUE][:EFFECT]",
    help="Print a policy that adds a toleration to new pods; KEY>N and KEY<N need the webhook. Repeatable.",
)
@click.option(
    "--namespaces", default="", metavar="SELECTOR", help="Add to pods in namespaces with these labels, as kubectl -l."
)
@click.option("--pods", default="", metavar="SELECTOR", help="Add to pods with these labels.")
@click.option("--name", default="everyone", show_default=True, metavar="NAME", help="The name of what is added.")
@form_option
def print_policies(
    lowers: bool,
    new_comparisons: str,
    keys: tuple[str, ...],
    tolerations: tuple[str, ...],
    namespaces: str,
    pods: str,
    name: str,
    form: str,
) -> None:
    """Print the admission policy that mirrors taints and versions of nodes in labels; it needs Kubernetes 1.36.

    With --lower, tolerations with Lt and Gt can be applied as they are, and are lowered by the API server. With --add-…
    another policy is printed in its place, which needs nothing else of attach.

    \b
    Try:
      moorage attach policies | kubectl apply -f -
      moorage attach policies --lower | kubectl apply -f -
      moorage attach policies --add-match-label-keys pod-template-hash --namespaces team=shop | kubectl apply -f -
      moorage attach policies --add-toleration spot=yes:NoSchedule --pods tier=batch --name spot
    """
    from moorage.attach.policies.lowering import lowering_policy
    from moorage.attach.policies.mirror import mirror_policy

    if keys or tolerations or namespaces or pods:
        if lowers:
            raise click.UsageError("--lower and --add-… are different policies: print one after the other.")
        print_documents(_added(keys, tolerations, namespaces, pods, name), form)
        return
    lowering = lowering_policy(refuses_new=new_comparisons == REFUSE) if lowers else ()
    print_documents([*mirror_policy(), *lowering], form)


def _added(
    keys: tuple[str, ...], tolerations: tuple[str, ...], namespaces: str, pods: str, name: str
) -> list[dict[str, Any]]:
    """Return the policy of --add-…. Raises UsageError."""
    from moorage.attach.policies.additions import Addition, addition_policy
    from moorage.attached.install.additions import AdditionError, checked_addition, selector_of, toleration_of

    try:
        addition = Addition(
            name,
            selector_of(namespaces) if namespaces else None,
            selector_of(pods) if pods else None,
            [key.strip() for text in keys for key in text.split(",") if key.strip()],
            [toleration_of(text) for text in tolerations],
        )
        return addition_policy(checked_addition(addition))
    except AdditionError as error:
        raise click.UsageError(str(error)) from None
