"""The whole engine in a simulated world: one seed decides who does what when, and what goes wrong."""
