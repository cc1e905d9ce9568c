"""Give clusters and webhooks to the tests of other programs; documented in docs/library.md.

`moorage.testing.plugin` is a pytest plugin with a fixture. Names are imported when they are first used: pytest imports
this package at every start.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moorage.testing.cluster import Cluster, KubectlResult, eventually
    from moorage.testing.webhooks import Verdict, WebhookServer, allow, deny, patch

__all__ = ["Cluster", "KubectlResult", "Verdict", "WebhookServer", "allow", "deny", "eventually", "patch"]
_WEBHOOKS = frozenset(["Verdict", "WebhookServer", "allow", "deny", "patch"])


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'moorage.testing' has no attribute {name!r}")
    if name in _WEBHOOKS:
        import moorage.testing.webhooks

        return getattr(moorage.testing.webhooks, name)
    import moorage.testing.cluster

    return getattr(moorage.testing.cluster, name)
