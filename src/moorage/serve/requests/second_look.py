"""Look twice before a request is refused: on a store that other servers write to, the reason may be out of date.

Permissions, names, namespaces, quotas and what an object is at present are looked up in memory, which follows the store
at a short distance. So a refusal is given when memory has caught up, and nothing has changed or the request, handled
from its bytes once more, is refused again. Kubernetes: the stale cache suppression of GuaranteedUpdate, and lookups of
the live object in admission plugins.
"""

from moorage.model.api_error import ApiError, internal, shutting_down, timeout, unavailable
from moorage.serve.verbs.api import Api
from moorage.store.protocol import StoreClosed, StoreError, StoreUnavailable, StoreUncertain

#: Who it is, permissions, what is there, conflicts, revisions that are not there yet, validity, budgets.
_FROM_MEMORY = frozenset((401, 403, 404, 409, 410, 422, 429))
#: Where it is right to go by what is known, if no more can be known.
_SAFE = frozenset((401, 403))


class SecondLook:
    """The state of knowledge when a request came."""

    __slots__ = ("_api", "_began")

    def __init__(self, api: Api) -> None:
        self._api, self._began = api, api.knowledge

    async def is_worth_it(self, refusal: ApiError) -> bool:
        """Catch up; return whether the request may be answered otherwise now. Raises StoreFailed."""
        if refusal.code not in _FROM_MEMORY:
            return False
        try:
            await self._api.catch_up()
        except StoreError:
            if refusal.code in _SAFE:
                return False
            raise
        return self._api.knowledge != self._began


def failed(error: StoreError) -> ApiError:
    """Return what a client is told when the store fails."""
    if isinstance(error, StoreClosed):
        return shutting_down()
    if isinstance(error, StoreUncertain):
        return timeout(f"Timeout: it is not known whether the write was made: {error}")
    if isinstance(error, StoreUnavailable):
        return unavailable(f"the store does not answer: {error}")
    return internal(f"the store failed: {error}")
