"""Boosted trees over a join: btml beside a CSV export and LightGBM with the same settings, in one run.

Talks to the server through psql (PGHOST, PGPORT, PGUSER); prints a table of times and ratios.
"""

import csv
import os
import subprocess
import sys
import tempfile
import time

try:
    import lightgbm
    import numpy
except ImportError:
    lightgbm = None

TREES = 100
REPEATS = int(os.environ.get("BTML_BENCH_REPEATS", "1"))
FEATURES = [f"f{i}" for i in range(1, 9)] + [f"{table}{i}" for table in "sic" for i in range(1, 5)]
# Columns that a fit reads from each base table.
TABLES = {
    "sale": ["holdout", "store_id", "item_id", "customer_id", "y"] + FEATURES[:8],
    "store": ["store_id"] + FEATURES[8:12],
    "item": ["item_id"] + FEATURES[12:16],
    "customer": ["customer_id"] + FEATURES[16:],
}
SETTINGS = dict(objective="regression", learning_rate=0.1, num_leaves=31, max_bin=255, min_data_in_leaf=20,
                min_sum_hessian_in_leaf=0, lambda_l2=0, num_threads=1, header=True, label_column="name:y", verbose=-1)


def sql(query):
    """Runs a script in one session without parallel plans and returns the rows of its queries."""
    script = f"SET search_path = bench; SET max_parallel_workers_per_gather = 0;\n{query}"
    run = subprocess.run(["psql", "-XqAt", "-F", ",", "-v", "ON_ERROR_STOP=1", "-d", "postgres"], input=script,
                         capture_output=True, text=True, check=False)
    if run.returncode:
        sys.exit(f"psql: {run.stderr}")
    return [line.split(",") for line in run.stdout.splitlines()]


def timed(action):
    """The least wall-clock time of REPEATS runs, and the result of the last one."""
    best = float("inf")
    for _ in range(REPEATS):
        start = time.perf_counter()
        result = action()
        best = min(best, time.perf_counter() - start)
    return best, result


def fit(threads):
    sql(f"""DELETE FROM model WHERE threads = {threads}; SET btml.threads = {threads};
            INSERT INTO model SELECT {threads}, btml.boost_fit('bench.train', target => 'y', trees => {TREES})""")


def export(path, relation):
    sql(f"\\copy (SELECT y, {', '.join(FEATURES)} FROM {relation}) TO '{path}' (FORMAT csv, HEADER)")


def counts():
    for table, columns in TABLES.items():
        sql(f"SELECT {', '.join(f'count({column})' for column in columns)} FROM {table}")


def predict(argument):
    return sql(f"SELECT sqrt(avg((y - btml.predict(fit, {argument})) ^ 2)) FROM test t, model WHERE threads = 1")


def line(what, btml, other=None, unit="s", ratio=None):
    cells = [f"{what:<58}", f"{btml:>12,.3f} {unit}"]
    if other is not None:
        cells += [f"{other:>12,.3f} {unit}", f"{btml / other if ratio is None else ratio:>8.3f}"]
    print(" ".join(cells), flush=True)


def main():
    rows, held_out = (int(sql(f"SELECT count(*) FROM {relation}")[0][0]) for relation in ("train", "test"))
    print(f"{rows:,} training rows, {held_out:,} held out, {len(FEATURES)} features, {TREES} trees, "
          f"least of {REPEATS} run(s)\n")
    print(f"{'':<58} {'btml':>14} {'other':>14} {'ratio':>8}")

    one, _ = timed(lambda: fit(1))
    two, _ = timed(lambda: fit(2))
    reading, _ = timed(counts)
    phases = {phase: float(seconds) for phase, seconds in
              sql("SELECT p.* FROM model, jsonb_each_text(btml.summary(fit)->'seconds') p WHERE threads = 1")}
    same = sql("SELECT count(DISTINCT md5(fit::text)) FROM model")[0][0] == "1"

    with tempfile.TemporaryDirectory() as folder:
        if lightgbm:
            train_csv, test_csv = f"{folder}/train.csv", f"{folder}/test.csv"
            copying, _ = timed(lambda: export(train_csv, "train"))
            training, booster = timed(lambda: lightgbm.train(SETTINGS, lightgbm.Dataset(train_csv, params=SETTINGS), TREES))
            line("fit, 1 thread | COPY of the join to CSV + LightGBM", one, copying + training)
            line("fit, 1 thread | LightGBM alone (reads the CSV)", one, training)
        else:
            line("fit, 1 thread", one)
        line("fit, 2 threads | 1 thread", two, one)
        for phase, seconds in phases.items():
            if phase.startswith("read"):
                line("reading | SELECT count(c1), ..., count(cn) of each table", seconds, reading)
        print(f"  the phases of the fit, in seconds: {', '.join(f'{k} {v:.2f}' for k, v in phases.items())}")
        print(f"  the models of one and two threads are {'the same bytes' if same else 'DIFFERENT'}")

        by_record, rmse = timed(lambda: predict("t.*"))
        by_array, _ = timed(lambda: predict(f"ARRAY[{', '.join(FEATURES)}]::float8[]"))
        rmse = float(rmse[0][0])
        if lightgbm:
            export(test_csv, "test")
            with open(test_csv, newline="") as file:
                data = numpy.array([[float(x) for x in row] for row in list(csv.reader(file))[1:]])
            predicting, values = timed(lambda: booster.predict(data[:, 1:], num_threads=1))
            speed = held_out / predicting / 1e6
            line("predict(model, t.*) | LightGBM, 1 thread, on an array", held_out / by_record / 1e6, speed, "M/s")
            line("predict(model, array) | LightGBM, 1 thread, on an array", held_out / by_array / 1e6, speed, "M/s")
            line("root mean squared error, held out", rmse, float(numpy.sqrt(numpy.mean((data[:, 0] - values) ** 2))), " ")
        else:
            line("predict(model, t.*), rows", held_out / by_record / 1e6, unit="M/s")
            line("predict(model, array), rows", held_out / by_array / 1e6, unit="M/s")
            line("root mean squared error, held out", rmse, unit=" ")
            print("\nLightGBM is left out: this Python has no lightgbm and numpy. test/bench/README.md says how to add them.")


main()
