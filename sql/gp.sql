-- Gaussian processes: btml.gp_fit and its kin, predictions with distributions, updates, scores, draws.
CREATE SCHEMA gp;
SET search_path = gp, public;
SET client_min_messages = warning;
SET extra_float_digits = 0;

\set caught `echo "${PG_ABS_SRCDIR:-.}/sql/include/caught.sql"`
\i :caught
CREATE FUNCTION near(a float8, b float8) RETURNS boolean LANGUAGE sql AS $$ SELECT abs(a - b) <= 1e-9 * (abs(a) + abs(b) + 1e-3) $$;

-- Two rows that share no bit: each is one observation of its own, in closed form. Standardised targets are ∓1/√2, so
-- with signal 1 and noise 1/2 the mean is 2 ∓ 1/1.5, the latent variance (1 - 1/1.5)·2, the noise 1/2·2.
CREATE TABLE two (x float8, y float8);
INSERT INTO two VALUES (0, 1), (1, 3);
CREATE TABLE model AS SELECT btml.gp_fit('gp.two', 'y', bits => 1, search => 'none', noise => 0.5, signal => 1) AS two;
SELECT x, near((l).mean, 2 + (2 * x - 1) / 1.5) AS mean, near((l).sd, sqrt(2 * (1 - 1 / 1.5))) AS latent,
    near((n).sd, sqrt(2 * (1 - 1 / 1.5) + 1)) AS observation, near(btml.predict(two, ARRAY[x]), (l).mean) AS predict
FROM model, unnest(ARRAY[0, 1.0]) x, btml.predict_latent(two, ARRAY[x]) l, btml.predict_normal(two, ARRAY[x]) n;
SELECT near(btml.gp_log_likelihood(two), -(0.5 / 1.5 + ln(1.5) + ln(2 * pi())) - ln(2)) AS log_likelihood FROM model;
-- Without the other, a row is predicted by the prior.
SELECT n, near(mean_nll, (0.5 / 1.5 + ln(1.5) + ln(2 * pi())) / 2 + ln(2) / 2) AS mean_nll, near(rmse, 1) AS rmse, coverage_90
    FROM model, btml.gp_leave_one_out(two);

-- Three rows, two levels: with relevance w1 and w2 and noise l, rows 1 and 2 have covariance w1, and row 3 is alone.
CREATE TABLE three (a float8, b float8, y float8);
INSERT INTO three VALUES (0, 0, 1), (0, 1, 1.5), (1, 1, 9);
CREATE VIEW dense AS SELECT m, w1, w2, w1 + w2 AS s, l, centre, 1 - centre AS y1, 1.5 - centre AS y2, 9 - centre AS y3
    FROM (SELECT m, centre, scale, (s->'metrics'->>'noise')::float8 * scale ^ 2 AS l,
    (SELECT weight FROM btml.gp_relevance(m) WHERE feature = 'a') AS w1, (SELECT weight FROM btml.gp_relevance(m) WHERE feature = 'b') AS w2
    FROM btml.gp_fit('gp.three', 'y', bits => 1, search => 'none', noise => 0.125) m, btml.summary(m) s,
    LATERAL (SELECT (s->>'base')::float8 AS centre, (s->>'scale')::float8 AS scale) c) f;
SELECT w1 > 0 AS w1, w2 > 0 AS w2, near(centre, 23 / 6.0) AS centre, near(l, 0.125 * 20.083333333333332) AS noise,
    near(btml.predict(m, ARRAY[0, 0.0]), centre + (s * ((s + l) * y1 - w1 * y2) + w1 * ((s + l) * y2 - w1 * y1))
    / ((s + l) ^ 2 - w1 ^ 2)) AS mean,
    near((btml.predict_latent(m, ARRAY[0, 0.0])).sd,
    sqrt(s - ((s + l) * (s ^ 2 + w1 ^ 2) - 2 * s * w1 ^ 2) / ((s + l) ^ 2 - w1 ^ 2))) AS sd,
    near(btml.predict(m, ARRAY[1, 0.0]), centre + w1 * y3 / (s + l)) AS new_point,
    near(btml.gp_log_likelihood(m),
    -(((s + l) * (y1 ^ 2 + y2 ^ 2) - 2 * w1 * y1 * y2) / ((s + l) ^ 2 - w1 ^ 2) + ln((s + l) ^ 2 - w1 ^ 2) + y3 ^ 2 / (s + l) + ln(s + l)
    + 3 * ln(2 * pi())) / 2) AS log_likelihood,
    near((btml.gp_leave_one_out(m)).rmse,
    sqrt(((y1 - w1 / (s + l) * y2) ^ 2 + (y2 - w1 / (s + l) * y1) ^ 2 + y3 ^ 2) / 3)) AS leave_one_out FROM dense;

-- A join of numbers, categories, NULLs and dates, with weights and held-out rows; it fits as its materialisation does.
CREATE TYPE size AS ENUM ('small', 'large');
CREATE TABLE shop (shop int PRIMARY KEY, region text, size size);
INSERT INTO shop SELECT i, CASE WHEN i % 4 <> 3 THEN 'region ' || i % 3 END, CASE i % 2 WHEN 0 THEN 'small' ELSE 'large' END::size
    FROM generate_series(0, 9) i;
CREATE TABLE sale (id int PRIMARY KEY, shop int, price float8, day date, held_out boolean, w int, y float8);
INSERT INTO sale SELECT i, i % 10, CASE WHEN i % 7 <> 0 THEN i * 7919 % 101 / 10.0 END, '2024-01-01'::date + i * 31 % 90,
    CASE i % 5 WHEN 0 THEN true WHEN 1 THEN NULL ELSE false END, i % 3,
    CASE WHEN i % 13 <> 0 THEN 50 + i * 7919 % 101 / 5.0 + i % 10 + i * 104729 % 7 / 10.0 END FROM generate_series(1, 300) i;
CREATE VIEW joined AS SELECT id, price, day, region, size, held_out, w, y FROM sale JOIN shop USING (shop);
CREATE TABLE flat AS TABLE joined ORDER BY md5(id::text);
CREATE FUNCTION digest(model btml.model) RETURNS text LANGUAGE sql AS $$ SELECT md5(model::bytea) $$;
CREATE TABLE fitted AS SELECT 'join' AS source,
    btml.gp_fit('gp.joined', 'y', features => '{price,day,region,size}', bits => 5, search => 'none', holdout => 'held_out',
    weight => 'w') AS model;
INSERT INTO fitted SELECT 'flat', btml.gp_fit('gp.flat', 'y', features => '{price,day,region,size}', bits => 5, search => 'none',
    holdout => 'held_out', weight => 'w');
SET btml.threads = 3;
INSERT INTO fitted SELECT 'threads', btml.gp_fit('gp.flat', 'y', features => '{size,region,price,day}', bits => 5, search => 'none',
    holdout => 'held_out', weight => 'w');
SELECT count(DISTINCT (btml.summary(model) - 'seconds' - 'strategy_reason')::text) AS summaries,
    count(DISTINCT btml.gp_log_likelihood(model)) AS likelihoods FROM fitted;
SELECT jsonb_pretty(btml.summary(model) - 'seconds' - 'metrics' - 'base' - 'scale') FROM fitted WHERE source = 'join';
SELECT array_agg(key ORDER BY key) FROM fitted, jsonb_each(btml.summary(model)->'metrics') WHERE source = 'join';
SELECT array_agg(key ORDER BY key) FROM fitted, jsonb_each(btml.summary(model)->'seconds') WHERE source = 'join';
SELECT s->'rows' AS rows, s->'holdout_rows' AS held_out, s->'rows_skipped' AS skipped, (SELECT count(*) FROM joined
    WHERE y IS NOT NULL AND w > 0 AND held_out IS NOT TRUE) AS expected,
    near((s->>'base')::float8, (SELECT sum(w * y) / sum(w) FROM joined WHERE held_out IS NOT TRUE AND y IS NOT NULL)) AS weighted_mean,
    near((s->'metrics'->>'holdout_rmse')::float8, (SELECT sqrt(avg((btml.predict(model, j.*) - y) ^ 2)) FROM joined j
    WHERE held_out AND w > 0)) AS holdout_rmse,
    near((s->'metrics'->>'holdout_nll')::float8, (SELECT avg((j.y - (n).mean) ^ 2 / v + ln(v) + ln(2 * pi())) / 2
    FROM joined j, btml.predict_normal(model, j.*) n, btml.predict_latent(model, j.*) l,
        LATERAL (SELECT (l).sd ^ 2 + ((n).sd ^ 2 - (l).sd ^ 2) / j.w AS v) d WHERE held_out AND w > 0)) AS holdout_nll
FROM fitted, btml.summary(model) s WHERE source = 'join';
SELECT count(*) AS rows, bool_and(near(btml.predict(model, f.*),
    btml.predict(model, ARRAY[f.price, extract(epoch FROM f.day), CASE f.region WHEN 'region 0' THEN 0 WHEN 'region 1' THEN 1
    WHEN 'region 2' THEN 2 END, CASE f.size WHEN 'large' THEN 0 ELSE 1 END]::float8[]))) AS by_position
FROM fitted, flat f WHERE source = 'join';
SELECT feature, weight >= 0 AS weight FROM fitted, btml.gp_relevance(model) WHERE source = 'join' ORDER BY feature;
SELECT near(sum(weight), (s->'metrics'->>'signal')::float8 * (s->>'scale')::float8 ^ 2) AS relevance
    FROM fitted, btml.gp_relevance(model), btml.summary(model) s WHERE source = 'join' GROUP BY s;
RESET btml.threads;
-- What each option does.
CREATE FUNCTION metric(model btml.model,
    name text) RETURNS float8 LANGUAGE sql AS $$ SELECT (btml.summary(model)->'metrics'->>name)::float8 $$;
SELECT metric(btml.gp_fit('gp.flat', 'y', features => '{price}', search => 'none', noise => 0.25, signal => 2, evaluations => 5),
    'noise') AS noise,
    round(metric(btml.gp_fit('gp.flat', 'y', features => '{price}', search => 'none', noise => 0.25, signal => 2, evaluations => 5),
    'signal')::numeric, 9) AS signal,
    metric(btml.gp_fit('gp.flat', 'y', features => '{price}', search => 'none', evaluations => 5), 'evaluations') <= 5 AS evaluations,
    btml.summary(btml.gp_fit('gp.flat', 'y', features => '{price}', bits => 3, search => 'none'))->'metrics'->'members'->0->'levels'
    AS levels_with_null,
    btml.summary(btml.gp_fit('gp.sale', 'y', features => '{shop}', categorical => '{shop}', search => 'none'))->'features'->0->'categories'
    AS categories;
SELECT metric(btml.gp_fit('gp.two', 'y', search => 'none'), 'noise') >= 0.5 AS least_noise,
    metric(btml.gp_fit('SELECT x, y, 10 AS w FROM gp.two', 'y', search => 'none', weight => 'w'), 'noise') >= 5 AS of_weights;
-- Members: a mixture of those of gp_fit_members.
CREATE TABLE member AS SELECT *
    FROM btml.gp_fit_members('gp.flat', 'y', features => '{price,region}', members => 4, search => 'none', seed => 3);
SELECT array_agg(member ORDER BY member) AS members, bool_and(near(log_likelihood, btml.gp_log_likelihood(model))) AS likelihood,
    bool_and(near(noise, metric(model, 'noise'))) AS noise, bool_and(near(signal, metric(model, 'signal'))) AS signal,
    bool_and(evaluations = metric(model, 'evaluations')) AS evaluations, count(DISTINCT digest(model)) AS models FROM member;
WITH mixed AS (SELECT btml.gp_fit('gp.flat', 'y', features => '{price,region}', members => 4, search => 'none', seed => 3,
    combine => 'mixture', mean => 'zero') AS mixed),
    weighted AS (SELECT model, exp(100 * (log_likelihood - max(log_likelihood) OVER ()) / (SELECT count(y) FROM flat)) AS weight
    FROM member),
    normalised AS (SELECT model, weight / sum(weight) OVER () AS weight FROM weighted WHERE weight >= 1e-6)
SELECT near((SELECT sum(weight * btml.predict(model, ARRAY[5, 1])) FROM normalised), btml.predict(mixed, ARRAY[5, 1])) AS mean,
    near((SELECT sqrt(sum(weight * ((n).sd ^ 2 + ((n).mean - btml.predict(mixed, ARRAY[5, 1])) ^ 2)) )
    FROM normalised, btml.predict_normal(model, ARRAY[5, 1]) n), (btml.predict_normal(mixed, ARRAY[5, 1])).sd) AS sd,
    jsonb_array_length(btml.summary(mixed)->'metrics'->'members') = (SELECT count(*) FROM normalised) AS members FROM mixed;

-- Duplicates with different targets, constant features, features of NULLs alone, one row, infinities and NaN.
SELECT name, btml.summary(model)->'rows' AS rows,
    round(btml.predict(model, ARRAY[1]::float8[])::numeric, 6) AS prediction, (btml.predict_normal(model, ARRAY[1]::float8[])).sd
    > 0 AS sd, metric(model, 'noise') > 0 AS noise, (btml.gp_leave_one_out(model)).mean_nll IS NOT NULL AS scored
FROM (VALUES ('one row', '(1.0, 5.0)'), ('duplicates', '(1.0, 4.0), (1, 5), (1, 6)'), ('constant feature', '(1.0, 4.0), (1, 6)'),
    ('constant target', '(1.0, 5.0), (2, 5)'), ('NULL feature', '(NULL::float8, 4.0), (NULL, 6)'),
    ('infinities', '(''-Infinity''::float8, 4.0), (''Infinity'', 6), (''NaN'', 6), (1, 5)')) v(name, rows),
    btml.gp_fit(format('SELECT x, y FROM (VALUES %s) v(x, y)', rows), 'y', search => 'none') model ORDER BY 1;
-- What lies between discrete values is like the nearer one, which rows know of; where values are not discrete, less is known.
CREATE TABLE height AS SELECT 60 + i * 7 % 13 + (i % 5) / 2 AS height, 160 + 6 * (i * 7 % 13) + (i * 7919 % 101) / 10.0 AS weight
    FROM generate_series(1, 400) i;
SELECT combine, count(*) AS midways,
    bool_and((btml.predict_latent(model, ARRAY[h + 0.5])).sd <= 1.2
    * greatest((btml.predict_latent(model, ARRAY[h])).sd, (btml.predict_latent(model, ARRAY[h + 1.0])).sd)) AS no_spikes,
    bool_and(btml.predict(model, ARRAY[h + 0.6]) = btml.predict(model, ARRAY[h + 1.0])) AS as_the_nearer
FROM unnest('{mixture,kernel_sum}'::text[]) combine, btml.gp_fit('gp.height', 'weight', combine => combine, evaluations => 4000) model,
    generate_series((SELECT min(height) FROM height), (SELECT max(height) - 1 FROM height)) h GROUP BY combine ORDER BY combine;
SELECT (btml.predict_latent(model, ARRAY[0.5])).sd > 1.2
    * greatest((btml.predict_latent(model, ARRAY[0.01])).sd, (btml.predict_latent(model, ARRAY[0.9])).sd) AS unknown
    FROM btml.gp_fit('SELECT x, 3 * x AS y FROM unnest(''{0,0.01,0.0213,0.9,0.91234,1}''::float8[]) x', 'y', search => 'none') model;

-- Bits of values or of ranks, which a long tail does not stretch.
CREATE TABLE tail AS SELECT exp(6 * (i * 7919 % 997) / 997.0) AS x, CASE WHEN i % 3 = 0 THEN 'a' ELSE 'b' END AS kind,
    3.0 * (i * 7919 % 997) / 997 + i % 11 / 10.0 AS y FROM generate_series(1, 900) i;
SELECT encoding, btml.summary(model)->'metrics'->>'encoding' AS chosen, btml.summary(model)->'params'->>'encoding' AS asked
    FROM unnest('{auto,linear,rank}'::text[]) encoding,
    btml.gp_fit('gp.tail', 'y', combine => 'mixture', evaluations => 500, encoding => encoding) model ORDER BY 1;
SELECT btml.summary(model)->'metrics'->>'encoding' AS of_reading
    FROM btml.gp_fit('SELECT x, sin(6 * x) AS y FROM (SELECT i / 500.0 AS x FROM generate_series(1, 500) i) s', 'y', combine => 'mixture',
    evaluations => 500) model;
SELECT combine, btml.predict(btml.gp_update(model, ARRAY[3.0], 9), ARRAY[3.0]) > btml.predict(model, ARRAY[3.0]) AS updated,
    count(*) FILTER (WHERE abs(y - btml.predict(model, ARRAY[x])) < 0.75) > 850 AS predicted
FROM unnest('{mixture,kernel_sum}'::text[]) combine,
    btml.gp_fit('SELECT x, y FROM gp.tail', 'y', combine => combine, evaluations => 2000, encoding => 'rank') model, tail
    GROUP BY combine, model ORDER BY combine;
SELECT btml.summary(btml.gp_fit_agg(y, ARRAY[x], '{"encoding": "rank", "combine": "mixture", "evaluations": 200}'))->'metrics'->>'encoding'
    AS aggregated FROM tail;
SELECT count(*) AS draws FROM btml.gp_sample(btml.gp_fit('gp.tail', 'y', combine => 'mixture', evaluations => 200, encoding => 'rank'),
    'SELECT x, kind FROM gp.tail LIMIT 20', 3);

-- Points outside of the training range.
SELECT outside, x, near(btml.predict(model, ARRAY[x]), btml.predict(model, ARRAY[least(greatest(x, 0), 1)])) AS as_at_the_end,
    near(btml.predict(model, ARRAY[x]), 2) AS prior_mean, near((btml.predict_latent(model, ARRAY[x])).sd, sqrt(2)) AS prior_sd
FROM unnest('{clamp,prior}'::text[]) outside,
    btml.gp_fit('gp.two', 'y', bits => 1, search => 'none', noise => 0.5, signal => 1, outside => outside) model,
    unnest('{-1.5,0.2,1.1,2.1,Infinity,NaN}'::float8[]) x ORDER BY 1, 2;
-- The farther out, the less is known, without a jump.
SELECT d, round(btml.predict(model, ARRAY[1 + d])::numeric, 3) AS mean,
    round((btml.predict_latent(model, ARRAY[1 + d])).sd::numeric, 3) AS sd
    FROM btml.gp_fit('gp.two', 'y', bits => 3, search => 'none', noise => 0.5, signal => 1) model,
    unnest('{0,0.0001,0.01,0.1,0.3,0.9,1}'::float8[]) d;
SELECT combine, count(DISTINCT value) AS places, count(*) AS points
    FROM unnest('{mixture,kernel_sum}'::text[]) combine, btml.gp_fit('gp.height', 'weight', combine => combine, evaluations => 4000) model,
    btml.gp_sample(model, 'SELECT height FROM unnest(ARRAY[76, 77, 77, 90, 60, 60.3]) height') GROUP BY combine ORDER BY combine;
-- Categories and NULLs that no training row has are not known.
SELECT near((btml.predict_latent(model, x)).mean, (btml.summary(model)->>'base')::float8) AS prior_mean
    FROM btml.gp_fit('SELECT region, y FROM gp.flat WHERE region IS NOT NULL', 'y', search => 'none') model,
    (VALUES ('nowhere'), (NULL)) x(region);

-- Queries: ids of any type, NULL or the number of the row; joins; the results of the fit and predictions apart.
CREATE TABLE query AS SELECT id, price, day, region, size FROM flat WHERE id <= 5 ORDER BY id;
SELECT r.id, near(r.mean, (n).mean) AS mean, near(r.sd, (n).sd) AS sd
FROM btml.gp_regression('gp.flat', 'y', 'SELECT id, price, region, size FROM gp.flat WHERE id <= 5 ORDER BY id',
    features => '{price,region,size}', search => 'none') r,
    btml.gp_fit('gp.flat', 'y', features => '{price,region,size}', search => 'none') m, query q,
    btml.predict_normal(m, q.*) n WHERE q.id::text = r.id ORDER BY 1;
SELECT id, round(mean::numeric, 6) AS mean
    FROM btml.gp_regression('gp.two', 'y', 'SELECT * FROM (VALUES (''a'', 0), (NULL, 1), (''c'', NULL)) v(id, x)', bits => 1,
    search => 'none', noise => 0.5, signal => 1);
SELECT id, round(mean::numeric, 6) AS mean
    FROM btml.gp_regression('gp.two', 'y', 'SELECT x FROM (VALUES (1), (0)) v(x)', bits => 1, search => 'none', noise => 0.5, signal => 1);
SELECT id, pg_typeof(id) AS type, round(mean::numeric, 6) AS mean
    FROM btml.gp_regression(NULL::bigint, 'gp.two', 'y', 'SELECT x FROM (VALUES (1), (0)) v(x)', bits => 1, search => 'none', noise => 0.5,
    signal => 1);
SELECT draw, id, pg_typeof(id) AS type
    FROM btml.gp_sample(NULL::real, btml.gp_fit('gp.two', 'y', bits => 1, search => 'none', noise => 0.5, signal => 1),
    'SELECT 2.5 AS id, 1 AS x', 2);
SELECT id FROM btml.gp_regression('gp.flat', 'y',
    'SELECT (date ''2024-01-01'' + shop, shop) AS id, price, region FROM gp.sale JOIN gp.shop USING (shop) WHERE id < 4',
    features => '{price,region}', search => 'none') ORDER BY 1;
SELECT count(*) FROM btml.gp_regression('gp.two', 'y', 'SELECT * FROM gp.two WHERE false', search => 'none');

-- Draws: the same seed gives the same, and they have the distribution of the model.
CREATE TABLE draws AS SELECT *
    FROM btml.gp_sample((SELECT model FROM fitted WHERE source = 'join'), 'SELECT * FROM gp.query ORDER BY id', 4000, 7);
SELECT count(*) AS rows, min(draw) AS first, max(draw) AS last, count(DISTINCT row_number) AS points,
    bool_and(id = row_number::text) AS ids FROM draws;
SELECT count(*) = 20000 AS same
    FROM (TABLE draws INTERSECT ALL SELECT *
    FROM btml.gp_sample((SELECT model FROM fitted WHERE source = 'join'), 'SELECT * FROM gp.query ORDER BY id', 4000, 7)) s;
SELECT row_number, abs(avg - mean) < 5 * sd / sqrt(4000) AS mean, stddev / sd BETWEEN 0.9 AND 1.1 AS sd
    FROM (SELECT row_number, avg(value), stddev(value) FROM draws GROUP BY row_number) d JOIN query q ON q.id = row_number,
    LATERAL (SELECT (l).mean, (l).sd FROM btml.predict_latent((SELECT model FROM fitted WHERE source = 'join'), q.*) l) l ORDER BY 1;
SELECT count(*) FROM btml.gp_sample((SELECT two FROM model), 'SELECT * FROM gp.two WHERE false');
SELECT draw, row_number, id FROM btml.gp_sample((SELECT two FROM model), 'gp.two');

-- Updates are exact and can be taken back.
CREATE TABLE updated AS SELECT btml.gp_update(btml.gp_update(model, f.*, 77), ARRAY[3.5, 1704067200, NULL, 1], 60) AS model
    FROM fitted, flat f WHERE source = 'join' AND f.id = 17;
SELECT (btml.summary(u.model)->>'rows')::int - (btml.summary(f.model)->>'rows')::int AS more,
    btml.gp_log_likelihood(u.model) < btml.gp_log_likelihood(f.model) AS likelihood,
    btml.predict(u.model, q.*) <> btml.predict(f.model, q.*) AS predictions,
    (btml.gp_leave_one_out(u.model)).coverage_90 IS NULL AS no_coverage, (btml.gp_leave_one_out(u.model)).rmse
    = (btml.gp_leave_one_out(f.model)).rmse AS as_of_the_fit
FROM updated u, fitted f, flat q WHERE source = 'join' AND q.id = 17;
SELECT count(*) AS rows, bool_and(near((a).mean, (b).mean) AND near((a).sd, (b).sd)) AS taken_back
    FROM fitted, updated u, flat q, btml.gp_downdate(btml.gp_downdate(u.model, ARRAY[3.5, 1704067200, NULL, 1], 60), (SELECT r FROM flat r
    WHERE id = 17), 77) back,
    btml.predict_normal(fitted.model, q.*) a, btml.predict_normal(back, q.*) b WHERE source = 'join';
-- A third row at x = 1 in closed form: precision 1 + 2/0.5.
SELECT near(btml.predict(m, ARRAY[1.0]), 2 + (1 + 2) / 0.5 / (1 + 2 / 0.5)) AS mean,
    near((btml.predict_latent(m, ARRAY[1.0])).sd, sqrt(2 / (1 + 2 / 0.5))) AS sd FROM model, btml.gp_update(two, ARRAY[1.0], 4) m;
SET client_min_messages = notice;
SELECT near(btml.predict(btml.gp_update(m, ARRAY[7.0], 4), ARRAY[1.0]), 2 + 6.0 / 5) AS at_the_end
    FROM btml.gp_fit('gp.two', 'y', bits => 1, search => 'none', noise => 0.5, signal => 1, outside => 'clamp') m;
SELECT btml.predict(btml.gp_update(two, ARRAY[1.2], 4), ARRAY[1.0]) BETWEEN btml.predict(two, ARRAY[1.0]) + 0.01
    AND btml.predict(btml.gp_update(two, ARRAY[1.0], 4), ARRAY[1.0]) - 0.01 AS less FROM model;
SELECT near(btml.predict(btml.gp_downdate(btml.gp_update(two, ARRAY[1.2], 4), ARRAY[1.2], 4), ARRAY[1.0]),
    btml.predict(two, ARRAY[1.0])) AS taken_back FROM model;
SELECT digest(btml.gp_update(m, ARRAY[7.0], 4)) = digest(btml.gp_downdate(m, ARRAY[7.0], 4)) AS the_same
    FROM btml.gp_fit('gp.two', 'y', search => 'none', noise => 0.6, outside => 'prior') m;
-- Noise below what would be learned is allowed, with a NOTICE.
SELECT metric(btml.gp_fit('gp.two', 'y', search => 'none', noise => 0.125), 'noise');
-- Fewer members than a sum has, with a NOTICE.
SELECT jsonb_array_length(btml.summary(btml.gp_fit('gp.two', 'y', combine => 'kernel_sum', members => 2,
    evaluations => 400))->'metrics'->'members') AS members;
-- A sum whose systems are not solved is no model.
SELECT btml.summary(btml.gp_fit('gp.two', 'y', combine => 'kernel_sum', members => 4, evaluations => 50))->'metrics'->>'combine' AS combine;
-- A verbose fit says what its members found.
SET client_min_messages = info;
SELECT btml.gp_fit('gp.two', 'y', bits => 1, search => 'none', noise => 0.5, signal => 1, verbose => true) IS NOT NULL AS fitted;
SET client_min_messages = warning;

-- The aggregate: a model for each group as of a source, in workers too, whatever the order of the rows.
CREATE TABLE point AS SELECT i AS id, i % 3 AS g,
    CASE WHEN i % 11 <> 0 THEN i * 7919 % 101 END::float8 AS x1, (i * 104729 % 89)::float8 AS x2,
    CASE WHEN i % 17 <> 0 THEN i * 7919 % 101 / 10.0 + i % 3 END::float8 AS y FROM generate_series(1, 600) i;
ANALYZE point;
CREATE TABLE groups AS SELECT g, btml.gp_fit_agg(y, ARRAY[x1, x2], '{"search": "none", "bits": 4}') AS model,
    count(*) - count(y) AS skipped FROM point GROUP BY g;
SELECT g, s->'features' AS features, s->>'target' AS target, s->>'strategy_reason' AS reason, (s->>'rows_skipped')::int
    = skipped AS skipped,
    btml.gp_log_likelihood(model)
    = btml.gp_log_likelihood(btml.gp_fit(format('SELECT x1, x2, y FROM gp.point WHERE g = %s', g), 'y', bits => 4, search => 'none'))
    AS as_gp_fit FROM groups, btml.summary(model) s ORDER BY g;
SELECT count(*) AS rows, bool_and(btml.predict(model, ARRAY[x1, x2]) = btml.predict(model, p.*)) AS by_name
    FROM groups JOIN point p USING (g);
CREATE TABLE serial AS SELECT digest(btml.gp_fit_agg(y, ARRAY[x1, x2],
    '{"search": "none", "members": 2, "evaluations": 20, "noise": 0.5, "signal": 1.5, "outside": "prior", "seed": -3,
        "combine": "mixture"}')) AS digest FROM point;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 3;
EXPLAIN (COSTS off) SELECT btml.gp_fit_agg(y, ARRAY[x1, x2], '{"search": "none"}') FROM point;
SELECT digest(btml.gp_fit_agg(y, ARRAY[x1, x2],
    '{"search": "none", "members": 2, "evaluations": 20, "noise": 0.5, "signal": 1.5, "outside": "prior", "seed": -3,
        "combine": "mixture"}')) = (SELECT digest FROM serial) AS parallel FROM point;
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size; RESET max_parallel_workers_per_gather;
SELECT digest(btml.gp_fit_agg(y, ARRAY[x1, x2],
    '{"search": "none", "members": 2, "evaluations": 20, "noise": 0.5, "signal": 1.5, "outside": "prior", "seed": -3,
        "combine": "mixture"}' ORDER BY md5(id::text))) = (SELECT digest FROM serial) AS order_by FROM point;
SELECT btml.summary(btml.gp_fit_agg(y, ARRAY[x1, x2],
    '{"search": "none", "members": 2, "evaluations": 20, "noise": 0.5, "signal": 1.5, "outside": "prior", "seed": -3, "combine": "mixture",
        "bits": 7}'))->'params' FROM point;
SELECT btml.gp_fit_agg(y, ARRAY[x1, x2], '{"search": "none"}') IS NULL AS no_rows FROM point WHERE false;
SELECT btml.gp_fit_agg(NULL, ARRAY[x1, x2]) IS NULL AS no_targets FROM point;

-- The value: text, binary, bytea.
SELECT bool_and(digest(model::text::btml.model) = digest(model)) AS text,
    bool_and(digest(model::bytea::btml.model) = digest(model)) AS bytea,
    bool_and(near(btml.predict(model::text::btml.model, f.*), btml.predict(model, f.*))) AS predicts FROM fitted, flat f WHERE f.id < 9;
CREATE TABLE bytes AS SELECT two::bytea AS b FROM model;
SELECT DISTINCT left(caught(format('SELECT %L::bytea::btml.model', substr(b, 1, n))), 33) FROM bytes, generate_series(0, length(b) - 1) n;
SELECT DISTINCT left(caught(format('SELECT %L::bytea::btml.model', set_byte(b, n, get_byte(b, n) # 255))), 33)
    FROM bytes, generate_series(0, length(b) - 1) n;

-- NULL: a NULL model gives NULL or no rows; predictions are strict.
SELECT btml.gp_log_likelihood(NULL) IS NULL AS likelihood, btml.gp_update(NULL, ARRAY[1.0], 1) IS NULL AS gp_update,
    btml.gp_downdate(NULL, ROW(1), 1) IS NULL AS downdate, btml.predict_normal(NULL, ARRAY[1.0]) IS NULL AS normal,
    btml.predict_latent(two, NULL::float8[]) IS NULL AS latent, btml.summary(NULL) IS NULL AS summary FROM model;
SELECT (SELECT count(*) FROM btml.gp_leave_one_out(NULL)) AS leave_one_out, (SELECT count(*)
    FROM btml.gp_relevance(NULL)) AS relevance, (SELECT count(*) FROM btml.gp_sample(NULL, 'gp.two')) AS sample;

-- Ways to find members and to combine them: a smooth surface, noise of variance 0.03 on a signal of about 1.
CREATE TABLE smooth AS SELECT i AS id, (i * 37 % 240) / 240.0 AS a, (i * 53 % 350) / 350.0 AS b, CASE i % 2 WHEN 0 THEN 'even'
    ELSE 'odd' END AS parity, i % 5 = 0 AS held_out,
    sin(6 * ((i * 37 % 240) / 240.0)) + (i * 53 % 350) / 350.0 + (i % 2) * 0.5 + (i * 7919 % 101 + i * 10473 % 97 + i * 15485 % 89 - 142)
    / 300.0 AS y FROM generate_series(1, 1500) i;
CREATE TABLE ensemble (name text, model btml.model);
INSERT INTO ensemble SELECT name, btml.gp_fit('SELECT a, b, parity, y, held_out FROM gp.smooth', 'y', holdout => 'held_out',
    combine => combine, search => search, members => members, evaluations => evaluations, mean => 'zero')
FROM (VALUES ('auto', 'auto', 'local', NULL, NULL), ('kernel_sum', 'kernel_sum', 'local', 12, 40000), ('mixture', 'mixture', 'local', 3,
    3000), ('alone', 'auto', 'local', 1, 1000), ('bfgs', 'auto', 'bfgs', NULL, 500), ('none', 'mixture', 'none', 1, 100), ('few', 'auto',
    'local', NULL, 400)) v(name, combine, search, members, evaluations);
SELECT name, m->>'combine' AS combine, (m->>'holdout_rmse')::float8 < 0.30 AS rmse, (m->>'holdout_nll')::float8
    < 0.3 AS nll, (m->'leave_one_out'->>'coverage_90')::float8 BETWEEN 0.8 AND 0.99 AS coverage,
    greatest((m->>'residual')::float8, (m->>'residual_of_samples')::float8) <= 0.01 AS solved,
    jsonb_array_length(m->'members') AS members, (m->>'evaluations')::bigint <= evaluations AS within
FROM (SELECT name, btml.summary(model)->'metrics' AS m,
    coalesce((btml.summary(model)->'params'->>'evaluations')::bigint, 2000000) AS evaluations FROM ensemble) e;
SELECT name, btml.gp_log_likelihood(model) IS NULL AS no_likelihood, model::text::btml.model::text = model::text AS text,
    btml.predict(model, ARRAY[0.5, 0.5, 0]) = btml.predict(model::bytea::btml.model, ARRAY[0.5, 0.5, 0]) AS bytes,
    (SELECT feature FROM btml.gp_relevance(model) LIMIT 1) IN ('a', 'b', 'parity') AS relevance,
    (SELECT avg((abs(y - (p).mean) < 1.645 * (p).sd)::int) BETWEEN 0.8 AND 0.97 FROM smooth, LATERAL btml.predict_normal(model, smooth) p
    WHERE held_out) AS coverage,
    (SELECT bool_and((l).sd < (p).sd AND (l).mean = (p).mean)
    FROM smooth, LATERAL btml.predict_normal(model, smooth) p, LATERAL btml.predict_latent(model, smooth) l WHERE id < 100) AS latent
    FROM ensemble ORDER BY name;
-- Rows in another order, and any number of threads, give the same bytes.
SET btml.threads = 1;
CREATE TABLE again AS SELECT btml.gp_fit('SELECT a, b, parity, y, held_out FROM gp.smooth ORDER BY id DESC', 'y', holdout => 'held_out',
    combine => 'kernel_sum', members => 12, evaluations => 40000, mean => 'zero') AS model;
SELECT again.model::text = ensemble.model::text AS same_sum FROM again, ensemble WHERE name = 'kernel_sum';
CREATE TABLE one_thread AS SELECT btml.gp_fit('gp.smooth', 'y', features => '{a,b}', combine => 'mixture', members => 3,
    evaluations => 300) AS model;
SET btml.threads = 3;
SELECT btml.gp_fit('gp.smooth', 'y', features => '{a,b}', combine => 'mixture', members => 3, evaluations => 300)::text
    = model::text AS same_mixture FROM one_thread;
RESET btml.threads;
SELECT member, log_likelihood > -1000 AS log_likelihood, evaluations <= 200 AS evaluations
    FROM btml.gp_fit_members('gp.smooth', 'y', features => '{a,b}', members => 2, evaluations => 400);
SELECT id, abs(mean - (sin(6 * 0.5) + 0.75)) < 0.5 AS mean
    FROM btml.gp_regression('SELECT a, b, y FROM gp.smooth', 'y', 'SELECT 0.5 AS a, 0.5 AS b, ''here'' AS id');
-- Sums of one row, of equal rows and of equal targets.
SELECT g, round(btml.predict(btml.gp_fit_agg(y, x, '{"combine": "kernel_sum"}'), ARRAY[1.0])::numeric, 1) AS predicted
    FROM (VALUES (1, ARRAY[1.0], 5), (2, ARRAY[1.0], 1), (2, ARRAY[1.0], 3), (3, ARRAY[1.0], 2), (3, ARRAY[2.0], 2)) v(g, x, y)
    GROUP BY g ORDER BY g;
SELECT caught('SELECT btml.predict(model, ARRAY[1.0]) FROM gp.ensemble WHERE name = ''kernel_sum''');
-- Noisy rows at few points: a sum's leave-one-out error is that of one member, and no less than that of the points' means.
CREATE TABLE repeated AS SELECT n % 20 AS h, 10 * (n % 20) + n * 7919::bigint % 1009 / 17.0 + n * 104729::bigint % 997 / 17.0 AS y
    FROM generate_series(1, 1500) n;
SELECT l.rmse / sqrt(avg((y - mean) ^ 2)) BETWEEN 1 AND 1.025 AS rmse
    FROM btml.gp_leave_one_out(btml.gp_fit('gp.repeated', 'y', combine => 'kernel_sum', members => 4, evaluations => 20000)) l, (SELECT y,
    avg(y) OVER (PARTITION BY h) AS mean FROM repeated) r GROUP BY l.rmse;
-- Skewed features and little noise: scores of a sum that is not solved would be far too good.
SELECT setseed(0.5);
CREATE TABLE skewed AS SELECT i, -ln(1 - random()) AS a, -ln(1 - random()) AS b, -ln(1 - random()) AS c, -ln(1 - random()) AS d,
    random() ^ 8 AS e, random() ^ 8 AS f, random() ^ 8 AS g, random() AS noise, i % 3 = 0 AS held_out FROM generate_series(1, 6000) i;
CREATE TABLE honest AS SELECT source, combine,
    btml.summary(btml.gp_fit(source, 'y', holdout => 'held_out', combine => combine, members => CASE combine WHEN 'mixture' THEN 1
    ELSE 6 END, evaluations => CASE combine WHEN 'mixture' THEN 1000 ELSE 15000 END, mean => 'zero'))->'metrics' AS m
FROM unnest(ARRAY['SELECT a, b, c, d, sin(2 * a) + cos(2 * b) + sqrt(c) + ln(1 + d) + 0.01 * noise AS y, held_out FROM gp.skewed',
    'SELECT e, f, g, sin(3 * e) + cos(2 * f) + sqrt(g) + 0.001 * noise AS y, held_out FROM gp.skewed']) source,
    unnest(ARRAY['mixture', 'auto']) combine;
SELECT combine, m->>'combine' AS chosen, abs((m->>'holdout_nll')::float8 - (m->'leave_one_out'->>'mean_nll')::float8) < 0.1 AS honest,
    greatest((m->>'residual')::float8, (m->>'residual_of_samples')::float8) <= 0.01 AS solved,
    (m->>'holdout_nll')::float8 < (SELECT (other.m->>'holdout_nll')::float8 FROM honest other
    WHERE other.source = h.source AND other.combine = 'mixture') + 0.05 AS no_worse FROM honest h ORDER BY source, combine;
-- Updates of sums: the rows that they hold, one more and one less.
CREATE TABLE changed AS SELECT name, model, btml.gp_update(model, smooth, 9) AS more FROM ensemble, smooth
    WHERE name = 'kernel_sum' AND smooth.id = 17;
SELECT name, (btml.summary(more)->>'rows')::int - (btml.summary(model)->>'rows')::int AS more,
    btml.predict(more, smooth) - btml.predict(model, smooth) BETWEEN 0.05
    AND 9 AS nearer, (btml.gp_leave_one_out(more)).coverage_90 IS NULL AS no_coverage,
    abs(btml.predict(back, smooth) - btml.predict(model, smooth)) < 0.05 AS taken_back,
    (btml.summary(back)->>'rows')::int - (btml.summary(model)->>'rows')::int AS rows_back
    FROM changed, smooth, btml.gp_downdate(more, ARRAY[smooth.a, smooth.b, 1], 9) back WHERE smooth.id = 17 ORDER BY name;
SELECT name, caught(format('SELECT btml.gp_downdate(model, ARRAY[0.123, 0, 0], 1) FROM gp.changed WHERE name = %L', name)),
    caught(format('SELECT btml.gp_downdate(more, smooth, 8) FROM gp.changed, gp.smooth WHERE name = %L AND id = 17', name))
    FROM changed ORDER BY name;
-- An update or a draw of a sum that is not solved is refused. Equal targets alone are solved, however little the noise is.
CREATE TABLE equal_targets AS SELECT ln(1 + i % 37) AS a, sqrt(i % 41) AS b, 5.0 AS y FROM generate_series(1, 500) i, generate_series(1, 2);
CREATE TABLE little_noise AS SELECT btml.gp_fit('gp.equal_targets', 'y', combine => 'kernel_sum', members => 4, evaluations => 15000,
    noise => 1e-5, signal => 1) AS model;
SELECT metric(model, 'residual') AS residual, metric(model, 'residual_of_samples') < 0.05 AS samples FROM little_noise;
CREATE FUNCTION unsolved(statement text) RETURNS text LANGUAGE sql AS $$
    SELECT regexp_replace(gp.caught(statement), '(?<=^\S+ draw )\d+|(?<=residual of )\S+', 'N', 'g') $$;
SELECT unsolved('SELECT btml.gp_update(model, ARRAY[ln(3.0), 3], 6) FROM gp.little_noise');
SELECT unsolved('SELECT * FROM gp.little_noise, btml.gp_sample(model, ''SELECT 1.0 AS a, 2.0 AS b'', 64)');
-- Draws of a sum have its distribution, and equal points equal values.
CREATE TABLE sum_draws AS SELECT s.*
    FROM ensemble, btml.gp_sample(model,
    'SELECT id, a, b, parity FROM gp.smooth WHERE id <= 4 UNION ALL SELECT 99, a, b, parity FROM gp.smooth WHERE id = 2 ORDER BY 1', 320,
    5) s WHERE name = 'kernel_sum';
SELECT d.id, abs(avg - (l).mean) < 5 * (l).sd / sqrt(320) AS mean, stddev / (l).sd BETWEEN 0.6 AND 1.6 AS sd
    FROM (SELECT id, avg(value), stddev(value) FROM sum_draws WHERE id <> '99' GROUP BY id) d, ensemble, smooth,
    btml.predict_latent(model, smooth) l
WHERE name = 'kernel_sum' AND smooth.id = d.id::int ORDER BY 1;
SELECT count(DISTINCT value) = 320 AS draws, max(abs(value - other)) = 0 AS equal_points
    FROM (SELECT value, (SELECT value FROM sum_draws o WHERE o.id = '99' AND o.draw = d.draw) AS other FROM sum_draws d WHERE id = '2') d;
SELECT caught('SELECT btml.gp_sample(model, ''SELECT 0.1 AS a, 0.1 AS b, ''''neither'''' AS parity'') FROM gp.ensemble
    WHERE name = ''kernel_sum''');

SET client_min_messages = notice;
-- Copies of rows, as a join can make them, are told; rows that have the features of others by nature are not, nor
-- copies beside a holdout. Rows in which
-- nearly all targets are one number, as of rare events, have the targets of others by chance.
SELECT btml.gp_fit('SELECT a, b, y FROM gp.smooth, generate_series(1, 1 + (id % 5 = 0)::int)', 'y', search => 'none') IS NOT NULL AS copies;
SELECT btml.gp_fit('SELECT round(a) AS a, round(b) AS b, y FROM gp.smooth', 'y', search => 'none') IS NOT NULL AS repeated;
SELECT btml.gp_fit('SELECT i % 900 AS a, (i % 49 = 0)::int AS y FROM generate_series(1, 2700) i', 'y',
    search => 'none') IS NOT NULL AS rare_events;
SELECT btml.gp_fit('SELECT a, b, y, id % 20 = 0 AS held FROM gp.smooth, generate_series(1, 3)', 'y', search => 'none',
    holdout => 'held') IS NOT NULL AS held_out;
-- Targets that are far from all others are told; tails and few values are not far.
SELECT what, btml.gp_fit(format('SELECT a, b, %s AS y FROM gp.smooth', what), 'y', search => 'none', mean => 'zero') IS NOT NULL AS fit
    FROM unnest('{y + CASE id WHEN 7 THEN 1e9 ELSE 0 END,tan(id),id % 2,1}'::text[]) what;
SET client_min_messages = warning;

-- Where one row outweighs all others, so that trees of a fold have nothing to learn from, no trees are tried.
SELECT btml.summary(btml.gp_fit('SELECT sqrt(i) AS a, sin(i) AS y, CASE i WHEN 7 THEN 1e20 ELSE 0.5 END AS w
    FROM generate_series(1, 300) i', 'y', weight => 'w'))->'metrics'->>'mean' AS mean;

-- Where a sum would not fit in memory, auto takes one member alone; asked for, it is refused before the work.
SET btml.memory_limit = '6MB';
SELECT btml.summary(btml.gp_fit('SELECT a, b, y FROM gp.smooth', 'y'))->'metrics'->>'combine' AS combine;
SELECT regexp_replace(caught('SELECT btml.gp_fit(''SELECT a, b, y FROM gp.smooth'', ''y'', combine => ''kernel_sum'')'), 'required is \d+',
    'required is N');
RESET btml.memory_limit;

-- Errors
\pset format unaligned
\pset tuples_only on
SELECT arguments || E'\n' || caught(format('SELECT btml.gp_fit(''gp.joined'', %s)', arguments)) || E'\n'
    FROM unnest(ARRAY['''yy''', '''y'', features => ''{prize}''', '''y'', features => ''{price,price}''',
    '''y'', features => ''{price,y}''', '''y'', features => ''{}''',
    '''region''', '''y'', holdout => ''w''', '''y'', weight => ''region''', '''y'', categorical => ''{y}''', '''y''',
    '''y'', search => ''bfgs''', '''y'', search => ''best''', '''y'', combine => ''kernel_sum'', search => ''none''',
    '''y'', combine => ''sum''', '''y'', outside => ''error''', '''y'', encoding => ''quantile''', '''y'', bits => 0', '''y'', bits => 31',
    '''y'', members => 0', '''y'', members => 1001', '''y'', evaluations => 0', '''y'', evaluations => -1', '''y'', noise => 0',
    '''y'', noise => ''NaN''', '''y'', noise => -1', '''y'', signal => 0', '''y'', signal => ''Infinity''',
    '''y'', search => NULL', '''y'', combine => NULL', '''y'', outside => NULL', '''y'', encoding => NULL', '''y'', seed => NULL',
    '''y'', verbose => NULL', 'NULL']) arguments;
SELECT source || E'\n' || caught(format('SELECT btml.gp_fit(%L, ''y'', search => ''none'')', source)) || E'\n'
    FROM unnest(ARRAY['gp.nothing', 'SELECT y FROM gp.two', 'SELECT * FROM gp.two WHERE false', 'SELECT x, NULL::float8 AS y FROM gp.two',
    'SELECT x, y + ''NaN'' AS y FROM gp.two', 'SELECT x, 1e200 * y AS y FROM gp.two']) source;
SELECT caught('SELECT btml.gp_fit(NULL, ''y'')'),
    caught('SELECT btml.gp_fit(''SELECT x, y, true AS h FROM gp.two'', ''y'', search => ''none'', holdout => ''h'')'),
    caught('SELECT btml.gp_fit(''SELECT x, y, -1 AS w FROM gp.two'', ''y'', weight => ''w'')'),
    caught('SELECT btml.gp_fit(''SELECT x, y, 1e41 AS w FROM gp.two'', ''y'', search => ''none'', weight => ''w'')');
SELECT caught('SELECT * FROM btml.gp_fit_members(''gp.two'', ''y'')'),
    caught('SELECT * FROM btml.gp_fit_members(''gp.two'', ''y'', members => 0)'),
    caught('SELECT * FROM btml.gp_regression(''gp.two'', ''y'', NULL)'),
    caught('SELECT * FROM btml.gp_regression(''gp.two'', ''y'', ''SELECT 1 AS z'', search => ''none'')'),
    caught('SELECT * FROM btml.gp_regression(''gp.two'', ''y'', ''SELECT point(1, 2) AS x'', search => ''none'')'),
    caught('SELECT * FROM btml.gp_regression(''gp.two'', ''y'', ''SELECT 1 AS x, 2 AS id, 3 AS id'', search => ''none'')');
SELECT options || E'\n' || caught(format('SELECT btml.gp_fit_agg(a, ARRAY[b], %L) FROM (VALUES (1.5, 2.5), (1.0, 3.0)) v(a, b)', options))
    || E'\n' FROM unnest(ARRAY['{}', '{"bit": 3}', '{"holdout": "h"}', '{"bits": 0}', '{"bits": 31}', '{"bits": 2.5}', '{"members": 0}',
    '{"evaluations": 0}', '{"search": "best"}',
    '{"search": 5}', '{"combine": "sum"}', '{"outside": null}', '{"noise": 0}', '{"noise": "low"}', '{"signal": -1}', '{"seed": 1e30}',
    '[1]']) options;
-- null is what an option is by default, where it may be given.
SELECT btml.gp_fit_agg(a, ARRAY[b], '{"noise": null, "bits": null, "search": "none"}')::text
    = btml.gp_fit_agg(a, ARRAY[b], '{"search": "none"}')::text FROM (VALUES (1.5, 2.5), (1.0, 3.0)) v(a, b);
SELECT caught('SELECT btml.gp_fit_agg(a, ARRAY[b], ''{"search": "none"}'') FROM (VALUES (''NaN''::float8, 2.5)) v(a, b)'),
    caught('SELECT btml_internal.gp_fit_accumulate(NULL, 1, ARRAY[1.0], ''{}'')');
SELECT caught('SELECT btml.predict_normal(two, ARRAY[1.0, 2]) FROM gp.model'),
    caught('SELECT btml.predict_latent(two, x) FROM gp.model, (SELECT 1 AS z) x'),
    caught('SELECT btml.gp_update(two, ARRAY[1.0, 2], 1) FROM gp.model'),
    caught('SELECT btml.gp_update(two, NULL::float8[], 1) FROM gp.model'),
    caught('SELECT btml.gp_update(two, ARRAY[1.0], NULL) FROM gp.model'),
    caught('SELECT btml.gp_update(two, ARRAY[1.0], ''NaN'') FROM gp.model'),
    caught('SELECT btml.gp_update(two, ARRAY[1.0], 1e200) FROM gp.model'),
    caught('SELECT btml.gp_update(two, ARRAY[NULL]::float8[], 1) FROM gp.model'),
    caught('SELECT btml.gp_update(two, x, 1) FROM gp.model, (SELECT 1 AS z) x'),
    caught('SELECT btml.gp_downdate(two, ARRAY[1.0], 7) FROM gp.model'),
    caught('SELECT btml.gp_downdate(two, ARRAY[0.5], 7) FROM gp.model'),
    caught('SELECT btml.gp_update(btml.gp_fit(''SELECT region, y FROM gp.flat'', ''y'', search => ''none''), x, 1)
    FROM (SELECT ''nowhere'' AS region) x');
SELECT caught('SELECT * FROM gp.model, btml.gp_sample(two, NULL)'), caught('SELECT * FROM gp.model, btml.gp_sample(two, ''gp.two'', 0)'),
    caught('SELECT * FROM gp.model, btml.gp_sample(two, ''gp.two'', 1000001)'),
    caught('SELECT * FROM gp.model, btml.gp_sample(two, ''gp.two'', NULL)'),
    caught('SELECT * FROM gp.model, btml.gp_sample(two, ''SELECT 1 AS z'')');
SET btml.memory_limit = '1MB';
SELECT regexp_replace(caught('SELECT btml.gp_fit(''SELECT i AS x, i AS y FROM generate_series(1, 10000) i'', ''y'', search => ''none'')'),
    'required is \d+', 'required is N');
RESET btml.memory_limit;
-- Models of the other kind.
CREATE TABLE tree AS SELECT btml.tree_fit('gp.two', 'y', min_leaf_rows => 1) AS tree;
SELECT call || E'\n' || caught(format('SELECT * FROM gp.tree, btml.%s', call)) || E'\n'
    FROM unnest(ARRAY['predict_normal(tree, ARRAY[1.0])', 'predict_latent(tree, ARRAY[1.0])', 'gp_log_likelihood(tree)',
    'gp_leave_one_out(tree)', 'gp_relevance(tree)', 'gp_sample(tree, ''gp.two'')', 'gp_update(tree, ARRAY[1.0], 1)',
    'gp_downdate(tree, ARRAY[1.0], 1)']) call;
SELECT call || E'\n' || caught(format('SELECT * FROM gp.model, btml.%s', call)) || E'\n'
    FROM unnest(ARRAY['trees(two)', 'feature_importance(two)', 'training_log(two)', 'to_sql(two)']) call;
