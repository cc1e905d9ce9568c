"""Read the two sides of `moorage plan --diff OLD NEW` beside the input that both have in common.

A side is a file, a directory, `-`, or a path in a git revision (`main:deploy/`); OLD may be `live`, the cluster of
--kubeconfig or --context. A file that is called so is `./live`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec

from moorage.cli.shared import given_options

if TYPE_CHECKING:
    from collections.abc import Iterable

    from moorage.lint.sources import Source
    from moorage.plan.difference.two_inputs import InputDiff
    from moorage.plan.planner import Planner
    from moorage.plan.what_if import Changes

LIVE = "live"
#: The options that change the cluster of a plan.
CHANGES = (
    *("--change", "--taint", "--untaint", "--label", "--drain", "--remove", "--cordon", "--scale", "--upgrade"),
    *("--evict", "--add-nodes", "--like"),
)


def check_sides(sides: tuple[str, str], kubeconfig: str | None) -> None:
    """Raise UsageError for sides that cannot be compared, and for options that have no place beside --diff."""
    old, new = sides
    if new == LIVE:
        raise click.UsageError("--diff: only OLD can be the live cluster; NEW is applied to it. A file is ./live.")
    if old == LIVE and kubeconfig is None:
        raise click.UsageError("--diff live needs a cluster: --kubeconfig, --context or $KUBECONFIG.")
    if given := given_options(*CHANGES, "--gates-before", "--gates-after"):
        raise click.UsageError(f"--diff compares two inputs: {', '.join(given)} cannot be given with it.")


def with_sides(
    planner: Planner, changes: Changes, sides: tuple[str, str], *, allows_empty: bool
) -> tuple[Changes, list[Source]]:
    """Load OLD; return the changes with the comparison, and what NEW has. Raises ChangeError and UsageError."""
    old, new = (_sources(side, allows_empty=allows_empty) for side in sides)
    return msgspec.structs.replace(changes, diff=_load_old(planner, sides, old, allows_empty=allows_empty)), new


def _sources(side: str, *, allows_empty: bool) -> list[Source]:
    """Return what one side has; nothing for the live cluster. Raises UsageError."""
    from moorage.lint.sources import sources_of
    from moorage.plan.input.git_sources import GitError, git_sources, is_revision

    if side == LIVE:
        return []
    if not is_revision(side):
        return list(sources_of([side]))
    try:
        return git_sources(side, allows_absent=allows_empty)
    except GitError as error:
        raise click.UsageError(f"--diff: {error}") from None


def _load_old(planner: Planner, sides: tuple[str, str], sources: Iterable[Source], *, allows_empty: bool) -> InputDiff:
    """Load OLD on top of the common input; return the comparison with NEW, which is still to be read.

    What exists in a cluster is not in common if OLD has it, too: it is what OLD has made there. Raises ChangeError.
    """
    from moorage.plan.difference.two_inputs import InputDiff, refuse_unreadable
    from moorage.plan.input.reading import Reader
    from moorage.plan.node_changes import ChangeError

    old, new = sides
    inventory = planner.inventory
    common = {key for key, item in inventory.items.items() if not item.existing}
    first = len(inventory.notes)
    reader = Reader(inventory, planner.settings.gates, announces_updates=False)
    reader.read(sources)
    refuse_unreadable(inventory, first)
    if old != LIVE and not reader.named and not allows_empty:
        raise ChangeError(f"{old} has no Kubernetes object; --allow-empty accepts it")
    keys = [key for key in inventory.items if key in reader.changed and key not in common]
    reader.close()
    where = "the live cluster" if old == LIVE else old
    return InputDiff(where, new, keys, inventory.notes[first:], allows_empty=allows_empty)
