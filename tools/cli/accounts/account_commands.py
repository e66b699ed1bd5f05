"""``worlddb accounts``, ``keys`` and ``plans``: who may use a server, and with which limits."""

from collections.abc import Mapping
from typing import Any, Final

from worlddb import AccessKey, Account, AccountPlan, Database, Limits
from worlddb.tools.cli.base import DONE, NO, Command, Namespace, Output, Page, Parser, arguments, stores, wire

_ACCOUNT_ACTIONS: Final[Mapping[str, str]] = {
    "add": "worlddb accounts add NAME [--plan PLAN]",
    "end": "worlddb accounts end NAME",
    "list": "worlddb accounts list [--closed]",
    "set": "worlddb accounts set NAME --plan PLAN (or --rename NAME)",
}
_KEY_ACTIONS: Final[Mapping[str, str]] = {
    "add": "worlddb keys add NAME --world REF --read (or --all; or --write, --admin)",
    "end": "worlddb keys end NAME",
    "list": "worlddb keys list [--ended]",
}
_PLAN_ACTIONS: Final[Mapping[str, str]] = {
    "list": "worlddb plans list",
    "set": "worlddb plans set NAME [--requests-per-minute N] ...",
}
_LIMITS: Final = tuple(name for name in Limits.__struct_fields__ if name != "features")
_OF_THE_LOG: Final = (
    "These keys belong to accounts, are made and ended in the log of the store, and open REST and MCP over HTTP."
    " `worlddb key` (without an s) changes a file of keys beside the store, which open both, too, and"
    " `worlddb keygen` makes a key that signs heads."
)
ONCE: Final = "This is the only time that the key is shown. A client sends it as `Authorization: Bearer KEY`."


def _begin(parser: Parser, actions: Mapping[str, str], named: str) -> None:
    told = ", ".join(list(actions)[:-1]) + f" or {list(actions)[-1]}"
    parser.add_argument("action", metavar="ACTION", choices=sorted(actions), help=told)
    parser.add_argument("name", metavar="NAME", nargs="?", help=named)


def _end(parser: Parser) -> None:
    parser.add_argument("--why", default="", metavar="TEXT", help="the reason, kept with it")
    arguments.add_author(parser)


def _check_action(args: Namespace, actions: Mapping[str, str], options: Mapping[str, tuple[str, ...]]) -> None:
    """See that an action has its name, and no option of another one.

    Raises:
        UsageError: it does not.
    """
    given = {name for names in options.values() for name in names if getattr(args, name) not in (None, False)}
    if (args.name is None) != (args.action == "list") or not given <= {*options.get(args.action, ())}:
        raise arguments.UsageError(
            f"These are not the arguments of `worlddb {args.command} {args.action}`",
            f"Write it as: {actions[args.action]}",
        )


# -- accounts


def _account_arguments(parser: Parser) -> None:
    _begin(parser, _ACCOUNT_ACTIONS, "name or id of the account")
    parser.add_argument("--plan", metavar="PLAN", help="its plan; an empty name means no limits")
    parser.add_argument("--rename", metavar="NAME", help="set: the new name")
    parser.add_argument("--closed", action="store_true", help="list: also closed accounts")
    _end(parser)


def _accounts(args: Namespace, out: Output) -> int:
    _check_action(args, _ACCOUNT_ACTIONS, {"add": ("plan",), "set": ("plan", "rename"), "list": ("closed",)})
    if args.action == "set" and args.plan is None and args.rename is None:
        raise arguments.UsageError("Neither --plan nor --rename was given", f"Write it as: {_ACCOUNT_ACTIONS['set']}")
    with stores.open_existing(args, author=args.author) as db:
        book = db.accounts
        if args.action == "list":
            _list_accounts(book.accounts(closed=args.closed), out)
            return DONE
        if args.action == "add":
            account = book.create_account(args.name, plan=args.plan or "", why=args.why)
        elif args.action == "set":
            account = book.change_account(args.name, name=args.rename, plan=args.plan, why=args.why)
        else:
            account = book.end_account(args.name, why=args.why)
    plan = f"has the plan {account.plan}" if account.plan else "has no limits"
    told = plan if account.is_open else "is closed, with all its keys"
    out.answer(wire.record(account), lambda page: page.line(f"{account.name} {told}"))
    return DONE


def _list_accounts(found: list[Account], out: Output) -> None:
    def write(page: Page) -> None:
        if not found:
            page.line("there are no accounts")
            return
        rows = [(each.name, each.plan, "open" if each.is_open else "closed", each.id[:12]) for each in found]
        page.table(("name", "plan", "is", "id"), rows)

    out.answer({"accounts": [wire.record(each) for each in found]}, write)


# -- keys


def _key_arguments(parser: Parser) -> None:
    parser.description = f"{parser.description} {_OF_THE_LOG}"
    _begin(parser, _KEY_ACTIONS, "name of the key, which signs its writes; `end` also takes its id")
    parser.add_argument("--account", metavar="NAME", help="the account of the key (default: `default`)")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--world", metavar="REF", help="the key opens this world and everything in it")
    where.add_argument("--all", action="store_true", help="the key opens the whole store")
    right = parser.add_mutually_exclusive_group()
    for name, what in (("read", "read"), ("write", "read and write"), ("admin", "also change accounts")):
        right.add_argument(f"--{name}", action="store_true", help=f"the key may {what}")
    parser.add_argument("--user", metavar="NAME", help="the user of a call with the key that names no scope")
    parser.add_argument("--expires-at", metavar="TIME", help="the key expires at this time")
    parser.add_argument("--ended", action="store_true", help="list: also ended keys")
    _end(parser)


def _keys(args: Namespace, out: Output) -> int:
    of_add = ("account", "world", "all", "read", "write", "admin", "user", "expires_at")
    _check_action(args, _KEY_ACTIONS, {"add": of_add, "list": ("account", "ended")})
    is_said = (args.world is not None or args.all) and (args.read or args.write or args.admin)
    if args.action == "add" and not is_said:
        raise arguments.UsageError(
            "The world or the right of the key is missing", f"Write it as: {_KEY_ACTIONS['add']}"
        )
    with stores.open_existing(args, author=args.author) as db:
        if args.action == "add":
            return _add_key(args, db, out)
        if args.action == "list":
            _list_keys(db, db.accounts.keys(account=args.account, ended=args.ended), out)
            return NO if db.accounts.trouble else DONE
        key = db.accounts.end_key(args.name, why=args.why)
    out.answer(_key_record(key), lambda page: page.line(f"{key.name} no longer opens anything"))
    return DONE


def _add_key(args: Namespace, db: Database, out: Output) -> int:
    world = None if args.all else stores.resolve_place(db.view(), args.world)
    right: Any = "admin" if args.admin else "write" if args.write else "read"
    how: dict[str, Any] = {"account": args.account, "user": args.user or "", "expires_at": args.expires_at}
    made = db.accounts.create_key(args.name, world=world, right=right, why=args.why, **how)
    out.verbatim(_key_record(made.key) | {"secret": made.secret}, made.secret + "\n")
    out.warn(ONCE)
    return DONE


def _list_keys(db: Database, found: list[AccessKey], out: Output) -> None:
    owners = {each.id: each.name for each in db.accounts.accounts(closed=True)}

    def write(page: Page) -> None:
        if db.accounts.trouble:
            page.line(f"no key opens this store: {db.accounts.trouble}")
        if not found:
            page.line("there are no keys of accounts (`worlddb key list` has those of the file)")
            return
        page.table(
            ("name", "account", "world", "right", "user", "opens"),
            [
                (
                    each.name or each.id[:12],
                    owners[each.account],
                    "the whole store" if each.world is None else wire.short(each.world),
                    each.right,
                    each.user,
                    "until " + expires if (expires := wire.time(each.expires_at)) else "yes" if each.usable else "no",
                )
                for each in found
            ],
        )

    document = {"keys": [_key_record(each) for each in found], "trouble": db.accounts.trouble}
    out.answer(document, write)


def _key_record(key: AccessKey) -> dict[str, Any]:
    return wire.record(key)


# -- plans


def _plan_arguments(parser: Parser) -> None:
    _begin(parser, _PLAN_ACTIONS, "name of the plan")
    for name in _LIMITS:
        what = f"{name.replace('_', ' ')} at most (default: without a limit)"
        parser.add_argument(f"--{name.replace('_', '-')}", metavar="N", type=arguments.count_from_zero, help=what)
    parser.add_argument("--features", metavar="NAME,...", help="its features (default: all)")
    _end(parser)


def _plans(args: Namespace, out: Output) -> int:
    _check_action(args, _PLAN_ACTIONS, {"set": (*_LIMITS, "features")})
    with stores.open_existing(args, author=args.author) as db:
        if args.action == "list":
            found = db.accounts.plans()
        else:
            said = {name: getattr(args, name) for name in _LIMITS}
            features = None if args.features is None else [each for each in args.features.split(",") if each]
            found = [db.accounts.define_plan(args.name, features=features, why=args.why, **said)]

    def write(page: Page) -> None:
        if not found:
            page.line("there are no plans")
        for plan in found:
            page.line(f"{plan.name}: {_limit_words(plan)}")

    document: dict[str, Any] = {"plans": [_plan_record(plan) for plan in found]}
    out.answer(document if args.action == "list" else document["plans"][0], write)
    return DONE


def _plan_record(plan: AccountPlan) -> dict[str, Any]:
    return wire.record(plan) | {"limits": wire.record(plan.limits)}


def _limit_words(plan: AccountPlan) -> str:
    said = [f"{number:,} {name.replace('_', ' ')}" for name, number in plan.limits.said().items()]
    features = plan.limits.features
    listed = "all features" if features is None else ", ".join(features) or "no features"
    return "; ".join([*said, listed])


COMMANDS = (
    Command(
        "accounts",
        "create, list, change and close accounts of a server's users",
        _account_arguments,
        _accounts,
        (
            ("accounts add acme", "an account without limits"),
            ("accounts set acme --plan free", "under a plan of `worlddb plans`, from the next request on"),
            ("accounts list", "names and plans"),
            ("accounts end acme", "closed for good, with all of its keys"),
        ),
    ),
    Command(
        "keys",
        "create, list and end the access keys of accounts",
        _key_arguments,
        _keys,
        (
            ('keys add laptop --world "Search team" --write', "a key for one world, shown once"),
            ("keys add reports --all --read --expires-at 2100-01-01", "a key that reads the whole store for a time"),
            ("keys list", "names, accounts, worlds and rights"),
            ("keys end laptop", "refused from the next request on"),
        ),
    ),
    Command(
        "plans",
        "define and list plans: the limits and features of accounts",
        _plan_arguments,
        _plans,
        (
            ("plans set free --requests-per-minute 60 --recall-k 20", "replaces its earlier limits"),
            ("plans list", "every plan with its limits"),
        ),
    ),
)
