"""Validation of ResourceClaims, their templates, ResourceSlices, DeviceClasses and DeviceTaintRules."""
