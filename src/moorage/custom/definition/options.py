"""What an update need not repair, because the stored definition has it already.

Kubernetes: validationOptions in apiextensions-apiserver, validation/validation.go.
"""

import msgspec


class DefinitionOptions(msgspec.Struct, frozen=True):
    """Everything on is the strictest reading: a new definition."""

    requires_known_review_version: bool = True
    requires_same_names: bool = False
    requires_valid_authorities: bool = False
    requires_schema: bool = True
    requires_valid_types: bool = True
    requires_structural: bool = True
    requires_pruned_defaults: bool = True
    requires_atomic_sets: bool = True
    requires_valid_keys: bool = True
    #: Versions whose schema an update leaves alone: their rules may cost more than a new one.
    unchanged_versions: frozenset[str] = frozenset()
    #: Versions that keep more selectable fields than are allowed; the empty name is that of all versions.
    many_selectable_fields: frozenset[str] = frozenset()
    limits_rule_costs: bool = True

    def for_version(self, version: str) -> "DefinitionOptions":
        if version not in self.unchanged_versions:
            return self
        return msgspec.structs.replace(self, limits_rule_costs=False)
