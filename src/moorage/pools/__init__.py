"""Read pools of autoscalers from files, as templates of the nodes that there could be, with prices and bounds."""
