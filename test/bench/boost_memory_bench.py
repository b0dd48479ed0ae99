"""Boosted trees from tables beside LightGBM from an array in memory: processor seconds of one thread each, in one run.

Talks to a server on this machine through psql (PGHOST, PGPORT, PGUSER) as a superuser: the backend's processor time is
read from /proc. btml's time is that of the whole statement, tables read and joined; LightGBM's are those of
constructing its bins and of training, the join being an array already. BTML_BENCH_TREES (100) trees of 31 leaves, the
least of BTML_BENCH_REPEATS (1) runs, BTML_BENCH_CASES (those of CASES, with commas), BTML_BENCH_OBJECTIVES
(squared,binary,multiclass; of other cases than the star the first alone). Needs lightgbm and numpy.
"""

import os
import subprocess
import sys
import tempfile
import time

import lightgbm
import numpy

TREES = int(os.environ.get("BTML_BENCH_TREES", "100"))
REPEATS = int(os.environ.get("BTML_BENCH_REPEATS", "1"))
OBJECTIVES = os.environ.get("BTML_BENCH_OBJECTIVES", "squared,binary,multiclass").split(",")
# Rows, features of the first table and of each of three others, of 1,000, 20,000 and 100,000 rows.
CASES = {"star": (1_600_000, 5, 5), "flat": (1_000_000, 50, 0), "wide star": (1_600_000, 25, 5)}
DIMENSIONS = {"a": 1_000, "b": 20_000, "c": 100_000}
LABELS = 7
SETTINGS = dict(learning_rate=0.1, num_leaves=31, max_bin=255, min_data_in_leaf=20, lambda_l2=0, num_threads=1,
                verbose=-1)
OF_LIGHTGBM = {"squared": dict(objective="regression", min_sum_hessian_in_leaf=0), "binary": dict(objective="binary"),
               "multiclass": dict(objective="multiclass", num_class=LABELS)}
TARGETS = {"squared": "y", "binary": "(y > 6)::int",
           "multiclass": f"least({LABELS - 1}, greatest(0, floor(y / 2)))::int"}
TICKS = "SELECT s[14]::int + s[15]::int FROM regexp_split_to_array(pg_read_file('/proc/self/stat'), ' ') s;"


def sql(query):
    """Runs a script in one session without parallel plans and returns the lines that it prints."""
    script = f"""SET search_path = memory_bench; SET max_parallel_workers_per_gather = 0; SET btml.threads = 1;
        SET client_min_messages = warning;\n{query}"""
    run = subprocess.run(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", "postgres"], input=script,
                         capture_output=True, text=True, check=False)
    if run.returncode:
        sys.exit(f"psql: {run.stderr}")
    return run.stdout.splitlines()


def random_columns(names):
    return ", ".join(f"random() AS {name}" for name in names)


def make_tables(rows, own, others):
    """Returns the features' names and the FROM clause of the join."""
    names = [f"f{i}" for i in range(1, own + 1)]
    dimensions = {t: [f"{t}{i}" for i in range(1, others + 1)] for t in DIMENSIONS} if others else {}
    script = "DROP SCHEMA IF EXISTS memory_bench CASCADE; CREATE SCHEMA memory_bench; SELECT setseed(0.5);"
    for table, columns in dimensions.items():
        script += f"""CREATE TABLE {table} AS SELECT i AS {table}_id, {random_columns(columns)}
                      FROM generate_series(1, {DIMENSIONS[table]}) i;
                  ALTER TABLE {table} ADD PRIMARY KEY ({table}_id);"""
    keys = [f"{table}_id" for table in dimensions]
    drawn_keys = "".join(f", 1 + floor(random() * {DIMENSIONS[t]})::int AS {t}_id" for t in dimensions)
    joins = " ".join(f"JOIN {table} USING ({table}_id)" for table in dimensions)
    g1, g2, g3 = [columns[0] for columns in dimensions.values()] or ["f6", "f7", "f8"]
    y = f"3 * f1 * f2 + 2 * sin(5 * f3) + (f4 > 0.7)::int + 2 * {g1} + 3 * f5 * {g2} + 2 * abs({g3} - 0.5) + 2 * noise"
    script += f"""CREATE TABLE fact AS SELECT {', '.join(keys + names)}, {y} AS y
                      FROM (SELECT {random_columns(names + ["noise"])}{drawn_keys}
                            FROM generate_series(1, {rows})) drawn {joins};
                  CREATE TABLE model (objective text, fit btml.model);
                  VACUUM (ANALYZE, FREEZE) {', '.join(["fact", *dimensions])};
                  CHECKPOINT;"""
    sql(script)
    return names + [column for columns in dimensions.values() for column in columns], f"fact {joins}"


def fit(objective, features, source):
    """Returns the processor seconds of the statement."""
    query = f"SELECT {TARGETS[objective]} AS y, {', '.join(features)} FROM {source}"
    before, after = sql(f"""{TICKS}
        INSERT INTO model SELECT '{objective}', btml.boost_fit($$ {query} $$, target => 'y', objective => '{objective}',
            trees => {TREES}, strategy => 'enumerate'); {TICKS}""")
    return (int(after) - int(before)) / os.sysconf("SC_CLK_TCK")


def rows_of(features, source):
    """Returns the join as an array of features, and its targets by objective."""
    targets = ", ".join(TARGETS.values())
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        sql(f"\\copy (SELECT {', '.join(features)}, {targets} FROM {source}) TO '{file.name}' (FORMAT csv)")
        data = numpy.loadtxt(file.name, delimiter=",")
    columns = {objective: data[:, len(features) + i].copy() for i, objective in enumerate(TARGETS)}
    return numpy.ascontiguousarray(data[:, :len(features)]), columns


def train(objective, features, target):
    """Returns the processor seconds of LightGBM's construction and training."""
    settings = {**SETTINGS, **OF_LIGHTGBM[objective]}
    start = time.process_time()
    dataset = lightgbm.Dataset(features, target, params=settings).construct()
    constructed = time.process_time()
    lightgbm.train(settings, dataset, TREES)
    return constructed - start, time.process_time() - constructed


def main():
    print(f"{TREES} trees of 31 leaves, processor seconds, least of {REPEATS} run(s)\n")
    print(f"{'case':<12}{'objective':<12}{'btml':>8}{'LightGBM':>16}{'ratio':>8}")
    for case in os.environ.get("BTML_BENCH_CASES", ",".join(CASES)).split(","):
        features, source = make_tables(*CASES[case])
        array, targets = rows_of(features, source)
        for objective in OBJECTIVES if case == "star" else OBJECTIVES[:1]:
            ours = theirs = float("inf")
            for _ in range(REPEATS):
                ours = min(ours, fit(objective, features, source))
                construction, training = train(objective, array, targets[objective])
                if construction + training < theirs:
                    theirs, parts = construction + training, f"{construction:.1f} + {training:.1f}"
            print(f"{case:<12}{objective:<12}{ours:>8.1f}{parts:>16}{ours / theirs:>8.2f}", flush=True)


main()
