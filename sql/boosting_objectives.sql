-- Objectives of btml.boost_fit: every one trains, predicts, is written as SQL and is stored.
CREATE SCHEMA objectives;
SET search_path = objectives, public;
SET extra_float_digits = 0;

\set caught `echo "${PG_ABS_SRCDIR:-.}/sql/include/caught.sql"`
\i :caught

CREATE TYPE size AS ENUM ('small', 'medium', 'large', 'never');
CREATE TABLE trip (id int PRIMARY KEY, x float8, z int, place text, at timestamp, exposure float8, held_out boolean, w float8);
INSERT INTO trip SELECT i, CASE WHEN i % 23 <> 0 THEN (i * 37 % 101) / 10.0 END,
    i % 7, (ARRAY['quay', 'pier', 'it''s', 'ba\ck'])[1 + i * 13 % 4],
    timestamp '2024-02-28' + i * interval '7 hours', 1 + i % 5, i % 6 = 0, i % 4 / 2.0 FROM generate_series(1, 600) i;
CREATE VIEW trip_target AS SELECT *, sin(coalesce(x, 3)) + z / 3.0 AS number, floor(exposure * (1 + coalesce(x, 2) / 3))::int AS visits,
    exposure * exp(z / 4.0 + coalesce(x, 0) / 9) AS amount,
    CASE WHEN id % 4 > 0 THEN exposure * (z + id % 2) END AS claims,
    x > 4 + id % 3 AS late, (ARRAY['no', 'yes'])[1 + (z + id % 3 > 4)::int] AS answer, (1 + sin(coalesce(x, 0))) / 2 AS share,
    (ARRAY['small', 'medium', 'large'])[1 + (coalesce(x, 4) > 3)::int + (z > 3)::int]::size AS size, (z * 2 - 4)::numeric AS grade,
    (z > 3)::int AS flag, ln(exposure) AS log_exposure FROM trip;

-- One model of each. claims is NULL in some rows; size has a label that no row has, grade labels below 0.
\pset format unaligned
CREATE TABLE model (name text PRIMARY KEY, options text, model btml.model);
CREATE FUNCTION train(target text, arguments text) RETURNS btml.model LANGUAGE plpgsql AS $$
DECLARE trained btml.model;
BEGIN
    EXECUTE format('SELECT btml.boost_fit(%L, %L, trees => 12, max_leaves => 6, min_leaf_rows => 5, holdout => ''held_out'' %s)',
    'SELECT x, z, place, at, held_out, w, log_exposure, ' || target || ' FROM objectives.trip_target', target, arguments) INTO trained;
    RETURN trained;
END $$;
INSERT INTO model SELECT name, arguments, train(target, arguments) FROM (VALUES
    ('squared', 'number', ''), ('squared, offset', 'number', ', "offset" => ''log_exposure'''), ('absolute', 'number',
    ', objective => ''absolute'''), ('huber', 'number', ', objective => ''huber'', alpha => 0.8'),
    ('quantile', 'number', ', objective => ''quantile'', alpha => 0.9'), ('poisson', 'visits',
    ', objective => ''poisson'', "offset" => ''log_exposure'', max_step => 0.5'),
    ('gamma', 'amount', ', objective => ''gamma'', weight => ''w'''), ('tweedie', 'claims', ', objective => ''tweedie'', power => 1.3'),
    ('binary, boolean', 'late', ''),
    ('binary, text', 'answer', ', positive => ''no'', class_weights => ''{"yes": 2.5}'''), ('binary, 0 and 1', 'flag',
    ', objective => ''binary'', balanced => true'), ('binary, shares', 'share', ', objective => ''binary'', l1 => 1'),
    ('multiclass, enum', 'size', ''), ('multiclass, numbers', 'grade',
    ', objective => ''multiclass'', balanced => true, min_leaf_hessian => 1'), ('multiclass, boolean', 'late',
    ', objective => ''multiclass''')) v(name, target, arguments);
SELECT name, s->'params'->>'objective' AS objective, s->'labels' AS labels, s->'class_weights' AS weights, jsonb_typeof(s->'base') AS base,
    s->'rows_skipped' AS skipped, (s->'metrics'->>'train_loss')::float8 < (s->'metrics'->>'baseline_loss')::float8 AS learns,
    (s->'metrics'->>'holdout_loss')::float8 < (s->'metrics'->>'baseline_holdout_loss')::float8 AS generalises,
    s->'features'->-1->>'name' AS last_feature FROM model, btml.summary(model) s ORDER BY name;
-- The dummy's losses are those of the base.
SELECT name, abs((s->'metrics'->>'baseline_loss')::float8 / expected - 1) < 1e-7 AS as_computed
    FROM model, btml.summary(model) s, (SELECT avg(number) AS mean, percentile_disc(0.5) WITHIN GROUP (ORDER BY number) AS median,
    avg((size = 'small')::int) AS small,
    avg((size = 'medium')::int) AS medium, avg((size = 'large')::int) AS large FROM trip_target WHERE NOT held_out) c,
    LATERAL (SELECT avg((number - mean) ^ 2) AS squared, avg(abs(number - median)) AS absolute FROM trip_target WHERE NOT held_out) l,
    LATERAL (VALUES ('squared', squared), ('absolute', absolute), ('multiclass, enum',
    -(small * ln(small) + medium * ln(medium) + large * ln(large)))) e(of, expected) WHERE name = of ORDER BY name;

-- Predictions: a record and an array give the same; they agree with each other, with btml.to_sql, and after a round
-- trip through the stored forms.
CREATE FUNCTION codes(t trip_target, m btml.model) RETURNS float8[] LANGUAGE sql STABLE AS $$
    SELECT array_agg(CASE f.value->>'name' WHEN 'x' THEN t.x WHEN 'z' THEN t.z
    WHEN 'place' THEN array_position(ARRAY(SELECT jsonb_array_elements_text(f.value->'categories')), t.place) - 1
    WHEN 'at' THEN extract(epoch FROM t.at) WHEN 'log_exposure' THEN t.log_exposure WHEN 'w' THEN t.w END ORDER BY f.ordinality)
    FROM jsonb_array_elements(btml.summary(m)->'features') WITH ORDINALITY f $$;
CREATE TABLE sample AS SELECT t, id, name, model, codes(t, model) AS codes FROM trip_target t, model WHERE id % 12 = 1;
CREATE FUNCTION near(a float8, b float8) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$ SELECT abs(a - b) <= 8.9e-16 * abs(b) $$;
    -- 4 units of the last place
SELECT name, count(*) AS rows,
    bool_and(btml.predict(model, t) = btml.predict(model, codes) AND btml.predict_score(model, t) = btml.predict_score(model, codes)
    AND btml.predict_scores(model, t) = ARRAY[btml.predict_score(model, t)]) AS same,
    bool_and(CASE WHEN name ~ 'poisson|gamma|tweedie' THEN near(btml.predict(model, t), exp(btml.predict_score(model, t)))
    WHEN name ~ 'binary' THEN near(btml.predict(model, t), 1 / (1 + exp(-btml.predict_score(model, t))))
    ELSE btml.predict(model, t) = btml.predict_score(model, t) END) AS link
FROM sample WHERE name !~ 'multiclass' GROUP BY name ORDER BY name;
SELECT name, count(*) AS rows,
    bool_and(p = btml.predict_probabilities(model, codes) AND c = btml.predict_class(model, codes)
    AND btml.predict_scores(model, t) = btml.predict_scores(model, codes)) AS same,
    bool_and(c = (ARRAY(SELECT jsonb_array_elements_text(labels)))[array_position(p, (SELECT max(q) FROM unnest(p) q))]) AS likeliest,
    bool_and(abs((SELECT sum(q) FROM unnest(p) q) - 1) < 1e-15) AS sum_is_1,
    bool_and(ARRAY(SELECT btml.predict_probability(model, t, l) FROM jsonb_array_elements_text(labels) WITH ORDINALITY u(l, n)
    ORDER BY n) = p AND btml.predict_probability(model, codes, labels->>0) = p[1]) AS one_by_one
FROM sample JOIN (SELECT name, btml.summary(model)->'labels' AS labels FROM model) l USING (name),
    LATERAL (SELECT btml.predict_probabilities(model, t), btml.predict_class(model, t)) r(p, c) WHERE labels IS NOT NULL
    GROUP BY name ORDER BY name;
SELECT name, avg((btml.predict_class(model, t) = CASE name WHEN 'binary, text' THEN answer WHEN 'binary, boolean' THEN late::text
    WHEN 'multiclass, numbers' THEN grade::text ELSE size::text END)::int) > 0.75 AS accurate FROM model, trip_target t
    WHERE name IN ('binary, boolean', 'binary, text', 'multiclass, enum', 'multiclass, numbers') GROUP BY name ORDER BY name;

CREATE FUNCTION sql_answers(m btml.model, dialect text, label text) RETURNS TABLE(id int, value float8) LANGUAGE plpgsql AS $$
BEGIN RETURN QUERY EXECUTE format('SELECT id, (%s)::float8 FROM objectives.trip_target t ORDER BY id',
    btml.to_sql(m, dialect, label)); END $$;
SELECT name, count(*) AS rows,
    bool_and(CASE WHEN name ~ 'squared|absolute|huber|quantile' THEN value = btml.predict(model, t)
    ELSE near(value, btml.predict(model, t)) END) AS same FROM model, sql_answers(model, 'postgresql', NULL) JOIN trip_target t USING (id)
    WHERE name !~ 'multiclass' GROUP BY name ORDER BY name;
SELECT name, label, count(*) AS rows, bool_and(near(a.value, btml.predict_probability(model, t, label))) AS same
    FROM model, jsonb_array_elements_text(btml.summary(model)->'labels') u(label), sql_answers(model, 'postgresql', label) a
    JOIN trip_target t USING (id)
GROUP BY name, label ORDER BY name, label;
CREATE FUNCTION sql_arrays(m btml.model) RETURNS TABLE(id int, value float8[]) LANGUAGE plpgsql AS $$
BEGIN RETURN QUERY EXECUTE format('SELECT id, %s FROM objectives.trip_target t ORDER BY id', btml.to_sql(m)); END $$;
SELECT name, bool_and((SELECT bool_and(near(a, b)) FROM unnest(value, btml.predict_probabilities(model, t)) u(a, b))) AS same
    FROM model, sql_arrays(model) JOIN trip_target t USING (id) WHERE name ~ 'multiclass' GROUP BY name ORDER BY name;
-- Standard SQL has no times; the server reads it as it stands.
SELECT caught($$SELECT btml.to_sql(btml.boost_fit('SELECT at, number FROM objectives.trip_target', 'number', trees => 1), 'ansi', NULL)$$);
CREATE TABLE timeless AS SELECT name,
    btml.boost_fit('SELECT x, z, place, size::text AS size, ' || target || ' FROM objectives.trip_target', target, trees => 9,
    objective => objective) AS model
    FROM (VALUES ('number', 'number', 'absolute'), ('count', 'visits', 'poisson'), ('answer', 'answer', 'binary')) v(name, target,
    objective);
SELECT substring(btml.to_sql(btml.tree_fit('SELECT x / 2.0::float8 AS half, number FROM objectives.trip_target', 'number',
    categorical => '{half}', max_leaves => 2), 'ansi', NULL) FROM 'CAST\("half" AS [A-Z ]*\) IN \(CAST') AS as_numbers;
SELECT name, bool_and(near(value, btml.predict(model, t))) AS same, btml.to_sql(model, 'ansi', NULL) ~ '::' AS has_casts,
    btml.to_sql(model) = btml.to_sql(model, 'postgresql', NULL) AS as_ever FROM timeless, sql_answers(model, 'ansi', NULL)
    JOIN (SELECT id, x, z, place, size::text FROM trip_target) t USING (id) GROUP BY name, model ORDER BY name;
SELECT bool_and(near(value, btml.predict_probability(model, t, 'medium'))) AS same
    FROM btml.boost_fit('SELECT x, z, size FROM objectives.trip_target', 'size', trees => 5) model, sql_answers(model, 'ansi', 'medium')
    JOIN trip_target t USING (id);
SELECT btml.to_sql(btml.boost_fit('SELECT z, size FROM objectives.trip_target WHERE size <> ''large''', 'size', trees => 1,
    max_leaves => 2, objective => 'multiclass', learning_rate => 0.5), 'ansi', 'small');

-- Leaves are nodes of btml.trees: their values add up to the scores.
CREATE TABLE node AS SELECT name, n.* FROM model, btml.trees(model) n;
CREATE TABLE base AS SELECT name, n, b::float8 AS base, count(*) OVER (PARTITION BY name) AS scores
    FROM model, LATERAL (SELECT btml.summary(model)->'base') s(j),
    jsonb_array_elements(CASE jsonb_typeof(j) WHEN 'array' THEN j ELSE jsonb_build_array(j) END) WITH ORDINALITY e(b, n);
SELECT name, count(*) AS rows,
    bool_and(abs(score - base - CASE WHEN options ~ 'offset' THEN log_exposure ELSE 0 END - leaves) < 1e-9) AS add_up
    FROM model JOIN base USING (name), trip_target t, LATERAL (SELECT (btml.predict_scores(model, t))[n]) s(score),
    LATERAL (SELECT sum(value) FROM unnest(btml.predict_leaf(model, t)) WITH ORDINALITY l(leaf, place)
    JOIN node ON node.name = model.name AND tree = place - 1 AND node = leaf WHERE tree % scores = n - 1) l(leaves) WHERE t.id % 60 = 1
    GROUP BY name ORDER BY name;
SELECT bool_and(btml.predict_leaf(model, t) = btml.predict_leaf(model, codes)) AS same FROM sample;
SELECT name, class, count(DISTINCT tree) AS trees FROM node GROUP BY name, class HAVING name ~ 'multiclass' OR class IS NOT NULL
    ORDER BY name, class;
SELECT name, count(*) AS iterations, max(holdout_metric) AS metric, count(holdout_loss) AS losses FROM model, btml.training_log(model)
    WHERE name ~ 'multiclass|gamma' GROUP BY name ORDER BY name;

-- Stored as text and as bytes: the same models.
SELECT bool_and((model::text)::btml.model::bytea = model::bytea AND (model::bytea)::btml.model::text = model::text
    AND btml.summary((model::text)::btml.model) = btml.summary(model) - 'seconds') AS round_trip FROM model;
CREATE TABLE restored AS SELECT name, model::text AS text FROM model;
SELECT bool_and(btml.predict_scores(text::btml.model, t) = btml.predict_scores(model, t)) AS same
    FROM restored JOIN model USING (name), trip_target t WHERE t.id % 60 = 1;

-- Training does not depend on threads, the order of rows or on how the join is written.
SET btml.threads = 2;
SELECT name, model::bytea = train(CASE name WHEN 'poisson' THEN 'visits' WHEN 'binary, text' THEN 'answer' ELSE 'size' END,
    options)::bytea AS same FROM model WHERE name IN ('poisson', 'binary, text', 'multiclass, enum') ORDER BY name;
RESET btml.threads;
CREATE TABLE place AS SELECT place, length(place) AS letters FROM trip GROUP BY place;
CREATE TABLE joined AS SELECT x, z, letters, size, visits, log_exposure FROM trip_target JOIN place USING (place) ORDER BY md5(id::text);
CREATE FUNCTION nodes_of(m btml.model) RETURNS text LANGUAGE sql AS $$
    SELECT md5(string_agg(concat_ws(' ', tree, node, threshold, categories, value, rows, class), E'\n' ORDER BY tree, node))
    FROM btml.trees(m) $$;
SELECT o, nodes_of(btml.boost_fit(format('SELECT x, z, letters, log_exposure, %I
    FROM objectives.trip_target JOIN objectives.place USING (place)', target), target, trees => 5, objective => o,
    "offset" => offset_column))
    = nodes_of(btml.boost_fit(format('SELECT x, z, letters, log_exposure, %I FROM objectives.joined', target), target, trees => 5,
    objective => o, "offset" => offset_column)) AS same
FROM (VALUES ('poisson', 'visits', 'log_exposure'::name), ('squared', 'visits', 'log_exposure'), ('multiclass', 'size', NULL)) v(o, target,
    offset_column);
-- An offset is subtracted from a target that is predicted as it is, whether the join's rows are held or not.
SELECT strategy, bool_and(abs(btml.predict(m, t) - btml.predict(plain, t) - log_exposure) < 1e-6) AS shifted
    FROM unnest('{enumerate,factorize}'::text[]) strategy,
    btml.boost_fit('SELECT x, z, letters, log_exposure, number FROM objectives.trip_target JOIN objectives.place USING (place)', 'number',
    trees => 5, max_leaves => 4, strategy => strategy, "offset" => 'log_exposure') m,
    btml.boost_fit('SELECT x, z, letters, number - log_exposure AS number FROM objectives.trip_target JOIN objectives.place USING (place)',
    'number', trees => 5, max_leaves => 4) plain, (SELECT * FROM trip_target JOIN place USING (place)) t
    GROUP BY strategy ORDER BY strategy;
SELECT caught($$SELECT btml.predict(model, r)
    FROM objectives.model, (SELECT x, z, place, at, w, NULL::float8 AS log_exposure FROM objectives.trip LIMIT 1) r
    WHERE name = 'poisson'$$);
SELECT caught($$SELECT btml.predict(model, r) FROM objectives.model, (SELECT x, z, place, at, w FROM objectives.trip LIMIT 1) r
    WHERE name = 'squared, offset'$$);
SELECT caught($$SELECT btml.predict(model, r)
    FROM objectives.model, (SELECT x, z, place, at, w, 'NaN'::float8 AS log_exposure FROM objectives.trip LIMIT 1) r
    WHERE name = 'squared, offset'$$);

-- Order of labels, and which is predicted.
CREATE FUNCTION labels_of(columns text, target text, VARIADIC arguments text[] DEFAULT '{}') RETURNS text LANGUAGE plpgsql AS $$
DECLARE answer text;
BEGIN
    EXECUTE format('SELECT concat_ws('' '', s->''params''->>''objective'', s->''labels'')
        FROM btml.summary(btml.boost_fit(%L, %L, trees => 1%s)) s', 'SELECT x, ' || columns || '
        FROM objectives.trip_target', target, (SELECT string_agg(', ' || a, '') FROM unnest(arguments) a)) INTO answer;
    RETURN answer;
END $$;
SELECT labels_of('late', 'late') AS boolean, labels_of('late', 'late', 'positive => ''false''') AS boolean_positive,
    labels_of('answer', 'answer') AS text, labels_of('place::varchar(9)', 'place') AS varchar,
    labels_of('answer::char(9)', 'answer', 'positive => ''yes''') AS char, labels_of('place::name', 'place') AS name;
SELECT labels_of('size', 'size') AS enum, labels_of('nullif(size, ''medium'') AS size', 'size', 'positive => ''small''') AS enum_of_two,
    labels_of('flag', 'flag') AS zero_and_one, labels_of('flag', 'flag', 'objective => ''binary''', 'positive => ''0''') AS binary,
    labels_of('id % 5 = 0 AS held_out, CASE WHEN id = 5 THEN ''rare'' ELSE answer END AS y', 'y',
    'holdout => ''held_out''') AS only_held_out, labels_of('share', 'share', 'objective => ''binary''') AS shares;
SELECT bool_and(abs(btml.predict(a, t) + btml.predict(b, t) - 1) < 1e-12) AS complementary
    FROM btml.boost_fit('SELECT x, z, answer FROM objectives.trip_target', 'answer', trees => 9, positive => 'yes') a,
    btml.boost_fit('SELECT x, z, answer FROM objectives.trip_target', 'answer', trees => 9, positive => 'no') b, trip_target t;
-- balanced is what weights of rows / (labels * rows of the label) are.
SELECT bool_and(abs(btml.predict(a, t) / btml.predict(b, t) - 1) < 1e-6) AS same
    FROM btml.boost_fit('SELECT x, z, answer FROM objectives.trip_target', 'answer', trees => 5, positive => 'yes', balanced => true) a,
    trip_target t,
    btml.boost_fit('SELECT x, z, answer FROM objectives.trip_target', 'answer', trees => 5, positive => 'yes',
    class_weights => (SELECT jsonb_object_agg(answer, 600.0 / (2 * n))
    FROM (SELECT answer, count(*) AS n FROM trip_target GROUP BY 1) c)) b WHERE t.id % 20 = 0;
-- Predictions never fall as x grows, and never grow as z does.
SELECT o, count(*) AS rows, bool_and(coalesce(p >= below_in_x, true) AND coalesce(p <= below_in_z, true)) AS in_order
    FROM (SELECT o, p, lag(p) OVER (PARTITION BY o, z ORDER BY x) AS below_in_x, lag(p) OVER (PARTITION BY o, x ORDER BY z) AS below_in_z
    FROM (VALUES ('squared', 'number'), ('absolute', 'number'), ('poisson', 'visits'), ('binary', 'flag')) v(o, target),
    btml.boost_fit(format('SELECT x, z, %I FROM objectives.trip_target', target), target, objective => o, trees => 20, min_leaf_rows => 2,
    increasing => '{x}', decreasing => '{z}') m,
    generate_series(0, 6) z, generate_series(0, 10, 0.5) x, LATERAL (SELECT btml.predict(m, ARRAY[x, z])) r(p)) p GROUP BY o ORDER BY o;
SELECT btml.summary(btml.boost_fit('SELECT x, z, number, log_exposure FROM objectives.trip_target', 'number', trees => 1,
    "offset" => 'log_exposure', increasing => '{x}', decreasing => '{z}'))->'features' AS features;

-- Rows are ranked within a query, a column of any type that is no feature, whatever the order of rows.
CREATE TABLE ranked AS SELECT x, z, id % 3 AS relevance, id / 10 AS number, md5((id / 10)::text) AS text, -(id / 10)::float8 AS real
    FROM trip_target;
CREATE TABLE shuffled AS SELECT * FROM ranked ORDER BY md5(x::text || z), text, relevance;
SELECT q, (s->'metrics'->>'train_loss')::float8 < (s->'metrics'->>'baseline_loss')::float8 AS learns,
    jsonb_array_length(s->'features') AS features, nodes_of(a) = nodes_of(b) AS order_free FROM unnest('{number,text,real}'::name[]) q,
    btml.boost_fit(format('SELECT x, z, relevance, %I FROM objectives.ranked', q), 'relevance', objective => 'rank', query => q,
    trees => 5) a, btml.boost_fit(format('SELECT x, z, relevance, %I FROM objectives.shuffled', q), 'relevance', objective => 'rank',
    query => q, trees => 5) b, btml.summary(a) s ORDER BY q;
SELECT caught($$SELECT btml.boost_fit('SELECT x, z, id % 3 AS relevance, nullif(id / 10, 7) AS q FROM objectives.trip_target', 'relevance',
    objective => 'rank', query => 'q')$$);
SELECT caught($$SELECT btml.boost_fit('SELECT x, z, id % 3 AS relevance, id / 10 AS q, log_exposure FROM objectives.trip_target',
    'relevance', objective => 'rank', query => 'q', "offset" => 'log_exposure')$$);
SELECT caught($$SELECT btml.boost_fit('SELECT x, z, id % 3 AS relevance, id / 10 AS q FROM objectives.trip_target', 'relevance',
    objective => 'rank', query => 'q', increasing => '{x}')$$);
SELECT caught($$SELECT btml.boost_fit('SELECT x, late, id / 10 AS q FROM objectives.trip_target', 'late', objective => 'rank',
    query => 'q')$$);

-- Groups: y is boolean, text or a number, with weights, options as jsonb or as text.
SELECT z % 2 AS part, btml.predict(btml.boost_fit_agg(late, ARRAY[x, z]), ARRAY[5, 3]) BETWEEN 0 AND 1 AS boolean,
    btml.predict_probability(btml.boost_fit_agg(size::text, ARRAY[x], '{"trees": 3, "class_weights": {"small": 2}}'), ARRAY[5],
    'small') BETWEEN 0 AND 1 AS text,
    btml.predict(btml.boost_fit_agg(visits, ARRAY[x, z], '{"objective": "poisson", "trees": 5}'::jsonb, exposure), ARRAY[5, 3])
    > 0 AS number, btml.predict_class(btml.boost_fit_agg(answer, ARRAY[x, z], '{"trees": 2}', w), ARRAY[5, 3]) AS class FROM trip_target
    GROUP BY 1 ORDER BY 1;
SELECT nodes_of(btml.boost_fit_agg(late, ARRAY[x, z]))
    = nodes_of(btml.boost_fit('SELECT x, z, late FROM objectives.trip_target', 'late')) AS boolean,
    nodes_of(btml.boost_fit_agg(late, ARRAY[x, z], w))
    = nodes_of(btml.boost_fit('SELECT x, z, late, w FROM objectives.trip_target', 'late', weight => 'w')) AS weighted,
    nodes_of(btml.boost_fit_agg(size::text, ARRAY[x, z], '{"balanced": true}' ORDER BY id))
    = nodes_of(btml.boost_fit('SELECT x, z, size::text AS size FROM objectives.trip_target', 'size', balanced => true)) AS text,
    nodes_of(btml.boost_fit_agg(size::text, ARRAY[x, z], '{"balanced": true}'::jsonb, 1 ORDER BY id DESC))
    = nodes_of(btml.boost_fit_agg(size::text, ARRAY[x, z], '{"balanced": true}')) AS order_free,
    nodes_of(btml.boost_fit_agg(share, ARRAY[x, z], '{"objective": "binary"}', 1))
    = nodes_of(btml.boost_fit('SELECT x, z, share FROM objectives.trip_target', 'share', objective => 'binary')) AS share,
    nodes_of(btml.boost_fit_agg(answer, ARRAY[x, z], '{"positive": "no", "class_weights": {"yes": 2}}'))
    = nodes_of(btml.boost_fit('SELECT x, z, answer FROM objectives.trip_target', 'answer', positive => 'no',
    class_weights => '{"yes": 2}')) AS positive FROM trip_target;
-- Parallel plans combine states, whatever labels the workers met first.
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2;
CREATE TABLE wide AS SELECT id, x, z, size::text AS size, w FROM trip_target ORDER BY size, id;
ANALYZE wide;
CREATE TABLE by_workers AS SELECT btml.boost_fit_agg(size, ARRAY[x, z], '{"trees": 5}', w)::bytea AS m FROM wide;
SET max_parallel_workers_per_gather = 0;
SELECT m = (SELECT btml.boost_fit_agg(size, ARRAY[x, z], '{"trees": 5}', w)::bytea FROM wide) AS same FROM by_workers;
RESET max_parallel_workers_per_gather; RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size;
-- A group with one label, or without events, has a constant model: one NOTICE a call.
SET enable_hashagg = off;
SELECT id % 3 AS part, round(btml.predict(btml.boost_fit_agg(id % 3 = 0, ARRAY[x]), ARRAY[1])::numeric, 6) AS p FROM trip
    GROUP BY 1 ORDER BY 1;
SELECT id % 3 AS part, btml.predict_class(m, ARRAY[1]) AS class, btml.predict_probabilities(m, ARRAY[1]) AS certain,
    btml.predict_leaf(m, ARRAY[1]) AS leaves, (btml.to_sql(m) ~ 'SELECT') AS sql
    FROM (SELECT id % 3 AS id, btml.boost_fit_agg((id % 3)::text, ARRAY[x], '{"positive": "1", "objective": "binary"}') AS m FROM trip
    GROUP BY id % 3) g ORDER BY 1;
SELECT part, round(btml.predict(m, ARRAY[1])::numeric, 6) AS mean, s->'metrics' AS metrics, s->'rows' AS rows,
    s->>'strategy_reason' AS reason
    FROM (SELECT id % 2 AS part, btml.boost_fit_agg(id % 2, ARRAY[x], '{"objective": "tweedie", "trees": 1}') AS m FROM trip
    GROUP BY id % 2) g, btml.summary(m) s WHERE part = 0;
SELECT btml.predict_class(btml.boost_fit_agg(id % 1, ARRAY[x], '{"objective": "multiclass", "class_weights": {"0": 2, "9": 3}}'), ARRAY[1])
    FROM trip;
-- The offset of another table, by the way that the error's hint tells.
SELECT caught($$SELECT btml.boost_fit('SELECT y, x, e FROM (SELECT id AS y, x, id % 3 AS k FROM objectives.trip) t
    JOIN (SELECT k, ln(k + 1.0) AS e FROM generate_series(0, 2) k) s USING (k)', 'y', objective => 'poisson', "offset" => 'e')$$);
SELECT btml.summary(btml.boost_fit('SELECT * FROM (SELECT y, x, e FROM (SELECT id AS y, x, id % 3 AS k
    FROM objectives.trip) t JOIN (SELECT k, ln(k + 1.0) AS e FROM generate_series(0, 2) k) s USING (k) OFFSET 0) u', 'y',
    objective => 'poisson', "offset" => 'e', trees => 1))->'strategy' AS strategy;
-- A join that is too large to hold is sampled, whatever makes its target one of labels.
CREATE TABLE many AS SELECT i % 10 AS k, i % 3 = 0 AS flag, (i % 3)::text AS label, i % 7 AS a FROM generate_series(1, 20000) i;
CREATE TABLE more AS SELECT i % 10 AS k, i % 11 AS b FROM generate_series(1, 20000) i;
SET btml.memory_limit = '24MB';
SELECT target, s->>'strategy' AS strategy, s->>'strategy_reason' AS reason, s->'join_rows' AS join_rows, s->'sample_rows' AS sample_rows
    FROM unnest('{flag,label}'::name[]) target,
    btml.boost_fit(format('SELECT %I, a, b FROM objectives.many JOIN objectives.more USING (k)', target), target, trees => 1) m,
    btml.summary(m) s ORDER BY target;
-- So is one whose trees would not fit either without it, although the objective factorises.
SET btml.memory_limit = '12MB';
SELECT s->>'strategy' AS strategy, s->>'strategy_reason' AS reason, s->'sample_rows' AS sample_rows
    FROM btml.boost_fit('SELECT a, b FROM objectives.many JOIN objectives.more USING (k)', 'a') m, btml.summary(m) s;
RESET btml.memory_limit;
-- Leaves of every objective are bounded by max_step.
SELECT objective, max(abs(value)) BETWEEN 0.0099 AND 0.010001 AS bounded
    FROM unnest('{squared,absolute,huber,quantile,poisson,binary}'::text[]) objective,
    LATERAL (SELECT btml.boost_fit('SELECT x, share FROM objectives.trip_target', 'share', objective => objective, learning_rate => 1,
    trees => 3, max_step => 0.01)) f(m), btml.trees(m) GROUP BY objective ORDER BY objective;
SELECT caught($$SELECT btml.boost_fit('SELECT x, number FROM objectives.trip_target', 'number', alpha => 0.9)$$);
-- Rows that differ by their weight alone are ranked in one order.
CREATE TABLE weighed AS SELECT id / 30 AS q, z, id % 3 AS relevance, (1 + id % 5)::float8 AS w FROM trip_target;
CREATE TABLE weighed_backwards AS SELECT * FROM weighed ORDER BY w DESC, z;
SELECT nodes_of(btml.boost_fit('objectives.weighed', 'relevance', objective => 'rank', query => 'q', weight => 'w', trees => 5))
    = nodes_of(btml.boost_fit('objectives.weighed_backwards', 'relevance', objective => 'rank', query => 'q', weight => 'w',
    trees => 5)) AS order_free;
-- What tells NULL apart has no number to compare with.
SELECT regexp_replace(btml.to_sql(btml.boost_fit('SELECT x, (x IS NULL)::int AS y FROM objectives.trip_target', 'y',
    objective => 'squared', trees => 1), 'ansi', NULL), '-?[0-9.]+(e-?[0-9]+)?', 'n', 'g') AS sql;

SET client_min_messages = warning;
DROP SCHEMA objectives CASCADE;
