"""Change a live cluster: try it first, then apply it, as far as the kubeconfig has the rights.

`act` is what POST /api/act/ACTION calls.
"""

from collections.abc import Awaitable, Callable

from moorage.client.protocol import Raw
from moorage.dashboard.actions.changing import apply, dry_run
from moorage.dashboard.actions.context import ActionContext, ActionError
from moorage.dashboard.actions.rights import rights

__all__ = ["ACTIONS", "ActionContext", "ActionError", "act"]

ACTIONS: dict[str, Callable[[Raw, ActionContext], Awaitable[Raw]]] = {
    "dry-run": dry_run,
    "apply": apply,
    "rights": rights,
}


async def act(action: str, body: Raw, context: ActionContext) -> Raw:
    """Carry an action out and return the answer. Raises ActionError, with the status and the sentence to send."""
    handler = ACTIONS.get(action)
    if handler is None:
        raise ActionError(404, f"there is no action {action!r}: {', '.join(ACTIONS)}")
    return await handler(body, context)
