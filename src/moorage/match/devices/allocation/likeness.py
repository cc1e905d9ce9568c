"""Derive what a search for devices can tell of one: devices with equal likeness need not be tried one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.match.devices.allocation.features import AllocationError, SearchLimitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from moorage.match.devices.allocation.constraints import Constraint
    from moorage.match.devices.allocation.published import DevicesInUse, PublishedDevice
    from moorage.match.devices.allocation.requests import CompiledRequest
    from moorage.match.devices.allocation.search import ClaimToAllocate

    Selects = Callable[[CompiledRequest, PublishedDevice, str], bool]


def derive_likeness(
    device: PublishedDevice,
    claims: Sequence[ClaimToAllocate],
    selects: Selects,
    constraints: Sequence[Sequence[Constraint]],
    in_use: DevicesInUse,
) -> object:
    """Return what requests and constraints make of a device, and what is left of it."""
    view = device.device
    consumption = [
        (consumed.counterSet, tuple(sorted((name, counter.value) for name, counter in consumed.counters.items())))
        for consumed in view.consumesCounters
    ]
    return (
        tuple(_answers(device, claims, selects)),
        in_use.is_taken(device.id),
        device.excluding,
        (device.published.pool, *consumption) if consumption else None,
        tuple(constraint.find(device) for of_claim in constraints for constraint in of_claim),
        tuple(sorted(view.capacity.items(), key=lambda entry: entry[0])),
        tuple(sorted(in_use.consumed(device.id).items())),
    )


def _answers(device: PublishedDevice, claims: Sequence[ClaimToAllocate], selects: Selects) -> Iterator[object]:
    """Yield whether each request selects the device, or why its selectors fail: that is not judged here."""
    for claim in claims:
        for alternatives in claim.compiled.requests:
            for request in alternatives:
                try:
                    yield selects(request, device, claim.name)
                except SearchLimitError:
                    raise
                except AllocationError as error:
                    yield str(error)
