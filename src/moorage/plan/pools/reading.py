"""Read pools from the files of `--pools`, and those among the objects that a plan has read, also of a live cluster."""

from collections.abc import Iterable, Iterator

from moorage.lint.sources import Source, opened, reason_of
from moorage.plan.input.inventory import Inventory
from moorage.pools.node_template import Pool
from moorage.pools.reading import PoolReader, Pools
from moorage.run.devices.spec import DEVICES, DeviceSpecError, devices_of, parse_devices

NO_POOL = "there is no pool in {}: a NodePool with instance types, a NodeGroup, or AutoScalingGroups"


def read_pool_sources(sources: Iterable[Source], inventory: Inventory | None = None) -> Pools:
    """Read pools from files, then those in the input of a plan that the files do not have.

    So a NodePool of a live cluster may use the instance types in a file, and a file says what would be applied to it.
    """
    reader = PoolReader()
    for source in sources:
        if source.problem:
            reader.cannot_read(source.name, source.problem)
            continue
        try:
            with opened(source) as stream:
                reader.read(stream, source.name, is_named=source.explicit)
        except OSError as error:
            reader.cannot_read(source.name, reason_of(error))
    for document in inventory.pool_documents if inventory is not None else ():
        if not reader.has_seen(document.raw):
            reader.add(document)
    pools = reader.finish()
    pools.notes += _notes_about_devices(pools.pools)
    return pools


def _notes_about_devices(pools: Iterable[Pool]) -> Iterator[str]:
    """Yield a line for each pool whose annotation about devices cannot be read: its nodes are taken to have none."""
    for pool in pools:
        text = pool.templates[0].annotations.get(DEVICES) if pool.templates else None
        try:
            devices_of(parse_devices(text, DEVICES)) if text else None
        except DeviceSpecError as error:
            yield f"{pool.place}: {pool.kind} {pool.name}: its nodes are taken to have no devices: {DEVICES}: {error}"


def pools_of(inventory: Inventory) -> Pools:
    """Return the pools of a plan: those that a command was given, else those among the objects of its input."""
    if inventory.pools is not None:
        return inventory.pools
    return read_pool_sources((), inventory) if inventory.pool_documents else Pools()


def complaints(pools: Pools, names: Iterable[str] = ()) -> list[str]:
    """Return a line for each thing that cannot be used, and one if no pool is left of the named files."""
    lines = [str(problem) for problem in pools.problems]
    if not pools.pools:
        lines.append(NO_POOL.format(", ".join(names) or "the input"))
    return lines
