"""How well each objective predicts rows that were held out, beside LightGBM or, of huber, scikit-learn.

Talks to the server through psql (PGHOST, PGPORT, PGUSER). No default of btml was settled on these sets: they come with
scikit-learn and statsmodels, or are generated here. For each set and objective, it prints the mean loss of both over
random splits (three quarters to train on; 5 splits, or 40 of fewer than 5,000 rows), their ratio, which is better below
1, its standard error over the splits, and of binary targets by how much the area under the ROC curve is larger. The
loss of huber is the absolute error, of multiclass that of the true label's probability. Names of objectives or sets
choose among them. Settings are the same, and one thread; BTML_BENCH_BIN_ROWS=3 is LightGBM's own default of how many
rows a bin has at least, where btml has a bin for each of up to 255 values.
"""

import os
import subprocess
import sys
import warnings

import lightgbm
import numpy as np
from sklearn import datasets, ensemble
from sklearn.metrics import roc_auc_score
from statsmodels import datasets as studies

TREES = 100
LIGHTGBM = dict(learning_rate=0.1, num_leaves=31, max_bin=255, min_data_in_leaf=20, num_threads=1, verbose=-1,
                min_data_in_bin=int(os.environ.get("BTML_BENCH_BIN_ROWS", "1")))


def friedman(rng, rows, columns=10):
    """Friedman's first function of five of the columns, from 0 to about 29."""
    x = rng.random((rows, columns))
    return x, 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]


def of_study(study, target):
    """Numbers of a study's table: all columns but the target, and the target."""
    frame = getattr(studies, study).load_pandas().data.astype(float)
    return frame.drop(columns=[target]).to_numpy(), frame[target].to_numpy()


def affairs(target="affairs"):
    """Marriages and affairs of 6,366 women (Fair: A theory of extramarital affairs, 1978)."""
    return of_study("fair", target)


def visits():
    """Visits to doctors of 20,190 people and years (RAND Health Insurance Experiment)."""
    return of_study("randhie", "mdvis")


def election(target):
    """Votes and parties of 944 people (American National Election Study of 1996)."""
    return of_study("anes96", target)


def schools():
    """Shares of pupils above the median of mathematics, 303 Californian districts."""
    frame = studies.star98.load_pandas().data.astype(float)
    above = frame["NABOVE"] / (frame["NABOVE"] + frame["NBELOW"])
    return frame.drop(columns=["NABOVE", "NBELOW"]).to_numpy(), above.to_numpy()


def of_sklearn(load):
    def of(_):
        x, y = load(return_X_y=True)
        return np.asarray(x, float), np.asarray(y, float)
    return of


def positive(pair):
    return pair[0], (pair[1] > 0).astype(float)


def from_zero(pair):
    return pair[0], pair[1] - pair[1].min()


def clusters(classes, share=None, flip=0.05):
    def of(rng):
        x, y = datasets.make_classification(
            20000, 40, n_informative=12, n_redundant=8, n_classes=classes, n_clusters_per_class=3, flip_y=flip,
            weights=share and [1 - share], class_sep=0.8, random_state=int(rng.integers(1 << 30)))
        return x, y.astype(float)
    return of


def rare(rng):
    """One row in a hundred, by products of skewed columns."""
    x = rng.lognormal(size=(40000, 12))
    score = 0.6 * np.log(x[:, 0]) * np.log(x[:, 1]) + 0.8 * np.log(x[:, 2]) + (x[:, 3] > 2) * np.log(x[:, 4])
    return x, (rng.random(len(x)) < 1 / (1 + np.exp(5.6 - score))).astype(float)


def hastie(rng):
    x, y = datasets.make_hastie_10_2(12000, random_state=int(rng.integers(1 << 30)))
    return x, (y > 0).astype(float)


def shells(rng):
    x, y = datasets.make_gaussian_quantiles(n_samples=12000, n_features=8, n_classes=7,
                                            random_state=int(rng.integers(1 << 30)))
    return x, y.astype(float)


def counts(mean):
    def of(rng):
        x, f = friedman(rng, 15000)
        rate = np.exp(f / 7)
        return x, rng.poisson(mean * rate / rate.mean()).astype(float)
    return of


def amounts(shape):
    def of(rng):
        x, f = friedman(rng, 15000)
        return x, rng.gamma(shape, np.exp(f / 7) / shape)
    return of


def claims(mean):
    """Compound sums: a Poisson number of amounts."""
    def of(rng):
        x, f = friedman(rng, 15000)
        rate = np.exp(f / 10)
        number = rng.poisson(mean * rate / rate.mean())
        return x, np.where(number > 0, rng.gamma(2.0 * np.maximum(number, 1), 50 * np.exp(x[:, 5])), 0)
    return of


def uneven(rng):
    """Noise that grows with a column."""
    x, f = friedman(rng, 15000)
    return x, f + (0.5 + 4 * x[:, 5]) * rng.standard_normal(len(f))


def outliers(rng):
    """Noise of Student's t with two degrees of freedom."""
    x, f = friedman(rng, 15000)
    return x, f + 2 * rng.standard_t(2, len(f))


def log_loss(y, p):
    p = np.clip(p, 2.0 ** -53, 1 - 2.0 ** -53)
    return -np.mean(y * np.log(p) + (1 - y) * np.log1p(-p))


def label_loss(y, p):
    return -np.mean(np.log(np.maximum(p[np.arange(len(y)), y.astype(int)], 2.0 ** -53)))


def poisson_deviance(y, p):
    return 2 * np.mean(np.where(y > 0, y * np.log(np.maximum(y, 1e-300) / p), 0) - y + p)


def gamma_deviance(y, p):
    return 2 * np.mean(np.log(p / y) + y / p - 1)


def tweedie_deviance(y, p, power=1.5):
    return 2 * np.mean(np.maximum(y, 0) ** (2 - power) / ((1 - power) * (2 - power)) -
                       y * p ** (1 - power) / (1 - power) + p ** (2 - power) / (2 - power))


def pinball(alpha):
    return lambda y, p: np.mean(np.maximum(alpha * (y - p), (alpha - 1) * (y - p)))


def absolute(y, p):
    return np.mean(np.abs(y - p))


# By objective: options of btml, settings of LightGBM (None: scikit-learn's gradient boosting), the loss, and the sets.
OBJECTIVES = {
    "binary": ("objective => 'binary'", dict(objective="binary"), log_loss, {
        "cancer": of_sklearn(datasets.load_breast_cancer),
        "affairs": lambda _: positive(affairs()),
        "visits": lambda _: positive(visits()),
        "vote": lambda _: election("vote"),
        "clusters": clusters(2),
        "hastie": hastie,
        "clusters 10 %": clusters(2, 0.1, 0.01),
        "rare": rare,
    }),
    "share": ("objective => 'binary'", dict(objective="cross_entropy"), log_loss, {"schools": lambda _: schools()}),
    "multiclass": ("objective => 'multiclass'", dict(objective="multiclass"), label_loss, {
        "digits": of_sklearn(datasets.load_digits),
        "wine": of_sklearn(datasets.load_wine),
        "marriage": lambda _: from_zero(affairs("rate_marriage")),
        "party": lambda _: election("PID"),
        "clusters 7": clusters(7),
        "shells 7": shells,
    }),
    "poisson": ("objective => 'poisson'", dict(objective="poisson"), poisson_deviance, {
        "visits": lambda _: visits(),
        "progression": of_sklearn(datasets.load_diabetes),
        "counts .2": counts(0.2),
        "counts 3": counts(3),
        "counts 100": counts(100),
    }),
    "gamma": ("objective => 'gamma'", dict(objective="gamma"), gamma_deviance, {
        "progression": of_sklearn(datasets.load_diabetes),
        "amounts .5": amounts(0.5),
        "amounts 2": amounts(2),
        "amounts 20": amounts(20),
    }),
    "tweedie": ("objective => 'tweedie'", dict(objective="tweedie", tweedie_variance_power=1.5), tweedie_deviance, {
        "affairs": lambda _: affairs(),
        "visits": lambda _: visits(),
        "claims .1": claims(0.1),
        "claims 1": claims(1),
        "claims 10": claims(10),
    }),
    "absolute": ("objective => 'absolute'", dict(objective="regression_l1"), absolute, {
        "progression": of_sklearn(datasets.load_diabetes),
        "uneven": uneven,
        "outliers": outliers,
    }),
    "huber": ("objective => 'huber'", None, absolute, {
        "progression": of_sklearn(datasets.load_diabetes),
        "uneven": uneven,
        "outliers": outliers,
    }),
}
for alpha in (0.1, 0.5, 0.9):
    OBJECTIVES[f"quantile {alpha}"] = (
        f"objective => 'quantile', alpha => {alpha}", dict(objective="quantile", alpha=alpha), pinball(alpha), {
            "visits": lambda _: visits(),
            "progression": of_sklearn(datasets.load_diabetes),
            "uneven": uneven,
            "outliers": outliers,
        })


def psql(script):
    run = subprocess.run(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", "postgres"], input=script,
                         capture_output=True, text=True, check=False)
    if run.returncode:
        sys.exit(f"psql: {run.stderr}")
    return run.stdout


def text(column):
    if column.dtype == bool:
        return np.where(column, "t", "f")
    return [np.format_float_positional(v, unique=True, trim="-") if abs(v) < 1e15 else repr(float(v)) for v in column]


def ours(x, y, held_out, option, labels):
    """Predictions of the held-out rows for each split, in the order of rows."""
    names = [f"f{i}" for i in range(x.shape[1])]
    columns = ["n"] + names + ["y"] + [f"s{i}" for i in range(len(held_out))]
    types = ["integer"] + ["float8"] * len(names) + ["integer" if labels else "float8"] + ["boolean"] * len(held_out)
    cells = [map(str, range(len(y)))] + [text(column) for column in x.T] + \
        [y.astype(int).astype(str) if labels else text(y)] + [text(column) for column in held_out]
    script = "SET client_min_messages = warning; CREATE TEMP TABLE data (" + \
        ", ".join(f"{name} {type_}" for name, type_ in zip(columns, types)) + ");\nCOPY data FROM STDIN;\n" + \
        "\n".join("\t".join(row) for row in zip(*cells)) + "\n\\.\n"
    function = "btml.predict_probabilities" if labels else "btml.predict"
    for i in range(len(held_out)):
        script += f"""WITH trained AS MATERIALIZED (SELECT btml.boost_fit(
            'SELECT {", ".join(names)}, y, s{i} FROM data', 'y', holdout => 's{i}', trees => {TREES}, {option}) AS fit)
            SELECT {function}(fit, ARRAY[{", ".join(names)}]) FROM trained, data WHERE s{i} ORDER BY n;\n"""
    lines = psql(script).splitlines()
    predictions = []
    for flags in held_out:
        predictions.append(np.array([[float(v) for v in line.strip("{}").split(",")] for line in lines[:flags.sum()]]))
        lines = lines[flags.sum():]
    return predictions if labels else [p[:, 0] for p in predictions]


def theirs(x, y, flags, settings):
    if settings is None:
        model = ensemble.GradientBoostingRegressor(loss="huber", alpha=0.9, n_estimators=TREES, learning_rate=0.1,
                                                   max_depth=None, max_leaf_nodes=31, min_samples_leaf=20,
                                                   criterion="squared_error", random_state=0)
        return model.fit(x[~flags], y[~flags]).predict(x[flags])
    settings = {**LIGHTGBM, **settings}
    if settings["objective"] == "multiclass":
        settings["num_class"] = int(y.max()) + 1
    return lightgbm.train(settings, lightgbm.Dataset(x[~flags], y[~flags]), TREES).predict(x[flags])


def compare(objective, name):
    option, settings, loss, sets = OBJECTIVES[objective]
    x, y = sets[name](np.random.default_rng(sum(map(ord, name))))
    rng = np.random.default_rng(1)
    held_out = [rng.random(len(y)) < 0.25 for _ in range(5 if len(y) >= 5000 else 40)]
    losses, areas = [], []
    for flags, own in zip(held_out, ours(x, y, held_out, option, objective == "multiclass")):
        other = theirs(x, y, flags, settings)
        losses.append((loss(y[flags], own), loss(y[flags], other)))
        if objective == "binary":
            areas.append(roc_auc_score(y[flags], own) - roc_auc_score(y[flags], other))
    own, other = np.mean(losses, axis=0)
    misses = np.array(losses) @ [1, -own / other]
    error = np.std(misses, ddof=1) / other / len(losses) ** 0.5
    area = f"{np.mean(areas):+.4f}" if areas else ""
    print(f"{objective:13} {name:14} {len(y):6} x {x.shape[1]:<3} {own:10.5g} {other:10.5g} {own / other:7.4f} "
          f"{error:7.4f} {area:>8}", flush=True)


def main():
    warnings.simplefilter("ignore")
    wanted = sys.argv[1:]
    print(f"{'objective':13} {'set':14} {'rows':>6} x {'':3} {'btml':>10} {'theirs':>10} {'ratio':>7} {'error':>7} "
          f"{'AUC':>8}")
    for objective, (*_, sets) in OBJECTIVES.items():
        for name in sets:
            if not wanted or objective in wanted or name in wanted:
                compare(objective, name)


main()
