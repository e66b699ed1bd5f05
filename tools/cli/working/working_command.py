"""``worlddb working``: the short-lived message buffer of a session."""

from typing import Any

from worlddb.tools.cli.base import DONE, Command, Namespace, Output, Page, Parser, arguments, stores, wire


def _arguments(parser: Parser) -> None:
    parser.add_argument("does", choices=("add", "get", "clear"), metavar="add|get|clear", help="what to do")
    parser.add_argument("text", nargs="?", metavar="TEXT", help="the message to add")
    parser.add_argument("--session", metavar="NAME", help="the session of the buffer; without it, clear empties all")
    parser.add_argument("--user", metavar="NAME", help="the user of the session")
    parser.add_argument("--project", metavar="NAME", help="the project of the session")
    parser.add_argument("--context", metavar="NAME", help="the context of the session")
    parser.add_argument("--role", metavar="ROLE", help="the speaker of the message (default: user)")
    parser.add_argument(
        "--ttl", type=arguments.seconds, metavar="SECONDS", help="how long the message stays (default: 3600)"
    )
    parser.add_argument("--most", type=int, metavar="N", help="keep at most N messages when adding one (default: 50)")


def _working(args: Namespace, out: Output) -> int:
    scope = {name: found for name in ("session", "user", "project", "context") if (found := getattr(args, name))}
    if args.does != "clear" and "session" not in scope:
        raise arguments.UsageError("No session was named", "Give --session NAME")
    if args.does == "add" and not args.text:
        raise arguments.UsageError("No message was given", "Give its text")
    options = {name: given for name in ("role", "ttl", "most") if (given := getattr(args, name)) is not None}
    if args.does != "add" and (options or args.text is not None):
        what = f"--{next(iter(options))}" if options else "A message"
        raise arguments.UsageError(f"{what} was given, and nothing is added", f"Leave it out of {args.does}")
    with stores.open_existing(args) as db:
        document: dict[str, Any] = {}
        if args.does == "add":
            document["messages"] = db.working.add(args.text, **options, **scope)
        elif args.does == "clear":
            document["cleared"] = db.working.clear(**scope)
        else:
            found = db.working.get(**scope)
            document["messages"] = [
                {"role": each.role, "content": each.content, "at": wire.time(each.at)} for each in found
            ]

    def write(page: Page) -> None:
        if args.does == "add":
            page.line(f"{document['messages']} in the buffer")
        elif args.does == "clear":
            page.line(f"{document['cleared']} removed")
        for each in document["messages"] if args.does == "get" else ():
            page.line((each["at"], "dim"), f"  {each['role']}: {wire.one_line(each['content'], 400)}")

    out.answer(document, write)
    return DONE


COMMANDS = (
    Command(
        "working",
        "keep messages of a session for an hour, beside the log: add, get and clear",
        _arguments,
        _working,
        (
            ("working add 'the deploy is at noon' --session s1 --user ana", "one more message"),
            ("working get --session s1 --user ana", "what is there, the oldest first"),
            ("working clear --user ana", "all of a user's sessions, from every file"),
        ),
    ),
)
