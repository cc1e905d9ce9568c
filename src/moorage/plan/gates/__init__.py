"""What depends on a feature gate, and what would happen if the gate were disabled now.

In: an inventory, read with all gates on. Out: findings per object and gate, and the order in which to disable. `uses`
finds, `nodes` knows who may go where, `audit` judges, `report` tells. Kubernetes: the scanning tool that the semver
document asks operators to have.
"""
