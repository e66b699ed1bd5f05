"""The command line. ``main`` is where it starts, ``catalogue`` lists the commands, one module holds each group of them.

``arguments`` reads what was typed, ``stores`` opens stores and finds moments and worlds, ``output`` and the pages say
the answer to a program, a pipe or a person, ``failures`` says what went wrong. Everything that a command does is a
call of the library.
"""
