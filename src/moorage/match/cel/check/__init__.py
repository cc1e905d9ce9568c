"""Types and costs of an expression before it runs: checker, validators, cost estimate."""
