-- What features add to the scores of boosted trees, and how predictions change with them.
CREATE SCHEMA explanation;
SET search_path = explanation, public;
SET client_min_messages = warning;
SET extra_float_digits = 0;

\set caught `echo "${PG_ABS_SRCDIR:-.}/sql/include/caught.sql"`
\i :caught

CREATE TYPE mood AS ENUM ('sad', 'glad', 'mad');
CREATE TABLE thing AS SELECT i AS id,
    CASE WHEN i % 10 <> 0 THEN i * 37 % 101 / 8.0 END AS "we""ird name", (i * 53 % 97 / 10.0)::numeric AS num,
    CASE WHEN i % 9 <> 0 THEN (ARRAY['plain', 'it''s', 'a "quote"'])[1 + i % 3] END AS label,
    (ARRAY['sad', 'glad'])[1 + i % 2]::mood AS mood, i % 5 = 0 AS flag, date '2020-01-01' + i * 7 % 60 AS bought, 1 AS constant,
    i % 4 AS visits, 0.5 AS exposure,
    i * 37 % 101 / 8.0 + i % 3 * (i % 2) + (i * 7 % 60) / 10.0 + CASE WHEN i % 5 = 0 THEN 2 ELSE 0 END AS y FROM generate_series(1, 300) i;
CREATE TABLE model (name text PRIMARY KEY, model btml.model);
INSERT INTO model VALUES
    ('number', btml.boost_fit('SELECT "we""ird name", num, label, mood, flag, bought, constant, y FROM explanation.thing', 'y',
    trees => 20, min_leaf_rows => 5)),
    ('deep', btml.tree_fit('SELECT "we""ird name", num, label, mood, flag, bought, y FROM explanation.thing', 'y', max_leaves => 0,
    min_leaf_rows => 1)),
    ('binary', btml.boost_fit('SELECT "we""ird name", num, label, y > 9 AS high FROM explanation.thing', 'high', trees => 10,
    min_leaf_rows => 5)),
    ('multiclass', btml.boost_fit('SELECT "we""ird name", num, flag, label FROM explanation.thing', 'label', trees => 5,
    min_leaf_rows => 5)),
    ('poisson', btml.boost_fit('SELECT "we""ird name", num, label, exposure, visits FROM explanation.thing', 'visits',
    objective => 'poisson', "offset" => 'exposure', trees => 10, min_leaf_rows => 5)),
    ('rank', btml.boost_fit('SELECT num, label, id % 7 AS query, visits FROM explanation.thing', 'visits', objective => 'rank',
    query => 'query', trees => 3)),
    ('constant', btml.boost_fit('SELECT num, label, 5 AS y FROM explanation.thing', 'y', trees => 3)),
    ('process', btml.gp_fit('SELECT num, y FROM explanation.thing', 'y', evaluations => 10));

-- Contributions add up to the score, whatever the model and the row.
SELECT name, count(*) AS rows, bool_and(abs(total - btml.predict_score(model, t.*)) <= 1e-12 * size) AS add_up FROM model, thing t,
    LATERAL (SELECT sum(contribution) AS total, sum(abs(contribution)) AS size FROM btml.explain(model, t.*)) e
WHERE name NOT IN ('multiclass', 'process') GROUP BY name ORDER BY name;
SELECT class, count(*) AS rows, bool_and(abs(total - s.score) <= 1e-12 * size) AS add_up FROM model, thing t,
    unnest(btml.predict_scores(model, t.*)) WITH ORDINALITY s(score, place),
    LATERAL (SELECT btml.summary(model)->'labels'->>(place - 1)::int AS class) c,
    LATERAL (SELECT sum(contribution) AS total, sum(abs(contribution)) AS size FROM btml.explain(model, t.*, class)) e
WHERE name = 'multiclass' GROUP BY class ORDER BY class;
-- Rows: the base first, then the largest contributions; values as their types write them.
SELECT t.id, e.feature, e.value, round(e.contribution::numeric, 6) AS contribution FROM model, thing t, btml.explain(model, t.*) e
    WHERE name = 'number' AND id IN (5, 90);
SELECT feature, value, round(contribution::numeric, 6) AS contribution
    FROM model, btml.explain(model, ARRAY[3.5, NULL, 2, 7, 0, 1577836800, 'Infinity'::float8]) WHERE name = 'number';
-- By position, and the same numbers in one array.
SELECT bool_and(btml.shap(model, t.*)
    = btml.shap(model, ARRAY["we""ird name", num, (SELECT array_position(ARRAY['a "quote"', 'it''s', 'plain'], label) - 1), exposure]))
    AS same FROM model, thing t WHERE name = 'poisson';
SELECT bool_and(s.values = array_append(e.values, e.base)) AS same FROM model, thing t, LATERAL (SELECT btml.shap(model, t.*) AS values) s,
    LATERAL (SELECT array_agg(contribution ORDER BY f.place) FILTER (WHERE place IS NOT NULL) AS values,
    max(contribution) FILTER (WHERE place IS NULL) AS base
             FROM btml.explain(model, t.*) x
             LEFT JOIN (SELECT f->>'name' AS name, place
             FROM jsonb_array_elements(btml.summary(model)->'features') WITH ORDINALITY j(f, place)) f ON f.name = x.feature) e
WHERE name = 'number';
SELECT name, array_length(btml.shap(model, t.*), 1) AS numbers FROM model, thing t WHERE id = 1 AND name <> 'process' ORDER BY name;
SELECT bool_and(btml.shap(model, t.*) = a.plain || a.quote || a.plainest) AS by_label
    FROM model, thing t, LATERAL (SELECT array_agg(btml.summary(model)->'labels'->>i) AS labels FROM generate_series(0, 2) i) l,
    LATERAL (SELECT ARRAY(SELECT contribution FROM btml.explain(model, t.*, labels[1]) WITH ORDINALITY e(f, v, contribution, n)
    ORDER BY array_position(ARRAY['we"ird name', 'num', 'flag', '(base)'], f)) AS plain,
        ARRAY(SELECT contribution FROM btml.explain(model, t.*, labels[2]) WITH ORDINALITY e(f, v, contribution, n)
        ORDER BY array_position(ARRAY['we"ird name', 'num', 'flag', '(base)'], f)) AS quote,
        ARRAY(SELECT contribution FROM btml.explain(model, t.*, labels[3]) WITH ORDINALITY e(f, v, contribution, n)
        ORDER BY array_position(ARRAY['we"ird name', 'num', 'flag', '(base)'], f)) AS plainest) a WHERE name = 'multiclass';
-- The base is the mean score of the training rows; a feature that no tree splits adds nothing; an offset adds itself.
SELECT abs(max(base) - avg(score)) < 1e-9 AS base_is_mean, max(abs(unused)) AS constant
    FROM model, thing t, LATERAL (SELECT (btml.shap(model, t.*))[8] AS base, (btml.shap(model, t.*))[7] AS unused,
    btml.predict_score(model, t.*) AS score) s WHERE name = 'number';
SELECT DISTINCT (btml.shap(model, t.*))[4] AS exposure FROM model, thing t WHERE name = 'poisson';
SELECT btml.shap(model, t.*) AS constant FROM model, thing t WHERE name = 'constant' AND id = 1;
-- Of two labels the first has the negative score.
SELECT bool_and(a.contribution = -b.contribution) AS negative, bool_and(b.contribution = c.contribution) AS second
    FROM model, thing t, btml.explain(model, t.*, 'false') a, btml.explain(model, t.*, 'true') b, btml.explain(model, t.*) c
WHERE name = 'binary' AND a.feature = b.feature AND b.feature = c.feature;
-- Against Shapley's definition, over all coalitions: a row goes both ways at a node whose feature is not in the coalition.
CREATE TEMP TABLE node AS SELECT t.* FROM model, btml.trees(model) t WHERE name = 'binary';
CREATE FUNCTION worth(known text[], x thing) RETURNS float8 LANGUAGE sql AS $$
    WITH RECURSIVE path(tree, node, share) AS (
        SELECT DISTINCT tree, 0, 1.0::float8 FROM node
        UNION ALL
        SELECT p.tree, c.node, p.share * CASE WHEN NOT n.feature = ANY (known) THEN c.rows / n.rows
        ELSE ((c.node = n.left_child) = coalesce(CASE n.feature WHEN 'num' THEN x.num < n.threshold WHEN 'label' THEN CASE
        WHEN x.label IS NOT NULL THEN x.label = ANY (n.categories) END ELSE x."we""ird name" < n.threshold END, n.null_left))::int END
        FROM path p JOIN node n USING (tree, node) JOIN node c ON c.tree = n.tree AND c.parent = n.node)
    SELECT sum(p.share * n.value) FROM path p JOIN node n USING (tree, node) WHERE n.value IS NOT NULL $$;
CREATE FUNCTION shapley(player text, x thing) RETURNS float8 LANGUAGE sql AS $$
    WITH other AS (SELECT array_agg(f) AS names FROM unnest(ARRAY['we"ird name', 'num', 'label']) f WHERE f <> player),
        coalition AS (SELECT ARRAY[]::text[] AS known, 1 / 3.0 AS weight UNION ALL SELECT names[1:1], 1 / 6.0 FROM other
        UNION ALL SELECT names[2:2], 1 / 6.0 FROM other UNION ALL SELECT names, 1 / 3.0 FROM other)
    SELECT sum(weight * (worth(known || player, x) - worth(known, x))) FROM coalition $$;
SELECT count(*) AS compared, bool_and(abs(shapley(feature, t) - contribution) < 1e-12) AS same
    FROM model, thing t, btml.explain(model, t.*) e WHERE name = 'binary' AND id % 60 IN (0, 7, 9, 10) AND feature <> '(base)';

-- Interactions add up to contributions, by row and by column.
SELECT name, bool_and(abs(i.total - e.contribution) < 1e-12) AS rows_add_up,
    bool_and(abs(j.total - e.contribution) < 1e-12) AS columns_add_up FROM model, thing t, btml.explain(model, t.*) e,
    LATERAL (SELECT feature, sum(contribution) AS total FROM btml.shap_interactions(model, t.*)
    GROUP BY 1) i, LATERAL (SELECT other, sum(contribution) AS total FROM btml.shap_interactions(model, t.*) GROUP BY 1) j
WHERE i.feature = e.feature AND j.other = e.feature AND t.id % 30 = 0 AND name IN ('number', 'deep', 'binary', 'poisson')
    GROUP BY name ORDER BY name;
SELECT feature, other, round(contribution::numeric, 6) AS contribution
    FROM model, btml.shap_interactions(model, ARRAY[3.5, NULL, 1], 'false') WHERE name = 'binary';
SELECT feature, other, round(contribution::numeric, 6) AS contribution FROM model, thing t, btml.shap_interactions(model, t.*, 'plain')
    WHERE name = 'multiclass' AND id = 3;

-- Importance: the mean magnitude over rows, all or a sample of a join that is not built.
SELECT i.feature, round(i.mean_absolute::numeric, 6) AS mean_absolute, i.std_error, abs(i.mean_absolute - e.mean) < 1e-12 AS same
    FROM model, btml.shap_importance(model, 'explanation.thing') i,
    LATERAL (SELECT avg(abs(contribution)) AS mean FROM thing t, btml.explain(model, t.*) e WHERE e.feature = i.feature) e
    WHERE name = 'number';
SELECT i.feature, abs(i.mean_absolute - e.mean) < 1e-12 AS same FROM model, btml.shap_importance(model, 'explanation.thing') i,
    LATERAL (SELECT sum(abs(contribution)) / 300 AS mean
    FROM thing t, unnest(ARRAY['a "quote"', 'it''s', 'plain']) class, btml.explain(model, t.*, class) e WHERE e.feature = i.feature) e
    WHERE name = 'multiclass' ORDER BY 1;
SELECT count(*) AS features, bool_and(abs(s.mean_absolute - a.mean_absolute) <= 4 * s.std_error) AS near,
    bool_and(s.std_error > 0 OR s.mean_absolute = 0) AS has_error
FROM model, btml.shap_importance(model, 'explanation.thing', sample_rows => 100, seed => 3) s
    JOIN LATERAL btml.shap_importance(model, 'explanation.thing') a USING (feature) WHERE name = 'number';
CREATE TABLE moved AS SELECT * FROM thing ORDER BY id * 7919 % 300;
SELECT (SELECT array_agg(i) FROM btml.shap_importance(model, 'explanation.thing', 50, 1) i) = (SELECT array_agg(i)
    FROM btml.shap_importance(model, 'explanation.moved', 50, 1) i) AS same,
    (SELECT array_agg(i) FROM btml.shap_importance(model, 'explanation.thing', 50, 1) i) <> (SELECT array_agg(i)
    FROM btml.shap_importance(model, 'explanation.thing', 50, 2) i) AS by_seed FROM model WHERE name = 'number';
CREATE TABLE large AS SELECT i, i % 2 AS k FROM generate_series(1, 20000) i;
SELECT feature, mean_absolute > 0 AS matters, std_error > 0 AS has_error FROM model, btml.shap_importance(model,
    'SELECT t.label, t.num, t."we""ird name" FROM explanation.thing t JOIN explanation.large a ON a.k = t.id % 2
    JOIN explanation.large b ON b.k = a.k', sample_rows => 200) WHERE name = 'binary';
SELECT count(*) AS features, count(std_error) AS errors, bool_and(mean_absolute >= 0) AS means
    FROM model, btml.shap_importance(model, 'explanation.thing', sample_rows => 1) WHERE name = 'number';
SELECT count(*) AS features, max(std_error) AS std_error
    FROM model, btml.shap_importance(model, 'SELECT * FROM explanation.thing WHERE id = 9') WHERE name = 'number';

-- Partial dependence: what btml.predict gives where the feature has one value in all rows.
SELECT p.value, p.number, p.by_value, round(p.mean::numeric, 6) AS mean, p.std_error, round(p.p10::numeric, 6) AS p10,
    round(p.p90::numeric, 6) AS p90, abs(p.mean - e.mean) + abs(p.p10 - e.p10) + abs(p.p90 - e.p90) < 1e-12 AS same
FROM model, btml.partial_dependence(model, 'explanation.thing', 'bought', points => 3) p,
    LATERAL (SELECT avg(y) AS mean, percentile_cont(0.1) WITHIN GROUP (ORDER BY y) AS p10,
    percentile_cont(0.9) WITHIN GROUP (ORDER BY y) AS p90
    FROM (SELECT btml.predict(model, x) AS y
    FROM thing t, LATERAL (SELECT t."we""ird name", t.num, t.label, t.mood, t.flag, p.value::date AS bought, t.constant) x OFFSET 0) y) e
    WHERE name = 'number';
SELECT p.value, p.number, p.by_value, round(p.mean::numeric, 6) AS mean, abs(p.mean - e.mean) < 1e-12 AS same
    FROM model, btml.partial_dependence(model, 'explanation.thing', 'mood', by => 'flag') p,
    LATERAL (SELECT avg(btml.predict(model, x)) AS mean
    FROM thing t, LATERAL (SELECT t."we""ird name", t.num, t.label, p.value AS mood, t.flag, t.bought, t.constant) x
    WHERE t.flag = p.by_value::boolean) e WHERE name = 'number';
SELECT p.value, p.by_value, round(p.mean::numeric, 6) AS mean
    FROM model, btml.partial_dependence(model, 'explanation.thing', 'label', points => 2, by => 'label') p WHERE name = 'number';
-- Categories that training did not see are values of the source as well, each by its own name, and may be all that it has.
SELECT given, p.value, p.by_value, round(p.mean::numeric, 6) AS mean, abs(p.mean - e.mean) < 1e-12 AS same
FROM model, (VALUES ('some', 'id % 3'), ('all', 'id % 2')) g(given, part),
    format($$SELECT num, "we""ird name", (ARRAY['new', 'newer', 'plain'])[1 + %s] AS label FROM explanation.thing$$, part) source,
    btml.partial_dependence(model, source, 'label') p,
    LATERAL (SELECT avg(btml.predict(model, r)) AS mean FROM thing t, LATERAL (SELECT t.num, t."we""ird name", p.value AS label) r) e
    WHERE name = 'binary' ORDER BY 1, 2;
SELECT p.value, p.by_value, count(*)
    FROM model, btml.partial_dependence(model,
    $$SELECT num, "we""ird name", (ARRAY['new', 'newer'])[1 + id % 2] AS label FROM explanation.thing$$, 'label', by => 'label',
    points => 1) p WHERE name = 'binary' GROUP BY 1, 2 ORDER BY 1, 2;
SELECT p.value, round(p.mean::numeric, 6) AS mean
    FROM btml.gp_fit('SELECT label, num, visits AS y FROM explanation.thing WHERE label IS NOT NULL', 'y', kernel => 'matern52',
    mean => 'zero') m, btml.partial_dependence(m, 'SELECT ''of '' || id % 2 AS label, 1 AS num FROM explanation.thing', 'label') p
    ORDER BY 1;
SELECT p.number, round(p.mean::numeric, 6) AS mean, abs(p.mean - e.mean) < 1e-12 AS same
    FROM model, btml.partial_dependence(model, 'explanation.thing', 'num', points => 3, class => 'plain') p,
    LATERAL (SELECT avg(btml.predict_probability(model, x, 'plain')) AS mean
    FROM thing t, LATERAL (SELECT t."we""ird name", p.number AS num, t.flag) x) e WHERE name = 'multiclass';
SELECT p.number, abs(p.mean - btml.predict(model, ARRAY[p.number])) < 1e-9 AS process, p.p10 = p.p90 AS constant
    FROM model, btml.partial_dependence(model, 'explanation.thing', 'num', points => 4) p WHERE name = 'process';
SELECT p.number, p.mean > lag(p.mean) OVER (ORDER BY p.number) AS grows
    FROM model, btml.partial_dependence(model, 'SELECT num, label, "we""ird name", visits / 4.0 AS exposure FROM explanation.thing',
    'exposure') p WHERE name = 'poisson';
SELECT count(*) AS points, bool_and(abs(s.mean - a.mean) <= 5 * s.std_error) AS near
    FROM model, btml.partial_dependence(model, 'explanation.thing', 'flag', sample_rows => 100, seed => 3) s
    JOIN LATERAL btml.partial_dependence(model, 'explanation.thing', 'flag') a USING (value) WHERE name = 'number';
SELECT count(*) AS points, count(std_error) AS errors
    FROM model, btml.partial_dependence(model,
    'SELECT t.label, t.num, t."we""ird name" FROM explanation.thing t JOIN explanation.large a ON a.k = t.id % 2
    JOIN explanation.large b ON b.k = a.k', 'num', points => 5, sample_rows => 1) WHERE name = 'binary';
SELECT count(*) AS null_model FROM btml.partial_dependence(NULL, 'explanation.thing', 'num');
-- Numbers are printed from what is predicted with, so that no text of the source is held; those that a float8 does
-- not hold, and times, as text.
CREATE TABLE wide AS SELECT i * 0.7919::float8 AS num FROM generate_series(1, 200000) i;
SET btml.memory_limit = '16MB';
SELECT p.value, p.number FROM model, btml.partial_dependence(model, 'explanation.wide', 'num', points => 3, sample_rows => 100) p
    WHERE name = 'process';
RESET btml.memory_limit;
DROP TABLE wide;
SELECT type, p.value, p.number FROM model, (VALUES ('int2'), ('int4'), ('int8'), ('float4'), ('float8'), ('numeric(9,3)')) t(type),
    btml.partial_dependence(model, format('SELECT num::%s FROM explanation.thing', type), 'num', points => 2) p WHERE name = 'process';
SELECT p.value, p.number FROM model,
    btml.partial_dependence(model,
    $$SELECT CASE id WHEN 1 THEN 'NaN' WHEN 2 THEN '-Infinity' WHEN 3 THEN NULL ELSE 5::float8 END AS num FROM explanation.thing
    WHERE id < 5$$, 'num') p WHERE name = 'process';
-- Rows fall apart by another column, and by the feature itself.
SELECT count(*) AS rows, count(DISTINCT by_value) AS groups, count(*) FILTER (WHERE by_value IS NULL) AS of_null
    FROM model, btml.partial_dependence(model, 'explanation.thing', 'flag', by => 'label') WHERE name = 'number';
SELECT count(*) AS rows, count(DISTINCT by_value) AS groups
    FROM model, btml.partial_dependence(model, 'explanation.thing', 'flag', by => 'id') WHERE name = 'number';

-- Permutation importance: nothing for what the model does not use, and the same wherever rows lie.
SELECT feature, round(importance::numeric, 6) AS importance, round(std_error::numeric, 6) AS std_error
    FROM model, btml.permutation_importance(model, 'explanation.thing', 'y') WHERE name = 'number';
SELECT (SELECT array_agg(i) FROM btml.permutation_importance(model, 'explanation.thing', 'y', sample_rows => 100) i) = (SELECT array_agg(i)
    FROM btml.permutation_importance(model, 'explanation.moved', 'y', sample_rows => 100) i) AS same,
    (SELECT array_agg(i) FROM btml.permutation_importance(model, 'explanation.thing', 'y') i) <> (SELECT array_agg(i)
    FROM btml.permutation_importance(model, 'explanation.thing', 'y', seed => 1) i) AS by_seed FROM model WHERE name = 'number';
SELECT name, metric, bool_and(i.importance > 0) AS matter, bool_and(i.std_error < i.importance) AS sure
    FROM model JOIN (VALUES ('binary', NULL), ('binary', 'log_loss'), ('binary', 'auc'), ('binary', 'accuracy'), ('binary', 'brier'),
    ('binary', 'average_precision')) m(name, metric) USING (name),
    btml.permutation_importance(model, 'SELECT *, y > 9 AS high FROM explanation.thing', 'high', metric) i WHERE i.feature <> 'num'
    GROUP BY 1, 2 ORDER BY 1, 2;
SELECT (SELECT array_agg(i) FROM btml.permutation_importance(model, 'SELECT *, y > 9 AS high FROM explanation.thing', 'high') i)
    = (SELECT array_agg(i) FROM btml.permutation_importance(model, 'SELECT *, y > 9 AS high FROM explanation.thing', 'high',
    'log_loss') i) AS usual FROM model WHERE name = 'binary';
SELECT metric, bool_and(i.importance > 0) AS matter
    FROM model, (VALUES ('log_loss'), ('accuracy')) m(metric), btml.permutation_importance(model, 'explanation.thing', 'label', metric) i
    WHERE name = 'multiclass' GROUP BY 1 ORDER BY 1;
SELECT feature, importance > 0 AS matters FROM model, btml.permutation_importance(model, 'explanation.thing', 'visits')
    WHERE name = 'poisson' ORDER BY 1;
SELECT feature, importance > 0 AS matters
    FROM model, btml.permutation_importance(model, 'explanation.thing', 'y', 'mae', holdout => 'flag') WHERE name = 'process';
-- Rows that are not held out, and those without a target, do not count.
SELECT what, count(*) AS features, bool_and(abs(i.importance - w.importance) <= 5 * (i.std_error + w.std_error)) AS near
    FROM model, (VALUES ('holdout', 'explanation.thing', 'flag', 'flag'), ('without NULL',
    'SELECT "we""ird name", num, label, mood, flag, bought, constant, CASE WHEN id % 2 = 0 THEN y END AS y FROM explanation.thing', NULL,
    'id % 2 = 0')) c(what, source, holdout, condition),
    btml.permutation_importance(model, source, 'y', repeats => 20, holdout => c.holdout) i,
    btml.permutation_importance(model, 'SELECT * FROM explanation.thing WHERE ' || condition, 'y', repeats => 20) w
    WHERE name = 'number' AND i.feature = w.feature GROUP BY what ORDER BY what;
SELECT count(*) AS features, bool_and(importance > 0) AS matter
    FROM model, btml.permutation_importance(model,
    'SELECT t.label, t.num, t."we""ird name", y > 9 AS high FROM explanation.thing t JOIN explanation.large a ON a.k = t.id % 2
    JOIN explanation.large b ON b.k = a.k', 'high', sample_rows => 500) WHERE name = 'binary';
SELECT count(*) AS features, max(importance) AS importance, count(std_error) AS errors
    FROM model, btml.permutation_importance(model, 'SELECT * FROM explanation.thing WHERE id = 7', 'y', repeats => 1) WHERE name = 'number';
SELECT count(*) AS null_model FROM btml.permutation_importance(NULL, 'explanation.thing', 'y');

-- Stored models.
\set trees `cat "${PG_ABS_SRCDIR:-.}/test/data/models/boosted_trees-1.txt"`
\set multiclass `cat "${PG_ABS_SRCDIR:-.}/test/data/models/boosted_multiclass-1.txt"`
SELECT feature, value, round(contribution::numeric, 6) AS contribution
    FROM (SELECT 3.25 AS x, 'green' AS colour) p, btml.explain(:'trees'::btml.model, p);
SELECT feature, value, round(contribution::numeric, 6) AS contribution
    FROM (SELECT 3.25 AS x, 3 AS visits) p, btml.explain(:'multiclass'::btml.model, p, 'red');

-- Several models at one place, and plans.
SELECT count(*) AS rows, bool_and(e.contribution = alone.contribution) AS same
    FROM (SELECT t.id, e.* FROM thing t, LATERAL (SELECT name, x.* FROM model, btml.explain(model, t.*) x
    WHERE name IN ('number', 'deep', 'binary') ORDER BY name OFFSET 0) e WHERE id < 20) e
JOIN (SELECT name, t.id, x.* FROM model, thing t, btml.explain(model, t.*) x
    WHERE name IN ('number', 'deep', 'binary')) alone USING (name, id, feature);
SELECT proname, proisstrict AS strict, provolatile AS volatile, proparallel AS parallel, pg_get_function_arguments(oid) AS arguments
    FROM pg_proc WHERE pronamespace = 'btml'::regnamespace AND proname IN ('explain', 'shap', 'shap_importance', 'shap_interactions',
    'partial_dependence', 'permutation_importance') ORDER BY 1, 5;

-- Bad input.
SELECT count(*) AS explained, count(btml.shap(m, t.*)) AS arrays FROM (SELECT NULL::btml.model AS m) n, (SELECT * FROM thing LIMIT 1) t
    LEFT JOIN LATERAL btml.explain(NULL::btml.model, t.*) e ON false;
SELECT count(*) AS null_record FROM model, btml.explain(model, NULL::thing) WHERE name = 'number';
SELECT count(*) AS null_class FROM model, btml.explain(model, ARRAY[1, 2, 0]::float8[], NULL) WHERE name = 'binary';
SELECT count(*) AS null_model FROM btml.shap_importance(NULL, 'explanation.thing');
SELECT abs(sum(contribution) - max(btml.predict_score(model, ARRAY['NaN', 'Infinity', NULL, 99, -1, '-Infinity', 0]::float8[])))
    < 1e-12 AS odd_numbers FROM model, btml.explain(model, ARRAY['NaN', 'Infinity', NULL, 99, -1, '-Infinity', 0]::float8[])
    WHERE name = 'number';
\pset format unaligned
\pset tuples_only on
SELECT call || E'\n' || caught(format('SELECT count(e) FROM explanation.model, explanation.thing t, btml.%s e WHERE name = %L AND id = 1',
    call, name)) || E'\n' FROM (VALUES
    ('process', 'explain(model, t.*)'), ('process', 'shap(model, ARRAY[1.0])'), ('process', 'shap_interactions(model, t.*)'), ('process',
    'shap_importance(model, ''explanation.thing'')'),
    ('multiclass', 'explain(model, t.*)'), ('multiclass', 'explain(model, t.*, ''plian'')'), ('multiclass',
    'shap_interactions(model, t.*)'), ('binary', 'explain(model, t.*, ''maybe'')'), ('number', 'explain(model, t.*, ''high'')'),
    ('poisson', 'shap_interactions(model, t.*, ''1'')'),
    ('binary', 'explain(model, (SELECT r FROM (SELECT 1 AS number, ''plain'' AS label, 1 AS "we""ird name") r))'), ('binary',
    'explain(model, (SELECT r FROM (SELECT true AS num, ''plain'' AS label, 1 AS "we""ird name") r))'),
    ('binary', 'explain(model, ARRAY[1.0])'), ('binary', 'shap(model, ''{}''::float8[])'), ('poisson',
    'explain(model, ARRAY[1.0, 2, 0, NULL])'), ('poisson', 'shap(model, ARRAY[1.0, 2, 0, ''Infinity''::float8])'),
    ('number', 'shap_importance(model, NULL)'), ('number', 'shap_importance(model, ''SELECT * FROM explanation.thing WHERE id < 0'')'),
    ('number', 'shap_importance(model, ''explanation.thing'', sample_rows => 0)'), ('number',
    'shap_importance(model, ''explanation.thing'', sample_rows => -5)'),
    ('number', 'shap_importance(model, ''explanation.thing'', sample_rows => NULL)'), ('number',
    'shap_importance(model, ''explanation.thing'', seed => NULL)'),
    ('number', 'shap_importance(model, ''SELECT num AS num1, label, mood, flag, bought, constant, "we""ird name" FROM '
        'explanation.thing'')'), ('number', 'shap_importance(model, ''SELECT flag AS num, label, mood, flag, bought, constant, "we""ird '
        'name" FROM explanation.thing'')'),
    ('number', 'shap_importance(model, ''explanation.nothing'')'), ('poisson',
    'shap_importance(model, ''SELECT num, label, "we""ird name", NULL::float8 AS exposure FROM explanation.thing'')'),
    ('number', 'partial_dependence(model, ''explanation.thing'', ''nmu'')'), ('number',
    'partial_dependence(model, ''explanation.thing'', ''boughtt'')'), ('number', 'partial_dependence(model, ''explanation.thing'', NULL)'),
    ('number', 'partial_dependence(model, NULL, ''num'')'),
    ('number', 'partial_dependence(model, ''explanation.thing'', ''num'', by => ''lable'')'), ('number',
    'partial_dependence(model, ''explanation.thing'', ''num'', points => 0)'), ('number',
    'partial_dependence(model, ''explanation.thing'', ''num'', points => 10001)'),
    ('number', 'partial_dependence(model, ''explanation.thing'', ''num'', sample_rows => 0)'), ('number',
    'partial_dependence(model, ''SELECT * FROM explanation.thing WHERE id < 0'', ''num'')'), ('multiclass',
    'partial_dependence(model, ''explanation.thing'', ''num'')'),
    ('multiclass', 'partial_dependence(model, ''explanation.thing'', ''num'', class => ''plian'')'), ('number',
    'partial_dependence(model, ''explanation.thing'', ''num'', class => ''plain'')'), ('process',
    'partial_dependence(model, ''explanation.thing'', ''num'', class => ''plain'')'),
    ('poisson', 'partial_dependence(model, ''SELECT num, label, "we""ird name", NULL::float8 AS exposure FROM '
        'explanation.thing'', ''num'')'),
    ('number', 'permutation_importance(model, ''explanation.thing'', NULL)'), ('number', 'permutation_importance(model, NULL, ''y'')'),
    ('number', 'permutation_importance(model, ''explanation.thing'', ''yy'')'), ('number',
    'permutation_importance(model, ''explanation.thing'', ''label'')'),
    ('number', 'permutation_importance(model, ''explanation.thing'', ''y'', ''rsme'')'), ('number',
    'permutation_importance(model, ''explanation.thing'', ''y'', ''auc'')'), ('process',
    'permutation_importance(model, ''explanation.thing'', ''y'', ''log_loss'')'), ('number',
    'permutation_importance(model, ''explanation.thing'', ''y'', repeats => 0)'),
    ('number', 'permutation_importance(model, ''explanation.thing'', ''y'', sample_rows => 0)'), ('number',
    'permutation_importance(model, ''explanation.thing'', ''y'', holdout => ''visits'')'), ('number',
    'permutation_importance(model, ''explanation.thing'', ''y'', holdout => ''flagg'')'),
    ('number', 'permutation_importance(model, ''SELECT *, false AS none FROM explanation.thing'', ''y'', holdout => ''none'')'),
    ('multiclass', 'permutation_importance(model, ''SELECT num, flag, "we""ird name", upper(label) AS label FROM '
        'explanation.thing'', ''label'')'),
    ('binary', 'permutation_importance(model, ''SELECT *, true AS high FROM explanation.thing'', ''high'', ''auc'')'), ('number',
    'permutation_importance(model, ''SELECT "we""ird name", num, label, mood, flag, bought, constant, ''''NaN''''::float8 AS y FROM '
        'explanation.thing'', ''y'')'),
    ('rank', 'permutation_importance(model, ''explanation.thing'', ''visits'')')) c(name, call);
