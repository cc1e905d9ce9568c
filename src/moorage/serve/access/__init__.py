"""Find out who a request comes from, and decide what that user may do."""
