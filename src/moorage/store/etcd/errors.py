"""Say how a call to etcd can end other than with an answer, and what that means for a write.

`EtcdUnreachable`: nothing was done. `EtcdUncertain`: it may or may not have been done. `EtcdRefused`: etcd says no, and
nothing was done. Every message is one line for the person who runs the cluster.
Kubernetes: the error texts are those of etcd's api/v3rpc/rpctypes.
"""

from moorage.store.protocol import StoreFailed, StoreUnavailable


class EtcdError(Exception):
    """A call to etcd did not succeed."""


class EtcdUnreachable(EtcdError):
    """The call did not reach etcd, or etcd did not begin with it: nothing was done, and it may be tried again."""


class EtcdUncertain(EtcdError):
    """The call was sent and not answered, or etcd does not know itself: a write may be done, now or later."""


class EtcdRefused(EtcdError):
    """Etcd refused the call, and nothing was done. `code` is the number of the gRPC status, `text` is etcd's own."""

    def __init__(self, code: int, text: str, message: str = "") -> None:
        super().__init__(message or text)
        self.code, self.text = code, text


class EtcdNoSpace(EtcdRefused):
    """The database has reached its quota: etcd takes no writes until it was compacted and defragmented."""


class EtcdAuthFailed(EtcdRefused):
    """The user, its password or its certificate is not accepted, or may not do this."""


class EtcdCompacted(EtcdRefused):
    """The revision asked for is compacted. `revision` is the oldest there is, or 0 where etcd does not say."""

    def __init__(self, revision: int = 0, text: str = "etcdserver: mvcc: required revision has been compacted") -> None:
        super().__init__(11, text)
        self.revision = revision


class EtcdFutureRevision(EtcdRefused):
    """The revision asked for has not been reached."""


class EtcdTooLarge(EtcdRefused):
    """The request is larger than etcd accepts (`--max-request-bytes`, 1.5 MiB)."""


class EtcdTooManyRequests(EtcdRefused):
    """Etcd has more accepted writes waiting than it can keep up with; trying again later helps."""


class EtcdTooOld(EtcdRefused):
    """The server is etcd, but before version 3.5."""


def failed(what: str, error: EtcdError) -> StoreFailed:
    """Return what a store says about a call that did nothing. An uncertain `error` is that of a read."""
    passes = isinstance(error, EtcdUnreachable | EtcdUncertain | EtcdTooManyRequests)
    return (StoreUnavailable if passes else StoreFailed)(f"{what}: {error}")
