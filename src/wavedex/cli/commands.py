"""The command as a whole: which commands there are, and how each of them ends.

An error that Wavedex raises on purpose is its message alone on standard error and exit code 1.
Wrong usage is 2. An interrupt and a reader that went away (`| head`) end quietly, with the codes
that a shell gives to the signals. No command ends by itself: they raise, and it is decided here.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import wavedex
from wavedex.cli import (
    append,
    apply,
    changes,
    create,
    erase,
    inspect,
    migrate,
    plan,
    probe,
    run,
    scan,
    temporal,
    tune,
    vacuum,
    verify,
    warm,
)
from wavedex.cli.output import shown
from wavedex.errors import WavedexError

FAILED = 1
INTERRUPTED = 130  # 128 and the number of the signal, as a shell says it
READER_GONE = 141


def _take_no_values(options: list[Any]) -> list[Any]:
    """The same options, with flags whose help names no value, as they take none."""
    for option in options:
        if getattr(option, "is_bool_flag", False) and option.metavar is None:
            option.metavar = " "
    return options


class Command(TyperCommand):
    """One command."""

    def get_params(self, ctx: Any) -> Any:
        return _take_no_values(super().get_params(ctx))


class Commands(TyperGroup):
    """A group of commands that turns what they raise into messages and exit codes."""

    def get_params(self, ctx: Any) -> Any:
        return _take_no_values(super().get_params(ctx))

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except WavedexError as error:
            typer.echo(str(error), err=True)
            raise typer.Exit(FAILED) from None
        except BrokenPipeError:
            _abandon_output()
            raise typer.Exit(READER_GONE) from None
        except OSError as error:
            typer.echo(_said_of(error), err=True)
            raise typer.Exit(FAILED) from None
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None


app = typer.Typer(
    cls=Commands,
    help="Keep the recent past indexed: the last W slots of your data by key, in plain files.",
    epilog="wavedex COMMAND --help says more, with an example.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"wavedex {wavedex.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Take what is said before the command's name."""


sets = typer.Typer(
    cls=Commands,
    help="Sets over time: who was in one at any past time.",
    epilog="wavedex temporal COMMAND --help says more, with an example.",
    no_args_is_help=True,
)


def _add(group: typer.Typer, module: Any) -> None:
    """Put the commands of a module into a group."""
    for command, example in module.COMMANDS.items():
        group.command(cls=Command, epilog=f"Example: {example}")(shown(command))


for module in (
    create,
    append,
    apply,
    run,
    probe,
    scan,
    changes,
    inspect,
    plan,
    verify,
    vacuum,
    migrate,
    erase,
    tune,
    warm,
):
    _add(app, module)
for module in temporal.MODULES:
    _add(sets, module)
app.add_typer(sets, name="temporal")


def main() -> None:
    """Run the command that the process was started with."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal that lacks a letter is no failure
    try:
        app(prog_name="wavedex")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _abandon_output() -> None:
    """Let what is still to be written go nowhere.

    Otherwise Python's own flush at the end would fail again.
    """
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())


def _said_of(error: OSError) -> str:
    if error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}."
    return str(error)
