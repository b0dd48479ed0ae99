"""The nine queries of the Labelled Subgraph Query Benchmark (LSQB; Mhedhbi, Lissandrini, Kuiper, Waudby, Szárnyas 2021) over
generated social networks: PostgreSQL alone, with btml.factorize_aggregates = exact as it chooses and factorised whatever
the cost, and DuckDB on one thread.

    python3 -m venv ~/duckdb && ~/duckdb/bin/pip install duckdb numpy
    ~/duckdb/bin/python test/bench/lsqb_bench.py                 # 1,000 persons
    ~/duckdb/bin/python test/bench/lsqb_bench.py 1000 10000      # two networks; as 10,000 persons, so the scale factor 1

Prints the times, how many times as fast as PostgreSQL and DuckDB the chosen plan is, and for both plans of btml whether all
of the join is factorised ("wholly") or which tables are joined first. A time over the limit counts as the limit. Counts that
differ are an error.

One process, work_mem = 256MB. Talks to the server through psql (PGHOST, PGPORT, PGUSER), in the database `postgres`, which
has btml; makes the schema lsqb_bench there, of some 400 MB for 10,000 persons. BTML_BENCH_TIMEOUT=60 is the most seconds of
a statement by the wall clock, BTML_BENCH_REPEATS=3 the number of runs of which the least time counts, BTML_BENCH_SEED=1
draws another network, BTML_BENCH_QUERIES=5,6 chooses among the queries. LSQB declares no keys; BTML_BENCH_KEYS=1 adds
primary keys. BTML_BENCH_CLOCK=processor compares processor time. BTML_BENCH_EXPLAIN=1 prints the factorised plans,
BTML_BENCH_KEEP=1 keeps the tables.
"""

import json
import os
import re
import sys
import tempfile

from lsqb_graph import TABLES, social_network
from query_peers import cell, duck_of, duckdb, in_duck, in_postgres, psql, ratio

TIMEOUT = float(os.environ.get("BTML_BENCH_TIMEOUT", "60"))
REPEATS = int(os.environ.get("BTML_BENCH_REPEATS", "3"))
SEED = int(os.environ.get("BTML_BENCH_SEED", "1"))
CHOSEN = [int(number) for number in os.environ.get("BTML_BENCH_QUERIES", "1,2,3,4,5,6,7,8,9").split(",")]

NULLABLE = ("post", "parent")  # of comments
KEYS = {table: columns if len(columns) == 2 and columns[0] != "id" else columns[:1] for table, columns in TABLES.items()}

# A message is a post or a comment.
VIEWS = """
    CREATE VIEW message_creator AS SELECT id AS message, creator FROM comment UNION ALL SELECT id, creator FROM post;
    CREATE VIEW message_tag AS SELECT comment AS message, tag FROM comment_tag UNION ALL SELECT post, tag FROM post_tag;
    CREATE VIEW reply AS SELECT id AS comment, post AS message FROM comment WHERE post IS NOT NULL
        UNION ALL SELECT id, parent FROM comment WHERE parent IS NOT NULL;
    CREATE VIEW likes AS SELECT person, comment AS message FROM likes_comment UNION ALL SELECT person, post FROM likes_post;
"""

QUERIES = {
    1: """FROM country JOIN city ON city.country = country.id JOIN person ON person.city = city.id
        JOIN member ON member.person = person.id JOIN forum ON forum.id = member.forum JOIN post ON post.forum = forum.id
        JOIN comment ON comment.post = post.id JOIN comment_tag ON comment_tag.comment = comment.id
        JOIN tag ON tag.id = comment_tag.tag JOIN tag_class ON tag_class.id = tag.class""",
    2: """FROM knows JOIN comment ON comment.creator = knows.person
        JOIN post ON post.creator = knows.friend AND post.id = comment.post""",
    3: """FROM city ca JOIN city cb ON cb.country = ca.country JOIN city cc ON cc.country = ca.country
        JOIN person a ON a.city = ca.id JOIN person b ON b.city = cb.id JOIN person c ON c.city = cc.id
        JOIN knows ab ON ab.person = a.id AND ab.friend = b.id JOIN knows bc ON bc.person = b.id AND bc.friend = c.id
        JOIN knows ac ON ac.person = c.id AND ac.friend = a.id""",
    4: """FROM message_tag t JOIN message_creator m ON m.message = t.message JOIN reply r ON r.message = t.message
        JOIN likes l ON l.message = t.message""",
    5: """FROM message_tag t JOIN reply r ON r.message = t.message JOIN comment_tag u ON u.comment = r.comment
        WHERE t.tag <> u.tag""",
    6: """FROM knows a JOIN knows b ON b.person = a.friend AND b.friend <> a.person JOIN interest i ON i.person = b.friend""",
    7: """FROM message_tag t JOIN message_creator m ON m.message = t.message LEFT JOIN reply r ON r.message = t.message
        LEFT JOIN likes l ON l.message = t.message""",
    8: """FROM message_tag t JOIN reply r ON r.message = t.message JOIN comment_tag u ON u.comment = r.comment
        LEFT JOIN comment_tag same ON same.tag = t.tag AND same.comment = r.comment
        WHERE t.tag <> u.tag AND same.tag IS NULL""",
    9: """FROM knows a JOIN knows b ON b.person = a.friend AND b.friend <> a.person JOIN interest i ON i.person = b.friend
        LEFT JOIN knows direct ON direct.person = a.person AND direct.friend = b.friend WHERE direct.person IS NULL""",
}

MODES = {
    "PostgreSQL": "SET btml.factorize_aggregates = off",
    "btml chosen": "SET btml.factorize_aggregates = exact",
    "btml forced": "SET btml.factorize_aggregates = exact; SET btml.force_factorize_aggregates = on",
}
OURS = ("btml chosen", "btml forced")


def settings(mode):
    return ("SET search_path = lsqb_bench; SET max_parallel_workers_per_gather = 0; SET btml.threads = 1; SET jit = off; "
            f"SET work_mem = '256MB'; SET statement_timeout = '{TIMEOUT}s'; {MODES[mode]}")


def write_csv(path, columns):
    """Writes numbers, blank where they are -1."""
    line = ",".join(["%d"] * len(columns))
    with open(path, "w", encoding="ascii") as file:
        for start in range(0, len(columns[0]), 1 << 20):
            part = zip(*(column[start:start + (1 << 20)].tolist() for column in columns))
            file.write("\n".join(map(line.__mod__, part)).replace("-1", "") + "\n")


def load(persons):
    """Makes the tables in PostgreSQL and returns how many rows each has."""
    network = social_network(persons, SEED)
    psql("SET client_min_messages = warning; DROP SCHEMA IF EXISTS lsqb_bench CASCADE; CREATE SCHEMA lsqb_bench")
    with tempfile.TemporaryDirectory() as folder:
        for table, columns in TABLES.items():
            types = ", ".join(f"{column} bigint" + (" NOT NULL" if table != "comment" or column not in NULLABLE else "")
                              for column in columns)
            write_csv(f"{folder}/{table}.csv", network[table])
            psql(f"CREATE TABLE lsqb_bench.{table} ({types});\n"
                 f"\\copy lsqb_bench.{table} FROM '{folder}/{table}.csv' (FORMAT csv)")
            if os.environ.get("BTML_BENCH_KEYS"):
                psql(f"ALTER TABLE lsqb_bench.{table} ADD PRIMARY KEY ({', '.join(KEYS[table])})")
            os.unlink(f"{folder}/{table}.csv")
    psql(f"SET search_path = lsqb_bench; {VIEWS} VACUUM ANALYZE;")
    return {table: len(columns[0]) for table, columns in network.items()}


def nodes(plan):
    yield plan
    for child in plan.get("Plans", []):
        yield from nodes(child)


def explain(number, mode, finishes, style):
    """Returns the lines of EXPLAIN, with what became of the plan where it finishes."""
    analysed = "ANALYZE, TIMING OFF, " if finishes else ""
    _, rows = in_postgres(settings(mode), f"EXPLAIN ({analysed}FORMAT {style}) SELECT count(*) {QUERIES[number]}", 1)
    return ["\t".join(row) for row in rows or []]


def how(number, mode, finishes):
    """Says how btml runs a query: factorised or not, what is joined before, and whether it changed its mind."""
    plan = json.loads("\n".join(explain(number, mode, finishes, "JSON")))[0]["Plan"]
    ours = next((node for node in nodes(plan) if node.get("Custom Plan Provider") == "btml Factorized Aggregate"), None)
    if not ours:
        return "ordinary"
    said = [f"joins {tables}" for tables in re.findall(r"\w+(?: \+ \w+)+", ours["Join Tree"])]
    if "Switched" in ours or "Ordinary Plan First" in ours:
        said.append("the ordinary plan first" + (", given up" if ours.get("Switched") else ""))
    if "Fell Back" in ours:
        said.append(f"fell back: {ours['Fell Back']}")
    return ", ".join(said or ["wholly"])


def measure(number, duck):
    """Prints the row of a query, and returns its times, the limit for those that pass it, and its counts."""
    query = f"SELECT count(*) {QUERIES[number]}"
    results = {mode: in_postgres(settings(mode), query, REPEATS) for mode in MODES}
    if duck:
        results["DuckDB"] = in_duck(duck, query, REPEATS, TIMEOUT)
    counts = {mode: int(rows[0][0]) for mode, (_, rows) in results.items() if rows}
    times = {mode: TIMEOUT * 1000 if ms is None else ms for mode, (ms, _) in results.items()}
    late = f"over {TIMEOUT:.0f} s"
    print(f"| {number} | {next(iter(counts.values()), 0):,} | " + " | ".join(cell(ms) or late for ms, _ in results.values())
          + f" | {ratios(times)} | " + " | ".join(how(number, mode, mode in counts) for mode in OURS) + " |", flush=True)
    return times, counts


def ratios(times):
    return " | ".join(ratio(times[peer], times["btml chosen"]) for peer in ("PostgreSQL", "DuckDB") if peer in times)


def bench(persons):
    """Prints the table of a network, and returns the queries whose counts differ."""
    rows = load(persons)
    duck = duck_of("lsqb_bench")
    if duck:
        duck.execute(VIEWS)
    peers = ["PostgreSQL"] + (["DuckDB"] if duck else [])
    columns = ["query", "count", *MODES, *peers[1:], *(f"times {peer}'s speed" for peer in peers), "chosen", "forced"]
    print(f"\n{persons:,} persons: " + ", ".join(f"{table} {size:,}" for table, size in rows.items()) + "; milliseconds\n")
    print("| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|", flush=True)
    measured = {number: measure(number, duck) for number in CHOSEN}
    total = {mode: sum(times[mode] for times, _ in measured.values()) for mode in measured[CHOSEN[0]][0]}
    print("| all | | " + " | ".join(map(cell, total.values())) + f" | {ratios(total)} | | |", flush=True)
    for number in CHOSEN if os.environ.get("BTML_BENCH_EXPLAIN") else []:
        plan = explain(number, "btml forced", "btml forced" in measured[number][1], "TEXT")
        print(f"\n{number}\n```text\n" + "\n".join(plan) + "\n```", flush=True)
    if not os.environ.get("BTML_BENCH_KEEP"):
        psql("SET client_min_messages = warning; DROP SCHEMA lsqb_bench CASCADE")
    return [f"query {number} of {persons} persons: {counts}" for number, (_, counts) in measured.items()
            if len(set(counts.values())) > 1]


def main():
    version = psql("SHOW server_version").split()[0]
    print(f"PostgreSQL {version}, DuckDB {duckdb.__version__ if duckdb else '(none)'}, one thread, least of {REPEATS}; "
          f"load average {os.getloadavg()[0]:.2f}")
    different = [line for word in sys.argv[1:] or ["1000"] for line in bench(int(word))]
    if different:
        sys.exit("counts differ: " + "; ".join(different))


main()
