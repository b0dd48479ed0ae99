-- Gaussian processes of what boosted trees leave over.
SET client_min_messages = warning;
SET extra_float_digits = 0;
\set caught `echo "${PG_ABS_SRCDIR:-.}/sql/include/caught.sql"`
\i :caught
CREATE FUNCTION digest(model btml.model) RETURNS text LANGUAGE sql AS $$ SELECT md5(model::bytea) $$;
CREATE TABLE stair AS SELECT i AS id, i * 37 % 1009 / 100.0 AS a,
    nullif(i * 53 % 211, 7) / 50.0 AS b, (ARRAY['low', 'mid', 'high', NULL])[1 + i % 4] AS kind, 1 + i % 3 AS w, i % 7 = 0 AS held,
    floor(i * 37 % 1009 / 200.0) * 4 + CASE WHEN i * 53 % 211 > 100 THEN 3 ELSE 0 END + CASE i % 4 WHEN 2 THEN 2
    ELSE 0 END + sin(i * 37 % 1009 / 20.0) / 2 + (i * 7919 % 101 - 50) / 200.0 * (1 + i % 2) AS y FROM generate_series(1, 2000) i;
CREATE TABLE fitted AS SELECT mean, combine,
    btml.gp_fit('SELECT a, b, kind, y FROM stair', 'y', mean => mean, combine => combine, evaluations => 12000) AS model
    FROM unnest('{auto,zero,boosted}'::text[]) mean, unnest('{mixture,kernel_sum}'::text[]) combine
    WHERE mean <> 'zero' OR combine = 'mixture';
SELECT mean, combine, s->'params'->>'mean' AS asked, m->>'mean' AS found, m->>'combine' AS combined, (m->'trees'->>'of_mean')::int
    > 0 AS trees, (m->'trees'->>'of_deviation')::int >= 0 AS of_deviation,
    m->'trees'->'rows' AS rows, (m->'trees'->>'variance_ratio')::float8 BETWEEN 0.5 AND 1.1 AS factor,
    s->'seconds' ? 'boosting the mean' AS timed FROM fitted, btml.summary(model) s, LATERAL (SELECT s->'metrics') q(m)
    ORDER BY mean, combine;
SELECT mean, combine, regexp_replace(btml.describe(model), '[-0-9.]+ (members|trees|leaving)', '# \1', 'g') AS description
    FROM fitted ORDER BY mean, combine;
-- Better than without, and as good as it says.
SELECT f.combine, f.mean, l.n, l.mean_nll < z.mean_nll AS better, l.rmse < z.rmse AS closer, l.coverage_90 BETWEEN 0.85
    AND 0.99 AS covered, l.mean_nll_student_t < l.mean_nll + 0.02 AS student
    FROM fitted f, btml.gp_leave_one_out(model) l, (SELECT q.* FROM fitted, btml.gp_leave_one_out(model) q WHERE mean = 'zero') z
    WHERE f.mean <> 'zero' ORDER BY 1, 2;
SELECT mean, combine, btml.gp_log_likelihood(model) IS NULL AS no_likelihood, digest(model::text::btml.model) = digest(model) AS text,
    btml.predict(model, ARRAY[1, 2, 0]) = btml.predict(model::bytea::btml.model, ARRAY[1, 2, 0]) AS bytes FROM fitted ORDER BY 1, 2;
SELECT combine, feature, weight > 0.1 AS counts FROM fitted, btml.gp_relevance(model) WHERE mean = 'boosted' AND combine = 'mixture'
    ORDER BY feature;
SET btml.threads = 1;
SELECT combine, digest(btml.gp_fit('SELECT a, b, kind, y FROM stair ORDER BY md5(id::text)', 'y', mean => mean, combine => combine,
    evaluations => 12000)) = digest(model) AS same FROM fitted WHERE mean = 'auto' ORDER BY 1;
RESET btml.threads;
-- Held-out rows: half of them choose where the choice is open.
CREATE TABLE honest AS SELECT mean, btml.gp_fit('SELECT a, b, kind, y, held FROM stair', 'y', mean => mean, combine => 'mixture',
    evaluations => 2000, holdout => 'held') AS model FROM unnest('{auto,zero,boosted}'::text[]) mean;
SELECT mean, s->'metrics'->>'mean' AS found, s->'holdout_rows' AS held_out, s->'calibration'->'rows' AS calibrating,
    s->'calibration'->>'method' AS method,
    abs((s->'metrics'->>'holdout_rmse')::float8 - (SELECT sqrt(avg((btml.predict(model, t) - y) ^ 2)) FROM stair t WHERE held))
    < 1e-9 AS holdout_rmse,
    abs((SELECT avg((y BETWEEN i.lower AND i.upper)::int) FROM stair t, btml.predict_interval(model, t, 0.9) i WHERE held) - 0.9)
    < 0.06 AS covered,
    abs((btml.predict_normal(model, ARRAY[1, 2, 0])).sd
    / sqrt(coalesce((s->'calibration'->'variance'->>'factor')::float8, 1)
    * ((btml.predict_distribution(model, ARRAY[1, 2, 0])).scale / (s->'calibration'->'student_t'->>'scale')::float8) ^ 2
    + coalesce((s->'calibration'->'variance'->>'floor')::float8, 0)) - 1) < 1e-6 AS distribution FROM honest, btml.summary(model) s
    ORDER BY mean;
-- One observation more, and taken away again: the trees stay.
SELECT mean, combine, btml.predict(more, x) > btml.predict(model, x) + 0.001 AS more,
    abs(btml.predict(back, x) - btml.predict(model, x)) < 0.01 AS as_before, s->'rows' AS rows, s->'metrics'->'trees'->'rows' AS of_trees,
    s->'calibration'->'updates_since' AS updates
FROM fitted, (SELECT ARRAY[3.3, 1.7, 0] AS x) point, LATERAL btml.gp_update(model, x, btml.predict(model, x) + 9) more,
    LATERAL btml.gp_downdate(more, x, btml.predict(model, x) + 9) back, LATERAL btml.summary(more) s WHERE mean = 'boosted' ORDER BY 2;
-- Draws, groups, smooth kernels, every kernel, dependence, importance, folds.
SELECT combine, count(*) AS draws, abs(avg(value) - min((p).mean)) < 0.1 AS mean, stddev(value) / min((p).sd) BETWEEN 0.9 AND 1.1 AS sd
    FROM (SELECT combine, model, btml.predict_latent(model, x) AS p FROM fitted, (VALUES (1.5, 1.0, 'low')) x(a, b, kind)
    WHERE mean = 'boosted') f, btml.gp_sample(model, 'SELECT 1 AS id, 1.5 AS a, 1.0 AS b, ''low'' AS kind', draws => 1000)
    GROUP BY 1 ORDER BY 1;
SELECT w, btml.summary(m)->'metrics'->>'mean' AS mean, (btml.gp_leave_one_out(m)).rmse < 1.5 AS close
    FROM (SELECT w, btml.gp_fit_agg(y, ARRAY[a, b], '{"mean": "boosted", "combine": "mixture", "evaluations": 300}') AS m FROM stair
    GROUP BY w) g ORDER BY w;
SELECT kernel, mean, s->'metrics'->>'kernel' AS found, s->'metrics'->>'mean' AS found_mean, (btml.gp_leave_one_out(model)).rmse
    < 0.7 AS close FROM (SELECT kernel, mean,
    btml.gp_fit('SELECT a, b, kind, y FROM stair', 'y', kernel => kernel, mean => mean, exemplars => 60, evaluations => CASE kernel
    WHEN 'auto' THEN 12000 END) AS model FROM (VALUES ('matern52', 'auto'), ('matern52', 'boosted'), ('auto', 'auto')) v(kernel, mean)) f,
    btml.summary(model) s ORDER BY 1, 2;
SELECT round(max(abs(p.mean - q.mean))::numeric, 6) AS apart
    FROM fitted, btml.partial_dependence(model, 'SELECT a, b, kind FROM stair WHERE id = 17', 'kind', points => 4) p,
    LATERAL (SELECT btml.predict(model, t) AS mean FROM (SELECT a, b, p.value AS kind FROM stair WHERE id = 17) t) q
    WHERE fitted.mean = 'boosted' AND combine = 'mixture';
SELECT feature FROM fitted, btml.permutation_importance(model, 'stair', 'y', repeats => 2) WHERE mean = 'boosted' AND combine = 'mixture'
    ORDER BY importance DESC LIMIT 1;
SELECT avg(value) < 0.7 AS close
    FROM btml.cross_validate('SELECT a, b, kind, y FROM stair', 'y', 3, method => 'gp',
    options => '{"mean": "boosted", "combine": "mixture", "evaluations": 300}', metric => 'rmse');
-- A sample of many rows chooses; of fewer, the trees of all rows are what is compared. Noise has no use for trees.
SELECT rows, what, holdout, btml.summary(model)->'metrics'->>'mean' AS mean, btml.summary(model)->'seconds' ? 'choosing the mean' AS tried,
    btml.summary(model)->'seconds' ? 'boosting the mean' AS boosted
FROM unnest('{1500,8000}'::int[]) rows, unnest('{steps,noise}'::text[]) what, unnest('{held,NULL}'::text[]) holdout,
    LATERAL (SELECT btml.gp_fit(format($$SELECT i * 37 %% 1009 / 100.0 AS a, i * 53 %% 211 / 50.0 AS b,
    CASE %L WHEN 'steps' THEN floor(i * 37 %% 1009 / 200.0) * 4 + (i * 53 %% 211 > 100)::int * 3
    ELSE 0 END + hashint8(i) %% 1000 / 1000.0 AS y, i %% 5 = 0 AS held FROM generate_series(1, %s::bigint) i$$, what, rows), 'y',
    combine => 'mixture', evaluations => 300, features => '{a,b}', holdout => holdout) AS model OFFSET 0) f ORDER BY rows, what, holdout;
-- Few rows: nothing is tried.
SELECT btml.summary(model)->'metrics'->>'mean' AS mean, btml.summary(model)->'seconds' ? 'choosing the mean' AS tried
    FROM btml.gp_fit('SELECT a, y FROM stair WHERE id <= 200', 'y', evaluations => 200) model;
-- Trees that leave nothing to learn: an update changes no prediction, and says so. So does a holdout that holds out nothing.
SET client_min_messages = notice;
SELECT (btml.summary(model)->'metrics'->>'signal')::float8 AS signal,
    btml.predict(model, ARRAY[0.5]) = btml.predict(btml.gp_update(model, ARRAY[0.5], 9), ARRAY[0.5]) AS same
FROM (SELECT btml.gp_fit('SELECT id % 50 / 50.0 AS a, (id % 50 > 25)::int + sin(id * id) / 9 AS y FROM stair WHERE id <= 500', 'y',
    mean => 'boosted', combine => 'mixture', evaluations => 50) AS model) m;
SELECT btml.summary(btml.gp_fit('SELECT a, y, false AS h FROM stair WHERE id <= 50', 'y', holdout => 'h',
    evaluations => 50))#>>'{calibration,method}' AS method;
-- Trees win over kernels that cannot all be had, which is said none the less.
SELECT btml.summary(model)->'metrics'->>'mean' AS mean
    FROM btml.gp_fit('SELECT i * 37 % 1009 / 100.0 AS a, i * 53 % 211 / 50.0 AS b, CASE WHEN i % 2 = 0 THEN 1e300
    ELSE 1 END AS big, floor(i * 37 % 1009 / 200.0) * 4 + (i * 53 % 211 > 100)::int * 3 + hashint8(i) % 1000 / 1000.0 AS y
        FROM generate_series(1, 1500::bigint) i', 'y', kernel => 'auto', exemplars => 20, combine => 'mixture', evaluations => 300) model;
SET client_min_messages = warning;
-- Heavy tails: what a few rows cost normal distributions over trees is mended, and trees are not taken where these would be worse.
CREATE FUNCTION unit(i int, stream int) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$
    SELECT ((hashint8extended(i, stream) & 9007199254740991) + 0.5) / 9007199254740992 $$;
CREATE TABLE tails AS SELECT kind, i, unit(i, 1) * 8 AS a, unit(i, 2) AS b, i % 5 = 0 AS test, i % 5 = 1 AS held,
    floor(unit(i, 1) * 8) ^ 2 + CASE kind
        WHEN 'gross' THEN CASE WHEN unit(i, 3) < 0.01 THEN 200 * (unit(i, 4) - 0.5) ELSE 0 END
        WHEN 'contaminated' THEN sqrt(-2 * ln(unit(i, 3))) * cos(2 * pi() * unit(i, 4)) * CASE WHEN unit(i, 5) < 0.03 THEN 10 ELSE 0.05 END
        WHEN 't2' THEN 0.1 * sqrt(-2 * ln(unit(i, 3))) * cos(2 * pi() * unit(i, 4)) / sqrt(-ln(unit(i, 5)))
        ELSE round(unit(i, 3)::numeric, 1) END AS y FROM generate_series(1, 2500) i, unnest('{gross,contaminated,t2,ties}'::text[]) kind;
CREATE TABLE tailed AS SELECT kind, mean, holdout,
    btml.gp_fit(format('SELECT a, b, y%s FROM tails WHERE NOT test AND kind = %L', ', ' || holdout, kind), 'y', mean => mean,
    holdout => holdout, evaluations => 3000) AS model
FROM unnest('{gross,contaminated,t2,ties}'::text[]) kind, unnest('{auto,zero,boosted}'::text[]) mean, unnest('{held,NULL}'::text[]) holdout;
CREATE TABLE tail_scores AS SELECT kind, mean, holdout, btml.nll_normal(y, (n).mean, (n).sd) AS calibrated,
    btml.nll_normal(y, (n).mean, (d).scale / nullif((s->'student_t'->>'scale')::float8, 0)) AS told
FROM tailed, LATERAL (SELECT btml.summary(model)->'calibration' AS s OFFSET 0) c,
    LATERAL (SELECT y, btml.predict_normal(model, t) AS n, btml.predict_distribution(model, t) AS d FROM tails t
    WHERE t.kind = tailed.kind AND test) p GROUP BY kind, mean, holdout;
SELECT kind, bool_and(calibrated < told - 0.2) FILTER (WHERE mean = 'boosted' AND kind IN ('gross', 'contaminated')) AS mended,
    bool_and(calibrated < zero + 0.05) FILTER (WHERE mean = 'auto') AS as_zero
FROM tail_scores, LATERAL (SELECT z.calibrated AS zero FROM tail_scores z
    WHERE z.kind = tail_scores.kind AND z.mean = 'zero' AND z.holdout IS NOT DISTINCT FROM tail_scores.holdout) z
    GROUP BY kind ORDER BY kind;
-- Rows that are alike and agree do not make another of them certain.
CREATE TABLE rare AS SELECT seed, i, floor(unit(i, 10 * seed) * 3) AS c, (unit(i, 10 * seed + 1) < 0.5)::int AS s,
    floor(unit(i, 10 * seed + 2) * 4) AS b, i % 5 = 0 AS held,
    (unit(i, 10 * seed + 3) < greatest(0.02, 0.2 + 0.5 * (unit(i, 10 * seed + 1) < 0.5)::int - 0.1 * floor(unit(i, 10 * seed) * 3)))::int
    AS y FROM generate_series(1, 600) i, generate_series(1, 8) seed;
SELECT bool_and(scores[1] < scores[2] + 0.05) AS as_zero
    FROM generate_series(1, 8) seed,
    LATERAL (SELECT array_agg((btml.summary(btml.gp_fit(format('SELECT c, s, b, y, held FROM rare WHERE seed = %s', seed), 'y',
    holdout => 'held', mean => mean))->'metrics'->>'holdout_nll')::float8
    ORDER BY mean) AS scores FROM unnest('{auto,zero}'::text[]) mean) m;
DROP TABLE tails, tailed, tail_scores, rare;
DROP FUNCTION unit;
-- Errors.
SELECT arguments || E'\n' || caught(format('SELECT btml.gp_fit(''SELECT a, y FROM stair'', ''y'', %s)', arguments)) || E'\n'
    FROM unnest(ARRAY['mean => ''trees''', 'mean => ''boosted'', noise => 0.5', 'mean => ''boosted'', signal => 0.5',
    'mean => NULL']) arguments;
SELECT caught('SELECT btml.gp_fit(''SELECT a, y FROM stair LIMIT 4'', ''y'', mean => ''boosted'')');
SELECT caught('SELECT btml.gp_fit_agg(y, ARRAY[a], ''{"mean": "none"}'') FROM stair');
DROP TABLE stair, fitted, honest;
DROP FUNCTION caught, digest;
