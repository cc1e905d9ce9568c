"""Describe the types of kinds that are stored only, in the format that `descriptions` reads."""

TEXTS = """
Ingress: Rules by which requests from outside reach services. It is stored; nothing is routed.
IngressSpec: The rules, and what serves requests that no rule is for.
  ingressClassName: The class of the controller that is to carry out the rules.
  defaultBackend: What serves requests that no rule is for.
  tls: Hosts that are served with certificates.
  rules: What serves which host and path.
IngressTLS: Hosts, and the secret with their certificate.
  hosts: Hosts that the certificate is for.
  secretName: The secret with certificate and key.
IngressRule: Paths of one host. A host such as `*.example.com` stands for all names with one more label.
  host: The host; empty means every host.
HTTPIngressRuleValue: Paths and what serves them.
HTTPIngressPath: A path and what serves it.
  path: The path, which begins with a slash.
  pathType: Exact, Prefix (by elements between slashes) or ImplementationSpecific.
  backend: What serves the requests.
IngressBackend: A service or another object, one of the two.
IngressServiceBackend: A service and one of its ports.
ServiceBackendPort: A port of a service, by name or number.
IngressStatus: Where the ingress can be reached.
IngressClass: A controller that carries out ingresses. The annotation ingressclass.kubernetes.io/is-default-class makes
    it the one of ingresses that name none.
IngressClassSpec: The controller, and where its parameters are.
  controller: The controller, such as `acme.io/ingress`. It cannot be changed.
  parameters: An object with parameters for the controller.
IngressClassParametersReference: An object with parameters: of the cluster, or in a namespace.
  scope: Cluster or Namespace.
NetworkPolicy: Which traffic pods may have. It is stored; no traffic is refused.
NetworkPolicySpec: The pods that the policy is for, and the traffic that they may have.
  podSelector: The pods that the policy is for; an empty selector means all of the namespace.
  ingress: Traffic that may come in.
  egress: Traffic that may go out.
  policyTypes: Ingress, Egress or both: the directions in which all other traffic is refused.
NetworkPolicyIngressRule: Peers and ports from which traffic may come in.
  from: The peers; an empty list means all.
NetworkPolicyEgressRule: Peers and ports to which traffic may go out.
  to: The peers; an empty list means all.
NetworkPolicyPeer: Pods, namespaces or a range of addresses.
NetworkPolicyPort: A port, or a range of ports.
  endPort: The last port of a range.
IPBlock: A range of addresses without some ranges within it.
  cidr: The range.
  except: Ranges within it that are not meant.
ServiceCIDR: A range of addresses for services. It is stored; addresses are taken from the API server's own range.
ServiceCIDRSpec: The ranges.
  cidrs: One range, or one of each IP family.
IPAddress: An address that an object has; its name is the address.
IPAddressSpec: The object that has the address.
ParentReference: An object, by group, resource, namespace and name.
HorizontalPodAutoscaler: How many pods a workload has, by metrics. It is stored; nothing is scaled.
HorizontalPodAutoscalerSpec: What is scaled, within which bounds, by which metrics.
  scaleTargetRef: The workload.
  minReplicas: The fewest pods; 1 by default.
  maxReplicas: The most pods.
  metrics: The metrics, of which the one that asks for the most pods decides. By default 80 % of the requested CPU.
  behavior: How fast pods may be added and removed.
  targetCPUUtilizationPercentage: How much of the requested CPU pods are to use.
HorizontalPodAutoscalerBehavior: How fast pods may be added and removed.
HPAScalingRules: How fast the number of pods may change in one direction.
  stabilizationWindowSeconds: For how long past recommendations are considered.
  selectPolicy: Max, Min or Disabled: which of the policies decides.
  tolerance: By how much a metric may differ from its target before anything is changed.
HPAScalingPolicy: By how much the number of pods may change in a period.
  type: Pods or Percent.
MetricSpec: One metric and what it is to be.
  type: Which of the sources it is: Object, Pods, Resource, ContainerResource or External.
MetricTarget: What a metric is to be.
  type: Utilization, Value or AverageValue.
CrossVersionObjectReference: An object of the same namespace, by kind and name.
PodTemplate: A template for pods that no workload has.
ComponentStatus: Whether a component is healthy. Deprecated; only the store is told of.
ComponentCondition: Whether the component is healthy, and why not.
VolumeAttributesClass: Attributes of volumes that can be changed while they are used, as a driver knows them.
  driverName: The driver.
  parameters: The attributes. They cannot be changed; make another class instead.
APIService: A group and version of the API, and the service that answers its requests. Only local ones are answered.
APIServiceSpec: A group and version, where it is served, and which place it has among others.
  service: The service that answers; absent for what this API server serves itself.
  groupPriorityMinimum: Groups with larger numbers come first.
  versionPriority: Versions with larger numbers come first in their group.
APIServiceCondition: Whether the API is available, and why not.
FlowSchema: Which requests belong to which priority level. It is stored; requests are not queued.
FlowSchemaSpec: The requests, their priority level, and what tells flows apart.
  matchingPrecedence: Schemas with smaller numbers are tried first.
  distinguisherMethod: What tells flows apart: ByUser or ByNamespace.
  rules: The requests: users, and what they ask for.
PolicyRulesWithSubjects: Users, and what they ask for.
ResourcePolicyRule: Verbs, groups, resources and namespaces of requests.
  clusterScope: Whether requests without a namespace are meant, too.
NonResourcePolicyRule: Verbs and paths of requests outside of resources.
PriorityLevelConfiguration: How many requests of a level are carried out at once. It is stored; requests are not queued.
PriorityLevelConfigurationSpec: Whether requests are limited, and how.
  type: Exempt or Limited.
LimitedPriorityLevelConfiguration: The share of a level, and what becomes of requests beyond it.
  nominalConcurrencyShares: The share of the level, compared with those of the others.
  lendablePercent: How much of its share other levels may borrow.
  borrowingLimitPercent: How much the level may borrow, of its own share.
LimitResponse: What becomes of requests that cannot be carried out at once: Queue or Reject.
QueuingConfiguration: The queues of a level.
  handSize: How many queues a flow uses.
MutatingWebhookConfiguration: Webhooks that change objects. It is stored; no webhook is called.
ValidatingWebhookConfiguration: Webhooks that refuse objects. It is stored; no webhook is called.
MutatingWebhook ValidatingWebhook: A webhook, and the requests that it is for.
  name: The webhook's name, which has at least three parts with dots between.
  clientConfig: Where the webhook is.
  rules: Operations and resources that the webhook is for.
  failurePolicy: Fail or Ignore: what becomes of a request if the webhook cannot be asked.
  matchPolicy: Exact or Equivalent: whether other versions of a resource are meant, too.
  sideEffects: None or NoneOnDryRun.
  timeoutSeconds: How long an answer may take, from 1 to 30 seconds.
  matchConditions: Expressions that must all be true for the webhook to be asked.
MutatingWebhook:
  reinvocationPolicy: Never or IfNeeded: whether it is asked again after others changed the object.
RuleWithOperations: Operations, groups, versions and resources.
  operations: CREATE, UPDATE, DELETE, CONNECT or * for all.
  scope: Cluster, Namespaced or * for both.
ValidatingAdmissionPolicy: Expressions that objects must satisfy. It is stored; no request is refused.
MutatingAdmissionPolicy: Expressions that change objects. It is stored; no object is changed.
ValidatingAdmissionPolicySpec MutatingAdmissionPolicySpec: The requests that the policy is for, and its expressions.
  paramKind: The kind of the policy's parameters.
  matchConstraints: The requests that the policy is for.
  variables: Expressions that others may refer to as variables.NAME.
Validation: An expression that must be true, and what is said if it is not.
  reason: Forbidden, Invalid or RequestEntityTooLarge.
AuditAnnotation: An annotation of the audit log.
Mutation: An expression that makes a patch.
  patchType: ApplyConfiguration or JSONPatch.
ValidatingAdmissionPolicyBinding: Where a ValidatingAdmissionPolicy holds, with which parameters.
MutatingAdmissionPolicyBinding: Where a MutatingAdmissionPolicy holds, with which parameters.
ParamRef: The objects that are a policy's parameters, by name or by labels.
  parameterNotFoundAction: Allow or Deny: what is done if no parameters are found.
MatchResources: Requests, by namespace, object and rules.
"""
