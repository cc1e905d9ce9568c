"""Follow the changes of a range of keys. Kubernetes: clientv3's Watcher, without its own resuming."""

from moorage.store.etcd.messages import WatchResult


class EtcdWatch:
    """One watch on one stream. It ends with an error when its server fails; the caller starts another one."""

    async def next(self) -> WatchResult:
        """Wait for what comes next. Raises EtcdError when the watch has ended."""
        raise NotImplementedError

    async def request_progress(self) -> None:
        """Ask etcd to say how far it is; unreliable before etcd 3.5.13."""
        raise NotImplementedError

    def close(self) -> None:
        """End the watch."""
