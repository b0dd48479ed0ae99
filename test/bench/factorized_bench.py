"""Ordinary aggregates over joins: PostgreSQL with btml.factorize_aggregates, without it, and DuckDB on one thread.
Counts also by btml.sumprod, which reads tables into columns where the setting streams them. A ratio is another's time
by ours; of two threads, ours by theirs.

    python3 -m venv ~/duckdb && ~/duckdb/bin/pip install duckdb
    ~/duckdb/bin/python test/bench/factorized_bench.py                     # all queries
    ~/duckdb/bin/python test/bench/factorized_bench.py openflights cycles  # whose set or name holds one of the words

One process and work_mem = 256MB: the messages of cycles are held in memory.
Talks to the server through psql (PGHOST, PGPORT, PGUSER), in the database `postgres`, which has btml; without DuckDB
its column stays empty. BTML_BENCH_DATA names a folder with the sets movielens, openflights and housing (a folder each,
with load.sql or generate.sql); sets that it lacks are generated in their shape. BTML_BENCH_TIMEOUT=100 is the most
seconds of a statement, BTML_BENCH_REPEATS=3 the number of runs of which the least time counts, BTML_BENCH_SCALE=1 the
size of the generated patterns, BTML_BENCH_SETTING=on another value of the setting (exact leaves sums of floats alone),
BTML_BENCH_EXPLAIN=1 prints the plans. Rows of all three are compared, floats to 1e-9.
"""

import os
import re
import sys

from query_peers import cell, duck_of, duckdb, in_duck, in_postgres, psql, ratio

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.environ.get("BTML_BENCH_DATA", "")
TIMEOUT = float(os.environ.get("BTML_BENCH_TIMEOUT", "100"))
REPEATS = int(os.environ.get("BTML_BENCH_REPEATS", "3"))
SCALE = os.environ.get("BTML_BENCH_SCALE", "1")
PATTERNS = ("social", "site")
SETTING = os.environ.get("BTML_BENCH_SETTING", "on")

FILMS = "ratings r JOIN corating c USING (movie_id) JOIN movie_genre g USING (movie_id)"
TOWN = " JOIN ".join(["house h"] + [f"{table} USING (postcode)" for table in
                                    ("shop s", "restaurant r", "institution i", "demographics d", "transport t")])


def path(length):
    legs = "abcdefgh"[:length]
    return "legs a" + "".join(f" JOIN legs {x} ON {w}.dst = {x}.src" for w, x in zip(legs, legs[1:]))


def cycle(length):
    return path(length) + f" AND {'abcdefgh'[length - 1]}.dst = a.src"


# By set: the name of a query, and the query.
QUERIES = {
    "movielens": [
        ("ratings × corating × genre, count", f"SELECT count(*) FROM {FILMS}"),
        ("sum of a product, avg, max by genre",
         f"SELECT genre, count(*), sum(rating * rating2), avg(rating2), max(ts) FROM {FILMS} GROUP BY genre"),
        ("five tables, count, avg by user",
         f"SELECT r.user_id, count(*), avg(c.rating2) FROM {FILMS} JOIN users u ON u.user_id = r.user_id "
         "JOIN movies m ON m.movie_id = r.movie_id GROUP BY r.user_id"),
        ("a star without growth",
         "SELECT m.year, count(*), avg(r.rating) FROM ratings r JOIN movies m USING (movie_id) "
         "JOIN users u USING (user_id) GROUP BY m.year"),
        ("one user",
         "SELECT count(*), avg(c.rating2) FROM ratings r JOIN corating c USING (movie_id) WHERE r.user_id = 3"),
    ],
    "housing": [
        ("six tables, four aggregates",
         f"SELECT count(*), sum(h.price), avg(s.openinghoursshop), min(i.sizeinstitution) FROM {TOWN}"),
        ("key – foreign key, two tables", "SELECT d.nbhospitals, count(*), avg(h.price) FROM house h "
                                          "JOIN demographics d USING (postcode) GROUP BY d.nbhospitals"),
    ],
    "openflights": [
        ("2-paths by origin", f"SELECT a.src, count(*), sum(b.dist_km), max(b.dst) FROM {path(2)} GROUP BY a.src"),
        ("3-paths", f"SELECT count(*) FROM {path(3)}"),
        ("6-paths", f"SELECT count(*) FROM {path(6)}"),
        ("triangles, cyclic", f"SELECT count(*) FROM {cycle(3)}"),
        ("triangles by origin, three aggregates, cyclic",
         "SELECT a.src, count(*), sum(a.dist_km * b.dist_km * c.dist_km), avg(b.n_airlines) "
         f"FROM {cycle(3)} GROUP BY a.src"),
        ("4-cycles", f"SELECT count(*) FROM {cycle(4)}"),
        ("triangle with two tails, cyclic",
         f"SELECT count(*) FROM {cycle(3)} JOIN legs d ON a.src = d.src JOIN legs e ON b.src = e.src"),
    ],
    "social": [
        ("chain from city to tag class",
         "SELECT count(*) FROM city JOIN person p ON p.city = city.city JOIN member m ON m.person = p.person "
         "JOIN post ON post.forum = m.forum JOIN comment c ON c.reply_of = post.message "
         "JOIN message_tag t ON t.message = post.message JOIN tag ON tag.tag = t.tag"),
        ("acquaintances who answer, cyclic",
         "SELECT count(*) FROM knows k JOIN comment c ON c.creator = k.one "
         "JOIN post ON post.message = c.reply_of AND post.creator = k.other"),
        ("triangles within a country, cyclic",
         "SELECT count(*) FROM knows a JOIN knows b ON b.one = a.other "
         "JOIN knows c ON c.one = b.other AND c.other = a.one "
         "JOIN person p ON p.person = a.one JOIN city x ON x.city = p.city JOIN person q ON q.person = b.one "
         "JOIN city y ON y.city = q.city AND y.country = x.country JOIN person r ON r.person = c.one "
         "JOIN city z ON z.city = r.city AND z.country = x.country"),
        ("star of a message",
         "SELECT count(*) FROM message_tag t JOIN post ON post.message = t.message "
         "JOIN likes l ON l.message = t.message JOIN comment c ON c.reply_of = t.message"),
        ("two steps and an interest", "SELECT count(*) FROM knows a JOIN knows b ON b.one = a.other "
                                      "JOIN interest i ON i.person = b.other"),
        ("interests of acquaintances by class",
         "SELECT t.class, count(*), min(p.city), max(p.city) FROM knows k JOIN interest i ON i.person = k.other "
         "JOIN tag t ON t.tag = i.tag JOIN person p ON p.person = k.one GROUP BY t.class"),
        ("two steps to another person", "SELECT count(*) FROM knows a JOIN knows b ON b.one = a.other "
                                        "JOIN interest i ON i.person = b.other WHERE a.one <> b.other"),
    ],
    "site": [
        ("comments and votes of posts, filtered",
         "SELECT count(*) FROM posts p JOIN comments c ON c.post = p.id JOIN votes v ON v.post = p.id "
         "WHERE p.score >= 5 AND v.day < 1000"),
        ("badges, posts, comments of users",
         "SELECT count(*) FROM users u JOIN badges b ON b.owner = u.id JOIN posts p ON p.owner = u.id "
         "JOIN comments c ON c.author = u.id WHERE u.upvotes < 50"),
        ("star of five around a post",
         "SELECT count(*), sum(v.kind * h.kind), max(c.score) FROM posts p JOIN comments c ON c.post = p.id "
         "JOIN votes v ON v.post = p.id JOIN history h ON h.post = p.id JOIN links l ON l.post = p.id"),
        ("links of posts with votes on both ends",
         "SELECT p.kind, count(*), avg(q.score) FROM links l JOIN posts p ON p.id = l.post "
         "JOIN posts q ON q.id = l.other JOIN votes v ON v.post = p.id JOIN votes w ON w.post = q.id GROUP BY p.kind"),
        ("snowflake by score",
         "SELECT p.score, count(*), sum(u.reputation), avg(c.score) FROM posts p JOIN users u ON u.id = p.owner "
         "JOIN comments c ON c.post = p.id JOIN users a ON a.id = c.author GROUP BY p.score"),
        ("a selective star",
         "SELECT count(*) FROM posts p JOIN comments c ON c.post = p.id JOIN votes v ON v.post = p.id "
         "JOIN history h ON h.post = p.id WHERE p.score = 50 AND v.kind = 2"),
    ],
}


def load(name, patterns_made):
    """Loads or generates a set; the two sets of PATTERNS come from one script."""
    own = [file for file in ("load.sql", "generate.sql") if DATA and os.path.exists(f"{DATA}/{name}/{file}")]
    if own:
        psql("", "-o", os.devnull, "-v", f"dir={os.path.abspath(DATA)}/{name}", "-v", "s=20", "-v", "n=5000", "-f",
             f"{DATA}/{name}/{own[0]}")
    elif name in PATTERNS:
        if not patterns_made:
            psql("", "-o", os.devnull, "-v", f"scale={SCALE}", "-f", f"{HERE}/factorized_patterns.sql")
    else:
        psql("", "-o", os.devnull, "-v", f"set={name}", "-f", f"{HERE}/factorized_bench.sql")
    return "given" if own else "generated"


def settings(name, value, threads=1):
    return (f"SET search_path = {name}; SET max_parallel_workers_per_gather = 0; SET work_mem = '256MB'; "
            f"SET statement_timeout = '{TIMEOUT}s'; SET btml.factorize_aggregates = '{value}'; SET btml.threads = {threads}")


def in_columns(name, query):
    """The least milliseconds of btml.sumprod where the query counts rows, and its row."""
    counted = re.fullmatch(r"SELECT count\(\*\) (FROM (?!.*GROUP BY).*)", query)
    return in_postgres(settings(name, "off"), f"SELECT btml.sumprod($$SELECT {counted[1]}$$)", REPEATS) if counted else (None, None)


def plan(name, query):
    _, rows = in_postgres(settings(name, SETTING), f"EXPLAIN (ANALYZE, TIMING OFF) {query}", 1)
    return "\n".join("\t".join(row) for row in rows)


def same(one, other):
    """Whether two results have the same rows, in any order; numbers are compared to 1e-9."""
    def parsed(rows):
        return sorted((tuple(float(value) if re.fullmatch(r"[-+.\de]+", value) else value for value in row)
                       for row in rows), key=lambda row: tuple((isinstance(value, str), value) for value in row))

    def close(a, b):
        return a == b or isinstance(a, float) and isinstance(b, float) and abs(a - b) <= 1e-9 * max(abs(a), abs(b))

    return len(one) == len(other) and all(
        len(x) == len(y) and all(map(close, x, y)) for x, y in zip(parsed(one), parsed(other)))


def measure(name, what, query, duck):
    ours, rows = in_postgres(settings(name, SETTING), query, REPEATS)
    if ours is None:
        print(f"| {what} | over {TIMEOUT:.0f} s with the setting |", flush=True)
        return
    two, two_rows = in_postgres(settings(name, SETTING, threads=2), query, REPEATS)
    tree = plan(name, query)
    taken = "btml Factorized Aggregate" in tree
    counting = "SELECT count(*)" + query[query.index(" FROM "):].split(" GROUP BY ")[0]
    joined = in_postgres(settings(name, SETTING), counting, 1)[1] or [["nan"]]
    theirs, their_rows = in_postgres(settings(name, "off"), query, REPEATS)
    columns, column_rows = in_columns(name, query)
    ducks, duck_rows = in_duck(duck, query, REPEATS, TIMEOUT)
    peers = [r for r in (two_rows, their_rows, column_rows, duck_rows) if r is not None]
    verdict = "same" if all(same(rows, r) for r in peers) else "DIFFERENT"
    notes = ", ".join(([] if taken else ["not factorized"]) + (["fell back"] if "Fell Back" in tree else []) +
                      [verdict if peers else "no peer"])
    late = f"over {TIMEOUT:.0f} s"
    print(f"| {what} | {float(joined[0][0]):,.4g} | {cell(ours)} | {ratio(ours, two)} "
          f"| {cell(theirs) or late} | {ratio(theirs, ours)} | {cell(columns)} | {ratio(columns, ours)} "
          f"| {cell(ducks) or (late if duck else '')} | {ratio(ducks, ours)} | {notes} |", flush=True)
    if os.environ.get("BTML_BENCH_EXPLAIN"):
        print(tree)


def main():
    words = sys.argv[1:]
    version = psql("SHOW server_version").split()[0]
    print(f"PostgreSQL {version}, DuckDB {duckdb.__version__ if duckdb else '(none)'}, "
          f"btml.factorize_aggregates = {SETTING}, one thread but where two are named, least of {REPEATS}; load average {os.getloadavg()[0]:.2f}\n")
    patterns_made = False
    for name, queries in QUERIES.items():
        chosen = [(what, query) for what, query in queries if not words or any(w in f"{name} {what}" for w in words)]
        if not chosen:
            continue
        source = load(name, patterns_made)
        patterns_made |= source == "generated" and name in PATTERNS
        print(f"\n{name}, {source}\n| query | rows joined | ours, ms | by 2 threads | PostgreSQL, ms | ratio | sumprod, ms | ratio "
              "| DuckDB, ms | ratio | |\n|---|---|---|---|---|---|---|---|---|---|---|")
        duck = duck_of(name)
        for what, query in chosen:
            measure(name, what, query, duck)


main()
