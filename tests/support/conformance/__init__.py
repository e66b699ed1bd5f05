"""A server with the fixtures of MCP's conformance suite, and its expected results."""
