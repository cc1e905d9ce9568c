"""Views of CustomResourceDefinitions and the schema language of their versions.

Fields whose JSON name is no Python name have the name of the Go field. Kubernetes:
staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.
"""

from typing import Annotated, Any

from msgspec import Meta, field

from moorage.model.schema import named_types as named
from moorage.model.types.meta import ObjectMeta, PlainCondition, TypeMeta
from moorage.model.types.view import ABSENT_LIST, ABSENT_MAP, Int32, Int64, View

ConversionStrategyType = Annotated[str, Meta(title="v1.ConversionStrategyType")]
CustomResourceDefinitionConditionType = Annotated[str, Meta(title="v1.CustomResourceDefinitionConditionType")]
FieldValueErrorReason = Annotated[str, Meta(title="v1.FieldValueErrorReason")]
JSONSchemaURL = Annotated[str, Meta(title="v1.JSONSchemaURL")]
ResourceScope = Annotated[str, Meta(title="v1.ResourceScope")]
Float64 = Annotated[float, Meta(title="float64")]
#: A value of any type. The title is the OpenAPI definition that has no type.
JSON = Annotated[Any, Meta(title="JSON")]


class ExtensionView(View, frozen=True):
    package = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"


class ValidationRule(ExtensionView, frozen=True, gc=False):
    rule: str = ""
    message: str = ""
    messageExpression: str = ""
    reason: FieldValueErrorReason | None = None
    fieldPath: str = ""
    optionalOldSelf: bool | None = None


class ExternalDocumentation(ExtensionView, frozen=True, gc=False):
    description: str = ""
    url: str = ""


class JSONSchemaProps(ExtensionView, frozen=True, gc=False):
    """A schema. `items` may be a list of schemas, `additionalProperties` and `additionalItems` may be booleans."""

    id: str = ""
    Schema: JSONSchemaURL = field(default="", name="$schema")
    Ref: str | None = field(default=None, name="$ref")
    description: str = ""
    type: str = ""
    format: str = ""
    title: str = ""
    default: JSON = None
    maximum: Float64 | None = None
    exclusiveMaximum: bool = False
    minimum: Float64 | None = None
    exclusiveMinimum: bool = False
    maxLength: Int64 | None = None
    minLength: Int64 | None = None
    pattern: str = ""
    maxItems: Int64 | None = None
    minItems: Int64 | None = None
    uniqueItems: bool = False
    multipleOf: Float64 | None = None
    enum: tuple[JSON, ...] = ABSENT_LIST
    maxProperties: Int64 | None = None
    minProperties: Int64 | None = None
    required: tuple[str, ...] = ABSENT_LIST
    items: "JSONSchemaProps | tuple[JSONSchemaProps, ...] | None" = None
    allOf: "tuple[JSONSchemaProps, ...]" = ABSENT_LIST
    oneOf: "tuple[JSONSchemaProps, ...]" = ABSENT_LIST
    anyOf: "tuple[JSONSchemaProps, ...]" = ABSENT_LIST
    Not: "JSONSchemaProps | None" = field(default=None, name="not")
    properties: "dict[str, JSONSchemaProps]" = ABSENT_MAP
    additionalProperties: "JSONSchemaProps | bool | None" = None
    patternProperties: "dict[str, JSONSchemaProps]" = ABSENT_MAP
    dependencies: "dict[str, JSONSchemaProps | tuple[str, ...]]" = ABSENT_MAP
    additionalItems: "JSONSchemaProps | bool | None" = None
    definitions: "dict[str, JSONSchemaProps]" = ABSENT_MAP
    externalDocs: ExternalDocumentation | None = None
    example: JSON = None
    nullable: bool = False
    XPreserveUnknownFields: bool | None = field(default=None, name="x-kubernetes-preserve-unknown-fields")
    XEmbeddedResource: bool = field(default=False, name="x-kubernetes-embedded-resource")
    XIntOrString: bool = field(default=False, name="x-kubernetes-int-or-string")
    XListMapKeys: tuple[str, ...] = field(default=ABSENT_LIST, name="x-kubernetes-list-map-keys")
    XListType: str | None = field(default=None, name="x-kubernetes-list-type")
    XMapType: str | None = field(default=None, name="x-kubernetes-map-type")
    XValidations: tuple[ValidationRule, ...] = field(default=ABSENT_LIST, name="x-kubernetes-validations")


class ServiceReference(ExtensionView, frozen=True, gc=False):
    namespace: str = ""
    name: str = ""
    path: str | None = None
    port: Int32 | None = None


class WebhookClientConfig(ExtensionView, frozen=True, gc=False):
    url: str | None = None
    service: ServiceReference | None = None
    caBundle: named.Bytes = ""


class WebhookConversion(ExtensionView, frozen=True, gc=False):
    clientConfig: WebhookClientConfig | None = None
    conversionReviewVersions: tuple[str, ...] = ABSENT_LIST


class CustomResourceConversion(ExtensionView, frozen=True, gc=False):
    strategy: ConversionStrategyType = ""
    webhook: WebhookConversion | None = None


class CustomResourceValidation(ExtensionView, frozen=True, gc=False):
    openAPIV3Schema: JSONSchemaProps | None = None


class CustomResourceSubresourceStatus(ExtensionView, frozen=True, gc=False):
    pass


class CustomResourceSubresourceScale(ExtensionView, frozen=True, gc=False):
    specReplicasPath: str = ""
    statusReplicasPath: str = ""
    labelSelectorPath: str | None = None


class CustomResourceSubresources(ExtensionView, frozen=True, gc=False):
    status: CustomResourceSubresourceStatus | None = None
    scale: CustomResourceSubresourceScale | None = None


class CustomResourceColumnDefinition(ExtensionView, frozen=True, gc=False):
    name: str = ""
    type: str = ""
    format: str = ""
    description: str = ""
    priority: Int32 = 0
    jsonPath: str = ""


class SelectableField(ExtensionView, frozen=True, gc=False):
    jsonPath: str = ""


class CustomResourceDefinitionVersion(ExtensionView, frozen=True, gc=False):
    name: str = ""
    served: bool = False
    storage: bool = False
    deprecated: bool = False
    deprecationWarning: str | None = None
    schema: CustomResourceValidation | None = None
    subresources: CustomResourceSubresources | None = None
    additionalPrinterColumns: tuple[CustomResourceColumnDefinition, ...] = ABSENT_LIST
    selectableFields: tuple[SelectableField, ...] = ABSENT_LIST


class CustomResourceDefinitionNames(ExtensionView, frozen=True, gc=False):
    plural: str = ""
    singular: str = ""
    shortNames: tuple[str, ...] = ABSENT_LIST
    kind: str = ""
    listKind: str = ""
    categories: tuple[str, ...] = ABSENT_LIST


class CustomResourceDefinitionSpec(ExtensionView, frozen=True, gc=False):
    group: str = ""
    names: CustomResourceDefinitionNames = CustomResourceDefinitionNames()
    scope: ResourceScope = ""
    versions: tuple[CustomResourceDefinitionVersion, ...] = ABSENT_LIST
    conversion: CustomResourceConversion | None = None
    preserveUnknownFields: bool = False


class CustomResourceDefinitionCondition(PlainCondition, ExtensionView, frozen=True, gc=False):
    type: CustomResourceDefinitionConditionType = ""
    observedGeneration: Int64 = 0


class CustomResourceDefinitionStatus(ExtensionView, frozen=True, gc=False):
    #: Null in a definition that is not established yet.
    conditions: tuple[CustomResourceDefinitionCondition, ...] | None = ABSENT_LIST
    acceptedNames: CustomResourceDefinitionNames = CustomResourceDefinitionNames()
    storedVersions: tuple[str, ...] = ABSENT_LIST
    observedGeneration: Int64 = 0


class CustomResourceDefinition(TypeMeta, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: CustomResourceDefinitionSpec = CustomResourceDefinitionSpec()
    status: CustomResourceDefinitionStatus = CustomResourceDefinitionStatus()
