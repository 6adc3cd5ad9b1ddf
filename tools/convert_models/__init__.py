"""Rebuild the embedded models from the packages that publish their weights. See README.md."""
