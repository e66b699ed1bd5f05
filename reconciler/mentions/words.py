"""Closed lists of English words that a capital alone does not make a name."""

from __future__ import annotations

from typing import Final

from worlddb.log.model.times import DAYS, MONTHS

_FUNCTION = """
    a about above across actually after again against ago all almost alone along already also although always am
    among an and another any anybody anyone anything anyway are around as at away back basically be because been
    before behind being below beside besides between beyond both but by can cannot could dear definitely did do
    does doing done down during each either else enough especially etc even ever every everybody everyone
    everything except few finally first for from further generally given had has have having he hence her here
    hers herself him himself his how however i if in indeed instead into is it its itself just last lately later
    least less let like likely many may maybe me meanwhile might mine more moreover most much must my myself
    near nearly neither never nevertheless next no nobody none nor not nothing now nowhere of off often on once
    one only onto or other others otherwise our ours ourselves out over own per perhaps please possibly probably
    quite rather re really same second several shall she should since so some somebody someone something
    sometimes somewhere soon still such than that the their theirs them themselves then there therefore these
    they third this those though through throughout thus till to today together tomorrow too toward towards two
    three four under unless unlike until up upon us usually very via was we well were what whatever when
    whenever where wherever whether which while who whoever whole whom whose why will with within without would
    yes yesterday yet you your yours yourself yourselves
    """
_SPOKEN = """
    absolutely agreed ah aha amazing anyways aw awesome aww bravo btw bye cheers congrats congratulations cool
    damn exactly excellent fantastic fyi glad good goodbye gosh gotcha great haha hah hahaha happy hello hey hi
    hmm hooray hurray lol lmao lovely mhm mmm nah nice nope oh ok okay omg oops ouch perfect phew right sad
    sorry sounds sure sweet thank thanks totally ugh uh um wait welcome whoa woah wonderful wow yay yea yeah yep
    yikes yo yup
    """
_LABELS = """
    answer appendix chapter conclusion day example figure hour introduction item month note notes option
    overview page part question section stage step summary table tip tips total version week year
    """
FUNCTION: Final = frozenset(
    (*_FUNCTION.split(), *_SPOKEN.split(), *_LABELS.split(), *DAYS, *(day[:3] for day in DAYS), *MONTHS)
)
"""Words of grammar, interjections, labels, and what the calendar calls its days: no names when they stand alone, and
none at the beginning of one."""

ACRONYMS: Final = frozenset(("US",))
"""What is a name in capitals though it is a word of grammar in small letters."""

_JOINING = """
    of the de del della der den di da do dos du la le les van von bin ibn al el y und et
    """
JOINING: Final = frozenset(_JOINING.split())
"""Words in lower case that may stand inside a name: University of Lisbon, Ludwig van Beethoven."""

_HONORIFICS = """
    mr mrs ms miss mx dr prof professor sir dame lady lord captain capt sgt lt col gen rev fr sr st aunt uncle
    """
HONORIFICS: Final = frozenset(_HONORIFICS.split())
"""Titles before a person's name. Behind their short forms a full stop ends no sentence."""
NO_PERSON: Final = frozenset(("st",))
"""Of these, those that also begin the names of places."""
