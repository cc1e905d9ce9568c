"""Call an etcd cluster. Kubernetes: go.etcd.io/etcd/client/v3."""

from collections.abc import Iterable

from moorage.store.etcd.messages import Compare, MemberStatus, Operation, RangeResult, TxnResult
from moorage.store.etcd.settings import EtcdSettings
from moorage.store.etcd.watch import EtcdWatch


class EtcdClient:
    """A client of all members of a cluster, with one connection at a time. All methods raise EtcdError."""

    def __init__(self, settings: EtcdSettings) -> None:
        self.settings = settings

    @classmethod
    async def connect(cls, settings: EtcdSettings) -> "EtcdClient":
        """Return a client that has found a member which answers and may be used."""
        return cls(settings)

    async def range(
        self,
        key: bytes,
        end: bytes = b"",
        *,
        revision: int = 0,
        limit: int = 0,
        count_only: bool = False,
        keys_only: bool = False,
        serializable: bool = False,
    ) -> RangeResult:
        """Return the key, or with `end` all keys from `key` up to but without `end`. Raises EtcdCompacted."""
        raise NotImplementedError

    async def txn(
        self, compares: Iterable[Compare], then: Iterable[Operation], otherwise: Iterable[Operation] = ()
    ) -> TxnResult:
        """Do one or the other at one revision, by whether all conditions hold. Raises EtcdUncertain, EtcdNoSpace."""
        raise NotImplementedError

    async def compact(self, revision: int) -> None:
        """Forget what was superseded before the revision."""
        raise NotImplementedError

    async def grant(self, seconds: int) -> int:
        """Return a new lease: keys with it are deleted when the seconds are over."""
        raise NotImplementedError

    async def revoke(self, lease: int) -> None:
        """End a lease and delete its keys."""
        raise NotImplementedError

    def watch(self, key: bytes, end: bytes, start: int) -> EtcdWatch:
        """Watch keys from `key` up to but without `end`, from revision `start` on (0: from now on)."""
        raise NotImplementedError

    async def status(self) -> MemberStatus:
        """Return what the member that we are connected to says about itself."""
        raise NotImplementedError

    async def close(self) -> None:
        """End all calls and watches."""
