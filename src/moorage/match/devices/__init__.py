"""Devices (DRA): which device a selector chooses, which taints are tolerated, who gets which device."""
