-- btml.sample_join: rows of a join, uniformly and without replacement, as a SELECT of the source would give them.
SET client_min_messages = warning;
SET jit = off;
SET timezone = 'UTC';
CREATE SCHEMA relational_sample;
SET search_path = relational_sample;

CREATE TYPE mood AS ENUM ('calm', 'glad', 'sad');
CREATE TYPE pair AS (x int, y text);
CREATE DOMAIN score AS numeric(6, 2) CHECK (VALUE >= 0);
CREATE TABLE a (k int, t text, short varchar(5), padded char(4), m mood, day date, at timestamptz, doc jsonb, raw json, n numeric, s score);
CREATE TABLE b (k bigint, f float4, d float8, flag boolean, list int[], texts text[], bytes bytea, id uuid, net inet, p point, i interval,
    c pair, r int4range, q "char", w name, big text);
INSERT INTO a VALUES
    (1, 'one', 'abc', 'ab', 'glad', '2024-02-29', '2024-02-29 12:00+2', '{"b": 1, "a": [true, null]}', '{"b": 1,  "b": 2}', 1.50, 3.14),
    (1, '', '', '', 'calm', '-infinity', 'infinity', 'null', '[ 1 ]', 1e-40, 0),
    (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (3, E'tab\tand "quotes"', 'ünï', 'x', 'sad', '0044-03-15 BC', '1999-12-31 23:59:59.123456', '[]', '"s"', 'NaN', 9999.99),
    (NULL, 'no key', 'n', 'n', 'sad', '2001-01-01', '2001-01-01', '{}', '{}', 123456789012345678901234567890.000100, 1);
INSERT INTO b VALUES
    (1, 'NaN', '-0', true, '{1,NULL,3}', '{"a b",NULL,""}', '\x00ff', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '10.0.0.1/8', '(1.5,-2)',
    '1 mon -3 days 04:05:06.7', '(1,"a,b")', '[1,5)', 'z', 'name', repeat('x', 100000)),
    (1, 1.1, 'Infinity', false, '{{1,2},{3,4}}', '{}', '', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12', '::1', '(0,0)', '-1 year', NULL,
    'empty', '', '', (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 1000) i)),
    (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (3, 3, 2e-308, true, '[0:1]={7,8}', '{x}', '\x01', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a13', '1.2.3.4', '(1e300,1)', '0', '(,)', '(,)',
    'q', 'x', 'small'),
    (7, 0, 0, false, '{}', '{}', '', NULL, NULL, NULL, NULL, '(7,seven)', NULL, NULL, NULL, '');

-- The source's columns as a column list.
CREATE FUNCTION columns_of(source text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text;
BEGIN
    EXECUTE format('CREATE TEMP VIEW typed AS %s', source);
    result := (SELECT string_agg(format('%I %s', attname, format_type(atttypid, atttypmod)), ', ' ORDER BY attnum)
        FROM pg_attribute WHERE attrelid = 'pg_temp.typed'::regclass AND attnum > 0);
    DROP VIEW pg_temp.typed;
    RETURN result;
END $$;

-- The sampled rows as text, in the order of the sample.
CREATE FUNCTION sample_of(source text, n bigint, seed bigint DEFAULT 0) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE format('SELECT sampled::text FROM btml.sample_join(%L, %s, %s) AS sampled (%s)', source, n, seed,
        columns_of(source));
END $$;

-- Rows of the source, whether a sample of all is the same, and whether a sample of half of them is part of it.
CREATE FUNCTION same_rows(VARIADIC sources text[]) RETURNS TABLE (source text, rows bigint, all_rows boolean,
    half boolean) LANGUAGE plpgsql AS $$
BEGIN
    FOREACH source IN ARRAY sources LOOP
        EXECUTE format('CREATE TEMP TABLE expected AS SELECT selected::text AS t FROM (%s) AS selected', source);
        rows := (SELECT count(*) FROM expected);
        all_rows := NOT EXISTS ((TABLE expected EXCEPT ALL SELECT sample_of(source, 1000000)) UNION ALL (SELECT sample_of(source,
            1000000) EXCEPT ALL TABLE expected));
        half := NOT EXISTS (SELECT sample_of(source, rows / 2, 3) EXCEPT ALL TABLE expected) AND (SELECT count(*) = rows / 2 FROM
            sample_of(source, rows / 2, 3));
        DROP TABLE expected;
        RETURN NEXT;
    END LOOP;
END $$;

SELECT * FROM same_rows(
    'SELECT * FROM a', 'SELECT * FROM b', 'SELECT a.*, b.f, b.d, b.list, b.texts, b.p, b.c, b.r, b.big FROM a JOIN b USING (k)',
    'SELECT a.*, b.* FROM (SELECT t, m, doc, raw, s, k AS ak FROM a) a LEFT JOIN b ON a.ak = b.k',
    'SELECT x.m, x.doc, y.m AS other, b.bytes FROM a x JOIN a y ON x.m = y.m LEFT JOIN b ON b.k = y.k',
    'SELECT a.t, coalesce(b.f, 5) AS f, b.flag IS NULL AS none, upper(b.q::text) AS q, 7 AS seven, ''x''::text AS x FROM a LEFT JOIN b '
        'USING (k)',
    'SELECT a, b, a.k FROM a, b', 'SELECT a.t, c FROM a RIGHT JOIN b USING (k)', 'SELECT a.t, b.w FROM a FULL JOIN b USING (k)',
    'SELECT n, count(*) FROM a, generate_series(1, 3) GROUP BY n', 'SELECT t FROM a ORDER BY day LIMIT 3',
    'SELECT t FROM a UNION ALL SELECT big FROM b',
    'SELECT a.t, g FROM a, LATERAL generate_series(1, a.k) AS g', 'SELECT t FROM a WHERE false',
    'SELECT a.t, b.f FROM a JOIN b ON a.k = b.k AND b.k > 5',
    'SELECT x.t, y.t AS u, z.t AS v FROM a x, a y, a z WHERE x.k = y.k AND y.m = z.m AND z.day = x.day', 'VALUES (1, ''a''), (2, NULL)',
    'SELECT 1 AS one');

-- Every row is as likely: χ² of how often each of r rows is among n of many seeds, in standard deviations from its mean.
CREATE FUNCTION deviation(source text, n int, seeds int, OUT rows bigint, OUT is_uniform boolean) LANGUAGE plpgsql AS $$
DECLARE
    chi2 float8;
BEGIN
    EXECUTE format('WITH e AS (SELECT selected::text AS t FROM (%1$s) AS selected), c AS (
            SELECT t, count(s.*) AS seen FROM e LEFT JOIN (SELECT sampled::text AS t FROM generate_series(1, $1) AS seed,
                btml.sample_join(%1$L, $2, seed) AS sampled (%2$s)) AS s USING (t) GROUP BY t)
        SELECT count(*), sum((seen - mean) ^ 2 / mean) / (1 - $2 / count(*)::float8) * (count(*) - 1) / count(*)
        FROM c, LATERAL (SELECT $1 * $2 / (SELECT count(*) FROM c)::float8 AS mean) AS m', source, columns_of(source))
        INTO rows, chi2 USING seeds, n;
    is_uniform := abs(chi2 - (rows - 1)) < 4 * sqrt(2 * (rows - 1));
END $$;
CREATE TABLE star AS SELECT i AS id, i % 3 AS x, i % 2 AS y FROM generate_series(1, 7) i;
CREATE TABLE ray AS SELECT i AS ray, i % 4 AS x FROM generate_series(1, 9) i;
CREATE TABLE beam AS SELECT i AS beam, i * i % 3 AS y FROM generate_series(1, 5) i;
SELECT source, n, d.* FROM (VALUES
    ('SELECT id, ray FROM star JOIN ray USING (x)', 1), ('SELECT id, ray FROM star JOIN ray USING (x)', 9),
    ('SELECT id, ray, beam FROM star JOIN ray USING (x) JOIN beam USING (y)', 5),
    ('SELECT id, ray, beam FROM star LEFT JOIN ray ON id = ray.x LEFT JOIN beam ON beam.y = star.x', 3),
    ('SELECT s.id, r.ray, b.beam FROM star s, ray r, beam b WHERE s.x = r.x AND s.y = b.y AND b.beam = r.ray', 1),
    ('SELECT a.id, b.id AS b, c.id AS c FROM star a, star b, star c WHERE a.x = b.y AND b.x = c.y AND c.x = a.y', 4)) AS v (source, n),
    deviation(source, n, 400) AS d;

-- A join of more than 10^13 rows, in a second or so on an idle machine.
CREATE TABLE large AS SELECT i AS id, i % 10 AS k, md5(i::text) AS label FROM generate_series(1, 100000) i;
DO $$
DECLARE
    started timestamptz := clock_timestamp();
    rows bigint;
    distinct_rows bigint;
BEGIN
    SELECT count(*), count(DISTINCT (a, b, c)) INTO rows, distinct_rows FROM btml.sample_join('SELECT a.id, b.id, c.label FROM large a '
        'JOIN large b USING (k) JOIN large c USING (k)', 1000) AS s (a int, b int, c text);
    IF rows <> 1000 OR distinct_rows <> 1000 THEN RAISE '% rows, % distinct', rows, distinct_rows; END IF;
    IF clock_timestamp() - started > '20 s' THEN RAISE 'took %', clock_timestamp() - started; END IF;
END $$;
SELECT btml.sumprod('SELECT FROM large a JOIN large b USING (k) JOIN large c USING (k)') AS rows;
-- More rows than 64 bits count.
SELECT count(*), count(DISTINCT s)
    FROM btml.sample_join('SELECT a.id, b.id, c.id, d.id, e.id, f.id FROM large a, large b, large c, large d, large e, large f WHERE a.k '
        '= b.k AND c.k = d.k', 500) AS s (a int, b int, c int, d int, e int, f int);

-- The same rows wherever they lie, and with any number of threads.
CREATE TABLE a2 AS SELECT * FROM a ORDER BY md5(t);
CREATE TABLE b2 AS SELECT * FROM b ORDER BY md5(d::text) DESC;
CREATE TABLE star2 AS SELECT * FROM star ORDER BY md5(id::text);
CREATE TABLE ray2 AS SELECT * FROM ray ORDER BY -ray;
CREATE FUNCTION same_sample(one text, other text, n bigint) RETURNS boolean LANGUAGE sql AS
$$ SELECT bool_and((SELECT array_agg(s) FROM sample_of(one, n, seed) AS s) = (SELECT array_agg(s) FROM sample_of(other, n, seed) AS s))
    FROM generate_series(1, 10) AS seed $$;
SELECT same_sample('SELECT a.*, b.f, b.list, b.c FROM a JOIN b USING (k)', 'SELECT a.*, b.f, b.list, b.c FROM a2 a JOIN b2 b USING (k)', 3),
    same_sample('SELECT a.t, a.m, b.f, b.list, b.c FROM a LEFT JOIN b USING (k)',
    'SELECT a.t, a.m, b.f, b.list, b.c FROM a2 a LEFT JOIN b2 b USING (k)', 3),
    same_sample('SELECT a.m, b.m AS n, a.t FROM a JOIN a b ON a.m = b.m', 'SELECT a.m, b.m AS n, a.t FROM a2 a JOIN a b ON a.m = b.m', 2),
    same_sample('SELECT id, ray FROM star JOIN ray USING (x)', 'SELECT id, ray FROM star2 JOIN ray2 USING (x)', 5),
    same_sample('SELECT a.id, b.id AS b, c.id AS c FROM star a, star b, star c WHERE a.x = b.y AND b.x = c.y AND c.x = a.y',
    'SELECT a.id, b.id AS b, c.id AS c FROM star2 a, star b, star2 c WHERE a.x = b.y AND b.x = c.y AND c.x = a.y', 5);
SELECT md5(string_agg(s, ',')) AS one FROM sample_of('SELECT a.id, b.id AS b FROM large a JOIN large b USING (k)', 2000) AS s \gset
SET btml.threads = 3;
SET work_mem = '64kB';
SELECT md5(string_agg(s, ',')) = :'one' AS same FROM sample_of('SELECT a.id, b.id AS b FROM large a JOIN large b USING (k)', 2000) AS s;
RESET btml.threads;
RESET work_mem;
SELECT md5(string_agg(s, ',')) = :'one' AS same FROM sample_of('SELECT a.id, b.id AS b FROM large a JOIN large b USING (k)', 2000, 1) AS s;

-- One row, none, more than there are; in a query that calls it for each of its rows.
SELECT n, (SELECT count(*) FROM btml.sample_join('SELECT id, ray FROM star JOIN ray USING (x)', n) AS s (id int, ray int))
    FROM unnest(ARRAY[0, 1, 2, 14, 15, 16, 9223372036854775807]) AS n;
SELECT seed, count(*) FROM generate_series(-1, 1) AS seed, btml.sample_join('star', 3, seed) AS s (id int, x int, y int)
    GROUP BY seed ORDER BY seed;
-- Names, modifiers and domains of the column list may be the caller's.
SELECT count(*), min(pg_typeof(other)::text), max(pg_typeof(s)::text)
    FROM btml.sample_join('SELECT short, s FROM a', 10) AS t (other varchar, s numeric);
SELECT count(*), max(pg_typeof(s)::text) FROM btml.sample_join('SELECT short, s FROM a', 10) AS t (other varchar(5), s score);
-- Changes of the same transaction are seen, and one snapshot serves all tables.
BEGIN;
INSERT INTO star VALUES (8, 0, 0);
SELECT count(*) FROM btml.sample_join('SELECT id FROM star WHERE id = 8', 10) AS t (id int);
ROLLBACK;

-- Errors.
\set VERBOSITY default
SELECT * FROM btml.sample_join(NULL, 1) AS t (id int);
SELECT * FROM btml.sample_join('star', NULL) AS t (id int);
SELECT * FROM btml.sample_join('star', 1, NULL) AS t (id int);
SELECT * FROM btml.sample_join('star', -1) AS t (id int);
SELECT * FROM btml.sample_join('star', 1);
SELECT * FROM btml.sample_join('star', 1) AS t (id int);
SELECT * FROM btml.sample_join('SELECT short AS "A b", s, n FROM a', 1) AS t (id varchar, s text, n numeric);
SELECT * FROM btml.sample_join('SELECT short AS "A b", s, n FROM a', 1) AS t (id varchar(2), s numeric, n numeric);
SELECT * FROM btml.sample_join('SELECT FROM star', 1) AS t (id int);
SELECT * FROM btml.sample_join('nowhere', 1) AS t (id int);
SELECT * FROM btml.sample_join('', 1) AS t (id int);
SELECT * FROM btml.sample_join('DELETE FROM star RETURNING id', 1) AS t (id int);
SELECT * FROM btml.sample_join('SELECT 1 / (id - 3) AS id FROM star', 1) AS t (id int);
SELECT * FROM btml.sample_join('SELECT star.id, coalesce(ray.x, 1 / (0 * length(current_user))) AS x FROM star LEFT JOIN ray ON ray.ray '
    '= star.id', 1) AS t (id int, x int);
SELECT count(*) FROM btml.sample_join('SELECT a.id, b.id, c.id, d.id, e.id, f.id, g.id, h.id FROM large a, large b, large c, large d, '
    'large e, large f, large g, large h', 5) AS s (a int, b int, c int, d int, e int, f int, g int, h int);
SET btml.memory_limit = '16MB';
SELECT count(*) FROM btml.sample_join('SELECT a.id, b.id AS b FROM large a JOIN large b USING (k)', 2000000) AS t (a int, b int);
SELECT count(*) FROM btml.sample_join('SELECT a.label FROM large a', 100000) AS t (a text);
RESET btml.memory_limit;
DROP SCHEMA relational_sample CASCADE;
