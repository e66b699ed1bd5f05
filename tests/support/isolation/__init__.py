"""Confined views compared with the model without everything outside of them."""
