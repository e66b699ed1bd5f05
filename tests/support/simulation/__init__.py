"""Simulates the whole engine: one seed decides who does what when, and what fails."""
