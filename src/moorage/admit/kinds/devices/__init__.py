"""Validate ResourceClaims, their templates, ResourceSlices, DeviceClasses and DeviceTaintRules."""
