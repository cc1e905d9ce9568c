"""Who a request comes from, and what that user may do."""
