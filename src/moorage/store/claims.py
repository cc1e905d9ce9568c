"""Know which value holds a claim, in memory: for stores that one process writes to.

A claim that a write takes is held from when the write is accepted; one that it lets go of, until the write is durable.
Kubernetes: the bitmaps of addresses and node ports, which are objects in etcd there.
"""

from collections.abc import Sequence

from moorage.store.protocol import ClaimTaken


class Claims:
    """The holders of claims, by their keys."""

    __slots__ = ("_holders",)

    def __init__(self) -> None:
        self._holders: dict[str, str] = {}

    def take(self, key: str, claims: Sequence[str]) -> list[str]:
        """Take all of the claims for the value at `key`, or none; return those it did not hold. Raises ClaimTaken."""
        holders = self._holders
        for claim in claims:
            if holders.get(claim, key) != key:
                raise ClaimTaken(claim)
        taken = [claim for claim in claims if claim not in holders]
        holders.update(dict.fromkeys(taken, key))
        return taken

    def hold(self, key: str, claims: Sequence[str]) -> None:
        """Take those of the claims that are free."""
        for claim in claims:
            self._holders.setdefault(claim, key)

    def release(self, key: str, claims: Sequence[str]) -> None:
        """Let go of those of the claims that the value at `key` holds."""
        holders = self._holders
        for claim in claims:
            if holders.get(claim) == key:
                del holders[claim]
