"""How many examples a property is tried on: few in a plain run, many in a soak run, which has all properties again."""

from typing import Any, Final

from hypothesis import settings

AS_MANY: Final = 60
"""How many times as many a soak run tries."""


def examples(count: int, **others: Any) -> settings:
    """Settings with so many examples, and sixty times as many where the profile of soak runs is loaded."""
    is_soak = settings.get_current_profile_name() == "soak"
    return settings(max_examples=count * AS_MANY if is_soak else count, **others)
