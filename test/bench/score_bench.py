"""Cross-validation scores and the choice of a bandwidth beside statsmodels, at the sizes that it can do, in one run.

Talks to a server through psql (PGHOST, PGPORT, PGUSER). BTML_BENCH_SCORE_ROWS (100,200) are the sizes; those up to
100 are used for conditional densities, of which statsmodels sums n^3 terms a score. Prints a table; a ratio is btml's
time over the other's, and scores are printed side by side because they are the same sums. statsmodels searches a
bandwidth for each column without a range, and takes minutes for the whole.
"""

import os
import re
import subprocess
import sys
import time

try:
    import numpy
    from statsmodels.nonparametric.kernel_density import KDEMultivariateConditional
    from statsmodels.nonparametric.kernel_regression import KernelReg
except ImportError:
    sys.exit("statsmodels is not installed, so there is nothing to compare with: "
             "python3 -m venv ~/peers && ~/peers/bin/pip install statsmodels, then run this with ~/peers/bin/python")

SIZES = [int(rows) for rows in os.environ.get("BTML_BENCH_SCORE_ROWS", "100,200").split(",")]
MOST_CONDITIONAL_ROWS = 100
BANDWIDTH, TARGET_BANDWIDTH = 0.4, 0.5
TABLE = "CREATE EXTENSION IF NOT EXISTS btml; CREATE TEMPORARY TABLE point (a float8, b float8, y float8); COPY point FROM STDIN;\n"


def rows_of(count):
    random = numpy.random.default_rng(1)
    x = random.normal(size=(count, 2))
    return x, numpy.sin(2 * x[:, 0]) + 0.3 * random.normal(size=count)


def btml(x, y, query):
    """Seconds of a query over a table `point`, and the one row that it gives."""
    data = "".join(f"{float(a)!r}\t{float(b)!r}\t{float(c)!r}\n" for (a, b), c in zip(x, y))
    script = f"{TABLE}{data}\\.\nSELECT btml.version();\n\\timing on\n{query};\n"
    run = subprocess.run(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", "postgres"], input=script,
                         capture_output=True, text=True, check=False)
    if run.returncode:
        sys.exit(f"psql: {run.stderr}")
    return float(re.search(r"Time: ([0-9.]+) ms", run.stdout)[1]) / 1000, run.stdout.splitlines()[1]


def timed(function):
    began = time.perf_counter()
    value = function()
    return time.perf_counter() - began, value


def line(what, rows, ours, theirs):
    print(f"{what:<48} {rows:>6} {ours[0]:>9.4f} {theirs[0]:>9.3f} {ours[0] / theirs[0]:>9.5f}   {ours[1]} | {theirs[1]}",
          flush=True)


def main():
    print(f"{'':<48} {'rows':>6} {'btml s':>9} {'other s':>9} {'ratio':>9}   btml | statsmodels")
    for rows in SIZES:
        x, y = rows_of(rows)
        regression = KernelReg(y, x, "cc", reg_type="lc", bw=[BANDWIDTH] * 2)
        line("kr_score, KernelReg.cv_loo", rows, btml(x, y, f"SELECT (btml.kr_score('point', 'y', {BANDWIDTH})).value"),
             timed(lambda: numpy.squeeze(regression.cv_loo(numpy.array([BANDWIDTH] * 2), regression.est["lc"])).item()))
        line("select_bandwidth kr, KernelReg(bw='cv_ls')", rows,
             btml(x, y, "SELECT bandwidth FROM btml.select_bandwidth('point', 'kr', 'y') WHERE best"),
             timed(lambda: KernelReg(y, x, "cc", reg_type="lc", bw="cv_ls").bw))
        if rows > MOST_CONDITIONAL_ROWS:
            continue
        density = KDEMultivariateConditional(y, x, "c", "cc", bw=[TARGET_BANDWIDTH] + [BANDWIDTH] * 2)
        line("kcde_score, KDEMultivariateConditional.imse", rows,
             btml(x, y, f"SELECT (btml.kcde_score('point', 'y', {BANDWIDTH}, {TARGET_BANDWIDTH})).value"),
             timed(lambda: numpy.squeeze(density.imse(numpy.array([TARGET_BANDWIDTH] + [BANDWIDTH] * 2))).item()))
        line("select_bandwidth kcde, …Conditional(bw='cv_ls')", rows,
             btml(x, y, "SELECT target_bandwidth || ' ' || bandwidth FROM btml.select_bandwidth('point', 'kcde', 'y') WHERE best"),
             timed(lambda: KDEMultivariateConditional(y, x, "c", "cc", bw="cv_ls").bw))


if __name__ == "__main__":
    main()
