"""Default and validate CustomResourceDefinitions, and keep their stored versions.

Kubernetes: the strategy of apiextensions-apiserver/pkg/registry/customresourcedefinition, and v1/defaults.go.
"""

from contextlib import suppress

from moorage.admit.kinds.api_server.custom_objects import embedded_metadata_errors
from moorage.admit.kinds.row import KindRow, Rows
from moorage.admit.metadata import NameRule, validate_object_meta, validate_object_meta_update
from moorage.admit.options import ValidationOptions
from moorage.admit.raw import Raw, fill_absent, fill_empty, items, part
from moorage.custom.definition import definition as definitions
from moorage.custom.definition.defaults import coerce_defaults
from moorage.custom.definition.internal_spec import unknown_formats
from moorage.custom.definition.written_forms import write_spec
from moorage.custom.structural import SchemaTooDeepError, compile_schema
from moorage.model.field_error import FieldErrors
from moorage.model.gates import GateSet
from moorage.model.go.quoting import go_quote
from moorage.model.names import dns1123_subdomain_errors
from moorage.model.types.extension.custom_resource_definition import CustomResourceDefinition


def default_definition(definition: Raw) -> None:
    spec = part(definition, "spec")
    names = part(spec, "names")
    kind = names.get("kind") or ""
    if kind:
        fill_empty(names, {"singular": kind.lower(), "listKind": f"{kind}List"})
    conversion = spec.get("conversion")
    if conversion is None:
        conversion = spec["conversion"] = {"strategy": "None"}
    service = ((conversion.get("webhook") or {}).get("clientConfig") or {}).get("service")
    if service is not None:
        fill_absent(service, {"port": 443})
    status = part(definition, "status")
    if not status.get("storedVersions"):
        _store_in(status, items(spec, "versions"))


def _store_in(status: Raw, versions: list[Raw]) -> None:
    """Note the version in which objects are stored from now on."""
    name = next((version.get("name") or "" for version in versions if version.get("storage")), None)
    stored = status.get("storedVersions") or []
    if name is not None and name not in stored:
        status["storedVersions"] = [*stored, name]


def prepare_definition(new: Raw, old: Raw | None, gates: GateSet) -> None:
    """Begin or keep the status, whatever the document says."""
    if old is None:
        part(new, "metadata")["generation"] = 1
        new["status"] = {"acceptedNames": {"kind": "", "plural": ""}, "conditions": None, "storedVersions": None}
    else:
        new["status"] = dict(old.get("status") or {})
    versions = items(new["spec"], "versions")
    _store_in(new["status"], versions)
    _coerce_defaults(versions)


def _coerce_defaults(versions: list[Raw]) -> None:
    """Drop what no metadata has from defaults of embedded objects."""
    for version in versions:
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema is not None:
            with suppress(SchemaTooDeepError):
                coerce_defaults(schema, compile_schema(schema))


def _name_rule(definition: CustomResourceDefinition) -> NameRule:
    """Return the rule that a definition is called by its plural name and group."""
    wanted = f"{definition.spec.names.plural}.{definition.spec.group}"

    def errors(name: str) -> list[str]:
        other = [] if name == wanted else ['must be spec.names.plural+"."+spec.group']
        return [*dns1123_subdomain_errors(name), *other]

    return errors


def validate_definition(definition: CustomResourceDefinition, options: ValidationOptions) -> FieldErrors:
    rule = _name_rule(definition)
    yield from validate_object_meta(
        definition.metadata, "metadata", namespaced=False, name_rule=rule, any_finalizer=True
    )
    yield from definitions.validate_definition(definition, embedded_metadata_errors)


def validate_definition_update(
    new: CustomResourceDefinition, old: CustomResourceDefinition, options: ValidationOptions
) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata", any_finalizer=True)
    yield from definitions.validate_definition_update(new, old, embedded_metadata_errors)


def validate_definition_status(
    new: CustomResourceDefinition, old: CustomResourceDefinition, gates: GateSet
) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata", any_finalizer=True)
    yield from definitions.validate_status(new.status)


def _format_warnings(new: CustomResourceDefinition, old: CustomResourceDefinition | None) -> list[str]:
    """Warn of formats that mean nothing, unless the stored definition has them already."""
    before = () if old is None else unknown_formats(old)
    return [f"unrecognized format {go_quote(name)}" for name in unknown_formats(new) if name not in before]


ROWS: Rows = {
    CustomResourceDefinition: KindRow(
        validate_definition,
        validate_definition_update,
        default_definition,
        prepare_definition,
        validate_status=validate_definition_status,
        has_generation=True,
        warnings_of_change=_format_warnings,
        canonicalize=lambda definition: write_spec(definition["spec"]),
    )
}
