"""Stores, questions, names and embeddings that a seed makes up."""
