"""Shared parts of the HTML reports: filling templates, showing text safely, writing files."""

import unicodedata
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from worlddb import InputError, format_time


def rendered(template: str, **values: Any) -> str:
    """Fill a template; remembered text is escaped, and a missing value is an error."""
    environment = Environment(
        loader=PackageLoader("worlddb.tools.reports", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(to_the_second=shown_time, whole=format_time, safe_text=visible)
    # A macro of a template, because it returns HTML.
    environment.filters["time"] = environment.get_template("time.j2").make_module().time  # type: ignore[attr-defined]
    return environment.get_template(template).render(**values)


def write_page(page: str, file: Path) -> None:
    """Write a page under its own name; one that breaks off leaves texts under no other.

    Raises:
        InputError: the file cannot be written.
    """
    try:
        file.write_text(page, "utf-8")
    except OSError as error:
        raise InputError(
            f"The page {str(file)!r:.200} cannot be written: {error.strerror}", "Check its directory and the space"
        ) from error


def visible(text: str) -> str:
    """Escape characters that are invisible or reorder the text around them."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    if character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"):
        return character
    return character.encode("unicode_escape", "surrogatepass").decode()


def shown_time(micros: int) -> str:
    """Format a time to the second; an open end is a word."""
    text = format_time(micros)
    return f"{text[:19].removesuffix('Z').replace('T', ' ')} UTC" if text.endswith("Z") else text
