"""HorizontalPodAutoscalers: how many replicas their targets are to have, and the controller that scales them."""
