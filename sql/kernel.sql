-- Kernel sums against the same sums written in SQL, what can be points, and bad input.
SET client_min_messages = warning;
SET jit = off;
CREATE SCHEMA kernel;
SET search_path = kernel;

-- Points of three coordinates as columns and as arrays: numbers that look random, the same everywhere.
CREATE TABLE key AS
SELECT i AS id, a, b::real AS b, c::numeric AS c, ((i * 7919) % 11 - 4)::int AS weight, a + 2 * b AS y,
    ARRAY[a, b, c] AS position
FROM generate_series(1, 300) i,
    LATERAL (SELECT (i * 37 % 101) / 50.0::float8 AS a, ((i * 53 % 97) / 64.0)::real::float8 AS b,
    round((i * 71 % 89) / 40.0, 3)::float8 AS c) p;
CREATE TABLE query AS SELECT 'q' || id AS id, a + 0.01 AS a, b, c, ARRAY[a + 0.01, b, c] AS position FROM key WHERE id % 7 = 0;
-- Points with other columns that are no coordinates.
CREATE VIEW key_point AS SELECT id, a, b, c, weight, 'text' AS note, id % 2 = 0 AS flag, date '2020-01-01' + id AS day FROM key;

-- k(q, key) for each pair.
CREATE FUNCTION kernel_of(name text, h float8, x float8[], y float8[]) RETURNS float8 LANGUAGE sql AS $$
    SELECT CASE name
        WHEN 'gaussian' THEN exp(-sum((u - v) ^ 2) / (2 * h ^ 2))
        WHEN 'laplacian' THEN exp(-sum(abs(u - v)) / h)
        WHEN 'matern32' THEN (1 + sqrt(3 * sum((u - v) ^ 2)) / h) * exp(-sqrt(3 * sum((u - v) ^ 2)) / h)
        WHEN 'matern52' THEN (1 + sqrt(5 * sum((u - v) ^ 2)) / h + 5 * sum((u - v) ^ 2) / (3 * h ^ 2))
        * exp(-sqrt(5 * sum((u - v) ^ 2)) / h)
        ELSE greatest(0, 1 - sum((u - v) ^ 2) / h ^ 2) END
    FROM unnest(x, y) p(u, v)
$$;
CREATE VIEW pair AS
SELECT name, h, q.id, sum(k * k0.weight) AS weighted, sum(k) AS plain, sum(k * k0.y) AS target
FROM (VALUES ('gaussian', 0.3), ('laplacian', 0.5), ('epanechnikov', 0.7), ('matern32', 0.4), ('matern52', 0.4)) kernel(name, h), query q,
    key k0,
    LATERAL kernel_of(name, h, q.position, k0.position) k
GROUP BY 1, 2, 3;

-- The largest difference to it, relative to the largest value.
SELECT name, count(*), max(abs(s.value - pair.weighted)) / max(abs(pair.weighted)) < 1e-6 AS same, max(std_error) AS std_error
FROM pair, LATERAL (SELECT * FROM btml.kernel_sum('key_point', 'query', h, name, method => 'exact')) s
WHERE s.id = pair.id AND s.id IN ('q7', 'q140', 'q294') GROUP BY 1 ORDER BY 1;
-- One call for all of them, points as columns and as arrays.
SELECT name, source, count(*), max(abs(value - weighted)) / max(abs(weighted)) < 1e-6 AS same
FROM (
    SELECT 'gaussian' AS name, 'columns' AS source, * FROM btml.kernel_sum('SELECT id, a, b, c, weight FROM key', 'query', 0.3)
    UNION ALL SELECT 'gaussian', 'arrays', *
    FROM btml.kernel_sum('SELECT position AS x, weight FROM key', 'SELECT id, position AS x FROM query', 0.3)
    UNION ALL SELECT 'gaussian', 'real arrays', *
    FROM btml.kernel_sum('SELECT position::real[] AS x, weight FROM key', 'SELECT id, position::numeric[] AS x FROM query', 0.3)
    UNION ALL SELECT 'laplacian', 'columns', * FROM btml.kernel_sum('SELECT weight, c, b, a FROM key', 'query', 0.5, 'laplacian')
    UNION ALL SELECT 'epanechnikov', 'columns', * FROM btml.kernel_sum('key_point', 'query', 0.7, 'epanechnikov')) s
JOIN pair USING (name, id) GROUP BY 1, 2 ORDER BY 1, 2;

-- Densities integrate to 1: their sum over a grid of one dimension, and the same in other units.
SELECT name, round(sum(value)::numeric / 50, 6) AS integral
FROM unnest('{gaussian,laplacian,epanechnikov,matern32,matern52}'::text[]) name,
    LATERAL btml.density('SELECT a, 2.0 AS weight FROM key', 'SELECT i / 50.0 AS a FROM generate_series(-300, 400) i', 0.3, name)
    GROUP BY 1 ORDER BY 1;
SELECT round((d.value / e.value)::numeric, 3) AS ratio FROM btml.density('SELECT a FROM key', 'SELECT 0.5 AS a', 0.3) d,
    btml.density('SELECT 100 * a AS a FROM key', 'SELECT 50 AS a', 30) e;
-- Standard deviations as units.
SELECT round((d.value * stddev / e.value)::numeric, 6) AS ratio FROM (SELECT stddev(a) FROM key) s,
    LATERAL btml.density('SELECT a FROM key', 'SELECT 0.5 AS a', 0.3, scale => 'sd') d,
    LATERAL btml.density('SELECT a / stddev AS a FROM key, (SELECT stddev(a) FROM key) s', 'SELECT 0.5 / stddev(a) AS a FROM key', 0.3) e;

-- Means of the target; far from every key, the nearest one's; without its own NULLs.
SELECT count(*), max(abs(value - target / plain)) < 1e-6 AS same
    FROM btml.kernel_regression('SELECT a, b, c, y FROM key', 'y', 'query', 0.3) s JOIN pair USING (id) WHERE name = 'gaussian';
SELECT id, round(value::numeric, 6) AS value
    FROM btml.kernel_regression('SELECT a::int AS a, y::int AS y FROM (VALUES (1, 10), (2, 20), (1000, 7), (3, NULL)) v(a, y)', 'y',
    'SELECT a FROM (VALUES (-5000), (700), (3)) v(a)', 0.5);

-- A target called weight is no weight.
SELECT value FROM btml.kernel_regression('SELECT 0 AS a, weight FROM (VALUES (1), (3), (NULL)) v(weight)', 'weight', 'SELECT 0 AS a', 1);
SELECT kernel, id, value FROM unnest(ARRAY['gaussian', 'laplacian', 'epanechnikov', 'matern32', 'matern52']) kernel,
    btml.kernel_regression('SELECT a, a * 10 AS y FROM generate_series(1, 3) a', 'y', 'SELECT a FROM unnest(ARRAY[-1e308, 1e17, 1e308]) a',
    0.01, kernel) ORDER BY 1, 2;
-- Huge and tiny weights.
SELECT round((value / w)::numeric, 6) AS value
    FROM unnest(ARRAY[1e300, 1e-300]::float8[]) w,
    btml.kernel_sum(format('SELECT a, %s AS weight FROM generate_series(1, 3) a', w), 'SELECT 1 AS a', 1);

-- Attention against its definition, of arrays and of numbers.
CREATE VIEW softmax AS
SELECT q.id, sum(k * k0.a) / sum(k) AS first, sum(k * k0.y) / sum(k) AS second
FROM query q, key k0, LATERAL (SELECT exp(sum(u * v) / sqrt(3)) AS k FROM unnest(q.position, k0.position) p(u, v)) p GROUP BY 1;
SELECT count(*), max(abs(value[1] - first)) < 1e-6 AND max(abs(value[2] - second)) < 1e-6 AS same
FROM btml.attention('SELECT position AS x, ARRAY[a, y] AS v FROM key', 'SELECT id, position AS x FROM query', 'v') JOIN softmax USING (id);
SELECT count(*), max(abs(value[1] - first)) < 1e-6 AS same, max(cardinality(value)) AS components
FROM btml.attention('SELECT position AS x, a AS v FROM key', 'SELECT id, position AS x FROM query', 'v') JOIN softmax USING (id);
-- In units of standard deviations.
SELECT count(*), max(abs(s.value[1] - t.value[1])) < 1e-6 AS same
FROM btml.attention('SELECT a, b, y FROM key', 'SELECT id, a, b FROM query', 'y', scale => 'sd') s
JOIN btml.attention('SELECT a / sa AS a, b / sb AS b, y FROM key, (SELECT stddev(a) AS sa, stddev(b) AS sb FROM key) s',
    'SELECT id, a / sa AS a, b / sb AS b FROM query, (SELECT stddev(a) AS sa, stddev(b) AS sb FROM key) s', 'y') t USING (id);

-- Ids: of any type, NULL, and the number of the row.
SELECT * FROM btml.kernel_sum('SELECT 0 AS a', 'SELECT * FROM (VALUES (date ''2020-02-02'', 0), (NULL, 1000)) v(id, a)', 1);
SELECT id, value FROM btml.kernel_sum('SELECT 0 AS a', 'SELECT 0 AS a FROM generate_series(1, 3)', 1);
-- A type of one's own with a cast to real[].
CREATE TYPE vec AS (numbers real[]);
CREATE FUNCTION to_array(vec) RETURNS real[] IMMUTABLE LANGUAGE sql AS 'SELECT $1.numbers';
CREATE CAST (vec AS real[]) WITH FUNCTION to_array(vec);
SELECT max(abs(s.value - t.value)) < 1e-6 * max(t.value) AS same
    FROM btml.kernel_sum('SELECT ROW(position)::vec AS x FROM key', 'SELECT id, ROW(position)::vec AS x FROM query', 0.3) s
    JOIN btml.kernel_sum('SELECT position AS x FROM key', 'SELECT id, position AS x FROM query', 0.3) t USING (id);

-- Sums by sampling keep their promise, give the same again, and say how they came about.
CREATE TABLE cloud AS SELECT i AS id, sin(i) AS a, sin(i * 1.7) AS b, sin(i * 2.3) AS c FROM generate_series(1, 6000) i;
SELECT count(*), sqrt(sum((s.value - e.value) ^ 2)) <= 0.1 * sqrt(6000) AS kept, max(s.std_error) > 0 AS has_error
FROM btml.kernel_sum('cloud', 'cloud', 0.4, method => 'sampled') s
    JOIN btml.kernel_sum('cloud', 'cloud', 0.4, method => 'exact') e USING (id);
SELECT count(*) FROM (SELECT * FROM btml.kernel_sum('cloud', 'cloud', 0.4, method => 'sampled', seed => 3)
    EXCEPT SELECT * FROM btml.kernel_sum('cloud', 'cloud', 0.4, method => 'sampled', seed => 3)) d;
SET btml.threads = 1;
CREATE TEMP TABLE one_thread AS SELECT * FROM btml.kernel_sum('cloud', 'cloud', 0.4, method => 'sampled', seed => 3);
SET btml.threads = 3;
SELECT count(*) FROM (SELECT * FROM btml.kernel_sum('cloud', 'cloud', 0.4, method => 'sampled', seed => 3) EXCEPT SELECT *
    FROM one_thread) d;
RESET btml.threads;

-- On a CUDA device, or where there is none, with a NOTICE why, on the processor.
SET client_min_messages = error;
SET btml.device = cuda;
SELECT count(*), max(abs(value - weighted)) / max(abs(weighted)) < 1e-5 AS same FROM btml.kernel_sum('key_point', 'query', 0.3) s
    JOIN pair USING (id) WHERE name = 'gaussian';
RESET btml.device;
SET client_min_messages = warning;

-- Assumption (A).
SELECT value > 0 AS positive, std_error, lower = value AND upper = value AS exact, evaluations
    FROM btml.kernel_tail_ratio('SELECT a, b, c FROM key', 'query', 0.3);
SELECT * FROM btml.kernel_tail_profile('SELECT 0 AS a FROM generate_series(1, 4)', 'SELECT 0 AS a FROM generate_series(1, 4)', 1,
    '{1,2,4}');
SELECT name, abs(r.value - tail) < 1e-5 * tail AS same
FROM unnest('{gaussian,laplacian,epanechnikov,matern32,matern52}'::text[]) name,
    LATERAL (SELECT sum(k) FILTER (WHERE place > 42) / sum(k) FILTER (WHERE place <= 42) AS tail
    FROM (SELECT k, row_number() OVER (ORDER BY k DESC) AS place
    FROM query q, query p, LATERAL kernel_of(name, 0.5, q.position, p.position) k) r) t,
    LATERAL btml.kernel_tail_ratio('SELECT a, b, c FROM query', 'SELECT a, b, c FROM query', 0.5, kernel => name) r ORDER BY 1;

-- No keys, no queries, keys that are all the same, weights that cancel.
SELECT * FROM btml.kernel_sum('SELECT a FROM key WHERE false', 'SELECT id, a FROM query LIMIT 2', 1);
SELECT * FROM btml.density('SELECT a FROM key WHERE false', 'SELECT id, a FROM query LIMIT 1', 1);
SELECT * FROM btml.kernel_regression('SELECT a, y FROM key WHERE false', 'y', 'SELECT id, a FROM query LIMIT 1', 1);
SELECT * FROM btml.kernel_sum('SELECT a FROM key', 'SELECT id, a FROM query WHERE false', 1);
SELECT * FROM btml.kernel_sum('SELECT 1 AS a FROM generate_series(1, 1000)', 'SELECT 1 AS a', 0.001);
SELECT * FROM btml.kernel_sum('SELECT 1 AS a, w AS weight FROM (VALUES (3), (-3)) v(w)', 'SELECT 1 AS a', 1);
SELECT * FROM btml.kernel_sum('SELECT a, 0 AS weight FROM key', 'SELECT 1 AS a', 1);
-- 3,000 coordinates.
SELECT round(value::numeric, 6) AS value
    FROM btml.kernel_sum('SELECT array_agg(i * 0.001) AS x FROM generate_series(1, 3000) i',
    'SELECT array_agg(i * 0.001 + 0.01) AS x FROM generate_series(1, 3000) i', 1);

\set VERBOSITY default
SET client_min_messages = notice;
-- Bad input.
SELECT * FROM btml.kernel_sum(NULL, 'query', 1);
SELECT * FROM btml.kernel_sum('key', NULL, 1);
SELECT * FROM btml.kernel_sum('key_point', 'query', NULL);
SELECT * FROM btml.kernel_sum('key_point', 'query', 0);
SELECT * FROM btml.kernel_sum('key_point', 'query', -1);
SELECT * FROM btml.kernel_sum('key_point', 'query', 'NaN');
SELECT * FROM btml.kernel_sum('key_point', 'query', 1, 'cauchy');
SELECT * FROM btml.kernel_sum('key_point', 'query', 1, epsilon => 0);
SELECT * FROM btml.kernel_sum('key_point', 'query', 1, epsilon => 1.5);
SELECT * FROM btml.kernel_sum('key_point', 'query', 1, epsilon => 'NaN');
SELECT * FROM btml.kernel_sum('key_point', 'query', 1, confidence => 1);
SELECT * FROM btml.kernel_sum('key_point', 'query', 1, method => 'fast');
SELECT * FROM btml.kernel_sum('key_point', 'query', 1, scale => 'minmax');
SELECT * FROM btml.kernel_sum('keys', 'query', 1);
SELECT * FROM btml.kernel_sum('SELECT a FROM key', 'SELECT b FROM query', 1);
SELECT * FROM btml.kernel_sum('SELECT ''a'' AS note FROM key', 'query', 1);
SELECT * FROM btml.kernel_sum('SELECT a FROM key', 'SELECT ''1'' AS a FROM query', 1);
SELECT * FROM btml.kernel_sum('SELECT a, a FROM key', 'query', 1);
SELECT * FROM btml.kernel_sum('SELECT nullif(id, 3) AS a FROM key', 'SELECT 1 AS a', 1);
SELECT * FROM btml.kernel_sum('SELECT 1 AS a', 'SELECT NULL::int AS a', 1);
SELECT * FROM btml.kernel_sum('SELECT ''NaN''::float8 AS a', 'SELECT 1 AS a', 1);
SELECT * FROM btml.kernel_sum('SELECT 1 AS a', 'SELECT ''-Infinity''::float8 AS a', 1);
SELECT * FROM btml.kernel_sum('SELECT a, ''Infinity''::float8 AS weight FROM key', 'SELECT 1 AS a', 1);
SELECT * FROM btml.kernel_sum('SELECT a, NULL::int AS weight FROM key', 'SELECT 1 AS a', 1);
SELECT * FROM btml.kernel_sum('SELECT a, ''heavy'' AS weight FROM key', 'SELECT 1 AS a', 1);
SELECT * FROM btml.density('SELECT a, -1 AS weight FROM key', 'SELECT 1 AS a', 1);
SELECT * FROM btml.density('SELECT a, 0 AS weight FROM key', 'SELECT 1 AS a', 1);
SELECT * FROM btml.kernel_sum('SELECT 1 AS a, 1.7e308 AS weight FROM key', 'SELECT 1 AS a', 1);
SELECT * FROM btml.kernel_regression('SELECT a, 1e300 AS weight, 1e300 AS y FROM key', 'y', 'query', 1);
SELECT * FROM btml.kernel_sum('SELECT ARRAY[1, 2] AS x UNION ALL SELECT ARRAY[1]', 'SELECT ARRAY[1, 2] AS x', 1);
SELECT * FROM btml.kernel_sum('SELECT ARRAY[1, 2] AS x', 'SELECT ARRAY[1] AS x', 1);
SELECT * FROM btml.kernel_sum('SELECT ''{}''::int[] AS x', 'SELECT ARRAY[1] AS x', 1);
SELECT * FROM btml.kernel_sum('SELECT ARRAY[[1, 2]] AS x', 'SELECT ARRAY[1] AS x', 1);
SELECT * FROM btml.kernel_sum('SELECT 1 AS topic, ARRAY[1.5]::real[] AS "the embedding"', 'SELECT 1 AS topic', 1);
SELECT * FROM btml.kernel_sum('SELECT ARRAY[1.5]::real[] AS embedding', 'SELECT 1 AS topic', 1);
-- Columns of other types are no coordinates, which is told of the keys, once; not where the coordinates are an array x, nor of other parts.
CREATE TABLE mixed AS SELECT i AS id, i % 5 AS a, 'label ' || i AS label, i % 2 = 0 AS flag, date '2026-01-01' + i AS day, ARRAY[i] AS v,
    ARRAY[i] AS x, i AS y FROM generate_series(1, 6) i;
SELECT count(*) FROM btml.kernel_sum('SELECT id, a, label, flag, day, v FROM mixed', 'SELECT a, label, flag FROM mixed', 1);
SELECT count(*) FROM btml.kernel_regression('SELECT a, label, y FROM mixed', 'y', 'mixed', NULL);
SELECT count(*) FROM btml.attention('SELECT a, v, label AS id FROM mixed', 'SELECT a FROM mixed', 'v');
SELECT count(*) FROM btml.density('mixed', 'mixed', 1);
SELECT btml.kde_score('SELECT id, a, day FROM mixed', 1) IS NOT NULL AS scored;
SELECT count(*) FROM btml.select_bandwidth('SELECT label AS id, a, flag FROM mixed', 'kde', steps => 3);
SELECT count(*) FROM btml.exemplars('SELECT id, a, flag FROM mixed', 2, passes => 2);
SELECT * FROM btml.kernel_sum('SELECT ARRAY[1, NULL] AS x', 'SELECT ARRAY[1] AS x', 1);
SELECT * FROM btml.kernel_sum('SELECT ARRAY[1] AS x UNION ALL SELECT NULL', 'SELECT ARRAY[1] AS x', 1);
SELECT * FROM btml.kernel_sum('SELECT ARRAY[''a''] AS x', 'SELECT ARRAY[1] AS x', 1);
SELECT * FROM btml.kernel_sum('SELECT ARRAY[1] AS x', 'SELECT 1 AS x', 1);
SELECT * FROM btml.kernel_regression('SELECT a, y FROM key', 'z', 'query', 1);
SELECT * FROM btml.kernel_regression('SELECT a, position FROM key', 'position', 'query', 1);
SELECT * FROM btml.kernel_regression('SELECT a, ''NaN''::float8 AS y FROM key', 'y', 'query', 1);
SELECT * FROM btml.kernel_regression('SELECT y FROM key', 'y', 'query', 1);
SELECT * FROM btml.attention('SELECT a, NULL::int AS v FROM key', 'query', 'v');
SELECT * FROM btml.attention('SELECT a, ARRAY[1] AS v FROM key UNION ALL SELECT 1, ARRAY[1, 2]', 'query', 'v');
SELECT * FROM btml.attention('SELECT a, note AS v FROM key_point', 'query', 'v');
SELECT btml.kernel_tail_ratio('SELECT a FROM key WHERE false', 'query', 1);
SELECT * FROM btml.kernel_tail_profile('SELECT a FROM key', 'query', 1, '{0}');
SELECT * FROM btml.kernel_tail_profile('SELECT a FROM key', 'query', 1, '{10,1000}');
SELECT * FROM btml.kernel_tail_profile('SELECT a FROM key', 'query', 1, '{10,NULL}');
SET btml.memory_limit = '1MB';
SELECT * FROM btml.kernel_sum('SELECT i AS a, i AS b FROM generate_series(1, 1000000) i', 'SELECT 1 AS a, 1 AS b', 1);
-- Refused before the work starts.
SELECT * FROM btml.kernel_sum('SELECT i AS a, i AS b FROM generate_series(1, 20000) i', 'SELECT 1 AS a, 1 AS b', 1);
SET btml.memory_limit = '4MB';
-- Few keys and more queries than fit.
SELECT count(*), round(sum(value)::numeric, 3) AS sum
FROM btml.kernel_sum('SELECT i AS a, i AS b FROM generate_series(1, 10) i', 'SELECT i % 10 AS a, i AS b FROM generate_series(1, 200000) i',
    1);
-- Queries that are too many to hold are answered a part at a time, and epsilon holds for all of them together.
SET btml.memory_limit = '16MB';
CREATE VIEW many_keys AS SELECT (i * 7919 % 2003) / 100.0 AS a, (i * 104729 % 1999) / 100.0 AS b FROM generate_series(1, 2000) i;
CREATE VIEW many_queries AS SELECT i AS id, i % 641 / 32.0 AS a, i % 613 / 32.0 AS b FROM generate_series(1, 400000) i;
WITH answer AS (SELECT e.id, e.value AS exact, s.value AS sampled, s.std_error
                FROM btml.kernel_sum('many_keys', 'many_queries', 2, method => 'exact') e
                JOIN btml.kernel_sum('many_keys', 'many_queries', 2, epsilon => 0.5, method => 'sampled', verbose => true) s USING (id))
SELECT count(*), max(exact) > 100 AS large, sqrt(sum((sampled - exact) ^ 2)) <= 0.5 * sqrt(2000) AS within,
       sum(std_error) > 0 AS sampled FROM answer;
RESET btml.memory_limit;
SELECT * FROM btml.kernel_sum('SELECT 1 AS a, 0 AS weight', 'SELECT 1 AS a', 1, verbose => true);
-- The order of the keys plays no part, and no error is foreseen beyond what the values vary by.
CREATE VIEW scattered AS SELECT i AS id, i * 7919 % 3001 / 300.0 - 5 AS a, i * 104729 % 2999 / 300.0 - 5 AS b, i * 31 % 1009 / 1009.0 AS t
    FROM generate_series(1, 3000) i;
SELECT count(*), count(*) FILTER (WHERE f.value IS DISTINCT FROM b.value) AS different, max(f.std_error) BETWEEN 0.001 AND 0.5 AS bounded
FROM btml.attention('SELECT a, b, t FROM scattered ORDER BY id', 'scattered', 't', method => 'sampled', epsilon => 0.5) f
JOIN btml.attention('SELECT a, b, t FROM scattered ORDER BY id DESC', 'scattered', 't', method => 'sampled', epsilon => 0.5) b USING (id);
-- A bandwidth that is left out is the best of the search, or an error where there is none.
SELECT count(*), count(*) FILTER (WHERE chosen.value IS DISTINCT FROM given.value) AS different
FROM btml.density('SELECT a, b FROM scattered', 'scattered') chosen
JOIN btml.density('SELECT a, b FROM scattered', 'scattered', (SELECT to_char(bandwidth, '9.999999EEEE')::numeric(20, 6)::float8
    FROM btml.select_bandwidth('SELECT a, b FROM scattered', 'likelihood') WHERE best)) given USING (id);
SELECT count(*), min(value) >= 0 AS mean
    FROM btml.kernel_regression('SELECT a, b, t, id % 3 AS weight FROM scattered', 't', 'SELECT a, b FROM scattered WHERE id < 50',
    scale => 'sd', kernel => 'matern32');
SELECT count(*), min(value) >= 0 AS density
    FROM btml.density('SELECT a FROM scattered', 'SELECT a FROM scattered WHERE id < 50', kernel => 'epanechnikov');
-- What Gaussian processes call it, in both places.
SELECT count(*) FROM btml.kernel_sum('SELECT a FROM scattered', 'SELECT a FROM scattered WHERE id < 50', bandwidth => 1,
    kernel => 'squared_exponential') o
    JOIN btml.kernel_sum('SELECT a FROM scattered', 'SELECT a FROM scattered WHERE id < 50', bandwidth => 1,
    kernel => 'gaussian') g USING (id, value);
SELECT * FROM btml.density('SELECT a FROM scattered WHERE false', 'SELECT 1 AS a');
SELECT * FROM btml.density('SELECT a FROM scattered WHERE id = 1', 'SELECT 1 AS a');
SELECT * FROM btml.density('SELECT a, 0 AS weight FROM scattered', 'SELECT 1 AS a');
SELECT * FROM btml.density('SELECT 1 AS a FROM scattered', 'SELECT 1 AS a');
SELECT * FROM btml.kernel_sum('SELECT a FROM scattered', 'SELECT 1 AS a');
SELECT btml.kernel_tail_ratio('SELECT a FROM scattered', 'SELECT 1 AS a');
SELECT btml.kernel_tail_profile('SELECT a FROM scattered', 'SELECT 1 AS a');
-- One far value neither widens all bandwidths in standard deviations nor chooses one.
CREATE TABLE sentinel AS SELECT id, CASE WHEN id = 7 THEN far ELSE x END AS x, sin(x) AS y, far
    FROM generate_series(1, 400) id, LATERAL (SELECT (id * 0.6180339887498949 % 1 * 12)::float8 AS x) s, unnest(ARRAY[0, 9999999, 1e9]) far;
SET client_min_messages = warning;
SELECT far, scale, bandwidth, btml.rmse(sin(k.id / 8.0), value) < 0.02 AS close
    FROM unnest(ARRAY[0, 9999999, 1e9]) far, (VALUES ('sd', 0.03), ('sd', NULL), ('none', NULL)) option(scale, bandwidth),
    btml.kernel_regression(0, format('SELECT x, y FROM sentinel WHERE far = %s', far), 'y',
    'SELECT i AS id, i / 8.0 AS x FROM generate_series(1, 94) i', bandwidth, scale => scale) k
    GROUP BY far, scale, bandwidth ORDER BY far, scale, bandwidth;
SELECT far, round(avg(value)::numeric, 2) AS mean_density FROM unnest(ARRAY[0, 9999999, 1e9]) far,
    btml.density(format('SELECT x FROM sentinel WHERE far = %s', far), 'SELECT i / 8.0 AS x FROM generate_series(20, 80) i')
    GROUP BY far ORDER BY far;
RESET client_min_messages;
DROP TABLE sentinel;
-- Ids of their own type.
CREATE DOMAIN large AS bigint CHECK (VALUE > 2);
SELECT id, pg_typeof(id) AS type
    FROM btml.kernel_sum(NULL::bigint, 'SELECT a, b FROM scattered', 'SELECT id * 10000000000 AS id, a, b FROM scattered WHERE id < 3', 1);
SELECT id, pg_typeof(id) AS type
    FROM btml.density(NULL::numeric, 'SELECT a, b FROM scattered', 'SELECT a, b FROM scattered WHERE id < 3', 1);
SELECT id, pg_typeof(id) AS type, d.value = s.t AS near
    FROM btml.kernel_regression(NULL::integer, 'SELECT a, b, t FROM scattered', 't', 'scattered', 1e-9) d JOIN scattered s USING (id)
    WHERE id < 3;
SELECT id, pg_typeof(id) AS type
    FROM btml.attention(NULL::date, 'SELECT a, t FROM scattered', 'SELECT date ''2024-02-29'' AS id, 1 AS a UNION ALL SELECT NULL, 2', 't');
SELECT id FROM btml.kernel_sum(NULL::integer, 'SELECT a FROM scattered', 'SELECT ''a'' AS id, 1 AS a', 1);
SELECT id FROM btml.kernel_sum(NULL::large, 'SELECT a FROM scattered', 'SELECT id, a FROM scattered WHERE id < 4', 1);
SELECT id FROM btml.kernel_sum(NULL, 'SELECT a FROM scattered', 'SELECT id, a FROM scattered WHERE id < 4', 1);
-- With the caller's rights.
CREATE ROLE btml_kernel_stranger;
GRANT USAGE ON SCHEMA kernel TO btml_kernel_stranger;
SET ROLE btml_kernel_stranger;
SELECT * FROM btml.kernel_sum('SELECT a FROM kernel.key', 'SELECT 1 AS a', 1);
RESET ROLE;
REVOKE ALL ON SCHEMA kernel FROM btml_kernel_stranger;
DROP ROLE btml_kernel_stranger;
SET client_min_messages = warning;
DROP SCHEMA kernel CASCADE;
