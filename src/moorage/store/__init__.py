"""Admitted objects → revisions: what is acknowledged stays, and everybody sees the same order of changes.

In: keys and bytes. Out: the same bytes with the revision at which they were written, lists as of a revision, and every
change since one. `protocol` says what any store must do; `tests/contract` holds each to it.
Kubernetes: etcd, and the storage interface in front of it.
"""
