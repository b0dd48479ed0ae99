"""What the benches of btml.factorize_aggregates share: statements through psql, and DuckDB on one thread beside it.

psql talks to the server that PGHOST, PGPORT and PGUSER name, in the database `postgres`. Times are in milliseconds, of the
processor where BTML_BENCH_CLOCK=processor, which is what is left to compare on a machine that others use. The backend's is
read from the server's own files, so the server is on this machine and the user is a superuser.
"""

import os
import re
import subprocess
import sys
import tempfile
import threading
import time

try:
    import duckdb
except ImportError:
    duckdb = None

BY_PROCESSOR = os.environ.get("BTML_BENCH_CLOCK") == "processor"


def psql(script, *arguments, unfinished="statement timeout"):
    """Returns what a script prints, columns between tabs. Raises TimeoutError where its error matches `unfinished`."""
    run = subprocess.run(["psql", "-XqAt", "-F", "\t", "-d", "postgres", "-v", "ON_ERROR_STOP=1", *arguments],
                         input=script, capture_output=True, text=True, check=False)
    if run.returncode and re.search(unfinished, run.stderr):
        raise TimeoutError
    if run.returncode:
        sys.exit(f"psql: {run.stderr}")
    return run.stdout


def in_postgres(settings, query, repeats, **options):
    """Returns the least time of so many runs in one session, and the rows of the first; nothing where one is unfinished.
    btml is loaded before the settings."""
    clock = r"SELECT 'Time: ' || split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::float8 / 1e6 || ' ms';" + "\n"
    begin = clock if BY_PROCESSOR else "\\timing on\n"
    script = f"\\o {os.devnull}\nSELECT btml.version();\n\\o\n{settings};\n{begin}" + f"{query};\n{clock if BY_PROCESSOR else ''}" * repeats
    try:
        out = psql(script, **options)
    except TimeoutError:
        return None, None
    parts = re.split(r"^Time: ([-+.e\d]+) ms.*\n?", out, flags=re.M)
    times = [float(text) for text in parts[1::2]]
    if BY_PROCESSOR:
        times = [end - start for start, end in zip(times, times[1:])]
    return min(times), [line.split("\t") for line in parts[2 if BY_PROCESSOR else 0].splitlines()]


def duck_of(schema):
    """Returns a DuckDB with the tables of a schema in memory, or nothing where it is not installed."""
    if not duckdb:
        return None
    duck = duckdb.connect(config={"threads": 1})
    tables = psql(f"SELECT relname FROM pg_class WHERE relnamespace = '{schema}'::regnamespace AND relkind = 'r'")
    with tempfile.TemporaryDirectory() as folder:
        for table in tables.split():
            path = f"{folder}/{table}.csv"
            psql(f"\\copy {schema}.{table} TO '{path}' (FORMAT csv, HEADER)")
            duck.execute(f"CREATE TABLE {table} AS FROM read_csv('{path}')")
            os.unlink(path)
    return duck


def in_duck(duck, query, repeats, timeout):
    """Returns the least time of so many runs, and the rows; nothing where one takes more seconds or memory than there are."""
    if not duck:
        return None, None
    best = float("inf")
    clock = time.process_time if BY_PROCESSOR else time.perf_counter
    for _ in range(repeats):
        timer = threading.Timer(timeout, duck.interrupt)
        timer.start()
        start = clock()
        try:
            rows = duck.execute(query).fetchall()
        except (duckdb.InterruptException, duckdb.OutOfMemoryException):
            return None, None
        finally:
            timer.cancel()
        best = min(best, clock() - start)
    return best * 1000, [["" if value is None else str(value) for value in row] for row in rows]


def cell(milliseconds):
    return "" if milliseconds is None else f"{milliseconds:,.1f}" if milliseconds < 100 else f"{milliseconds:,.0f}"


def ratio(other, ours):
    return "" if other is None or ours is None else f"{other / ours:,.2f}" if other < 10 * ours else f"{other / ours:,.0f}"
