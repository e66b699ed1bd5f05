"""Embedders: thin adapters for models that people have already, and for one that an extra installs."""
