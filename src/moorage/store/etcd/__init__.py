"""The store on an etcd cluster, shared by any number of API servers.

`client` calls etcd over its own gRPC protocol, without a library: `frames`, `hpack` and `connection` are HTTP/2 as far
as gRPC needs it, `requests` and `answers` are protobuf messages of etcd, and `messages` is what they mean.
Kubernetes: storage/etcd3 and go.etcd.io/etcd/client/v3.
"""
