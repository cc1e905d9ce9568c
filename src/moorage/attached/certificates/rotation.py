"""Decide which certificate is served and which authorities are trusted, step by step.

A new certificate waits beside the served one while its authority is made known. It is served once every configuration
has had that authority for `DISTRIBUTION`; the old authority is trusted until it expires, so a replica that still has
the old certificate goes on working.
Kubernetes: its own components reload certificates likewise. Differs: an expired certificate is replaced at once,
because waiting would not help.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from moorage.attached.certificates.pairs import RENEW_AFTER, Pair, age, complaint_about, lasting
from moorage.serve.pki.certificates import Issued

#: How long API servers may take to learn of a new authority: their watch takes less than a second.
DISTRIBUTION: Final = 600.0


class Held(NamedTuple):
    """What the Secret holds. `coming` is served next; `known_since` is when every configuration trusted all of it."""

    served: Issued | None = None
    coming: Issued | None = None
    authorities: tuple[bytes, ...] = ()
    known_since: float | None = None

    def __repr__(self) -> str:
        """Show no key in logs and tracebacks."""
        return f"Held(served={self.served is not None}, coming={self.coming is not None})"


def advanced(held: Held, namespace: str, is_known: bool, now: float, make: Callable[[str, float], Pair]) -> Held:
    """Return what the Secret has to hold. `is_known`: every configuration trusts the authorities that it holds now."""
    usable = _usable(held, namespace, now)
    if usable.served is None:
        return _served_at_once(usable, namespace, now, make)
    if usable.coming is None:
        if age(usable.served.certificate, now) < RENEW_AFTER:
            return usable._replace(known_since=None)
        pair = make(namespace, now)
        return usable._replace(coming=_issued(pair), authorities=(*usable.authorities, pair.authority))
    if not is_known:
        return usable._replace(known_since=None)
    if usable.known_since is None:
        return usable._replace(known_since=now)
    if now - usable.known_since < DISTRIBUTION:
        return usable
    return usable._replace(served=usable.coming, coming=None, known_since=None)


def due_in(held: Held, now: float) -> float:
    """Return in how many seconds something has to be done if nothing changes before."""
    if held.served is None:
        return 0.0
    if held.coming is not None:
        return DISTRIBUTION if held.known_since is None else max(held.known_since + DISTRIBUTION - now, 0.0)
    return max(RENEW_AFTER - age(held.served.certificate, now), 0.0)


def _usable(held: Held, namespace: str, now: float) -> Held:
    """Leave out what has expired or does not fit together; others can write a Secret too."""
    authorities = tuple(lasting(held.authorities, now))

    def kept(issued: Issued | None) -> Issued | None:
        return None if issued is None or complaint_about(issued, authorities, namespace, now) else issued

    coming = kept(held.coming)
    since = held.known_since
    return Held(
        kept(held.served), coming, authorities, since if coming and since is not None and since <= now else None
    )


def _served_at_once(held: Held, namespace: str, now: float, make: Callable[[str, float], Pair]) -> Held:
    if held.coming is not None:
        return Held(held.coming, None, held.authorities)
    pair = make(namespace, now)
    return Held(_issued(pair), None, (*held.authorities, pair.authority))


def _issued(pair: Pair) -> Issued:
    return Issued(pair.certificate, pair.key)
