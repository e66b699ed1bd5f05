"""Views that are confined to a world, beside what is left of the model when everything outside is taken away."""
