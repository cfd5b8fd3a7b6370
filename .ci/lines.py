"""Counts lines of code by folder, without blank lines, comments and docstrings.

``make lines`` calls it. It ends with 1 if packages or tests have more lines than `lines.toml`
allows. Python, JavaScript and C count, of git's files.
"""

import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMITS = Path(__file__).with_suffix(".toml")
SUFFIXES = (".py", ".js", ".mjs", ".c", ".h")
#: Tokens of Python that make no line of code.
BLANK = {tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}
#: Comments of JavaScript and C, beside the texts and regular expressions that may look like them.
COMMENT = re.compile(
    r"(?P<comment>//.*|/\*[\s\S]*?\*/)"
    r"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^\\`])*`"
    r"|(?:[(,=:;[!&|?{}>]|\breturn)\s*/(?![*/])(?:\\.|\[(?:\\.|[^\]\n])*\]|[^/\\\n])+/"
)


def lines_of_python(text: str) -> int:
    """The lines that are not blank, a comment, or a statement of nothing but a text."""
    counted: set[int] = set()
    statement: list[tokenize.TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.NEWLINE, tokenize.ENDMARKER):
            if any(each.type != tokenize.STRING for each in statement):
                for each in statement:
                    counted.update(range(each.start[0], each.end[0] + 1))
            statement = []
        elif token.type not in BLANK:
            statement.append(token)
    return len(counted)


def lines_of_c(text: str) -> int:
    """The lines of JavaScript or C that are not blank or a comment."""
    bare = COMMENT.sub(lambda found: "" if found["comment"] else found[0], text)
    return sum(not line.isspace() for line in bare.splitlines(keepends=True))


def count() -> Counter[str]:
    """Lines of code of each folder of the repository."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    counts: Counter[str] = Counter()
    for name in listed.stdout.split("\0"):
        if name.endswith(SUFFIXES) and (ROOT / name).is_file():
            text = (ROOT / name).read_text(encoding="utf-8")
            counted = lines_of_python(text) if name.endswith(".py") else lines_of_c(text)
            counts[name.partition("/")[0] if "/" in name else "."] += counted
    return counts


def main() -> int:
    """Print the counts; return whether one is above its limit."""
    counts = count()
    packages = {folder for folder in counts if (ROOT / folder / "py.typed").is_file()}
    totals = {"packages": sum(counts[folder] for folder in packages), "tests": counts["tests"]}
    for folder in sorted(counts, key=lambda folder: (folder not in packages, folder)):
        print(f"{counts[folder]:7,}  {folder}")
    too_many = 0
    for name, limit in tomllib.loads(LIMITS.read_text(encoding="utf-8")).items():
        print(f"{totals[name]:7,}  {name}, at most {limit:,}")
        if totals[name] > limit:
            too_many = 1
            print(f"{name} have {totals[name] - limit} lines of code too many: {LIMITS}")
    return too_many


if __name__ == "__main__":
    sys.exit(main())
