"""Give clusters to the tests of other programs; `moorage.testing.plugin` is a pytest plugin with a fixture.

Documented in docs/library.md. Names are imported when they are first used: pytest imports this package at every start.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moorage.testing.cluster import Cluster, KubectlResult, eventually

__all__ = ["Cluster", "KubectlResult", "eventually"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'moorage.testing' has no attribute {name!r}")
    import moorage.testing.cluster

    return getattr(moorage.testing.cluster, name)
