"""The MCP server: the memory of a store as tools that a model calls.

``server`` speaks the protocol, ``stdin`` and ``stdout`` are its streams and ``progress`` what it says beside the work;
``catalogue`` names the tools, ``recalling``, ``reading`` and ``writing`` are what they do, ``missed`` what a recall may
not have found and ``heirs`` what took the place of what has ended; ``desk`` is what they work on and ``call`` who
calls; ``resources``, ``prompts`` and ``completing`` are what there is beside the tools, ``listing`` puts all of it into
the protocol's words; ``arguments`` and ``results`` are what goes in and comes out.

``http`` serves it by a socket: ``listening`` binds one, ``connections`` and ``guards`` keep out what is no request,
``keys`` and ``rates`` say who may ask and how much, and ``tenants`` has a server for each key. What imports the SDK
needs the extra ``mcp``.
"""
