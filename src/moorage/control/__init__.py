"""Controllers: bring the cluster to the state that objects ask for.

`framework` runs them, `registry` lists them. Kubernetes: kube-controller-manager.
"""
