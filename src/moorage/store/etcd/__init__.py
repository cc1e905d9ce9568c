"""The store on an etcd cluster, shared by any number of API servers.

`client` calls etcd, at the one of its `members` that works; `wire` is how, and `messages` and `errors` what is said.
Kubernetes: storage/etcd3 and go.etcd.io/etcd/client/v3.
"""
