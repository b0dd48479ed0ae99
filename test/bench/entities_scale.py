"""How btml.feature_sql grows: generated events and predictions of things, a hundred events and ten predictions each.

Prints for 10 million events (or BTML_BENCH_EVENTS) the seconds of CREATE TABLE AS the features, the peak memory of the backend,
and where EXPLAIN ANALYZE says the seconds go; for a tenth of it the same beside plain SQL, which joins predictions and events
and groups with FILTERs. Talks to a server on this machine with btml (PGHOST, PGPORT, PGUSER) as a superuser. Needs 5 GB of disk.
"""

import collections
import json
import os

from entities_bench import PlainSql, literal, psql, timed

EVENTS = int(os.environ.get("BTML_BENCH_EVENTS", "10000000"))
SOURCE = "SELECT thing_id, as_of FROM entities_scale.prediction"


def make_tables(events):
    numbers = ", ".join(f"(hashint4extended(i, {k}) & 65535) / 256.0::float8 AS x{k}" for k in range(1, 7))
    psql(f"""DROP SCHEMA IF EXISTS entities_scale CASCADE; CREATE SCHEMA entities_scale; SET search_path = entities_scale;
        CREATE TABLE thing AS SELECT i AS thing_id FROM generate_series(1, {events // 100}) i;
        ALTER TABLE thing ADD PRIMARY KEY (thing_id);
        CREATE TABLE event AS SELECT 1 + (i % {events // 100}) AS thing_id,
            timestamp '2022-01-01' + (hashint4extended(i, 0) & 67108863) * interval '1 second' AS at, {numbers},
            (ARRAY['a', 'b', 'c', 'd'])[1 + (hashint4extended(i, 7) & 3)] AS kind, hashint4extended(i, 8) & 1 = 1 AS ok
            FROM generate_series(1, {events}) i;
        CREATE TABLE prediction AS SELECT 1 + (i % {events // 100}) AS thing_id,
            timestamp '2022-07-01' + (hashint4extended(i, 9) & 33554431) * interval '1 second' AS as_of
            FROM generate_series(1, {events // 10}) i;
        ALTER TABLE event ADD FOREIGN KEY (thing_id) REFERENCES thing;
        ALTER TABLE prediction ADD FOREIGN KEY (thing_id) REFERENCES thing;
        CREATE TABLE plan AS SELECT btml.relational_features({literal(SOURCE)}, as_of => 'as_of') AS features;
        VACUUM (ANALYZE, FREEZE) thing, event, prediction; CHECKPOINT""")


def create(query):
    """Returns the seconds and the peak memory in MB of storing what the query makes, and leaves nothing."""
    seconds, memory = timed(f"CREATE TABLE entities_scale.features AS {query}")
    psql("DROP TABLE entities_scale.features")
    return seconds, memory


def parts(query):
    """Returns the seconds by kind of node, without those of the nodes below it."""
    plan = json.loads("".join(psql(f"EXPLAIN (ANALYZE, FORMAT json) CREATE TABLE entities_scale.features AS {query}")))[0]
    psql("DROP TABLE IF EXISTS entities_scale.features")
    seconds = collections.Counter({"JIT": plan.get("JIT", {}).get("Timing", {}).get("Total", 0) / 1000})

    def add(node):
        below = node.get("Plans", [])
        own = node["Actual Total Time"] * node["Actual Loops"] - sum(n["Actual Total Time"] * n["Actual Loops"] for n in below
                                                                    if not n.get("Subplan Name", "").startswith("CTE"))
        seconds[node["Node Type"]] += own / 1000
        for child in below:
            add(child)
    add(plan["Plan"])
    seconds["storing"] = plan["Execution Time"] / 1000 - plan["Plan"]["Actual Total Time"] / 1000
    return seconds


def main():
    print(f"load {os.getloadavg()[0]:.1f}")
    for events in (EVENTS // 10, EVENTS):
        make_tables(events)
        plan = json.loads(psql("SELECT features FROM entities_scale.plan")[0])
        query = "\n".join(psql(f"SELECT btml.feature_sql(features, {literal(SOURCE)}) FROM entities_scale.plan"))
        seconds, memory = create(query)
        print(f"{events} events, {events // 10} predictions, {len(plan['features'])} features: {seconds:.1f} s, {memory} MB", flush=True)
        if events < EVENTS:
            plain_seconds, plain_memory = create(PlainSql(plan, SOURCE).select())
            print(f"plain SQL: {plain_seconds:.1f} s, {plain_memory} MB, {plain_seconds / seconds:.1f} times the seconds", flush=True)
        print(", ".join(f"{kind} {took:.1f} s" for kind, took in parts(query).most_common() if took >= 0.1), flush=True)
    psql("DROP SCHEMA entities_scale CASCADE")


main()
