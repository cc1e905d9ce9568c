"""Serve HTTP/1.1 over TLS, with limits on everything a client can send, hold or leave unread.

Nothing in here knows a verb or a resource of Kubernetes, only what a `Status` looks like. Kubernetes: net/http and
apiserver's server package. Differs: no HTTP/2.
"""
