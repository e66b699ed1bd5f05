"""The command line. ``start`` is where its process begins, ``main`` lists the commands; the others hold groups of them.

``arguments`` reads what was typed, ``stores`` opens stores and finds moments and worlds, ``output`` and the pages say
the answer to a program, a pipe or a person, ``main`` says what went wrong. Everything that a command does is a call of
the library.
"""
