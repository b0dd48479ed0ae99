-- What becomes one base relation each and what does not; every result against SQL over the query as it stands.
SET client_min_messages = warning;
SET jit = off;
CREATE SCHEMA relational_base;
SET search_path = relational_base;

CREATE TABLE a (x int, y int, v float8);
CREATE TABLE b (x int, y int, w float8);
CREATE TABLE c (x int, z int, u float8);
CREATE TABLE empty (x int, y int, w float8);
INSERT INTO a VALUES (1, 1, 2), (1, 2, 3), (2, 2, 5), (2, 2, 5), (3, 1, 7), (NULL, 3, 11), (4, NULL, 13);
INSERT INTO b VALUES (1, 1, 1), (2, 1, 2), (2, 2, 3), (5, 5, 5), (NULL, 1, 7), (3, NULL, 4), (1, 2, NULL);
INSERT INTO c VALUES (1, 1, 1), (2, 1, 2), (2, 2, 3), (1, 5, 4), (6, 6, 6), (NULL, 2, 5), (2, NULL, 0.5);

-- The sum over the rows of the product of the columns, by btml and by SQL; the base relations btml made of the source,
-- and how it joined left.
CREATE FUNCTION sum_of(source text, OUT sum text, OUT relations text) LANGUAGE plpgsql AS $$
DECLARE
    columns text;
    expected float8;
    actual float8;
BEGIN
    EXECUTE format('CREATE TEMP VIEW typed AS %s', source);
    columns := (SELECT coalesce(string_agg(format('%I::int::float8', attname), ' * ') FILTER (WHERE atttypid = 'bool'::regtype), '1')
        || coalesce(' * ' || string_agg(format('%I::float8', attname), ' * ') FILTER (WHERE atttypid <> 'bool'::regtype), '')
        FROM pg_attribute WHERE attrelid = 'pg_temp.typed'::regclass);
    DROP VIEW pg_temp.typed;
    EXECUTE format('SELECT coalesce(sum(%s), 0) FROM (%s) AS q', columns, source) INTO expected;
    actual := btml.sumprod(source);
    sum := CASE WHEN abs(actual - expected) <= 1e-12 * abs(expected) THEN actual::text ELSE format('%s, not %s', expected, actual) END;
    relations := (SELECT string_agg(regexp_replace(line, '^ *(-> )?(.*?)  \(rows.*$', '\2'), ' | ') FROM btml.explain_join(source) AS
        line WHERE line ~ 'rows: \d+ read');
END $$;
CREATE FUNCTION all_of(VARIADIC sources text[]) RETURNS TABLE (source text, sum text, relations text) LANGUAGE sql AS
$$ SELECT s.source, r.* FROM unnest(sources) WITH ORDINALITY AS s (source, number), sum_of(s.source) AS r ORDER BY s.number $$;

-- Left joins.
SELECT * FROM all_of(
    'SELECT v FROM a LEFT JOIN b ON a.x = b.x',
    'SELECT v, w FROM a LEFT JOIN b ON a.x = b.x',
    'SELECT v, coalesce(w, 10) AS w FROM a LEFT JOIN b ON a.x = b.x',
    'SELECT v, coalesce(w, 10) AS w FROM a LEFT JOIN b USING (x)',
    'SELECT v, coalesce(w, 10) AS w FROM a LEFT JOIN b USING (x, y)',
    'SELECT v, coalesce(w, 10) AS w FROM a NATURAL LEFT JOIN b',
    'SELECT v FROM a LEFT JOIN b ON true',
    'SELECT v FROM a LEFT JOIN empty ON true',
    'SELECT v FROM a LEFT JOIN empty ON a.x = empty.x',
    'SELECT v FROM a LEFT JOIN b ON false',
    'SELECT v FROM a LEFT JOIN b ON NULL',
    'SELECT v FROM a LEFT JOIN b ON now() < ''2001-01-01''',
    'SELECT v, coalesce(w, 10) AS w FROM a LEFT JOIN b ON a.x = b.x AND b.y = 1',
    'SELECT v, coalesce(w, 10) AS w FROM a LEFT JOIN b ON a.x = b.x AND a.y = 1',
    'SELECT v, coalesce(w, 10) AS w FROM a LEFT JOIN b ON a.x = b.x AND a.y < b.y',
    'SELECT v, coalesce(w, 10) AS w FROM a LEFT JOIN b ON a.x = b.x AND a.y = b.x',
    'SELECT v, coalesce(w, 10) AS w FROM a LEFT JOIN b ON a.x = b.x AND b.w IS NULL',
    'SELECT v, coalesce(w, 10) AS w FROM a LEFT JOIN b ON a.x = b.x AND a.y IS NULL',
    'SELECT v, coalesce(w, 10) AS w FROM a LEFT JOIN b ON a.x = b.x AND now() < ''2001-01-01''',
    'SELECT v, coalesce(w, 10) AS w FROM a LEFT JOIN b ON a.x = b.x OR a.y = b.y',
    'SELECT v, coalesce(w, 10) AS w FROM a LEFT JOIN b ON a.x IS NOT DISTINCT FROM b.x',
    'SELECT v, coalesce(w, 10) AS w FROM a LEFT JOIN b ON a.x = b.x AND EXISTS (SELECT FROM c WHERE c.x = b.x)',
    'SELECT v, coalesce(w, 10) AS w FROM a LEFT JOIN b ON a.x = b.x AND EXISTS (SELECT FROM c WHERE c.x = a.x AND c.z = b.y)',
    'SELECT v FROM a LEFT JOIN b ON a.x = b.x WHERE b.x IS NULL',
    'SELECT v FROM a LEFT JOIN b ON a.x = b.x AND b.y = 2 WHERE b.x IS NULL AND a.y > 1',
    'SELECT v FROM a LEFT JOIN b ON a.x = b.x WHERE b.w IS NULL',
    'SELECT v FROM a LEFT JOIN b ON a.x = b.x WHERE b IS NULL',
    'SELECT v, w FROM a LEFT JOIN b ON a.x = b.x WHERE b.y = 1',
    'SELECT v FROM a LEFT JOIN b ON a.x = b.x WHERE b.y IS NOT NULL',
    'SELECT v FROM a LEFT JOIN b ON a.x = b.x WHERE coalesce(b.y, 1) = 1',
    'SELECT v FROM a LEFT JOIN b ON a.x = b.x WHERE a.y = 1',
    'SELECT v FROM a LEFT JOIN b ON a.x = b.x WHERE (b.y = 1) IS NOT TRUE',
    'SELECT v FROM a LEFT JOIN b ON a.x = b.x WHERE now() < ''2001-01-01''',
    'SELECT v, (b.x IS NULL) AS missing FROM a LEFT JOIN b ON a.x = b.x',
    'SELECT v, length(coalesce(b::text, ''none'')) AS n FROM a LEFT JOIN b ON a.x = b.x',
    'SELECT v, 2 AS two FROM a LEFT JOIN b ON a.x = b.x',
    'SELECT v, CASE WHEN w IS NULL THEN 3 WHEN w > 1 THEN 2 END AS k FROM a LEFT JOIN b ON a.x = b.x',
    'SELECT v + coalesce(w, 1) AS s FROM a LEFT JOIN b ON a.x = b.x');

-- Chains and nests of them.
SELECT * FROM all_of(
    'SELECT v, coalesce(w, 2) AS w, coalesce(u, 3) AS u FROM a LEFT JOIN b ON a.x = b.x LEFT JOIN c ON a.x = c.x',
    'SELECT v, coalesce(w, 2) AS w, coalesce(u, 3) AS u FROM a LEFT JOIN b ON a.x = b.x LEFT JOIN c ON b.y = c.z',
    'SELECT v, coalesce(w, 2) AS w, coalesce(u, 3) AS u FROM a LEFT JOIN b ON a.x = b.x LEFT JOIN c ON coalesce(b.y, 2) = c.z',
    'SELECT v, coalesce(w, 2) AS w, coalesce(u, 3) AS u FROM a LEFT JOIN b ON a.x = b.x LEFT JOIN c ON b.y + 1 = c.z AND c.u > 1',
    'SELECT v, coalesce(w, 2) AS w, coalesce(u, 3) AS u FROM a LEFT JOIN b ON a.x = b.x LEFT JOIN c ON b.y = c.z AND a.x = c.x',
    'SELECT v, coalesce(w, 2) AS w, coalesce(u, 3) AS u FROM a LEFT JOIN b ON a.x = b.x LEFT JOIN c ON b.y = c.z AND b.w = 1',
    'SELECT v, coalesce(w, 2) AS w, coalesce(u, 3) AS u FROM a LEFT JOIN b ON a.x = b.x LEFT JOIN c ON true',
    'SELECT v, coalesce(w, 2) AS w, u FROM a LEFT JOIN b ON a.x = b.x JOIN c ON a.x = c.x',
    'SELECT v, coalesce(w, 2) AS w, u FROM a LEFT JOIN b ON a.x = b.x JOIN c ON b.y = c.x',
    'SELECT v, coalesce(w, 2) AS w, u FROM a LEFT JOIN b ON a.x = b.x JOIN c ON coalesce(b.y, 1) = c.x',
    'SELECT v, coalesce(w, 2) AS w, u FROM a LEFT JOIN b ON a.x = b.x, c',
    'SELECT v, coalesce(w, 2) AS w, coalesce(u, 3) AS u FROM a LEFT JOIN (b JOIN c ON b.y = c.z) ON a.x = b.x',
    'SELECT v, coalesce(w, 2) AS w, coalesce(u, 3) AS u FROM a LEFT JOIN (b LEFT JOIN c ON b.y = c.z) ON a.x = b.x',
    'SELECT v, coalesce(w, 2) AS w, coalesce(u, 3) AS u FROM a LEFT JOIN (b LEFT JOIN c ON b.y = c.z AND c.u > 1) ON a.x = b.x AND b.w < 3',
    'SELECT v, coalesce(w, 2) AS w, coalesce(u, 3) AS u FROM a LEFT JOIN (b CROSS JOIN c) ON a.x = b.x AND a.y = c.x',
    'SELECT v, w, coalesce(u, 3) AS u FROM (a JOIN b ON a.x = b.x) LEFT JOIN c ON b.y = c.z',
    'SELECT v, w, coalesce(u, 3) AS u FROM (a JOIN b ON a.x = b.x) LEFT JOIN c ON b.y = c.z AND a.y = c.x',
    'SELECT v, w, coalesce(u, 3) AS u FROM a, b LEFT JOIN c ON b.y = c.z WHERE a.x = b.x',
    'SELECT a.v, q.v AS qv FROM a LEFT JOIN b ON a.x = b.x LEFT JOIN a AS q ON q.x = b.y WHERE q.x IS NULL OR q.y = 1');

-- Left joins for the rows without a match.
CREATE TABLE required (x int NOT NULL, y int NOT NULL, w float8, flag bool);
INSERT INTO required VALUES (1, 1, 1, true), (1, 2, NULL, false), (2, 2, 3, NULL), (5, 5, 5, true);
CREATE VIEW unmatched AS SELECT a.x, a.y, v FROM a LEFT JOIN b ON a.x = b.x WHERE b.x IS NULL;
SELECT * FROM all_of(
    'SELECT v FROM a LEFT JOIN required r ON a.x = r.x WHERE r.x IS NULL',
    'SELECT v FROM a LEFT JOIN required r ON a.x = r.x WHERE r.y IS NULL',
    'SELECT v FROM a LEFT JOIN required r ON a.x = r.x WHERE r.w IS NULL',
    'SELECT v FROM a LEFT JOIN required r ON a.x = r.x AND r.w > 1 WHERE r.w IS NULL',
    'SELECT v FROM a LEFT JOIN required r ON a.x = r.x AND r.flag WHERE r.flag IS UNKNOWN',
    'SELECT v, coalesce(w, 10) AS w FROM a LEFT JOIN required r ON a.x = r.x WHERE r.x IS NULL OR r.y = 1',
    'SELECT v, coalesce(w, 10) AS w FROM a LEFT JOIN b ON a.x = b.x WHERE b.x IS NULL',
    'SELECT v FROM b RIGHT JOIN a ON a.x = b.x WHERE b.x IS NULL',
    'SELECT v FROM a FULL JOIN b ON a.x = b.x WHERE b.x IS NULL AND v > 2',
    'SELECT v FROM a LEFT JOIN b ON a.x = b.x WHERE b.y IS NULL AND b.w > 1',
    'SELECT v FROM a LEFT JOIN b ON a.x = b.x LEFT JOIN c ON a.y = c.z WHERE b.x IS NULL',
    'SELECT v FROM a LEFT JOIN b ON a.x = b.x LEFT JOIN c ON a.y = c.z WHERE b.x IS NULL AND c.z IS NULL',
    'SELECT v, coalesce(w, 10) AS w FROM a LEFT JOIN b ON a.x = b.x LEFT JOIN c ON b.y = c.z WHERE c.z IS NULL',
    'SELECT v, w FROM a LEFT JOIN b ON a.x = b.x LEFT JOIN c ON b.y = c.z WHERE c.z IS NULL AND b.w > 1',
    'SELECT v FROM a LEFT JOIN (b LEFT JOIN c ON b.y = c.z) ON a.x = b.x WHERE c.z IS NULL',
    'SELECT v FROM a LEFT JOIN (b LEFT JOIN c ON b.y = c.z) ON a.x = b.x AND c.z IS NULL',
    'SELECT v, u FROM c JOIN (a LEFT JOIN b ON a.x = b.x) ON c.z = coalesce(a.y, 5) AND b.x IS NULL',
    'SELECT v FROM unmatched',
    'SELECT v, u FROM unmatched JOIN c ON z = coalesce(y, 5)',
    'SELECT a.v, coalesce(m.v, 3) AS mv FROM a LEFT JOIN unmatched m ON a.y = m.y',
    'SELECT a.v FROM a LEFT JOIN unmatched m ON a.y = m.y WHERE m.y IS NULL');

-- Right and full joins.
SELECT * FROM all_of(
    'SELECT v, coalesce(w, 10) AS w FROM b RIGHT JOIN a ON a.x = b.x',
    'SELECT v, 2 AS two FROM b RIGHT JOIN a ON a.x = b.x',
    'SELECT 2 AS two FROM b RIGHT JOIN a ON a.x = b.x',
    'SELECT FROM b RIGHT JOIN a ON a.x = b.x WHERE now() < ''2001-01-01''',
    'SELECT v, coalesce(u, 3) AS u FROM (c RIGHT JOIN b ON b.y = c.z) RIGHT JOIN a ON a.x = b.x',
    'SELECT v, coalesce(u, 3) AS u FROM (b RIGHT JOIN a ON a.x = b.x) LEFT JOIN c ON true',
    'SELECT v, coalesce(w, 10) AS w FROM b RIGHT JOIN a ON a.x = b.x AND a.y = 1',
    'SELECT coalesce(v, 2) AS v, coalesce(w, 10) AS w FROM a FULL JOIN b ON a.x = b.x',
    'SELECT coalesce(v, 2) AS v, w FROM a FULL JOIN b ON a.x = b.x WHERE w > 1',
    'SELECT v, coalesce(w, 2) AS w FROM a FULL JOIN b ON a.x = b.x WHERE v > 3',
    'SELECT v, w FROM a FULL JOIN b ON a.x = b.x WHERE v > 3 AND w > 1',
    'SELECT coalesce(v, 2) AS v, u FROM a FULL JOIN b USING (x) JOIN c USING (x)',
    'SELECT x AS k, coalesce(u, 3) AS u FROM a FULL JOIN b USING (x) LEFT JOIN c USING (x)',
    'SELECT x AS k, coalesce(v, 3) AS v FROM a FULL JOIN b USING (x), LATERAL generate_series(1, x) AS g');

-- Views, sub-queries and WITH.
CREATE VIEW left_view AS SELECT a.x, a.y, v, coalesce(w, 10) AS w FROM a LEFT JOIN b ON a.x = b.x;
CREATE VIEW constant_view AS SELECT x, y, 1 AS one, coalesce(w, 0) + 1 AS more FROM b;
CREATE VIEW on_view AS SELECT l.x, v, w, u FROM left_view l JOIN c ON l.y = c.z;
CREATE VIEW filter_view AS SELECT * FROM a WHERE y IN (SELECT z FROM c) AND NOT EXISTS (SELECT FROM b WHERE b.x = a.x AND b.y = 2);
CREATE VIEW barrier_view WITH (security_barrier) AS SELECT b.x, w, u FROM b JOIN c ON b.y = c.z;
CREATE MATERIALIZED VIEW stored AS SELECT * FROM on_view;
SELECT * FROM all_of(
    'SELECT v, w FROM left_view',
    'SELECT v, w, u FROM on_view',
    'SELECT o.v, f.v AS fv FROM on_view o JOIN filter_view f USING (x)',
    'SELECT v, coalesce(one, 5) AS one FROM a LEFT JOIN constant_view o ON a.x = o.x',
    'SELECT v, coalesce(more, 5) AS more FROM a LEFT JOIN constant_view o ON a.x = o.x',
    'SELECT v, coalesce(u, 7) AS u FROM a LEFT JOIN constant_view o ON a.x = o.x LEFT JOIN c ON c.z = o.one',
    'SELECT v, u FROM (a LEFT JOIN constant_view o ON a.x = o.x), c WHERE coalesce(o.one, 2) = c.z',
    'SELECT v, coalesce(u, 7) AS u FROM (a LEFT JOIN constant_view o ON a.x = o.x) LEFT JOIN c ON c.z = coalesce(o.one, 2)',
    'SELECT v, u FROM a LEFT JOIN constant_view o ON a.x = o.x JOIN c ON a.y = c.z WHERE o.one IS NULL',
    'SELECT v FROM a LEFT JOIN constant_view o ON a.x = o.x WHERE NOT EXISTS (SELECT FROM c WHERE c.z = o.one)',
    'SELECT v, coalesce(l.w, 2) AS w FROM a LEFT JOIN left_view l USING (x, v)',
    'SELECT v FROM filter_view',
    'SELECT f.v, coalesce(b.w, 2) AS w FROM filter_view f LEFT JOIN b ON f.x = b.y',
    'SELECT v, w, u FROM a JOIN barrier_view USING (x)',
    'SELECT s.v, a.v AS av FROM stored s JOIN a USING (x)',
    'SELECT v, w FROM a JOIN (SELECT x, w FROM b WHERE w > 1) s USING (x)',
    'SELECT v, w FROM a JOIN (SELECT DISTINCT x, w FROM b) s USING (x)',
    'SELECT v, w FROM a JOIN (SELECT x, sum(w) AS w FROM b GROUP BY x) s USING (x)',
    'SELECT v, w FROM a JOIN (SELECT x, w FROM b ORDER BY w DESC, x LIMIT 3) s USING (x)',
    'SELECT v, w FROM a JOIN (SELECT x, w FROM b UNION SELECT x, u FROM c) s USING (x)',
    'SELECT v, w FROM a JOIN (SELECT x, w FROM b UNION ALL SELECT x, u FROM c) s USING (x)',
    'SELECT v, coalesce(w, 3) AS w FROM a LEFT JOIN (SELECT x, w FROM b UNION ALL SELECT x, 1 FROM c) s USING (x)',
    'SELECT v, r FROM a JOIN (SELECT x, row_number() OVER (ORDER BY x, w) AS r FROM b) s USING (x)',
    'SELECT v, n FROM a, (SELECT count(*) AS n FROM b) s',
    'SELECT v, k FROM a, (SELECT 3 AS k) s',
    'SELECT v, k FROM a LEFT JOIN (SELECT 2 AS k) s ON a.x = s.k',
    'SELECT v, w FROM a JOIN LATERAL (SELECT w FROM b WHERE b.x = a.x ORDER BY w LIMIT 1) s ON true',
    'SELECT v, coalesce(s.w, 4) AS w FROM a LEFT JOIN LATERAL (SELECT w, y FROM b WHERE b.x = a.x) s ON s.y = a.y',
    'SELECT v, u, coalesce(s.w, 4) AS w FROM a JOIN c ON a.y = c.z LEFT JOIN LATERAL (SELECT coalesce(w, a.x) AS w, x FROM b WHERE b.y = '
        'a.y) s ON s.x = c.x',
    'SELECT v, g, u FROM a, LATERAL generate_series(1, a.x) AS g, c WHERE c.z = g',
    'SELECT v, g FROM a, generate_series(1, 3) AS g WHERE a.y = g',
    'SELECT v, k FROM a JOIN (VALUES (1, 2), (2, 3), (NULL, 4)) AS l (x, k) USING (x)',
    'SELECT v, o FROM a JOIN ROWS FROM (generate_series(1, 3), unnest(ARRAY[2, 1])) WITH ORDINALITY AS f (p, q, o) ON f.q = a.y',
    'WITH s AS (SELECT x, w FROM b) SELECT v, s.w, t.w AS tw FROM a JOIN s USING (x) JOIN s AS t USING (x)',
    'WITH s AS MATERIALIZED (SELECT x, w FROM b) SELECT v, w FROM a JOIN s USING (x)',
    'WITH s AS NOT MATERIALIZED (SELECT x, w FROM b), t AS (SELECT s.x, u FROM s JOIN c USING (x)) SELECT v, u FROM a JOIN t USING (x)',
    'WITH RECURSIVE s (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM s WHERE x < 2) SELECT v FROM a JOIN s USING (x)',
    'WITH b AS (SELECT x, u AS w FROM c) SELECT v, w FROM a JOIN b USING (x) WHERE a.y IN (WITH b AS (SELECT 1 AS z) SELECT z FROM b)',
    'SELECT v, w FROM (SELECT * FROM (SELECT a.x, v, w FROM a JOIN b USING (x)) AS s WHERE v > 2) AS t WHERE w IS NOT NULL');

-- Sub-links and the like.
SELECT * FROM all_of(
    'SELECT v, w FROM a JOIN b USING (x) WHERE EXISTS (SELECT FROM c WHERE c.x = a.x)',
    'SELECT v, w FROM a JOIN b USING (x) WHERE EXISTS (SELECT FROM c WHERE c.x = a.x AND c.z = b.y)',
    'SELECT v, w FROM a JOIN b USING (x) WHERE a.y NOT IN (SELECT z FROM c WHERE z > 1)',
    'SELECT v, w FROM a JOIN b USING (x) WHERE (a.y, b.y) IN (SELECT z, z FROM c)',
    'SELECT v, (SELECT max(u) FROM c WHERE c.x = b.x) AS m FROM a JOIN b USING (x)',
    'SELECT v, (SELECT max(u) FROM c WHERE c.x = a.x AND c.z = b.y) AS m FROM a JOIN b USING (x)',
    'SELECT v, (SELECT count(*) FROM c WHERE c.x = b.x) AS n FROM a LEFT JOIN b USING (x)',
    'SELECT v, coalesce(w, (SELECT max(u) FROM c)) AS m FROM a LEFT JOIN b USING (x)',
    'SELECT v, (SELECT max(u) FROM c) AS m FROM a LEFT JOIN b USING (x)',
    'SELECT v, w FROM a JOIN b USING (x) WHERE a.y = b.y OR a.y IS NULL',
    'SELECT v * w AS p FROM a JOIN b USING (x)',
    'SELECT v * w AS p, u FROM a JOIN b USING (x) JOIN c USING (x)',
    'SELECT v * u AS p, w FROM a JOIN b USING (x) JOIN c ON b.y = c.z',
    'SELECT greatest(v, w) AS p FROM a, b',
    'SELECT v FROM a JOIN b USING (x) WHERE a.x = 1 OR b.x = 2',
    'SELECT (a.tableoid = ''a''::regclass) AS t, v, length(b::text) AS n FROM a JOIN b USING (x)');

-- The source as a whole.
SELECT * FROM all_of(
    'SELECT sum(v) AS s FROM a JOIN b USING (x)',
    'SELECT a.y, count(*) AS n FROM a JOIN b USING (x) GROUP BY a.y HAVING count(*) > 1',
    'SELECT DISTINCT v FROM a JOIN b USING (x)',
    'SELECT v FROM a JOIN b USING (x) ORDER BY v, w LIMIT 3',
    'SELECT v FROM a JOIN b USING (x) ORDER BY a.y + b.y, v',
    'SELECT v FROM a JOIN b USING (x) UNION SELECT 2',
    'SELECT v FROM a UNION ALL SELECT w FROM b',
    'SELECT v, row_number() OVER (ORDER BY v, a.y, w) AS r FROM a JOIN b USING (x)',
    'SELECT v, generate_series(1, 2) AS g FROM a',
    'SELECT v FROM a JOIN b USING (x) WHERE random() >= 0',
    'SELECT v, 1 + 0 * random() AS r FROM a JOIN b USING (x)',
    'SELECT 3 AS three',
    'WITH s AS MATERIALIZED (SELECT * FROM a) SELECT v FROM s JOIN b USING (x)');

-- Inheritance, partitions, foreign tables.
CREATE TABLE parent (x int, v float8);
CREATE TABLE child (extra text) INHERITS (parent);
INSERT INTO parent VALUES (1, 2);
INSERT INTO child VALUES (2, 3, 'e'), (1, 5, 'f');
CREATE TABLE parts (v float8, x int) PARTITION BY LIST (x);
CREATE TABLE part_1 PARTITION OF parts FOR VALUES IN (1);
CREATE TABLE part_2 (gone int, x int, v float8);
ALTER TABLE part_2 DROP gone;
ALTER TABLE parts ATTACH PARTITION part_2 FOR VALUES IN (2);
INSERT INTO parts VALUES (2, 1), (3, 2), (5, 2);
DO $$
BEGIN
    CREATE EXTENSION file_fdw;
    CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
    CREATE FOREIGN TABLE far (x int, k int) SERVER files OPTIONS (program 'echo 1,2; echo 2,3; echo 1,4', format 'csv');
EXCEPTION WHEN OTHERS THEN -- this server lacks it
    CREATE TABLE far (x int, k int);
    INSERT INTO far VALUES (1, 2), (2, 3), (1, 4);
END $$;
SELECT * FROM all_of(
    'SELECT p.v, a.v AS av FROM parent p JOIN a USING (x)',
    'SELECT p.v, a.v AS av FROM ONLY parent p JOIN a USING (x)',
    'SELECT p.v, a.v AS av FROM parts p JOIN a USING (x)',
    'SELECT p.v, coalesce(q.v, 2) AS qv FROM parts p LEFT JOIN parent q USING (x) WHERE p.x = 2',
    'SELECT v FROM a JOIN (SELECT * FROM part_2) p USING (x, v)',
    'SELECT v, k FROM a JOIN far USING (x)',
    'SELECT v, coalesce(k, 5) AS k FROM a LEFT JOIN far ON a.x = far.x AND far.k > 2',
    'SELECT v FROM a TABLESAMPLE SYSTEM (100) JOIN parts USING (x, v)');

-- An output column is computed for every row of its table, also for those that join to nothing.
SELECT sum(q) FROM (SELECT 1 / (b.x - 5) AS q FROM a JOIN b USING (x)) AS s;
SELECT btml.sumprod('SELECT 1 / (b.x - 5) AS q FROM a JOIN b USING (x)');

-- A column's value in a row without a match is computed when the column is read, and only then; an error in it says so.
SELECT btml.sumprod('SELECT v, 1 / coalesce(b.y, 0) AS ratio FROM a LEFT JOIN b ON a.x = b.x AND b.y <> 0');
SELECT btml.boost_fit('SELECT v, 1 / coalesce(b.y, 0) AS ratio FROM a LEFT JOIN b ON a.x = b.x AND b.y <> 0', 'v', features => '{ratio}');
SELECT count(*) > 0 AS explained
    FROM btml.explain_join('SELECT v, 1 / coalesce(b.y, 0) AS ratio FROM a LEFT JOIN b ON a.x = b.x AND b.y <> 0');
SELECT btml.summary(btml.tree_fit('SELECT v, a.x, 1 / coalesce(b.y, 0) AS ratio FROM a LEFT JOIN b ON a.x = b.x AND b.y <> 0', 'v',
    features => '{x}'))->'rows' AS rows;
SELECT btml.sumprod('SELECT v, 1 / coalesce(b.y, 1) AS ratio FROM a LEFT JOIN b ON a.x = b.x AND b.y <> 0')
    = sum(v * (1 / coalesce(b.y, 1))) AS same FROM a LEFT JOIN b ON a.x = b.x AND b.y <> 0;

DROP EXTENSION IF EXISTS file_fdw CASCADE;
DROP SCHEMA relational_base CASCADE;

-- Sub-queries whose comparison folds to a constant.
SET search_path = public;
CREATE TABLE folded (a int, ok bool);
INSERT INTO folded VALUES (1, true), (2, false);
SELECT btml.sumprod('select a from folded where (a, true) in (select a, ok from folded)'),
    (select sum(a) from folded where (a, true) in (select a, ok from folded));
SELECT btml.sumprod('select a from folded where false in (select a = 1 from folded)'),
    (select sum(a) from folded where false in (select a = 1 from folded));
SELECT btml.sumprod('select a from folded where (null, 1) in (select a, a from folded)'),
    (select sum(a) from folded where (null, 1) in (select a, a from folded));
SELECT btml.sumprod('select a from folded where true in (select ok from folded)'),
    (select sum(a) from folded where true in (select ok from folded));
SELECT btml.sumprod('select a from folded where null::int not in (select a from folded)'),
    (select sum(a) from folded where null::int not in (select a from folded));
SELECT * FROM btml.explain_join('select a from folded where (a, true) in (select a, ok from folded)');
DROP TABLE folded;
