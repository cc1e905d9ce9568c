"""List the ClusterRoles, Roles and bindings of every cluster but those of controllers, as `policy` reads them."""

CLUSTER_ROLES = """
admin < admin
cluster-admin
  all | * | *
  all | *
edit > admin < edit
system:aggregate-to-admin > admin
  create | authorization.k8s.io | localsubjectaccessreviews
  create delete deletecollection get list patch update watch | rbac.authorization.k8s.io | rolebindings roles
system:aggregate-to-edit > edit
  read | core | pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy
  impersonate | core | serviceaccounts
  write | core | pods pods/attach pods/exec pods/portforward pods/proxy
  create | core | pods/eviction
  write | core | configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets
    serviceaccounts services services/proxy
  create | core | serviceaccounts/token
  write | core events.k8s.io | events
  write | apps | daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale
    statefulsets statefulsets/scale
  write | autoscaling | horizontalpodautoscalers
  write | batch | cronjobs jobs
  write | extensions | daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies
    replicasets replicasets/scale replicationcontrollers/scale
  write | policy | poddisruptionbudgets
  write | networking.k8s.io | ingresses networkpolicies
  create delete deletecollection get list patch update watch | coordination.k8s.io | leases
  write | resource.k8s.io | resourceclaims resourceclaimtemplates
system:aggregate-to-view > view
  read | core | configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods replicationcontrollers
    replicationcontrollers/scale serviceaccounts services services/status
  read | core | bindings limitranges namespaces/status pods/log pods/status replicationcontrollers/status
    resourcequotas resourcequotas/status
  read | core | namespaces
  read | core events.k8s.io | events
  read | discovery.k8s.io | endpointslices
  read | apps | controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status
    replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status
  read | autoscaling | horizontalpodautoscalers horizontalpodautoscalers/status
  read | batch | cronjobs cronjobs/status jobs jobs/status
  read | extensions | daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses
    ingresses/status networkpolicies replicasets replicasets/scale replicasets/status replicationcontrollers/scale
  read | policy | poddisruptionbudgets poddisruptionbudgets/status
  read | networking.k8s.io | ingresses ingresses/status networkpolicies
  read | resource.k8s.io | resourceclaims resourceclaims/status resourceclaimtemplates
system:auth-delegator
  create | authentication.k8s.io | tokenreviews
  create | authorization.k8s.io | subjectaccessreviews
system:basic-user
  create | authorization.k8s.io | selfsubjectaccessreviews selfsubjectrulesreviews
  create | authentication.k8s.io | selfsubjectreviews
system:certificates.k8s.io:certificatesigningrequests:nodeclient
  create | certificates.k8s.io | certificatesigningrequests/nodeclient
system:certificates.k8s.io:certificatesigningrequests:selfnodeclient
  create | certificates.k8s.io | certificatesigningrequests/selfnodeclient
system:certificates.k8s.io:kube-apiserver-client-approver
  approve | certificates.k8s.io | signers | kubernetes.io/kube-apiserver-client
system:certificates.k8s.io:kube-apiserver-client-kubelet-approver
  approve | certificates.k8s.io | signers | kubernetes.io/kube-apiserver-client-kubelet
system:certificates.k8s.io:kubelet-serving-approver
  approve | certificates.k8s.io | signers | kubernetes.io/kubelet-serving
system:certificates.k8s.io:legacy-unknown-approver
  approve | certificates.k8s.io | signers | kubernetes.io/legacy-unknown
system:discovery
  get | /api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/
system:heapster
  read | core | events namespaces nodes pods
  read | extensions | deployments
system:kube-aggregator
  read | core | endpoints services
system:kube-controller-manager
  report | core events.k8s.io | events
  create | coordination.k8s.io | leases
  get update | coordination.k8s.io | leases | kube-controller-manager
  create | core | secrets serviceaccounts
  delete | core | secrets
  get | core | configmaps namespaces secrets serviceaccounts
  update | core | secrets serviceaccounts
  create | authentication.k8s.io | tokenreviews
  create | authorization.k8s.io | subjectaccessreviews
  follow | * | *
  create | core | serviceaccounts/token
system:kube-dns
  follow | core | endpoints services
system:kube-scheduler
  report | core events.k8s.io | events
  create | coordination.k8s.io | leases
  get list update watch | coordination.k8s.io | leases | kube-scheduler
  create delete deletecollection get list patch update watch | coordination.k8s.io | leasecandidates
  read | core | nodes
  delete get list watch | core | pods
  create | core | bindings pods/binding
  patch update | core | pods/status
  read | core | replicationcontrollers services
  read | apps extensions | replicasets
  read | apps | statefulsets
  read | policy | poddisruptionbudgets
  read | core | persistentvolumeclaims persistentvolumes
  create | authentication.k8s.io | tokenreviews
  create | authorization.k8s.io | subjectaccessreviews
  read | storage.k8s.io | csinodes
  read | storage.k8s.io | volumeattachments
  read | core | namespaces
  read | storage.k8s.io | csidrivers
  read | storage.k8s.io | csistoragecapacities
  read | resource.k8s.io | deviceclasses
  get list patch update watch | resource.k8s.io | resourceclaims
  get list patch update watch | resource.k8s.io | resourceclaims/status
  update | core | pods/finalizers
  read | resource.k8s.io | resourceslices
  create delete | resource.k8s.io | resourceclaims
  patch update | resource.k8s.io | resourceclaims/binding
system:kubelet-api-admin
  read | core | nodes
  proxy | core | nodes
  all | core | nodes/log nodes/metrics nodes/proxy nodes/stats
  all | core | nodes/configz nodes/healthz nodes/pods
system:monitoring
  get | /flagz /healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/* /statusz
  get | core | nodes/metrics
system:node
  create | authentication.k8s.io | tokenreviews
  create | authorization.k8s.io | localsubjectaccessreviews subjectaccessreviews
  read | core | services
  create get list watch | core | nodes
  patch update | core | nodes/status
  patch update | core | nodes
  report | core events.k8s.io | events
  read | core | pods
  create delete | core | pods
  patch update | core | pods/status
  create | core | pods/eviction
  read | core | configmaps secrets
  get | core | persistentvolumeclaims persistentvolumes
  get | core | endpoints
  create get list watch | certificates.k8s.io | certificatesigningrequests
  create delete get patch update | coordination.k8s.io | leases
  get | storage.k8s.io | volumeattachments
  create | core | serviceaccounts/token
  get patch update | core | persistentvolumeclaims/status
  read | storage.k8s.io | csidrivers
  create delete get patch update | storage.k8s.io | csinodes
  read | node.k8s.io | runtimeclasses
  get | resource.k8s.io | resourceclaims
  deletecollection | resource.k8s.io | resourceslices
  get | core | serviceaccounts
system:node-bootstrapper
  create get list watch | certificates.k8s.io | certificatesigningrequests
system:node-problem-detector
  get | core | nodes
  patch | core | nodes/status
  report | core events.k8s.io | events
system:node-proxier
  follow | core | endpoints services
  read | core | nodes
  report | core events.k8s.io | events
  follow | networking.k8s.io | servicecidrs
  follow | discovery.k8s.io | endpointslices
system:persistent-volume-provisioner
  create delete get list watch | core | persistentvolumes
  get list update watch | core | persistentvolumeclaims
  read | storage.k8s.io | storageclasses
  watch | core | events
  report | core events.k8s.io | events
system:public-info-viewer
  get | /healthz /livez /readyz /version /version/
system:service-account-issuer-discovery
  get | /.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks /openid/v1/jwks/
system:volume-scheduler
  get list patch update watch | core | persistentvolumes
  read | storage.k8s.io | storageclasses
  get list patch update watch | core | persistentvolumeclaims
view > edit < view
"""


ROLES = """
kube-public/system:controller:bootstrap-signer
  read | core | configmaps
  update | core | configmaps | cluster-info
  report | core events.k8s.io | events
kube-system/extension-apiserver-authentication-reader
  read | core | configmaps | extension-apiserver-authentication
kube-system/system::leader-locking-kube-controller-manager
  create get list update watch | coordination.k8s.io | leases
  create get list update watch | coordination.k8s.io | leasecandidates
kube-system/system::leader-locking-kube-scheduler
  create get list update watch | coordination.k8s.io | leases
  create get list update watch | coordination.k8s.io | leasecandidates
kube-system/system:controller:bootstrap-signer
  read | core | secrets
kube-system/system:controller:cloud-provider
  create get list watch | core | configmaps
kube-system/system:controller:token-cleaner
  delete get list watch | core | secrets
  report | core events.k8s.io | events
"""

BINDINGS = """
cluster-admin = ClusterRole cluster-admin
  Group system:masters
system:basic-user = ClusterRole system:basic-user
  Group system:authenticated
system:discovery = ClusterRole system:discovery
  Group system:authenticated
system:kube-controller-manager = ClusterRole system:kube-controller-manager
  User system:kube-controller-manager
system:kube-dns = ClusterRole system:kube-dns
  ServiceAccount kube-system/kube-dns
system:kube-scheduler = ClusterRole system:kube-scheduler
  User system:kube-scheduler
system:monitoring = ClusterRole system:monitoring
  Group system:monitoring
system:node = ClusterRole system:node
system:node-proxier = ClusterRole system:node-proxier
  User system:kube-proxy
system:public-info-viewer = ClusterRole system:public-info-viewer
  Group system:authenticated
  Group system:unauthenticated
system:service-account-issuer-discovery = ClusterRole system:service-account-issuer-discovery
  Group system:serviceaccounts
system:volume-scheduler = ClusterRole system:volume-scheduler
  User system:kube-scheduler
kube-public/system:controller:bootstrap-signer = Role system:controller:bootstrap-signer
  ServiceAccount kube-system/bootstrap-signer
kube-system/system::extension-apiserver-authentication-reader = Role extension-apiserver-authentication-reader
  User system:kube-controller-manager
  User system:kube-scheduler
kube-system/system::leader-locking-kube-controller-manager = Role system::leader-locking-kube-controller-manager
  User system:kube-controller-manager
  ServiceAccount kube-system/kube-controller-manager
  ServiceAccount kube-system/leader-election-controller
kube-system/system::leader-locking-kube-scheduler = Role system::leader-locking-kube-scheduler
  User system:kube-scheduler
  ServiceAccount kube-system/kube-scheduler
kube-system/system:controller:bootstrap-signer = Role system:controller:bootstrap-signer
  ServiceAccount kube-system/bootstrap-signer
kube-system/system:controller:cloud-provider = Role system:controller:cloud-provider
  ServiceAccount kube-system/cloud-provider
kube-system/system:controller:token-cleaner = Role system:controller:token-cleaner
  ServiceAccount kube-system/token-cleaner
"""
