-- Models compared on rows that they have not seen.
CREATE SCHEMA validation;
SET search_path = validation;
CREATE TYPE season AS ENUM ('winter', 'spring', 'summer', 'autumn');

-- A fact table and two dimensions, of random numbers; every value of a feature is in every fold.
\set uniform `echo "${PG_ABS_SRCDIR:-.}/sql/include/uniform.sql"`
\i :uniform
CREATE TABLE shop AS SELECT s AS shop,
    floor(uniform(s, 1) * 6)::int AS size, (ARRAY['north', 'south', NULL])[1 + floor(uniform(s, 2) * 3)::int] AS region
FROM generate_series(1, 40) s;
CREATE TABLE item AS SELECT i AS item, floor(uniform(i, 3) * 5)::int AS price,
    CASE WHEN uniform(i, 4) < 0.9 THEN floor(uniform(i, 5) * 4)::int END AS grade
FROM generate_series(1, 30) i;
CREATE TABLE sale AS SELECT n AS id, 1 + floor(uniform(n, 6) * 40)::int AS shop, 1 + floor(uniform(n, 7) * 30)::int AS item,
    floor(uniform(n, 8) * 7)::int AS day,
    floor(uniform(n, 9) * 3)::int AS part,
    1 + floor(uniform(n, 10) * 3) AS w, (enum_range(NULL::season))[1 + floor(uniform(n, 11) * 4)::int] AS season, uniform(n, 12) AS noise
FROM generate_series(1, 3000) n;
CREATE VIEW sales AS SELECT sale.*, size, region, price, grade,
    size * price + coalesce(grade, 0) * day + 4 * noise AS amount, size + price + 3 * noise > 5 AS large, (size + day) % 3 AS many,
    CASE WHEN price + noise < 2 THEN 'low' WHEN day + noise < 4 THEN 'medium' ELSE 'high' END AS class
FROM sale JOIN shop USING (shop) JOIN item USING (item);
CREATE VIEW features AS SELECT day, size, region, price, grade, part, w, season, amount, large, many, class FROM sales;

-- A fold scores as rows held out of boost_fit do.
CREATE FUNCTION of_fold(k int, target name, metric text, options jsonb, source text DEFAULT 'features') RETURNS float8[] LANGUAGE sql AS $$
    SELECT array_agg(holdout_metric ORDER BY iteration)
    FROM btml.training_log(btml.boost_fit(format('SELECT *, part = %s AS held FROM %s s', k, source), target, holdout => 'held',
    metric => metric, exclude => '{part}', options => options))
$$;
CREATE TABLE compared (name text, target name, metric text, options jsonb);
INSERT INTO compared VALUES
    ('squared', 'amount', 'rmse', '{"trees": 12, "features": ["day", "size", "region", "price", "grade"]}'),
    ('mae', 'amount', 'mae', '{"trees": 12, "max_bins": 0, "features": ["day", "size", "region", "price", "grade"], "weight": "w"}'),
    ('sampled', 'amount', 'rmse',
    '{"trees": 12, "row_fraction": 0.5, "feature_fraction": 0.5, "seed": 4, "features": ["day", "size", "region", "price", "grade"]}'),
    ('absolute', 'amount', 'mae', '{"trees": 12, "objective": "absolute", "features": ["day", "size", "region", "price", "grade"]}'),
    ('binary', 'large', 'log_loss', '{"trees": 12, "features": ["day", "size", "region", "price", "grade"]}'),
    ('auc', 'large', 'auc', '{"trees": 12, "positive": "false", "class_weights": {"true": 2}, "features": ["day", "size", "region",
        "price", "grade"]}'),
    ('multiclass', 'class', 'log_loss', '{"trees": 8, "features": ["day", "size", "region", "price", "grade"], "categorical": ["day"]}'),
    ('counts', 'many', 'poisson_deviance',
    '{"trees": 8, "objective": "poisson", "features": ["day", "size", "region", "price", "grade"], "increasing": ["size"]}');
SELECT name, folds, metrics, bool_and(value = curve[trees]) AS same_as_held_out,
    bool_and(NOT EXISTS (SELECT FROM unnest(means) m
    WHERE CASE WHEN metric IN ('auc') THEN m > means[trees] ELSE m < means[trees] END)) AS best_of_mean
FROM compared c, LATERAL (SELECT count(*) OVER () AS folds, f.metric AS metrics, value, trees,
    of_fold(fold::int, target, c.metric, options) AS curve
    FROM btml.cross_validate('features', target, fold => 'part', options => options, metric => c.metric) f) f,
    LATERAL (SELECT array_agg(m ORDER BY i) AS means
    FROM (SELECT i, avg(v) AS m FROM generate_series(0, 2) k, unnest(of_fold(k, target, c.metric, options)) WITH ORDINALITY u(v, i)
    GROUP BY i) a) a
GROUP BY name, folds, metrics ORDER BY name;

-- The metric goes by the objective.
SELECT target, objective, (SELECT DISTINCT metric
    FROM btml.cross_validate('features', target, 2,
    options => jsonb_strip_nulls(jsonb_build_object('trees', 2, 'objective', objective, 'query', query,
    'features', '{day,size}'::text[])))) AS metric
FROM (VALUES ('amount'::name, 'auto', NULL), ('large', 'auto', NULL), ('class', 'auto', NULL), ('amount', 'absolute', NULL), ('amount',
    'huber', NULL), ('amount', 'quantile', NULL), ('many', 'poisson', NULL),
    ('many', 'tweedie', NULL), ('many', 'rank', 'part')) v(target, objective, query);

-- Folds by hash: of one size, the same whatever the order of rows, the plan and the threads, others with another seed.
CREATE TABLE scores AS SELECT * FROM btml.cross_validate('features', 'amount', options => '{"trees": 10}');
SELECT fold, rows, metric, trees, value > 0 AS has_value, seconds > 0 AS has_seconds FROM scores;
CREATE TABLE shuffled AS SELECT * FROM features ORDER BY random();
CREATE TABLE again (name text, fold text, rows bigint, value float8);
SET btml.threads = 1;
INSERT INTO again SELECT 'one thread', fold, rows, value FROM btml.cross_validate('features', 'amount', options => '{"trees": 10}');
SET btml.threads = 4;
INSERT INTO again SELECT 'four threads', fold, rows, value FROM btml.cross_validate('features', 'amount', options => '{"trees": 10}');
RESET btml.threads;
INSERT INTO again SELECT 'shuffled', s.fold, s.rows, t.value FROM btml.cross_validate('shuffled', 'amount', options => '{"trees": 10}') s
    JOIN btml.cross_validate('SELECT * FROM shuffled ORDER BY amount', 'amount', options => '{"trees": 10}') t ON s.fold = t.fold
    AND s.value = t.value;
SELECT name, count(*), bool_and(again.rows = scores.rows AND (again.value = scores.value OR name = 'shuffled')) AS same
    FROM again JOIN scores USING (fold) GROUP BY name ORDER BY name;
SELECT count(*) FILTER (WHERE a.value = b.value) AS same
    FROM scores a JOIN btml.cross_validate('features', 'amount', options => '{"trees": 10}', seed => 1) b USING (fold);

-- Labels are spread evenly: 9 rows of one label have at least one in each of 5 folds.
CREATE TABLE rare AS SELECT i % 13 AS x, i <= 9 AS y FROM generate_series(1, 400) i;
SELECT fold, rows, value BETWEEN 0 AND 1 AS defined FROM btml.cross_validate('rare', 'y', options => '{"trees": 3}', metric => 'auc');
-- Equal rows are spread as well.
SELECT fold, rows FROM btml.cross_validate('SELECT 1 AS x, 2 AS y FROM generate_series(1, 10)', 'y', 3, options => '{"trees": 1}');

-- Folds of a column: in the order of numbers and of enums; those of a dimension; NULL is trained on and never scored.
SELECT fold, rows FROM btml.cross_validate('SELECT day, amount, 12 - part * 4 AS part FROM features', 'amount', fold => 'part',
    options => '{"trees": 1}');
SELECT fold, rows FROM btml.cross_validate('features', 'amount', fold => 'season', options => '{"trees": 1}');
SELECT fold, rows FROM btml.cross_validate('SELECT day, amount, date ''2020-12-01'' + part * 90 AS part FROM features', 'amount',
    fold => 'part', options => '{"trees": 1}');
SELECT fold, rows, (SELECT count(*) FROM sales WHERE region = fold) AS expected
    FROM btml.cross_validate('sales', 'amount', fold => 'region', options => '{"trees": 1, "features": ["day", "price"]}');
SELECT fold, rows, value = (of_fold(fold::int, 'amount', 'rmse', '{"trees": 5, "features": ["day", "price"]}',
    '(SELECT day, price, amount, nullif(part, 0) AS part FROM features)'))[trees] AS same
FROM btml.cross_validate('SELECT day, price, amount, nullif(part, 0) AS part FROM features', 'amount', fold => 'part',
    options => '{"trees": 5}');

-- Rows held out are neither trained on nor scored.
SELECT a.fold, a.rows, a.value = b.value AS as_if_not_there
FROM btml.cross_validate('SELECT day, price, amount, part, season = ''winter'' AS held FROM features', 'amount', fold => 'part',
    options => '{"trees": 5, "holdout": "held"}') a
    JOIN btml.cross_validate('SELECT day, price, amount, part FROM features WHERE season <> ''winter''', 'amount', fold => 'part',
    options => '{"trees": 5}') b USING (fold);
SELECT count(*) FROM btml.cross_validate('SELECT *, false AS held FROM rare', 'y', 2, options => '{"trees": 2, "holdout": "held"}');

-- Early stopping goes by the mean over the folds.
SELECT a.trees = b.trees AS same_trees, a.trees < 40 AS stopped, a.value = b.value AS same_value
FROM btml.cross_validate('SELECT day, size, price, noise FROM sales', 'noise',
    options => '{"trees": 300000, "learning_rate": 0.5, "early_stopping": 5}') a
    JOIN btml.cross_validate('SELECT day, size, price, noise FROM sales', 'noise',
    options => '{"trees": 40, "learning_rate": 0.5}') b USING (fold);

-- Gaussian processes: as gp_fit of the other rows.
CREATE TABLE small AS SELECT day, size, region, part, amount, day = 0 AS held FROM features f ORDER BY md5(f::text) LIMIT 300;
CREATE FUNCTION gp_of_fold(k int) RETURNS float8 LANGUAGE sql AS $$
    SELECT sqrt(avg((btml.predict((SELECT btml.gp_fit(format('SELECT day, size, region, amount FROM small WHERE part <> %s', k), 'amount',
    members => 2, evaluations => 60, combine => 'mixture')), s.*) - s.amount)^2))
    FROM small s WHERE part = k
$$;
SELECT fold, rows, metric, trees, abs(value - gp_of_fold(fold::int)) < 1e-9 * value AS same
FROM btml.cross_validate('small', 'amount', fold => 'part', method => 'gp',
    options => '{"members": 2, "evaluations": 60, "combine": "mixture", "exclude": ["held"]}');
SELECT metric, count(*), min(value) > -100 AS defined FROM unnest('{mae,mean_nll}'::text[]) m,
    LATERAL btml.cross_validate('small', 'amount', 3, method => 'gp', metric => m, options => '{"members": 1, "evaluations": 20}')
    GROUP BY metric ORDER BY metric;

-- A sample of the join.
SELECT fold, rows FROM btml.cross_validate('sales', 'amount', 2,
    options => '{"trees": 2, "strategy": "sample", "sample_rows": 500, "features": ["day"]}');

-- Tuning: the best row is one that cross_validate scores alike, and its options train.
CREATE TABLE tuned AS SELECT *
    FROM btml.tune('features', 'amount', '{"learning_rate": {"from": 0.02, "to": 0.5, "scale": "log"}, "max_leaves": {"from": 4, "to": 32},
    "max_bins": [4, 255], "l2": {"from": 0, "to": 5}, "balanced": [false], "max_step": [null]}', trials => 12, fold => 'part',
    options => '{"trees": 30, "weight": "w", "exclude": ["season", "large"]}');
SELECT count(*), count(DISTINCT options), count(*) FILTER (WHERE best) AS best, bool_and(score > 0) AS scored,
    bool_and(std_error > 0 OR folds = 1) AS errors,
    bool_and(trees BETWEEN 1 AND 30 AND (options->>'trees')::int = trees) AS trees, bool_and(holdout_score IS NULL) AS no_holdout,
    bool_and(seconds > 0) AS seconds FROM tuned;
SELECT folds, count(*), bool_or(best) FROM tuned GROUP BY folds ORDER BY folds;
SELECT trial = 1 + (SELECT count(*) FROM tuned t WHERE t.trial < best.trial) AS numbered,
    options - '{l2,max_bins,max_leaves,learning_rate,trees}'::text[] AS others,
    score <= (SELECT min(score) FROM tuned WHERE folds = 3) AS is_least,
    abs(score - (SELECT avg(value) FROM btml.cross_validate('features', 'amount', fold => 'part', options => best.options)))
    < 1e-12 AS as_cross_validated,
    btml.feature_names(btml.boost_fit('features', 'amount', options => best.options)) AS features
FROM tuned best WHERE best;
SELECT bool_and((options->>'learning_rate')::float8 BETWEEN 0.02 AND 0.5 AND (options->>'max_leaves')::int BETWEEN 4 AND 32
    AND (options->>'l2')::float8 BETWEEN 0 AND 5) AS in_space,
    count(DISTINCT options->>'max_bins') AS bins FROM tuned;

-- The same seed, the same rows, whatever the threads.
CREATE FUNCTION trials(source text, seed int, target name DEFAULT 'amount') RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(concat_ws(' ', trial, options, score, std_error, trees, best, folds), E'\n' ORDER BY trial)
    FROM btml.tune(source, target, '{"learning_rate": {"from": 0.02, "to": 0.5}, "max_depth": [2, 3, 0], "row_fraction": [0.5, 1]}',
    trials => 6, folds => 4, seed => seed, options => '{"trees": 10}')
$$;
SET btml.threads = 1;
CREATE TABLE one_thread AS SELECT trials('features', 0) AS t;
SET btml.threads = 4;
SELECT t = trials('features', 0) AS same, t = trials('features', 1) AS other_seed FROM one_thread;
RESET btml.threads;

-- A small space is gone through.
SELECT options, best IS NOT NULL AS is_row
    FROM btml.tune('rare', 'y', '{"max_leaves": [2, 4], "l2": [0, 1, 1]}', options => '{"trees": 2}', folds => 2) ORDER BY trial;
SELECT count(*) FROM btml.tune('rare', 'y', '{"max_leaves": {"from": 2, "to": 5}}', options => '{"trees": 2}', folds => 2);

-- Rows held out are touched by no trial, and the best is scored on them.
CREATE TABLE held AS SELECT day, size, price, amount, season = 'winter' AS held FROM features;
CREATE TABLE tuned_held AS SELECT *
    FROM btml.tune('held', 'amount', '{"learning_rate": [0.05, 0.1, 0.2], "max_leaves": [4, 8]}', options => '{"trees": 15}',
    holdout => 'held');
SELECT holdout_score = (SELECT holdout_metric
    FROM btml.training_log(btml.boost_fit('held', 'amount', options => options, holdout => 'held', metric => 'rmse'))
    ORDER BY iteration DESC LIMIT 1) AS as_boost_fit,
    options->'holdout' AS holdout, options->'exclude' AS exclude FROM tuned_held WHERE best;
UPDATE held SET amount = amount + 1000 WHERE held;
SELECT count(*) FILTER (WHERE a.holdout_score IS NOT NULL) AS scored,
    bool_and((a.score, a.std_error, a.trees, a.best, a.options) = (b.score, b.std_error, b.trees, b.best, b.options)) AS untouched,
    max(b.holdout_score) > 900 AS scored_on_them
FROM tuned_held a JOIN btml.tune('held', 'amount', '{"learning_rate": [0.05, 0.1, 0.2], "max_leaves": [4, 8]}', options => '{"trees": 15}',
    holdout => 'held') b USING (trial);

-- Early stopping, metrics of which more is better, and Gaussian processes.
SELECT count(*), max((options->>'trees')::int) < 60 AS stopped, bool_and(NOT options ? 'early_stopping') AS no_early_stopping
FROM btml.tune('SELECT day, size, price, noise FROM sales', 'noise', '{"max_leaves": [2, 3, 4, 5, 6]}',
    options => '{"trees": 2000, "early_stopping": 3, "learning_rate": 0.5}');
SELECT score = max(score) OVER () AS is_most, best
    FROM btml.tune('features', 'large', '{"max_leaves": [2, 16], "trees": [1, 20]}', metric => 'auc',
    options => '{"features": ["day", "size", "price"]}') ORDER BY best DESC LIMIT 1;
SELECT t.options - 'noise' AS others, t.trees, t.holdout_score > 0 AS scored,
    abs(t.score - (SELECT avg(value)
    FROM btml.cross_validate('small', 'amount', fold => 'part', method => 'gp', options => t.options || '{"holdout": "held"}')))
    < 1e-9 AS same,
    btml.feature_names(btml.gp_fit('small', 'amount', options => t.options)) AS features
FROM (SELECT 1) one, LATERAL (SELECT *
    FROM btml.tune('small', 'amount', '{"noise": {"from": 0.001, "to": 1, "scale": "log"}, "search": ["none", "local"]}', trials => 6,
    fold => 'part', method => 'gp',
    options => '{"members": 1, "evaluations": 20, "combine": "mixture"}', holdout => 'held') WHERE best) t;
-- Values that the type takes for equal are one fold, however they are written.
SELECT fold, rows FROM btml.cross_validate('SELECT day, size, amount, CASE day % 3 WHEN 0 THEN interval ''1 day'' WHEN 1 THEN ''24:00''
    ELSE ''3 hours'' END AS f FROM features', 'amount', fold => 'f', options => '{"trees": 2}') ORDER BY fold;
SELECT fold, rows FROM btml.cross_validate('SELECT day, size, amount, CASE day % 3 WHEN 0 THEN 1.0 WHEN 1 THEN 1.00 ELSE 2 END AS f
    FROM features', 'amount', fold => 'f', options => '{"trees": 2}') ORDER BY fold;
SET client_min_messages = warning;
DROP SCHEMA validation CASCADE;
