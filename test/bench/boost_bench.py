"""Boosted trees over a join: btml beside a CSV export and LightGBM with the same settings, in one run.

Talks to the server through psql (PGHOST, PGPORT, PGUSER); prints a table of times, errors and ratios for each objective
(BTML_BENCH_OBJECTIVES, a list with commas).
"""

import csv
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

try:
    import lightgbm
    import numpy
except ImportError:
    lightgbm = None

TREES = int(os.environ.get("BTML_BENCH_TREES", "100"))
REPEATS = int(os.environ.get("BTML_BENCH_REPEATS", "1"))
FEATURES = [f"f{i}" for i in range(1, 9)] + [f"{table}{i}" for table in "sic" for i in range(1, 5)]
# Columns that a fit reads from each base table.
TABLES = {
    "sale": ["holdout", "store_id", "item_id", "customer_id", "y"] + FEATURES[:8],
    "store": ["store_id"] + FEATURES[8:12],
    "item": ["item_id"] + FEATURES[12:16],
    "customer": ["customer_id"] + FEATURES[16:],
}
SETTINGS = dict(learning_rate=0.1, num_leaves=31, max_bin=255, min_data_in_leaf=20, lambda_l2=0, num_threads=1,
                header=True, label_column="name:y", verbose=-1)
# By objective: LightGBM's settings, what btml predicts for a held-out row t, and metrics of y and the prediction p.
OBJECTIVES = {
    "squared": (dict(objective="regression", min_sum_hessian_in_leaf=0), "btml.predict(fit, t.*)",
                {"root mean squared error": "btml.rmse(y, p)"}),
    "binary": (dict(objective="binary"), "btml.predict(fit, t.*)",
               {"log loss": "btml.log_loss(y = 1, p)", "area under the ROC curve": "btml.auc(y = 1, p)"}),
    "poisson": (dict(objective="poisson"), "btml.predict(fit, t.*)",
                {"mean Poisson deviance": "btml.poisson_deviance(y, p)"}),
    "multiclass": (dict(objective="multiclass", num_class=7), "(btml.predict_probabilities(fit, t.*))[y + 1]",
                   {"log loss": "btml.log_loss(p)"}),
}


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


def call_of(objective):
    return f"btml.boost_fit('bench.train_{objective}', target => 'y', objective => '{objective}', trees => {TREES})"


def fit(objective, threads):
    sql(f"""DELETE FROM model WHERE objective = '{objective}' AND threads = {threads}; SET btml.threads = {threads};
            INSERT INTO model SELECT '{objective}', {threads}, {call_of(objective)}""")


def fit_twice(objective):
    """Two sessions at once, a thread each: what two processors are good for, where nothing waits for another."""
    fits = f"SET btml.threads = 1; SELECT btml.summary({call_of(objective)})->'rows'"
    with ThreadPoolExecutor(2) as sessions:
        list(sessions.map(sql, [fits] * 2))


def export(path, relation):
    sql(f"\\copy (SELECT y, {', '.join(FEATURES)} FROM {relation}) TO '{path}' (FORMAT csv, HEADER)")


def counts():
    for table, columns in TABLES.items():
        sql(f"SELECT {', '.join(f'count({column})' for column in columns)} FROM {table}")


def table_of(path):
    with open(path, newline="") as file:
        return numpy.array([[float(x) for x in row] for row in list(csv.reader(file))[1:]])


def metrics_of(objective, predictions):
    """Each metric over a query that gives y and p, in the order of OBJECTIVES."""
    metrics = ", ".join(OBJECTIVES[objective][2].values())
    return [float(value) for value in sql(f"SELECT {metrics} FROM ({predictions}) q")[0]]


def of_model(objective, prediction):
    return (f"SELECT y, {prediction} AS p FROM test_{objective} t, model "
            f"WHERE objective = '{objective}' AND threads = 1 OFFSET 0")


def line(what, btml, other=None, unit="s", ratio=None):
    cells = [f"{what:<58}", f"{btml:>12,.4g} {unit}"]
    if other is not None:
        cells += [f"{other:>12,.4g} {unit}", f"{btml / other if ratio is None else ratio:>8.3f}"]
    print(" ".join(cells), flush=True)


def measure_fits(objective, folder):
    """Prints the times of fits with one thread and with two, and gives LightGBM's model."""
    one, _ = timed(lambda: fit(objective, 1))
    two, _ = timed(lambda: fit(objective, 2))
    booster = None
    if lightgbm:
        train_csv, settings = f"{folder}/train.csv", {**SETTINGS, **OBJECTIVES[objective][0]}
        copying, _ = timed(lambda: export(train_csv, f"train_{objective}"))
        training, booster = timed(
            lambda: lightgbm.train(settings, lightgbm.Dataset(train_csv, params=settings), TREES))
        line("fit, 1 thread | COPY of the join to CSV + LightGBM", one, copying + training)
        line("fit, 1 thread | LightGBM alone (reads the CSV)", one, training)
    else:
        line("fit, 1 thread", one)
    line("fit, 2 threads | 1 thread", two, one)
    line("two fits at once, 1 thread each | one", timed(lambda: fit_twice(objective))[0], one)
    phases = sql(f"""SELECT p.* FROM model, jsonb_each_text(btml.summary(fit)->'seconds') p
                     WHERE objective = '{objective}' AND threads = 1""")
    print(f"  the phases of the fit, in seconds: {', '.join(f'{phase} {float(s):.2f}' for phase, s in phases)}")
    same = sql(f"SELECT count(DISTINCT md5(fit::text)) FROM model WHERE objective = '{objective}'")[0][0] == "1"
    print(f"  the models of one and two threads are {'the same bytes' if same else 'DIFFERENT'}")
    return booster


def measure_errors(objective, booster, folder):
    """Prints the errors of both on held-out rows, by the same aggregates."""
    errors = metrics_of(objective, of_model(objective, OBJECTIVES[objective][1]))
    others = [None] * len(errors)
    if booster:
        test_csv, predictions_csv = f"{folder}/test.csv", f"{folder}/predictions.csv"
        export(test_csv, f"test_{objective}")
        data = table_of(test_csv)
        values = booster.predict(data[:, 1:], num_threads=1)
        if values.ndim == 2:
            values = values[numpy.arange(len(values)), data[:, 0].astype(int)]
        numpy.savetxt(predictions_csv, numpy.column_stack([data[:, 0], values]), delimiter=",", fmt="%.17g")
        sql(f"""DROP TABLE IF EXISTS other; CREATE TABLE other (y float8, p float8);
                \\copy other FROM '{predictions_csv}' (FORMAT csv)""")
        others = metrics_of(objective, "SELECT * FROM other")
    for name, btml, other in zip(OBJECTIVES[objective][2], errors, others):
        line(f"{name}, held out", btml, other, " ")


def measure_reading():
    reading, _ = timed(counts)
    for phase, seconds in sql("""SELECT p.* FROM model, jsonb_each_text(btml.summary(fit)->'seconds') p
                                 WHERE objective = 'squared' AND threads = 1"""):
        if phase.startswith("read"):
            line("reading | SELECT count(c1), ..., count(cn) of each table", float(seconds), reading)


def measure_predictions(booster, folder, held_out):
    """Prints rows per second of predictions."""
    def predict(argument):
        prediction = of_model("squared", f"btml.predict(fit, {argument})")
        return timed(lambda: sql(f"SELECT sum(p) FROM ({prediction}) q"))[0]

    by_record, by_array = predict("t.*"), predict(f"ARRAY[{', '.join(FEATURES)}]::float8[]")
    if booster:
        data = table_of(f"{folder}/test.csv")
        speed = held_out / timed(lambda: booster.predict(data[:, 1:], num_threads=1))[0] / 1e6
        line("predict(model, t.*) | LightGBM, 1 thread, on an array", held_out / by_record / 1e6, speed, "M/s")
        line("predict(model, array) | LightGBM, 1 thread, on an array", held_out / by_array / 1e6, speed, "M/s")
    else:
        line("predict(model, t.*), rows", held_out / by_record / 1e6, unit="M/s")
        line("predict(model, array), rows", held_out / by_array / 1e6, unit="M/s")


def main():
    rows, held_out = (int(sql(f"SELECT count(*) FROM {part}_squared")[0][0]) for part in ("train", "test"))
    print(f"{rows:,} training rows, {held_out:,} held out, {len(FEATURES)} features, {TREES} trees, "
          f"least of {REPEATS} run(s)\n")
    print(f"{'':<58} {'btml':>14} {'other':>14} {'ratio':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for objective in os.environ.get("BTML_BENCH_OBJECTIVES", ",".join(OBJECTIVES)).split(","):
            print(f"\nobjective {objective}")
            booster = measure_fits(objective, folder)
            measure_errors(objective, booster, folder)
            if objective == "squared":
                measure_reading()
                measure_predictions(booster, folder, held_out)
    if not lightgbm:
        print("\nLightGBM is left out: this Python has no lightgbm and numpy. test/bench/README.md says how to add them.")


main()
