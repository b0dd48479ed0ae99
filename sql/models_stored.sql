-- Stored models open, and predict what they did.
SET client_min_messages = warning;
SET extra_float_digits = 0;
\set trees `cat "${PG_ABS_SRCDIR:-.}/test/data/models/boosted_trees-1.txt"`
\set sampled_trees `cat "${PG_ABS_SRCDIR:-.}/test/data/models/boosted_trees_sample-1.txt"`
\set mixture `cat "${PG_ABS_SRCDIR:-.}/test/data/models/gp_mixture-1.txt"`
\set kernel_sum `cat "${PG_ABS_SRCDIR:-.}/test/data/models/gp_kernel_sum-1.txt"`
\set sparse `cat "${PG_ABS_SRCDIR:-.}/test/data/models/gp_sparse-1.txt"`
CREATE TEMP TABLE stored (name text, model btml.model);
INSERT INTO stored VALUES ('boosted_trees', :'trees'), ('boosted_trees_sample', :'sampled_trees'), ('gp_mixture', :'mixture'),
    ('gp_kernel_sum', :'kernel_sum'), ('gp_sparse', :'sparse');
SELECT name, s->'kind' AS kind, s->'metrics'->'combine' AS combine, s->'rows' AS rows, s->'holdout_rows' AS held_out,
    s->'join_rows' AS join_rows,
    s->'params'->'seed' AS seed FROM stored, btml.summary(model) s ORDER BY name;
SELECT name, x, colour, round(btml.predict(model, p)::numeric, 4) AS predicted
FROM stored, (VALUES (0.5, 'red'), (3.25, 'green'), (4.9, NULL), (NULL, 'mauve')) p(x, colour) ORDER BY name, x, colour;
SELECT name, round(n.mean::numeric, 4) AS mean, round(n.sd::numeric, 4) AS sd
FROM stored, (VALUES (3.25, 'green')) p(x, colour), btml.predict_normal(model, p) n WHERE name LIKE 'gp%' ORDER BY name;
-- Other objectives.
\set binary `cat "${PG_ABS_SRCDIR:-.}/test/data/models/boosted_binary-1.txt"`
\set multiclass `cat "${PG_ABS_SRCDIR:-.}/test/data/models/boosted_multiclass-1.txt"`
\set poisson `cat "${PG_ABS_SRCDIR:-.}/test/data/models/boosted_poisson-1.txt"`
CREATE TEMP TABLE classes (name text, model btml.model);
INSERT INTO classes VALUES ('binary', :'binary'), ('multiclass', :'multiclass'), ('poisson', :'poisson');
SELECT name, s->'params'->'objective' AS objective, s->'labels' AS labels, s->'class_weights' AS weights,
    round((s->'metrics'->>'baseline_loss')::numeric, 6) AS baseline, s->'features' AS features FROM classes, btml.summary(model) s
    ORDER BY name;
SELECT name, x, CASE name WHEN 'multiclass' THEN btml.predict_class(model, p)
    ELSE round(btml.predict(model, p)::numeric, 4)::text END AS predicted, ARRAY(SELECT round(s::numeric, 4)
    FROM unnest(btml.predict_scores(model, p)) s) AS scores, btml.predict_leaf(model, p) AS leaves
FROM classes, (VALUES (0.5, 'red', 2, 0.25), (3.25, 'green', 3, 1), (NULL, 'mauve', NULL, 0)) p(x, colour, visits, exposure)
    ORDER BY name, x;
-- Elements of arrays.
\set elements `cat "${PG_ABS_SRCDIR:-.}/test/data/models/boosted_elements-1.txt"`
SELECT btml.feature_names(model), e, colour, round(btml.predict(model, p)::numeric, 4) AS predicted
FROM (SELECT :'elements'::btml.model) m(model),
    (VALUES (ARRAY[0.5, NULL, 0.4], 'red'), ('{3,1,0.1}', 'green'), (NULL, 'mauve')) p(e, colour) ORDER BY e;
-- Imported ones.
\set lightgbm `cat "${PG_ABS_SRCDIR:-.}/test/data/models/imported_lightgbm-1.txt"`
\set xgboost `cat "${PG_ABS_SRCDIR:-.}/test/data/models/imported_xgboost-1.txt"`
CREATE TEMP TABLE imported (name text, model btml.model);
INSERT INTO imported VALUES ('lightgbm', :'lightgbm'), ('xgboost', :'xgboost');
SELECT name, btml.describe(model), btml.summary(model)->'import' AS import FROM imported ORDER BY name;
SELECT name, x, n, colour, round(btml.predict(model, p)::numeric, 4) AS predicted, round(btml.predict_score(model, p)::numeric, 4) AS score
FROM imported, (VALUES (0.0, 1, 'red', 9), (-2, 4, 'blue', 300), (NULL, 5, 'mauve', NULL), (1.5, NULL, NULL, 10)) p(x, n, colour, code)
    ORDER BY name, x, n;
-- Calibrated ones.
\set deviation `cat "${PG_ABS_SRCDIR:-.}/test/data/models/boosted_deviation-1.txt"`
\set left_out `cat "${PG_ABS_SRCDIR:-.}/test/data/models/gp_left_out-1.txt"`
CREATE TEMP TABLE calibrated (name text, model btml.model);
INSERT INTO calibrated VALUES ('boosted_trees', :'trees'), ('boosted_deviation', :'deviation'), ('gp_left_out', :'left_out');
SELECT name, c->>'method' AS method, c->'rows' AS rows, round(b.lower::numeric, 4) AS lower, round(b.upper::numeric, 4) AS upper,
    round(d.scale::numeric, 4) AS scale, round(d.df::numeric, 2) AS df
FROM calibrated, (VALUES (3.25, 'green')) p(x, colour), LATERAL (SELECT btml.summary(model)->'calibration' AS c) s,
    btml.predict_interval(model, p, 0.6) b, btml.predict_distribution(model, p) d ORDER BY name;
-- Ranks, and what is between discrete values.
\set ranks `cat "${PG_ABS_SRCDIR:-.}/test/data/models/gp_ranks-1.txt"`
SELECT x, s->'metrics'->>'encoding' AS encoding, round(n.mean::numeric, 4) AS mean, round(n.sd::numeric, 4) AS sd
    FROM (SELECT :'ranks'::btml.model) m(model),
    btml.summary(model) s, (VALUES (3.25, 'green'), (3.3, 'green'), (5.5, 'red'), (NULL, 'mauve')) p(x, colour),
    btml.predict_normal(model, p) n;
