"""Trees over joins that are many times larger than their tables: strategy factorize beside an export and LightGBM.

Talks to the server through psql (PGHOST, PGPORT, PGUSER); prints a table of times and ratios.
"""

import os
import subprocess
import sys
import tempfile
import time

try:
    import lightgbm
except ImportError:
    lightgbm = None

CURVE = [int(trees) for trees in os.environ.get("BTML_BENCH_CURVE", "10,20,50,100").split(",")]
LEAVES = [int(leaves) for leaves in os.environ.get("BTML_BENCH_LEAVES", "8").split(",")]
RATINGS = os.environ.get("BTML_BENCH_RATINGS", "50000")
FEATURES = "at, age, mood, year, minutes, genre, other_stars, other_at"
SETTINGS = dict(objective="regression", learning_rate=0.1, num_leaves=31, max_bin=255, min_data_in_leaf=20,
                min_sum_hessian_in_leaf=0, num_threads=2, header=True, label_column="name:y", verbose=-1)


def psql(*arguments, script=None):
    run = subprocess.run(["psql", "-XqAt", "-F", ",", "-v", "ON_ERROR_STOP=1", "-d", "postgres", *arguments],
                         input=script, capture_output=True, text=True, check=False)
    if run.returncode:
        sys.exit(f"psql: {run.stderr}")
    return [line.split(",") for line in run.stdout.splitlines()]


def load(schema, rows_per_town, ratings):
    psql("-o", os.devnull, "-v", f"schema={schema}", "-v", f"s={rows_per_town}", "-v", "n=25000", "-v",
         f"ratings={ratings}", "-f", f"{os.path.dirname(__file__)}/join_bench.sql")


def fit(source, options, threads=2):
    """Seconds, rows of the join, peak memory in MB and what the strategy says, of one fit in a session of its own."""
    start = time.perf_counter()
    rows, peak = psql(script=f"""
        SET btml.threads = {threads}; SET btml.memory_limit = '4GB';
        SELECT s->>'rows', replace(s->>'strategy_reason', ',', '') FROM btml.summary(btml.boost_fit('{source}', 'y', {options})) s;
        SELECT (regexp_match(pg_read_file('/proc/self/status'), 'VmHWM:\\s+(\\d+)'))[1]""")
    return time.perf_counter() - start, int(rows[0]), int(peak[0]) // 1024, rows[1]


def line(what, *cells):
    print(f"{what:<72}", *(f"{cell:>14}" for cell in cells), flush=True)


def squares():
    """Exact sums of squares of residuals beside sketches of several sizes, by number of trees."""
    load("town4", 4, 0)
    sizes = [0] + [int(size) for size in os.environ.get("BTML_BENCH_SKETCHES", "20,50,100,400").split(",")]
    for leaves in (8, 64):
        line(f"criterion mse_sum, trees of {leaves} leaves", *(f"sketch of {k}" if k else "exact" for k in sizes))
        for trees in CURVE:
            options = (f"trees => {trees}, max_leaves => {leaves}, feature_fraction => 0.6, learning_rate => 0.3, "
                       "criterion => 'mse_sum', strategy => 'factorize'")
            sketches = [f", residuals => 'sketch', sketch_size => {k}" if k else "" for k in sizes]
            seconds = [fit("town4.treated", options + sketch, threads=1)[0] for sketch in sketches]
            line(f"  {trees} trees", *(f"{s:.2f} s" for s in seconds))


def curve():
    """Time and memory by number of trees and leaves, with the combinations of rows by which residuals are held."""
    for leaves in LEAVES:
        for trees in CURVE:
            seconds, _, peak, reason = fit("town20.town", f"trees => {trees}, max_leaves => {leaves}")
            line(f"  {trees} trees of {leaves} leaves over the larger join, strategy auto", f"{seconds:.2f} s", f"{peak} MB")
            print("   ", reason)


def main():
    load("town4", 4, 0)
    load("town20", 20, RATINGS)
    tables = "house shop restaurant school people traffic".split()
    sizes = {schema: sum(int(psql("-c", f"SELECT count(*) FROM {schema}.{table}")[0][0]) for table in tables)
             for schema in ("town4", "town20")}
    start = time.perf_counter()
    rows = psql("-c", "SELECT btml.sumprod('SELECT FROM town20.town')")[0][0]
    line("count of the join", f"{float(rows):,.0f} rows", f"{time.perf_counter() - start:.2f} s")

    per_row = {}
    for schema in ("town4", "town20"):
        seconds, rows, peak, _ = fit(f"{schema}.town", "trees => 10, max_leaves => 8, strategy => 'factorize'")
        per_row[schema] = seconds / sizes[schema]
        line(f"10 trees of 8 leaves, {sizes[schema]:,} table rows, {rows:,} join rows", f"{seconds:.2f} s", f"{peak} MB")
    line("time per table row, the larger join | the smaller", f"{per_row['town20'] / per_row['town4']:.2f}")
    curve()

    held, rows, held_peak, _ = fit("town20.watched", "trees => 10, strategy => 'enumerate'")
    seconds, _, peak, _ = fit("town20.watched", "trees => 10, strategy => 'factorize'")
    line(f"10 trees of 31 leaves, {rows:,} join rows, factorize", f"{seconds:.2f} s", f"{peak} MB")
    line("  enumerate", f"{held:.2f} s", f"{held_peak} MB")
    if not lightgbm:
        print("LightGBM is left out: this Python has no lightgbm. README.md in this folder says how to add it.")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/watched.csv"
        start = time.perf_counter()
        psql("-c", f"\\copy (SELECT y, {FEATURES} FROM town20.watched) TO '{path}' (FORMAT csv, HEADER)")
        exported = time.perf_counter() - start
        lightgbm.train(SETTINGS, lightgbm.Dataset(path, params=SETTINGS), 10)
        both = time.perf_counter() - start
    line("  COPY of the join to CSV, and that with LightGBM on two threads", f"{exported:.2f} s", f"{both:.2f} s")
    line("  factorize | COPY + LightGBM", f"{seconds / both:.3f}")


if sys.argv[1:] == ["squares"]:
    squares()
elif sys.argv[1:] == ["curve"]:
    load("town20", 20, 0)
    curve()
else:
    main()
