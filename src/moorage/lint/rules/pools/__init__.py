"""Find pools of autoscalers that cannot be used as they are written, and workloads that no pool can serve."""

from moorage.lint.rules.pools.findings import PoolFindings as PoolFindings
