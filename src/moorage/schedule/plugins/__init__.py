"""One file per scheduler plugin, named as in Kubernetes; `moorage.schedule.profile` lists them in run order."""
