"""How commands end: exit codes, and errors in one or two lines."""

import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.exceptions import TyperException

from service.answers import ServiceError, ServiceUnreachable
from workers.errors import ProblemError

OK = 0
JOB_FAILED = 1
NOT_STARTED = 1
REFUSED = 2
UNREACHABLE = 3
INTERRUPTED = 130
SERVER_ERRORS = 500
MOST_FAULTS = 5
ECHO_WORDS = 3
"""A detail that begins with as many words of its title says the same again."""


class CommandError(Exception):
    """A command cannot go on; says why, with which code it ends, and the service's problem if that is the reason."""

    def __init__(self, message: str, code: int = REFUSED, problem: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.problem = problem


def tell(message: str) -> None:
    """Print to standard error."""
    print(message, file=sys.stderr, flush=True)


def print_json(document: Any) -> None:
    """Print a document to standard output."""
    print(json.dumps(document, indent=2, ensure_ascii=False), flush=True)


@contextmanager
def problems_as_json(wanted: bool) -> Iterator[None]:
    """Print the problem document too when a command cannot go on: who asked for JSON reads standard output."""
    try:
        yield
    except (CommandError, ServiceError, ServiceUnreachable, ProblemError) as error:
        if wanted:
            print_json(_document(error))
        raise


def _document(error: Exception) -> dict[str, Any]:
    """What stands for an error: the service's problem, or one in the same form."""
    if isinstance(error, ServiceError) or (isinstance(error, CommandError) and error.problem):
        return dict(error.problem or {})
    if isinstance(error, ProblemError):
        return {"type": f"/problems/{error.slug}", "title": "The command was refused", "detail": error.detail}
    title = "The service cannot be reached" if isinstance(error, ServiceUnreachable) else "The command cannot go on"
    return {"type": "about:blank", "title": title, "detail": str(error)}


def run(application: Callable[..., Any]) -> int:
    """Run a command line and return its exit code; whatever is foreseen ends without a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a path or a line that the terminal cannot show ends nothing
    try:
        return int(application(prog_name="ordsim", standalone_mode=False) or OK)
    except TyperException as error:
        if error.format_message():  # none when the help was printed instead
            tell(_usage(error))
        return error.exit_code
    except typer.Abort:
        return INTERRUPTED
    except KeyboardInterrupt:
        return INTERRUPTED
    except CommandError as error:
        tell(f"ordsim: {error}")
        return error.code
    except ServiceError as error:
        tell(f"ordsim: {problem(error)}")
        return REFUSED if error.status < SERVER_ERRORS else UNREACHABLE
    except ServiceUnreachable as error:
        tell(f"ordsim: {error}. Is it running? `ordsim serve` starts one; --url or ORDSIM_URL says where it is.")
        return UNREACHABLE
    except ProblemError as error:
        tell(f"ordsim: {error.detail} ({error.slug})")
        return REFUSED
    except BrokenPipeError:
        # Whoever read the output has seen enough; Python would complain once more when it closes it.
        sys.stdout = sys.stderr
        return OK
    except OSError as error:
        tell(f"ordsim: {error}")
        return REFUSED
    except UnicodeEncodeError as error:
        tell(f"ordsim: {error.object!r} cannot be written as UTF-8")
        return REFUSED


def problem(error: ServiceError) -> str:
    """Say in one line what went wrong, and in one more for each fault of the request."""
    head = ": ".join(said for said in (error.title, error.detail) if said)
    opening = error.title.split()[:ECHO_WORDS]
    if len(opening) == ECHO_WORDS and error.detail.split()[:ECHO_WORDS] == opening:
        head = error.detail
    lines = [f"{head} ({error.slug})"]
    if error.status >= SERVER_ERRORS and error.request_id:
        lines[0] += f" [request {error.request_id}]"
    for fault in error.errors[:MOST_FAULTS]:
        detail = fault.get("detail", "")
        # A single fault is often what the detail says already.
        said = f": {detail}" if detail and detail not in error.detail else ""
        lines.append(f"  {fault.get('pointer') or 'the request'}{said}")
    if len(error.errors) > MOST_FAULTS:
        lines.append(f"  and {len(error.errors) - MOST_FAULTS} more")
    return "\n".join(lines)


def _usage(error: TyperException) -> str:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "ordsim"
    return f"{path}: {error.format_message()}\nTry: {path} --help"
