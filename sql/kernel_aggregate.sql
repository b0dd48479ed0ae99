-- btml.kernel_sum_agg: kernel sums as an aggregate over keys.
CREATE SCHEMA kernel_aggregate;
SET search_path = kernel_aggregate, public;
SET client_min_messages = warning;
SET jit = off;

\set caught `echo "${PG_ABS_SRCDIR:-.}/sql/include/caught.sql"`
\i :caught

-- k(q, key) of one pair.
CREATE FUNCTION kernel_of(name text, h float8, x float8[], y float8[]) RETURNS float8 LANGUAGE sql AS $$
    SELECT CASE name
        WHEN 'gaussian' THEN exp(-sum((u - v) ^ 2) / (2 * h ^ 2))
        WHEN 'laplacian' THEN exp(-sum(abs(u - v)) / h)
        WHEN 'matern32' THEN (1 + sqrt(3 * sum((u - v) ^ 2)) / h) * exp(-sqrt(3 * sum((u - v) ^ 2)) / h)
        WHEN 'matern52' THEN (1 + sqrt(5 * sum((u - v) ^ 2)) / h + 5 * sum((u - v) ^ 2) / (3 * h ^ 2)) * exp(-sqrt(5 * sum((u - v) ^ 2))
            / h)
        ELSE greatest(0, 1 - sum((u - v) ^ 2) / h ^ 2) END
    FROM unnest(x, y) p(u, v) $$;
-- Numbers that look random, the same everywhere.
CREATE FUNCTION noise(i int) RETURNS float8 LANGUAGE sql AS $$ SELECT hashint4(i) / 2147483648.0::float8 $$;
CREATE FUNCTION points(seed int, count int, dimensions int) RETURNS float8[] LANGUAGE sql AS $$
    SELECT array_agg(noise(seed * 10000 + i) ORDER BY i) FROM generate_series(1, count * dimensions) i $$;
CREATE TABLE key AS SELECT seed, dimensions, i, x[(i - 1) * dimensions + 1:i * dimensions] AS x, 3 * noise(seed * 77 + i) AS weight
FROM generate_series(1, 20) seed, LATERAL (SELECT 1 + seed % 6 AS dimensions) d, LATERAL (SELECT points(seed, 60, dimensions) AS x) p,
    generate_series(1, 60) i;
CREATE TABLE query AS SELECT seed, 1 + seed % 6 AS dimensions, seed * 5 % 41 + 1 AS count,
    points(-seed, seed * 5 % 41 + 1, 1 + seed % 6) AS x, 0.05 * (1 + seed) AS bandwidth FROM generate_series(1, 20) seed;
CREATE TABLE summed AS SELECT seed, kernel, btml.kernel_sum_agg(k.x, weight, q.x, bandwidth, kernel) AS sums
FROM key k JOIN query q USING (seed), unnest('{gaussian,laplacian,epanechnikov,matern32,matern52}'::text[]) kernel GROUP BY seed, kernel;
SELECT kernel, count(*) AS sums, bool_and(abs(s.sum - exact) <= 1e-12 * (1 + magnitude)) AS right,
    bool_and(queries = cardinality(sums)) AS each_query
FROM (SELECT seed, kernel, cardinality(sums) AS queries, sums, place, sum FROM summed, unnest(sums) WITH ORDINALITY u(sum, place)) s,
    LATERAL (SELECT sum(weight * k) AS exact, sum(abs(weight) * k) AS magnitude
    FROM (SELECT weight, kernel_of(s.kernel, bandwidth, k.x, q.x[(place - 1) * q.dimensions + 1:place * q.dimensions]) AS k
        FROM key k JOIN query q USING (seed) WHERE seed = s.seed) p) e GROUP BY kernel ORDER BY kernel;
-- As btml.kernel_sum.
SELECT bool_and(abs(value - sums[id::int]) < 1e-5) AS same, count(*)
    FROM btml.kernel_sum('SELECT x, weight FROM kernel_aggregate.key WHERE seed = 7',
    'SELECT n AS id, q.x[(n - 1) * dimensions + 1:n * dimensions] AS x FROM kernel_aggregate.query q, generate_series(1, count) n
        WHERE seed = 7', 0.4, method => 'exact') s
    JOIN summed t ON t.seed = 7 AND kernel = 'gaussian';

SELECT bool_and(s.sums = g.sums) AS gaussian FROM summed s JOIN (SELECT seed, btml.kernel_sum_agg(k.x, weight, q.x, bandwidth) AS sums
    FROM key k JOIN query q USING (seed) GROUP BY seed) g USING (seed) WHERE kernel = 'gaussian';

-- The same bits in any order, split in any way, through any form of the state.
CREATE AGGREGATE state(float8[], float8, float8[], float8, text) (SFUNC = btml_internal.kernel_sums_accumulate, STYPE = btml.kernel_sums);
CREATE AGGREGATE combined(btml.kernel_sums) (SFUNC = btml_internal.kernel_sums_combine, STYPE = btml.kernel_sums,
    FINALFUNC = btml_internal.kernel_sums_final);
SELECT bool_and(a.sums = s.sums) AS any_order
    FROM summed s JOIN (SELECT seed, kernel, btml.kernel_sum_agg(k.x, weight, q.x, bandwidth, kernel ORDER BY random()) AS sums
    FROM key k JOIN query q USING (seed), unnest('{gaussian,matern32}'::text[]) kernel GROUP BY seed, kernel) a USING (seed, kernel);
CREATE TABLE parts AS SELECT seed, i % 7 AS part, state(k.x, weight, q.x, bandwidth, 'laplacian') AS state
    FROM key k JOIN query q USING (seed) GROUP BY seed, part;
SELECT bool_and(sums = c) AS parts, bool_and(sums = through_text) AS through_text
    FROM summed JOIN (SELECT seed, combined(state) AS c, combined(state::text::btml.kernel_sums) AS through_text FROM parts
    GROUP BY seed) p USING (seed) WHERE kernel = 'laplacian';
\copy parts TO PROGRAM 'cat >"${TMPDIR:-/tmp}/btml_kernel_sums.$PPID"' (FORMAT binary)
TRUNCATE parts;
\copy parts FROM PROGRAM 'cat "${TMPDIR:-/tmp}/btml_kernel_sums.$PPID"; rm "${TMPDIR:-/tmp}/btml_kernel_sums.$PPID"' (FORMAT binary)
SELECT bool_and(sums = c) AS through_bytes FROM summed JOIN (SELECT seed, combined(state) AS c FROM parts GROUP BY seed) p USING (seed)
    WHERE kernel = 'laplacian';
CREATE TABLE many AS SELECT ARRAY[noise(i), noise(-i)] AS x, 1e10 ^ (i % 20) * noise(i + 5) AS weight FROM generate_series(1, 20000) i;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 3;
EXPLAIN (COSTS off) SELECT btml.kernel_sum_agg(x, weight, '{0,0,0.5,0.5,1,-1}', 0.3, 'gaussian') FROM many;
CREATE TABLE by_workers AS SELECT btml.kernel_sum_agg(x, weight, '{0,0,0.5,0.5,1,-1}', 0.3, 'gaussian') AS sums FROM many;
SET max_parallel_workers_per_gather = 0;
SELECT b.sums = m.sums AS by_workers
    FROM by_workers b, (SELECT btml.kernel_sum_agg(x, weight, '{0,0,0.5,0.5,1,-1}', 0.3, 'gaussian') AS sums FROM many) m;
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size; RESET max_parallel_workers_per_gather;

-- Far away, at the edge, without width; no rows.
SELECT kernel, btml.kernel_sum_agg(x, 2, '{0}', 1, kernel) AS sums
    FROM unnest('{gaussian,laplacian,epanechnikov,matern32,matern52}'::text[]) kernel,
    (VALUES ('{1e308}'::float8[]), ('{-1e200}'), ('{1e5}')) k(x) GROUP BY kernel ORDER BY kernel;
SELECT btml.kernel_sum_agg('{1}', 1, '{0,1,2}', 1, 'epanechnikov') AS edge,
    btml.kernel_sum_agg('{1}', 1, '{0,1}', 1e-150, 'gaussian') AS narrow,
    btml.kernel_sum_agg('{1}', 1, '{-1e100,1}', 1e150, 'laplacian') AS wide,
    btml.kernel_sum_agg('{1}', 0, '{1}', 1, 'gaussian') AS weightless,
    btml.kernel_sum_agg('{1}', 1, '{1}', 1, 'gaussian') FILTER (WHERE false) IS NULL AS no_rows;
SELECT part, btml.kernel_sum_agg(ARRAY[i], 1, '{3,30}', 5, 'gaussian')::numeric(9, 6)[] AS sums
    FROM (SELECT i % 2 AS part, i FROM generate_series(1, 50) i) s GROUP BY part ORDER BY part;

-- Wrong arguments.
SELECT call, caught(format('SELECT btml.kernel_sum_agg(%s)', call)) FROM unnest(ARRAY[
    $$NULL, 1, '{1}', 1, 'gaussian'$$, $$'{1}', NULL, '{1}', 1, 'gaussian'$$, $$'{1}', 1, NULL, 1, 'gaussian'$$,
    $$'{1}', 1, '{1}', NULL, 'gaussian'$$, $$'{1}', 1, '{1}', 1, NULL$$,
    $$'{1,NULL}', 1, '{1,2}', 1, 'gaussian'$$, $$'{1}', 1, '{1,NULL}', 1, 'gaussian'$$, $$'{NaN}', 1, '{1}', 1, 'gaussian'$$,
    $$'{1}', 'Infinity', '{1}', 1, 'gaussian'$$, $$'{1}', 1, '{1,-Infinity}', 1, 'gaussian'$$,
    $$'{}', 1, '{1}', 1, 'gaussian'$$, $$'{1}', 1, '{}', 1, 'gaussian'$$, $$'{1,2}', 1, '{1,2,3}', 1, 'gaussian'$$,
    $$'{{1}}', 1, '{1}', 1, 'gaussian'$$, $$'{1}', 1, '{{1}}', 1, 'gaussian'$$,
    $$'{1}', 1, '{1}', 0, 'gaussian'$$, $$'{1}', 1, '{1}', -1, 'gaussian'$$, $$'{1}', 1, '{1}', 'NaN', 'gaussian'$$,
    $$'{1}', 1, '{1}', 1e-200, 'gaussian'$$, $$'{1}', 1, '{1}', 'Infinity', 'gaussian'$$, $$'{1}', 1, '{1}', 1, 'gauss'$$,
    $$x, 1, '{1,2}', 1, 'gaussian') FROM (VALUES ('{1}'::float8[]), ('{1,2}')) v(x$$,
    $$'{1}', 1, ARRAY[n], 1, 'gaussian') FROM generate_series(1, 2) n -- ($$,
    $$'{1}', 1, '{1}', n, 'gaussian') FROM generate_series(1, 2) n -- ($$,
    $$'{1}', 1, '{1}', 1, kernel) FROM unnest('{gaussian,laplacian}'::text[]) kernel -- ($$,
    $$'{1}', 1e308, '{1}', 1, 'gaussian') FROM generate_series(1, 2) n -- ($$]) WITH ORDINALITY u(call, n) ORDER BY n;
SELECT caught(call) FROM unnest(ARRAY[$$SELECT btml_internal.kernel_sums_accumulate(NULL, '{1}', 1, '{1}', 1, 'gaussian')$$,
    $$SELECT 'AAAA'::btml.kernel_sums$$, $$SELECT '?'::btml.kernel_sums$$,
    $$SELECT translate(encode(overlay(decode(state::text, 'base64') PLACING '\x09' FROM 9), 'base64'), E'\n', '')::btml.kernel_sums
        FROM kernel_aggregate.parts WHERE seed = 1 AND part = 1$$,
    $$SELECT translate(encode(substr(decode(state::text, 'base64'), 1, 100), 'base64'), E'\n', '')::btml.kernel_sums
        FROM kernel_aggregate.parts WHERE seed = 1 AND part = 1$$]) call;
SET btml.memory_limit = '64kB';
SELECT caught($$SELECT btml.kernel_sum_agg('{1}', 1, array_fill(1::float8, '{1000}'), 1, 'gaussian')$$);
RESET btml.memory_limit;

SET client_min_messages = warning;
DROP SCHEMA kernel_aggregate CASCADE;
