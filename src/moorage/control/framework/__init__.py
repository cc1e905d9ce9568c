"""The controller framework: reconcile, work queue, runner, informer caches."""
