"""Plug into pytest: the fixture `moorage_cluster`, its scope and options, and the marker `moorage`.

Registered by the entry point group pytest11. Imports nothing but pytest until a test wants a cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from moorage.testing.cluster import Cluster

_FIXTURE = "moorage_cluster"
_SCOPE, _SCOPE_OPTION = "moorage_cluster_scope", "--moorage-cluster-scope"
_SCOPES = ("function", "class", "module", "package", "session")
_MARKER = "moorage(**options): options of the cluster in the fixture moorage_cluster, such as gates={...} and nodes=3"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the scope of the fixture, as an option and as a setting."""
    text = f"How long tests share the cluster of the fixture {_FIXTURE}"
    parser.addini(_SCOPE, f"{text}: {', '.join(_SCOPES)}.", default="function")
    group = parser.getgroup("moorage")
    group.addoption(_SCOPE_OPTION, dest=_SCOPE, choices=_SCOPES, help=f"{text}; overrides {_SCOPE} of the ini file.")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker. Raises UsageError for a scope that does not exist."""
    config.addinivalue_line("markers", _MARKER)
    if (scope := _scope(_FIXTURE, config)) not in _SCOPES:
        raise pytest.UsageError(f"{_SCOPE}: there is no scope {scope!r}, only {', '.join(_SCOPES)}")


def _scope(fixture_name: str, config: pytest.Config) -> Any:
    return config.getoption(_SCOPE) or config.getini(_SCOPE)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Refuse a marker on a test or class that shares its cluster with others. Raises UsageError."""
    if _FIXTURE not in getattr(item, "fixturenames", ()):
        return
    scope = _scope(_FIXTURE, item.config)
    owner = item if scope == "function" else item.getparent(getattr(pytest, scope.capitalize()))
    if owner is None:  # a function that is in no class has a cluster of its own
        return
    for node, _ in item.iter_markers_with_node("moorage"):
        if node is not owner and owner in node.listchain():
            raise pytest.UsageError(
                f"the marker moorage of {node.name} has no effect: with scope {scope} the cluster is shared; set the "
                f"marker on the {scope}, or override the fixture moorage_cluster_options"
            )


@pytest.fixture(scope="session")
def moorage_cluster_options() -> dict[str, Any]:
    """Options of the clusters, to be overridden; those of the marker win."""
    return {}


@pytest.fixture(scope=_scope)
def moorage_cluster(request: pytest.FixtureRequest, moorage_cluster_options: dict[str, Any]) -> Iterator[Cluster]:
    """Run an ephemeral cluster in this process: own port, own kubeconfig, gone after the test, class, module or run."""
    from moorage.testing.cluster import Cluster

    mark = request.node.get_closest_marker("moorage")
    with Cluster(**{**moorage_cluster_options, **(mark.kwargs if mark is not None else {})}) as cluster:
        yield cluster
