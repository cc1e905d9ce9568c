"""The plugin that allocates devices to pods: DynamicResources."""
