"""Take attach out of a cluster in a careful order, stage by stage, so that no pod lands where it must not be."""
