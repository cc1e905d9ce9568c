"""Compile a claim's spec: for every request and subrequest its selectors, tolerations and count.

In: a ResourceClaimSpec, the device classes and the gates. Out: a `CompiledClaim`; equal specs may share one. What is
wrong with a request is kept and raised when its turn comes, because earlier requests' errors are reported first.
Kubernetes: validateDeviceRequest, isSelectable and selectorsMatch in dynamic-resource-allocation/structured.
Differs: a selector is asked once for all devices that look alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, WeakSet

from moorage.match.devices.allocation.features import AllocationError
from moorage.match.devices.selector import DeviceSelector, SelectorProblem, compile_device_selector
from moorage.match.devices.tolerations import compile_device_tolerations
from moorage.model.types.devices import ExactDeviceRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from moorage.match.devices.allocation.features import AllocatorFeatures
    from moorage.match.devices.allocation.offer import PoolBlock
    from moorage.match.devices.allocation.pools import DevicePool
    from moorage.match.devices.description import DeviceDescription
    from moorage.match.devices.tolerations import DeviceTolerations
    from moorage.match.tolerations import ProgramCache
    from moorage.model.gates import GateSet
    from moorage.model.types.devices import (
        DeviceClass,
        DeviceRequest,
        DeviceSubRequest,
        ResourceClaimSpec,
    )
    from moorage.model.types.devices import DeviceSelector as SelectorView

    FindClass = Callable[[str], DeviceClass | None]

EXACT_COUNT, ALL = "ExactCount", "All"
_MAX_REMEMBERED = 100_000


class AskedPools:
    """The pools of a block, one after the other, whose devices a request's selectors have been asked about."""

    __slots__ = ("begin", "end")

    def __init__(self, begin: int) -> None:
        self.begin = self.end = begin


class CompiledRequest:
    """One request, or one subrequest of a request with alternatives.

    `full_name` is the name in allocation results, `problem` what is wrong with it, if anything.
    """

    __slots__ = (
        "_asked_of",
        "_selected",
        "_selectors",
        "admin_access",
        "all_devices",
        "asked",
        "capacity",
        "count",
        "device_class",
        "full_name",
        "name",
        "parent",
        "problem",
        "tolerations",
        "unknown_selector",
        "view",
    )

    def __init__(
        self,
        request: DeviceRequest,
        wanted: ExactDeviceRequest | DeviceSubRequest,
        find_class: FindClass,
        gates: GateSet,
        pause: Callable[[], None] = lambda: None,
        programs: ProgramCache | None = None,
    ) -> None:
        exact = isinstance(wanted, ExactDeviceRequest)
        self.view = wanted
        self.parent = "" if exact else request.name
        self.name: str = request.name if isinstance(wanted, ExactDeviceRequest) else wanted.name
        self.full_name = self.name if exact else f"{request.name}/{self.name}"
        self.admin_access = isinstance(wanted, ExactDeviceRequest) and bool(wanted.adminAccess)
        self.all_devices = wanted.allocationMode == ALL
        self.count = wanted.count
        self.capacity = dict(wanted.capacity.requests) if wanted.capacity is not None else {}
        self.tolerations: DeviceTolerations = compile_device_tolerations(
            wanted.tolerations, gates, programs, component="the scheduler"
        )
        self.device_class = find_class(wanted.deviceClassName) if wanted.deviceClassName else None
        self.problem = self._find_problem()
        self.unknown_selector = next((i for i, selector in enumerate(wanted.selectors) if selector.cel is None), None)
        self._selectors: list[tuple[str, DeviceSelector | SelectorProblem]] = []
        self._selected: dict[DeviceDescription, bool] = {}
        self.asked: WeakSet[DevicePool] = WeakSet()  # pools whose devices its selectors have been asked about
        self._asked_of: WeakKeyDictionary[PoolBlock, AskedPools] = WeakKeyDictionary()
        if not self.problem and self.device_class is not None:
            of_class = f"class {self.device_class.metadata.name}"
            self._add_selectors(of_class, self.device_class.spec.selectors, gates, pause)
            self._add_selectors("", wanted.selectors, gates, pause)

    def _find_problem(self) -> str:
        where = f"request {self.name}"
        if not self.view.deviceClassName:
            return f"{where}: missing device class name (unsupported request type?)"
        if self.device_class is None:
            name = self.view.deviceClassName
            missing = f'deviceclass.resource.k8s.io "{name}" not found'
            return f"{where}: could not retrieve device class {name}: {missing}"
        if self.view.allocationMode not in (EXACT_COUNT, ALL):
            return f"{where}: unsupported count mode {self.view.allocationMode}"
        return ""

    def _add_selectors(
        self, owner: str, selectors: tuple[SelectorView, ...], gates: GateSet, pause: Callable[[], None]
    ) -> None:
        for index, selector in enumerate(selectors):
            pause()
            expression = selector.cel.expression if selector.cel is not None else ""
            compiled = compile_device_selector(expression, gates, stored=True)
            self._selectors.append((f"{owner}: selector #{index}", compiled))

    def check(self, claim: str, features: AllocatorFeatures) -> None:
        """Raise what is wrong with the request itself."""
        where = f"claim {claim}, request {self.name}"
        if self.unknown_selector is not None:
            message = "CEL expression empty (unsupported selector type?)"
            raise AllocationError(f"{where}, selector #{self.unknown_selector}: {message}")
        asks_admin = isinstance(self.view, ExactDeviceRequest) and self.view.adminAccess is not None
        if asks_admin and not features.admin_access:
            raise AllocationError(f"{where}: admin access is requested, but the feature is disabled")
        if self.problem:
            raise AllocationError(f"claim {claim}, {self.problem}")

    def known(self, device: DeviceDescription) -> bool | None:
        """Return the answer of `selects` if it is remembered."""
        return self._selected.get(device)

    def selects(self, device: DeviceDescription, claim: str) -> bool:
        """Return whether the class's and the request's selectors choose the device; raises AllocationError."""
        selected = self._selected.get(device)
        if selected is None:
            if len(self._selected) >= _MAX_REMEMBERED:
                self._selected.clear()
                self.asked.clear()
                self._asked_of.clear()
            selected = self._selected[device] = self._select(device, claim)
        return selected

    def asked_of(self, block: PoolBlock, first: int) -> AskedPools:
        """Return which pools of a block have been asked about, from one pool on."""
        asked = self._asked_of.get(block)
        if asked is None or not asked.begin <= first <= asked.end:
            asked = self._asked_of[block] = AskedPools(first)
        return asked

    @property
    def spent(self) -> int:
        """Return what the evaluations of its selectors cost so far; others may share them."""
        return sum(selector.spent for _, selector in self._selectors if isinstance(selector, DeviceSelector))

    def _select(self, device: DeviceDescription, claim: str) -> bool:
        for where, selector in self._selectors:
            owner = where if where[0] != ":" else f"claim {claim}{where}"
            if isinstance(selector, SelectorProblem):
                raise AllocationError(f"{owner}: CEL compile error: {selector.detail}")
            answer = selector.answer(device)
            if isinstance(answer, str):
                raise AllocationError(f"{owner}: CEL runtime error: {answer}")
            if not answer:
                return False
        return True

    def why_unselected(self, device: DeviceDescription) -> str | None:
        """Return which selector does not choose the device, or fails for it; None if all choose it."""
        for where, selector in self._selectors:
            owner, _, number = where.rpartition(": ")
            about = f"{number} of {owner or 'the request'}"
            if isinstance(selector, SelectorProblem):
                return f"{about} does not compile: {selector.detail}"
            answer = selector.answer(device)
            if isinstance(answer, str):
                return f"{about} failed: {answer}"
            if not answer:
                return f"{about} is not true: {selector.expression}"
        return None


class CompiledClaim:
    """A claim's requests: each a tuple of alternatives, which is one long for an exact request."""

    __slots__ = ("requests", "spec")

    def __init__(self, spec: ResourceClaimSpec, requests: tuple[tuple[CompiledRequest, ...], ...]) -> None:
        self.spec = spec
        self.requests = requests

    def check_features(self, index: int, claim: str, features: AllocatorFeatures) -> None:
        """Raise if a request asks for what is turned off."""
        request = self.spec.devices.requests[index]
        where = f"claim {claim}, request {request.name}"
        if request.firstAvailable and not features.prioritized_list:
            raise AllocationError(f"{where}: has subrequests, but the DRAPrioritizedList feature is disabled")
        if features.consumable_capacity:
            return
        off = "has capacity requests, but the DRAConsumableCapacity feature is disabled"
        if request.exactly is not None and request.exactly.capacity is not None:
            raise AllocationError(f"{where}: {off}")
        for subrequest in request.firstAvailable:
            if subrequest.capacity is not None:
                raise AllocationError(f"claim {claim}, subrequest {subrequest.name}: {off}")


def compile_claim(
    spec: ResourceClaimSpec,
    find_class: FindClass,
    gates: GateSet,
    pause: Callable[[], None] = lambda: None,
    *,
    programs: ProgramCache | None = None,
) -> CompiledClaim:
    """Compile all requests of a claim; class by class, for they may be missing. `pause` is called now and then.

    `programs` keeps the expressions of tolerations, and says how expensive ones are evaluated.
    """
    requests = []
    for request in spec.devices.requests:
        alternatives = request.firstAvailable or (request.exactly or ExactDeviceRequest(),)
        requests.append(
            tuple(
                CompiledRequest(request, alternative, find_class, gates, pause, programs)
                for alternative in alternatives
            )
        )
    return CompiledClaim(spec, tuple(requests))
