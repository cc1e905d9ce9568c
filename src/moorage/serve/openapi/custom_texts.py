"""Describe CustomResourceDefinitions and the schema language of their versions.

The format is that of `definitions`.
"""

TEXTS = """
CustomResourceDefinition: Defines a kind of custom resources, which the API server then serves.
CustomResourceDefinitionSpec: What is to be served.
  conversion: How objects are converted between versions.
  group: The API group of the custom resources.
  names: The names of the custom resources.
  preserveUnknownFields: Deprecated, and must be false; use x-kubernetes-preserve-unknown-fields in a schema.
  scope: Cluster or Namespaced.
  versions: The versions, of which exactly one is stored.
CustomResourceDefinitionNames: The names by which custom resources are known.
  categories: Groups of resources to which this one belongs, such as all.
  kind: The kind of the objects, in CamelCase and singular.
  listKind: The kind of a list; the kind followed by List if it is not set.
  plural: The name in URLs, in lower case.
  shortNames: Short names for the command line.
  singular: The singular name, in lower case; the lower-cased kind if it is not set.
CustomResourceDefinitionVersion: One version of a kind.
  additionalPrinterColumns: Columns that kubectl get shows.
  deprecated: Whether clients get a warning when they use the version.
  deprecationWarning: The text of that warning.
  name: The name of the version, such as v1.
  schema: What the objects look like.
  selectableFields: Fields by which objects can be selected.
  served: Whether the version is served.
  storage: Whether objects are stored in this version.
  subresources: Whether objects have the subresources status and scale.
CustomResourceValidation: What the objects of a version look like.
  openAPIV3Schema: The schema by which objects are pruned, defaulted and validated.
CustomResourceSubresources: The subresources of a version.
  scale: The subresource scale, if it is set.
  status: The subresource status, if it is set.
CustomResourceSubresourceStatus: The subresource status has no settings.
CustomResourceSubresourceScale: Where the subresource scale finds its values.
  labelSelectorPath: The path of the label selector as text.
  specReplicasPath: The path of the wanted replicas, below .spec.
  statusReplicasPath: The path of the actual replicas, below .status.
CustomResourceColumnDefinition: A column that kubectl get shows.
  description: What the column shows.
  format: The OpenAPI format of the values, for their display.
  jsonPath: The path of the value in the object.
  name: The header of the column.
  priority: Columns with a priority above 0 are shown in wide output only.
  type: The OpenAPI type of the values.
SelectableField: A field by which objects can be selected.
  jsonPath: The path of the field in the object.
CustomResourceConversion: How objects are converted between versions.
  strategy: None changes apiVersion only. Webhook asks an external service, which is not supported here.
  webhook: How to call the service that converts objects.
WebhookConversion: How to call the service that converts objects.
  clientConfig: Where the service is.
  conversionReviewVersions: The versions of ConversionReview that the service understands.
WebhookClientConfig: Where a service is: a URL or a Service.
  caBundle: The certificate authorities that the service's certificate is verified with.
  service: The Service in the cluster.
  url: The URL of the service.
ServiceReference: A Service in the cluster.
  name: The name of the Service.
  namespace: The namespace of the Service.
  path: The path of the URL.
  port: The port of the Service; 443 if it is not set.
CustomResourceDefinitionStatus: What is served.
  acceptedNames: The names that are in use; they may differ from the wanted ones if those are taken.
  conditions: Whether the names are accepted and the kind is served.
  observedGeneration: The generation of the definition that the status is about.
  storedVersions: The versions in which objects were ever stored.
CustomResourceDefinitionCondition: One fact about a definition.
JSONSchemaProps: A schema, in JSON Schema draft 4 with the extensions of Kubernetes.
  $ref: A reference to another schema. Not allowed.
  $schema: The dialect of the schema.
  additionalProperties: The schema of all members of a map.
  default: The value of a field that is absent.
  enum: The only values that are allowed.
  items: The schema of the elements of a list.
  nullable: Whether null is allowed.
  properties: The schemas of the fields of an object.
  required: The names of the fields that must be there.
  x-kubernetes-embedded-resource: Whether the value is an object with apiVersion, kind and metadata.
  x-kubernetes-int-or-string: Whether the value is an integer or text.
  x-kubernetes-list-map-keys: The fields that tell the elements of a list of type map apart.
  x-kubernetes-list-type: atomic, set or map.
  x-kubernetes-map-type: granular or atomic.
  x-kubernetes-preserve-unknown-fields: Whether fields that the schema does not know are kept.
  x-kubernetes-validations: Rules in CEL that values must obey.
ValidationRule: A rule in CEL.
  fieldPath: The field that the error is about, relative to the schema.
  message: The text of the error.
  messageExpression: A CEL expression that makes the text of the error.
  optionalOldSelf: Whether the rule is evaluated without an old value, too; oldSelf is then optional.
  reason: The reason of the error.
  rule: An expression that is true of valid values; self is the value, oldSelf the one before.
ExternalDocumentation: A reference to documentation.
JSON: A value of any type.
JSONSchemaPropsOrArray: A schema, or a list of schemas.
JSONSchemaPropsOrBool: A schema, or a boolean.
JSONSchemaPropsOrStringArray: A schema, or a list of strings.
"""
