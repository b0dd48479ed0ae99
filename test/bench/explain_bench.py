"""SHAP values of boosted trees: btml.shap in SQL beside LightGBM's pred_contrib, with one thread each.

Talks to a server on this machine through psql (PGHOST, PGPORT, PGUSER), as a superuser: processor time, which is what is
compared, is read from /proc by the backend itself. Both train with the same settings on the same rows. All
BTML_BENCH_ROWS (50,000) rows are explained, by LightGBM a twentieth of them, BTML_BENCH_REPEATS (3) times each in turn; the
least times count. Needs LightGBM.
"""

import csv
import io
import os
import subprocess
import sys
import time

import lightgbm
import numpy

ROWS = int(os.environ.get("BTML_BENCH_ROWS", "50000"))
OTHER_ROWS = ROWS // 20
REPEATS = int(os.environ.get("BTML_BENCH_REPEATS", "3"))
FEATURES = [f"f{i}" for i in range(1, 21)]
# Trees and leaves of a model.
SHAPES = [(100, 7), (100, 31), (40, 255)]
TABLE = f"""
DROP SCHEMA IF EXISTS explain_bench CASCADE; CREATE SCHEMA explain_bench;
CREATE TABLE explain_bench.point AS SELECT i, {', '.join(FEATURES)},
    f1 * f2 / 100 + sin(f3 / 20) * 50 + CASE WHEN f4 > f5 THEN f6 ELSE f7 END + (random() - 0.5) * 10 AS y
FROM (SELECT setseed(0.5)) s, LATERAL (SELECT i, {', '.join(f'floor(random() * 200) AS {x}' for x in FEATURES)}
    FROM generate_series(1, {ROWS}) i) p;
CREATE TABLE explain_bench.model (model btml.model);
VACUUM ANALYZE explain_bench.point;
"""
# Of the backend: hundredths of a second on a processor.
TICKS = "SELECT s[14]::int + s[15]::int FROM regexp_split_to_array(pg_read_file('/proc/self/stat'), ' ') s;"
EXPLAIN = """SELECT sum(s.shap[1]) FROM explain_bench.model,
    LATERAL (SELECT btml.shap(model, p.*) AS shap FROM explain_bench.point p OFFSET 0) s;"""


def sql(query):
    """Runs a script in one session on one thread and returns what it prints."""
    script = f"""SET max_parallel_workers_per_gather = 0; SET btml.threads = 1; SET btml.memory_limit = '4GB';
        SET client_min_messages = warning;\n{query}"""
    run = subprocess.run(["psql", "-XqAt", "-F", ",", "-v", "ON_ERROR_STOP=1", "-d", "postgres"], input=script,
                         capture_output=True, text=True, check=False)
    if run.returncode:
        sys.exit(f"psql: {run.stderr}")
    return run.stdout


def seconds_of_btml():
    before, _, after = sql(f"{TICKS}\n{EXPLAIN}\n{TICKS}").split()
    return (int(after) - int(before)) / 100


def measure(trees, leaves, data):
    sql(f"""TRUNCATE explain_bench.model; INSERT INTO explain_bench.model SELECT btml.boost_fit(
        'SELECT y, {', '.join(FEATURES)} FROM explain_bench.point', 'y', trees => {trees}, max_leaves => {leaves});""")
    settings = dict(objective="regression", num_leaves=leaves, learning_rate=0.1, min_data_in_leaf=20, max_bin=255,
                    min_sum_hessian_in_leaf=0, num_threads=1, verbose=-1)
    booster = lightgbm.train(settings, lightgbm.Dataset(data[:, :-1], data[:, -1], params=settings), trees)
    ours, others = [], []
    for _ in range(REPEATS):
        ours.append(ROWS / seconds_of_btml())
        start = time.process_time()
        booster.predict(data[:OTHER_ROWS, :-1], pred_contrib=True, num_threads=1)
        others.append(OTHER_ROWS / (time.process_time() - start))
    print(f"{trees:>6} {leaves:>7} {max(ours):>12,.0f} {max(others):>12,.0f} {max(ours) / max(others):>8.1f}", flush=True)


def main():
    sql(TABLE)
    printed = sql(f"SELECT {', '.join(FEATURES)}, y FROM explain_bench.point ORDER BY i;")
    data = numpy.array([[float(x) for x in row] for row in csv.reader(io.StringIO(printed))])
    print(f"{'trees':>6} {'leaves':>7} {'btml.shap':>12} {'pred_contrib':>12} {'ratio':>8}   (rows per second)")
    for trees, leaves in SHAPES:
        measure(trees, leaves, data)
    sql("DROP SCHEMA explain_bench CASCADE;")


main()
