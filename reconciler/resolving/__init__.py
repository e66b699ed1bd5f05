"""What the resolver weighs: thresholds, guards, scores, and the verdict. Pure functions of names and numbers."""
