"""Publish the devices of simulated nodes as ResourceSlices, as their DRA drivers would, and keep them there.

Slices follow the annotation of their Node; changes bump the generation of the pool. Slices that others published for a
driver and node are left alone, and nothing is added to them. Edited slices stay as they are until the annotation
changes. Kubernetes: kubeletplugin and its ResourceSlice controller.
"""

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial

from moorage.client.informer import Delta
from moorage.client.pacing import BackgroundCalls
from moorage.client.protocol import Client, Object, PatchType, Unreachable
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS
from moorage.model.types.devices import ResourceSlice
from moorage.model.types.node import Node
from moorage.run.devices.spec import (
    DEVICES,
    PUBLISHED,
    DeviceSet,
    Raw,
    annotation,
    digest,
    keep_times,
    new_slices,
    wanted_devices,
)
from moorage.run.node_objects import SIMULATOR_LABEL
from moorage.telemetry.logs import get_logger

_FIRST_RETRY, _LAST_RETRY = 0.5, 60.0
_LOOK_SECONDS = 0.005
_CONFLICT, _TOO_MANY, _SERVER_ERROR, _NOT_FOUND = 409, 429, 500, 404
_LOG = get_logger("kubelet")


class _NodeDevices:
    """A node, its slices by name, and whether they are being written."""

    __slots__ = ("devices", "is_again", "is_busy", "node", "retry", "slices", "text")

    def __init__(self) -> None:
        self.node: Node | None = None
        self.text: str | None = None  # of the annotation
        self.devices: dict[str, list[Raw]] = {}
        self.slices: dict[str, Object] = {}
        self.is_busy = self.is_again = False
        self.retry = _FIRST_RETRY


class DeviceDrivers:
    """The drivers of all simulated nodes. `sets` are the devices of nodes that have no annotation yet."""

    def __init__(self, client: Client, calls: BackgroundCalls, sets: tuple[DeviceSet, ...], simulator: str) -> None:
        self._client, self._calls, self._sets, self._simulator = client, calls, sets, simulator
        self._nodes: dict[str, _NodeDevices] = {}
        self._has_slices = False
        self._busy = 0  # calls that are under way or wait

    def annotate(self, document: Raw) -> Raw:
        """Return a Node to create, with its devices."""
        metadata = document["metadata"]
        text = annotation(self._sets, metadata["labels"])
        return {**document, "metadata": {**metadata, "annotations": {DEVICES: text}}} if text else document

    def simulates(self, driver: str, pool: str) -> bool:
        """Return whether a driver and its pool, which is named after its node, are simulated."""
        node_devices = self._nodes.get(pool)
        return node_devices is not None and node_devices.node is not None and driver in node_devices.devices

    def node_changed(self, node: Node) -> None:
        name, text = node.metadata.name, node.metadata.annotations.get(DEVICES)
        node_devices = self._nodes.get(name)
        if node_devices is None:
            if text is None and not self._sets:
                return
            node_devices = self._nodes[name] = _NodeDevices()
        is_new = node_devices.node is None or node_devices.node.metadata.uid != node.metadata.uid
        if not is_new and text == node_devices.text:
            node_devices.node = node
            return
        node_devices.node, node_devices.text = node, text
        if is_new and text is None and annotation(self._sets, node.metadata.labels):
            self._busy += 1
            self._calls.send(partial(self._give_devices, node))
            return
        node_devices.devices = wanted_devices(node)
        self._synchronize(name)

    def node_gone(self, name: str) -> None:
        """Leave the slices of a node that is gone to the garbage collector."""
        node_devices = self._nodes.get(name)
        if node_devices is not None:
            node_devices.node, node_devices.text, node_devices.devices = None, None, {}
            self._forget(name)

    def slices_changed(self, deltas: Iterable[Delta]) -> None:
        changed: dict[str, None] = {}
        for old, new in deltas:
            seen = new or old
            node = None if seen is None else seen.view.spec.nodeName
            if seen is None or node is None:
                continue
            slices = self._nodes.setdefault(node, _NodeDevices()).slices
            if new is None:
                slices.pop(seen.name, None)
                self._forget(node)
            elif seen.name not in slices or slices[seen.name].revision <= seen.revision:
                slices[seen.name] = seen
            changed[node] = None
        for node in changed:
            self._synchronize(node)

    def _forget(self, name: str) -> None:
        node_devices = self._nodes[name]
        if node_devices.node is None and not node_devices.slices:
            del self._nodes[name]

    def slices_listed(self) -> None:
        """Begin to write: all slices that there are have been seen."""
        self._has_slices = True
        for name in self._nodes:
            self._synchronize(name)

    def _synchronize(self, name: str) -> None:
        node_devices = self._nodes.get(name)
        if node_devices is None or node_devices.node is None or not self._has_slices:
            return
        if node_devices.is_busy:
            node_devices.is_again = True
        elif any(_differences(node_devices)):
            node_devices.is_busy = True
            self._busy += 1
            self._calls.send(partial(self._publish, name, node_devices))

    async def published(self, seconds: float) -> None:
        """Wait until the devices of all nodes are published, but no longer than this."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._busy or not self._has_slices:
                    await asyncio.sleep(_LOOK_SECONDS)

    async def _give_devices(self, node: Node) -> None:
        """Write the annotation into a node that another client created."""
        name, text = node.metadata.name, annotation(self._sets, node.metadata.labels)
        patch = {"metadata": {"uid": node.metadata.uid, "annotations": {DEVICES: text}}}
        try:
            patched = await self._client.patch(KINDS.NODE, name, "", patch, patch_type=PatchType.MERGE)
            self.node_changed(patched.view)
        except (ApiError, Unreachable) as error:
            _LOG.warning("A node cannot be given its devices", node=name, err=str(error))
        finally:
            self._busy -= 1

    async def _publish(self, name: str, node_devices: _NodeDevices) -> None:
        delay = 0.0
        try:
            while True:
                node_devices.is_again = False
                await self._publish_once(node_devices)
                node_devices.retry = _FIRST_RETRY
                if not node_devices.is_again or not any(_differences(node_devices)):
                    break
        except ApiError as error:
            _LOG.warning("ResourceSlices cannot be published", node=name, err=error.message)
            if error.code in (_CONFLICT, _TOO_MANY) or error.code >= _SERVER_ERROR:
                delay = node_devices.retry
        except Unreachable as error:
            _LOG.debug(2, "The API server cannot be reached", node=name, err=str(error))
            delay = node_devices.retry
        finally:
            node_devices.is_busy = False
            self._busy -= 1
        if delay:
            node_devices.retry = min(2 * delay, _LAST_RETRY)
            asyncio.get_running_loop().call_later(delay, self._synchronize, name)

    async def _publish_once(self, node_devices: _NodeDevices) -> None:
        for node, driver, slices, devices in list(_differences(node_devices)):
            generation = 1 + max((slice_.view.spec.pool.generation for slice_ in slices), default=0)
            desired = new_slices(node, driver, devices, generation, self._simulator) if devices is not None else []
            await self._replace(node_devices, slices, desired)

    async def _replace(self, node_devices: _NodeDevices, slices: list[Object], desired: list[Raw]) -> None:
        """Delete slices that are not wanted, update those with a wanted index, create the others."""
        indices = [new_slice["metadata"]["generateName"].partition("-")[0] for new_slice in desired]
        owner = desired[0]["metadata"]["ownerReferences"][0]["uid"] if desired else ""
        kept: dict[str, Object] = {}
        for slice_ in slices:
            index = slice_.name.partition("-")[0]
            if index in indices and index not in kept and _owner(slice_) == owner:
                kept[index] = slice_
            else:
                await self._delete(node_devices, slice_)
        for index, document in zip(indices, desired, strict=True):
            old = kept.get(index)
            if old is None:
                new = await self._client.create(KINDS.RESOURCE_SLICE, document)
            else:
                devices = keep_times(document["spec"].get("devices", []), old.raw["spec"].get("devices") or [])
                spec = {**document["spec"], "devices": devices}
                metadata = {**old.raw["metadata"], "annotations": document["metadata"]["annotations"]}
                new = await self._client.update(KINDS.RESOURCE_SLICE, {**old.raw, "metadata": metadata, "spec": spec})
            node_devices.slices[new.name] = new

    async def _delete(self, node_devices: _NodeDevices, slice_: Object) -> None:
        try:
            await self._client.delete(KINDS.RESOURCE_SLICE, slice_.name, uid=slice_.uid)
        except ApiError as error:
            if error.code not in (_NOT_FOUND, _CONFLICT):
                raise
        node_devices.slices.pop(slice_.name, None)


def _differences(node_devices: _NodeDevices) -> Iterator[tuple[Node, str, list[Object], list[Raw] | None]]:
    """Yield the drivers whose slices are not as wanted: the slices that there are, and the devices to publish."""
    node = node_devices.node
    if node is None:
        return
    published: dict[str, list[Object]] = {}
    for resource_slice in sorted(node_devices.slices.values(), key=lambda resource_slice: resource_slice.name):
        published.setdefault(resource_slice.view.spec.driver, []).append(resource_slice)
    for driver in {**node_devices.devices, **published}:
        slices = published.get(driver, [])
        ours = [slice_ for slice_ in slices if SIMULATOR_LABEL in slice_.view.metadata.labels]
        devices = node_devices.devices.get(driver) if len(ours) == len(slices) else None
        if not _is_published(node, ours, devices):
            yield node, driver, ours, devices


def _is_published(node: Node, slices: list[Object], devices: list[Raw] | None) -> bool:
    """Return whether these slices are what was published last for these devices; None if there must be no slices."""
    if devices is None or not slices:
        return not slices and devices is None
    published = digest(devices)
    views: list[ResourceSlice] = [slice_.view for slice_ in slices]
    return len({view.spec.pool.generation for view in views}) == 1 and all(
        view.metadata.annotations.get(PUBLISHED) == published
        and view.spec.pool.resourceSliceCount == len(views)
        and _owner(resource_slice) == node.metadata.uid
        for resource_slice, view in zip(slices, views, strict=True)
    )


def _owner(slice_: Object) -> str:
    return next((owner.uid for owner in slice_.view.metadata.ownerReferences if owner.kind == "Node"), "")
