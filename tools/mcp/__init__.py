"""The MCP server: the memory of a store as tools that a model calls.

``server`` speaks the protocol, ``stdin`` reads its lines, ``catalogue`` lists the tools, ``reading`` and ``writing``
are what they do, ``desk`` is what they work on, and ``arguments`` and ``results`` are what goes in and comes out. Only
``server`` and ``stdin`` need the extra ``mcp``.
"""
