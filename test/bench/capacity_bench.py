"""Time, memory and size of the result by rows, for every fit and the other long functions.

Talks to the server through psql (PGHOST, PGPORT, PGUSER), on the server's machine: seconds are those of the processor,
memory is what the backend's VmHWM grows by, both read from /proc. A session of its own for each call, one thread, no
parallel plans; BTML_BENCH_ROWS is a list with commas, BTML_BENCH_FUNCTIONS one of names with semicolons,
BTML_BENCH_LIMIT_S the longest that a call may take.
"""

import os
import re
import subprocess
import sys

ROWS = [int(n) for n in os.environ.get("BTML_BENCH_ROWS", "10000,100000,1000000").split(",")]
LIMIT_S = int(os.environ.get("BTML_BENCH_LIMIT_S", "120"))
# By name: the call; the source has numbers a to j, a text t of 30 values, a number y, a boolean late and a count visits.
# A call returns the bytes that are kept, or a number of rows.
CALLS = {
    "boost_fit, squared": "SELECT length(btml.boost_fit('capacity', 'y', exclude => '{late,visits}')::bytea)",
    "boost_fit, binary": "SELECT length(btml.boost_fit('capacity', 'late', exclude => '{y,visits}')::bytea)",
    "boost_fit, poisson": "SELECT length(btml.boost_fit('capacity', 'visits', objective => 'poisson', "
                          "exclude => '{y,late}')::bytea)",
    "boost_fit, multiclass of 30": "SELECT length(btml.boost_fit('capacity', 't', trees => 10, "
                                   "exclude => '{y,late,visits}')::bytea)",
    "tree_fit": "SELECT length(btml.tree_fit('capacity', 'y', exclude => '{late,visits}')::bytea)",
    "gp_fit, default": "SELECT length(btml.gp_fit('SELECT a, b, c, y FROM capacity', 'y')::bytea)",
    "gp_fit, matern52": "SELECT length(btml.gp_fit('SELECT a, b, c, y FROM capacity', 'y', kernel => 'matern52')::bytea)",
    "gp_fit, kernel_sum": "SELECT length(btml.gp_fit('SELECT a, b, c, y FROM capacity', 'y', combine => 'kernel_sum')::bytea)",
    "gp_fit, mixture": "SELECT length(btml.gp_fit('SELECT a, b, c, y FROM capacity', 'y', combine => 'mixture')::bytea)",
    "density at 1,000 points": "SELECT sum(length(id) + 16) FROM btml.density('SELECT a, b, c FROM capacity', "
                               "'SELECT a, b, c FROM capacity LIMIT 1000', 0.1)",
    "density of every row": "SELECT sum(length(id) + 16) FROM btml.density('SELECT a, b, c FROM capacity', 'capacity', 0.1)",
    "select_bandwidth, kr": "SELECT count(*) FROM btml.select_bandwidth('SELECT a, b, c, y FROM capacity', 'kr', 'y')",
    "exemplars, 50": "SELECT count(*) FROM btml.exemplars('SELECT a, b, c FROM capacity', 50)",
    "permutation_importance": "SELECT count(*) FROM btml.permutation_importance((SELECT model FROM capacity_model), "
                              "'capacity', 'y')",
    "shap_importance, all rows": "SELECT count(*) FROM btml.shap_importance((SELECT model FROM capacity_model), "
                                 "'capacity', sample_rows => 1000000000)",
    "predict": "SELECT count(btml.predict((SELECT model FROM capacity_model), c.*)) FROM capacity c",
}
ONLY = [name for name in os.environ.get("BTML_BENCH_FUNCTIONS", "").split(";") if name] or list(CALLS)


def psql(script):
    run = subprocess.run(["psql", "-XqAt", "-d", "postgres"], input=script, capture_output=True, text=True, check=False)
    return run.stdout.strip(), run.stderr.strip()


def make(rows):
    out, err = psql(f"""SET client_min_messages = warning; DROP TABLE IF EXISTS capacity, capacity_model;
        CREATE TABLE capacity AS SELECT a, b, c, d, e, f, g, h, i, j, t, 10 * sin(3 * a * b) + 5 * c + t::int % 7 + noise AS y,
            luck < 1 / (1 + exp(4 - 8 * a * b)) AS late, floor(-ln(1 - luck) * exp(a + b)) AS visits
        FROM (SELECT random() AS a, random() AS b, random() AS c, random() AS d, random() AS e, random() AS f,
                     random() AS g, random() AS h, random() AS i, random() AS j, (n % 30)::text AS t,
                     random() + random() - 1 AS noise, random() AS luck FROM generate_series(1, {rows}) n) n;
        CREATE TABLE capacity_model AS SELECT btml.boost_fit('SELECT * FROM capacity LIMIT 20000', 'y',
            exclude => '{{late,visits}}') AS model; VACUUM ANALYZE capacity;""")
    if err:
        sys.exit(err)


def measure(call):
    """Seconds, growth of the backend's peak in bytes, the size that the call returns; or what went wrong."""
    peak = ("SELECT pg_backend_pid() AS pid \\gset\n"
            "\\setenv BACKEND :pid\n\\! grep VmHWM /proc/$BACKEND/status\n\\! cat /proc/$BACKEND/stat\n")
    out, err = psql(f"""SET max_parallel_workers_per_gather = 0; SET btml.threads = 1; SET client_min_messages = warning;
        SET statement_timeout = '{LIMIT_S}s'; SET btml.memory_limit = '8GB'; SELECT btml.version() \\g /dev/null
        SELECT count(*) FROM capacity \\g /dev/null
        {peak}
        {call};
        {peak}""")
    if err:
        return None, None, "over %d s" % LIMIT_S if "statement timeout" in err else err.splitlines()[0]
    peaks = [int(kb) * 1024 for kb in re.findall(r"VmHWM:\s*(\d+) kB", out)]
    ticks = [sum(map(int, line.rsplit(")", 1)[1].split()[11:13])) for line in re.findall(r"^\d+ \(.*$", out, re.M)]
    seconds = (ticks[1] - ticks[0]) / os.sysconf("SC_CLK_TCK")
    size = re.search(r"^(\d+)$", out, re.M).group(1)
    return seconds, peaks[1] - peaks[0], int(size)


def main():
    print(f"{'call':<30} {'rows':>12} {'seconds':>10} {'memory, MB':>12} {'bytes a row':>12} {'result':>12}")
    for rows in ROWS:
        make(rows)
        for name in ONLY:
            seconds, memory, result = measure(CALLS[name])
            if seconds is None:
                print(f"{name:<30} {rows:>12,} {result}", flush=True)
                continue
            print(f"{name:<30} {rows:>12,} {seconds:>10.2f} {memory / 2**20:>12.1f} {memory / rows:>12.0f} {result:>12,}",
                  flush=True)
    psql("DROP TABLE capacity, capacity_model")


main()
