"""The query pipeline: a start set and a chain of operators over it, which answer with a subgraph (paper §4.1)."""
