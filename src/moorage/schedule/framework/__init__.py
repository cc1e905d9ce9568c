"""The plugin framework: plugin base, profiles, verdicts, cluster events and queueing hints."""
