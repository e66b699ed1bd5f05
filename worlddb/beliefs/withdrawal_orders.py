"""What a plan of a withdrawal comes to: its commands, and what has to be the same under the lock."""

from __future__ import annotations

from collections.abc import Iterator

from worlddb.log.model import errors, times
from worlddb.query.beliefs.withdrawal import WITHDRAWN, Withdrawal
from worlddb.query.view.view import View
from worlddb.reconciler.commands import commands as cmd


def checked(plan: object) -> Withdrawal:
    """The plan, if it is one and changes anything.

    Raises:
        InputError: it is none, or it changes nothing.
    """
    if not isinstance(plan, Withdrawal):
        raise errors.InputError(f"plan is {errors.shown(plan)}", "Give what view.withdrawal(...) returned")
    if not plan.changes:
        raise errors.InputError("The plan changes nothing", "Name another source, or look at what it said")
    return plan


def again(view: View, plan: Withdrawal) -> Withdrawal:
    """The plan as it would be made now."""
    given = {**plan.source, "how": plan.how, "dependents": plan.dependents}
    return view.withdrawal(**given, types=plan.types, depth=plan.depth)


def changed(plan: Withdrawal) -> list[str]:
    """What a plan changes and what rests on it, to compare with the same plan made later."""
    return [str(each) for each in (plan.changes, plan.withdrawn, plan.rests_on_it)]


def plan_commands(plan: Withdrawal, why: str) -> Iterator[cmd.Command]:
    """The commands that a plan comes to."""
    for each in plan.changes:
        ref = bytes.fromhex(each.ref)
        if plan.how == "deprecate":
            yield cmd.Deprecate(ref=ref, why=why)
        elif plan.how == "flag":
            yield cmd.Tag(ref=ref, labels=(WITHDRAWN,), version=each.number, why=why)
        for span in each.spans:
            until = None if span.end == times.FOREVER else span.end
            yield cmd.Retire(ref=ref, at=span.start, until=until, why=why)
