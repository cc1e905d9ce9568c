"""Run a node autoscaler in a plan, and report what it did: nodes that came and went, why, and what they cost."""
