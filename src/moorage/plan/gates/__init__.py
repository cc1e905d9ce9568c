"""What depends on a feature gate, and what would happen if the gate were disabled now.

`uses` finds the fields, `audit` judges, `report` prints. Kubernetes: the scanning tool that KEP-5721 (semver operators)
asks operators to have.
"""
