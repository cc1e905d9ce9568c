"""KubeSchedulerConfiguration: profiles, plugin arguments, the default profile."""
