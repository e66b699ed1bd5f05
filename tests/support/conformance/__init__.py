"""What the conformance suite of the Model Context Protocol needs: a server with its fixtures, and what is expected."""
