"""Describe the upgrade of a pool step by step, as plain sentences that text and Markdown share."""

from collections.abc import Iterator

from moorage.lint.report.form import counted
from moorage.plan.pool_upgrade import Upgrade, UpgradeStep
from moorage.plan.report.node_lists import shown_nodes

_MAX_MOVES = 4
_MAX_STEPS = 12


def title_of(upgrade: Upgrade) -> str:
    return f"Upgrade of {counted(len(upgrade.nodes), 'node')} ({upgrade.pool}), {upgrade.max_unavailable} at a time"


def step_lines(upgrade: Upgrade, *, everything: bool) -> Iterator[str]:
    """Return a line for each step; those in the middle of many are left out unless `everything` is printed."""
    steps = upgrade.steps
    kept = steps if everything or len(steps) <= _MAX_STEPS else [*steps[:6], *steps[-5:]]
    for index, step in enumerate(kept):
        if index and step.number > kept[index - 1].number + 1:
            yield f"… {step.number - kept[index - 1].number - 1} steps like these (--all lists them)"
        yield _step(step, everything=everything)


def _step(step: UpgradeStep, *, everything: bool) -> str:
    moves = [
        f"{move.pod} → {move.new_node or ('Pending' if move.replaced_by else 'not replaced')}" for move in step.moved
    ]
    shown = moves if everything or len(moves) <= _MAX_MOVES + 1 else moves[:_MAX_MOVES]
    more = f" and {len(moves) - len(shown):,} more" if len(moves) > len(shown) else ""
    left = f"; {', '.join(shown)}{more}" if moves else ""
    pending = f"; {len(step.pending):,} Pending then" if step.pending else ""
    nodes = shown_nodes(step.nodes, everything)
    return f"{step.number}. after {step.after_seconds:,} s  {nodes}: {', '.join(step.actions)}{left}{pending}"


def conclusion(upgrade: Upgrade) -> str:
    """Say whether the upgrade completes or where it stops."""
    done, pool = len(upgrade.upgraded), len(upgrade.nodes)
    if upgrade.completes:
        return f"It completes after {upgrade.after_seconds:,} s: {done:,} of {counted(pool, 'node')} are upgraded."
    count = f"{done:,} of {counted(pool, 'node')} are upgraded"
    return f"It stops at {upgrade.stops_at} after {upgrade.after_seconds:,} s: {upgrade.message}. {count}."
