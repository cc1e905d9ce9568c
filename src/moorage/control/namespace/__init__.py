"""What becomes of a namespace that is deleted.

In: namespaces and what is in them. Out: empty namespaces, and then none.
"""
