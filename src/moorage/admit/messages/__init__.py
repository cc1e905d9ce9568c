"""Render texts for clients: rejections, warnings, and objects as Go prints them."""
