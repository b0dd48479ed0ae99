-- Gaussian processes with smooth kernels, which go by exemplars.
SET client_min_messages = warning;
CREATE FUNCTION digest(model btml.model) RETURNS text LANGUAGE sql AS $$ SELECT md5(model::bytea) $$;
CREATE TABLE wave AS SELECT i AS id, i * 37 % 1009 / 100.0 AS a,
    nullif(i * 53 % 211, 7) / 50.0 AS b, (ARRAY['low', 'mid', 'high', NULL])[1 + i % 4] AS kind, 1 + i % 3 AS w,
    sin(i * 37 % 1009 / 100.0) + i * 53 % 211 / 100.0 + CASE i % 4 WHEN 2 THEN 1 ELSE 0 END + (i * 7919 % 101 - 50) / 500.0 AS y
    FROM generate_series(1, 500) i;
CREATE TABLE fitted AS SELECT kernel, btml.gp_fit('SELECT a, b, kind, y FROM wave', 'y', kernel => kernel, exemplars => 60) AS model
    FROM unnest('{squared_exponential,matern32,matern52,auto}'::text[]) kernel;
SELECT kernel, (btml.summary(model)->'metrics'->>'exemplars')::int BETWEEN 20 AND 60 AS exemplars, n, rmse < 0.1 AS close,
    abs(coverage_90 - 0.9) < 0.08 AS covered FROM fitted, btml.gp_leave_one_out(model) ORDER BY 1;
SELECT kernel, regexp_replace(btml.describe(model), '[-0-9.]+ (exemplars|members|leaving)', '# \1', 'g') AS description
    FROM fitted ORDER BY 1;
-- What kernel sums call it.
SELECT digest(btml.gp_fit('SELECT a, b, kind, y FROM wave', 'y', kernel => 'gaussian', exemplars => 60)) = digest(model) AS same
    FROM fitted WHERE kernel = 'squared_exponential';
SELECT kernel, jsonb_object_keys(btml.summary(model)->'metrics'->'length_scales') AS compared FROM fitted WHERE kernel = 'matern32';
-- Rows that the fit has not seen: a new place between others, no number, a category that no row has.
SELECT kernel, max(abs(p.mean - (sin(x.a) + x.b / 2 + CASE x.kind WHEN 'high' THEN 1 ELSE 0 END))) < 0.2 AS close, max(p.sd) < 0.3 AS sure
FROM fitted, (VALUES (1.234, 1.0, 'low'), (5.678, 2.5, 'high'), (9.5, 3.9, NULL)) x(a, b, kind), LATERAL btml.predict_normal(model, x) p
    GROUP BY 1 ORDER BY 1;
SELECT x.name, p.mean = s.mean AS as_before_any_row, round((p.sd / s.sd)::numeric, 3) AS of_the_prior
FROM fitted, (SELECT avg(y) AS mean, 1 AS sd FROM wave) m, LATERAL btml.predict_latent(model, ARRAY['Infinity', 1, 0]::float8[]) s,
     (VALUES ('far', ARRAY[1e9, 1, 0]), ('infinite', ARRAY['-Infinity', 1, 0]::float8[]), ('NULL', ARRAY[NULL, 1, 0]::float8[])) x(name,
     features), LATERAL btml.predict_latent(model, x.features) p WHERE kernel = 'matern52' ORDER BY 1;
SELECT kernel, feature FROM fitted, btml.gp_relevance(model) WITH ORDINALITY r(feature, weight, n) WHERE kernel = 'matern52' ORDER BY n;
SELECT kernel, btml.gp_log_likelihood(model) BETWEEN 0 AND 4000 AS log_likelihood,
    btml.gp_log_likelihood(btml.gp_update(model, ARRAY[1.0, 1, 0], 2)) IS NULL AS unknown_after_an_update FROM fitted
    WHERE kernel <> 'auto' ORDER BY 1;
-- One observation more, and taken away again.
SELECT kernel, (btml.predict_latent(more, x)).sd < (btml.predict_latent(model, x)).sd AS surer,
    abs(btml.predict(back, x) - btml.predict(model, x)) < 1e-4 AS as_before
FROM fitted, (SELECT ARRAY[3.3, 1.7, 0] AS x) point, LATERAL btml.gp_update(model, x, 9) more, LATERAL btml.gp_downdate(more, x, 9) back
    WHERE kernel <> 'auto' ORDER BY 1;
SELECT btml.gp_downdate(model, ARRAY[40.0, 1, 0], 9) FROM fitted WHERE kernel = 'matern32';
-- Draws, ids, groups, weights, copies.
SELECT kernel, count(*) AS draws, abs(avg(value) - min(p.mean)) < 0.05 AS mean, stddev(value) / min(p.sd) BETWEEN 0.9 AND 1.1 AS sd
    FROM fitted, btml.gp_sample(model, 'SELECT 1 AS id, 1.5 AS a, 1.0 AS b, ''low'' AS kind', draws => 1000),
    btml.predict_latent(model, ARRAY[1.5, 1, 1]) p WHERE kernel <> 'auto' GROUP BY 1 ORDER BY 1;
SELECT id, abs(mean - sin(id::float8)) < 0.3 AS close
    FROM btml.gp_regression('SELECT a, y - b / 2 AS y FROM wave WHERE kind = ''low'' AND b IS NOT NULL', 'y',
    'SELECT n AS id, n::float8 AS a FROM generate_series(1, 3) n', kernel => 'squared_exponential', exemplars => 30) ORDER BY 1;
SELECT w, (btml.gp_leave_one_out(btml.gp_fit_agg(y, ARRAY[a, b], '{"kernel": "matern52", "exemplars": 40}'))).rmse < 0.6 AS close FROM wave
    GROUP BY w ORDER BY w;
SELECT btml.summary(btml.gp_fit('SELECT a, b, y, w FROM wave', 'y', kernel => 'matern32', exemplars => 40, weight => 'w', noise => 0.1,
    signal => 2))->'metrics'->'noise' AS noise;
SELECT kernel, digest(model::text::btml.model) = digest(model) AS same FROM fitted ORDER BY 1;
SET btml.threads = 1;
SELECT kernel, digest(btml.gp_fit('SELECT a, b, kind, y FROM wave ORDER BY md5(id::text)', 'y', kernel => kernel, exemplars => 60))
    = digest(model) AS same FROM fitted WHERE kernel <> 'auto' ORDER BY 1;
RESET btml.threads;
-- Exemplars of a source stay where they are: with all rows of a table, the process is that of which the rows are all exemplars.
CREATE TABLE few AS SELECT * FROM wave WHERE id <= 80 AND b IS NOT NULL;
SELECT kernel, max(abs((btml.predict_latent(given, few)).mean - (btml.predict_latent(chosen, few)).mean)) < 1e-3 AS same_means,
    max(abs((btml.predict_latent(given, few)).sd - (btml.predict_latent(chosen, few)).sd)) < 1e-3 AS same_deviations
FROM few, unnest('{squared_exponential,matern52}'::text[]) kernel,
    LATERAL (SELECT btml.gp_fit('SELECT a, b, kind, y FROM few', 'y', kernel => kernel, exemplar_source => 'few') AS given,
    btml.gp_fit('SELECT a, b, kind, y FROM few', 'y', kernel => kernel, exemplar_objective => 'variance') AS chosen OFFSET 0) f
    WHERE few.id < 10 GROUP BY 1 ORDER BY 1;
CREATE TABLE chosen AS SELECT wave.a, wave.b, wave.kind FROM btml.exemplars('SELECT id, a, b, kind FROM wave WHERE b IS NOT NULL', 40) e
    JOIN wave ON wave.id = e.id::int;
SELECT btml.summary(model)->'metrics'->'exemplars' AS exemplars, (btml.gp_leave_one_out(model)).rmse < 0.5 AS close,
    digest(model) = digest(btml.gp_fit('SELECT a, b, kind, y FROM wave', 'y', kernel => 'matern52',
    options => '{"exemplar_source": "chosen"}')) AS same
FROM btml.gp_fit('SELECT a, b, kind, y FROM wave', 'y', kernel => 'matern52', exemplar_source => 'chosen') model;
-- In any order they are the same; a fold without a NULL leaves out exemplars that have it; what goes with other options goes with them.
SELECT digest(btml.gp_fit('few', 'y', features => '{a,b,kind}', kernel => 'matern32',
    exemplar_source => 'SELECT * FROM few WHERE id < 30'))
    = digest(btml.gp_fit('few', 'y', features => '{a,b,kind}', kernel => 'matern32',
    exemplar_source => 'SELECT * FROM few WHERE id < 30 ORDER BY md5(id::text) LIMIT 50')) AS same;
SELECT count(*) AS folds FROM btml.cross_validate('SELECT a, CASE WHEN id <> 3 THEN b END AS b, y FROM few', 'y', 3, method => 'gp',
    options => '{"kernel": "matern52", "exemplar_source": "SELECT a, CASE WHEN id <> 3 THEN b END AS b FROM few WHERE id < 30"}');
SELECT options, btml.summary(model)->'params'->'exemplars' AS exemplars, btml.rmse(y, btml.predict(model, x)) < 0.5 AS close
    FROM wave x, (SELECT options,
    btml.gp_fit('SELECT a, b, kind, y FROM wave', 'y', exemplar_source => 'chosen', options => options) AS model
    FROM unnest(ARRAY['{"kernel": "matern52", "mean": "boosted"}', '{"kernel": "matern52", "varying_noise": true}',
    '{"kernel": "auto", "evaluations": 50}']::jsonb[]) options OFFSET 0) f GROUP BY 1, 2 ORDER BY 1;
SELECT id, abs(mean - sin(id::float8)) < 0.3 AS close
    FROM btml.gp_regression('SELECT a, y - b / 2 AS y FROM wave WHERE kind = ''low'' AND b IS NOT NULL', 'y',
    'SELECT n AS id, n::float8 AS a FROM generate_series(1, 3) n', kernel => 'squared_exponential',
    exemplar_source => 'SELECT n / 4.0 AS a FROM generate_series(0, 42) n') ORDER BY 1;
SELECT count(*) AS folds, bool_and(value < 0.5) AS close
    FROM btml.cross_validate('SELECT a, b, kind, y FROM wave', 'y', 3, method => 'gp', metric => 'rmse',
    options => '{"kernel": "matern52", "exemplar_source": "chosen"}');
SELECT trial, options, score < 0.5 AS close
    FROM btml.tune('SELECT a, b, kind, y FROM wave', 'y', '{"kernel": ["matern52", "squared_exponential"]}', 2, 2, method => 'gp',
    metric => 'rmse', options => '{"exemplar_source": "chosen"}') ORDER BY trial;
-- Held-out rows choose.
SELECT (btml.summary(model)->'metrics'->>'holdout_rmse')::float8 < 0.1 AS close,
    btml.summary(model)->'metrics'->>'kernel' IS NOT NULL AS smooth
    FROM btml.gp_fit('SELECT a, b, kind, y, id % 5 = 0 AS held FROM wave', 'y', kernel => 'auto', exemplars => 60, evaluations => 200,
    holdout => 'held') model;
CREATE FUNCTION refusal(arguments text, source text DEFAULT 'wave') RETURNS text LANGUAGE plpgsql AS $$
DECLARE detail text; hint text;
BEGIN
    EXECUTE format('SELECT btml.gp_fit(%L, ''y'', %s)', source, arguments);
    RETURN 'none';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    RETURN SQLSTATE || ': ' || SQLERRM || ' | ' || detail || ' | ' || hint;
END $$;
SELECT arguments, refusal(arguments)
    FROM unnest(ARRAY['kernel => ''matern''', 'kernel => NULL', 'kernel => ''matern52'', exemplars => 0',
    'kernel => ''matern52'', exemplars => 5001', 'kernel => ''matern52'', members => 4', 'kernel => ''matern32'', combine => ''mixture''',
    'kernel => ''squared_exponential'', bits => 4', 'kernel => ''matern32'', outside => ''clamp''',
    'kernel => ''matern32'', evaluations => 10', 'kernel => ''matern32'', search => ''none''',
    'kernel => ''matern32'', encoding => ''rank''', 'exemplars => 9', 'exemplar_objective => ''variance''']) arguments;
SELECT arguments, refusal(arguments, 'SELECT a, b, kind, y FROM few')
    FROM unnest(ARRAY['kernel => ''matern32'', exemplars => 9', 'kernel => ''matern32'', exemplar_objective => ''variance''',
    'kernel => ''tree''']) AS a, LATERAL (SELECT a || ', exemplar_source => ''few''' AS arguments) b;
SELECT source, refusal(format('kernel => ''matern32'', exemplar_source => %L', source), 'SELECT a, b, kind, y FROM few')
    FROM unnest(ARRAY['', 'nowhere', 'SELECT a, b FROM few', 'SELECT a, b, id AS kind FROM few', 'SELECT a, kind AS b, kind FROM few',
    'SELECT a, b, kind FROM few WHERE false', 'SELECT a, b, kind FROM few, generate_series(1, 70)',
    'SELECT a, NULL::float8 AS b, kind FROM few', 'SELECT CASE id WHEN 3 THEN ''NaN'' ELSE a END AS a, b, kind FROM few ORDER BY id',
    'SELECT ''-Infinity''::float8 AS a, b, kind FROM few', 'SELECT a, b, ''other'' AS kind FROM few', 'SELECT 1; SELECT 2']) source;
SELECT refusal('kernel => ''auto'', evaluations => 20, exemplar_source => ''SELECT a, b, kind || 1 AS kind FROM few''',
    'SELECT a, b, kind, y FROM few');
-- What is given can be read again.
SELECT length(btml.describe(btml.gp_fit('SELECT a, b, kind, y, 1e12 AS w FROM few', 'y', kernel => 'matern32', exemplars => 9,
    weight => 'w'))) > 0 AND length(btml.describe(btml.gp_fit('SELECT a, y FROM few', 'y', kernel => 'matern32', exemplars => 9,
    signal => 1e-18))) > 0
    AND length(btml.describe(btml.gp_fit('SELECT a, y FROM few', 'y', noise => 1e-18, combine => 'mixture', evaluations => 50)))
    > 0 AS can_be_read;
SELECT refusal('kernel => ''matern32'', options => ''{"exemplar_source": 5}''', 'SELECT a, b, kind, y FROM few');
SELECT btml.summary(model)->'metrics'->'exemplars' AS exemplars
    FROM btml.gp_fit('SELECT a, b, kind, y FROM few', 'y', kernel => 'matern32',
    exemplar_source => 'SELECT 1 AS a, 2 AS b, ''low'' AS kind FROM generate_series(1, 200)') model;
SELECT refusal('kernel => ''matern32''', source)
    FROM unnest(ARRAY['SELECT 1 AS a, y FROM wave', 'SELECT CASE id WHEN 9 THEN ''Infinity''::float8 ELSE a END AS a, y FROM wave',
    'SELECT CASE id WHEN 9 THEN ''NaN'' ELSE a END AS a, y FROM wave', 'SELECT a, y FROM wave WHERE false']) source;
SELECT n, (btml.summary(model)->'metrics'->>'exemplars')::int AS exemplars,
    round(btml.predict(model, ARRAY[0.37])::numeric, 2) AS prediction
    FROM unnest(ARRAY[2, 3, 10]) n,
    btml.gp_fit(format('SELECT a, 5 + a AS y FROM wave WHERE id <= %s', n), 'y', kernel => 'squared_exponential') model ORDER BY 1;
SELECT round(btml.predict(model, ARRAY[4])::numeric, 3) AS constant_target
    FROM btml.gp_fit('SELECT a, 7 AS y FROM wave', 'y', kernel => 'matern52', exemplars => 20) model;
SELECT btml.gp_update(model, x, 1) FROM fitted, (VALUES (ARRAY[NULL, 1, 0]::float8[]), (ARRAY[1, 'Infinity', 0]::float8[])) bad(x)
    WHERE kernel = 'matern32';
RESET client_min_messages;
SELECT btml.summary(btml.gp_fit(source, 'y', kernel => 'auto', evaluations => 50))->'metrics'->'combine' AS combine
    FROM unnest(ARRAY['SELECT 1 AS a, y FROM wave WHERE id < 50',
    'SELECT CASE id WHEN 9 THEN ''Infinity''::float8 ELSE a END AS a, y FROM wave WHERE id < 50']) source;
SET client_min_messages = warning;
-- Without noise: nearly as sure as it is right, of observations and of the function, also of few rows.
CREATE TABLE exact AS SELECT i AS id, 0.02 * i AS x, sin(0.02 * i) AS y FROM generate_series(1, 300) i;
SELECT kernel, every, s->'metrics'->>'kernel' AS found, rmse < CASE every WHEN 1 THEN 1e-3 ELSE 0.05 END AS close,
    nll < CASE every WHEN 1 THEN -6 ELSE -2 END AS sure, below AS latent_below, abs(drawn - y) < 0.01 AS drawn,
    abs(btml.predict(btml.gp_update(model, ARRAY[6.05], sin(6.05)), ARRAY[6.05]) - sin(6.05)) < 0.02 AS updated
FROM unnest('{squared_exponential,matern32,matern52,auto}'::text[]) kernel, unnest('{1,15}'::int[]) every,
    LATERAL (SELECT btml.gp_fit(format('SELECT x, y FROM exact WHERE id %% %s = 0', every), 'y', kernel => kernel) AS model OFFSET 0) f,
    LATERAL (SELECT btml.summary(model) AS s OFFSET 0) m,
    LATERAL (SELECT btml.rmse(sin(at), n.mean) AS rmse, btml.nll_normal(sin(at), n.mean, n.sd) AS nll, bool_and(l.sd <= n.sd) AS below
    FROM (SELECT 0.313 + i * 0.019 AS at FROM generate_series(0, 290) i) points, btml.predict_normal(model, ARRAY[at]) n,
    btml.predict_latent(model, ARRAY[at]) l) t,
    LATERAL (SELECT sum(value) AS drawn, sum(sin(at)) AS y FROM (VALUES (2.01)) point(at), btml.gp_sample(model, 'SELECT 2.01 AS x')) d
    ORDER BY every, kernel;
DROP TABLE exact;
-- One far value of a feature does not bring all others together at a point.
CREATE TABLE sentinel AS SELECT i AS id, CASE WHEN i = 7 THEN far ELSE i % 100 / 8.0 END AS x, sin(i % 100 / 8.0) + i % 7 / 50.0 AS y, far
    FROM generate_series(1, 400) i, unnest(ARRAY[0, 9999999, -1e15]) far;
SELECT far, kernel, (SELECT btml.rmse(sin(i / 8.0) + 0.06, btml.predict(model, ARRAY[i / 8.0]))
    FROM generate_series(0, 99) i) < 0.02 AS close
FROM unnest(ARRAY[0, 9999999, -1e15]) far, unnest('{matern32,matern52,squared_exponential}'::text[]) kernel,
    btml.gp_fit(format('SELECT x, y FROM sentinel WHERE far = %s', far), 'y', kernel => kernel, exemplars => 64) model ORDER BY far, kernel;
DROP TABLE sentinel;
SET btml.memory_limit = '4MB';
SELECT refusal('kernel => ''matern52'', exemplars => 2000');
RESET btml.memory_limit;
DROP TABLE wave, few, chosen, fitted;
DROP FUNCTION refusal, digest;
