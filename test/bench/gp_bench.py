"""Gaussian processes in SQL: time and memory of large fits, of default ones and of a smooth process, rows per second of
predictions, two threads beside one.

Talks to a server on this machine through psql (PGHOST, PGPORT, PGUSER), as a superuser: peak memory and processor time
are read from /proc by the backend itself. BTML_BENCH_GP_ROWS (1,300,000) and BTML_BENCH_GP_EVALUATIONS (2,000) change
the size. Prints a table.
"""

import os
import re
import subprocess
import sys

ROWS = int(os.environ.get("BTML_BENCH_GP_ROWS", "1300000"))
EVALUATIONS = int(os.environ.get("BTML_BENCH_GP_EVALUATIONS", "2000"))
QUERY_ROWS = min(ROWS, 1000000)
SMALL_ROWS, SMALL_QUERY_ROWS = min(ROWS, 20000), min(ROWS, 100000)
FEATURES = [f"x{i}" for i in range(1, 12)]

# Correlated features on a grid of 10,000 values, and a smooth function of four of them with noise.
TABLE = f"""
DROP SCHEMA IF EXISTS gp_bench CASCADE; CREATE SCHEMA gp_bench;
CREATE TABLE gp_bench.point AS SELECT {', '.join(FEATURES)},
    sin(2 * x1) + x2 + 0.5 * cos(3 * x3) * x4 + 0.1 * (random() + random() + random() + random() - 2) AS y
FROM (SELECT setseed(0.5)) s, LATERAL (SELECT {', '.join(
    f"round((0.5 * common + (random() + random() + random() + random() - 2))::numeric, 4)::float8 AS {x}" for x in FEATURES)}
    FROM (SELECT random() + random() + random() + random() - 2 AS common FROM generate_series(1, {ROWS})) c) p;
CREATE TABLE gp_bench.model (name text, model btml.model);
VACUUM ANALYZE gp_bench.point;
"""
# Of the backend: its peak memory in kB, and its processor time in hundredths of a second.
USAGE = r"""SELECT 'usage', (regexp_match(pg_read_file('/proc/self/status'), 'VmHWM:\s+(\d+)'))[1], (s[14]::int + s[15]::int)
    FROM regexp_split_to_array(pg_read_file('/proc/self/stat'), ' ') s;"""


def sql(query, threads=1):
    """Runs a script in one session without parallel plans and returns what it prints."""
    script = f"""SET max_parallel_workers_per_gather = 0; SET btml.threads = {threads}; SET btml.memory_limit = '4GB';
        SET client_min_messages = warning;\n{query}"""
    run = subprocess.run(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", "postgres"], input=script,
                         capture_output=True, text=True, check=False)
    if run.returncode:
        sys.exit(f"psql: {run.stderr}")
    return run.stdout


def timed(query, threads=1):
    """Seconds of a statement, those of all its threads on processors, and MB that the backend held at most."""
    printed = sql(f"{USAGE}\n\\timing on\n{query}\n\\timing off\n{USAGE}", threads)
    seconds = float(re.search(r"^Time: ([0-9.]+) ms", printed, re.MULTILINE)[1]) / 1000
    (_, before), (peak, after) = ((int(kb), int(ticks)) for kb, ticks in
                                  re.findall(r"^usage\|(\d+)\|(\d+)", printed, re.MULTILINE))
    return seconds, (after - before) / 100, peak / 1024


def fit(name, options="", source="gp_bench.point"):
    arguments = ", ".join(filter(None, [f"'{source}', 'y'", options]))
    return f"INSERT INTO gp_bench.model SELECT '{name}', btml.gp_fit({arguments});"


def phases_of(name):
    phases = sql(f"SELECT p.* FROM gp_bench.model, jsonb_each_text(btml.summary(model)->'seconds') p WHERE name = '{name}'")
    for phase, took in re.findall(r"^(.+)\|([0-9.]+)$", phases, re.MULTILINE):
        line(f"  {phase}", float(took), "s")


def line(what, value, unit, asked=""):
    print(f"{what:<72} {value:>12,.2f} {unit:<12} {asked}", flush=True)


def main():
    sql(TABLE)
    print(f"{ROWS:,} rows of {len(FEATURES)} features, {EVALUATIONS:,} evaluations of the likelihood\n")

    seconds, _, peak = timed(fit("one", f"combine => 'mixture', mean => 'zero', evaluations => {EVALUATIONS}"), 2)
    line("gp_fit, one member, two threads", seconds, "s", "asked: 300")
    line("  peak memory of the backend", peak, "MB", "asked: 400")
    phases_of("one")
    line("  bytes a row of the model", float(sql("SELECT length(model::bytea) FROM gp_bench.model")) / ROWS, "")

    predict = """SELECT sum((n).mean + (n).sd) FROM (SELECT {call} AS n FROM gp_bench.model,
        (SELECT * FROM gp_bench.point LIMIT {rows}) p WHERE name = '{name}' OFFSET 0) q;"""
    array = f"btml.predict_normal(model, ARRAY[{', '.join(FEATURES)}])"
    for what, call in (("a record", "btml.predict_normal(model, p)"), ("an array", array)):
        decoding, _, _ = timed(predict.format(call=call, rows=1, name="one"))
        seconds, processor, _ = timed(predict.format(call=call, rows=QUERY_ROWS, name="one"))
        line(f"predict_normal of {what}", QUERY_ROWS / seconds, "rows/s", "asked: 300,000")
        line("  in a second of the processor", QUERY_ROWS / processor, "rows/s")
        line("  of that to decode the model, once a scan", decoding, "s")

    members = "combine => 'mixture', mean => 'zero', members => 4, evaluations => 200"
    one, _, _ = timed(fit("threads1", members), 1)
    two, _, _ = timed(fit("threads2", members), 2)
    line("4 members, 50 evaluations each, one thread", one, "s")
    line("  two threads", two, "s")
    line("  speed-up", one / two, "")

    source = f"SELECT * FROM gp_bench.point LIMIT {SMALL_ROWS}"
    seconds, _, _ = timed(fit("sum", "combine => 'kernel_sum', mean => 'zero', members => 10, evaluations => 25000", source), 2)
    line(f"kernel_sum of 10 members on {SMALL_ROWS:,} rows, two threads", seconds, "s")
    decoding, _, _ = timed(predict.format(call=array, rows=1, name="sum"))
    seconds, _, _ = timed(predict.format(call=array, rows=SMALL_QUERY_ROWS, name="sum"))
    line("  predict_normal", SMALL_QUERY_ROWS / seconds, "rows/s")
    line("  of that to decode the model", decoding, "s")

    for count in (48000, 100000):
        source = f"SELECT {', '.join(FEATURES[:8])}, y FROM gp_bench.point LIMIT {min(ROWS, count)}"
        seconds, _, peak = timed(fit(f"default {count}", source=source), 2)
        line(f"gp_fit by default, {min(ROWS, count):,} rows of 8 features, two threads", seconds, "s",
             "asked: 30" if count == 48000 else "")
        line("  peak memory of the backend", peak, "MB")
    seconds, _, peak = timed(fit("smooth", "kernel => 'matern52', exemplars => 512"), 2)
    line("gp_fit, Matérn 5/2, 512 exemplars, two threads", seconds, "s", "asked: 60")
    line("  peak memory of the backend", peak, "MB")
    phases_of("smooth")
    sql("DROP SCHEMA gp_bench CASCADE")


main()
