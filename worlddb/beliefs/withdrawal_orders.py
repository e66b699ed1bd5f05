"""The commands of a withdrawal plan, and what must be unchanged under the lock."""

from __future__ import annotations

from collections.abc import Iterator

from worlddb.log.model import errors, times
from worlddb.query.beliefs.withdrawal import WITHDRAWN, Withdrawal
from worlddb.query.view.view import View
from worlddb.reconciler.commands import commands as cmd


def checked(plan: object) -> Withdrawal:
    """Check that this is a plan and changes something.

    Raises:
        InputError: it is none, or it changes nothing.
    """
    if not isinstance(plan, Withdrawal):
        raise errors.InputError(f"plan is {errors.shown(plan)}", "Give what view.withdrawal(...) returned")
    if not plan.changes:
        raise errors.InputError("The plan changes nothing", "Name another source, or look at what it said")
    return plan


def again(view: View, plan: Withdrawal) -> Withdrawal:
    """Make the plan again in a present view."""
    given = {**plan.source, "how": plan.how, "dependents": plan.dependents}
    return view.withdrawal(**given, types=plan.types, depth=plan.depth)


def changed(plan: Withdrawal) -> list[str]:
    """The changes of a plan and what rests on them, for comparison with a later plan."""
    return [str(each) for each in (plan.changes, plan.withdrawn, plan.rests_on_it)]


def plan_commands(plan: Withdrawal, why: str) -> Iterator[cmd.Command]:
    """The commands of a plan."""
    for each in plan.changes:
        ref = bytes.fromhex(each.ref)
        if plan.how == "deprecate":
            yield cmd.Deprecate(ref=ref, why=why)
        elif plan.how == "flag":
            yield cmd.Tag(ref=ref, labels=(WITHDRAWN,), version=each.number, why=why)
        for span in each.spans:
            until = None if span.end == times.FOREVER else span.end
            yield cmd.Retire(ref=ref, at=span.start, until=until, why=why)
