"""Read the `pools` argument of the library's functions: the pools of autoscalers."""

from moorage.library.manifests import Manifests, MoorageError, sources_from
from moorage.plan.input.inventory import Inventory
from moorage.plan.pools.reading import complaints, read_pool_sources
from moorage.pools.reading import Pools


def pools_from(manifests: Manifests, inventory: Inventory | None = None) -> Pools:
    """Return pools from paths, texts and mappings, and those of a plan's input. Raises MoorageError with every line.

    Instance types are a path, or their JSON as text.
    """
    pools = read_pool_sources(sources_from(manifests), inventory)
    lines = complaints(pools)
    if pools.problems or not pools.pools:
        raise MoorageError("\n".join(lines))
    return pools
