"""Tuning: btml.tune in SQL beside LightGBM and scikit-learn's HistGradientBoostingRegressor doing the same trials.

Talks to a server on this machine through psql (PGHOST, PGPORT, PGUSER). The trials are those that btml.tune drew; the
others get the same rows, folds, trees and stages (half of the trees on a third of the folds, and so on), keep what their
own scores say, and score every number of trees, as btml.tune does. Prints wall and processor times with one thread, theirs
without the time to get the rows out of the database, the best scores, and the processor time for all folds and trees of
every trial. BTML_BENCH_ROWS (100,000) rows, BTML_BENCH_TRIALS (12) trials of BTML_BENCH_TREES (100) trees. Needs lightgbm,
numpy and scikit-learn, and a superuser: the backend's processor time is read from /proc.
"""

import csv
import io
import json
import os
import subprocess
import sys
import time

import lightgbm
import numpy
from sklearn.ensemble import HistGradientBoostingRegressor

ROWS = int(os.environ.get("BTML_BENCH_ROWS", "100000"))
TRIALS = int(os.environ.get("BTML_BENCH_TRIALS", "12"))
TREES = int(os.environ.get("BTML_BENCH_TREES", "100"))
FOLDS = 5
FEATURES = [f"f{i}" for i in range(1, 13)]
TABLE = f"""
DROP SCHEMA IF EXISTS tune_bench CASCADE; CREATE SCHEMA tune_bench;
CREATE TABLE tune_bench.point AS SELECT i % {FOLDS} AS fold, {', '.join(FEATURES)},
    f1 * f2 / 100 + sin(f3 / 20) * 50 + CASE WHEN f4 > f5 THEN f6 ELSE f7 END + (random() - 0.5) * 200 AS y
FROM (SELECT setseed(0.5)) s, LATERAL (SELECT i, {', '.join(f'random() * 200 AS {x}' for x in FEATURES)}
    FROM generate_series(1, {ROWS}) i) p;
VACUUM ANALYZE tune_bench.point;
"""
SPACE = {"learning_rate": {"from": 0.02, "to": 0.3, "scale": "log"}, "max_leaves": {"from": 4, "to": 63},
         "min_leaf_rows": {"from": 5, "to": 100}, "l2": {"from": 0, "to": 20}}
TUNE = f"""SELECT options, score, folds, best FROM btml.tune('tune_bench.point', 'y', '{json.dumps(SPACE)}', {TRIALS},
    fold => 'fold', options => '{{"trees": {TREES}}}') ORDER BY trial;"""
# Of the backend: hundredths of a second on a processor.
TICKS = "SELECT s[14]::int + s[15]::int FROM regexp_split_to_array(pg_read_file('/proc/self/stat'), ' ') s;"
# Folds, part of the trees, one of how many is kept.
STAGES = [(2, 0.5, 2), (2, 1, 3), (FOLDS, 1, 1)]


def sql(query):
    """Runs a script in one session and returns what it prints as CSV."""
    script = f"""SET max_parallel_workers_per_gather = 0; SET btml.threads = 1; SET btml.memory_limit = '4GB';
        SET client_min_messages = warning;\n{query}"""
    run = subprocess.run(["psql", "-XqAt", "--csv", "-v", "ON_ERROR_STOP=1", "-d", "postgres"], input=script,
                         capture_output=True, text=True, check=False)
    if run.returncode:
        sys.exit(f"psql: {run.stderr}")
    return list(csv.reader(io.StringIO(run.stdout)))


def of_lightgbm(options, trees, train, test):
    settings = dict(objective="regression", metric="rmse", learning_rate=options["learning_rate"],
                    num_leaves=options["max_leaves"], min_data_in_leaf=round(options["min_leaf_rows"]),
                    lambda_l2=options["l2"], max_bin=255, min_sum_hessian_in_leaf=0, num_threads=1, verbose=-1)
    rows = lightgbm.Dataset(train[:, 1:-1], train[:, -1], params=settings)
    curve = {}
    lightgbm.train(settings, rows, trees, valid_sets=[rows.create_valid(test[:, 1:-1], test[:, -1])],
                   callbacks=[lightgbm.record_evaluation(curve)])
    return numpy.array(curve["valid_0"]["rmse"])


def of_scikit_learn(options, trees, train, test):
    model = HistGradientBoostingRegressor(learning_rate=options["learning_rate"], max_iter=trees, early_stopping=False,
                                          max_leaf_nodes=options["max_leaves"], l2_regularization=options["l2"],
                                          min_samples_leaf=round(options["min_leaf_rows"]))
    model.fit(train[:, 1:-1], train[:, -1])
    return numpy.array([numpy.sqrt(numpy.mean((p - test[:, -1]) ** 2)) for p in model.staged_predict(test[:, 1:-1])])


def race(trials, data, curve_of, stages):
    """Returns the best score over all folds, wall and processor seconds."""
    start, start_on_processor = time.perf_counter(), time.process_time()
    left, done, scores = list(range(len(trials))), {}, {}
    for folds, share, kept in stages:
        trees = max(1, round(TREES * share))
        for trial in left:
            for fold in range(folds):
                if (trial, fold, trees) not in done:
                    inside = data[:, 0] == fold
                    done[trial, fold, trees] = curve_of(trials[trial], trees, data[~inside], data[inside])
            scores[trial] = numpy.mean([done[trial, fold, trees] for fold in range(folds)], axis=0).min()
        left = sorted(left, key=scores.get)[:max(3, -(-len(left) // kept))]
    return scores[left[0]], time.perf_counter() - start, time.process_time() - start_on_processor


def main():
    sql(TABLE)
    start = time.perf_counter()
    (before,), *rows, (after,) = sql(f"{TICKS}\n{TUNE}\n{TICKS}")
    wall, ours = time.perf_counter() - start, (int(after) - int(before)) / 100
    trials = [json.loads(row[0]) for row in rows]
    best = [float(row[1]) for row in rows if row[3] == "t"][0]
    printed = sql(f"COPY (SELECT fold, {', '.join(FEATURES)}, y FROM tune_bench.point) TO STDOUT (FORMAT csv);")
    data = numpy.array([[float(x) for x in row] for row in printed])
    print(f"{'':<14} {'wall':>8} {'processor':>10} {'ratio':>6} {'best rmse':>10} {'all folds':>10}")
    print(f"{'btml.tune':<14} {wall:>8.2f} {ours:>10.2f} {1:>6.2f} {best:>10.4f}", flush=True)
    for name, curve_of in [("LightGBM", of_lightgbm), ("scikit-learn", of_scikit_learn)]:
        score, wall, seconds = race(trials, data, curve_of, STAGES)
        *_, everything = race(trials, data, curve_of, STAGES[-1:])
        print(f"{name:<14} {wall:>8.2f} {seconds:>10.2f} {seconds / ours:>6.2f} {score:>10.4f} {everything:>10.2f}", flush=True)
    sql("DROP SCHEMA tune_bench CASCADE;")


main()
