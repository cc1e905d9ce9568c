"""Bytes ↔ requests and answers: HTTP/1.1 over TLS with limits on everything a client can send, hold or leave unread.

In: connections. Out: `messages.Request`s for one handler, and its answers on the wire. Nothing in here knows a verb or
a resource of Kubernetes, only what a `Status` looks like. Kubernetes: net/http and apiserver's server package; HTTP/2
is not spoken.
"""
