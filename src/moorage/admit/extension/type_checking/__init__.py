"""Types of policies' expressions, by the schemas of the kinds that a policy is for."""
