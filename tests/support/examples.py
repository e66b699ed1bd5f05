"""The number of examples of a property: few in a plain run, many in a soak run."""

from typing import Any, Final

from hypothesis import settings

AS_MANY: Final = 20
"""How many times as many a soak run tries."""


def examples(count: int, **others: Any) -> settings:
    """Settings with this many examples, and twenty times as many in the profile of soak runs."""
    is_soak = settings.get_current_profile_name() == "soak"
    return settings(max_examples=count * AS_MANY if is_soak else count, **others)
