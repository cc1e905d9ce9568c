"""Do beside a cluster what admission cannot: answer questions, evict, repair, and say why lowered pods wait."""
