"""The cluster as arrays: interned values, nodes in stable slots, counts that are kept and never recomputed.

A predicate is evaluated once per distinct value, and spread over the nodes by indexing with integer codes.
"""
