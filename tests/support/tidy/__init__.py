"""The rules of the house, as functions that yield one line for each place where a rule is broken."""
