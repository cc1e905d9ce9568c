"""Decide as Karpenter does: NodeClaims for pods, NodePools by weight, and consolidation within budgets."""
