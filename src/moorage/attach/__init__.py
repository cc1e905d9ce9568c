"""Lower comparing tolerations and Semver node affinity to what every Kubernetes obeys, and raise them again."""
