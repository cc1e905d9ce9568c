"""The cluster as arrays: interned facts, nodes in stable slots, counts that are kept and never recomputed.

In: node and pod events. Out: columns that a predicate is spread over by indexing with integer codes, so that it is
evaluated once per distinct value and not once per node. Next on the path of a pod: `moorage.schedule`.
"""
