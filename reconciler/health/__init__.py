"""What is wrong with a store or an installation: each check looks at one thing, changes nothing, and explains."""
