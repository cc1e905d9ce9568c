"""Describe the types of roles, bindings and reviews, in the format that `definitions` reads."""

TEXTS = """
# Who may do what.
Role: Rules for one namespace. A RoleBinding grants them.
  rules: What is allowed; rules only add up.
ClusterRole: Rules for the whole cluster, or for namespaces whose RoleBindings name it.
  rules: What is allowed; rules only add up. The control plane writes them if there is an aggregationRule.
  aggregationRule: The ClusterRoles whose rules are copied into this one.
AggregationRule: Chooses ClusterRoles by their labels.
  clusterRoleSelectors: A ClusterRole that any of these matches is chosen.
PolicyRule: Verbs that are allowed on resources, or on URLs such as /healthz.
  verbs: The verbs; * is all of them.
  apiGroups: The groups of the resources; the core group is empty, * is all of them.
  resources: The resources; pods/log is a subresource, */scale that of all resources, * everything.
  resourceNames: Names of the objects that are meant. Without any, all of them.
  nonResourceURLs: Paths that are no resources, such as /healthz; a * at the end stands for anything.
RoleBinding: Grants a Role, or a ClusterRole, in one namespace.
  subjects: Who gets the role.
  roleRef: The role. It cannot be changed.
ClusterRoleBinding: Grants a ClusterRole in all namespaces and beyond.
  subjects: Who gets the role.
  roleRef: The ClusterRole. It cannot be changed.
Subject: A user, a group of users or a service account.
  apiGroup: The group of the subject's kind; empty for service accounts.
  kind: User, Group or ServiceAccount.
  namespace: The namespace of a service account.
RoleRef: Names a role.
  apiGroup: The group of the role's kind.
  kind: Role or ClusterRole.
CertificateSigningRequest: Asks a signer for a certificate.
CertificateSigningRequestSpec:
  request: The PKCS#10 request in PEM, base64-encoded.
  signerName: Which signer is asked.
  usages: What the certificate is to be used for.
  expirationSeconds: How long the certificate is to be valid; the signer may choose otherwise.
  username: The user that asks, as the API server knows it.
CertificateSigningRequestStatus:
  certificate: The certificate in PEM, base64-encoded, once it was issued.
  conditions: Whether the request was approved or denied, and whether signing failed.
SubjectAccessReview: Asks whether a user may do something.
LocalSubjectAccessReview: Asks whether a user may do something in one namespace.
SubjectAccessReviewSpec:
  user: The user who is meant.
  groups: The groups that the user is in.
  extra: What else is known of the user.
  uid: The user's UID.
  nonResourceAttributes: What is to be done to a path that is no resource's.
  resourceAttributes: What is to be done to a resource.
"""
