"""The time to predict one row: statements with a model that the session has ready and without, a trigger, and LightGBM's
prediction of one row that is in memory, with a model of the same shape.

Talks to a server through psql and pgbench (PGHOST, PGPORT, PGUSER). LightGBM and NumPy are optional.
"""

import os
import re
import subprocess
import tempfile
import time

try:
    import lightgbm
    import numpy
except ImportError:
    lightgbm = None

FEATURES = 10
ROWS = 20000
COLUMNS = ", ".join(f"x{i}" for i in range(FEATURES))
SETUP = f"""
    DROP SCHEMA IF EXISTS serving_bench CASCADE;
    CREATE SCHEMA serving_bench;
    SET search_path = serving_bench;
    CREATE TABLE point AS SELECT id, {", ".join(f"random() AS x{i}" for i in range(FEATURES))}, 0.0::float8 AS y
    FROM generate_series(1, {ROWS}) id;
    UPDATE point SET y = x0 * x1 + sin(5 * x2) + x3 * x4 * x5;
    ALTER TABLE point ADD PRIMARY KEY (id);
    CREATE TABLE model (trees int PRIMARY KEY, model btml.model);
    INSERT INTO model SELECT trees, btml.boost_fit('SELECT {COLUMNS}, y FROM serving_bench.point', 'y', trees => trees)
    FROM unnest(ARRAY[100, 1000]) trees;
    CREATE TABLE scored (LIKE point, score float8);
    CREATE FUNCTION score() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        NEW.score := btml.predict((SELECT model FROM serving_bench.model WHERE trees = 100), NEW);
        RETURN NEW;
    END $$;
    ANALYZE;
"""


def psql(script):
    run = ["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", "postgres"]
    return subprocess.run(run, input=script, capture_output=True, text=True, check=True).stdout


def latency(statement, count):
    """The mean milliseconds of a statement in one session, the connection not counted."""
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        script.write(statement)
        script.flush()
        run = ["pgbench", "-n", "-t", str(count), "-f", script.name, "postgres"]
        out = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    return float(re.search(r"latency average = ([\d.]+) ms", out)[1])


def seconds(action, count):
    start = time.perf_counter()
    for _ in range(count):
        action()
    return (time.perf_counter() - start) / count


def main():
    psql(SETUP)
    for trees in (100, 1000):
        predict = f"""SELECT btml.predict((SELECT model FROM serving_bench.model WHERE trees = {trees}), p)
                      FROM serving_bench.point p WHERE id = 7;"""
        ready = latency(predict, 5000)
        decoded = latency("SET btml.model_cache = 0;\n" + predict, 100)
        without = latency("SELECT x1 FROM serving_bench.point p WHERE id = 7;", 5000)
        print(f"{trees} trees, one row a statement: {ready:.3f} ms with the model ready, {decoded:.3f} ms decoding it, "
              f"{without:.3f} ms for the row alone")
        if lightgbm:
            rows = numpy.random.rand(ROWS, FEATURES)
            target = rows[:, 0] * rows[:, 1] + numpy.sin(5 * rows[:, 2]) + rows[:, 3] * rows[:, 4] * rows[:, 5]
            booster = lightgbm.train(dict(num_threads=1, num_leaves=31, verbose=-1), lightgbm.Dataset(rows, target),
                                     num_boost_round=trees)
            taken = seconds(lambda model=booster, row=rows[:1]: model.predict(row, num_threads=1), 1000)
            print(f"{trees} trees, LightGBM, one row of an array: {1000 * taken:.3f} ms")
    insert = "INSERT INTO serving_bench.scored SELECT * FROM serving_bench.point;"
    plain = latency(insert, 3)
    psql("CREATE TRIGGER score BEFORE INSERT ON serving_bench.scored FOR EACH ROW EXECUTE FUNCTION serving_bench.score()")
    print(f"a trigger that scores with 100 trees: {1000 * (latency(insert, 3) - plain) / ROWS:.1f} microseconds a row")
    psql("DROP SCHEMA serving_bench CASCADE")


if __name__ == "__main__":
    os.environ["PATH"] += ":" + subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True,
                                               check=True).stdout.strip()
    main()
