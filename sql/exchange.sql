-- Models of LightGBM and XGBoost, and ours for LightGBM. What the libraries predict is in test/data/exchange/answers.json.
CREATE SCHEMA exchange;
SET search_path = exchange, public;
SET client_min_messages = warning;
SET extra_float_digits = 0;

\set caught `echo "${PG_ABS_SRCDIR:-.}/sql/include/caught.sql"`
\i :caught
\set answers `cat "${PG_ABS_SRCDIR:-.}/test/data/exchange/answers.json"`
CREATE TABLE answer AS SELECT name, a->'raw' AS raw, a->'prediction' AS prediction, a->'contributions' AS contributions
    FROM jsonb_each(:'answers'::jsonb->'models') m(name, a);
CREATE TABLE point AS SELECT place::int AS id, (p->>'x')::float8 AS x, (p->>'n')::int AS n,
    p->>'colour' AS colour, (p->>'code')::bigint AS code
FROM jsonb_array_elements(:'answers'::jsonb->'points') WITH ORDINALITY e(p, place);
SELECT count(*) AS points, count(x) AS with_x, count(*) FILTER (WHERE x = 0) AS zeros, count(colour) AS with_colour FROM point;

CREATE TABLE source (name text PRIMARY KEY, body text);
\set body `cat "${PG_ABS_SRCDIR:-.}/test/data/exchange/lightgbm_regression.txt"`
INSERT INTO source VALUES ('lightgbm_regression', :'body');
\set body `cat "${PG_ABS_SRCDIR:-.}/test/data/exchange/lightgbm_sigmoid.txt"`
INSERT INTO source VALUES ('lightgbm_sigmoid', :'body');
\set body `cat "${PG_ABS_SRCDIR:-.}/test/data/exchange/lightgbm_random_forest.txt"`
INSERT INTO source VALUES ('lightgbm_random_forest', :'body');
\set body `cat "${PG_ABS_SRCDIR:-.}/test/data/exchange/lightgbm_multiclass.txt"`
INSERT INTO source VALUES ('lightgbm_multiclass', :'body');
\set body `cat "${PG_ABS_SRCDIR:-.}/test/data/exchange/lightgbm_one_vs_all.txt"`
INSERT INTO source VALUES ('lightgbm_one_vs_all', :'body');
\set body `cat "${PG_ABS_SRCDIR:-.}/test/data/exchange/lightgbm_lambda.txt"`
INSERT INTO source VALUES ('lightgbm_lambda', :'body');
\set body `cat "${PG_ABS_SRCDIR:-.}/test/data/exchange/lightgbm_sqrt.txt"`
INSERT INTO source VALUES ('lightgbm_sqrt', :'body');
\set body `cat "${PG_ABS_SRCDIR:-.}/test/data/exchange/lightgbm_zero_missing.txt"`
INSERT INTO source VALUES ('lightgbm_zero_missing', :'body');
\set body `cat "${PG_ABS_SRCDIR:-.}/test/data/exchange/lightgbm_best_iteration.txt"`
INSERT INTO source VALUES ('lightgbm_best_iteration', :'body');
\set body `cat "${PG_ABS_SRCDIR:-.}/test/data/exchange/lightgbm_codes.txt"`
INSERT INTO source VALUES ('lightgbm_codes', :'body');
\set body `cat "${PG_ABS_SRCDIR:-.}/test/data/exchange/lightgbm_linear.txt"`
INSERT INTO source VALUES ('lightgbm_linear', :'body');
\set body `cat "${PG_ABS_SRCDIR:-.}/test/data/exchange/lightgbm_ordered.txt"`
INSERT INTO source VALUES ('lightgbm_ordered', :'body');
\set body `cat "${PG_ABS_SRCDIR:-.}/test/data/exchange/xgboost_one_class.json"`
INSERT INTO source VALUES ('xgboost_one_class', :'body');
\set body `cat "${PG_ABS_SRCDIR:-.}/test/data/exchange/xgboost_regression.json"`
INSERT INTO source VALUES ('xgboost_regression', :'body');
\set body `cat "${PG_ABS_SRCDIR:-.}/test/data/exchange/xgboost_logistic.json"`
INSERT INTO source VALUES ('xgboost_logistic', :'body');
\set body `cat "${PG_ABS_SRCDIR:-.}/test/data/exchange/xgboost_dart.json"`
INSERT INTO source VALUES ('xgboost_dart', :'body');
\set body `cat "${PG_ABS_SRCDIR:-.}/test/data/exchange/xgboost_classes.json"`
INSERT INTO source VALUES ('xgboost_classes', :'body');
\set body `cat "${PG_ABS_SRCDIR:-.}/test/data/exchange/xgboost_one_hot.json"`
INSERT INTO source VALUES ('xgboost_one_hot', :'body');
\set body `cat "${PG_ABS_SRCDIR:-.}/test/data/exchange/xgboost_best_iteration.json"`
INSERT INTO source VALUES ('xgboost_best_iteration', :'body');
\set body `cat "${PG_ABS_SRCDIR:-.}/test/data/exchange/xgboost_linear.json"`
INSERT INTO source VALUES ('xgboost_linear', :'body');
\set body `cat "${PG_ABS_SRCDIR:-.}/test/data/exchange/xgboost_vectors.json"`
INSERT INTO source VALUES ('xgboost_vectors', :'body');
\set body `cat "${PG_ABS_SRCDIR:-.}/test/data/exchange/xgboost_targets.json"`
INSERT INTO source VALUES ('xgboost_targets', :'body');

CREATE TABLE model AS SELECT name, CASE WHEN name ~ '^light' THEN btml.from_lightgbm(body) ELSE btml.from_xgboost(body) END AS model
FROM source WHERE name NOT IN ('lightgbm_codes', 'lightgbm_ordered', 'lightgbm_linear', 'xgboost_linear', 'xgboost_vectors',
    'xgboost_targets');

-- Scores are the libraries' to the last bit, LightGBM's of a random forest divided by its trees; predictions to 4 units of
-- the last place of a double, or of XGBoost's 32-bit numbers; contributions to 1e-9 of the largest.
CREATE FUNCTION near(a float8, b float8,
    bound float8) RETURNS boolean LANGUAGE sql AS $$ SELECT abs(a - b) <= bound * greatest(abs(a), abs(b)) $$;
CREATE FUNCTION numbers(a jsonb) RETURNS float8[] LANGUAGE sql AS $$ SELECT array_agg(e::float8 ORDER BY place)
    FROM jsonb_array_elements_text(a) WITH ORDINALITY j(e, place) $$;
SELECT name, count(*) AS rows,
    bool_and(scores = ARRAY(SELECT s / CASE WHEN name ~ 'forest' THEN 4 ELSE 1 END
    FROM unnest(raw[(id - 1) * k + 1:id * k]) s)) AS same_scores,
    bool_and((SELECT bool_and(near(p, q, CASE WHEN name ~ '^light' THEN 4 * 2.2e-16 ELSE 4 * 1.2e-7 END))
    FROM unnest(predicted, prediction[(id - 1) * k + 1:id * k]) u(p, q))) AS same_predictions
FROM model JOIN (SELECT name, numbers(raw) AS raw, numbers(prediction) AS prediction FROM answer) a USING (name),
    point p, LATERAL (SELECT btml.predict_scores(model, p) AS scores OFFSET 0) s, cardinality(scores) k,
    LATERAL (SELECT CASE WHEN k > 1 THEN btml.predict_probabilities(model, p) ELSE ARRAY[btml.predict(model, p)] END AS predicted) q
GROUP BY name ORDER BY name;
SELECT name, bool_and((SELECT bool_and(abs(c - s / CASE WHEN name ~ 'forest' THEN 4 ELSE 1 END) <= 1e-9 * largest)
    FROM unnest(btml.shap(model, p), contributions[(id - 1) * w + 1:id * w]) u(c, s))) AS same_contributions
FROM model JOIN (SELECT name, numbers(contributions) AS contributions FROM answer WHERE contributions IS NOT NULL) a USING (name),
    point p, LATERAL (SELECT cardinality(btml.shap(model, p)) AS w) w,
    LATERAL (SELECT max(abs(s)) AS largest FROM unnest(contributions[(id - 1) * w + 1:id * w]) s) l GROUP BY name ORDER BY name;
-- Contributions add up to the scores, of sums of 32-bit numbers as nearly as these are rounded.
SELECT name, bool_and(near((SELECT sum(c) FROM unnest(btml.shap(model, p)) c), (SELECT sum(s)
    FROM unnest(btml.predict_scores(model, p)) s), CASE WHEN name ~ '^light' THEN 1e-12 ELSE 1e-5 END)) AS add_up
FROM model, point p GROUP BY name ORDER BY name;
SELECT feature, value, round(contribution::numeric, 6) AS contribution FROM model, point p, btml.explain(model, p)
    WHERE name = 'lightgbm_zero_missing' AND id = 1;
-- As SQL.
CREATE FUNCTION sql_answers(m btml.model, dialect text, label text) RETURNS TABLE(id int, value float8) LANGUAGE plpgsql AS $$
BEGIN RETURN QUERY EXECUTE format('SELECT id, (%s)::float8 FROM exchange.point t ORDER BY id', btml.to_sql(m, dialect, label)); END $$;
SELECT name, dialect, bool_and(near(value, btml.predict(model, p), 4 * 2.2e-16)) AS same
    FROM model, (VALUES ('postgresql'), ('ansi')) d(dialect), sql_answers(model, dialect, NULL) a JOIN point p USING (id)
WHERE btml.summary(model)->'params'->>'objective' <> 'multiclass' GROUP BY name, dialect ORDER BY name, dialect;
SELECT name, label, dialect, bool_and(near(value, btml.predict_probability(model, p, label), CASE WHEN dialect = 'ansi'
    AND name LIKE 'xgboost%' THEN 1e-6 ELSE 8 * 2.2e-16 END)) AS same
    FROM model, (VALUES ('0'), ('2')) l(label), (VALUES ('postgresql'), ('ansi')) d(dialect), sql_answers(model, dialect, label) a
    JOIN point p USING (id)
WHERE btml.summary(model)->'params'->>'objective' = 'multiclass' GROUP BY name, label, dialect ORDER BY name, label, dialect;
DO $$ DECLARE m record; same boolean; BEGIN
    FOR m IN SELECT name, model FROM model WHERE btml.summary(model)->'params'->>'objective' = 'multiclass' ORDER BY name LOOP
        EXECUTE format('SELECT bool_and((SELECT bool_and(near(a, b, 1e-15)) FROM unnest(%s, btml.predict_probabilities($1, t)) u(a, b))) '
            'FROM point t', btml.to_sql(m.model)) INTO same USING m.model;
        RAISE WARNING '% as SQL gives the same probabilities: %', m.name, same;
    END LOOP; END $$;
SELECT btml.to_sql(model) FROM model WHERE name = 'xgboost_best_iteration';
SELECT split_part(btml.to_sql(model), E'\n', 2) FROM model WHERE name = 'lightgbm_zero_missing';
-- NaN is missing as NULL is.
CREATE TYPE nan AS (x float8, n int, colour text, code bigint);
SELECT name, bool_and(btml.predict_scores(model, ROW(NULL, n, colour, code)::nan)
    = btml.predict_scores(model, ROW('NaN', n, colour, code)::nan)) AS same,
    bool_and(btml.shap(model, ROW(NULL, n, colour, code)::nan) = btml.shap(model, ROW('NaN', n, colour, code)::nan)) AS explained
    FROM model, point GROUP BY name ORDER BY name;
CREATE TABLE kept AS TABLE point;
UPDATE point SET x = 'NaN' WHERE x IS NULL;
SELECT name, bool_and(near(value, btml.predict(model, p), 4 * 2.2e-16)) AS same_sql FROM model, sql_answers(model, 'postgresql', NULL) a
    JOIN point p USING (id)
WHERE btml.summary(model)->'params'->>'objective' <> 'multiclass' GROUP BY name ORDER BY name;
TRUNCATE point; INSERT INTO point TABLE kept;

-- What they are.
SELECT name, btml.describe(model) FROM model ORDER BY name;
SELECT name, s->'params' AS params, s->'import' AS import, s->'labels' AS labels, s->'rows' AS rows, s->'metrics' AS metrics,
    s->'target' AS target, s->'strategy_reason' AS reason FROM model, btml.summary(model) s
    WHERE name IN ('lightgbm_sigmoid', 'xgboost_classes') ORDER BY name;
SELECT name, jsonb_pretty(btml.summary(model)->'features') FROM model WHERE name ~ 'regression' ORDER BY name;
SELECT name, feature, splits, round(gain::numeric, 3) AS gain FROM model, btml.feature_importance(model)
    WHERE name ~ 'regression' ORDER BY name, gain DESC, feature;
SELECT tree, node, depth, feature, threshold, categories, null_left, left_child, right_child, value, rows FROM model, btml.trees(model)
    WHERE name = 'lightgbm_regression' AND tree = 0;
SELECT tree, node, feature, threshold, categories, null_left, value, rows FROM model, btml.trees(model)
    WHERE name = 'xgboost_regression' AND tree = 0;
SELECT name, (SELECT count(*) FROM btml.training_log(model)) AS log, btml.predict_class(model, p) AS class FROM model, point p
    WHERE id = 3 AND name ~ 'class|all|sigmoid|logistic' ORDER BY name;
SELECT name, btml.predict(model, p, 0) AS none, btml.predict(model, p, 2) = btml.predict(model, p, 4) AS all FROM model, point p
    WHERE id = 3 AND name ~ 'forest';
SELECT name, model OPERATOR(btml.=) model::text::btml.model AS through_text FROM model ORDER BY name;
SELECT name, count(*) AS rows, bool_and(near(total, btml.predict_score(model, p), 1e-6)) AS leaves_add_up FROM model, point p,
    LATERAL (SELECT (btml.summary(model)->>'base')::float8 + sum(value) AS total
    FROM unnest(btml.predict_leaf(model, p)) WITH ORDINALITY l(node, place) JOIN btml.trees(model) t USING (node)
    WHERE t.tree = place - 1) s
WHERE name !~ 'class|one_vs|forest' GROUP BY name ORDER BY name;
-- Over rows of a source, as any model.
SELECT feature, round(mean_absolute::numeric, 3) AS mean_absolute FROM model, btml.shap_importance(model, 'exchange.point')
    WHERE name = 'lightgbm_regression';
SELECT value, round(mean::numeric, 3) AS mean FROM model, btml.partial_dependence(model, 'exchange.point', 'colour')
    WHERE name = 'lightgbm_sigmoid';

-- Categories: those of the file, of the call, or codes. The model knows 0 to 5 of n as numbers of its own.
SELECT btml.summary(m)->'features'->0 AS codes, btml.predict(m, r) = (a.raw->0)::float8 AS same
    FROM source, btml.from_lightgbm(body) m, answer a, LATERAL (SELECT n AS "Column_0", x AS "Column_1" FROM point WHERE id = 1) r
    WHERE source.name = 'lightgbm_codes' AND a.name = source.name;
SELECT btml.summary(m)->'features'->0 AS named, btml.predict(m, r) = (a.raw->0)::float8 AS same
FROM source, btml.from_lightgbm(body, '{"Column_0": ["zero", "one", "two", "three", "four", "five", "never seen"]}') m,
    answer a, LATERAL (SELECT (ARRAY['zero', 'one', 'two', 'three', 'four', 'five'])[n + 1] AS "Column_0", x AS "Column_1" FROM point
    WHERE id = 1) r
WHERE source.name = 'lightgbm_codes' AND a.name = source.name;
SELECT btml.summary(m)->'features' AS features
    FROM source, btml.from_xgboost(body, '{"colour": ["rot", "violett", "blau", "grau"], "code": [1, 2, 3]}') m
    WHERE name = 'xgboost_regression';
CREATE VIEW codes AS SELECT * FROM source WHERE name = 'lightgbm_codes';
SELECT categories || E'\n' || caught(format('SELECT btml.from_lightgbm(body, %L) FROM exchange.codes', categories)) || E'\n'
    FROM (VALUES ('{"Column_0": ["a"]}'), ('{"Column_1": ["a"]}'), ('{"column_0": ["a"]}'), ('{"Column_0": "a"}'),
    ('{"Column_0": [null]}'), ('{"Column_0": ["a", "a", "b", "c", "d", "e", "f"]}'), ('[]'), ('1')) c(categories);
SELECT btml.from_lightgbm(body, NULL) OPERATOR(btml.=) btml.from_lightgbm(body) AS same FROM codes;

-- A category that pandas orders is a number to LightGBM: its code, and the names are not needed.
SELECT btml.summary(m)->'features' AS features,
    bool_and(btml.predict_score(m, ARRAY[x, array_position(ARRAY[10, 9, 300], code::int) - 1]::float8[])
    = (a.raw->(id - 1))::float8) AS same
FROM source, btml.from_lightgbm(body) m, answer a, point WHERE source.name = 'lightgbm_ordered' AND a.name = source.name GROUP BY m;
-- Whose names a list has is told where it is not certain, and refused where it is needed and not even likely.
SET client_min_messages = notice;
SELECT f FROM source, replace(body, '[0:5]', '[0:2]') b, jsonb_array_elements(btml.summary(btml.from_lightgbm(b))->'features') f
    WHERE name = 'lightgbm_regression' AND f->>'name' = 'code';
SELECT caught(format('SELECT btml.from_lightgbm(%L)', regexp_replace(replace(body, '[0:5]', '[0:2]'), ', \[10, 9, 300\]', ''))) FROM source
    WHERE name = 'lightgbm_regression';

-- What XGBoost's early stopping leaves out is told.
SELECT (SELECT count(DISTINCT tree) FROM btml.trees(btml.from_xgboost(body))) AS trees FROM source WHERE name = 'xgboost_best_iteration';
SET client_min_messages = warning;
-- UBJSON, which XGBoost writes by default, and the bytes of JSON.
\set bytes `base64 -w 0 "${PG_ABS_SRCDIR:-.}/test/data/exchange/xgboost_regression.ubj"`
CREATE TABLE saved AS SELECT decode(:'bytes', 'base64') AS bytes;
SELECT btml.from_xgboost(bytes) OPERATOR(btml.=) btml.from_xgboost(body) AS same,
    btml.from_xgboost(convert_to(body, 'UTF8')) OPERATOR(btml.=) btml.from_xgboost(body) AS same_json,
    btml.from_xgboost(NULL::bytea) IS NULL AS of_null
FROM saved, source WHERE name = 'xgboost_regression';
SELECT btml.summary(btml.from_xgboost(bytes, '{"colour": ["rot", "violett", "blau", "grau"]}'))->'features'->2 AS feature FROM saved;
SELECT caught(format('SELECT btml.from_xgboost(%L::bytea)', b))
    FROM saved, LATERAL (VALUES ('\x'::bytea), ('\x7b'), ('\x5b'), ('\x5b5d'), ('\x7b555bff'), ('\x5b24642355ff'),
    ('\x5b245a234c00000000ffffffff'), ('\x7b55016155ff'), (substr(bytes, 1, 1000)), (decode(repeat('5b', 100), 'hex'))) v(b);
SELECT caught($$SELECT btml.from_xgboost('\x7b5501ff5a7d'::bytea)$$);

-- Refused by name.
SELECT name || E'\n' || caught(format('SELECT btml.from_%s(body) FROM exchange.source WHERE name = %L', split_part(name, '_', 1), name))
    || E'\n' FROM source WHERE name IN ('lightgbm_linear', 'xgboost_linear', 'xgboost_vectors', 'xgboost_targets') ORDER BY name;
-- Texts that are no models.
SELECT btml.from_lightgbm(NULL) IS NULL AND btml.from_xgboost(NULL) IS NULL AND btml.to_lightgbm(NULL) IS NULL AS of_null;
SELECT text || E'\n' || caught(format('SELECT btml.from_lightgbm(%L)', text)) || E'\n'
    FROM (VALUES (''), ('tree'), ('{}'), (E'tree\nversion=v9\n'),
    (E'tree\nversion=v4\nfeature_names=a\nmax_feature_idx=0\nnum_tree_per_iteration=1\nTree=0\nnum_leaves=2\n'),
    (E'tree\nversion=v4\nfeature_names=a\nmax_feature_idx=0\nnum_tree_per_iteration=1\n'),
    (E'tree\nversion=v4\nfeature_names=a\nmax_feature_idx=0\nnum_tree_per_iteration=1\nTree=0\nnum_leaves=1000000000\nleaf_value=1\n'))
        t(text);
SELECT text || E'\n' || caught(format('SELECT btml.from_xgboost(%L)', text)) || E'\n'
    FROM (VALUES (''), ('tree'), ('{}'), ('{"learner": {}}'), ('{"learner": {"gradient_booster": {"name": "gbtree"}}}'),
    (repeat('[', 100)), ('{"a": "\u0000"}'),
    ('{"learner": {"objective": {"name": "binary:hinge"}, "gradient_booster": {"name": "gbtree"}}}')) t(text);
SELECT caught(format('SELECT btml.from_lightgbm(%L)', replace(body, E'\nnum_leaves=4', E'\nnum_leaves=5'))) FROM source
    WHERE name = 'lightgbm_regression';
SELECT caught(format('SELECT btml.from_lightgbm(%L)', left(body, strpos(body, 'end of trees') - 1))) FROM source
    WHERE name = 'lightgbm_regression';
SELECT caught(format('SELECT btml.from_xgboost(%L)', left(body, 1000))) FROM source WHERE name = 'xgboost_regression';
-- Names of features are distinct.
SELECT caught($$SELECT btml.from_lightgbm(E'tree\nversion=v4\nmax_feature_idx=1\nnum_tree_per_iteration=1\nfeature_names=a a\n')$$);
SELECT caught(format('SELECT btml.from_xgboost(%L)', replace(body, '"feature_names":["x","n"', '"feature_names":["x","x"'))) FROM source
    WHERE name = 'xgboost_regression';
-- XGBoost cuts names beyond ASCII, so that such categories must be given.
CREATE TABLE cut AS SELECT regexp_replace(body, '("offsets":\[[0-9,]*\],"values":\[)[0-9]+', '\1195') AS body FROM source
    WHERE name = 'xgboost_regression';
SELECT caught('SELECT btml.from_xgboost(body) FROM exchange.cut');
SELECT caught($$SELECT btml.from_xgboost(body, '{"code": [1, 2, 3]}') FROM exchange.cut$$);
SELECT btml.summary(btml.from_xgboost(body, '{"colour": ["rot", "weiß", "blau", "grün"]}'))->'features'->2 AS feature FROM cut;
-- XGBoost's older files have base_score as a number in a string.
SELECT DISTINCT btml.summary(btml.from_xgboost(regexp_replace(body, '"base_score":"\[[^"]*\]"', '"base_score":' || b)))->'base' AS base
    FROM source, (VALUES ('"2.5E-1"'), ('0.25'), ('[0.25]'), ('"[2.5E-1]"')) v(b) WHERE name = 'xgboost_logistic';

-- A feature of XGBoost's type i is boolean.
CREATE TABLE flagged AS SELECT model, flag, btml.predict(model, f) AS predicted
    FROM btml.from_xgboost('{"learner": {"feature_names": ["flag"], "feature_types": ["i"],
    "gradient_booster": {"name": "gbtree", "model": {"tree_info": [0], "trees": [{"left_children": [1, -1, -1], "right_children": [2,
        -1, -1], "split_indices": [0, 0, 0],
    "split_conditions": [1, -1.5, 0.7], "default_left": [0, 0, 0]}]}}, "learner_model_param": {"base_score": 0,
    "num_feature": 1}, "objective": {"name": "rank:ndcg"}}}') model, (VALUES (true), (false), (NULL)) f(flag);
SELECT DISTINCT btml.to_sql(model), btml.describe(model) FROM flagged;
SELECT flag, predicted, ('0'::float4 + CASE WHEN "flag"::integer::float8 < 0.99999997019767761::float8 THEN '-1.5'::float4
    ELSE '0.7'::float4 END)::float8 = predicted AS same FROM flagged ORDER BY flag;
SELECT caught('SELECT btml.predict(model, r) FROM exchange.flagged, (VALUES (1)) r(flag)');
-- There and back again: ours, and theirs.
CREATE TABLE thing AS SELECT i AS id, CASE WHEN i % 10 <> 0 THEN i * 37 % 101 / 8.0 END AS "we""ird name",
    CASE WHEN i % 9 <> 0 THEN (ARRAY['plain', 'it''s', 'a "quote"'])[1 + i % 3] END AS label,
    i % 5 = 0 AS flag, date '2020-01-01' + i * 7 % 60 AS bought, i * 37 % 101 / 8.0 + i % 3 * (i % 2) + (i * 7 % 60) / 10.0 AS y
    FROM generate_series(1, 300) i;
CREATE TABLE ours AS SELECT 'number' AS name, btml.boost_fit('SELECT "we""ird name", label, flag, bought, y FROM exchange.thing', 'y',
    trees => 3, max_leaves => 5, min_leaf_rows => 5) AS model
UNION ALL SELECT 'binary', btml.boost_fit('SELECT "we""ird name", label, y > 9 AS high FROM exchange.thing', 'high', trees => 2,
    max_leaves => 3, min_leaf_rows => 5)
UNION ALL SELECT 'multiclass', btml.boost_fit('SELECT "we""ird name", flag, label FROM exchange.thing', 'label', trees => 2,
    max_leaves => 3, min_leaf_rows => 5);
SELECT btml.to_lightgbm(model) FROM ours WHERE name = 'number';
SELECT name, btml.describe(btml.from_lightgbm(btml.to_lightgbm(model))) FROM ours ORDER BY name;
CREATE TABLE thing_there AS SELECT id, "we""ird name" AS "we_ird_name", label, flag, extract(epoch FROM bought)::float8 AS bought, y
    FROM thing WHERE label IS NOT NULL;
SELECT name, count(*), bool_and(btml.predict_scores(model, t) = btml.predict_scores(there, r)) AS same
    FROM ours, LATERAL (SELECT btml.from_lightgbm(btml.to_lightgbm(model)) AS there OFFSET 0) b, thing t JOIN thing_there r USING (id)
    GROUP BY name ORDER BY name;
SELECT name, bool_and(btml.predict_scores(model, p) = btml.predict_scores(again, p)) AS same
    FROM model, LATERAL (SELECT btml.from_lightgbm(btml.to_lightgbm(model)) AS again OFFSET 0) b, point p WHERE name ~ '^light'
    GROUP BY name ORDER BY name;
-- Booleans, integers, enums and NULLs come back as what they are, so that the table's own rows predict the same.
CREATE TYPE grade AS ENUM ('low', 'high');
CREATE TABLE graded AS SELECT i AS id, CASE WHEN i % 7 > 0 THEN i % 5 = 0 END AS flag, CASE WHEN i % 8 > 0 THEN i % 13 END AS code,
    CASE WHEN i % 9 > 0 THEN (ARRAY['low', 'high'])[1 + i % 2]::grade END AS grade,
    CASE WHEN i % 6 > 0 THEN (ARRAY['a', '(null)'])[1 + i % 2] END AS word,
    NULL::boolean AS nothing, i * 37 % 101 % 11 + (i % 7) - (i % 8) * (i % 9) / 4.0 + i % 6 AS y FROM generate_series(1, 600) i;
SELECT f->>'name' AS feature, f->>'type' AS type,
    f->'categories' AS categories, (SELECT bool_and(btml.predict(model, g) = btml.predict(again, g)) FROM graded g) AS same
FROM btml.boost_fit('SELECT flag, code, grade, word, nothing, y FROM exchange.graded', 'y', trees => 10, min_leaf_rows => 2,
    min_category_rows => 0, categorical => '{code}') model,
    LATERAL (SELECT btml.from_lightgbm(btml.to_lightgbm(model)) AS again OFFSET 0) b,
    jsonb_array_elements(btml.summary(again)->'features') f;
SELECT caught($$SELECT btml.to_lightgbm(model) FROM exchange.model WHERE name = 'xgboost_regression'$$);
SELECT caught($$SELECT btml.to_lightgbm(btml.boost_fit('SELECT "we""ird name", y, id AS exposure FROM exchange.thing', 'y',
    "offset" => 'exposure', trees => 1))$$);
SELECT caught($$SELECT btml.to_lightgbm(btml.gp_fit('SELECT "we""ird name", y FROM exchange.thing', 'y', evaluations => 10))$$);
-- Too little memory.
SET btml.memory_limit = '1MB';
SELECT regexp_replace(caught($$SELECT btml.from_lightgbm(E'tree\nversion=v4\nmax_feature_idx=0\nnum_tree_per_iteration=1\nfeature_names='
    || repeat('a ', 20000))$$), '[0-9.]+ [kM]B', 'n', 'g');
SELECT regexp_replace(caught($$SELECT btml.from_xgboost('{"learner": {"feature_names": [' || repeat('"a", ', 100000) || '"b"]}}')$$),
    '[0-9.]+ [kM]B', 'n', 'g');
SELECT caught($$SELECT btml.from_xgboost('{"learner": {"learner_model_param": {"num_feature": "4000000000"}, "objective": {"name": '
    '"reg:linear"}, "gradient_booster": {"name": "gbtree"}}}')$$);
SELECT regexp_replace(caught($$SELECT btml.from_xgboost('{"learner": {"learner_model_param": {"num_feature": "65535"}, "objective": '
    '{"name": "reg:linear"}, "gradient_booster": {"name": "gbtree"}}}')$$), '[0-9.]+ [kMGT]B', 'n', 'g');
SELECT regexp_replace(caught($$SELECT btml.from_xgboost('{"learner": {"objective": {"name": "' || repeat('x', 900000) || '"}}}')$$),
    '[0-9.]+ [kMGT]B', 'n', 'g');
SELECT caught($$SELECT btml.from_xgboost('{"skipped": "' || repeat('x', 900000) || '"}')$$);
RESET btml.memory_limit;
DROP SCHEMA exchange CASCADE;
