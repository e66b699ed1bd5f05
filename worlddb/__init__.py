"""WorldDB: a memory engine for AI agents.

It has an append-only log that everything derives from.

Start with :func:`open`; everything public is importable from here. It is loaded when the first name is asked for, so
that the command line can see to an interruption before it loads the rest.
"""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from worlddb.public import *  # noqa: F403
    from worlddb.public import __all__ as __all__
else:

    def __getattr__(name):
        """Load the public names when the first of them is used.

        Type checkers see the names themselves.
        """
        if name.startswith("__") and name != "__all__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        import worlddb.public

        loaded = vars(worlddb.public)
        globals().update({each: loaded[each] for each in ("__all__", *loaded["__all__"])})
        try:
            return globals()[name]
        except KeyError:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None

    def __dir__():
        """List the public names, also before they are loaded."""
        return sorted({*globals(), *__getattr__("__all__")})
