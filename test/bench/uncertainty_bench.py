"""How well distributions of predictions are known: Gaussian processes and trees in SQL beside GPyTorch's SGPR and LightGBM.

    python3 -m venv ~/peers && ~/peers/bin/pip install numpy scipy lightgbm torch gpytorch
    ~/peers/bin/python test/bench/uncertainty_bench.py DIRECTORY [SET]...

SET.csv.gz in the directory has one row per line, numbers alone, the target last (test/bench/gp_sets.py writes some, on
which no default was settled). For each of BTML_BENCH_SEEDS=1 splits the rows are those of gp_accuracy: 64 % to train,
16 % to stop early and to calibrate, 20 % to score; targets are standardised, and all have one thread. Prints, by way: the
error of the mean, the negative log likelihood, the parts of scored rows within their central intervals of 50, 80, 90, 95
and 99 %, with a ! where one is off by more than 2 points and two of its own standard deviations, the mean length of those
of 90 %, and the seconds of the fit. Talks to the server through psql (PGHOST, PGPORT, PGUSER), in
the database `postgres`, which has btml; a peer that is not installed is left out.
"""

import gzip
import os
import subprocess
import sys
import time

import numpy as np
from scipy import stats

try:
    import lightgbm
except ImportError:
    lightgbm = None
try:
    import gpytorch
    import torch
except ImportError:
    gpytorch = None

SEEDS = int(os.environ.get("BTML_BENCH_SEEDS", "1"))
EXEMPLARS = int(os.environ.get("BTML_BENCH_EXEMPLARS", "512"))
STEPS = int(os.environ.get("BTML_BENCH_STEPS", "100"))  # of Adam, for GPyTorch
LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)

# By way in SQL: the fit. Those with a holdout read validation rows apart, the others learn from them, too, as they leave
# rows out to calibrate.
IN_SQL = {
    "trees, one deviation": "btml.boost_fit('SELECT * FROM uncertainty_bench.rows WHERE part < 2', 'y', features => {x}, "
                            "trees => 2000, early_stopping => 50, holdout => 'held')",
    "trees, learned deviation": "btml.boost_fit('SELECT * FROM uncertainty_bench.rows WHERE part < 2', 'y', "
                                "features => {x}, trees => 2000, early_stopping => 50, holdout => 'held', "
                                "deviation => 'learned')",
    "gp, tree kernel": "btml.gp_fit('SELECT * FROM uncertainty_bench.rows WHERE part < 2', 'y', features => {x}, "
                            "mean => 'zero')",
    "gp, by default": "btml.gp_fit('SELECT * FROM uncertainty_bench.rows WHERE part < 2', 'y', features => {x})",
    "gp, by default, holdout": "btml.gp_fit('SELECT * FROM uncertainty_bench.rows WHERE part < 2', 'y', "
                                          "features => {x}, holdout => 'held')",
    "gp, squared exponential": "btml.gp_fit('SELECT * FROM uncertainty_bench.rows WHERE part < 2', 'y', "
                                    "features => {x}, kernel => 'squared_exponential', exemplars => {k})",
    "gp, Matérn 5/2": "btml.gp_fit('SELECT * FROM uncertainty_bench.rows WHERE part < 2', 'y', features => {x}, "
                           "kernel => 'matern52', exemplars => {k})",
}


def read(path, seed):
    """Features and standardised targets of the rows to train, to validate and to score."""
    with gzip.open(path, "rt") as file:
        table = np.loadtxt(file, delimiter=",")
    order = np.random.RandomState(seed).permutation(len(table))
    learned = int(0.8 * len(table))
    trained = int(0.8 * learned)
    parts = [table[order[:trained]], table[order[trained:learned]], table[order[learned:]]]
    mean, deviation = parts[0][:, -1].mean(), parts[0][:, -1].std(ddof=1)
    return [(part[:, :-1], (part[:, -1] - mean) / deviation) for part in parts]


def report(way, y, mean, nll, bounds, seconds):
    """bounds: by level, lower and upper ends."""
    covered = [np.mean((y >= lower) & (y <= upper)) for lower, upper in bounds]
    off = [abs(share - level) > 0.02 + 2 * np.sqrt(level * (1 - level) / len(y)) for level, share in zip(LEVELS, covered)]
    lower, upper = bounds[LEVELS.index(0.9)]
    length = np.mean(upper - lower)
    cells = [f"{np.sqrt(np.mean((y - mean) ** 2)):.4f}", "" if nll is None else f"{np.mean(nll):.3f}",
             " ".join(f"{share:.3f}{'!' * bool(is_off)}" for share, is_off in zip(covered, off)), f"{length:.3f}",
             f"{seconds:.1f}"]
    print(f"| {way} | " + " | ".join(cells) + " |", flush=True)


def psql(script, **options):
    run = subprocess.run(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", "postgres", "-c", script],
                         capture_output=True, text=True, check=False, **options)
    if run.returncode:
        sys.exit(f"psql: {run.stderr}")
    return run.stdout


def load(parts):
    columns = [f"x{i}" for i in range(parts[0][0].shape[1])]
    psql("SET client_min_messages = warning; DROP SCHEMA IF EXISTS uncertainty_bench CASCADE; CREATE SCHEMA uncertainty_bench; "
         f"CREATE TABLE uncertainty_bench.rows (id int, part int, held boolean, y float8, {', '.join(c + ' float8' for c in columns)})")
    lines = []
    for part, (x, y) in enumerate(parts):
        for row, target in zip(x, y):
            lines.append("\t".join([str(len(lines)), str(part), str(part == 1), repr(float(target)),
                                    *(repr(float(value)) for value in row)]))
    psql("COPY uncertainty_bench.rows FROM STDIN", input="\n".join(lines) + "\n")
    psql("VACUUM ANALYZE uncertainty_bench.rows")
    return columns


def in_sql(way, fit, columns, y):
    names = "ARRAY[" + ", ".join(f"'{c}'" for c in columns) + "]"
    begin = time.perf_counter()
    psql("SET btml.threads = 1; SET client_min_messages = warning; DROP TABLE IF EXISTS uncertainty_bench.model; "
         f"CREATE TABLE uncertainty_bench.model AS SELECT {fit.format(x=names, k=EXEMPLARS)} AS model")
    seconds = time.perf_counter() - begin
    ends = ", ".join(f"btml.predict_interval(model, r, {level}) AS b{i}" for i, level in enumerate(LEVELS))
    printed = psql("SELECT p, (d).location, (d).scale, (d).df, " +
                   ", ".join(f"(b{i}).lower, (b{i}).upper" for i in range(len(LEVELS))) +
                   f" FROM (SELECT r.id, btml.predict(model, r) AS p, btml.predict_distribution(model, r) AS d, {ends} "
                   "FROM uncertainty_bench.model, uncertainty_bench.rows r WHERE r.part = 2 OFFSET 0) q ORDER BY id")
    values = np.array([[float(value) for value in line.split("|")] for line in printed.split()])
    nll = -stats.t.logpdf(y, values[:, 3], values[:, 1], values[:, 2])
    report(way, y, values[:, 0], nll, [(values[:, 4 + 2 * i], values[:, 5 + 2 * i]) for i in range(len(LEVELS))], seconds)


def with_gpytorch(parts):
    """SGPR of all rows that the Gaussian processes have, with as many inducing points, all parameters learned by Adam."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    x = np.concatenate([part[0] for part in parts[:2]])
    scale = x.std(axis=0)
    x, new = ((points - x.mean(axis=0)) / np.where(scale > 0, scale, 1) for points in (x, parts[2][0]))
    x, new = torch.tensor(x, dtype=torch.float32), torch.tensor(new, dtype=torch.float32)
    y = torch.tensor(np.concatenate([part[1] for part in parts[:2]]), dtype=torch.float32)

    class Sgpr(gpytorch.models.ExactGP):
        def __init__(self, likelihood):
            super().__init__(x, y, likelihood)
            self.mean_module = gpytorch.means.ConstantMean()
            kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=x.shape[1]))
            chosen = torch.randperm(len(x))[:EXEMPLARS]
            self.covar_module = gpytorch.kernels.InducingPointKernel(kernel, x[chosen].clone(), likelihood)

        def forward(self, points):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(points), self.covar_module(points))

    begin = time.perf_counter()
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Sgpr(likelihood)
    model.train()
    likelihood.train()
    steps = torch.optim.Adam(model.parameters(), lr=0.1)
    bound = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    for _ in range(STEPS):
        steps.zero_grad()
        loss = -bound(model(x), y)
        loss.backward()
        steps.step()
    seconds = time.perf_counter() - begin
    model.eval()
    likelihood.eval()
    with torch.no_grad(), gpytorch.settings.fast_pred_var():
        predicted = likelihood(model(new))
    mean, deviation = predicted.mean.numpy().astype(float), np.sqrt(predicted.variance.numpy().astype(float))
    target = parts[2][1]
    bounds = [(mean + deviation * stats.norm.ppf(0.5 - level / 2), mean + deviation * stats.norm.ppf(0.5 + level / 2))
              for level in LEVELS]
    report(f"GPyTorch SGPR, {STEPS} steps", target, mean, -stats.norm.logpdf(target, mean, deviation), bounds, seconds)


def with_lightgbm(parts):
    """One model for each end of each interval and one for the mean, stopped early by the validation rows."""
    train = lightgbm.Dataset(*parts[0])
    valid = lightgbm.Dataset(*parts[1], reference=train)
    settings = dict(learning_rate=0.1, num_leaves=31, num_threads=1, verbose=-1)
    begin = time.perf_counter()

    def fitted(**objective):
        return lightgbm.train({**settings, **objective}, train, 2000, [valid],
                              callbacks=[lightgbm.early_stopping(50, verbose=False)])
    mean = fitted(objective="regression")
    ends = [[fitted(objective="quantile", alpha=0.5 + sign * level / 2) for sign in (-1, 1)] for level in LEVELS]
    seconds = time.perf_counter() - begin
    x, y = parts[2]
    report("LightGBM, quantiles", y, mean.predict(x), None, [[end.predict(x) for end in pair] for pair in ends], seconds)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    directory, sets = sys.argv[1], sys.argv[2:]
    sets = sets or sorted(name[:-7] for name in os.listdir(directory) if name.endswith(".csv.gz"))
    for name in sets:
        for seed in range(SEEDS):
            parts = read(f"{directory}/{name}.csv.gz", seed)
            print(f"\n{name}, split {seed}: {len(parts[0][1])} rows to train, {len(parts[1][1])} to validate, "
                  f"{len(parts[2][1])} scored, {parts[0][0].shape[1]} features\n")
            print("| way | RMSE | NLL | within 50, 80, 90, 95, 99 % | length of 90 % | seconds |\n|---|---|---|---|---|---|")
            columns = load(parts)
            for way, fit in IN_SQL.items():
                in_sql(way, fit, columns, parts[2][1])
            if gpytorch:
                with_gpytorch(parts)
            if lightgbm:
                with_lightgbm(parts)


if __name__ == "__main__":
    main()
