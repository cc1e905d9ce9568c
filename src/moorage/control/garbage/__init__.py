"""Whose owners are gone goes too.

In: all objects and their ownerReferences. Out: deletions, references and finalizers taken away.
"""
