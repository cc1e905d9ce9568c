"""Validate LimitRanges, ResourceQuotas and RuntimeClasses."""
