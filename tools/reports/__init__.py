"""Reports that stand on their own: pages that are read without a store and without this program."""
