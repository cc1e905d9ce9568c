"""Find what a pod needs whose extended resources devices serve: on each node those that the node does not have.

Nodes that have the same of these resources in their allocatable are alike: one claim, and one `DeviceNeeds`, for all.
Kubernetes: filterExtendedResources. Differs: no empty claim where the node itself has everything.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage.columns.cluster import Cluster
from moorage.columns.shape import Shape
from moorage.match.devices.allocation.allocate import new_uuid
from moorage.match.devices.allocation.features import AllocatorFeatures
from moorage.match.devices.allocation.requests import CompiledClaim
from moorage.match.devices.claims import DeviceClaimFacts
from moorage.match.devices.extended_resources import RequestsAndMappings, requested_resources, requests_and_mappings
from moorage.model.schema.conversion import convert_view
from moorage.model.types.devices import ResourceClaimSpec
from moorage.schedule.plugins.devices.device_needs import AllocatedClaim, Answer, DeviceNeeds

STALE = "cannot schedule extended resource claim"
CANNOT_FIT = "cannot fit resource"
_NOTHING_FITS = -1
Compile = Callable[[ResourceClaimSpec], CompiledClaim]


class _Variant(msgspec.Struct):
    """What is needed on nodes of one kind."""

    needs: DeviceNeeds
    made: RequestsAndMappings


class ExtendedNeeds(DeviceNeeds):
    """The claims of one shape, and that for its extended resources."""

    def __init__(
        self,
        waiting: tuple[tuple[DeviceClaimFacts, CompiledClaim], ...],
        allocated: tuple[AllocatedClaim, ...],
        shape: Shape,
        features: AllocatorFeatures,
        facts: DeviceClaimFacts,
        compile_spec: Compile,
    ) -> None:
        super().__init__(waiting, allocated, shape.namespace, features)
        self.stale = facts.claim is not None  # a claim of an earlier attempt is there, and goes first
        self._facts = facts
        self._spec = shape.spec
        self._compile = compile_spec
        self._backed = [name for name, _ in facts.resources]
        self._others = [name for name in requested_resources(shape.spec) if name not in self._backed]
        self._variants: dict[int, _Variant] = {}

    @property
    def searches(self) -> bool:
        return True

    # -- kinds of nodes -----------------------------------------------------------------------------------------

    def _number(self, cluster: Cluster, slot: int) -> int:
        """Return which of the resources devices must serve on a node, as bits."""
        if self.stale or not self._has_others(cluster, slot):
            return _NOTHING_FITS
        arrays = cluster.nodes.allocatable_arrays
        return sum((arrays[name].values.item(slot) == 0) << bit for bit, name in enumerate(self._backed))

    def _numbers(self, cluster: Cluster) -> NDArray[np.int64]:
        nodes = cluster.nodes
        numbers = np.zeros(nodes.slots.capacity, np.int64)
        for bit, name in enumerate(self._backed):
            numbers |= (nodes.allocatable(name) == 0).astype(np.int64) << bit
        if self.stale:
            numbers[:] = _NOTHING_FITS
        elif self._others:
            for slot in nodes.slot_of.values():
                if not self._has_others(cluster, slot):
                    numbers[slot] = _NOTHING_FITS
        return numbers

    def _has_others(self, cluster: Cluster, slot: int) -> bool:
        """Return whether a node names all resources that no class serves."""
        return not self._others or all(name in cluster.nodes.node(slot).status.allocatable for name in self._others)

    def _variant(self, number: int) -> _Variant:
        variant = self._variants.get(number)
        if variant is None:
            resources = [name for bit, name in enumerate(self._backed) if number >> bit & 1]
            extended = requests_and_mappings(self._spec, resources, dict(self._facts.resources))
            waiting = self.waiting
            if extended.requests:
                spec = convert_view({"devices": {"requests": list(extended.requests)}}, ResourceClaimSpec)
                waiting = (*waiting, (self._facts, self._compile(spec)))
            needs = DeviceNeeds(
                waiting, self.allocated, self.namespace, self.features, self.sliced, lambda: self.paused()
            )
            variant = self._variants[number] = _Variant(needs, extended)
        return variant

    def needs_at(self, cluster: Cluster, slot: int) -> DeviceNeeds:
        number = self._number(cluster, slot)
        return self if number == _NOTHING_FITS else self._variant(number).needs

    def made_at(self, cluster: Cluster, slot: int) -> RequestsAndMappings | None:
        """Return the claim for extended resources that a pod gets on a node; None if it needs none there."""
        extended = self._variant(self._number(cluster, slot)).made
        return extended if extended.requests else None

    def version(self, cluster: Cluster) -> int:
        return super().version(cluster) + sum(variant.needs.version(cluster) for variant in self._variants.values())

    # -- what nodes can give ------------------------------------------------------------------------------------

    def answer(self, cluster: Cluster, slot: int) -> Answer:
        number = self._number(cluster, slot)
        if number == _NOTHING_FITS:
            return Answer(False, STALE if self.stale else CANNOT_FIT)
        needs = self._variant(number).needs
        return needs.answer(cluster, slot) if needs.searches else Answer(True)

    def fits(self, cluster: Cluster) -> NDArray[np.bool_]:
        mask = np.zeros(cluster.nodes.slots.capacity, np.bool_)
        for needs, here in self._kinds(cluster):
            mask |= here & needs.fits(cluster) if needs.searches else here
        return mask

    def _kinds(self, cluster: Cluster) -> Iterator[tuple[DeviceNeeds, NDArray[np.bool_]]]:
        numbers = self._numbers(cluster)
        for number in np.unique(numbers[cluster.nodes.alive]).tolist():
            if number != _NOTHING_FITS:
                yield self._variant(number).needs, numbers == number

    def error(
        self,
        cluster: Cluster,
        names: Callable[[DeviceNeeds], list[str]],
        passed: Callable[[], NDArray[np.bool_]],
    ) -> str:
        for needs, here in self._kinds(cluster):
            problem = needs.error(cluster, names, partial(_both, passed, here))
            if problem:
                return problem
        return ""

    def allocate(
        self, cluster: Cluster, slot: int, names: list[str], new_share_id: Callable[[], str] = new_uuid
    ) -> list[dict[str, Any]] | None:
        return self.needs_at(cluster, slot).allocate(cluster, slot, names, new_share_id)


def _both(passed: Callable[[], NDArray[np.bool_]], here: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return passed() & here
