"""Runs every block of Python on contrib_docs/python.md, one after the other, and compares what it prints with the block of
output behind it: python_page.py; with --write, writes what it prints into the page instead. Talks to a server on this
machine through psycopg (PGHOST, PGPORT, PGUSER; database PGDATABASE), which has the extension; needs what the page
installs."""

import contextlib
import io
import os
import pathlib
import re
import sys
import tempfile

PAGE = pathlib.Path(__file__).resolve().parents[2] / "contrib_docs" / "python.md"


def main():
    os.chdir(tempfile.mkdtemp())  # for the pictures
    page, names, wrong = PAGE.read_text(), {}, []

    def run(match):
        code, output = match.group(1), match.group(3)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(PAGE), "exec"), names)
        if printed.getvalue() != (output or ""):
            wrong.append(f"{code}prints:\n{printed.getvalue()}")
        block = f"\n```output\n{printed.getvalue()}```\n" if printed.getvalue() else ""
        return f"```python\n{code}```\n{block}"

    written = re.sub(r"```python\n(.*?)```\n(\n```output\n(.*?)```\n)?", run, page, flags=re.S)
    if "--write" in sys.argv:
        PAGE.write_text(written)
    elif wrong:
        sys.exit("\n".join(wrong))
    print(f"{page.count('```python')} blocks")


main()
