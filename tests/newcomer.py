"""Does what README and pages say, in their order, as somebody who has just come.

`make newcomer` runs it: a virtual environment is made in an empty folder, the project is installed
there as the README says and nothing else but what the pages name, and then every example and every
command of the README is run, and the examples of each page, shelf by shelf. It ends with the first
that fails. Nothing of the checkout but its text is used.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kit.pages import README, commands, examples_of, name_of, shelved
from kit.paths import ROOT

EXTRAS = "spark,demo"
"""Those that the README and the pages name."""
NAMED_BY_PAGES = ["pandas>=2.2,<3", "polars"]
"""What pages import beside what comes with the project."""


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


class Newcomer:
    """Somebody with an empty folder, Python, and what is written."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.python = home / "venv" / "bin" / "python"
        # Nothing that a developer has set helps.
        own = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        self.env = {**own, "PATH": f"{self.python.parent}:{os.environ['PATH']}"}

    def install(self) -> None:
        """As the README says, with the versions that the tests were run with."""
        self.do([sys.executable, "-m", "venv", str(self.home / "venv")], self.home)
        pip = [str(self.python), "-m", "pip", "install", "--quiet"]
        pinned = ["--constraint", str(ROOT / "constraints.txt")]
        self.do([*pip, *pinned, f"{ROOT}[{EXTRAS}]", *NAMED_BY_PAGES], self.home)

    def do(self, command: list[str], folder: Path, code: str | None = None) -> None:
        """Run a command; where it fails, say what it said and leave."""
        begun_s = time.monotonic()
        done = subprocess.run(
            command,
            cwd=folder,
            env=self.env,
            input=code,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            sys.exit(f"{' '.join(command)[:200]} failed:\n{done.stdout}{done.stderr}")
        say(f"    {time.monotonic() - begun_s:5.1f} s  {' '.join(command)[-80:]}")

    def read(self, page: Path) -> None:
        """Do what a page says, in an empty folder."""
        examples = examples_of(page)
        if not examples:
            return
        say(name_of(page))
        folder = Path(tempfile.mkdtemp(dir=self.home))
        self.do([str(self.python), "-"], folder, examples)
        for command in commands() if page == README else []:
            self.do(["bash", "-ec", command], folder)
        shutil.rmtree(folder)


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        newcomer = Newcomer(Path(home))
        newcomer.install()
        for page in (README, *shelved()):
            newcomer.read(page)
    say("All of it works.")


if __name__ == "__main__":
    main()
