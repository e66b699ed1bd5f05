"""Confined views beside the model without everything outside them."""
