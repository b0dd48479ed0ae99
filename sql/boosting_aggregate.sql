-- The aggregate btml.boost_fit_agg: against btml.boost_fit on each group, in parallel, over windows.
CREATE SCHEMA boost_fit_agg;
SET search_path = boost_fit_agg, public;
SET client_min_messages = warning;

\set caught `echo "${PG_ABS_SRCDIR:-.}/sql/include/caught.sql"`
\i :caught
CREATE FUNCTION same_trees(a btml.model, b btml.model) RETURNS boolean LANGUAGE sql AS $$
    SELECT NOT EXISTS ((SELECT * FROM btml.trees(a) EXCEPT ALL SELECT * FROM btml.trees(b))
    UNION ALL (SELECT * FROM btml.trees(b) EXCEPT ALL SELECT * FROM btml.trees(a)))
        AND btml.summary(a)->'base' = btml.summary(b)->'base' AND btml.summary(a)->'rows' = btml.summary(b)->'rows'
        AND btml.summary(a)->'rows_skipped' = btml.summary(b)->'rows_skipped' $$;

CREATE TABLE point (id int PRIMARY KEY, g int, h int, x1 float8, x2 float8, y float8);
INSERT INTO point SELECT i, i % 3, i % 2, CASE WHEN i % 11 <> 0 THEN i * 7919 % 101 END, CASE i % 13 WHEN 1 THEN 'NaN'
    WHEN 2 THEN 'Infinity' ELSE (i * 104729 % 89)::float8 END,
    CASE WHEN i % 17 <> 0 THEN i * 7919 % 101 / 10.0 + (i % 3) * (i * 104729 % 89) / 20.0 + i % 2 END FROM generate_series(1, 1200) i;
ANALYZE point;

-- One model a group: the trees that btml.boost_fit grows on the group's rows.
CREATE TABLE fitted AS SELECT g, btml.boost_fit_agg(y, ARRAY[x1, x2], '{"trees": 8, "max_leaves": 6}') AS model, count(*) AS n,
    count(y) AS trained FROM point GROUP BY g;
SELECT g, same_trees(model, btml.boost_fit(format('SELECT x1, x2, y FROM boost_fit_agg.point WHERE g = %s', g), 'y', trees => 8,
    max_leaves => 6)) AS as_boost_fit,
    s->'rows' = to_jsonb(trained) AS rows, s->'rows_skipped' = to_jsonb(n - trained) AS rows_skipped, s->>'target' AS target,
    s->'features' AS features, s->>'strategy_reason' AS reason
FROM fitted, btml.summary(model) s ORDER BY g;
SELECT count(*) AS rows, bool_and(btml.predict(model, ARRAY[x1, x2]) = btml.predict(model, p.*)) AS by_name
    FROM fitted JOIN point p USING (g);
-- Every option; those that are left out have the defaults of btml.boost_fit.
SELECT same_trees((SELECT btml.boost_fit_agg(y, ARRAY[x1, x2]) FROM point),
    btml.boost_fit('SELECT x1, x2, y FROM boost_fit_agg.point', 'y')) AS defaults,
    same_trees((SELECT btml.boost_fit_agg(y, ARRAY[x1, x2], '{}') FROM point),
    btml.boost_fit('SELECT x1, x2, y FROM boost_fit_agg.point', 'y')) AS none;
SELECT same_trees((SELECT btml.boost_fit_agg(y, ARRAY[x1, x2],
    '{"trees": 3, "learning_rate": 0.5, "max_leaves": 9, "max_depth": 4, "min_leaf_rows": 2.5, "l2": 1.5, "min_gain": 0.25, "max_bins": 16,
        "feature_fraction": 0.5, "criterion": "mse_sum", "seed": -7}') FROM point),
    btml.boost_fit('SELECT x1, x2, y FROM boost_fit_agg.point', 'y', trees => 3, learning_rate => 0.5, max_leaves => 9, max_depth => 4,
    min_leaf_rows => 2.5, l2 => 1.5, min_gain => 0.25, max_bins => 16, feature_fraction => 0.5, criterion => 'mse_sum', seed => -7));
SELECT btml.summary(btml.boost_fit_agg(y, ARRAY[x1, x2],
    '{"trees": 3, "learning_rate": 0.5, "max_leaves": 9, "max_depth": 4, "min_leaf_rows": 2.5, "l2": 1.5, "min_gain": 0.25, "max_bins": 16,
        "row_fraction": 0.75, "feature_fraction": 0.5, "criterion": "mse_sum", "seed": -7}'))->'params' FROM point;

-- Workers give the same bytes as one process, whatever the order of the rows.
CREATE FUNCTION digests(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text;
BEGIN
    EXECUTE format('SELECT string_agg(md5(m::bytea), '' '' ORDER BY g) FROM (%s) q(g, m)', query) INTO result;
    RETURN result;
END $$;
CREATE FUNCTION plan_has(query text, what text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS off) ' || query LOOP IF line ~ what THEN RETURN true; END IF; END LOOP;
    RETURN false;
END $$;
CREATE TABLE query (name text PRIMARY KEY, query text);
INSERT INTO query VALUES ('all', 'SELECT 0, btml.boost_fit_agg(y, ARRAY[x1, x2]) FROM boost_fit_agg.point'),
    ('group by', 'SELECT g, btml.boost_fit_agg(y, ARRAY[x1, x2], ''{"trees": 5}'') FROM boost_fit_agg.point GROUP BY g'),
    ('filter', 'SELECT h, btml.boost_fit_agg(y, ARRAY[x1, x2]) FILTER (WHERE id % 5 < 2) FROM boost_fit_agg.point GROUP BY h'),
    ('groups of workers without rows',
    'SELECT g, btml.boost_fit_agg(y, ARRAY[x1, x2]) FILTER (WHERE id < 100) FROM boost_fit_agg.point GROUP BY g');
CREATE TABLE serial AS SELECT name, digests(query) FROM query;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 3;
SELECT name, plan_has(query, 'Partial') AS partial, plan_has(query, 'Gather') AS workers, digests(query) = digests AS same
    FROM query JOIN serial USING (name) ORDER BY name;
SET parallel_leader_participation = off;
SELECT name, digests(query) = digests AS same FROM query JOIN serial USING (name) ORDER BY name;
RESET parallel_leader_participation; RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size;
    RESET max_parallel_workers_per_gather;
SELECT digests('SELECT 0, btml.boost_fit_agg(y, ARRAY[x1, x2] ORDER BY md5(id::text)) FROM boost_fit_agg.point') = digests AS order_by
    FROM serial WHERE name = 'all';
-- Partitions are aggregated one by one and combined.
CREATE TABLE parted (LIKE point) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (1) TO (500);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (500) TO (5000);
INSERT INTO parted SELECT * FROM point;
ANALYZE parted;
SET enable_partitionwise_aggregate = on;
SELECT plan_has(replace(query, 'point', 'parted'), 'Partial') AS partial, digests(replace(query, 'point', 'parted')) = digests AS same
    FROM query JOIN serial USING (name) WHERE name = 'group by';
RESET enable_partitionwise_aggregate;

-- DISTINCT, grouping sets, hashed and sorted groups.
SELECT same_trees((SELECT btml.boost_fit_agg(DISTINCT y, ARRAY[x1, x2])
    FROM (SELECT * FROM point UNION ALL SELECT * FROM point) twice), (SELECT btml.boost_fit_agg(y, ARRAY[x1, x2])
    FROM (SELECT DISTINCT y, x1, x2 FROM point) once)) AS is_distinct;
SELECT g, h, same_trees(m, btml.boost_fit(format('SELECT x1, x2, y FROM boost_fit_agg.point WHERE %s AND %s',
    coalesce('g = ' || g, 'true'), coalesce('h = ' || h, 'true')), 'y', trees => 3)) AS same
FROM (SELECT g, h, btml.boost_fit_agg(y, ARRAY[x1, x2], '{"trees": 3}') AS m FROM point GROUP BY ROLLUP (g, h)) r ORDER BY g, h;
SELECT count(DISTINCT md5(m::bytea)) AS models FROM (SELECT g, h, btml.boost_fit_agg(y, ARRAY[x1, x2], '{"trees": 3}') AS m FROM point
    GROUP BY CUBE (g, h)) c;
SET enable_hashagg = off;
SELECT digests(query) = digests AS sorted FROM query JOIN serial USING (name) WHERE name = 'group by';
RESET enable_hashagg;

-- As a window function: the whole partition, a growing frame, a moving frame.
SELECT bool_and(md5(m::bytea) = md5(model::bytea)) AS whole
    FROM (SELECT g, btml.boost_fit_agg(y, ARRAY[x1, x2], '{"trees": 8, "max_leaves": 6}') OVER (PARTITION BY g) AS m FROM point
    WHERE g < 3) w JOIN fitted USING (g);
CREATE TABLE few AS SELECT * FROM point WHERE id <= 40;
SELECT count(*) AS frames, bool_and(same_trees(m, btml.boost_fit(format('SELECT x1, x2, y FROM boost_fit_agg.few WHERE id <= %s', id), 'y',
    trees => 2, min_leaf_rows => 3))) AS growing
FROM (SELECT id, btml.boost_fit_agg(y, ARRAY[x1, x2], '{"trees": 2, "min_leaf_rows": 3}') OVER (ORDER BY id) AS m FROM few) w;
SELECT count(*) AS frames, bool_and(same_trees(m,
    btml.boost_fit(format('SELECT x1, x2, y FROM boost_fit_agg.few WHERE id BETWEEN %s AND %s', id - 9, id), 'y', trees => 2,
    min_leaf_rows => 3))) AS moving
FROM (SELECT id, btml.boost_fit_agg(y, ARRAY[x1, x2], '{"trees": 2, "min_leaf_rows": 3}') OVER (ORDER BY id ROWS BETWEEN 9 PRECEDING
    AND CURRENT ROW) AS m FROM few) w;

-- NULL: a row without y is skipped, an element of x is a missing value, x and options must be there; no rows, no model.
SELECT btml.boost_fit_agg(y, ARRAY[x1, x2]) IS NULL AS no_rows FROM point WHERE false;
SELECT btml.boost_fit_agg(NULL, ARRAY[x1, x2]) IS NULL AS no_targets FROM point;
SELECT btml.boost_fit_agg(NULL, NULL) IS NULL AS nothing FROM point;
SELECT count(*) FROM (SELECT btml.boost_fit_agg(y, ARRAY[x1, x2]) FROM point WHERE false GROUP BY g) none;
SELECT s->'rows' AS rows, s->'rows_skipped' AS skipped, btml.predict(m, ARRAY[NULL]::float8[]) AS at_null,
    btml.predict(m, ARRAY[1.0]) AS at_1
    FROM (SELECT btml.boost_fit_agg(y, ARRAY[x], '{"trees": 1, "learning_rate": 1, "min_leaf_rows": 1}') AS m
    FROM (VALUES (2.0, NULL), (4, 1.0), (NULL, 3), (NULL, NULL)) v(y, x)) a, btml.summary(m) s;

-- A group of rows without any weight has no model, and the call goes on: one NOTICE for all of them.
SET client_min_messages = notice;
SELECT g, btml.predict(btml.boost_fit_agg(y, ARRAY[x], g::float8), ARRAY[1.0]) AS at_1
    FROM (VALUES (0, 1.0, 1.0), (0, 2, 2), (1, 5, 1), (1, 5, 2), (0, 3, 3)) v(g, y, x) GROUP BY g ORDER BY g;
SELECT g, btml.boost_fit_agg(y, ARRAY[x], 0) IS NULL AS none FROM (VALUES (0, 'a', 1.0), (0, 'b', 2), (1, 'a', 1), (1, 'b', 2)) v(g, y, x)
    GROUP BY g ORDER BY g;
SELECT g, btml.boost_fit_agg(y, ARRAY[x], '{"class_weights": {"a": 0, "b": 0}}') IS NULL AS none
    FROM (VALUES (0, 'a', 1.0), (0, 'b', 2), (1, 'a', 1), (1, 'c', 2)) v(g, y, x) GROUP BY g ORDER BY g;
SET client_min_messages = warning;

-- Errors
SELECT arguments, caught(format('SELECT btml.boost_fit_agg(%s) FROM (VALUES (1, 1.5, 2.5), (2, 1.0, 3.0)) v(i, a, b)', arguments))
    FROM unnest(ARRAY['a, NULL', 'a, ARRAY[b], NULL', 'a, ''{}''', 'a, CASE i WHEN 1 THEN ARRAY[a] ELSE ARRAY[a, b] END',
    'a, ARRAY[[a], [b]]', '''NaN''::float8, ARRAY[b]', 'CASE i WHEN 2 THEN ''-Infinity''::float8 ELSE a END, ARRAY[b]', '1e200, ARRAY[b]',
    'a, array_fill(1.0::float8, ARRAY[65536])', '''x'', ARRAY[b]']) arguments;
SELECT options, caught(format('SELECT btml.boost_fit_agg(a, ARRAY[b], %L) FROM (VALUES (1.5, 2.5), (1.0, 3.0)) v(a, b)', options))
    FROM unnest(ARRAY['{"treees": 3}', '{"holdout": "h"}', '{"early_stopping": 3}', '{"Trees": 3}', '{"trees": 0}', '{"trees": 2.5}',
    '{"trees": 10.0}', '{"seed": 9223372036854775807}', '{"trees": 1e20}',
    '{"trees": "many"}', '{"trees": null}', '{"trees": [3]}', '{"l2": true}', '{"l2": 1e999}', '{"criterion": 5}', '{"criterion": "gini"}',
    '{"criterion": {"a": 1}}', '{"seed": 9223372036854775808}', '{"": 1}', '[1, 2]', '5', '"trees"', 'null', 'trees']) options;
SELECT caught($$SELECT btml.boost_fit_agg(a, ARRAY[b], CASE i WHEN 1 THEN '{"trees": 3}'::jsonb ELSE '{"trees": 4}' END)
    FROM (VALUES (1, 1.5, 2.5), (2, 1.0, 3.0)) v(i, a, b)$$);
SELECT caught($$SELECT btml.boost_fit_agg(a, ARRAY[b], CASE i WHEN 1 THEN '{"trees": 3, "l2": 1}'::jsonb ELSE '{"l2": 1, "trees": 3}' END)
    FROM (VALUES (1, 1.5, 2.5), (2, 1.0, 3.0)) v(i, a, b)$$) AS order_of_keys;
-- The limit of memory holds while rows are collected, too.
SET btml.memory_limit = '1MB';
SELECT regexp_replace(caught('SELECT btml.boost_fit_agg(i, ARRAY[i, i, i]) FROM generate_series(1, 100000) i'), 'required is \d+',
    'required is N');
RESET btml.memory_limit;

-- The transition type: its functions are for the aggregate, its text is no way round any check.
SELECT caught(call) FROM unnest(ARRAY['SELECT btml_internal.training_rows_accumulate(NULL, 1, ARRAY[1.0])',
    'SELECT btml_internal.boost_fit_accumulate(NULL, 1, ARRAY[1.0], ''{}'')']) call;
CREATE FUNCTION little_endian(value bigint, bytes int) RETURNS bytea LANGUAGE sql AS $$
    SELECT string_agg(decode(lpad(to_hex((value >> (8 * i)) & 255), 2, '0'), 'hex'), '' ORDER BY i) FROM generate_series(0, bytes - 1) i $$;
CREATE FUNCTION reversed(bytes bytea) RETURNS bytea LANGUAGE sql AS $$ SELECT string_agg(substr(bytes, i, 1), '' ORDER BY i DESC)
    FROM generate_series(1, length(bytes)) i $$;
CREATE FUNCTION state(features bigint, skipped bigint, options text, rows bigint,
    VARIADIC numbers float8[] DEFAULT '{}') RETURNS bytea LANGUAGE sql AS $$
    SELECT little_endian(features, 4) || little_endian(skipped, 8) || CASE WHEN options IS NULL THEN '\x00'::bytea
    ELSE '\x01' END || little_endian(coalesce(length(options), 0), 4)
        || convert_to(coalesce(options, ''), 'SQL_ASCII') || little_endian(rows, 8)
        || coalesce((SELECT string_agg(reversed(float8send(x)), '' ORDER BY i) FROM unnest(numbers) WITH ORDINALITY u(x, i)), '') $$;
CREATE FUNCTION text_of(bytes bytea) RETURNS text LANGUAGE sql AS $$ SELECT replace(encode(bytes, 'base64'), E'\n', '') $$;
SELECT text_of(s) = (text_of(s)::btml.training_rows)::text AS round_trip, btml_internal.training_rows_send(text_of(s)::btml.training_rows)
    = s AS sends,
    btml.predict(btml_internal.boost_fit_final(text_of(s)::btml.training_rows), ARRAY[1.0]) AS mean
    FROM state(1, 4, '{"trees": 2}', 2, 3, 1, 5, 2) s;
SELECT what, caught(format('SELECT btml_internal.boost_fit_final(%L::btml.training_rows)', text_of(s))) FROM (VALUES
    ('empty', ''::bytea), ('no features', state(0, 0, NULL, 0)), ('too many features', state(65536, 0, NULL, 0)), ('too few numbers',
    state(1, 0, NULL, 2, 1, 2, 3)), ('too many numbers', state(1, 0, NULL, 1, 1, 2, 3)),
    ('rows that overflow', state(1, 0, NULL, 1152921504606846976, 1, 2)), ('rows without features', state(4294967295, 0, NULL, 1, 1, 2)),
    ('NaN target', state(1, 0, NULL, 1, 'NaN', 2)), ('infinite target', state(1, 0, NULL, 1, '-Infinity', 2)),
    ('unknown option', state(1, 0, '{"tree": 2}', 1, 1, 2)), ('no JSON', state(1, 0, '{', 1, 1, 2)), ('NaN feature',
    state(1, 0, NULL, 1, 1, 'NaN')), ('no rows', state(1, 7, NULL, 0)), ('only skipped', state(4294967295, 7, NULL, 0)),
    ('NUL in options', set_byte(state(1, 0, '{"tree": 2}', 1, 1, 2), 20, 0))) v(what, s);
SELECT DISTINCT caught(format('SELECT %L::btml.training_rows', text_of(substr(s, 1, n)))) LIKE '22P03: invalid btml.training_rows value%'
    AS refused FROM state(1, 4, '{"trees": 2}', 2, 3, 1, 5, 2) s, generate_series(0, length(s) - 1) n;
SELECT DISTINCT left(caught(format('SELECT btml_internal.boost_fit_final(%L::btml.training_rows)',
    text_of(set_byte(s, n, get_byte(s, n) # flip)))), 8) AS outcome
    FROM state(1, 4, '{"trees": 2}', 2, 3, 1, 5, 2) s, generate_series(0, length(s) - 1) n, unnest(ARRAY[1, 128, 255]) flip ORDER BY 1;
SELECT caught('SELECT ''!''::btml.training_rows'), btml_internal.boost_fit_final(NULL) IS NULL AS final_of_null,
    btml_internal.training_rows_combine(NULL, NULL) IS NULL AS combine_of_nulls;
SELECT caught(format('SELECT btml_internal.training_rows_combine(%L, %L)', text_of(s), text_of(s))) FROM state(1, 4, NULL, 1, 3, 1) s;
DROP SCHEMA boost_fit_agg CASCADE;
