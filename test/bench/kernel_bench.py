"""Exact kernel sums in SQL beside scikit-learn's tree (exact to 1e-4) and KeOps, in one run: pairs a second, one thread.

Talks to a server with btml through psql (PGHOST, PGPORT, PGUSER). Points are uniform in the unit cube and the bandwidth
is 0.2, as usual for fast Gauss transforms. What is not installed is left out: pip install numpy scikit-learn pykeops.
"""

import os
import subprocess
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"
KEYS, QUERIES, BANDWIDTH = int(os.environ.get("BTML_BENCH_KEYS", "50000")), 4000, 0.2
try:
    import numpy
except ImportError:
    sys.exit("numpy is missing: pip install numpy scikit-learn pykeops")


def sql_seconds(points):
    """Reading the points included."""
    columns = ", ".join(f"x{k} float8" for k in range(points.shape[1]))
    rows = "\n".join("\t".join(map(repr, map(float, row))) for row in points)
    script = f"""SET max_parallel_workers_per_gather = 0; SET btml.threads = 1;
CREATE TEMP TABLE point (number serial, {columns});
COPY point ({columns.replace(' float8', '')}) FROM stdin;
{rows}
\\.
ALTER TABLE point DROP number;
SELECT sum(value) FROM btml.kernel_sum('point', 'SELECT * FROM point LIMIT {QUERIES}', {BANDWIDTH}, method => 'exact');
\\timing on
SELECT sum(value) FROM btml.kernel_sum('point', 'SELECT * FROM point LIMIT {QUERIES}', {BANDWIDTH}, method => 'exact');
"""
    printed = subprocess.run(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", "postgres"], input=script, check=True,
                             capture_output=True, text=True).stdout
    return float(printed.split("Time: ")[1].split()[0]) / 1000


def tree_seconds(points):
    from sklearn.neighbors import KernelDensity
    density = KernelDensity(bandwidth=BANDWIDTH, rtol=1e-4).fit(points)
    start = time.process_time()
    density.score_samples(points[:QUERIES])
    return time.process_time() - start


def keops_seconds(points):
    from pykeops.numpy import LazyTensor
    points = points.astype(numpy.float32)
    queries, keys = LazyTensor(points[:QUERIES, None, :]), LazyTensor(points[None, :, :])
    kernel = (-((queries - keys) ** 2).sum(-1) / (2 * BANDWIDTH**2)).exp()
    ones = numpy.ones((len(points), 1), numpy.float32)
    kernel @ ones  # compiles
    start = time.process_time()
    kernel @ ones
    return time.process_time() - start


print(f"{'million pairs a second, of':<28}{'btml':>10}{'sklearn':>10}{'ratio':>8}{'keops':>10}{'ratio':>8}")
for dimensions in (3, 16):
    cloud = numpy.random.default_rng(0).random((KEYS, dimensions))
    pairs = KEYS * QUERIES / 1e6
    ours = sql_seconds(cloud)
    line = f"{f'{dimensions} coordinates':<28}{pairs / ours:>10.0f}"
    for peer in (tree_seconds, keops_seconds):
        try:
            line += f"{pairs / (seconds := peer(cloud)):>10.1f}{seconds / ours:>8.1f}"
        except ImportError as missing:
            line += f"{'no ' + str(missing.name):>18}"
    print(line, flush=True)
