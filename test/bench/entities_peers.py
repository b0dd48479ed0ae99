"""featuretools and LightGBM on the tables and rows of a task of entities_bench.py."""

import io
import resource
import time
import warnings

import featuretools
import lightgbm
import numpy
import pandas
from sklearn.metrics import mean_absolute_error, roc_auc_score

warnings.filterwarnings("ignore")
WINDOWS = ("30 days", "90 days", "365 days", None)
AGGREGATES = ["count", "mean", "sum", "min", "max", "std", "trend", "last", "num_unique", "mode", "percent_true", "time_since_last"]
SETTINGS = dict(learning_rate=0.1, num_leaves=31, max_bin=255, min_data_in_leaf=20, lambda_l2=0, num_threads=2, verbose=-1)
FOREIGN_KEYS = """SELECT c.conrelid::regclass::text, c.confrelid::regclass::text,
    (SELECT string_agg(attname, ',' ORDER BY place) FROM unnest(conkey) WITH ORDINALITY AS k(n, place) JOIN pg_attribute
        ON attrelid = conrelid AND attnum = n),
    (SELECT string_agg(attname, ',' ORDER BY place) FROM unnest(confkey) WITH ORDINALITY AS k(n, place) JOIN pg_attribute
        ON attrelid = confrelid AND attnum = n)
FROM pg_constraint c WHERE contype = 'f' AND connamespace = '{schema}'::regnamespace ORDER BY conname"""


def read(psql, query, dates=()):
    lines = psql(f"COPY ({query}) TO STDOUT (FORMAT csv, HEADER)")
    return pandas.read_csv(io.StringIO("\n".join(lines)), parse_dates=list(dates))


class Tables:
    """The tables of a schema but the tasks', as an EntitySet, and the foreign keys of the task."""

    def __init__(self, psql, schema):
        self.psql, self.schema = psql, schema
        self.set = featuretools.EntitySet(schema)
        self.frames, self.keys, self.task_keys = {}, [], {}
        types = [line.split("|") for line in psql(
            f"SELECT relname, attname, atttypid::regtype FROM pg_attribute JOIN pg_class c ON c.oid = attrelid WHERE attnum > 0 "
            f"AND NOT attisdropped AND relkind = 'r' AND relnamespace = '{schema}'::regnamespace ORDER BY relname, attnum")]
        self.tasks = {table for table, column, _ in types if column == "as_of"}
        self.times = {table: column for table, column, kind in types if kind == "date" or kind.startswith("timestamp")}
        for table in dict.fromkeys(table for table, _, _ in types if table not in self.tasks):
            self.frames[table] = read(psql, f'SELECT * FROM {schema}."{table}"', [self.times[table]] if table in self.times else [])
            for _, column, _ in (row for row in types if row[0] == table and row[2] == "boolean"):
                self.frames[table][column] = self.frames[table][column].map({"t": True, "f": False}).astype("boolean")
        self.read_keys()
        self.add_frames()

    def read_keys(self):
        """Several columns of a key become one, as featuretools knows no others."""
        for line in self.psql(f"SET search_path = {self.schema};" + FOREIGN_KEYS.format(schema=self.schema)):
            table, parent, columns, parent_columns = line.replace('"', "").split("|")
            if table in self.tasks:
                self.task_keys[columns] = (parent, parent_columns)
                continue
            for side, names in ((table, columns), (parent, parent_columns)):
                if "," in names:
                    frame = self.frames[side]
                    frame[names] = frame[names.split(",")].astype(str).agg("/".join, axis=1)
            self.keys.append((parent, parent_columns, table, columns))

    def add_frames(self):
        indexes = {parent: columns for parent, columns, _, _ in self.keys} | dict(self.task_keys.values())
        for table, frame in self.frames.items():
            index = indexes.get(table, f"{table}_row")
            if table not in indexes:
                frame.insert(0, index, range(len(frame)))
            self.set.add_dataframe(frame, table, index=index, time_index=self.times.get(table))
        for key in self.keys:
            self.set.add_relationship(*key)


def features_of(tables, task, rows):
    """Returns the rows with their features, windows side by side."""
    keys = list(task.keys)
    if len(keys) == 1:
        target, index = tables.task_keys[keys[0]]
    else:
        target, index = "prediction", "prediction_row"
        tables.set.add_dataframe(rows[[index, *keys, "as_of"]], target, index=index, time_index="as_of")
        for key in keys:
            tables.set.add_relationship(*tables.task_keys[key], target, key)
    cutoffs = pandas.DataFrame({index: rows[index if len(keys) > 1 else keys[0]], "time": rows["as_of"],
                                "prediction_row": rows["prediction_row"]})
    if len(keys) > 1:
        cutoffs = cutoffs.loc[:, ~cutoffs.columns.duplicated()].assign(copied_row=rows["prediction_row"])
    row = cutoffs.columns[-1]
    matrix = None
    for window in WINDOWS:
        part, _ = featuretools.dfs(entityset=tables.set, target_dataframe_name=target, cutoff_time=cutoffs, agg_primitives=AGGREGATES,
                                   trans_primitives=[], max_depth=2, training_window=window, include_cutoff_time=False, verbose=False)
        part = part.set_index(row).add_suffix(f" {window}")
        matrix = part if matrix is None else matrix.join(part)
    return rows.set_index("prediction_row").join(matrix)


def prepared(frame):
    """Numbers, and categories of what has up to 255 values."""
    columns = {}
    for column, values in frame.items():
        if isinstance(values.dtype, pandas.CategoricalDtype) or values.dtype == object or pandas.api.types.is_string_dtype(values):
            if values.nunique() <= 255:
                columns[column] = values.astype("category")
        elif not pandas.api.types.is_datetime64_any_dtype(values):
            columns[column] = values.astype("float64")
    return pandas.DataFrame(columns)


def fit(task, table, columns):
    """Returns the score of LightGBM, stopped early by the rows from the day `held` on."""
    x = prepared(table[columns])
    x.columns = [f"f{i}" for i in range(x.shape[1])]
    y, at = table["target"].astype(float), table["as_of"]
    trained, held, scored = at < task.held, (at >= task.held) & (at < task.test), at >= task.test
    binary = task.objective == "binary"
    train = lightgbm.Dataset(x[trained], y[trained])
    model = lightgbm.train({**SETTINGS, "objective": "binary" if binary else "regression"}, train, 2000,
                           [lightgbm.Dataset(x[held], y[held], reference=train)],
                           callbacks=[lightgbm.early_stopping(50, verbose=False)])
    predicted = model.predict(x[scored])
    if binary:
        return f"{roc_auc_score(y[scored], predicted):.4f}"
    return f"{numpy.sqrt(numpy.mean((y[scored] - predicted) ** 2)):.4f} {mean_absolute_error(y[scored], predicted):.4f}"


def run(bench, psql):
    """Returns the score, the number of features, the seconds of features and of the fit, and the peak memory in MB."""
    target = "target::int AS target" if bench.task.objective == "binary" else "target"
    keys = ", ".join(bench.task.keys)
    begin = time.perf_counter()
    tables = Tables(psql, bench.task.schema)
    rows = read(psql, f"SELECT row_number() OVER (ORDER BY as_of, {keys}) AS prediction_row, {keys}, as_of, {target} "
                      f"FROM ({bench.source}) AS source", ["as_of"])
    table = features_of(tables, bench.task, rows)
    computing = time.perf_counter() - begin
    columns = [column for column in table.columns if column not in (*bench.task.keys, "as_of", "target")]
    begin = time.perf_counter()
    score = fit(bench.task, table, columns)
    return score, len(columns), computing, time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
