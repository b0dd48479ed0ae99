-- Cross-validation scores of kernel methods: btml.kde_score, btml.kr_score, btml.kcde_score.
CREATE SCHEMA score;
SET search_path = score, public;
SET extra_float_digits = 0;

\set caught `echo "${PG_ABS_SRCDIR:-.}/sql/include/caught.sql"`
\i :caught
CREATE FUNCTION near(a float8, b float8,
    e float8 DEFAULT 1e-9) RETURNS boolean LANGUAGE sql AS $$ SELECT abs(a - b) <= e * abs(b) + 1e-14 $$;

CREATE TABLE small AS SELECT i AS id, i * 7919 % 101 / 50.0::float8 AS a, i * 104729 % 89 / 45.0::float8 AS b,
    sin(i * 7919 % 101 / 25.0) + i % 5 / 10.0 AS y FROM generate_series(1, 60) i;
CREATE VIEW pair AS SELECT i.id AS i, j.id AS j, i.y AS yi, j.y AS yj, (i.a - j.a) ^ 2 + (i.b - j.b) ^ 2 AS d FROM small i, small j
    WHERE i.id <> j.id;

-- Each score as it is defined, in SQL.
CREATE VIEW kr AS SELECT avg((y - r) ^ 2) AS score
    FROM (SELECT yi AS y, sum(exp(-d / 0.18) * yj) / sum(exp(-d / 0.18)) AS r FROM pair GROUP BY i, yi) s;
SELECT near((e).value, score) AS value, (e).std_error, (e).lower = (e).value AS lower, (e).upper = (e).value AS upper, (e).evaluations
    FROM kr, btml.kr_score('score.small', 'y', 0.3) e;
CREATE VIEW kde AS SELECT (59 * 60 * 1 / (4 * pi() * 0.09) + 58 * sum(exp(-d / 0.36)) / (4 * pi() * 0.09)) / (60 * 59 ^ 2) - 2
    * sum(exp(-d / 0.18)) / (2 * pi() * 0.09) / (60 * 59) AS score FROM pair;
SELECT near((e).value, score) AS value, (e).std_error, (e).evaluations FROM kde, btml.kde_score('SELECT a, b FROM score.small', 0.3) e;
CREATE VIEW kcde AS SELECT avg(
    (SELECT sum(exp(-(p.d + q.d) / 0.18) * exp(-((p.yj - q.yj) ^ 2) / 0.16) / sqrt(0.16 * pi())) FROM pair p, pair q
    WHERE p.i = s.id AND q.i = s.id) / (SELECT sum(exp(-d / 0.18)) ^ 2 FROM pair WHERE i = s.id)
    - 2 * (SELECT sum(exp(-d / 0.18) * exp(-((yi - yj) ^ 2) / 0.08) / sqrt(0.08 * pi())) / sum(exp(-d / 0.18)) FROM pair
    WHERE i = s.id)) AS score FROM small s;
SELECT near((e).value, score) AS value, (e).std_error, (e).evaluations FROM kcde, btml.kcde_score('score.small', 'y', 0.3, 0.2) e;

-- Of other kernels as well.
CREATE VIEW other_kernel AS SELECT 'laplacian' AS kernel, p.*,
    exp(-(abs(i.a - j.a) + abs(i.b - j.b)) / 0.3) AS k, (2 * 0.3::float8) ^ 2 AS volume FROM pair p JOIN small i ON i.id = p.i
    JOIN small j ON j.id = p.j
    UNION ALL SELECT 'epanechnikov', p.*, greatest(0, 1 - d / 0.09), pi() / 2 * 0.09 FROM pair p
    UNION ALL SELECT 'matern32', p.*, (1 + sqrt(3 * d) / 0.3) * exp(-sqrt(3 * d) / 0.3), 2 * pi() * 0.09 FROM pair p
    UNION ALL SELECT 'matern52', p.*, (1 + sqrt(5 * d) / 0.3 + 5 * d / 0.27) * exp(-sqrt(5 * d) / 0.3), 2 * pi() * 0.09 FROM pair p;
SELECT kernel, near((btml.kr_score('score.small', 'y', 0.3, kernel => kernel)).value, score) AS kr
    FROM (SELECT kernel, avg((yi - r) ^ 2) AS score
    FROM (SELECT kernel, yi, coalesce(sum(k * yj) / nullif(sum(k), 0), (array_agg(yj ORDER BY d))[1]) AS r FROM other_kernel
    GROUP BY kernel, i, yi) s GROUP BY kernel) s ORDER BY kernel;
SELECT kernel, near((btml.likelihood_score('SELECT a, b FROM score.small', 0.3, kernel => kernel)).value, score) AS likelihood
    FROM (SELECT kernel, -avg(ln(density)) AS score
    FROM (SELECT kernel, sum(k) / min(volume) / 59 AS density FROM other_kernel WHERE kernel <> 'epanechnikov' GROUP BY kernel, i) s
    GROUP BY kernel) s ORDER BY kernel;
-- On a line the convolution of Matérn kernels of order 3/2 is 5·√3/32h·(1 + a + 2a²/5 + a³/15)·exp(-a), a = √3·|u|/h.
SELECT near((btml.kde_score('SELECT a FROM score.small', 0.3, kernel => 'matern32')).value, (59 * 60 + 58 * convolution) * 5 * sqrt(3) / 32
    / 0.3 / (60 * 59 ^ 2) - 2 * density * sqrt(3) / 4 / 0.3 / (60 * 59)) AS kde
FROM (SELECT sum((1 + a + 2 * a ^ 2 / 5 + a ^ 3 / 15) * exp(-a)) AS convolution, sum((1 + a) * exp(-a)) AS density
    FROM (SELECT sqrt(3) * abs(i.a - j.a) / 0.3 AS a FROM small i JOIN small j ON i.id <> j.id) s) t;
CREATE VIEW wave AS SELECT (i::bigint * 7919 % 10007 / 10007.0 * 3)::float8 AS x,
    sin(i::bigint * 7919 % 10007 / 2000.0) + i::bigint * 611953 % 3001 / 3001.0 AS y FROM generate_series(1, 6000) i;
SELECT kernel, abs(sampled.value / exact.value - 1) < 0.1 AS near, sampled.std_error > 0 AS sampled
    FROM unnest(ARRAY['gaussian', 'laplacian', 'epanechnikov', 'matern32', 'matern52']) kernel,
    btml.kr_score('score.wave', 'y', 0.2, method => 'sampled', kernel => kernel) sampled,
    btml.kr_score('score.wave', 'y', 0.2, kernel => kernel) exact ORDER BY kernel;
SELECT count(*), count(*) FILTER (WHERE best) AS best
    FROM btml.select_bandwidth('score.small', 'kcde', 'y', lower => 0.1, upper => 0.9, steps => 5, kernel => 'matern52');
SELECT caught(format('SELECT btml.%s, kernel => %s)', f, k))
    FROM (VALUES ('kr_score(''score.small'', ''y'', 1', '''box'''), ('kr_score(''score.small'', ''y'', 1', 'NULL'),
    ('kde_score(''score.small'', 1', '''laplacian'''), ('likelihood_score(''score.small'', 1', '''epanechnikov'''),
    ('select_bandwidth(''score.small'', ''kde''', '''epanechnikov''')) v (f, k);

-- An array of coordinates; the order of rows, the number of threads and a shift of the target leave no trace.
SELECT near((btml.kr_score('SELECT ARRAY[a, b] AS x, y + 100 AS y FROM score.small ORDER BY b', 'y', 0.3)).value, score) FROM kr;
SET btml.threads = 1;
SELECT btml.kr_score('score.small', 'y', 0.3, method => 'sampled', seed => 4) = btml.kr_score('SELECT * FROM score.small ORDER BY y', 'y',
    0.3, method => 'sampled', seed => 4);
SET btml.threads = 3;
-- Coordinates in units of their standard deviations.
SELECT near((btml.kr_score('score.small', 'y', 0.3, scale => 'sd')).value,
    (btml.kr_score('SELECT a / (SELECT stddev_pop(a) FROM score.small) AS a, b / (SELECT stddev_pop(b) FROM score.small) AS b, y
    FROM score.small', 'y', 0.3)).value);

-- Sampling: errors as asked for, but for one in twenty; the same seed gives the same bytes.
CREATE TABLE large AS SELECT (i::bigint * 7919 % 10007 / 10007.0 * 3)::float8 AS a, (i::bigint * 104729 % 20011 / 20011.0)::float8 AS b,
    (sin(i::bigint * 7919 % 10007 / 2000.0) + (i::bigint * 611953 % 3001 / 3001.0) ^ 8 * 4)::float8 AS y FROM generate_series(1, 6000) i;
SELECT kind, count(*) FILTER (WHERE abs(value - exact) > 0.1 * abs(exact)) <= 1 AS kept, bool_and(std_error > 0) AS sampled,
    bool_and(value BETWEEN lower AND upper) AS ordered
FROM (SELECT kind, e.*, x.value AS exact
    FROM generate_series(1, 2) seed, unnest(ARRAY[0.1, 0.5]) h, unnest(ARRAY['kde', 'kr', 'kcde']) kind,
    LATERAL (SELECT (CASE kind WHEN 'kde' THEN btml.kde_score('SELECT a, b FROM score.large', h, method => 'sampled', seed => seed)
    WHEN 'kr' THEN btml.kr_score('score.large', 'y', h, method => 'sampled', seed => seed)
    ELSE btml.kcde_score('score.large', 'y', h, 0.3, method => 'sampled', seed => seed) END).*) e,
    LATERAL (SELECT (CASE kind WHEN 'kde' THEN btml.kde_score('SELECT a, b FROM score.large', h)
    WHEN 'kr' THEN btml.kr_score('score.large', 'y', h) ELSE btml.kcde_score('score.large', 'y', h, 0.3) END).value) x) s
    GROUP BY kind ORDER BY kind;
SELECT btml.kr_score('score.large', 'y', 0.1, method => 'sampled', seed => 7) = btml.kr_score('score.large', 'y', 0.1, method => 'sampled',
    seed => 7) AS same, btml.kr_score('score.large', 'y', 0.1, method => 'sampled', seed => 7) <> btml.kr_score('score.large', 'y', 0.1,
    method => 'sampled', seed => 8) AS other;
-- A tolerance asks for less, min_samples and strata for more.
SELECT (btml.kr_score('score.large', 'y', 0.5, epsilon => 0.001, method => 'sampled')).std_error AS falls_back,
    (btml.kr_score('score.large', 'y', 0.5, epsilon => 0.001, tolerance => 0.1, method => 'sampled')).std_error BETWEEN 1e-6
    AND 0.051 AS tolerant,
    (btml.kr_score('score.large', 'y', 0.5, method => 'sampled', min_samples => 100, strata => 5)).evaluations
    < (btml.kr_score('score.large', 'y', 0.5, method => 'sampled', min_samples => 1000, strata => 50)).evaluations AS options;

-- Weights that underflow: the nearest row is left; equal points, a constant target, two rows.
SELECT (btml.kr_score('SELECT x, 10 * x AS y FROM unnest(ARRAY[0, 1, 3, 3]::float8[]) x', 'y', 1e-9)).value;
SELECT (btml.kde_score('SELECT x FROM unnest(ARRAY[0, 1, 3, 7]::float8[]) x', 1e-3)).value > 0 AS peaks;
SELECT near((btml.kcde_score('SELECT x, 0 AS y FROM unnest(ARRAY[0, 1, 3, 7]::float8[]) x', 'y', 1e-3, 1)).value,
    1 / (2 * sqrt(pi())) - 2 / sqrt(2 * pi())) AS constant;
SELECT (btml.kr_score('SELECT 1 AS x, i % 2 AS y FROM generate_series(1, 4) i', 'y', 0.1)).value AS equal_points,
    (btml.kr_score('SELECT i AS x, 5 AS y FROM generate_series(1, 4) i', 'y', 0.1)).value AS constant,
    (btml.kr_score('SELECT i AS x, i AS y FROM generate_series(1, 2) i', 'y', 0.1)).value AS two;
SELECT (btml.kr_score('SELECT i AS x, CASE WHEN i < 4 THEN i END AS y FROM generate_series(1, 5) i', 'y', 1)).evaluations AS null_targets;
SELECT (btml.kr_score('SELECT i AS x, nullif(i, 3) AS y FROM generate_series(1, 5) i', 'y', 1)).evaluations AS null_target;

-- Sampled scores of three rows, a constant target, equal points and both are the exact ones.
SELECT kind, array_agg(near((CASE kind WHEN 'kde' THEN btml.kde_score(source, 0.5, method => 'sampled')
    WHEN 'kr' THEN btml.kr_score(source, 'y', 0.5, method => 'sampled')
    ELSE btml.kcde_score(source, 'y', 0.5, 0.3, method => 'sampled') END).value,
    (CASE kind WHEN 'kde' THEN btml.kde_score(source, 0.5) WHEN 'kr' THEN btml.kr_score(source, 'y', 0.5)
    ELSE btml.kcde_score(source, 'y', 0.5, 0.3) END).value)) AS near
FROM unnest(ARRAY['kde', 'kr', 'kcde']) kind,
    unnest(ARRAY['SELECT i AS x, i * i AS y FROM generate_series(1, 3) i', 'SELECT i AS x, 0.1 AS y FROM generate_series(1, 50) i',
    'SELECT 1 AS x, i % 2 AS y FROM generate_series(1, 50) i', 'SELECT 1 AS x, 2 AS y FROM generate_series(1, 50)']) source
    GROUP BY kind ORDER BY kind;

-- The curve of a score, and its least; the same for an exact and a sampled one.
SELECT count(*), count(*) FILTER (WHERE best) AS best, bool_and(target_bandwidth IS NULL) AS no_target, bool_and(std_error = 0) AS exact,
    near(min(score), min(score) FILTER (WHERE best)) AS least,
    near(min(score), (SELECT (btml.kr_score('score.small', 'y', bandwidth)).value
    FROM btml.select_bandwidth('score.small', 'kr', 'y', steps => 10) WHERE best)) AS score
    FROM btml.select_bandwidth('score.small', 'kr', 'y', steps => 10);
SELECT count(*), count(*) FILTER (WHERE best) AS best, min(bandwidth) AS lower, round(max(bandwidth)::numeric, 9) AS upper,
    count(DISTINCT target_bandwidth) AS targets
    FROM btml.select_bandwidth('score.small', 'kcde', 'y', lower => 0.1, upper => 0.9, steps => 9);
-- Most points have an equal: the few that have none do not say where to begin.
SELECT min(bandwidth) < 0.1 AS below
    FROM btml.select_bandwidth('SELECT CASE WHEN i < 20 THEN i * i ELSE i % 10 END AS x, sin(i) AS y FROM generate_series(1, 1000) i',
    'kr', 'y', steps => 5);
-- A kernel's polynomial may be as large where all weights but the nearest row's underflow.
SELECT near((btml.kcde_score(source, 'y', 1e-78, 1, kernel => 'matern52')).value,
    (btml.kcde_score(source, 'y', 1e-60, 1, kernel => 'matern52')).value) AS same
    FROM (VALUES ('SELECT i AS x, i % 3 AS y FROM generate_series(1, 5) i')) v(source);
-- In standard deviations, too, the order of the rows leaves no trace.
SELECT a.score = b.score AS same
    FROM (SELECT btml.kr_score('SELECT x, y FROM score.wave ORDER BY x', 'y', 0.1, scale => 'sd')::text AS score) a,
    (SELECT btml.kr_score('SELECT x, y FROM score.wave ORDER BY x DESC', 'y', 0.1, scale => 'sd')::text AS score) b;
-- As many rows as steps, wherever the best is; at an end of the range a NOTICE says what to widen.
SELECT count(*) FROM btml.select_bandwidth('score.small', 'kr', 'y', lower => 5, upper => 9, steps => 8);
SELECT count(*) FROM btml.select_bandwidth('score.small', 'kr', 'y', lower => 0.001, upper => 0.01, steps => 8);
SELECT count(*) FROM btml.select_bandwidth('score.small', 'kcde', 'y', lower => 0.1, upper => 0.9, steps => 8);
-- Targets of a few values make ever smaller bandwidths look good.
SELECT count(*) FROM btml.select_bandwidth('SELECT a, b, round(y) AS y FROM score.small', 'kcde', 'y', lower => 0.1, upper => 0.9,
    steps => 5);
-- Three rows, a constant target, equal points.
SELECT count(*), bool_and(score >= 0) AS scores
    FROM btml.select_bandwidth('SELECT x, x AS y FROM unnest(ARRAY[0, 1, 3]) x', 'kr', 'y', steps => 3);
SELECT count(*), bool_and(score > '-Infinity') AS scores
    FROM btml.select_bandwidth('SELECT x FROM unnest(ARRAY[0, 1, 3]) x', 'kde', steps => 3);
SELECT count(*), bool_and(score > '-Infinity') AS scores
    FROM btml.select_bandwidth('SELECT x, x AS y FROM unnest(ARRAY[0, 1, 3]) x', 'kcde', 'y', steps => 3);
SELECT count(*), max(score) FROM btml.select_bandwidth('SELECT a, b, 5 AS y FROM score.small', 'kr', 'y', steps => 4);
SET client_min_messages = warning; -- scores of different bandwidths are the same but for rounding
SELECT count(*), round(min(target_bandwidth)::numeric, 9) AS least, round(60 ^ -0.2 / 10, 9) AS usual
    FROM btml.select_bandwidth('SELECT a, b, 0.1 AS y FROM score.small', 'kcde', 'y', steps => 4);
RESET client_min_messages;
SELECT count(*), count(DISTINCT score) AS scores
    FROM btml.select_bandwidth('SELECT 1 AS x, i % 2 AS y FROM generate_series(1, 9) i', 'kr', 'y', lower => 0.1, upper => 1, steps => 4);
-- Every weight underflows: of its two nearest rows each row has one that differs by 1 and is its opposite.
SELECT round(min(score)::numeric, 9) AS least, round(max(score)::numeric, 9) AS most
    FROM btml.select_bandwidth('SELECT i::float8 AS x, i % 2 AS y FROM generate_series(1, 50) i', 'kr', 'y', lower => 1e-9, upper => 1e-8,
    steps => 3, method => 'sampled');
-- A step of the grid is a factor of 16^(1/7).
SELECT abs(ln(s.bandwidth / x.bandwidth)) <= ln(16) / 7 AS near, s.std_error > 0 AS sampled
    FROM btml.select_bandwidth('score.large', 'kr', 'y', lower => 0.05, upper => 0.8, method => 'sampled', steps => 12) s,
    btml.select_bandwidth('score.large', 'kr', 'y', lower => 0.05, upper => 0.8, method => 'exact', steps => 12) x WHERE s.best AND x.best;
SELECT caught(format('SELECT count(*) FROM btml.select_bandwidth(%s)', a))
    FROM unnest(ARRAY['''score.small'', ''lscv''', '''score.small'', ''kr''', '''score.small'', ''kde'', ''y''',
    '''score.small'', ''kr'', ''z''', '''score.small'', ''kr'', ''y'', lower => 0',
    '''score.small'', ''kr'', ''y'', lower => 2, upper => 1',
    '''score.small'', ''kr'', ''y'', steps => 1', '''SELECT 1 AS x, i AS y FROM generate_series(1, 9) i'', ''kr'', ''y''',
    '''SELECT CASE WHEN id > 1 THEN a ELSE ''''NaN'''' END AS a, b FROM score.small'', ''kde''',
    '''SELECT a, CASE WHEN id > 1 THEN y ELSE ''''NaN'''' END AS y FROM score.small'', ''kcde'', ''y''',
    '''SELECT a FROM score.small WHERE id = 1'', ''kde''', 'NULL, ''kde''', '''score.small'', NULL']) a;

-- Sums from a sample of pages; what cannot be sampled, or is too small, is summed exactly.
CREATE TABLE pages WITH (fillfactor = 20, autovacuum_enabled = off) AS SELECT i, (i::bigint * 7919 % 1009)::float8 AS v,
    CASE i WHEN 777 THEN 1e9 ELSE i::bigint * 7919 % 1009 END AS w, repeat('x', 150) AS filler FROM generate_series(1, 40000) i;
SELECT abs((e).value / s - 1) < 0.05 AS near, (e).std_error BETWEEN 1e-9 AND 0.026 * s AS sampled, (e).value BETWEEN (e).lower
    AND (e).upper AS ordered, (e).evaluations BETWEEN 1000 AND 35000 AS rows
    FROM (SELECT sum(v) AS s FROM pages) t, btml.approx_sum('SELECT v FROM score.pages', 0.05) e;
SELECT abs((e).value / s - 1) < 0.2 AS near, (e).std_error > 0 AS sampled
    FROM (SELECT sum(v) AS s FROM pages WHERE i % 2 = 0) t, btml.approx_sum('SELECT v FROM score.pages WHERE i % 2 = 0', 0.1) e;
SELECT count(*) FILTER (WHERE abs((e).value / s - 1) > 0.03) <= 4 AS kept
    FROM (SELECT sum(v) AS s FROM pages) t, generate_series(1, 20) seed, btml.approx_sum('SELECT v FROM score.pages', 0.03, seed => seed) e;
SELECT btml.approx_sum('SELECT v FROM score.pages', 0.05, seed => 3) = btml.approx_sum('SELECT v FROM score.pages', 0.05,
    seed => 3) AS same;
SELECT btml.approx_sum('SELECT v FROM score.pages WHERE i <= 100') AS clustered,
    btml.approx_sum('SELECT i FROM generate_series(1, 100) i') AS function, btml.approx_sum('SELECT NULL::int') AS nothing,
    btml.approx_sum('SELECT v FROM score.pages WHERE false') AS empty;
-- Pages without rows do not make it scan.
CREATE TABLE emptied WITH (fillfactor = 20, autovacuum_enabled = off) AS SELECT * FROM pages ORDER BY i;
DELETE FROM emptied WHERE i BETWEEN 1000 AND 1400;
VACUUM emptied;
SELECT abs((e).value / s - 1) < 0.01 AS near, (e).std_error > 0 AS sampled, (e).evaluations < 10000 AS few
    FROM (SELECT sum(1 + v / 10000) AS s FROM emptied) t, btml.approx_sum('SELECT 1 + v / 10000 FROM score.emptied') e;
-- One value is nearly all of the sum: a table of few pages is summed exactly, and so is a larger one whose statistics know of it.
CREATE TABLE one_huge AS SELECT CASE i WHEN 20000 THEN 1e9 ELSE 1 END AS v FROM generate_series(1, 40000) i;
SELECT btml.approx_sum('SELECT v FROM score.one_huge');
SELECT (btml.approx_sum('SELECT w FROM score.pages')).std_error > 0 AS unseen;
ALTER TABLE pages ALTER w SET STATISTICS 1000;
ANALYZE pages (v, w);
SELECT (btml.approx_sum('SELECT w FROM score.pages')).value = (SELECT sum(w)
    FROM pages) AS exact, (btml.approx_sum('SELECT v FROM score.pages', 0.05)).std_error > 0 AS sampled;
-- An access method other than heap may not know how to give some of its pages.
CREATE ACCESS METHOD unlike TYPE TABLE HANDLER heap_tableam_handler;
CREATE TABLE otherwise USING unlike WITH (fillfactor = 20) AS SELECT v, filler FROM pages;
SELECT (e).value = (SELECT sum(v) FROM pages) AS exact, (e).std_error FROM btml.approx_sum('SELECT v FROM score.otherwise', 0.05) e;
DROP TABLE otherwise;
DROP ACCESS METHOD unlike;
CREATE TABLE parted (k int, v numeric) PARTITION BY RANGE (k);
CREATE TABLE parted_low PARTITION OF parted FOR VALUES FROM (0) TO (50);
CREATE TABLE parted_high PARTITION OF parted FOR VALUES FROM (50) TO (200);
INSERT INTO parted SELECT i, CASE WHEN i % 3 > 0 THEN i END FROM generate_series(1, 100) i;
SELECT btml.approx_sum('SELECT v FROM score.parted') AS parted,
    btml.approx_sum('SELECT p.v FROM score.parted p JOIN score.pages ON k = i') AS joined,
    btml.approx_sum('SELECT v FROM score.parted UNION ALL SELECT v FROM score.parted') AS doubled,
    (btml.approx_sum('SELECT NULL::int8 FROM score.pages')).value AS nulls;
SELECT caught(format('SELECT btml.approx_sum(%s)', a))
    FROM unnest(ARRAY['NULL', '''score.pages''', '''SELECT filler FROM score.pages''', '''SELECT v FROM score.page''',
    '''SELECT v FROM score.pages'', 0', '''SELECT v FROM score.pages'', 0.1, 1', '''SELECT v / 0 FROM score.pages''',
    '''SELECT ''''NaN''''::float8''', '''SELECT ''''-Infinity''''::float8''']) a;
-- Rights are the caller's.
CREATE ROLE score_reader;
GRANT USAGE ON SCHEMA score TO score_reader;
GRANT EXECUTE ON FUNCTION caught TO score_reader;
SET ROLE score_reader;
SELECT caught('SELECT btml.approx_sum(''SELECT v FROM score.pages'')'), caught('SELECT btml.kr_score(''score.small'', ''y'', 1)');
RESET ROLE;

-- Errors.
SELECT caught(format('SELECT btml.kr_score(%s)', a))
    FROM unnest(ARRAY['NULL, ''y'', 1', '''score.small'', NULL, 1', '''score.small'', ''y'', NULL', '''score.small'', ''Y'', 1',
    '''score.smal'', ''y'', 1',
    '''SELECT a, b::text AS y FROM score.small'', ''y'', 1', '''SELECT y FROM score.small'', ''y'', 1', '''score.small'', ''y'', 0',
    '''score.small'', ''y'', -1', '''score.small'', ''y'', ''NaN''', '''score.small'', ''y'', ''Infinity''',
    '''score.small'', ''y'', 1, epsilon => 0', '''score.small'', ''y'', 1, confidence => 1',
    '''score.small'', ''y'', 1, method => ''fast''', '''score.small'', ''y'', 1, strata => 0',
    '''score.small'', ''y'', 1, min_samples => 1',
    '''score.small'', ''y'', 1, tolerance => -1', '''score.small'', ''y'', 1, scale => ''mad''', '''score.small'', ''y'', 1, seed => NULL',
    '''SELECT * FROM score.small WHERE id < 0'', ''y'', 1', '''SELECT * FROM score.small WHERE id = 1'', ''y'', 1',
    '''SELECT CASE WHEN id > 1 THEN a END AS a, y FROM score.small'', ''y'', 1',
    '''SELECT CASE WHEN id > 1 THEN a ELSE ''''NaN'''' END AS a, y FROM score.small'', ''y'', 1',
    '''SELECT a, CASE WHEN id > 1 THEN y ELSE ''''Infinity'''' END AS y FROM score.small'', ''y'', 1',
    '''SELECT a * 1e200 AS a, y FROM score.small'', ''y'', 1']) a;
SELECT caught('SELECT btml.kcde_score(''score.small'', ''y'', 1, 0)'),
    caught('SELECT btml.kde_score(''SELECT ARRAY[a, b, a] AS x FROM score.small'', 1e-120)'),
    caught('SELECT btml.kde_score(''SELECT a::text FROM score.small'', 1)');
SET btml.memory_limit = '200kB';
SELECT regexp_replace(caught('SELECT btml.kr_score(''score.large'', ''y'', 1)'), '\d+', '#', 'g');
RESET btml.memory_limit;
-- A column that is neither a coordinate nor a weight here.
SELECT btml.kde_score('SELECT a, b AS weight FROM score.small', 1) = btml.kde_score('SELECT a FROM score.small', 1) AS same;
SET statement_timeout = '100ms';
SELECT btml.kcde_score('SELECT i * 7919 % 10007 AS x, i AS y FROM generate_series(1, 20000) i', 'y', 1000, 1000, method => 'exact');
RESET statement_timeout;

-- Bandwidths at which halves of a sample may be without weight.
\set uniform `echo "${PG_ABS_SRCDIR:-.}/sql/include/uniform.sql"`
\i :uniform
CREATE TABLE blobs AS SELECT (SELECT array_agg(sqrt(-2 * ln(1 - uniform(10 * i + g, 1))) * cos(2 * pi() * uniform(10 * i + g, 2)) * s
    * sign(g)) FROM generate_series(1, 10) g) AS x, uniform(i, 3) AS y
FROM (SELECT i, exp(2 * (uniform(i, 4) - 0.5)) AS s FROM generate_series(1, 4500) i) q;
SELECT count(*), bool_and(score BETWEEN 0.05 AND 0.5) AS finite
    FROM btml.select_bandwidth('score.blobs', 'kr', 'y', lower => 0.1, upper => 0.11000000000000001, steps => 3);

-- The likelihood of a density, against its definition; rounded points have no best bandwidth by least squares.
CREATE TABLE rounded AS SELECT round((20 * x[i % 10 + 1])::numeric) / 20 AS x FROM blobs, generate_series(0, 4) i WHERE i % 5 = 0;
SELECT round(s.value::numeric, 6) AS score, round(-avg(ln(density))::numeric, 6) AS definition
FROM btml.likelihood_score('SELECT x FROM score.rounded LIMIT 300', 0.2) s,
    (SELECT sum(exp(greatest(-700, -((a.x - b.x) ^ 2) / 0.08)) / (299 * 0.2 * sqrt(2 * pi()))) AS density
     FROM (SELECT ctid AS id, x::float8 FROM score.rounded LIMIT 300) a
     JOIN (SELECT ctid AS id, x::float8 FROM score.rounded LIMIT 300) b ON a.id <> b.id GROUP BY a.id) d
GROUP BY s.value;
SELECT abs(sampled.value / exact.value - 1) < 0.1 AS near, sampled.std_error > 0 AS sampled
FROM btml.likelihood_score('SELECT x FROM score.rounded', 0.2, method => 'sampled') sampled,
    btml.likelihood_score('SELECT x FROM score.rounded', 0.2, method => 'exact') exact;
SELECT bandwidth < 0.01 AS at_the_end
    FROM btml.select_bandwidth('SELECT x FROM score.rounded LIMIT 500', 'kde', lower => 0.001, upper => 2, steps => 10) WHERE best;
SELECT bandwidth BETWEEN 0.02 AND 1 AS sensible
    FROM btml.select_bandwidth('SELECT x FROM score.rounded LIMIT 500', 'likelihood', lower => 0.001, upper => 2, steps => 10) WHERE best;
SELECT caught('SELECT btml.select_bandwidth(''score.rounded'', ''likelihood'', ''x'')');
SET client_min_messages = warning;
DROP SCHEMA score CASCADE;
DROP ROLE score_reader;
