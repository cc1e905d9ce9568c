"""Controllers under load: Deployments created, rolled, evicted and deleted on a real `moorage up`, from outside."""
