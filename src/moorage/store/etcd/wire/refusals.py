"""Say what a gRPC status of etcd means: refused, not begun, or unknown. Kubernetes: etcd's api/v3rpc/rpctypes.

A status that is not known to mean "nothing was done" means that a write may have been done.
"""

from moorage.store.etcd.errors import (
    EtcdAuthFailed,
    EtcdCompacted,
    EtcdError,
    EtcdFutureRevision,
    EtcdNoSpace,
    EtcdRefused,
    EtcdTooLarge,
    EtcdTooManyRequests,
    EtcdUncertain,
    EtcdUnreachable,
)
from moorage.store.etcd.wire.streams import GrpcStatus

NO_LEADER = "etcdserver: no leader"

#: Said before etcd begins with a request: another member, or the same one later, may take it.
_NOT_BEGUN = {
    NO_LEADER: "has no leader: it cannot reach most of the members, or they elect one",
    "etcdserver: not capable": "is starting",
    "etcdserver: rpc not supported for learner": "is a learner, which takes no requests",
    "raft proposal dropped": "has no leader: it cannot reach most of the members, or they elect one",
}
#: The token was not accepted; another one may be.
_BAD_TOKENS = frozenset(["etcdserver: invalid auth token", "etcdserver: revision of auth store is old"])
_AUTH = {
    "etcdserver: authentication failed, invalid user ID or password": "does not accept the user and password",
    "etcdserver: authentication is not enabled": "has authentication disabled, but a user and password are given",
    "etcdserver: user name is empty": "requires a user and password, or a certificate of a user",
    "etcdserver: permission denied": "does not let our user do this: it needs a role with readwrite on the prefix",
}
_NO_SPACE = (
    "has no space left (NOSPACE): compact and defragment it or raise --quota-backend-bytes, then `etcdctl alarm disarm`"
)
_UNIMPLEMENTED = 12
#: Codes with which etcd refuses a request for what it is: INVALID_ARGUMENT, NOT_FOUND, ALREADY_EXISTS, ….
_DEFINITE = frozenset([3, 5, 6, 7, 8, 9, 11, 12, 15, 16])


class EtcdBadToken(EtcdAuthFailed):
    """The token has expired, or the member does not know it yet: a new one may be accepted."""


def meaning(status: GrpcStatus, name: str) -> EtcdError:
    """Return the error that a status means; `name` is the server's URL."""
    code, text = status.code, status.text
    if text in _NOT_BEGUN:
        return EtcdUnreachable(f"etcd at {name} {_NOT_BEGUN[text]}")
    if text in _BAD_TOKENS:
        return EtcdBadToken(code, text, f"etcd at {name} does not accept our token ({text})")
    if text in _AUTH:
        return EtcdAuthFailed(code, text, f"etcd at {name} {_AUTH[text]}")
    if code == 8:
        return _exhausted(code, text, name)
    if text.endswith("required revision has been compacted"):
        return EtcdCompacted(0, text)
    if text.endswith("required revision is a future revision"):
        return EtcdFutureRevision(code, text)
    if text == "etcdserver: request is too large":
        return EtcdTooLarge(code, text, "the object is too large for etcd (--max-request-bytes, 1.5 MiB by default)")
    if code == _UNIMPLEMENTED:
        return EtcdRefused(code, text, f"{name} is not etcd 3.5 or later ({text})")
    if code in _DEFINITE:
        return EtcdRefused(code, text, f"etcd at {name} refuses: {text}")
    return EtcdUncertain(f"etcd at {name}: {text or f'gRPC status {code}'}")


def _exhausted(code: int, text: str, name: str) -> EtcdError:
    if "database space exceeded" in text:
        return EtcdNoSpace(code, text, f"etcd at {name} {_NO_SPACE}")
    if "too many requests" in text:
        return EtcdTooManyRequests(code, text, f"etcd at {name} has too many requests waiting")
    if "larger than max" in text or "too large" in text:
        return EtcdTooLarge(code, text, "the object is too large for etcd (--max-request-bytes, 1.5 MiB by default)")
    return EtcdUncertain(f"etcd at {name}: {text}")
