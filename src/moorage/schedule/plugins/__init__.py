"""Scheduler plugins, one file each, named as in Kubernetes; `config.default_profile` lists them in run order."""
