"""Validate a CustomResourceDefinition, new or updated.

In: views, and the rule for metadata of embedded objects. Out: field errors in Kubernetes' order and with its texts.
Kubernetes: apiextensions-apiserver, validation/validation.go. Differs: schemas of too many levels and too many
rules are refused.
"""

from itertools import chain, islice
from typing import Final

import msgspec

from moorage.custom.definition.defaults import default_errors, has_unpruned_defaults
from moorage.custom.definition.internal_spec import (
    DefinitionOptions,
    InternalSpec,
    any_node,
    depth_of,
    internal_spec,
    nodes_of,
)
from moorage.custom.definition.names import validate_approval, validate_choice, validate_group, validate_names
from moorage.custom.definition.rule_costs import RuleContext, TotalCost
from moorage.custom.definition.schema_rules import (
    TYPES,
    SchemaPlace,
    is_atomic_item,
    key_errors,
    schema_errors_of,
)
from moorage.custom.definition.structural_rules import structural_errors, unsupported_field
from moorage.custom.definition.versions import (
    MAX_SELECTABLE_FIELDS,
    has_invalid_authorities,
    has_known_version,
    validate_column,
    validate_conversion,
    validate_deprecation,
    validate_selectable_fields,
    validate_subresources,
)
from moorage.custom.definition.written_forms import SCHEMA_ATTRIBUTES, go_form, go_name, structural_of
from moorage.custom.objects.embedded import MetadataRule
from moorage.custom.structural import MAX_DEPTH
from moorage.model.field_error import AsJSON, FieldError, FieldErrors, forbidden, invalid, required
from moorage.model.names import dns1035_label_errors
from moorage.model.types.extension.custom_resource_definition import (
    CustomResourceDefinition,
    CustomResourceDefinitionStatus,
    CustomResourceDefinitionVersion,
    JSONSchemaProps,
)

SCOPES: Final = ("Cluster", "Namespaced")
#: The most rules and schemas, nested ones included, of a definition. Differs: Kubernetes has no limit.
MAX_RULES: Final = 5_000
MAX_NODES: Final = 50_000
#: The most members of enumerations and required fields: each value is compared with all of them. Differs: no limit.
MAX_MEMBERS: Final = 20_000
ESTABLISHED: Final = "Established"
_IMMUTABLE: Final = "field is immutable"
#: What the root of a schema may say beside a subresource status.
_AT_ROOT: Final = (
    "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern "
    "MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields "
    "XValidations"
)
_ALLOWED_AT_ROOT: Final = frozenset(_AT_ROOT.split())


def validate_definition(definition: CustomResourceDefinition, rule: MetadataRule) -> FieldErrors:
    """Check a new definition, except for its metadata."""
    options = DefinitionOptions()
    yield from _validate_spec(internal_spec(definition.spec), options, rule)
    yield from _validate_rest(definition)
    yield from validate_approval(definition.spec.group, definition.metadata.annotations)
    yield from _validate_unknown_fields(definition, None)


def validate_definition_update(
    new: CustomResourceDefinition, old: CustomResourceDefinition, rule: MetadataRule
) -> FieldErrors:
    """Check an updated definition, except for its metadata. What was stored invalid stays accepted."""
    spec, before = internal_spec(new.spec), internal_spec(old.spec)
    options = _options_for_update(spec, before, old)
    yield from _validate_spec(spec, options, rule)
    if options.requires_same_names:
        yield from _same(new.spec.scope, old.spec.scope, "spec.scope")
        yield from _same(new.spec.names.kind, old.spec.names.kind, "spec.names.kind")
    yield from _same(new.spec.group, old.spec.group, "spec.group")
    yield from _same(new.spec.names.plural, old.spec.names.plural, "spec.names.plural")
    yield from _validate_rest(new)
    yield from validate_approval(new.spec.group, new.metadata.annotations, old.metadata.annotations)
    yield from _validate_unknown_fields(new, old)


def validate_status(status: CustomResourceDefinitionStatus) -> FieldErrors:
    return validate_names(status.acceptedNames, "status.acceptedNames")


def is_established(definition: CustomResourceDefinition) -> bool:
    conditions = definition.status.conditions or ()
    return any(condition.type == ESTABLISHED and condition.status == "True" for condition in conditions)


def _same(new: str, old: str, path: str) -> FieldErrors:
    if new != old:
        yield invalid(path, AsJSON(new), _IMMUTABLE)


def _validate_rest(definition: CustomResourceDefinition) -> FieldErrors:
    yield from validate_status(definition.status)
    stored, path = definition.status.storedVersions, "status.storedVersions"
    if not stored:
        yield invalid(path, stored, "must have at least one stored version")
        return
    missing = {name: number for number, name in enumerate(stored)}
    for version in definition.spec.versions:
        if version.storage and version.name not in missing:
            yield invalid(path, stored, f"must have the storage version {version.name}")
        missing.pop(version.name, None)
    for name, number in missing.items():
        words = f"{name} was previously a storage version, and must remain in spec.versions until a storage "
        words += f"migration ensures no data remains persisted in {name} and removes {name} from "
        yield invalid(f"{path}[{number}]", name, f"missing from spec.versions; {words}status.storedVersions")


def _validate_unknown_fields(new: CustomResourceDefinition, old: CustomResourceDefinition | None) -> FieldErrors:
    if new.spec.preserveUnknownFields and not (old is not None and old.spec.preserveUnknownFields):
        words = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        )
        yield invalid("spec.preserveUnknownFields", True, words)


def _options_for_update(
    new: InternalSpec, old: InternalSpec, definition: CustomResourceDefinition
) -> DefinitionOptions:
    schemas = list(old.schemas())
    readable = [schema for schema in schemas if not unsupported_field(schema)]
    are_structural = len(readable) == len(schemas) and not any(structural_errors(schema, "") for schema in schemas)
    return DefinitionOptions(
        requires_known_review_version=has_known_version(old.spec.conversion),
        requires_same_names=is_established(definition),
        requires_valid_authorities=is_established(definition) and not has_invalid_authorities(old.spec.conversion),
        requires_schema=all(_has_schema(version) for version in old.spec.versions),
        requires_valid_types=not any_node(schemas, lambda node: bool(node.type) and node.type not in TYPES),
        requires_structural=are_structural,
        requires_pruned_defaults=not any(
            has_unpruned_defaults(structural_of(schema)) for schema in readable if not structural_errors(schema, "")
        ),
        requires_atomic_sets=not any_node(schemas, _has_divisible_elements),
        requires_valid_keys=not any_node(schemas, lambda node: any(True for _ in key_errors(node, ""))),
        unchanged_versions=_unchanged_versions(new, old),
        many_selectable_fields=_kept_selectable_fields(new, old),
    )


def _has_schema(version: CustomResourceDefinitionVersion) -> bool:
    return version.schema is not None and version.schema.openAPIV3Schema is not None


def _has_divisible_elements(schema: JSONSchemaProps) -> bool:
    is_set = schema.XListType == "set" and isinstance(schema.items, JSONSchemaProps)
    return is_set and isinstance(schema.items, JSONSchemaProps) and not is_atomic_item(schema.items)


def _unchanged_versions(new: InternalSpec, old: InternalSpec) -> frozenset[str]:
    before = {version.name: version.schema for version in old.spec.versions}
    return frozenset(
        version.name
        for version in new.spec.versions
        if version.name in before and before[version.name] == version.schema
    )


def _kept_selectable_fields(new: InternalSpec, old: InternalSpec) -> frozenset[str]:
    kept = set[str]()
    if len(old.selectable) > MAX_SELECTABLE_FIELDS and new.selectable == old.selectable:
        kept.add("")
    before = {version.name: version.selectableFields for version in old.versions}
    for version in new.versions:
        fields = before.get(version.name, ())
        if len(fields) > MAX_SELECTABLE_FIELDS and fields == version.selectableFields:
            kept.add(version.name)
    return frozenset(kept)


def _validate_spec(internal: InternalSpec, options: DefinitionOptions, rule: MetadataRule) -> FieldErrors:
    spec, path = internal.spec, "spec"
    errors: list[FieldError] = []
    errors += validate_group(spec.group, f"{path}.group")
    errors += validate_choice(spec.scope, SCOPES, f"{path}.scope")
    errors += _missing_schemas(internal, options)
    schemas = list(internal.schemas())
    if words := _too_large(schemas):
        return [*errors, forbidden(f"{path}.versions", words)]
    has_defaults = any_node(schemas, lambda node: node.default is not None)
    if has_defaults and spec.preserveUnknownFields:
        words = "must be false in order to use defaults in the schema"
        errors.append(invalid(f"{path}.preserveUnknownFields", True, words))
    if not spec.preserveUnknownFields or has_defaults or any_node(schemas, _has_extensions):
        options = msgspec.structs.replace(options, requires_structural=True)
    for number, version in enumerate(internal.versions):
        at = f"{path}.versions[{number}]"
        if messages := dns1035_label_errors(version.name):
            errors.append(invalid(f"{at}.name", version.name, ",".join(messages)))
        errors += _validate_version(internal, version, at, options.for_version(version.name), rule)
    errors += _validate_versions(internal, f"{path}.versions")
    for name in ("plural", "singular", "kind", "listKind"):
        if not getattr(spec.names, name):
            errors.append(required(f"{path}.names.{name}"))
    errors += validate_names(spec.names, f"{path}.names")
    errors += _validate_shared(internal, options, rule)
    if spec.conversion is not None and spec.conversion.strategy != "None" and spec.preserveUnknownFields:
        words = "must be None if spec.preserveUnknownFields is true"
        errors.append(invalid(f"{path}.conversion.strategy", AsJSON(spec.conversion.strategy), words))
    errors += validate_conversion(spec.conversion, f"{path}.conversion", options)
    return errors


def _too_large(schemas: list[JSONSchemaProps]) -> str:
    """Return why schemas would take too long to validate, or nothing."""
    nodes = list(islice(chain.from_iterable(map(nodes_of, schemas)), MAX_NODES + 1))
    if len(nodes) > MAX_NODES:
        return f"must not have more than {MAX_NODES} schemas, nested ones included"
    if sum(len(node.enum) + len(node.required) for node in nodes) > MAX_MEMBERS:
        return f"must not have more than {MAX_MEMBERS} members of enum and required"
    rules = sum(len(node.XValidations) for node in nodes)
    return f"must not have more than {MAX_RULES} x-kubernetes-validations" if rules > MAX_RULES else ""


def _missing_schemas(internal: InternalSpec, options: DefinitionOptions) -> FieldErrors:
    if internal.schema is not None:
        return
    for number, version in enumerate(internal.versions):
        if _has_schema(version):
            continue
        at = f"spec.versions[{number}].schema.openAPIV3Schema"
        if options.requires_schema:
            yield required(at)
        elif version.served and not internal.spec.preserveUnknownFields:
            yield required(at, "because otherwise all fields are pruned")


def _has_extensions(schema: JSONSchemaProps) -> bool:
    return bool(
        schema.XEmbeddedResource
        or schema.XPreserveUnknownFields is not None
        or schema.XIntOrString
        or schema.XListMapKeys
        or schema.XListType is not None
        or schema.XValidations
    )


def _validate_version(
    internal: InternalSpec,
    version: CustomResourceDefinitionVersion,
    path: str,
    options: DefinitionOptions,
    rule: MetadataRule,
) -> FieldErrors:
    yield from validate_deprecation(version.deprecated, version.deprecationWarning, f"{path}.deprecationWarning")
    schema = None if version.schema is None else version.schema.openAPIV3Schema
    if schema is not None:
        subresources = internal.subresources_of(version)
        has_status = subresources is not None and subresources.status is not None
        yield from _validate_schema(schema, f"{path}.schema.openAPIV3Schema", options, rule, has_status=has_status)
    yield from validate_subresources(version.subresources, f"{path}.subresources")
    for number, column in enumerate(version.additionalPrinterColumns):
        yield from validate_column(column, f"{path}.additionalPrinterColumns[{number}]")
    if version.selectableFields:
        at = f"{path}.selectableFields"
        if schema is None:
            yield invalid(at, "", "may only be set when `version.schema.openAPIV3Schema` is not included")
        else:
            if problem := unsupported_field(schema):
                yield invalid(f"{path}.schema.openAPIV3Schema", "", problem)
            yield from validate_selectable_fields(version.selectableFields, schema, at, options, version.name)


def _validate_versions(internal: InternalSpec, path: str) -> FieldErrors:
    versions = internal.versions
    if len({version.name for version in versions}) < len(versions):
        yield invalid(path, AsJSON(go_form(versions)), "must contain unique version names")
    if sum(version.storage for version in versions) != 1:
        yield invalid(path, AsJSON(go_form(versions)), "must have exactly one version marked as storage version")
    first = internal.spec.versions[0].name if versions else ""
    if first and (messages := dns1035_label_errors(first)):
        yield invalid("spec.version", first, ",".join(messages))


def _validate_shared(internal: InternalSpec, options: DefinitionOptions, rule: MetadataRule) -> FieldErrors:
    """Check what all versions have in common."""
    path, schema = "spec", internal.schema
    if schema is not None:
        has_status = internal.subresources is not None and internal.subresources.status is not None
        has_status = has_status or any(
            version.subresources is not None and version.subresources.status is not None
            for version in internal.versions
        )
        first = internal.spec.versions[0].name
        at = f"{path}.validation.openAPIV3Schema"
        yield from _validate_schema(schema, at, options.for_version(first), rule, has_status=has_status)
    yield from validate_subresources(internal.subresources, f"{path}.subresources")
    for number, column in enumerate(internal.columns):
        yield from validate_column(column, f"{path}.additionalPrinterColumns[{number}]")
    if internal.selectable:
        at = f"{path}.selectableFields"
        if not internal.has_schema:
            yield invalid(at, "", "may only be set when validations.schema is included")
        elif schema is not None:
            if problem := unsupported_field(schema):
                yield invalid(f"{path}.schema.openAPIV3Schema", "", problem)
            yield from validate_selectable_fields(internal.selectable, schema, at, options)


def _validate_schema(
    schema: JSONSchemaProps, path: str, options: DefinitionOptions, rule: MetadataRule, *, has_status: bool
) -> list[FieldError]:
    """Check one schema. Rules are compiled only if it is structural and its defaults are valid."""
    if depth_of(schema, MAX_DEPTH) > MAX_DEPTH:
        return [forbidden(path, f"the schema is nested more than {MAX_DEPTH} levels deep")]
    errors = list(_at_root(schema, path)) if has_status else []
    if schema.nullable:
        errors.append(forbidden(f"{path}.nullable", "nullable cannot be true at the root"))
    context: RuleContext | None = None
    problem = unsupported_field(schema) if options.requires_structural else ""
    total = TotalCost()
    if options.requires_structural and not problem:
        problems = structural_errors(schema, path)
        if not problems:
            compiled = structural_of(schema)
            pruned = options.requires_pruned_defaults
            problems = default_errors(compiled, path, rule, must_be_pruned=pruned)
            context = None if problems else RuleContext(total, compiled)
        errors += problems
    below = schema_errors_of(schema, path, SchemaPlace(), options, context, is_root=True)
    errors += [*below.schema, *below.rules]
    if problem and not errors:
        errors.append(invalid(path, "", problem))
    return [*errors, *total.errors(path)]


def _at_root(schema: JSONSchemaProps, path: str) -> FieldErrors:
    """Check that the status can be validated by itself: the root says nothing that would be lost."""
    defaults = dict(zip(schema.__struct_fields__, schema.__struct_defaults__, strict=True))
    for attribute in SCHEMA_ATTRIBUTES:
        value, name = getattr(schema, attribute), go_name(attribute)
        if value is defaults[attribute] or value is False or value == "":
            continue
        condition = "of the schema if the status subresource is enabled"
        if name == "Type":
            if value != "object":
                words = f'only "object" is allowed as the type at the root {condition}'
                yield invalid(f"{path}.type", schema.type, words)
                return
        elif name not in _ALLOWED_AT_ROOT:
            words = f"only [{_AT_ROOT}] fields are allowed at the root {condition}"
            yield invalid(path, AsJSON(go_form(schema)), words)
            return
