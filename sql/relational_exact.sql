-- btml.sumprod_exact and btml.sumprod_exact_by: every semiring beside the same query in SQL, and what they refuse.
SET client_min_messages = warning;
CREATE SCHEMA exact;
SET search_path = exact;
CREATE TABLE a (k int, g text, x int, n numeric(10, 3));
CREATE TABLE b (k int, m smallint, y bigint, h text);
CREATE TABLE c (m int, z numeric, f float8);
INSERT INTO a SELECT i % 11, 'g' || i % 3, i % 17, i * 0.125 FROM generate_series(1, 150) i;
INSERT INTO b SELECT i % 13, i % 5, i, 'h' || i % 2 FROM generate_series(1, 120) i;
INSERT INTO c SELECT i % 6, i * 1.0000000000000000000001, i FROM generate_series(1, 40) i;
INSERT INTO a VALUES (NULL, NULL, 1, 1), (1, NULL, NULL, 1); INSERT INTO b VALUES (1, 1, NULL, NULL);
ANALYZE a; ANALYZE b; ANALYZE c;

SELECT btml.sumprod_exact('SELECT a.x, b.y, c.z FROM a JOIN b USING (k) JOIN c USING (m)'),
    btml.sumprod_exact('SELECT a.x, b.y, c.z FROM a JOIN b USING (k) JOIN c USING (m)') =
    (SELECT sum(a.x::numeric * b.y * c.z) FROM a JOIN b USING (k) JOIN c USING (m)) AS same;
SELECT btml.sumprod_exact('SELECT FROM a JOIN b USING (k) JOIN c USING (m)') =
    (SELECT count(*) FROM a JOIN b USING (k) JOIN c USING (m)) AS same;
SELECT btml.sumprod_exact('SELECT a.n, b.y, c.z FROM a JOIN b USING (k) JOIN c USING (m)', 'min_plus') =
    (SELECT min(a.n + b.y + c.z) FROM a JOIN b USING (k) JOIN c USING (m)) AS min_plus,
    btml.sumprod_exact('SELECT a.n, b.y, c.z FROM a JOIN b USING (k) JOIN c USING (m)', 'max_plus') =
    (SELECT max(a.n + b.y + c.z) FROM a JOIN b USING (k) JOIN c USING (m)) AS max_plus,
    btml.sumprod_exact('SELECT a.n, b.y FROM a JOIN b USING (k)', 'max_product') =
    (SELECT max(a.n * b.y) FROM a JOIN b USING (k)) AS max_product;
SELECT btml.sumprod_exact('SELECT a.n, b.y, c.z FROM a JOIN b USING (k) JOIN c USING (m)', 'max_product') =
    (SELECT max(a.n * b.y * c.z) FROM a JOIN b USING (k) JOIN c USING (m)) AS max_product;
-- The join has 10^15 rows.
SELECT semiring, btml.sumprod_exact('SELECT x.x, y.y, z.z
    FROM generate_series(1, 100000) x(x), generate_series(1, 100000) y(y), generate_series(1, 100000) z(z)',
    semiring) FROM unnest('{sum_product,max_product,min_plus,max_plus,or_and}'::text[]) semiring;
SELECT btml.sumprod_exact('SELECT a.x, b.y FROM a JOIN b USING (k)', 'or_and') AS some,
    btml.sumprod_exact('SELECT a.x - a.x AS zero, b.y FROM a JOIN b USING (k)', 'or_and') AS none;
SELECT semiring, btml.sumprod_exact('SELECT a.x, b.y FROM a JOIN b USING (k) WHERE a.x < 0', semiring) AS empty,
    btml.sumprod_exact('SELECT FROM a WHERE false', semiring) AS no_factors_empty,
    btml.sumprod_exact('SELECT FROM a', semiring) AS no_factors
FROM unnest('{sum_product,max_product,min_plus,max_plus,or_and}'::text[]) semiring;
SELECT btml.sumprod_exact('SELECT k FROM a'), btml.sumprod_exact('c');

SELECT *, value = (SELECT sum(a.x * b.y) FROM a JOIN b USING (k) WHERE a.g IS NOT DISTINCT FROM t.g AND b.h IS NOT DISTINCT
    FROM t.h) AS same
FROM btml.sumprod_exact_by('SELECT a.g, b.h, a.x, b.y FROM a JOIN b USING (k)', '{g,h}') AS t(g text, h text, value numeric) ORDER BY g, h;
SELECT * FROM btml.sumprod_exact_by('SELECT a.g, a.n, b.y FROM a JOIN b USING (k)', '{g}', 'min_plus') AS t(g text, value numeric)
    ORDER BY g;
SELECT * FROM btml.sumprod_exact_by('SELECT a.g, a.n FROM a WHERE false', '{g}') AS t(g text, value numeric);

-- More digits than a double has, and than 128 bits hold.
SELECT btml.sumprod_exact('SELECT 9007199254740993::numeric * x AS f FROM generate_series(1, 3) x');
SELECT btml.sumprod_exact($$SELECT 1e38::numeric(55, 16) AS f, y FROM a JOIN b USING (k)$$);

-- What may stand before and after a statement.
SELECT source, btml.sumprod_exact(source)
FROM unnest(ARRAY['SELECT x FROM a;', 'SELECT x FROM a -- note', 'SELECT x FROM a ; -- note', ';; /* ; */ SELECT x FROM a;;',
    'SELECT x FROM a WHERE g <> $$;$$', '(SELECT x FROM a) ORDER BY 1;', 'WITH s AS (TABLE a) SELECT x FROM s --',
    'VALUES (2, 3), (4, 5);']) source;
SELECT * FROM btml.sumprod_exact_by('SELECT g, x FROM a; -- note', '{g}') AS t(g text, value numeric) ORDER BY g;

-- Aggregates, functions and operators of the user's schemas are not taken for PostgreSQL's own.
CREATE SCHEMA e;
CREATE FUNCTION e.minus_one(numeric, numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS 'SELECT -1.0';
CREATE FUNCTION e.negated(numeric, int) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT $1 OPERATOR(pg_catalog.=) $2';
CREATE FUNCTION e.negated(bigint, int) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT $1 OPERATOR(pg_catalog.=) $2';
CREATE FUNCTION e.sign(bigint) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT 7.0::float8';
CREATE AGGREGATE e.sum(numeric) (sfunc = numeric_mul, stype = numeric);
CREATE AGGREGATE e.max(numeric) (sfunc = numeric_smaller, stype = numeric);
CREATE AGGREGATE e.min(numeric) (sfunc = e.minus_one, stype = numeric, initcond = 0);
CREATE AGGREGATE e.count(*) (sfunc = int8dec, stype = bigint, initcond = 0);
CREATE OPERATOR e.* (FUNCTION = e.minus_one, LEFTARG = numeric, RIGHTARG = numeric);
CREATE OPERATOR e.+ (FUNCTION = e.minus_one, LEFTARG = numeric, RIGHTARG = numeric);
CREATE OPERATOR e.<> (FUNCTION = e.negated, LEFTARG = numeric, RIGHTARG = int);
CREATE OPERATOR e.< (FUNCTION = e.negated, LEFTARG = numeric, RIGHTARG = int);
CREATE OPERATOR e.> (FUNCTION = e.negated, LEFTARG = bigint, RIGHTARG = int);
SET search_path = e, pg_catalog, exact;
SELECT semiring, btml.sumprod_exact('VALUES (2, 3), (4, 5)', semiring), btml.sumprod_exact('VALUES (0, 3)', semiring) AS zero,
    btml.sumprod_exact('SELECT FROM (VALUES (0), (1)) v', semiring) AS no_factors
FROM unnest('{sum_product,max_product,min_plus,max_plus,or_and}'::text[]) semiring;
SET search_path = exact;
DROP SCHEMA e CASCADE;

-- Factors beyond a double's range have values and signs like any other.
SELECT btml.sumprod_exact('VALUES (1e400, 2), (1e-400, 3)', 'max_product') = 2e400 AS large,
    btml.sumprod_exact('VALUES (1e-400)', 'max_product') = 1e-400 AS small;
SELECT g, value = ('1e' || g)::numeric AS same
FROM btml.sumprod_exact_by('VALUES (400, 1e400), (-400, 1e-400)', '{column1}', 'max_product') AS t(g int, value numeric) ORDER BY g;
SELECT btml.sumprod_exact('VALUES (-1e-400, NULL::int), (1e400, 2)', 'max_product');
SELECT * FROM btml.sumprod_exact_by('VALUES (1, -1e400), (2, 1)', '{column1}', 'max_product') AS t(g int, value numeric);

-- Groups are taken as they come, not gathered first: the query ends before the last one, which divides by zero.
SET enable_hashagg = off;
SELECT * FROM btml.sumprod_exact_by('SELECT i, i - 5 AS f, 1 / (1000 - i) AS h FROM generate_series(1, 1000) i', '{i}', 'max_product')
    AS t(i int, value numeric);
RESET enable_hashagg;

SELECT btml.sumprod_exact('SELECT a.x, c.f FROM a JOIN b USING (k) JOIN c USING (m)');
SELECT btml.sumprod_exact('SELECT a.g FROM a');
SELECT btml.sumprod_exact('SELECT -a.x AS x, b.y FROM a JOIN b USING (k)', 'max_product');
SELECT btml.sumprod_exact('SELECT x FROM a', 'minplus');
SELECT btml.sumprod_exact(NULL);
SELECT btml.sumprod_exact('SELECT x FROM a', NULL);
SELECT btml.sumprod_exact('nowhere');
SELECT btml.sumprod_exact('SELECT 1 / (x - 1) AS f FROM a');
SELECT * FROM btml.sumprod_exact_by('SELECT g, x FROM a', '{}') AS t(value numeric);
SELECT * FROM btml.sumprod_exact_by('SELECT g, x FROM a', '{h}') AS t(h text, value numeric);
SELECT * FROM btml.sumprod_exact_by('SELECT g, x FROM a', '{g,g}') AS t(g text, h text, value numeric);
SELECT * FROM btml.sumprod_exact_by('SELECT g, x FROM a', '{g}') AS t(g text, value float8);
SELECT * FROM btml.sumprod_exact_by('SELECT g, x FROM a', '{g}') AS t(g text);
SHOW btml.factorize_aggregates;
DROP SCHEMA exact CASCADE;
