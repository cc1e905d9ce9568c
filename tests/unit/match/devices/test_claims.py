"""Which claims of pods scheduling can tell apart."""

import msgspec

from moorage.match.devices.claims import claim_facts, device_facts_key
from moorage.model.types.devices import ResourceClaim
from moorage.model.types.pod import Pod

CLAIMS = {
    ("", name): msgspec.convert(
        {
            "metadata": {"name": name},
            "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": wanted}}]}},
        },
        ResourceClaim,
    )
    for name, wanted in (("a", "gpu"), ("b", "gpu"), ("c", "gpu"), ("n", "nic"))
}


def key(*names: str, by_name: bool = False, promised: tuple[str, ...] = ()) -> bytes:
    entries = [{"name": f"e{i}", "resourceClaimName": name} for i, name in enumerate(names)]
    pod = msgspec.convert({"spec": {"resourceClaims": entries}}, Pod)
    facts = claim_facts(pod, CLAIMS, {}, {("", name) for name in promised})
    return device_facts_key(facts, by_name)


def test_claims_that_wait_for_the_same_devices_are_alike() -> None:
    assert key("a", "n") == key("b", "n") != key("n", "b")
    assert key("a") != key("b", by_name=True)


def test_one_claim_twice_is_not_two_claims() -> None:
    assert key("a", "a") == key("b", "b") != key("a", "b") == key("c", "a")


def test_a_claim_that_another_pod_is_about_to_get_is_itself() -> None:
    assert key("a", promised=("a", "b")) != key("b", promised=("a", "b"))
