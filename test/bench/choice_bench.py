"""Whether btml.factorize_aggregates takes the better plan: random counts over joins of tables with skewed, correlated keys.
Each query is run by PostgreSQL alone, as the setting chooses, and factorised whatever the cost.

    ~/duckdb/bin/python test/bench/choice_bench.py             # 150 queries of seed 1
    ~/duckdb/bin/python test/bench/choice_bench.py 40 7        # 40 queries of seed 7

Prints the sum of each and of the better plan of each query, how many queries are slower than PostgreSQL's plan by more
than three tenths and 5 ms, and the worst choices. Counts are compared. A query that passes the limit, or
whose count is beyond bigint, counts as the limit.

One process, work_mem = 256MB. Talks to the server through psql (PGHOST, PGPORT, PGUSER), in the database `postgres`,
which has btml; makes the schema choice_bench there, whose tables take some 90 MB. With DuckDB installed its time on one
thread is beside. BTML_BENCH_TIMEOUT=5 is the most seconds of a statement; BTML_BENCH_QUERIES=1 prints every query.
"""

import os
import random
import sys

from query_peers import duck_of, in_duck, in_postgres, psql

TIMEOUT = float(os.environ.get("BTML_BENCH_TIMEOUT", "5"))
SHOWS_ALL = os.environ.get("BTML_BENCH_QUERIES", "") == "1"

# A key is skewed: the part u^3 of the way through those that there are, for u uniform. Small numbers are those that many
# rows have, in all tables, so that keys are correlated.
TABLES = """
    CREATE TABLE users AS SELECT i AS id, floor(9000 * random() ^ 4 + 40000.0 / i)::int AS reputation,
        floor(400 * random() ^ 3)::int AS upvotes, floor(3000 * random())::int AS day FROM generate_series(1, 40000) i;
    CREATE TABLE posts AS SELECT i AS id, floor(40000 * random() ^ 3)::int + 1 AS owner,
        floor(60 * random() ^ 5 + 3000.0 / (i + 20))::int AS score, floor(2 * random() ^ 2)::int + 1 AS kind,
        floor(3000 * random())::int AS day FROM generate_series(1, 90000) i;
    CREATE TABLE badges AS SELECT i AS id, floor(40000 * random() ^ 3)::int + 1 AS owner,
        floor(3000 * random())::int AS day FROM generate_series(1, 80000) i;
    CREATE TABLE comments AS SELECT i AS id, floor(90000 * random() ^ 3)::int + 1 AS post,
        floor(40000 * random() ^ 4)::int + 1 AS author, floor(80 * random() ^ 8)::int AS score,
        floor(3000 * random())::int AS day FROM generate_series(1, 170000) i;
    CREATE TABLE votes AS SELECT i AS id, floor(90000 * random() ^ 3)::int + 1 AS post,
        CASE WHEN random() < 0.1 THEN floor(40000 * random() ^ 3)::int + 1 END AS voter,
        floor(15 * random() ^ 4)::int + 1 AS kind, floor(3000 * random())::int AS day FROM generate_series(1, 330000) i;
    CREATE TABLE history AS SELECT i AS id, floor(90000 * random() ^ 2)::int + 1 AS post,
        floor(40000 * random() ^ 5)::int + 1 AS editor, floor(12 * random() ^ 2)::int + 1 AS kind,
        floor(3000 * random())::int AS day FROM generate_series(1, 300000) i;
    CREATE TABLE links AS SELECT i AS id, floor(90000 * random() ^ 3)::int + 1 AS post,
        floor(90000 * random() ^ 5)::int + 1 AS other, floor(3000 * random())::int AS day FROM generate_series(1, 11000) i;
    CREATE TABLE tags AS SELECT i AS id, floor(90000 * random() ^ 4)::int + 1 AS post,
        floor(200 * random() ^ 3)::int AS uses FROM generate_series(1, 1000) i;
"""
# By table: its keys, by what they are of, and the columns of conditions with the powers of their values' distribution.
SHAPE = {
    "users": ([("user", "id")], [("reputation", 9000, 4), ("upvotes", 400, 3), ("day", 3000, 1)]),
    "posts": ([("post", "id"), ("user", "owner")], [("score", 60, 5), ("kind", 2, 1), ("day", 3000, 1)]),
    "badges": ([("user", "owner")], [("day", 3000, 1)]),
    "comments": ([("post", "post"), ("user", "author")], [("score", 80, 8), ("day", 3000, 1)]),
    "votes": ([("post", "post"), ("user", "voter")], [("kind", 15, 4), ("day", 3000, 1)]),
    "history": ([("post", "post"), ("user", "editor")], [("kind", 12, 2), ("day", 3000, 1)]),
    "links": ([("post", "post"), ("post", "other")], [("day", 3000, 1)]),
    "tags": ([("post", "post")], [("uses", 200, 3)]),
}


def condition(rng, table, selective):
    column, largest, power = rng.choice(SHAPE[table][1])
    value = int(largest * rng.random() ** power)
    if selective:
        return rng.choice([f"{table}.{column} = {value}", f"{table}.id = {int(1000 * rng.random()) + 1}"])
    kind = rng.randrange(3)
    if kind == 0:
        return f"{table}.{column} >= {value}"
    if kind == 1:
        return f"{table}.{column} <= {value}"
    other = int(largest * rng.random() ** power)
    return f"{table}.{column} BETWEEN {min(value, other)} AND {max(value, other)}"


def query(rng, selective):
    """A count over a tree of two to eight tables; where selective, a condition leaves few rows of one."""
    tables = [rng.choice(list(SHAPE))]
    joins = []
    size = rng.choice([2, 3, 3, 4, 4, 4, 5, 5, 6, 7, 8])
    while len(tables) < size:
        pairs = [(a, b, x, y) for a in tables for b in SHAPE if b not in tables
                 for kind, x in SHAPE[a][0] for other, y in SHAPE[b][0] if kind == other]
        a, b, x, y = rng.choice(pairs)
        tables.append(b)
        joins.append(f"{a}.{x} = {b}.{y}")
    special = rng.choice(tables) if selective else None
    where = [condition(rng, t, t == special) for t in tables if t == special or rng.random() < 0.5]
    return f"SELECT count(*) FROM {', '.join(tables)} WHERE {' AND '.join(joins + where)}"


MODES = {
    "postgresql": "SET btml.factorize_aggregates = off",
    "chosen": "SET btml.factorize_aggregates = exact",
    "factorised": "SET btml.factorize_aggregates = exact; SET btml.force_factorize_aggregates = on",
}


def run(statement, mode):
    """The least of two times in ms, and the count; the limit and None where it is passed."""
    settings = ("SET search_path = choice_bench; SET max_parallel_workers_per_gather = 0; SET work_mem = '256MB'; SET jit = off; "
                f"SET statement_timeout = {int(TIMEOUT * 1000)}; {MODES[mode]}")
    return limited(*in_postgres(settings, statement, 2, unfinished="statement timeout|bigint out of range"))


def limited(milliseconds, rows):
    return (TIMEOUT * 1000, None) if rows is None else (milliseconds, int(rows[0][0]))


def check_counts(statement, counts):
    known = {count for count in counts if count is not None}
    if len(known) > 1:
        sys.exit(f"counts differ: {counts} of {statement}")


def main():
    queries = int(sys.argv[1]) if len(sys.argv) > 1 else 150
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    indexes = "; ".join(f"CREATE INDEX ON {table} ({column})" for table in SHAPE
                        for column in ["id"] + [c for _, c in SHAPE[table][0] if c != "id"])
    psql(f"""SET client_min_messages = warning;
        DROP SCHEMA IF EXISTS choice_bench CASCADE; CREATE SCHEMA choice_bench; SET search_path = choice_bench;
        SELECT setseed(0.5) \\g /dev/null
        {TABLES} {indexes}; VACUUM ANALYZE;""")
    database = duck_of("choice_bench")
    rng = random.Random(seed)
    rows = []
    for number in range(queries):
        statement = query(rng, number % 5 == 0)
        results = {mode: run(statement, mode) for mode in MODES}
        if database:
            results["duckdb"] = limited(*in_duck(database, statement, 1, TIMEOUT))
        check_counts(statement, [count for _, count in results.values()])
        times = {mode: ms for mode, (ms, _) in results.items()}
        rows.append((times, statement))
        if SHOWS_ALL:
            print(" ".join(f"{mode} {ms:.1f}" for mode, ms in times.items()), statement, flush=True)
    psql("SET client_min_messages = warning; DROP SCHEMA choice_bench CASCADE")
    better = [min(times["postgresql"], times["factorised"]) for times, _ in rows]
    for mode in rows[0][0]:
        print(f"{mode:12} {sum(times[mode] for times, _ in rows) / 1000:8.2f} s")
    print(f"{'the better':12} {sum(better) / 1000:8.2f} s")
    slower = [times for times, _ in rows if times["chosen"] > 1.3 * times["postgresql"] + 5]
    print(f"chosen: {sum(t['chosen'] for t, _ in rows) / sum(better):.2f} times the better plans; "
          f"{len(slower)} of {queries} over 1.3 times PostgreSQL's time and 5 ms; "
          f"the slowest {max(t['chosen'] for t, _ in rows):.0f} ms")
    print("worst choices (ms):")
    for (times, statement), best in sorted(zip(rows, better), key=lambda x: x[1] - x[0][0]["chosen"])[:5]:
        print(f"  {times['postgresql']:7.1f} chosen {times['chosen']:7.1f} factorised {times['factorised']:7.1f}  {statement}")


if __name__ == "__main__":
    main()
