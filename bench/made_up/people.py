"""Made-up names of people, and misspellings of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final

_GIVEN: Final = """
    James Mary Robert Patricia John Jennifer Michael Linda David Elizabeth William Barbara Richard Susan Joseph Jessica
    Thomas Sarah Christopher Karen Charles Lisa Daniel Nancy Matthew Sandra Anthony Ashley Mark Emily Donald Kimberly
    Steven Margaret Andrew Donna Paul Michelle Joshua Carol Kenneth Amanda Kevin Melissa Brian Deborah Timothy Stephanie
    Katherine Filip Catherine Phillip José María Jürgen Søren Wei Yuki Olga Dmitri Fatima Ahmed Ngozi Chidi Priya Arjun
    Eva Lars Ines Mateo Zoë Marek Agnieszka Giulia Luca Chloé
"""
_FAMILY: Final = """
    Smith Johnson Williams Brown Jones Garcia Miller Davis Rodriguez Martinez Hernandez Lopez Gonzalez Wilson Anderson
    Thomas Taylor Moore Jackson Martin Lee Perez Thompson White Harris Sanchez Clark Ramirez Lewis Robinson Walker Young
    Allen King Wright Scott Torres Nguyen Hill Flores Green Adams Nelson Baker Hall Rivera Campbell Mitchell Carter
    Roberts Gomez Phillips Evans Turner Diaz Parker Cruz Edwards Collins Reyes Stewart Morris Morales Murphy Cook Rogers
    Gutierrez Ortiz Morgan Cooper Peterson Bailey Reed Kelly Howard Ramos Kim Cox Ward Richardson Watson Brooks Chavez
    Wood James Bennett Gray Mendoza Ruiz Hughes Price Alvarez Castillo Sanders Patel Myers Long Ross Foster Jimenez
    Müller Schröder Weiß Kowalski Nowak Ivanov Petrov Chen Wang Zhang Tanaka Suzuki Haddad Khan Okafor Adeyemi Sørensen
    MacDonald O'Neill Knight Wren Cartwright Fischer
"""
_MISHEARD: Final = (("ph", "f"), ("f", "ph"), ("ck", "k"), ("C", "K"), ("K", "C"), ("ü", "ue"), ("ö", "oe"), ("y", "i"))


def draw_names(draw: random.Random, count: int) -> Iterator[str]:
    """Different people: a given name, from some thousands on a second one, from some 100,000 on a third, and a family
    name."""
    given, family = _GIVEN.split(), _FAMILY.split()
    seen: set[str] = set()
    while len(seen) < count:
        parts = [draw.choice(given), draw.choice(family)]
        if draw.random() < (0.1 if count < 5_000 else 0.8):
            parts.insert(1, draw.choice(given))
        if count > 200_000 and draw.random() < 0.5:
            parts.insert(1, draw.choice(given))
        name = " ".join(parts)
        if name not in seen:
            seen.add(name)
            yield name


def misspell(draw: random.Random, name: str) -> str:
    """A name as somebody else may write it: mistyped, misheard, turned around, or the same."""
    how = draw.randrange(6)
    at = draw.randrange(len(name) - 1)
    if how == 0:
        return name[:at] + name[at + 1 :]
    if how == 1:
        return name[:at] + name[at + 1] + name[at] + name[at + 2 :]
    if how == 2:
        return name[:at] + draw.choice("abcdefghijklmnopqrstuvwxyz") + name[at + 1 :]
    if how == 3:
        fitting = [(old, new) for old, new in _MISHEARD if old in name]
        return name.replace(*draw.choice(fitting), 1) if fitting else name
    if how == 4:
        *others, last = name.split()
        return " ".join([last, *others])
    return name
