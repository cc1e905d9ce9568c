"""What the API server would say about manifests, and what will surprise you although it says nothing."""
