"""The store on an etcd cluster, shared by any number of API servers.

`client` calls etcd, at the one of its `members` that works; `wire` carries the `messages`, and `errors` is what fails.
Kubernetes: storage/etcd3 and go.etcd.io/etcd/client/v3.
"""
