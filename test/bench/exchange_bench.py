"""Models that travel: btml.from_lightgbm, btml.from_xgboost and btml.to_lightgbm beside the libraries themselves, and
btml.to_sql in SQLite and DuckDB. A differential test over random models, which ends with an error where a promise of
contrib_docs/exchange.md does not hold.

Talks to a server on this machine through psycopg (PGHOST, PGPORT, PGUSER; database postgres). BTML_BENCH_MODELS (40)
models of each kind, from seed BTML_BENCH_SEED (1). Needs LightGBM, XGBoost, pandas, DuckDB and psycopg.
"""

import json
import os
import sqlite3
import sys

import duckdb
import lightgbm as lgb
import numpy as np
import pandas as pd
import psycopg
import xgboost as xgb

MODELS = int(os.environ.get("BTML_BENCH_MODELS", "40"))
SEED = int(os.environ.get("BTML_BENCH_SEED", "1"))
ROWS, POINTS = 400, 150
LETTERS = [f"it's \"{c}\"" for c in "abcdefghijkl"]

worst = {}  # by what was compared: the largest difference, in units of its bound
counts = {}


def note(what, value, bound, detail=""):
    counts[what] = counts.get(what, 0) + 1
    worst[what] = max(worst.get(what, 0), value)
    if not value <= bound:
        sys.exit(f"{what}: {value} is more than {bound} {detail}")


def same_bits(what, a, b, detail=""):
    a, b = np.asarray(a, float).ravel(), np.asarray(b, float).ravel()
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    if not same.all():
        i = np.flatnonzero(~same)
        print(i[:10], a[i][:10], b[i][:10])
    note(what, (~same).sum(), 0, detail)


def ulps(what, a, b, kind, bound=4, detail=""):
    a, b = np.asarray(a, kind).ravel(), np.asarray(b, float).ravel()
    beyond = np.isinf(a)  # of the library's type; ours may hold it
    a, b = np.where(beyond & (b > np.finfo(kind).max), 1, a), np.where(beyond & (b > np.finfo(kind).max), 1, b)
    note(what, (np.abs(a.astype(float) - b) / np.spacing(np.abs(a)).astype(float)).max(), bound, detail)


class Server:
    def __init__(self):
        self.connection = psycopg.connect(dbname="postgres", autocommit=True)
        self.connection.execute("SET client_min_messages = warning; SET jit = off; CREATE EXTENSION IF NOT EXISTS btml")
        self.connection.execute("CREATE TEMP TABLE trained (model btml.model)")

    def value(self, query, *arguments):
        return self.connection.execute(query, arguments).fetchone()[0]

    def column(self, query, *arguments):
        return [row[0] for row in self.connection.execute(query, arguments).fetchall()]

    def keep(self, query, *arguments):
        self.connection.execute("TRUNCATE trained")
        self.connection.execute(f"INSERT INTO trained SELECT {query}", arguments)

    def fill(self, name, frame):
        def kind(column):
            if isinstance(column.dtype, pd.CategoricalDtype):
                return "bigint" if column.cat.categories.dtype.kind == "i" else "text"
            return "boolean" if column.dtype == bool else "bigint" if column.dtype.kind == "i" else "float8"

        columns = ", ".join(f'"{c}" {kind(frame[c])}' for c in frame)
        self.connection.execute(f"DROP TABLE IF EXISTS {name}; CREATE TEMP TABLE {name} (row_number int, {columns})")
        with self.connection.cursor().copy(f"COPY {name} FROM STDIN") as copy:
            for i, row in enumerate(frame.itertuples(index=False)):
                copy.write_row([i] + [None if pd.isna(x) else x.item() if hasattr(x, "item") else x for x in row])

    def of_rows(self, expression, name="points"):
        """The expression for every row p, in order, with the model as m."""
        return self.column(f"SELECT {expression} FROM trained t(m), {name} p ORDER BY p.row_number")


def random_frame(random, rows, categorical=True):
    frame = {}
    for i in range(random.integers(2, 6)):
        kind = random.integers(0, 4)
        x = random.normal(size=rows) * 10.0 ** random.integers(-3, 4)
        if kind == 0:
            x = np.round(x * 4)
        if kind == 1:
            x[random.random(rows) < 0.3] = 0
        if random.random() < 0.6:
            x[random.random(rows) < 0.2] = np.nan
        frame[f"x{i}"] = x
    frame["n"] = random.integers(0, 9, rows)
    if categorical:
        names = list(random.permutation(LETTERS))
        frame["c"] = pd.Categorical(random.choice(names, rows), categories=names)
        codes = [int(i) for i in random.permutation(40)]
        frame["k"] = pd.Categorical(random.choice(codes, rows), categories=codes)
        frame["only"] = pd.Categorical(["one"] * rows)
    frame = pd.DataFrame(frame)
    if categorical and random.random() < 0.5:
        frame.loc[random.random(rows) < 0.15, "c"] = np.nan
    return frame


def points_of(random, frame):
    """Rows like those of training, and stranger ones."""
    points = frame.sample(POINTS, random_state=int(random.integers(1 << 30))).reset_index(drop=True)
    for name in points:
        if points[name].dtype.kind == "f":
            odd = [0.0, -0.0, 1e-36, -1e-36, 1e-35, 2e-35, 1e30, -1e30, np.nan]
            where = random.random(POINTS) < 0.15
            points.loc[where, name] = random.choice(odd, where.sum())
        elif isinstance(points[name].dtype, pd.CategoricalDtype):
            points.loc[random.random(POINTS) < 0.1, name] = np.nan
    return points


def target_of(random, frame, kind):
    score = sum(np.nan_to_num(np.asarray(frame[c], float)) / (1 + np.nanstd(np.asarray(frame[c], float)))
                for c in frame if frame[c].dtype.kind in "fi")
    if "c" in frame:
        score = score + (frame["c"].cat.codes % 3) * 1.5 + (frame["k"].cat.codes % 4 == 1)
    score = np.asarray(score + random.normal(size=len(frame)))
    score = (score - score.mean()) / score.std()
    if kind == "binary":
        return (score > 0.3).astype(float)
    if kind == "share":
        return 1 / (1 + np.exp(-score))
    if kind == "class":
        return np.digitize(score, [-0.5, 0.5]).astype(float)
    if kind == "positive":
        return np.exp(score / 2)
    if kind == "grade":
        return np.clip(np.round(score + 2), 0, 4)
    return score


LIGHTGBM = [
    ("number", dict(objective="regression")), ("number", dict(objective="regression_l1")),
    ("number", dict(objective="huber")), ("number", dict(objective="fair")), ("number", dict(objective="mape")),
    ("number", dict(objective="quantile", alpha=0.8)), ("positive", dict(objective="poisson")),
    ("positive", dict(objective="gamma")), ("positive", dict(objective="tweedie")),
    ("number", dict(objective="regression", reg_sqrt=True)), ("binary", dict(objective="binary")),
    ("binary", dict(objective="binary", sigmoid=0.37)), ("share", dict(objective="cross_entropy")),
    ("share", dict(objective="cross_entropy_lambda")), ("class", dict(objective="multiclass", num_class=3)),
    ("class", dict(objective="multiclassova", num_class=3, sigmoid=1.7)), ("grade", dict(objective="lambdarank")),
    ("grade", dict(objective="rank_xendcg")),
    ("number", dict(objective="regression", boosting="rf", bagging_freq=1, bagging_fraction=0.6)),
    ("class", dict(objective="multiclass", num_class=3, boosting="rf", bagging_freq=1, bagging_fraction=0.6)),
    ("number", dict(objective="regression", boosting="dart")), ("number", dict(objective="custom")),
]


def train_lightgbm(random, number):
    kind, parameters = LIGHTGBM[number % len(LIGHTGBM)]
    frame = random_frame(random, ROWS)
    y = target_of(random, frame, kind)
    parameters = dict(parameters, verbose=-1, num_threads=1, num_leaves=int(random.integers(2, 40)), min_data_in_leaf=5,
                      min_data_per_group=1, cat_smooth=1, cat_l2=1, max_cat_to_onehot=int(random.integers(1, 8)),
                      zero_as_missing=bool(random.random() < 0.3), use_missing=bool(random.random() < 0.8),
                      seed=int(random.integers(1 << 20)))
    if parameters["objective"] == "custom":
        parameters["objective"] = lambda p, d: (p - d.get_label(), np.ones_like(p))
    data = lgb.Dataset(frame, y, group=[ROWS // 20] * 20 if kind == "grade" else None)
    trees = int(random.integers(1, 30))
    if random.random() < 0.2 and kind == "number":
        noise = lgb.Dataset(frame, random.normal(size=ROWS), reference=data)
        model = lgb.train(parameters | {"metric": "l2"}, data, trees, valid_sets=[noise],
                          callbacks=[lgb.early_stopping(3, verbose=False)])
    else:
        model = lgb.train(parameters, data, trees)
    return model, frame, f"LightGBM {number}: {parameters}"


def check_lightgbm(server, number):
    random = np.random.default_rng([SEED, 1, number])
    model, frame, detail = train_lightgbm(random, number)
    points = points_of(random, frame)
    text = model.model_to_string()
    server.keep("btml.from_lightgbm(%s)", text)
    server.fill("points", points)
    # Of a random forest LightGBM's raw scores and contributions are sums, of which predictions are made as means.
    trees_of_mean = model.current_iteration() if "\naverage_output\n" in text else 1
    raw = model.predict(points, raw_score=True) / trees_of_mean
    same_bits("LightGBM: raw scores", server.of_rows("btml.predict_scores(m, p)"), raw, detail)
    scores = model.num_model_per_iteration()
    expected = model.predict(points)
    if scores > 1:
        links = server.of_rows("btml.predict_probabilities(m, p)")
    else:
        links = server.of_rows("btml.predict(m, p)")
    ulps("LightGBM: predictions (ulp)", expected, links, np.float64, detail=detail)
    shap = np.array(server.of_rows("btml.shap(m, p)"))
    contributions = model.predict(points, pred_contrib=True) / trees_of_mean
    scale = np.abs(contributions).max(axis=1, keepdims=True) + 1e-300
    note("LightGBM: contributions (of the largest)", (np.abs(shap - contributions) / scale).max(), 1e-9, detail)
    importance = dict(server.connection.execute(
        "SELECT feature, splits FROM trained, btml.feature_importance(model)").fetchall())
    same_bits("LightGBM: splits by feature", [importance[n] for n in model.feature_name()],
              model.feature_importance("split", iteration=None), detail)
    check_sql(server, f"LightGBM {number}", points, detail)
    # There and back again.
    if not (number % len(LIGHTGBM) == len(LIGHTGBM) - 1):
        again = lgb.Booster(model_str=server.value("SELECT btml.to_lightgbm(model) FROM trained"))
        same_bits("LightGBM: from, to, and read by it", again.predict(points, raw_score=True) / trees_of_mean, raw, detail)


def check_sql(server, name, points, detail):
    """The SQL of a model gives the scores, too."""
    query = server.value("SELECT btml.to_sql(model) FROM trained")
    predicted = server.of_rows(query)
    of_model = server.of_rows("CASE WHEN btml.summary(m)->'params'->>'objective' = 'multiclass' THEN "
                              "btml.predict_probabilities(m, p) ELSE ARRAY[btml.predict(m, p)] END")
    a, b = np.array(predicted, float).ravel(), np.array(of_model, float).ravel()
    ulps("to_sql in PostgreSQL (ulp)", b, a, np.float64, 4, f"{name} {detail}")


def check_ansi(server, name, points, detail, tolerance=1e-15):
    """The standard's dialect in SQLite and DuckDB; NaN is NULL there. SQLite reads and adds numbers as it likes."""
    labels = server.value("SELECT btml.summary(model)->'labels' FROM trained")
    several = server.value("SELECT btml.summary(model)->'params'->>'objective' = 'multiclass' FROM trained")
    label = labels[1] if several else None
    query = server.value("SELECT btml.to_sql(model, 'ansi', %s) FROM trained", label)
    if several:
        expected = server.column("SELECT btml.predict_probability(m, p, %s) FROM trained t(m), points p ORDER BY p.row_number", label)
    else:
        expected = server.of_rows("btml.predict(m, p)")
    plain = points.copy()
    for c in plain:
        if isinstance(plain[c].dtype, pd.CategoricalDtype):
            plain[c] = plain[c].astype(object).where(plain[c].notna(), None)
    duck = duckdb.connect()
    duck.register("frame", plain)
    duck.execute("CREATE TABLE points AS SELECT * FROM frame")
    for c in plain:
        if plain[c].dtype.kind == "f":
            duck.execute(f'UPDATE points SET "{c}" = NULL WHERE isnan("{c}")')
    found = [row[0] for row in duck.execute(f"SELECT {query} FROM points ORDER BY rowid").fetchall()]
    scale = np.abs(np.array(expected, float)) + 1e-300
    note("to_sql 'ansi' in DuckDB (relative)", (np.abs(np.array(found, float) - expected) / scale).max(), tolerance, f"{name} {detail}")
    lite = sqlite3.connect(":memory:")
    plain.to_sql("points", lite, index=False)
    try:
        found = [row[0] for row in lite.execute(f"SELECT {query} FROM points ORDER BY rowid").fetchall()]
    except sqlite3.OperationalError as error:  # of versions before 3.46, for deep trees
        if "parser stack overflow" not in str(error):
            raise
        counts["too deep for this SQLite"] = counts.get("too deep for this SQLite", 0) + 1
        return
    note("to_sql 'ansi' in SQLite (relative)", (np.abs(np.array(found, float) - expected) / scale).max(), 1e-12, f"{name} {detail}")


XGBOOST = [
    ("number", dict(objective="reg:squarederror")), ("number", dict(objective="reg:absoluteerror")),
    ("number", dict(objective="reg:pseudohubererror")), ("number", dict(objective="reg:quantileerror", quantile_alpha=0.7)),
    ("share", dict(objective="reg:logistic")), ("binary", dict(objective="binary:logistic")),
    ("binary", dict(objective="binary:logistic", base_score=0.13)), ("binary", dict(objective="binary:logitraw")),
    ("positive", dict(objective="count:poisson")), ("positive", dict(objective="reg:gamma")),
    ("positive", dict(objective="reg:tweedie")), ("positive", dict(objective="survival:cox")),
    ("class", dict(objective="multi:softprob", num_class=3)), ("class", dict(objective="multi:softmax", num_class=3)),
    ("grade", dict(objective="rank:ndcg")), ("grade", dict(objective="rank:pairwise")),
]


def train_xgboost(random, number):
    kind, parameters = XGBOOST[number % len(XGBOOST)]
    frame = random_frame(random, ROWS, categorical=bool(random.random() < 0.8))
    if random.random() < 0.5:
        frame["flag"] = random.random(ROWS) < 0.5
    y = target_of(random, frame, kind)
    parameters = dict(parameters, nthread=1, max_depth=int(random.integers(1, 7)), seed=int(random.integers(1 << 20)),
                      max_cat_to_onehot=int(random.integers(1, 20)), learning_rate=float(random.random()), gamma=float(random.random() < 0.3))
    if random.random() < 0.3:
        parameters |= dict(booster="dart", rate_drop=0.3)
    if random.random() < 0.3:
        parameters |= dict(num_parallel_tree=3, subsample=0.6)
    data = xgb.DMatrix(frame, y, enable_categorical=True, qid=np.arange(ROWS) // 20 if kind == "grade" else None)
    if random.random() < 0.3 and kind == "number":
        noise = xgb.DMatrix(frame, random.normal(size=ROWS), enable_categorical=True)
        return xgb.train(parameters | {"eval_metric": "rmse"}, data, 30, evals=[(noise, "noise")], early_stopping_rounds=3,
                         verbose_eval=False), frame, f"XGBoost {number}: {parameters}"
    return xgb.train(parameters, data, int(random.integers(1, 30))), frame, f"XGBoost {number}: {parameters}"


def check_xgboost(server, number):
    random = np.random.default_rng([SEED, 2, number])
    model, frame, detail = train_xgboost(random, number)
    points = points_of(random, frame)
    text = model.save_raw("json").decode()
    server.keep("btml.from_xgboost(%s)", text)
    server.fill("points", points)
    data = xgb.DMatrix(points, enable_categorical=True)
    try:
        trees = (0, model.best_iteration + 1)
    except AttributeError:
        trees = (0, 0)
    raw = model.predict(data, output_margin=True, iteration_range=trees)
    same_bits("XGBoost: raw scores", server.of_rows("btml.predict_scores(m, p)"), raw, detail)
    objective = json.loads(model.save_config())["learner"]["objective"]["name"]
    expected = model.predict(data, iteration_range=trees)
    if objective == "multi:softmax":
        classes = server.of_rows("btml.predict_class(m, p)::float8")
        same_bits("XGBoost: classes", classes, expected, detail)
    else:
        links = server.of_rows("btml.predict_probabilities(m, p)" if objective.startswith("multi") else "btml.predict(m, p)")
        ulps("XGBoost: predictions (ulp of floats)", expected, links, np.float32, detail=detail)
    shap = np.array(server.of_rows("btml.shap(m, p)"))
    if shap.ndim == 2 and not np.isnan(shap).any() and "dart" not in detail:
        contributions = model.predict(data, pred_contribs=True, iteration_range=trees)
        contributions = contributions.reshape(shap.shape)
        scale = np.abs(contributions).max(axis=1, keepdims=True) + 1e-30
        note("XGBoost: contributions (of the largest)", (np.abs(shap - contributions) / scale).max(), 1e-4, detail)
    check_sql(server, f"XGBoost {number}", points, detail)


OURS = ["squared", "absolute", "huber", "quantile", "poisson", "gamma", "tweedie", "binary", "multiclass", "squared"]


def check_export(server, number):
    random = np.random.default_rng([SEED, 3, number])
    objective = OURS[number % len(OURS)]
    kind = {"poisson": "positive", "gamma": "positive", "tweedie": "positive", "binary": "binary", "multiclass": "class"}.get(objective, "number")
    frame = random_frame(random, ROWS)
    frame["c"] = frame["c"].cat.reorder_categories(sorted(frame["c"].cat.categories))
    frame["y"] = target_of(random, frame, kind)
    server.fill("training", frame)
    y = "y = 1 AS y" if kind == "binary" else "y::text AS y" if kind == "class" else "y"
    names = [c for c in frame if c != "y"]
    columns = ", ".join(f'"{c}"::text' + f' AS "{c}"' if c == "k" else f'"{c}"' for c in names)
    server.keep("btml.boost_fit(%s, 'y', objective => %s, trees => %s, max_leaves => %s, min_leaf_rows => 3)",
                f"SELECT {columns}, {y} FROM training", objective, int(random.integers(0, 30)) + (number % 10 != 9),
                int(random.integers(2, 40)))
    text = server.value("SELECT btml.to_lightgbm(model) FROM trained")
    model = lgb.Booster(model_str=text)
    points = points_of(random, frame[names])
    for c in names:  # rows without NaN in numbers; infinite ones instead
        if points[c].dtype.kind == "f":
            points[c] = points[c].where(points[c].notna(), random.choice([np.inf, -np.inf, 1.5]))
            points.loc[points[c].abs() <= 1e-34, c] = 0.0  # LightGBM's interface takes what is this small for 0
    points["k"] = points["k"].astype(str).astype("category")
    as_strings = {"k": [str(k) for k in frame["k"].cat.categories]}
    points.loc[points["k"] == "nan", "k"] = np.nan
    server.fill("points", points)
    frame_of = points.copy()
    summary = server.value("SELECT btml.summary(model)->'features' FROM trained")
    listed = json.loads(text[text.rindex("pandas_categorical:") + len("pandas_categorical:"):])
    categorical = [f["name"] for f in summary if "categories" in f]
    for name, names_there in zip(categorical, listed or []):
        values = frame_of[name].astype(object)
        if names_there and names_there[-1] == "(null)":
            values = values.where(frame_of[name].notna(), "(null)")
        frame_of[name] = pd.Categorical(values.where(values.isin(names_there), None), categories=names_there)
    scores = server.of_rows("btml.predict_scores(m, p)")
    same_bits("exported: raw scores by LightGBM", model.predict(frame_of, raw_score=True), scores, objective)
    codes = frame_of.copy()
    for name in categorical:
        codes[name] = codes[name].cat.codes
    same_bits("exported: raw scores of an array", model.predict(codes.to_numpy(float), raw_score=True), scores, objective)
    if objective != "multiclass":
        ulps("exported: predictions (ulp)", server.of_rows("btml.predict(m, p)"), model.predict(frame_of), np.float64)
    shap = np.array(server.of_rows("btml.shap(m, p)"))
    contributions = model.predict(frame_of, pred_contrib=True)
    scale = np.abs(contributions).max(axis=1, keepdims=True) + 1e-300
    note("exported: contributions (of the largest)", (np.abs(shap - contributions) / scale).max(), 1e-9, objective)
    # NULL as a category of its own is lost on the way back, so that only models without it are compared.
    if "(null)" not in text:
        server.keep("btml.from_lightgbm(%s)", text)
        same_bits("exported and imported: raw scores", server.of_rows("btml.predict_scores(m, p)"), scores, objective)
    finite = points.replace([np.inf, -np.inf], 7.5)
    server.fill("points", finite)
    check_ansi(server, f"ours {number}", finite, objective)


def main():
    server = Server()
    for number in range(MODELS):
        check_lightgbm(server, number)
    for number in range(MODELS):
        check_xgboost(server, number)
    for number in range(MODELS):
        check_export(server, number)
    for what in counts:
        print(f"{what:45} {counts[what]:4} models" + (f", worst {worst[what]:.3g}" if what in worst else ""))


if __name__ == "__main__":
    main()
