"""How many pods may be disrupted now: the status of PodDisruptionBudgets.

In: budgets, pods and what controls them. Out: their status, which evictions obey.
"""
