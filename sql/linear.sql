-- Linear models: coefficients as NIST, R and statsmodels have them, what they say, and what they refuse.
SET client_min_messages = warning;
CREATE SCHEMA linear;
SET search_path = linear, public;

-- NIST's reference set "longley", with its certified values.
CREATE TABLE longley (employed float8, deflator float8, gnp float8, unemployed float8, armed float8, population float8, year float8);
INSERT INTO longley VALUES (60323, 83.0, 234289, 2356, 1590, 107608, 1947), (61122, 88.5, 259426, 2325, 1456, 108632, 1948),
    (60171, 88.2, 258054, 3682, 1616, 109773, 1949), (61187, 89.5, 284599, 3351, 1650, 110929, 1950),
    (63221, 96.2, 328975, 2099, 3099, 112075, 1951), (63639, 98.1, 346999, 1932, 3594, 113270, 1952),
    (64989, 99.0, 365385, 1870, 3547, 115094, 1953), (63761, 100.0, 363112, 3578, 3350, 116219, 1954),
    (66019, 101.2, 397469, 2904, 3048, 117388, 1955), (67857, 104.6, 419180, 2822, 2857, 118734, 1956),
    (68169, 108.4, 442769, 2936, 2798, 120445, 1957), (66513, 110.8, 444546, 4681, 2637, 121950, 1958),
    (68655, 112.6, 482704, 3813, 2552, 123366, 1959), (69564, 114.2, 502601, 3931, 2514, 125368, 1960),
    (69331, 115.7, 518173, 4806, 2572, 127852, 1961), (70551, 116.9, 554894, 4007, 2827, 130081, 1962);
CREATE TABLE certified (feature text, estimate float8, std_error float8);
INSERT INTO certified VALUES ('(intercept)', -3482258.63459582, 890420.383607373), ('deflator', 15.0618722713733, 84.9149257747669),
    ('gnp', -0.0358191792925910, 0.0334910077722432), ('unemployed', -2.02022980381683, 0.488399681651699),
    ('armed', -1.03322686717359, 0.214274163161675), ('population', -0.0511041056535807, 0.226073200069370),
    ('year', 1829.15146461355, 455.478499142212);
CREATE TABLE models (name text PRIMARY KEY, model btml.model);
INSERT INTO models VALUES ('longley', btml.linear_fit('longley', 'employed'));
SELECT feature, abs(c.estimate / certified.estimate - 1) < 1e-8 AS estimate, abs(c.std_error / certified.std_error - 1) < 1e-8 AS std_error,
    abs(statistic / (certified.estimate / certified.std_error) - 1) < 1e-8 AS statistic, round(p_value::numeric, 4) AS p_value,
    lower < c.estimate AND c.estimate < upper AS inside
FROM models, btml.coefficients(model) AS c JOIN certified USING (feature) WHERE name = 'longley';
SELECT abs((btml.summary(model)#>>'{metrics,r_squared}')::float8 - 0.995479004577296) < 1e-12 AS r_squared,
    abs(sqrt((btml.summary(model)#>>'{metrics,dispersion}')::float8) - 304.854073561965) < 1e-6 AS residual_sd FROM models;
SELECT btml.describe(model) FROM models;
-- A model travels as text and bytes, and predicts the same of rows and arrays.
SELECT model::text::btml.model OPERATOR(btml.=) model AS text, model::bytea::btml.model OPERATOR(btml.=) model AS bytes FROM models;
SELECT bool_and(btml.predict(model, l.*) = btml.predict(model, ARRAY[deflator, gnp, unemployed, armed, population, year])) AS arrays,
    round(sum((employed - btml.predict(model, l.*)) ^ 2)::numeric) AS squares FROM models, longley l;
SELECT bool_and(abs(btml.predict(model, l.*) - (SELECT sum(contribution) FROM btml.explain(model, l.*))) < 1e-6) AS explained,
    bool_and(abs(btml.predict(model, l.*) - (SELECT sum(x) FROM unnest(btml.shap(model, l.*)) x)) < 1e-6) AS shap FROM models, longley l;

-- Rows of any order give the same bits, and so do any number of threads and a view.
SET btml.threads = 1;
SELECT btml.linear_fit('SELECT * FROM longley ORDER BY gnp DESC', 'employed')::bytea
    = btml.linear_fit('SELECT * FROM longley ORDER BY armed', 'employed')::bytea AS same;
RESET btml.threads;
SELECT btml.linear_fit('SELECT * FROM longley ORDER BY armed', 'employed')
    OPERATOR(btml.=) model AS same FROM models WHERE name = 'longley';

-- Families, with the values of R's glm.
CREATE TABLE made AS SELECT i, (i * 7919 % 1000) / 100.0::float8 AS x, (i * 104729 % 997) / 100.0::float8 AS z,
    (ARRAY['a', 'b', 'c', 'a'])[1 + i % 4] AS kind FROM generate_series(1, 200) i;
CREATE TABLE task AS SELECT x, z, kind, (x + z + i % 5 > 12) AS yes, floor(x + i % 3)::int AS n, x * 2 + z + 1 + (i % 7) AS cost,
    1 + i % 3 AS w FROM made;
INSERT INTO models SELECT family, btml.linear_fit('task', target, features => '{x,z,kind}', family => family)
FROM (VALUES ('binomial', 'yes'), ('poisson', 'n'), ('gamma', 'cost'), ('gaussian', 'cost')) AS t(family, target);
SELECT name, feature, category, round(estimate::numeric, 7) AS estimate, round(std_error::numeric, 7) AS std_error,
    round(statistic::numeric, 4) AS statistic, p_value < 0.001 AS significant
FROM models, btml.coefficients(model) WITH ORDINALITY AS c WHERE name <> 'longley' ORDER BY name, ordinality;
SELECT name, round((btml.summary(model)#>>'{metrics,deviance}')::numeric, 5) AS deviance,
    round((btml.summary(model)#>>'{metrics,log_likelihood}')::numeric, 4) AS log_likelihood,
    round((btml.summary(model)#>>'{metrics,aic}')::numeric, 4) AS aic,
    round((btml.summary(model)#>>'{metrics,dispersion}')::numeric, 6) AS dispersion FROM models WHERE name <> 'longley' ORDER BY name;
SELECT btml.describe(model) FROM models WHERE name <> 'longley' ORDER BY name;
SELECT jsonb_pretty(btml.summary(model) - 'features' - 'metrics' - 'seconds' - 'base') AS summary,
    btml.summary(model)#>'{features,2}' AS kind
FROM models WHERE name = 'binomial';

-- Robust and clustered errors, weights and penalties, with the values of statsmodels and scikit-learn.
INSERT INTO models VALUES ('weighted', btml.linear_fit('task', 'cost', features => '{x,z,kind}', weight => 'w')),
    ('robust', btml.linear_fit('task', 'cost', features => '{x,z,kind}', std_error => 'robust')),
    ('clustered', btml.linear_fit('SELECT *, (row_number() OVER ()) % 10 AS g FROM task', 'cost', features => '{x,z,kind}',
    std_error => 'robust', group_by => 'g'));
SELECT name, feature, category, round(estimate::numeric, 7) AS estimate, round(std_error::numeric, 7) AS std_error
FROM models, btml.coefficients(model) WITH ORDINALITY AS c WHERE name IN ('weighted', 'robust', 'clustered') ORDER BY name, ordinality;
SELECT l1_ratio, feature, round(estimate::numeric, 7) AS estimate, std_error
FROM (VALUES (0), (0.5), (1)) AS v(l1_ratio), btml.coefficients(btml.linear_fit('task', 'cost', features => '{x,z}', penalty => 0.5,
    l1_ratio => l1_ratio)) ORDER BY 1, 2;

-- Labels: the second of two in their order is predicted.
SELECT bool_and(btml.predict(model, t.*) = btml.predict_probability(model, t.*, 'true')
        AND abs(1 - btml.predict_probability(model, t.*, 'false') - btml.predict(model, t.*)) < 1e-15
        AND btml.predict_class(model, t.*) = (btml.predict(model, t.*) > 0.5)::text
        AND btml.predict_probabilities(model, t.*) = ARRAY[1 - btml.predict(model, t.*), btml.predict(model, t.*)]
        AND abs(btml.predict_score(model, t.*) - ln(btml.predict(model, t.*) / (1 - btml.predict(model, t.*)))) < 1e-6) AS same,
    round(btml.auc(yes, btml.predict(model, t.*))::numeric, 4) AS auc FROM models, task t WHERE name = 'binomial';
SELECT bool_and(abs(a.estimate - b.estimate) < 1e-12) AS of_numbers
FROM models, btml.coefficients(model) WITH ORDINALITY AS a
JOIN btml.coefficients(btml.linear_fit('SELECT x, z, kind, 3 + 4 * yes::int AS y FROM task', 'y', family => 'binomial'))
    WITH ORDINALITY AS b USING (ordinality) WHERE name = 'binomial';
SELECT btml.summary(btml.linear_fit('SELECT x, z, CASE WHEN yes THEN ''stays'' ELSE ''goes'' END AS y FROM task', 'y'))->'labels' AS labels;
SELECT feature, importance > 0.01 AS matters FROM models, btml.permutation_importance(model, 'task', target => 'yes', metric => 'auc')
WHERE name = 'binomial';
SELECT value, round(mean::numeric, 4) AS mean FROM models, btml.partial_dependence(model, 'task', 'kind', class => 'false')
WHERE name = 'binomial' ORDER BY 1;

-- SQL without btml predicts the same.
SELECT 'SELECT max(abs(' || btml.to_sql(model) || ' - predicted)) < 1e-9 AS same FROM (SELECT btml.predict(model, t.*) AS predicted, t.*
    FROM models, task t WHERE name = ' || quote_literal(name) || ') s'
FROM models WHERE name IN ('binomial', 'poisson', 'gaussian') ORDER BY name \gexec
-- Eight of ten rows are within their intervals.
SELECT round(avg((cost BETWEEN (i).lower AND (i).upper)::int), 2) AS inside
FROM (SELECT cost, btml.predict_interval(model, t.*, 0.8) AS i FROM models, task t WHERE name = 'gaussian') AS s;

-- R's predict(interval = 'confidence'), and of other families the link's interval by se.fit; 'prediction' of observations.
CREATE TABLE r_intervals (name text, of text, x float8, z float8, kind text, lower float8, upper float8);
INSERT INTO r_intervals VALUES ('gaussian', 'mean', 1.5, 2, 'a', 8.471953154408471, 9.4559811759798684),
    ('gaussian', 'mean', 9, 8, 'c', 29.410914349371708, 30.6522382244988876),
    ('gaussian', 'observation', 1.5, 2, 'a', 5.601951987490704, 12.325982342897635),
    ('gaussian', 'observation', 9, 8, 'c', 26.648339743469968, 33.414812830400628),
    ('binomial', 'mean', 1.5, 2, 'a', 2.4693025510954974e-05, 0.0026023821791439587),
    ('binomial', 'mean', 9, 8, 'c', 0.99872888222370859, 0.9999950376809370045),
    ('poisson', 'mean', 1.5, 2, 'a', 2.1067662328229311, 2.7232109846957195),
    ('poisson', 'mean', 9, 8, 'c', 9.1582572417795092, 11.6742437654905320),
    ('gamma', 'mean', 1.5, 2, 'a', 9.4373897701837155, 10.163718003784181),
    ('gamma', 'mean', 9, 8, 'c', 32.8922027217281183, 36.117132376420166);
SELECT r.* FROM r_intervals r JOIN models USING (name), btml.predict_interval(model, r, 0.9, of) AS i,
    btml.predict_interval(model, ARRAY[r.x, r.z, array_position('{a,b,c}', r.kind) - 1], of => of) AS by_place
WHERE (abs(i.lower / r.lower - 1) < 1e-8 AND abs(i.upper / r.upper - 1) < 1e-8 AND i = by_place) IS NOT TRUE;

-- What is missing is the mean, and an indicator; what is constant or follows from others is dropped.
CREATE TABLE holes AS SELECT CASE WHEN i % 9 > 0 THEN x END AS x, x + z AS sum, z, x AS again, 5 AS five,
    CASE WHEN i % 7 > 0 THEN kind END AS kind, x * 2 + z + i % 3 AS y FROM made;
SET client_min_messages = notice;
INSERT INTO models VALUES ('holes', btml.linear_fit('holes', 'y'));
SET client_min_messages = warning;
SELECT feature, category, round(estimate::numeric, 6) AS estimate, std_error > 0 AS has_error
FROM models, btml.coefficients(model) WHERE name = 'holes';
SELECT btml.summary(model)#>'{features,0,missing}' AS missing, btml.summary(model)#>'{features,5}' AS kind FROM models WHERE name = 'holes';
SELECT round(btml.predict(model, h.*)::numeric, 6) AS of_null,
    (SELECT round(sum(contribution)::numeric, 6) FROM btml.explain(model, h.*)) AS explained,
    round(btml.predict(model, o.*)::numeric, 6) AS unknown, round(btml.predict(model, r.*)::numeric, 6) AS of_reference
FROM models, holes h, LATERAL (SELECT h.x, h.sum, h.z, h.again, h.five, 'never seen' AS kind) o,
    LATERAL (SELECT h.x, h.sum, h.z, h.again, h.five, 'a' AS kind) r
WHERE name = 'holes' AND h.x IS NULL ORDER BY h.z LIMIT 2;

-- By an aggregate, a model a group; rows held out have a deviance of their own.
SELECT kind, (SELECT round(estimate::numeric, 6) FROM btml.coefficients(m) WHERE feature = 'x1') AS slope, abs((SELECT estimate
    FROM btml.coefficients(m) WHERE feature = 'x1') - regr) < 1e-9 AS same
FROM (SELECT kind, btml.linear_fit_agg(cost, ARRAY[x]) AS m, regr_slope(cost, x) AS regr FROM task GROUP BY kind) AS g ORDER BY kind;
SELECT bool_and(abs(a.estimate - b.estimate) < 1e-9) AS same
FROM (SELECT btml.linear_fit_agg(yes, ARRAY[x, z], '{"penalty": 0.1}', w) AS m FROM task) g,
    btml.coefficients(m) WITH ORDINALITY AS a JOIN btml.coefficients(btml.linear_fit('task', 'yes', features => '{x,z}', penalty => 0.1,
    weight => 'w')) WITH ORDINALITY AS b USING (ordinality);
SELECT btml.linear_fit_agg(yes::text, ARRAY[x, z]) OPERATOR(btml.=) btml.linear_fit_agg(yes, ARRAY[x, z]) AS same,
    btml.summary(btml.linear_fit_agg(CASE WHEN yes THEN 'stays' ELSE 'goes' END, ARRAY[x]))->'labels' AS labels FROM task;
SELECT btml.linear_fit_agg(kind, ARRAY[x]) FROM task;
-- Groups of one label, of separated labels and of no weight have no model, and leave the others theirs; a NOTICE says so once.
CREATE TABLE lots AS SELECT g, x, 7 AS seven, CASE g WHEN 'both' THEN i % 3 > 0 WHEN 'one' THEN true ELSE x > 5 END AS y,
    CASE g WHEN 'none' THEN 0 ELSE 1 END AS w FROM made, unnest(ARRAY['both', 'none', 'one', 'separated']) g WHERE i <= 60;
SET enable_hashagg = off; -- The first group is the one that is told.
SET client_min_messages = notice;
SELECT g, (SELECT count(estimate) FROM btml.coefficients(m)) AS coefficients, btml.predict(m, ARRAY[3, 7]) IS NULL AS unknown
FROM (SELECT g, btml.linear_fit_agg(y, ARRAY[x, seven], '{}', w) AS m FROM lots GROUP BY g) s ORDER BY g;
SELECT g, btml.linear_fit_agg(CASE WHEN y THEN 'stays' ELSE 'goes' END, ARRAY[x], '{"penalty": 0.1}') IS NULL AS unknown
FROM lots GROUP BY g ORDER BY g;
SELECT g, btml.linear_fit_agg(y::int, ARRAY[x], '{"family": "binomial"}') IS NULL AS unknown FROM lots GROUP BY g ORDER BY g;
SELECT y, btml.linear_fit_agg(y::int, ARRAY[x], '{"family": "poisson"}') IS NULL AS unknown FROM lots GROUP BY y ORDER BY y;
SELECT g, btml.linear_fit_agg(y, ARRAY[x], '{"iterations": 1}') IS NULL AS unknown FROM lots WHERE g = 'both' GROUP BY g;
SELECT btml.describe(btml.linear_fit_agg(x, ARRAY[w])) AS one_row FROM lots WHERE g = 'one' AND x < 1 GROUP BY x ORDER BY x LIMIT 1;
SET client_min_messages = warning;
RESET enable_hashagg;
SELECT btml.linear_fit_agg(cost, ARRAY[x]) IS NULL AS nothing FROM task WHERE false;
SELECT btml.summary(m)->'rows' AS rows, btml.summary(m)->'holdout_rows' AS held_out,
    (btml.summary(m)#>>'{metrics,holdout_deviance}')::float8 > 0 AS scored
FROM btml.linear_fit('task', 'cost', features => '{x,z}', holdout_fraction => 0.25) m;

-- Folds are scored by models of the others, and a search tries penalties.
CREATE TABLE folds AS SELECT *, row_number() OVER (ORDER BY x, z, kind) % 4 AS fold FROM task;
SELECT v.fold, rows, metric, abs(value - r.rmse) < 1e-12 AS same, trees
FROM btml.cross_validate('SELECT x, z, kind, cost, fold FROM folds', 'cost', fold => 'fold', method => 'linear') AS v
JOIN (SELECT fold, btml.rmse(cost, btml.predict(model, t.*)) AS rmse FROM folds t
    JOIN (SELECT fold, btml.linear_fit('SELECT x, z, kind, cost FROM folds WHERE fold <> ' || fold, 'cost') AS model
        FROM generate_series(0, 3) fold) m USING (fold) GROUP BY fold) AS r ON r.fold::text = v.fold ORDER BY 1;
SELECT fold, metric, abs(value - r.log_loss) < 1e-12 AS same
FROM btml.cross_validate('SELECT x, z, kind, yes, fold AS f FROM folds', 'yes', fold => 'f', method => 'linear') AS v
JOIN (SELECT fold::text, btml.log_loss(yes, btml.predict(model, t.*)) AS log_loss FROM folds t
    JOIN (SELECT fold, btml.linear_fit('SELECT x, z, kind, yes FROM folds WHERE fold <> ' || fold, 'yes') AS model
        FROM generate_series(0, 3) fold) m USING (fold) GROUP BY fold) AS r USING (fold) ORDER BY 1;
SELECT trial, options, score < 2.2 AS good, trees, best FROM btml.tune('SELECT x, z, kind, cost, fold FROM folds', 'cost',
    '{"penalty": [0, 2, 50], "l1_ratio": [0]}', fold => 'fold', method => 'linear') ORDER BY 1;
SELECT btml.cross_validate('task', 'cost', method => 'linear', metric => 'auc');
SELECT btml.cross_validate('task', 'cost', method => 'linear', options => '{"trees": 3}');
SELECT btml.cross_validate('task', 'cost', method => 'linear', unit => 'target');
SELECT btml.tune('task', 'cost', '{"family": ["gaussian"]}', method => 'linear');
-- Over a join, as over its rows.
CREATE TABLE kinds (kind text PRIMARY KEY, price float8);
INSERT INTO kinds VALUES ('a', 1), ('b', 2.5), ('c', 7);
SELECT btml.linear_fit('SELECT x, z, price, cost FROM task JOIN kinds USING (kind)', 'cost')
    OPERATOR(btml.=) btml.linear_fit('SELECT * FROM (SELECT x, z, price, cost FROM task JOIN kinds USING (kind) OFFSET 0) s',
    'cost') AS same;

-- What it refuses.
SELECT btml.linear_fit('task', 'cost', family => 'normal');
SELECT btml.linear_fit('task', 'cost', penalty => -1);
SELECT btml.linear_fit('task', 'cost', penalty => 'NaN');
SELECT btml.linear_fit('task', 'cost', l1_ratio => 0.5);
SELECT btml.linear_fit('task', 'cost', std_error => 'robust', penalty => 1);
SELECT btml.linear_fit('task', 'cost', group_by => 'kind', features => '{x}');
SELECT btml.linear_fit('task', 'kind', features => '{x}');
SELECT btml.linear_fit('task', 'cost', family => 'binomial', features => '{x}');
SELECT btml.linear_fit('task', 'yes', family => 'poisson');
SELECT btml.linear_fit('SELECT x - 5 AS y, z FROM task', 'y', family => 'poisson');
SELECT btml.linear_fit('SELECT x - x AS y, z FROM task', 'y', family => 'gamma');
SELECT btml.linear_fit('SELECT x > 5 AS y, x FROM task', 'y');
SELECT btml.coefficients(btml.linear_fit('SELECT x > 5 AS y, x FROM task', 'y', penalty => 0.01));
SELECT btml.linear_fit('SELECT true AS y, x FROM task', 'y');
SELECT btml.linear_fit('SELECT ''stays'' AS y, x FROM task', 'y');
SELECT btml.linear_fit('SELECT 3 AS y, x FROM task', 'y', family => 'binomial');
SELECT btml.linear_fit('SELECT x, z FROM task WHERE false', 'x');
SELECT btml.linear_fit('SELECT NULL::float8 AS y, z FROM task', 'y');
SELECT btml.linear_fit('SELECT ''NaN''::float8 AS y, z FROM task', 'y');
SELECT btml.linear_fit('SELECT x AS y, CASE WHEN x > 9 THEN ''Infinity'' ELSE z END AS z FROM task', 'y');
SELECT btml.linear_fit('task', 'prize');
SELECT btml.linear_fit('task', 'cost', weight => 'x', options => '{"alpha": 1}');
SELECT feature, estimate, std_error FROM btml.coefficients(btml.linear_fit('SELECT x, z FROM task LIMIT 1', 'x'));
SELECT btml.coefficients(model, confidence => 1) FROM models WHERE name = 'longley';
SELECT btml.coefficients(btml.boost_fit('task', 'cost', trees => 2));
SELECT count(*) FROM btml.coefficients(NULL);
SELECT btml.predict_leaf(model, l.*) FROM models, longley l WHERE name = 'longley' LIMIT 1;
SELECT btml.predict_normal(model, l.*) FROM models, longley l WHERE name = 'longley' LIMIT 1;
SELECT btml.predict_quantile(model, l.*, 0.5) FROM models, longley l WHERE name = 'longley' LIMIT 1;
SELECT btml.predict(model, l.*, 3) FROM models, longley l WHERE name = 'longley' LIMIT 1;
SELECT btml.predict_class(model, l.*) FROM models, longley l WHERE name = 'longley' LIMIT 1;
SELECT btml.predict_interval(model, t.*, 0.9) FROM models, task t WHERE name = 'poisson' LIMIT 1;
SELECT btml.predict_interval(btml.linear_fit('SELECT x, cost FROM task LIMIT 2', 'cost'), ARRAY[1.0], 0.9);
SELECT btml.predict_interval(model, t.*, of => 'confidence') FROM models, task t WHERE name = 'poisson' LIMIT 1;
SELECT btml.predict_interval(model, t.*, of => 'median') FROM models, task t WHERE name = 'poisson' LIMIT 1;
SELECT btml.predict_interval(model, t.*, of => NULL) IS NULL AS nothing FROM models, task t WHERE name = 'poisson' LIMIT 1;
SELECT btml.predict_interval(btml.linear_fit('SELECT x, cost FROM task', 'cost', penalty => 1), ARRAY[1.0], of => 'mean');
SELECT btml.predict_interval(btml.boost_fit('SELECT x, cost FROM task', 'cost', trees => 2), ARRAY[1.0], of => 'mean');
SELECT btml.shap_importance(model, 'longley') FROM models WHERE name = 'longley';
SELECT btml.gp_relevance(model) FROM models WHERE name = 'longley';
SELECT overlay(model::bytea PLACING '\x00000000' FROM 200)::btml.model FROM models WHERE name = 'longley';
DROP SCHEMA linear CASCADE;
