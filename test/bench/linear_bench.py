"""Linear models in SQL: of a flat table beside scikit-learn, which gets the same rows as arrays, and of a join of many to many.

    python3 -m venv ~/peers && ~/peers/bin/pip install scikit-learn
    ~/peers/bin/python test/bench/linear_bench.py [ROWS [FEATURES]]

Prints seconds of btml.linear_fit, with reading the table, standard errors and p-values, and of scikit-learn's fit alone, which has
neither; and how far coefficients are apart. Of six tables that join to 400 million rows, a fit of 23 features stands beside
the time to count the rows by btml.sumprod. scikit-learn is left out where it is not installed. Talks to a server on this machine
with btml through psql (PGHOST, PGPORT, PGUSER).
"""

import io
import subprocess
import sys
import time

try:
    import numpy
    from sklearn.linear_model import LinearRegression, LogisticRegression
except ImportError:
    numpy = None


def psql(script):
    run = subprocess.run(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", "postgres"], input=script, capture_output=True, text=True,
                         check=True)
    return run.stdout


# By table: how many rows each of 25,000 towns has there, and columns.
TOWN_TABLES = {"house": (20, 6), "shop": (20, 5), "restaurant": (10, 2), "institution": (4, 2), "people": (1, 4), "transport": (1, 4)}


def time_join():
    """Prints seconds to count the join of the towns' tables, and to fit it."""
    for table, (repeats, columns) in TOWN_TABLES.items():
        values = ", ".join(f"(hashint4extended(n, {i}) & 1023) / 64.0::float8 AS {table}{i}" for i in range(1, columns + 1))
        psql(f"DROP TABLE IF EXISTS linear_{table}; CREATE UNLOGGED TABLE linear_{table} AS SELECT n / {repeats} AS town, {values}, "
             f"(hashint4extended(n, 1) & 1023) / 8.0 + (hashint4extended(n, 900) & 1023) / 64.0 AS {table}_price "
             f"FROM generate_series(0, 25000 * {repeats} - 1) n; VACUUM ANALYZE linear_{table}")
    names = [f"{table}{i}" for table, (_, columns) in TOWN_TABLES.items() for i in range(1, columns + 1)]
    tables = " JOIN ".join(f"linear_{table}" + (" USING (town)" if table != "house" else "") for table in TOWN_TABLES)
    print("\n| of the join | seconds | result |\n|---|---|---|")
    for name, call in (("btml.sumprod", f"btml.sumprod('SELECT 1 AS one FROM {tables}')"),
                       ("btml.linear_fit", f"(btml.summary(btml.linear_fit('SELECT {', '.join(names)}, house_price FROM {tables}', "
                        "'house_price'))::jsonb ->> 'strategy')")):
        begin = time.perf_counter()
        found = psql(f"SET client_min_messages = warning; SELECT {call}").strip()
        print(f"| {name} | {time.perf_counter() - begin:.2f} | {found} |", flush=True)
    psql("; ".join(f"DROP TABLE linear_{table}" for table in TOWN_TABLES))


def sklearn_models():
    """Yields names and functions from arrays to coefficients; those of logistic regression converge to the same digits."""
    yield "gaussian", "LinearRegression", lambda x, y, label: LinearRegression().fit(x, y).coef_
    for solver in ("lbfgs", "newton-cholesky"):
        model = LogisticRegression(C=numpy.inf, solver=solver, tol=1e-10, max_iter=1000)
        yield "binomial", f"LogisticRegression, {solver}", lambda x, y, label, model=model: model.fit(x, label).coef_[0]


def main():
    time_join()
    rows, features = (int(argument) for argument in (sys.argv[1:] + ["1000000", "50"][len(sys.argv) - 1:]))
    names = [f"x{i}" for i in range(1, features + 1)]
    columns = ", ".join(f"(hashint4extended(n, {i}) & 1048575) / 262144.0::float8 - 2 AS x{i}" for i in range(1, features + 1))
    score = " + ".join(f"{i % 5 - 2} * x{i} / 10.0" for i in range(1, features + 1))
    psql(f"DROP TABLE IF EXISTS linear_bench; CREATE UNLOGGED TABLE linear_bench AS SELECT *, {score} + "
         "(hashint4extended(n, 900) & 1023) / 256.0 AS y, "
         f"({score} + (hashint4extended(n, 901) & 1023) / 256.0 > 2) AS label FROM (SELECT n, {columns} "
         f"FROM generate_series(1, {rows}) n) s; VACUUM ANALYZE linear_bench")
    source = "SELECT " + ", ".join(names) + ", {} FROM linear_bench"
    print("| family | model | seconds | largest difference |\n|---|---|---|---|")
    estimates = {}
    for family, target in (("gaussian", "y"), ("binomial", "label")):
        begin = time.perf_counter()
        found = psql(f"SELECT estimate FROM btml.coefficients(btml.linear_fit('{source.format(target)}', '{target}'))")
        print(f"| {family} | btml.linear_fit | {time.perf_counter() - begin:.2f} | |", flush=True)
        estimates[family] = [float(line) for line in found.split()][1:]
    if numpy is None:
        return
    query = f"SELECT {', '.join(names)}, y, label::int FROM linear_bench"
    table = numpy.loadtxt(io.StringIO(psql(f"COPY ({query}) TO STDOUT (DELIMITER ' ')")))
    x, y, label = numpy.ascontiguousarray(table[:, :features]), table[:, features], table[:, features + 1]
    for family, name, fit in sklearn_models():
        begin = time.perf_counter()
        found = fit(x, y, label)
        seconds = time.perf_counter() - begin
        print(f"| {family} | {name} | {seconds:.2f} | {numpy.abs(found - estimates[family]).max():.1e} |", flush=True)
    psql("DROP TABLE linear_bench")


if __name__ == "__main__":
    main()
