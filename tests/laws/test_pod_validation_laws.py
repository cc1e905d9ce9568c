"""Laws of pod validation: addresses are those of the standard library, and what containers need together is no less
than what any moment of the pod's life needs."""

import ipaddress
from collections.abc import Callable
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices

from moorage.admit.pod.ip_addresses import validate_ip_address
from moorage.admit.pod.resources import container_total
from moorage.model.quantity import Quantity, parse_quantity
from moorage.model.types.pod import PodSpec

Total = Callable[[PodSpec], int]

addresses = st.one_of(
    st.ip_addresses().map(str),
    st.ip_addresses(v=6).map(lambda address: address.exploded),
    st.ip_addresses(v=4).map(lambda address: f"::{address}"),
    st.ip_addresses(v=4).map(lambda address: f"::ffff:{address}"),
    st.lists(st.sampled_from(["", "0", "00", "1", "fF", "12345", "255", "256", "1.2.3.4"]), max_size=10).map(":".join),
    st.lists(st.sampled_from(["", "0", "00", "1", "255", "256", "a"]), max_size=6).map(".".join),
    st.text(alphabet="0189abF:.% ", max_size=20),
)


def accepts(text: str) -> bool:
    return not validate_ip_address(text, "ip")


def is_address(text: str) -> bool:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text and getattr(address, "ipv4_mapped", None) is None


def agrees_with_the_standard_library(implementation: Callable[[str], bool]) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(addresses)
    def law(text: str) -> None:
        assert implementation(text) == is_address(text)

    return law


def test_addresses() -> None:
    agrees_with_the_standard_library(accepts)()


def test_the_law_of_addresses_notices_mistakes() -> None:
    assert_notices(agrees_with_the_standard_library(lambda text: accepts(text) and ":" not in text))
    assert_notices(agrees_with_the_standard_library(lambda text: accepts(text) or text.count(":") > 1))


def _quantity(wanted: type, value: Any) -> Any:
    assert wanted is Quantity
    return parse_quantity(value)


requests = st.integers(0, 9).map(lambda cpu: {"resources": {"requests": {"cpu": str(cpu)}}})
specs = st.fixed_dictionaries(
    {
        "containers": st.lists(requests, min_size=1, max_size=3),
        "initContainers": st.lists(
            st.tuples(requests, st.sampled_from([{}, {"restartPolicy": "Always"}])).map(
                lambda two: {**two[0], **two[1]}
            ),
            max_size=4,
        ),
    }
).map(lambda raw: msgspec.convert(raw, PodSpec, dec_hook=_quantity))


def total(spec: PodSpec) -> int:
    return container_total(spec, "requests")["cpu"].value()


def needed_at_the_worst_moment(spec: PodSpec) -> int:
    """Walk through the pod's life: init containers one after the other, each beside the sidecars before it."""
    sidecars, worst = 0, 0
    for container in spec.initContainers:
        cpu = container.resources.requests["cpu"].value()
        worst = max(worst, sidecars + cpu)
        sidecars += cpu if container.restartPolicy == "Always" else 0
    return max(worst, sidecars + sum(container.resources.requests["cpu"].value() for container in spec.containers))


def is_what_the_worst_moment_needs(implementation: Total) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(specs)
    def law(spec: PodSpec) -> None:
        assert implementation(spec) == needed_at_the_worst_moment(spec)

    return law


def test_what_containers_need_together() -> None:
    is_what_the_worst_moment_needs(total)()


def test_the_law_of_sums_notices_mistakes() -> None:
    def without_sidecars(spec: PodSpec) -> int:
        return total(msgspec.structs.replace(spec, initContainers=()))

    assert_notices(is_what_the_worst_moment_needs(without_sidecars))
