"""Call webhooks: reviews of requests for admission, and conversion of custom objects between versions."""
