"""Validate NetworkPolicies.

Kubernetes: ValidateNetworkPolicy and ValidateNetworkPolicyUpdate. Differs: there are no warnings about ranges that
programs read in different ways.
"""

from collections.abc import Iterator

import msgspec

from moorage.admit.kinds.row import KindRow, Rows
from moorage.admit.metadata import (
    has_invalid_label_value,
    validate_label_selector,
    validate_object_meta,
    validate_object_meta_update,
)
from moorage.admit.options import ValidationOptions, options_for_create
from moorage.admit.pod.handlers import validate_port_number
from moorage.admit.pod.ip_addresses import is_strict_subnet, parse_cidr, validate_cidr
from moorage.admit.prepare import kind_defaults as defaults
from moorage.admit.prepare import strategies
from moorage.model import field_error as field
from moorage.model.field_error import AsJSON, FieldErrors
from moorage.model.gates import GateSet
from moorage.model.names import port_name_errors
from moorage.model.types import networking as views

_PROTOCOLS = ("TCP", "UDP", "SCTP")
_DIRECTIONS = ("Ingress", "Egress")


def validate_network_policy(policy: views.NetworkPolicy, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(policy.metadata, "metadata")
    yield from _validate_spec(policy.spec, frozenset(), options)


def validate_network_policy_update(
    new: views.NetworkPolicy, old: views.NetworkPolicy, options: ValidationOptions
) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    yield from _validate_spec(new.spec, frozenset(_ranges(old.spec)), options)


def _ranges(spec: views.NetworkPolicySpec) -> Iterator[str]:
    peers = [peer for rule in spec.ingress for peer in rule.from_] + [peer for rule in spec.egress for peer in rule.to]
    for block in (peer.ipBlock for peer in peers):
        if block is not None:
            yield from (block.cidr, *block.except_)


def _validate_spec(spec: views.NetworkPolicySpec, known: frozenset[str], options: ValidationOptions) -> FieldErrors:
    """`known` are the ranges of the old object, which need not be written better."""
    yield from validate_label_selector(spec.podSelector, "spec.podSelector", options)
    rules = [(f"spec.ingress[{index}]", rule.ports, "from", rule.from_) for index, rule in enumerate(spec.ingress)]
    rules += [(f"spec.egress[{index}]", rule.ports, "to", rule.to) for index, rule in enumerate(spec.egress)]
    for path, ports, name, peers in rules:
        for index, port in enumerate(ports):
            yield from _validate_port(port, f"{path}.ports[{index}]")
        for index, peer in enumerate(peers):
            yield from _validate_peer(peer, f"{path}.{name}[{index}]", known, options)
    if len(spec.policyTypes) > len(_DIRECTIONS):
        yield field.invalid("spec.policyTypes", AsJSON(spec.policyTypes), "may not specify more than two policyTypes")
        return
    for index, direction in enumerate(spec.policyTypes):
        yield from field.one_of(direction, _DIRECTIONS, f"spec.policyTypes[{index}]")


def _validate_port(port: views.NetworkPolicyPort, path: str) -> FieldErrors:
    yield from field.one_of(port.protocol, _PROTOCOLS, f"{path}.protocol")
    end = port.endPort
    if port.port is None or isinstance(port.port, str):
        if end is not None:
            why = "`port` is not specified" if port.port is None else "`port` is non-numeric"
            yield field.invalid(f"{path}.endPort", end, f"may not be specified when {why}")
        if port.port is not None:
            messages = port_name_errors(port.port)
            yield from (field.invalid(f"{path}.port", port.port, message) for message in messages)
        return
    yield from validate_port_number(port.port, f"{path}.port")
    if end is not None:
        if end < port.port:
            yield field.invalid(f"{path}.endPort", port.port, "must be greater than or equal to `port`")
        yield from validate_port_number(end, f"{path}.endPort")


def _validate_peer(
    peer: views.NetworkPolicyPeer, path: str, known: frozenset[str], options: ValidationOptions
) -> FieldErrors:
    given = 0
    for name, selector in (("podSelector", peer.podSelector), ("namespaceSelector", peer.namespaceSelector)):
        if selector is not None:
            given += 1
            yield from validate_label_selector(selector, f"{path}.{name}", options)
    if peer.ipBlock is not None:
        yield from _validate_block(peer.ipBlock, f"{path}.ipBlock", known)
        if given:
            yield field.forbidden(path, "may not specify both ipBlock and another peer")
    elif not given:
        yield field.required(path, "must specify a peer")


def _validate_block(block: views.IPBlock, path: str, known: frozenset[str]) -> FieldErrors:
    if not block.cidr:
        yield field.required(f"{path}.cidr")
        return
    if block.cidr not in known:
        yield from validate_cidr(block.cidr, f"{path}.cidr")
    whole = parse_cidr(block.cidr)
    if whole is None:
        return
    for index, text in enumerate(block.except_):
        at = f"{path}.except[{index}]"
        if text not in known:
            yield from validate_cidr(text, at)
        taken_out = parse_cidr(text)
        if taken_out is not None and not is_strict_subnet(taken_out, whole):
            yield field.invalid(at, text, "must be a strict subset of `cidr`")


def _options(gates: GateSet, old: views.NetworkPolicy | None) -> ValidationOptions:
    is_excused = old is not None and has_invalid_label_value(old.spec.podSelector)
    options = options_for_create(gates)
    return msgspec.structs.replace(options, allow_invalid_label_value_in_selector=True) if is_excused else options


ROWS: Rows = {
    views.NetworkPolicy: KindRow(
        validate_network_policy,
        validate_network_policy_update,
        defaults.default_network_policy,
        strategies.prepare_counted,
        _options,
        has_generation=True,
    ),
}
