"""Stores: keep admitted objects, give every write a revision, and show all readers the same order of changes.

`protocol` says what any store must do; `tests/contract` holds each to it. Kubernetes: etcd, and the storage interface
in front of it.
"""
