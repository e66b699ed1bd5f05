"""Command line, servers, importers and reports, on top of the public library."""
