"""The Roles of every cluster, and all bindings but those of controllers, in the formats that `policy` reads."""

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
