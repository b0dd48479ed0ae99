-- Gaussian processes whose noise differs from point to point.
SET client_min_messages = warning;
SET extra_float_digits = 0;
\set caught `echo "${PG_ABS_SRCDIR:-.}/sql/include/caught.sql"`
\i :caught
CREATE FUNCTION digest(model btml.model) RETURNS text LANGUAGE sql AS $$ SELECT md5(model::bytea) $$;
CREATE TABLE noisy AS SELECT i AS id, i * 37 % 1009 / 100.0 AS a, nullif(i * 53 % 211, 7) / 50.0 AS b, 1 + i % 3 AS w, i % 5 = 0 AS held,
    sin(i * 37 % 1009 / 100.0) + i * 53 % 211 / 100.0 + (i * 7919 % 101 + i * 10473 % 97 + i * 15485 % 89 - 142) / 50.0 * CASE
    WHEN i * 37 % 1009 > 500 THEN 1 ELSE 0.1 END AS y FROM generate_series(1, 900) i;
CREATE TABLE fitted AS SELECT combine, kernel, varying,
    btml.gp_fit('SELECT a, b, y FROM noisy', 'y', mean => 'zero', combine => combine, kernel => kernel, exemplars => CASE kernel
    WHEN 'tree' THEN 512 ELSE 60 END, varying_noise => varying, evaluations => CASE combine WHEN 'mixture' THEN 1000
    WHEN 'kernel_sum' THEN 24000 END) AS model
FROM (VALUES ('mixture', 'tree'), ('kernel_sum', 'tree'), ('auto', 'matern52')) k(combine, kernel),
    unnest('{true,false,NULL}'::boolean[]) varying;
SELECT combine, kernel, varying, s->'params'->'varying_noise' AS asked,
    m ? 'varying_noise' AS varies, (m->'varying_noise'->>'greatest')::float8 > 15 * (m->'varying_noise'->>'least')::float8 AS much
    FROM fitted, btml.summary(model) s, LATERAL (SELECT s->'metrics') q(m) ORDER BY 1, 2, 3;
-- NULL is no; what varies is better by its own account, and knows where it is noisy.
SELECT combine, digest(max(model::text) FILTER (WHERE varying IS NULL)::btml.model)
    <> digest(max(model::text) FILTER (WHERE NOT varying)::btml.model) AS only_options_differ FROM fitted GROUP BY 1 ORDER BY 1;
SELECT v.combine, (btml.gp_leave_one_out(v.model)).mean_nll < (btml.gp_leave_one_out(c.model)).mean_nll - 0.2 AS better,
    (btml.predict_normal(v.model, ARRAY[2, 1])).sd / (btml.predict_normal(v.model, ARRAY[8, 1])).sd < 0.4 AS quiet,
    (btml.predict_normal(c.model, ARRAY[2, 1])).sd / (btml.predict_normal(c.model, ARRAY[8, 1])).sd > 0.7 AS same_else
    FROM fitted v, fitted c WHERE v.varying AND NOT c.varying AND v.combine = c.combine ORDER BY 1;
-- The same bits from text, bytes, any number of threads and any order of rows.
SELECT combine, digest(model::text::btml.model) = digest(model) AS text,
    btml.predict(model, ARRAY[1, 2]) = btml.predict(model::bytea::btml.model, ARRAY[1, 2]) AS bytes FROM fitted WHERE varying ORDER BY 1;
SET btml.threads = 1;
SELECT combine, digest(btml.gp_fit('SELECT a, b, y FROM noisy ORDER BY md5(id::text)', 'y', mean => 'zero', combine => combine,
    kernel => kernel, exemplars => CASE kernel WHEN 'tree' THEN 512 ELSE 60 END, varying_noise => true, evaluations => CASE combine
    WHEN 'mixture' THEN 1000 WHEN 'kernel_sum' THEN 24000 END)) = digest(model) AS same FROM fitted WHERE varying ORDER BY 1;
RESET btml.threads;
-- Half of the held-out rows choose, the others calibrate.
SELECT s->'calibration'->'rows' AS calibrating, s->'calibration'->>'method' AS method, s->'metrics' ? 'varying_noise' AS varies,
    abs((s->'metrics'->>'holdout_rmse')::float8 - (SELECT sqrt(avg((btml.predict(model, t) - y) ^ 2)) FROM noisy t WHERE held))
    < 1e-9 AS holdout_rmse,
    abs((SELECT avg((y BETWEEN i.lower AND i.upper)::int) FROM noisy t, btml.predict_interval(model, t, 0.9) i WHERE held AND a > 5) - 0.9)
    < 0.08 AS covered_where_loud,
    (SELECT avg(i.upper - i.lower) FILTER (WHERE a <= 5) < 0.6 * avg(i.upper - i.lower) FILTER (WHERE a > 5)
    FROM noisy t, btml.predict_interval(model, t, 0.9) i WHERE held) AS narrower_where_quiet
FROM btml.gp_fit('SELECT a, b, y, w, held FROM noisy', 'y', combine => 'mixture', mean => 'zero', evaluations => 1000, holdout => 'held',
    weight => 'w', varying_noise => true) model, btml.summary(model) s;
-- One observation more, and taken away again: the noise stays.
SELECT combine, btml.predict(more, x) > btml.predict(model, x) AS more,
    abs(btml.predict(back, x) - btml.predict(model, x)) < 0.01 AS as_before,
    s->'metrics'->'varying_noise' = btml.summary(model)->'metrics'->'varying_noise' AS same_noise,
    s->'calibration'->'updates_since' AS updates
FROM fitted, (SELECT ARRAY[3.3, 1.7] AS x) point, LATERAL btml.gp_update(model, x, btml.predict(model, x) + 3) more,
    LATERAL (SELECT CASE WHEN combine = 'kernel_sum' THEN btml.gp_downdate(more, x, btml.predict(model, x) + 3) ELSE model END) d(back),
    LATERAL btml.summary(more) s WHERE varying ORDER BY 1;
SELECT combine, caught(format('SELECT btml.gp_downdate(model, ARRAY[3.3, 1.7], 2) FROM fitted WHERE varying AND combine = %L', combine))
    FROM fitted WHERE varying AND combine <> 'kernel_sum' ORDER BY 1;
SELECT btml.summary(btml.gp_downdate(model, t, y))->'rows' AS rows FROM fitted, (SELECT a, b, y FROM noisy WHERE id = 77) t
    WHERE varying AND combine = 'kernel_sum';
-- Groups, queries in one go, folds, draws.
SELECT w, (btml.predict_normal(m, ARRAY[8, 1])).sd > 2 * (btml.predict_normal(m, ARRAY[2, 1])).sd AS knows
    FROM (SELECT w, btml.gp_fit_agg(y, ARRAY[a, b],
    '{"mean": "zero", "combine": "mixture", "evaluations": 500, "varying_noise": true}') AS m FROM noisy GROUP BY w) g ORDER BY w;
SELECT id, sd > 0.5 AS loud FROM btml.gp_regression('SELECT a, b, y FROM noisy', 'y',
    'SELECT 1 AS id, 2.0 AS a, 1.0 AS b UNION ALL SELECT 2, 8, 1', combine => 'mixture', evaluations => 1000, varying_noise => true)
    ORDER BY 1;
SELECT avg(value) FILTER (WHERE varying) < avg(value) FILTER (WHERE NOT varying) - 0.1 AS better_out_of_fold
    FROM unnest('{true,false}'::boolean[]) varying,
    btml.cross_validate('SELECT a, b, y FROM noisy', 'y', 3, method => 'gp',
    options => jsonb_build_object('mean', 'zero', 'combine', 'mixture', 'evaluations', 500, 'varying_noise', varying),
    metric => 'mean_nll') c;
SELECT abs(avg(value) - min(p.mean)) < 0.1 AS mean, stddev(value) / min(p.sd) BETWEEN 0.9 AND 1.1 AS sd
    FROM fitted, btml.gp_sample(model, 'SELECT 1 AS id, 8 AS a, 1.0 AS b', draws => 1000), btml.predict_latent(model, ARRAY[8, 1]) p
    WHERE varying AND combine = 'mixture';
RESET client_min_messages;
-- Where it brings nothing, the model says so, and is the one without.
SELECT btml.summary(model)->'metrics' ? 'varying_noise' AS varies,
    btml.predict_normal(model, ARRAY[2, 1])
    = btml.predict_normal(btml.gp_fit(source, 'y', mean => 'zero', combine => 'mixture', evaluations => 1000), ARRAY[2, 1]) AS same
FROM (VALUES ('SELECT a, b, y FROM noisy WHERE a <= 5'), ('SELECT a, b, y FROM noisy WHERE id <= 30'),
    ('SELECT a, b, 7 AS y FROM noisy WHERE id <= 100')) s(source), LATERAL btml.gp_fit(source, 'y', mean => 'zero', combine => 'mixture',
    evaluations => 1000, varying_noise => true) model;
SELECT caught('SELECT btml.gp_fit_agg(y, ARRAY[a], ''{"varying_noise": "yes"}'') FROM noisy');
SELECT caught(format('SELECT btml.gp_fit(''SELECT a, y FROM noisy'', ''y'', varying_noise => true, %s => 0.1)', name))
    FROM unnest('{noise,signal}'::text[]) name;
SET btml.memory_limit = '1MB';
SELECT caught('SELECT btml.gp_fit(''SELECT a, y FROM noisy'', ''y'', varying_noise => true, combine => ''mixture'')');
RESET btml.memory_limit;
DROP TABLE noisy, fitted;
DROP FUNCTION caught, digest;
