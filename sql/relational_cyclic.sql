-- Joins whose keys form cycles: every number against SQL over the query as it stands, what btml.explain_join says of them,
-- and what happens when a bag does not fit.
SET client_min_messages = warning;
SET jit = off;
CREATE SCHEMA relational_cyclic;
SET search_path = relational_cyclic;
DO $$ BEGIN PERFORM setseed(0.5); END $$;

-- Edges of a graph, in tables of different key types, with duplicates and NULLs.
CREATE TABLE e1 (a int, b int, v float8);
CREATE TABLE e2 (a bigint, b int, v float8);
CREATE TABLE e3 (a int, b smallint, v float8);
CREATE TABLE node (a int, kind text, w float8);
CREATE TABLE corner (a int, b int, c int, u float8);
CREATE FUNCTION fill(nodes int, edges int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1..3 LOOP
        EXECUTE format('TRUNCATE e%s', i);
        EXECUTE format('INSERT INTO e%s SELECT nullif(floor(random() * %s), 0), floor(random() * %s), floor(random() * 7) - 2
            FROM generate_series(1, %s)', i, nodes, nodes, edges);
    END LOOP;
    TRUNCATE node, corner;
    INSERT INTO node SELECT i, 'kind ' || i % 3, floor(random() * 5) FROM generate_series(1, nodes, 1 + (random() < 0.5)::int) i;
    INSERT INTO corner SELECT floor(random() * nodes), floor(random() * nodes), floor(random() * nodes), floor(random() * 4)
    FROM generate_series(1, edges);
END $$;

CREATE TABLE shape (name text PRIMARY KEY, bags int, width text, source text);
INSERT INTO shape VALUES
    ('triangle', 1, '1.5', 'SELECT x.v AS o1, y.v AS o2, z.a AS o3 FROM e1 x, e2 y, e3 z WHERE x.b = y.a AND y.b = z.a AND z.b = x.a'),
    ('triangle of one table', 1, '1.5',
    'SELECT x.v AS o1, y.a AS o2, z.v AS o3 FROM e1 x JOIN e1 y ON x.b = y.a JOIN e1 z ON y.b = z.a AND z.b = x.a'),
    ('triangle with tails', 1, '1.5',
    'SELECT x.v AS o1, n.w AS o2, t.v AS o3 FROM e1 x JOIN e2 y ON x.b = y.a JOIN e3 z ON y.b = z.a AND z.b = x.a
        JOIN node n ON n.a = x.a JOIN e1 t ON t.a = z.a AND t.v > 0'),
    ('left joins', 1, '1.5', 'SELECT x.v AS o1, coalesce(n.w, 7) AS o2, coalesce(m.w, -1) AS o3
    FROM e1 x JOIN e2 y ON x.b = y.a JOIN e3 z ON y.b = z.a AND z.b = x.a
        LEFT JOIN node n ON n.a = x.a LEFT JOIN node m ON n.w = m.a'),
    ('square', 2, '2', 'SELECT x.v AS o1, y.v AS o2, q.v AS o3 FROM e1 x, e2 y, e3 z, e1 q
    WHERE x.b = y.a AND y.b = z.a AND z.b = q.a AND q.b = x.a'),
    ('pentagon', 3, '2', 'SELECT x.v AS o1, r.v AS o2, z.a AS o3 FROM e1 x, e2 y, e3 z, e1 q, e2 r
    WHERE x.b = y.a AND y.b = z.a AND z.b = q.a AND q.b = r.a AND r.b = x.a AND x.v > 1 AND q.v > 1'),
    ('clique', 1, '2', 'SELECT x.v AS o1, y.v AS o2, r.v AS o3 FROM e1 x, e2 y, e3 z, e1 p, e2 q, e3 r
    WHERE x.b = y.a AND y.b = z.b AND z.a = x.a
        AND p.a = x.a AND q.a = x.b AND r.a = y.b AND p.b = q.b AND q.b = r.b'),
    ('two triangles and a bridge', 2, '1.5',
    'SELECT x.v AS o1, b.v AS o2, r.v AS o3 FROM e1 x, e2 y, e3 z, e1 b, e1 p, e2 q, e3 r WHERE x.b = y.a AND y.b = z.a AND z.b = x.a
        AND b.a = x.a AND b.b = p.a AND p.b = q.a AND q.b = r.a AND r.b = p.a AND x.v > 2 AND p.v > 2'),
    ('composite keys', 1, '1.5', 'SELECT x.u AS o1, y.u AS o2, z.v AS o3 FROM corner x JOIN corner y ON x.a = y.a AND x.b = y.b
    JOIN e1 z ON z.a = x.c AND z.b = y.c'),
    ('three at a corner', 1, '1.333', 'SELECT x.u AS o1, y.u AS o2, z.u AS o3 FROM corner x, corner y, corner z, corner q
        WHERE x.a = y.a AND y.a = z.a AND x.b = y.b AND y.b = q.b AND x.c = z.b AND z.b = q.c AND y.c = z.c AND z.c = q.a'),
    ('a cycle and a table apart', 1, '1.5',
    'SELECT x.v AS o1, n.w AS o2, z.v AS o3 FROM e1 x, e2 y, e3 z, node n WHERE x.b = y.a AND y.b = z.a AND z.b = x.a AND n.a < 3'),
    ('a sub-query in the cycle', 1, '1.5',
    'SELECT x.v AS o1, s.n AS o2, z.v AS o3 FROM e1 x JOIN (SELECT a, b, count(*) AS n FROM e2
    GROUP BY a, b) s ON x.b = s.a JOIN e3 z ON s.b = z.a AND z.b = x.a');

-- Sums, least values, groups and a model; the number of rows when all agree.
CREATE FUNCTION compare(source text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    expected record;
    different bigint;
    mine btml.model;
    flat btml.model;
BEGIN
    EXECUTE format('SELECT count(*) AS n, coalesce(sum(o1::float8 * o2 * o3), 0) AS s, coalesce(min(o1::float8 + o2 + o3),
        ''Infinity'') AS m FROM (%s) AS q', source) INTO expected;
    IF btml.sumprod(source) IS DISTINCT FROM expected.s OR btml.sumprod(source, 'min_plus') IS DISTINCT FROM expected.m
        OR btml.sumprod(regexp_replace(source, '^SELECT .*? FROM', 'SELECT FROM')) IS DISTINCT FROM expected.n THEN
        RETURN format('%s rows with sum %s instead of %s with %s', btml.sumprod(regexp_replace(source, '^SELECT .*? FROM', 'SELECT FROM')),
        btml.sumprod(source), expected.n, expected.s);
    END IF;
    EXECUTE format('WITH e AS (SELECT o1, sum(o2::float8 * o3) FROM (%1$s) AS q GROUP BY o1),
        g AS (SELECT * FROM btml.sumprod_by(%1$L, ''{o1}'') AS t (o1 float8, value float8))
        SELECT count(*) FROM ((TABLE e EXCEPT ALL TABLE g) UNION ALL (TABLE g EXCEPT ALL TABLE e)) AS d', source) INTO different;
    IF different > 0 THEN RETURN format('%s groups differ', different); END IF;
    IF expected.n > 0 AND expected.n < 20000 AND random() < 0.5 THEN
        EXECUTE format('CREATE TEMP TABLE flat AS %s', source);
        mine := btml.boost_fit(source, 'o1', trees => 3, max_leaves => 5, min_leaf_rows => 1);
        flat := btml.boost_fit('flat', 'o1', trees => 3, max_leaves => 5, min_leaf_rows => 1);
        DROP TABLE pg_temp.flat;
        SELECT count(*) INTO different FROM (SELECT tree, node, feature, threshold, round(value::numeric, 9), rows FROM btml.trees(mine)
            EXCEPT SELECT tree, node, feature, threshold, round(value::numeric, 9), rows FROM btml.trees(flat)) AS d;
        IF different > 0 OR btml.summary(mine)->'rows' <> btml.summary(flat)->'rows' THEN RETURN format('%s nodes differ',
        different); END IF;
    END IF;
    RETURN NULL;
END $$;

CREATE TABLE failure (name text, round int, message text);
DO $$
BEGIN
    FOR round IN 1..20 LOOP
        PERFORM fill(3 + round % 6, 5 + round * 2);
        INSERT INTO failure SELECT name, round, compare(source) FROM shape;
    END LOOP;
END $$;
SELECT name, round, message FROM failure WHERE message IS NOT NULL;

-- The bags and the width that each shape must have.
SELECT name, count(*) FILTER (WHERE line ~ '\mbag \(') AS bags, max(substring(line FROM 'width ([0-9.]+)')) AS width,
    count(*) FILTER (WHERE line ~ '\mbag \(') = bags AND max(substring(line FROM 'width ([0-9.]+)')) = width AS as_expected
FROM shape, btml.explain_join(source) AS line GROUP BY name, bags, width ORDER BY name;

TRUNCATE e1, e2, e3, node;
INSERT INTO e1 SELECT i / 30, i % 30, i FROM generate_series(0, 899) i;
INSERT INTO e2 SELECT a, b, v FROM e1;
INSERT INTO e3 SELECT a, b, v FROM e1 WHERE a < 10;
INSERT INTO node SELECT i, 'kind', i FROM generate_series(0, 4) i;
SELECT * FROM btml.explain_join('SELECT FROM e1 JOIN e2 ON e1.b = e2.a JOIN e3 ON e2.b = e3.a AND e3.b = e1.a AND e1.v > 5
    JOIN node ON node.a = e1.b');
SELECT * FROM btml.explain_join('SELECT FROM e1 x, e2 y, e3 z, e1 q WHERE x.b = y.a AND y.b = z.a AND z.b = q.a AND q.b = x.a');
SELECT * FROM btml.explain_join('SELECT FROM e1 x, e2 y, e3 z WHERE x.b = y.a AND y.b = z.a AND z.b = x.a AND y.v < 0');
-- Twenty tables in a ring: the width is found by a heuristic.
SELECT line FROM btml.explain_join((SELECT format('SELECT FROM %s WHERE %s',
    string_agg(format('(SELECT a, b FROM e3 WHERE b < 10 AND v < 40) t%s', i), ', '),
    string_agg(format('t%s.b = t%s.a', i, (i + 1) % 20), ' AND ')) FROM generate_series(0, 19) i)) AS line WHERE line ~ 'ycl|Join of';

-- A bag beyond the limit is refused before it is made, with both numbers and the bag's tables.
CREATE FUNCTION refused(source text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE message text; detail text; hint text;
BEGIN
    RETURN btml.sumprod(source);
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    RETURN concat_ws(E'\n', SQLSTATE, regexp_replace(message, '\d+ kB,', 'N kB,'), regexp_replace(detail, 'more than \d+', 'more than N'),
    hint);
END $$;
SET btml.memory_limit = '450kB';
SELECT refused('SELECT FROM e1 x, e2 y, e1 z WHERE x.b = y.a AND y.b = z.a AND z.b = x.a');
SET btml.memory_limit = '256kB';
SELECT refused('SELECT FROM e1 x, e2 y, e1 z WHERE x.b = y.a AND y.b = z.a AND z.b = x.a');
RESET btml.memory_limit;
SELECT btml.sumprod('SELECT FROM e1 x, e2 y, e1 z WHERE x.b = y.a AND y.b = z.a AND z.b = x.a');

-- A bag that takes long is cancelled at once: 2.7e10 rows are being counted.
INSERT INTO e1 SELECT i / 3000, i % 3000, i FROM generate_series(0, 299999) i;
INSERT INTO e2 SELECT i % 3000, i / 3000, i FROM generate_series(0, 299999) i;
SET statement_timeout = '150ms';
CREATE FUNCTION time_to_cancel(source text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE start timestamptz := clock_timestamp();
BEGIN
    PERFORM btml.sumprod(source);
    RETURN 'not cancelled';
EXCEPTION WHEN query_canceled THEN
    RETURN CASE WHEN clock_timestamp() - start < '2 s' THEN 'cancelled' ELSE format('cancelled after %s', clock_timestamp() - start) END;
END $$;
SELECT time_to_cancel('SELECT FROM e1 x, e2 y, e1 z, e2 q WHERE x.b = y.a AND y.b = z.a AND z.b = q.a AND q.b = x.a');
RESET statement_timeout;

DROP SCHEMA relational_cyclic CASCADE;
