-- What btml.cross_validate and btml.tune refuse.
CREATE SCHEMA validation_errors;
SET search_path = validation_errors;
\set caught `echo "${PG_ABS_SRCDIR:-.}/sql/include/caught.sql"`
\i :caught
CREATE TABLE t AS SELECT i AS id, i % 7 AS a, (i * 31 % 11)::float8 AS b, (i % 3)::text AS c, i % 4 AS part,
    i % 5 = 0 AS held, (i % 7) * (i * 31 % 11) AS y, i % 2 = 0 AS yes
FROM generate_series(1, 200) i;
CREATE FUNCTION validated(rest text) RETURNS text LANGUAGE sql AS $$
    SELECT caught(format('SELECT * FROM btml.cross_validate(%s)', rest)) $$;
CREATE FUNCTION tuned(rest text) RETURNS text LANGUAGE sql AS $$ SELECT caught(format('SELECT * FROM btml.tune(%s)', rest)) $$;
CREATE FUNCTION with_space(space text) RETURNS text LANGUAGE sql AS $$
    SELECT tuned(format($q$'t', 'y', %L, 3, options => '{"trees": 2}'$q$, space)) $$;
\pset format unaligned
\pset tuples_only

-- NULL, and arguments that are out of range.
SELECT validated($$NULL, 'y'$$);
SELECT validated($$'t', NULL$$);
SELECT validated($$'t', 'y', NULL$$);
SELECT validated($$'t', 'y', method => NULL$$);
SELECT validated($$'t', 'y', seed => NULL$$);
SELECT validated($$'t', 'y', 1$$);
SELECT validated($$'t', 'y', 1001$$);
SELECT validated($$'t', 'y', -5$$);
SELECT validated($$'t', 'y', 201$$);
SELECT validated($$'t', 'y', method => 'forest'$$);
SELECT validated($$'t', 'y', metric => 'auc'$$);
SELECT validated($$'t', 'y', metric => 'mse'$$);
SELECT validated($$'t', 'y', metric => 'mean_nll'$$);
SELECT validated($$'t', 'y', method => 'gp', metric => 'auc'$$);
SELECT validated($$'t', 'yes', metric => 'rmse'$$);
SELECT validated($$'t', 'y', options => '[]'$$);
SELECT validated($$'t', 'y', options => NULL, folds => 2$$);
SELECT tuned($$'t', 'y', NULL$$);
SELECT tuned($$'t', 'y', '{"l2": [1]}', 0$$);
SELECT tuned($$'t', 'y', '{"l2": [1]}', 1001$$);
SELECT tuned($$'t', 'y', '{"l2": [1]}', NULL$$);

-- Columns.
SELECT validated($$'t', 'z'$$);
SELECT validated($$'t', 'y', fold => 'prat'$$);
SELECT validated($$'t', 'y', fold => 'y'$$);
SELECT validated($$'t', 'y', fold => 'part', options => '{"features": ["a", "part"]}'$$);
SELECT validated($$'t', 'y', fold => 'held', options => '{"holdout": "held"}'$$);
SELECT validated($$'t', 'y', fold => 'part', options => '{"weight": "part"}'$$);
SELECT validated($$'t', 'y', options => '{"holdout": "a"}'$$);
SELECT validated($$'t', 'y', options => '{"exclude": ["aa"]}'$$);
SELECT tuned($$'t', 'y', '{"l2": [1]}', holdout => 'hold'$$);
SELECT tuned($$'t', 'y', '{"l2": [1]}', holdout => 'held', options => '{"holdout": "yes"}'$$);
SELECT validated($$'SELECT a, y, 1 AS part FROM t', 'y', fold => 'part'$$);
SELECT validated($$'SELECT a, y, NULL::text AS part FROM t', 'y', fold => 'part'$$);
-- Rows of weight 0 are in no fold.
SELECT validated($$'SELECT a, y, part, 0 AS w FROM t', 'y', fold => 'part', options => '{"weight": "w"}'$$);
SELECT tuned($$'SELECT a, y, part, (part = 0)::int AS w FROM t', 'y', '{"l2": [0, 1]}', fold => 'part', options => '{"weight": "w"}'$$);
SELECT validated($$'SELECT a, y, id AS part FROM t, generate_series(1, 6) g', 'y', fold => 'part', options => '{"trees": 1}'$$);
SELECT validated($$'SELECT i % 7 AS a, i AS part, i AS y FROM generate_series(1, 2000) i', 'y', fold => 'part'$$);
SELECT validated($$'SELECT a, y, part, part = 1 AS held FROM t WHERE part < 2', 'y', fold => 'part', options => '{"holdout": "held"}'$$);
SELECT validated($$'SELECT a, y, g AS part FROM t, generate_series(1, 3) g', 'y', fold => 'part'$$);
SELECT validated($$'SELECT a, y, nullif(g, 3) AS part FROM t, generate_series(2, 3) g', 'y', fold => 'part'$$);
SELECT validated($$'SELECT a, y, id % 3 AS part, g = 2 AS held FROM t, generate_series(1, 2) g', 'y', fold => 'part',
    options => '{"holdout": "held"}'$$);
CREATE TABLE orders AS SELECT i AS o, i * 37 % 101 AS y, i % 3 AS part FROM generate_series(1, 50) i;
CREATE TABLE lines AS SELECT o, g AS line, (o * 7 + g * 2) % 5 = 0 AS held, o % 5 = 0 AS order_held FROM orders, generate_series(1, 2) g;
SELECT validated($$'SELECT part, line, held, y FROM orders JOIN lines USING (o)', 'y', options => '{"holdout": "held"}'$$);
SELECT validated($$'SELECT part, line, held, y FROM orders JOIN lines USING (o)', 'y', fold => 'part', options => '{"holdout": "held"}'$$);
SELECT validated($$'SELECT part, line, held, y FROM orders JOIN lines USING (o)', 'y', method => 'gp', options => '{"holdout": "held"}'$$);
SELECT tuned($$'SELECT part, line, held, y FROM orders JOIN lines USING (o)', 'y', '{"l2": [0, 1]}', holdout => 'held'$$);
SELECT validated($$'SELECT line, order_held, y FROM orders JOIN lines USING (o)', 'y',
    options => '{"holdout": "order_held", "trees": 1}'$$);
SELECT validated($$'SELECT i AS a, i AS y, i = 7 AS held FROM generate_series(1, 50) i', 'y',
    options => '{"holdout": "held", "trees": 1}'$$);
SELECT validated($$'SELECT a, y, true AS held FROM t', 'y', options => '{"holdout": "held"}'$$);
SELECT validated($$'SELECT a, y, part, true AS held FROM t', 'y', fold => 'part', options => '{"holdout": "held"}'$$);

-- Sources.
SELECT validated($$'SELECT a, y FROM t WHERE false', 'y'$$);
SELECT validated($$'SELECT a, y FROM t LIMIT 1', 'y'$$);
SELECT validated($$'SELECT a, y FROM t LIMIT 1', 'y', method => 'gp'$$);
SELECT validated($$'SELECT a, NULL::int AS y FROM t', 'y'$$);
SELECT validated($$'SELECT a, ''NaN''::float8 AS y FROM t', 'y'$$);
SELECT validated($$'SELECT a, ''Infinity''::float8 AS y FROM t', 'y', method => 'gp'$$);
SELECT validated($$'SELECT y FROM t', 'y'$$);
SELECT validated($$'nowhere', 'y'$$);
SELECT validated($$'t', 'c', method => 'gp'$$);
SELECT validated($$'SELECT a, 1 AS y FROM t', 'y', options => '{"objective": "binary"}'$$);
SELECT validated($$'SELECT a, id <= 3 AS y, id <= 3 AS part FROM t', 'y', fold => 'part'$$);
SELECT validated($$'SELECT a, id % 2 = 0 AND id < 100 AS y, id < 100 AS part FROM t', 'y', fold => 'part', metric => 'auc'$$);
SELECT validated($$'SELECT a, id <= 3 AS y FROM t', 'y', metric => 'auc', options => '{"trees": 1}'$$);
SELECT validated($$'SELECT a, id <= 3 AS y FROM t', 'y', metric => 'average_precision', options => '{"trees": 1}'$$);
SELECT validated($$'SELECT a, id <= 1 AS y FROM t', 'y', options => '{"trees": 1}'$$);
SELECT validated($$'SELECT a, id > 3 AS y FROM t', 'y', 2, metric => 'auc', options => '{"trees": 1}'$$);
SELECT validated($$'SELECT a, CASE id WHEN 1 THEN ''rare'' ELSE c END AS y FROM t', 'y', options => '{"trees": 1}'$$);
SELECT validated($$'SELECT a, part, c || part AS y FROM t', 'y', fold => 'part', options => '{"trees": 1}'$$);
-- A fold of very many values is refused before they are sorted.
SELECT validated($$'SELECT i % 7 AS a, (i::bigint * 7919 % 300007)::numeric AS part, i AS y FROM generate_series(1, 300000) i', 'y',
    fold => 'part'$$);

-- Options of fits.
SELECT validated($$'t', 'y', options => '{"n_estimators": 5}'$$);
SELECT validated($$'t', 'y', options => '{"num_threads": 2}'$$);
SELECT validated($$'t', 'y', method => 'gp', options => '{"n_jobs": -1}'$$);
SELECT with_space('{"nthread": [1, 2]}');
SELECT validated($$'t', 'y', options => '{"trees": 0}'$$);
SELECT validated($$'t', 'y', options => '{"strategy": "factorize"}'$$);
SELECT validated($$'t', 'y', options => '{"fold": "part"}'$$);
SELECT validated($$'t', 'y', metric => 'mae', options => '{"metric": "rmse"}'$$);
SELECT validated($$'t', 'y', 2, metric => 'mae', options => '{"metric": "mae", "trees": 2}'$$);
SELECT validated($$'t', 'y', 2, options => '{"seed": 5, "trees": 2}', seed => 3$$);
SELECT validated($$'t', 'y', method => 'gp', options => '{"trees": 5}'$$);
SELECT validated($$'t', 'y', options => '{"query": "part"}'$$);
SELECT validated($$'t', 'y', options => '{"objective": "rank"}'$$);
SELECT validated($$'t', 'y', 5, options => '{"objective": "rank", "query": "part", "trees": 2}'$$);
SELECT validated($$'t', 'y', options => '{"sketch_size": 5}'$$);
SELECT validated($$'t', 'y', options => '{"alpha": 0.5}'$$);
SET btml.memory_limit = '1MB';
SELECT regexp_replace(validated($$'SELECT i % 1000 AS a, i % 77 AS b, i % 7 AS y FROM generate_series(1, 30000) i', 'y'$$),
    '\d+ (bytes|kB|MB)', 'N \1', 'g');
RESET btml.memory_limit;

-- Spaces.
SELECT with_space('{}');
SELECT with_space('[1, 2]');
SELECT with_space('5');
SELECT with_space('{"l2": 5}');
SELECT with_space('{"l2": null}');
SELECT with_space('{"l2": []}');
SELECT with_space('{"l2": {}}');
SELECT with_space('{"l2": {"from": 1}}');
SELECT with_space('{"l2": {"to": 1}}');
SELECT with_space('{"l2": {"from": 2, "to": 1}}');
SELECT with_space('{"l2": {"from": "1", "to": 2}}');
SELECT with_space('{"l2": {"from": [1], "to": 2}}');
SELECT with_space('{"l2": {"from": 1, "to": 1e400}}');
SELECT with_space('{"l2": {"from": -1, "to": 1}}');
SELECT with_space('{"l2": {"from": 0, "to": 1, "scale": "log"}}');
SELECT with_space('{"l2": {"from": 0, "to": 1, "scale": "sqrt"}}');
SELECT with_space('{"l2": {"from": 0, "to": 1, "scale": 2}}');
SELECT with_space('{"l2": {"from": 0, "to": 1, "step": 0.1}}');
SELECT with_space('{"l2": [1, [2]]}');
SELECT with_space('{"l2": [1, {"from": 1}]}');
SELECT with_space('{"l2": [1, -1]}');
SELECT with_space('{"l2": [1, "x"]}');
SELECT with_space('{"l2": [null]}');
SELECT with_space('{"max_leaves": {"from": 2.5, "to": 8}}');
SELECT with_space('{"max_leaves": {"from": 2, "to": 1e12}}');
SELECT with_space('{"max_leaves": {"from": 0, "to": 8}}');
SELECT with_space('{"max_leaves": {"from": 1, "to": 8}}');
SELECT with_space('{"max_leaves": {"from": 0, "to": 0}}');
SELECT with_space('{"learning_rate": {"from": 0.1, "to": 2}}');
SELECT with_space('{"criterion": {"from": 1, "to": 2}}');
SELECT with_space('{"criterion": ["variance", "entropy"]}');
SELECT with_space('{"balanced": [true, "no"]}');
SELECT with_space('{"num_leaves": [5]}');
SELECT with_space('{"xyzzy_plugh": [5]}');
SELECT with_space('{"features": [["a"], ["b"]]}');
SELECT with_space('{"objective": ["squared", "absolute"]}');
SELECT with_space('{"early_stopping": [3]}');
SELECT with_space('{"trees": [3, 5]}');
SELECT tuned($$'t', 'y', '{"l2": [1]}', options => '{"l2": 2}'$$);
SELECT tuned($$'t', 'y', '{"trees": [1]}', method => 'gp'$$);
SELECT tuned($$'t', 'y', '{"members": [1, 0]}', method => 'gp'$$);
SELECT tuned($$'t', 'y', '{"alpha": [0.5]}', 3, options => '{"trees": 2}'$$);
SELECT tuned($$'t', 'y', '{"criterion": ["mse_sum"]}', 3, options => '{"trees": 2, "objective": "absolute"}'$$);
SELECT tuned($$'t', 'y', '{"alpha": [0.1, 0.5, 0.9]}', 3, options => '{"trees": 2, "objective": "quantile"}'$$);
SELECT tuned($$'t', 'y', '{"alpha": [0.1, 0.5, 0.9]}', 3, options => '{"trees": 2, "objective": "quantile", "exclude": ["id"]}',
    metric => 'mae'$$);
SELECT tuned($$'t', 'y', '{"alpha": [0.1, 0.5, 0.9]}', 3, options => '{"trees": 2, "objective": "huber", "exclude": ["id"]}'$$);
SELECT tuned($$'t', 'y', '{"balanced": [true, false]}'$$);
SELECT tuned($$'t', 'c', '{"balanced": [true]}', 3, options => '{"trees": 2, "class_weights": {"1": 2}}'$$);
SELECT tuned($$'t', 'y', '{"seed": [1, 2]}'$$);
SELECT tuned($$'t', 'y', '{"seed": [1, 2]}', method => 'gp'$$);
SET client_min_messages = warning;
DROP SCHEMA validation_errors CASCADE;
