"""Features of things from the tables around them: btml.relational_features beside features by hand, and featuretools.

    python3 -m venv ~/peers && ~/peers/bin/pip install featuretools lightgbm scikit-learn 'pandas<2.3'
    BTML_BENCH_DATA=DIRECTORY ~/peers/bin/python test/bench/entities_bench.py [TASK]...

A task is one row a prediction: keys, as_of, target. Plans and models are made of the rows before a day, with the last
months of them to stop early by, and scored on the rows from that day on: AUC of labels, RMSE (and MAE) of numbers. The set `energy` is
generated (BTML_BENCH_CUSTOMERS, 5000); `baseball` and `movielens` are folders of BTML_BENCH_DATA. Tasks without their data are
left out, and so are peers that are not installed. Defaults may be tuned on churn, all_star_next and the rows of salary_next before 2007.

Prints for each way the score, the number of features, seconds to choose them, to compute them for all rows of the task and to
fit, and the greatest memory in MB of the process that computes them. `BTML_BENCH_WAYS=default,by hand` chooses among the ways.
`plain SQL` computes the features of the default plan by one GROUP BY a relation, and counts the features that differ.
featuretools has the rows of a fraction of the keys (BTML_BENCH_PEER_KEYS, a tenth), as it is slow, and btml has a line for the same.
Talks to a server on this machine with btml through psql (PGHOST, PGPORT, PGUSER) as a superuser.
"""

import dataclasses
import json
import os
import subprocess
import sys
import time

try:
    import entities_peers
except ImportError:
    entities_peers = None

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.environ.get("BTML_BENCH_DATA", "")
CUSTOMERS = os.environ.get("BTML_BENCH_CUSTOMERS", "5000")
WAYS = os.environ.get("BTML_BENCH_WAYS", "")
PEER_KEYS = float(os.environ.get("BTML_BENCH_PEER_KEYS", "0.1"))
TIMEOUT = os.environ.get("BTML_BENCH_TIMEOUT", "300s")  # of plain SQL


@dataclasses.dataclass
class Task:
    set: str
    keys: tuple
    held: str  # the first day that models are stopped early by
    test: str  # the first day that they are scored on
    objective: str = "binary"
    windows: str = ""  # others worth trying

    @property
    def schema(self):
        return f"entities_{self.set}"


YEARS = "{370 days,1100 days,NULL}"
TASKS = {
    "churn": Task("energy", ("customer_id",), "2023-11-01", "2024-03-01"),
    "all_star_next": Task("baseball", ("player_id",), "2003-01-01", "2007-01-01", windows=YEARS),
    "award_next": Task("baseball", ("player_id",), "2003-01-01", "2007-01-01", windows=YEARS),
    "salary_next": Task("baseball", ("player_id",), "2003-01-01", "2007-01-01", "squared", YEARS),
    "ratings_next": Task("movielens", ("movie_id",), "2006-01-01", "2010-01-01", "squared"),
    "to_rate": Task("movielens", ("user_id", "movie_id"), "2006-01-01", "2010-01-01", "squared"),
}
TREES = dict(trees=2000, early_stopping=50)
# Megabytes that the backend had at most, without the pages it shares with others.
PEAK = ("SELECT (substring(status FROM 'VmHWM:\\s*(\\d+)')::int - substring(status FROM 'RssShmem:\\s*(\\d+)')::int) / 1024 "
        "FROM pg_read_file('/proc/self/status') AS status;")


class Failure(Exception):
    """A statement that PostgreSQL refused, with its message."""


def psql(script, *arguments):
    """Runs a script in one session and returns the lines that it prints."""
    run = subprocess.run(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", "postgres", *arguments],
                         input="SET client_min_messages = error;\n" + script, capture_output=True, text=True, check=False)
    if run.returncode:
        raise Failure(run.stderr.strip())
    return run.stdout.splitlines()


def timed(script):
    """Returns the seconds and the peak memory in MB of a session that runs the script in the schema entities_bench."""
    begin = time.perf_counter()
    lines = psql(f"SET search_path = entities_bench, public;\n{script};\n{PEAK}")
    return time.perf_counter() - begin, int(lines[-1])


def literal(text):
    return "'" + text.replace("'", "''") + "'"


def name(text):
    return '"' + text.replace('"', '""') + '"'


class Bench:
    """One task, over the rows of its source that `where` takes."""

    def __init__(self, label, where="true"):
        self.label = label
        self.task = TASKS[label]
        self.source = f"SELECT * FROM {self.task.schema}.{label} WHERE {where}"
        self.where = where

    def report(self, way, score, features, choosing, computing, fitting, memory):
        cells = ["" if cell is None else f"{cell:.2f}" for cell in (choosing, computing, fitting)]
        print(f"| {self.label} | {way} | {score} | {features} | {' | '.join(cells)} | {memory} |", flush=True)

    def choose(self, options, target=True):
        """Stores a plan; returns the seconds."""
        target = "target => 'target', " if target else ""
        source = literal(f"{self.source} AND as_of < '{self.task.test}'")
        return timed("DROP TABLE IF EXISTS plan; CREATE TABLE plan AS SELECT btml.relational_features("
                     f"{source}, {target}as_of => 'as_of'{options}) AS features")[0]

    def compute(self, query=None):
        """Stores the features of the plan, or of a query; returns the seconds and the peak memory."""
        if query:
            return timed(f"DROP TABLE IF EXISTS features; CREATE TABLE features AS {query}")
        return timed("DROP TABLE IF EXISTS features; SELECT 'CREATE TABLE features AS ' || "
                     f"btml.feature_sql(features, {literal(self.source)}) FROM plan \\gexec\nSELECT 1")

    def columns(self):
        return [line for line in psql("SELECT attname FROM pg_attribute WHERE attrelid = 'entities_bench.features'::regclass "
                                      "AND attnum > 0 ORDER BY attnum") if line not in (*self.task.keys, "as_of", "target")]

    def fit(self, with_keys=False):
        """Fits the stored features; returns the score and the seconds."""
        left_out = "" if with_keys else ", exclude => ARRAY[" + ", ".join(map(literal, (*self.task.keys, "as_of"))) + "]::name[]"
        settings = ", ".join(f"{option} => {value}" for option, value in TREES.items())
        source = f"SELECT *, as_of >= '{self.task.held}' AS held FROM features WHERE as_of < '{self.task.test}'"
        seconds = timed("DROP TABLE IF EXISTS model; CREATE TABLE model AS SELECT btml.boost_fit("
                        f"{literal(source)}, 'target', holdout => 'held', {settings}{left_out}) AS model")[0]
        score = "btml.auc(target, p)" if self.task.objective == "binary" else "btml.rmse(target, p), btml.mae(target, p)"
        line = psql(f"SET search_path = entities_bench, public; SELECT {score} FROM (SELECT features.target, "
                    "btml.predict(model, features) AS p FROM features, model "
                    f"WHERE as_of >= '{self.task.test}' OFFSET 0) AS scored")[0]
        return " ".join(f"{float(part):.4f}" for part in line.split("|")), seconds

    def plan_way(self, way, options="", target=True, with_keys=False):
        try:
            choosing = self.choose(options, target)
            computing, memory = self.compute()
        except Failure as failure:
            print(f"| {self.label} | {way} | {str(failure).splitlines()[0]} |", flush=True)
            return
        score, fitting = self.fit(with_keys)
        self.report(way, score, len(self.columns()), choosing, computing, fitting, memory)

    def by_hand(self, way):
        computing, memory = self.compute(f"SELECT * FROM {self.task.schema}.{self.label}_by_hand WHERE {self.where}")
        score, fitting = self.fit()
        self.report(way, score, len(self.columns()), None, computing, fitting, memory)

    def plain_sql(self, way):
        """Computes the default plan's features without btml, and compares their values."""
        self.choose("")
        computing, memory = self.compute()
        plan = json.loads(psql("SELECT features FROM entities_bench.plan")[0])
        plain = PlainSql(plan, self.source)
        try:
            seconds, plain_memory = timed(f"SET statement_timeout = '{TIMEOUT}'; DROP TABLE IF EXISTS plain; "
                                          f"CREATE TABLE plain AS {plain.select()}")
        except Failure as failure:
            print(f"| {self.label} | {way} | {str(failure).splitlines()[0]}, btml {computing:.2f} s |", flush=True)
            return
        keys = ", ".join((*self.task.keys, "as_of"))
        compared = [feature for feature in plan["features"] if not plain.leans_on_order(feature)]
        different = [f"count(*) FILTER (WHERE {differs(feature)})" for feature in compared]
        counts = psql("SET search_path = entities_bench; SELECT unnest(ARRAY[" + ", ".join(different) +
                      f"]) FROM features AS a JOIN plain AS b USING ({keys})")
        wrong = [f"{feature['name']} {count}" for feature, count in zip(compared, counts) if count != "0"]
        print(f"| {self.label} | {way} | {len(plan['features'])} features, {seconds:.2f} s, {plain_memory} MB; btml {computing:.2f} s, "
              f"{memory} MB; {seconds / computing:.1f} times | of {len(compared)} compared {', '.join(wrong) or 'none'} differ |",
              flush=True)

    def beside_peers(self):
        """featuretools and LightGBM, and the default plan over the same rows."""
        if not entities_peers:
            return
        few = Bench(self.label, f"hashtext({self.task.keys[0]}::text) & 1023 < {PEER_KEYS * 1024}")
        few.plan_way(f"default, {PEER_KEYS:g} of the keys")
        score, features, computing, fitting, memory = entities_peers.run(few, psql)
        few.report(f"featuretools and LightGBM, {PEER_KEYS:g} of the keys", score, features, None, computing, fitting, memory)

    def run(self):
        ways = {"default": self.plan_way,
                "default, keys and as_of too": lambda way: self.plan_way(way, with_keys=True),
                **{f"max_features {most}": lambda way, most=most: self.plan_way(way, f", max_features => {most}")
                   for most in (25, 50, 100, 400)},
                "all candidates": lambda way: self.plan_way(way, target=False),
                "by hand": self.by_hand,
                "plain SQL": self.plain_sql,
                "peers": lambda way: self.beside_peers()}
        if self.task.windows:
            ways[f"windows {self.task.windows}"] = lambda way: self.plan_way(way, f", windows => '{self.task.windows}'")
        for way, run in ways.items():
            if not WAYS or way in WAYS.split(","):
                run(way)


def differs(feature):
    a, b = (f"{side}.{name(feature['name'])}" for side in "ab")
    if feature.get("type") == "text" and feature["aggregate"] in ("value", "last"):
        return f"{a}::text IS DISTINCT FROM {b}::text"
    return f"({a} IS NULL) <> ({b} IS NULL) OR abs({a} - {b}) > 1e-6 * (1 + abs({a}) + abs({b}))"


class PlainSql:
    """The features of a plan as somebody writes them without windows: a join of predictions and rows, and FILTERs."""

    def __init__(self, plan, source):
        self.plan, self.source = plan, source
        self.relations = {relation["name"]: relation for relation in plan["relations"]}
        self.before = "<=" if plan["inclusive"] else "<"
        self.as_of = f"p.{name(plan['as_of'])}"

    def leans_on_order(self, feature):
        """Whether the order of rows of one time may decide, which is not that of plain SQL."""
        by_last, relation = False, feature["relation"]
        while relation:
            by_last |= self.relations[relation]["last"]
            relation = self.relations[relation]["of"]
        return by_last or feature["aggregate"] in ("last", "previous", "change", "growth")

    def rows_of(self, relation):
        """The relation with many rows that it is, or is joined to; None: the source."""
        while relation and self.relations[relation]["unique"]:
            relation = self.relations[relation]["of"]
        return relation

    def chain(self, relation):
        """The relations with many rows from the first one to this one."""
        chain = [relation]
        while (of := self.relations[chain[0]]["of"]) and not self.relations[chain[0]]["last"] and not self.is_of_source(of):
            chain.insert(0, of)
        return chain

    def is_of_source(self, relation):
        return relation is None or self.rows_of(relation) is None

    def uniques(self, relations, rows):
        """The relations that are joined to `rows`, in order."""
        needed = []
        for relation in relations:
            path = []
            while relation and relation != rows:
                path.insert(0, relation)
                relation = self.relations[relation]["of"]
            needed += [step for step in path if step not in needed]
        return needed

    def key(self, relation):
        of = self.relations[relation]["of"]
        return " AND ".join(f"{name(relation)}.{name(column)} = {name(of) if of else 'p'}.{name(of_column)}"
                            for column, of_column in self.relations[relation]["key"].items())

    def table(self, relation):
        found = self.relations[relation]
        table = f"{name(found['schema'])}.{name(found['table'])}"
        relative = {f["column"] for f in self.plan["features"] if f["relation"] == relation and f.get("relative")}
        means = "".join(f", avg({name(column)}) OVER (PARTITION BY {name(found['time'])}) AS {name('mean ' + column)}"
                        for column in sorted(relative))
        return f"{f'(SELECT *{means} FROM {table})' if means else table} AS {name(relation)}"

    def time(self, relation):
        found = self.relations[relation]
        return f"{name(relation)}.{name(found['time'])}::timestamp" if found["time"] else None

    def time_of_rows(self, rows):
        times = [time for time in map(self.time, self.chain(rows)) if time]
        return f"greatest({', '.join(times)})" if times else None

    def known(self, relation, rows, value):
        """The value of a joined row that was there before the row it is joined to, or before the prediction."""
        conditions = []
        border, before = (self.time_of_rows(rows), "<=") if rows else (self.as_of, self.before)
        while relation != rows:
            if self.time(relation):
                conditions.append(f"{self.time(relation)} {before} {border}")
            relation = self.relations[relation]["of"]
        return f"CASE WHEN {' AND '.join(conditions)} THEN {value} END" if conditions else value

    def column(self, feature):
        column, total = (f"{name(feature['relation'])}.{name(feature.get(which) or '')}" for which in ("column", "total"))
        if feature.get("relative"):
            return f"{column} / nullif({name(feature['relation'])}.{name('mean ' + feature['column'])}, 0)"
        share = f"CASE WHEN {column} BETWEEN 0 AND {total} THEN {column}::float8 / nullif({total}, 0) END"
        return share if "total" in feature else column

    def aggregate(self, feature, rows):
        at, relation = self.time_of_rows(rows), feature["relation"]
        of_row = f"{name(rows)}.{name(next(iter(self.relations[rows]['key'])))}"
        conditions = [f"{of_row} IS NOT NULL"]
        if feature["window"]:
            conditions.append(f"{at} >= {self.as_of} - interval {literal(feature['window'])}")
        x = self.known(relation, rows, self.column(feature)) if feature["column"] else "1"
        if feature["aggregate"] == "matches" and feature.get("type") == "boolean":
            x = f"(({x}) = {feature['value']})::int"
        elif feature.get("type") == "text":
            x = f"({x})::text"
        elif feature.get("type") == "boolean":
            x = f"({x})::int"
        if feature["aggregate"] in ("share", "matches") and feature.get("type") == "text":
            x = f"({x} = {literal(feature['value'])})::int"
        if feature["column"]:
            conditions.append(f"({x}) IS NOT NULL")
        chosen = f" FILTER (WHERE {' AND '.join(conditions)})"
        days = f"extract(epoch FROM {at})::float8 / 86400"
        before = "NULL"  # what the window begins with
        if feature["window"]:
            earlier = chosen.replace(f"{at} >= ", f"{at} < ")
            before = f"(array_agg({x} ORDER BY {at} DESC){earlier})[1]"

        def place(number, order="DESC"):
            return f"(array_agg({x} ORDER BY {at} {order}){chosen})[{number}]"
        count, now = f"(count(*){chosen})", f"extract(epoch FROM {self.as_of})::float8 / 86400"
        functions = {"mean": "avg", "share": "avg", "sum": "sum", "min": "min", "max": "max", "sd": "stddev_samp"}
        if feature["aggregate"] in functions:
            return f"({functions[feature['aggregate']]}({x}){chosen})::float8"
        return {"count": count, "distinct": f"(count(DISTINCT {x}){chosen})", "since_first": f"{now} - min({days}){chosen}",
                "since_last": f"{now} - max({days}){chosen}", "last": place(1), "previous": place(2),
                "mean_gap": f"(max({days}){chosen} - min({days}){chosen}) / nullif({count} - 1, 0)",
                "slope": f"86400 * regr_slope(({x})::float8, extract(epoch FROM {at} - {self.as_of})::float8){chosen}",
                "change": f"{place(1)} - coalesce({before}, {place(1, 'ASC')})",
                "growth": f"{place(1)}::float8 / nullif(coalesce({before}, {place(1, 'ASC')}), 0)",
                "matches": f"coalesce(sum({x}){chosen}, 0)"}[feature["aggregate"]]

    def last_key(self, first):
        """A join that has the last values of the key that rows go by."""
        of = self.relations[first]["of"]
        rows = self.rows_of(of)
        columns = [f"{self.known(of, rows, f'{name(of)}.{name(column)}')} AS {name(column)}"
                   for column in self.relations[first]["key"].values()]
        present = "".join(f" AND {name(column)} IS NOT NULL" for column in self.relations[first]["key"].values())
        at = self.time_of_rows(rows)
        of_prediction = f"SELECT {', '.join(columns)}, {at} AS btml_at FROM {self.rows_join(rows, [of])}"
        return (f" LEFT JOIN LATERAL (SELECT * FROM ({of_prediction}) AS rows "
                f"WHERE btml_at {self.before} {self.as_of}{present} ORDER BY btml_at DESC LIMIT 1) AS {name(of)} ON true")

    def rows_join(self, rows, joined):
        """A FROM clause, with a WHERE clause, of the rows that belong to the prediction p."""
        chain = self.chain(rows)
        parts = [self.table(chain[0])]
        parts += [f"JOIN {self.table(step)} ON {self.key(step)}" for step in chain[1:]]
        parts += [f"LEFT JOIN {self.table(step)} ON {self.key(step)}" for step in self.uniques(joined, rows)]
        return f"{' '.join(parts)} WHERE {self.key(chain[0])}"

    def grouped(self, rows):
        features = [f for f in self.plan["features"] if self.rows_of(f["relation"]) == rows]
        chain = self.chain(rows)
        first = self.relations[chain[0]]
        before_it = self.last_key(chain[0]) if first["last"] else "".join(
            f" LEFT JOIN {self.table(step)} ON {self.key(step)}" for step in self.uniques([first["of"]], None))
        joins = "".join(f" JOIN {self.table(step)} ON {self.key(step)}" for step in chain[1:])
        joins += "".join(f" LEFT JOIN {self.table(step)} ON {self.key(step)}"
                         for step in self.uniques([f["relation"] for f in features], rows))
        inner = f"({self.table(chain[0])}{joins})" if joins else self.table(chain[0])
        at = self.time_of_rows(rows)
        border = f" AND {at} {self.before} {self.as_of}" if at else ""
        columns = ", ".join(f"{self.aggregate(f, rows)} AS {name(f['name'])}" for f in features)
        return (f"(SELECT p.btml_row, {columns} FROM prediction AS p{before_it} LEFT JOIN {inner} "
                f"ON {self.key(chain[0])}{border} GROUP BY p.btml_row, {self.as_of})")

    def value(self, feature):
        column = value = self.column(feature)
        if feature["aggregate"] == "years_since":
            value = f"extract(year FROM {self.as_of}) - {column}"
        elif feature["type"] == "time":
            value = (f"CASE WHEN {column}::timestamp {self.before} {self.as_of} "
                     f"THEN extract(epoch FROM {self.as_of} - {column}::timestamp)::float8 / 86400 END")
        elif feature["type"] == "boolean":
            value += "::int"
        return f"{self.known(feature['relation'], None, value)} AS {name(feature['name'])}"

    def select(self):
        direct = [f for f in self.plan["features"] if self.rows_of(f["relation"]) is None]
        many = [relation for relation in self.relations if any(self.rows_of(f["relation"]) == relation for f in self.plan["features"])]
        joins = "".join(f" LEFT JOIN {self.table(step)} ON {self.key(step)}"
                        for step in self.uniques([f["relation"] for f in direct], None))
        joins += "".join(f" JOIN {self.grouped(rows)} AS {name('of ' + rows)} USING (btml_row)" for rows in many)
        columns = ["p.*", *map(self.value, direct), *(name(f["name"]) for f in self.plan["features"] if f not in direct)]
        as_of = name(self.plan["as_of"])
        return (f"WITH prediction AS MATERIALIZED (SELECT row_number() OVER () AS btml_row, source.*, "
                f"{as_of}::timestamp AS btml_as_of FROM ({self.source}) AS source) SELECT {', '.join(columns)} "
                f"FROM prediction AS p{joins}").replace(self.as_of, "p.btml_as_of")


def main():
    psql("CREATE SCHEMA IF NOT EXISTS entities_bench")
    print("| task | way | score | features | choosing | computing | fitting | MB |\n|---|---|---|---|---|---|---|---|")
    for label in sys.argv[1:] or TASKS:
        folder = os.path.join(DATA, TASKS[label].set)
        if TASKS[label].set != "energy" and not (DATA and os.path.isdir(folder)):
            continue
        psql(f"\\set set {TASKS[label].set}\n\\set customers {CUSTOMERS}\n\\set folder {literal(folder)}\n\\o /dev/null\n"
             f"\\i {HERE}/entities_bench.sql")
        Bench(label).run()


if __name__ == "__main__":
    main()
