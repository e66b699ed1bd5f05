"""The house rules, as functions that yield one line for each violation."""
