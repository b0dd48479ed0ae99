"""Distributed fits on one machine: what each exchange with the servers costs beyond the work on the rows, and the fit
against fetching the rows first and against rows that are here already.

The other servers are connections of postgres_fdw back to the same one, two of them, so all share its cores. Talks to a
server through psql (PGHOST, PGPORT, PGUSER: a superuser who may connect without a password).
"""

import os
import re
import subprocess

ROWS = int(os.environ.get("BTML_BENCH_ROWS", "2000000"))
RUNS = int(os.environ.get("BTML_BENCH_RUNS", "3"))
FEATURES = 10
SERVERS = 2
TREES = 20
COLUMNS = ", ".join(f"x{i}" for i in range(FEATURES))
ADDRESS = ", ".join(
    f"{option} '{os.environ[name]}'" for option, name in (("host", "PGHOST"), ("port", "PGPORT")) if name in os.environ
)


def psql(script):
    run = ["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", "postgres"]
    return subprocess.run(run, input=script, stdout=subprocess.PIPE, text=True, check=True).stdout


def setup(partitions):
    servers = "".join(
        f"""
        CREATE SERVER distributed_bench_{i} FOREIGN DATA WRAPPER postgres_fdw
            OPTIONS ({ADDRESS + ", " if ADDRESS else ""}dbname 'postgres', extensions 'btml', fetch_size '10000');
        CREATE USER MAPPING FOR CURRENT_USER SERVER distributed_bench_{i};"""
        for i in range(SERVERS)
    )
    parts = "".join(
        f"""
        CREATE TABLE part_{i} (LIKE here);
        CREATE FOREIGN TABLE there_{i} PARTITION OF there FOR VALUES WITH (MODULUS {partitions}, REMAINDER {i})
            SERVER distributed_bench_{i % SERVERS} OPTIONS (schema_name 'distributed_bench', table_name 'part_{i}',
                                                            batch_size '1000');"""
        for i in range(partitions)
    )
    psql(f"""
        SET client_min_messages = warning;
        CREATE EXTENSION IF NOT EXISTS postgres_fdw;
        DROP SCHEMA IF EXISTS distributed_bench CASCADE;
        {"".join(f"DROP SERVER IF EXISTS distributed_bench_{i} CASCADE;" for i in range(SERVERS))}
        CREATE SCHEMA distributed_bench;
        SET search_path = distributed_bench, public;
        SELECT setseed(0.5);
        CREATE TABLE here AS SELECT id, {COLUMNS}, x0 * x1 + sin(5 * x2) + x3 * x4 * x5 AS y
            FROM (SELECT id, {", ".join(f"random() AS x{i}" for i in range(FEATURES))}
                  FROM generate_series(1, {ROWS}) id) point;
        CREATE TABLE there (LIKE here) PARTITION BY HASH (id);
        {servers}{parts}
        INSERT INTO there SELECT * FROM here;
        VACUUM ANALYZE here;
        ANALYZE there;
    """)


def fit(table, strategy, trees):
    """The least seconds of a few fits, and how often servers were asked in one."""
    script = f"""
        \\timing on
        SELECT btml.summary(btml.boost_fit('SELECT {COLUMNS}, y FROM distributed_bench.{table}', 'y', trees => {trees},
                                           strategy => '{strategy}')) ->> 'strategy_reason';
    """
    out = psql(script * RUNS)
    asked = re.search(r"asked (\d+) times", out)
    return min(float(ms) for ms in re.findall(r"Time: ([\d.]+) ms", out)) / 1000, int(asked[1]) if asked else 0


def main():
    for partitions in (8, 32):
        setup(partitions)
        there, asked = fit("there", "distributed", TREES)
        first, asked_first = fit("there", "distributed", 1)
        here, here_first = (fit("here", "enumerate", trees)[0] for trees in (TREES, 1))
        fetched = fit("there", "enumerate", TREES)[0]
        exchanges = asked - asked_first
        overhead = ((there - first) - (here - here_first)) / exchanges
        print(f"{ROWS} rows in {partitions} partitions of {SERVERS} servers, {FEATURES} features, {TREES} trees: "
              f"{there:.2f} s there, {fetched:.2f} s fetched first, {here:.2f} s here")
        print(f"  after the first tree ({first:.2f} s there, {here_first:.2f} s here): {exchanges} exchanges, "
              f"{1000 * overhead:.1f} ms each beyond the work here")
    drop = "".join(f"DROP SERVER distributed_bench_{i} CASCADE;" for i in range(SERVERS))
    psql(f"SET client_min_messages = warning; DROP SCHEMA distributed_bench CASCADE; {drop}")


if __name__ == "__main__":
    main()
