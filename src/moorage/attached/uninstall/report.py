"""Write the way back as text: the stages with the current one marked, what is lowered, and the next commands.

Kubernetes: kubeadm upgrade plan.
"""

from collections.abc import Iterator
from typing import Final

from moorage.attached.uninstall.stages import STAGES, WayBack

_MOST_SHOWN: Final = 50


def way_back_lines(found: WayBack, *, shows_all: bool) -> Iterator[str]:
    """Yield the lines of the report."""
    for number, title in enumerate(STAGES, 1):
        mark = "→" if number == found.stage else "✓" if not found.stage or number < found.stage else " "
        yield f"{mark} {number}. {title}"
    yield ""
    yield from (f"not checked: {each}" for each in found.unread)
    yield from (f"warning: {each}" for each in found.warnings)
    if found.lowered:
        yield "lowered, and what it could become:"
        shown = found.lowered if shows_all else found.lowered[:_MOST_SHOWN]
        for lowered, becoming in shown:
            relies = f", relies on {', '.join(lowered.relies_on)}" if lowered.relies_on else ""
            made = f", made by {lowered.owner}" if lowered.owner else ""
            old = " (a revision)" if lowered.is_history else ""
            yield f"  {lowered.shown}{old}{made}{relies}"
            if not lowered.owner:
                yield from (f"    {each}" for each in becoming)
        if len(shown) < len(found.lowered):
            yield f"  {len(found.lowered) - len(shown):,} more: --all prints them"
        yield ""
    if found.blocked:
        yield f"blocked: {found.blocked}"
    if found.why:
        yield f"{found.why}." if found.stage else found.title
    if found.commands:
        yield "next:"
        yield from (f"  {command}" for command in found.commands)
        yield "then call `moorage attach uninstall` again"
