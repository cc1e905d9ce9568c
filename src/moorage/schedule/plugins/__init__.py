"""One file per scheduler plugin, named as in Kubernetes; `moorage.schedule.framework.profile` lists them in run order."""
