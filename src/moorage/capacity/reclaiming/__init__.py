"""Answer which nodes can go now: a dry run of consolidation, node by node, within budgets."""
