-- Fits that continue from a model: start => model.
SET client_min_messages = warning;
CREATE SCHEMA warm_start;
SET search_path = warm_start, public;
CREATE TABLE flat AS
SELECT i AS id, (i * 37 % 101) / 10.0::float8 AS x, chr(97 + i * 17 % 5) AS kind, i % 7 = 0 AS held,
    (i * 37 % 101) / 10.0 * CASE i * 17 % 5 WHEN 0 THEN 1 ELSE -0.5 END + (i * 7919 % 13) / 13.0::float8 AS y,
    CASE (i * 37 % 101 + i % 11) / 37 WHEN 0 THEN 'low' WHEN 1 THEN 'middle' ELSE 'high' END AS level
FROM generate_series(1, 2000) i;

-- n trees and m that continue from them are the bytes of n + m.
CREATE FUNCTION continues(target name, first int, more int, options jsonb) RETURNS boolean LANGUAGE sql AS $$
    SELECT btml.boost_fit('SELECT x, kind, held, y, level FROM flat', target, trees => first + more, options => options,
            exclude => ARRAY['y', 'level']::name[] )::text
        = btml.boost_fit('SELECT x, kind, held, y, level FROM flat', target, trees => more, options => options,
            exclude => ARRAY['y', 'level']::name[],
            start => btml.boost_fit('SELECT x, kind, held, y, level FROM flat', target, trees => first,
                options => options, exclude => ARRAY['y', 'level']::name[]))::text
$$;
SELECT options, continues('y', 7, 5, options::jsonb) FROM unnest(ARRAY[
    '{}', '{"holdout": "held"}', '{"row_fraction": 0.5, "feature_fraction": 0.5, "seed": 3}', '{"objective": "huber"}',
    '{"objective": "quantile", "alpha": 0.8}', '{"strategy": "factorize", "holdout": "held"}',
    '{"strategy": "sample", "sample_rows": 700}', '{"criterion": "mse_sum"}', '{"increasing": ["x"]}']) options;
SELECT continues('level', 4, 3, '{"balanced": true, "max_leaves": 5}');

-- Over other rows, the trees of start stay as they are, and the others improve on them.
CREATE TABLE models AS SELECT btml.boost_fit('SELECT x, kind, y FROM flat WHERE id <= 1000 AND kind <> ''e''', 'y', trees => 20) AS m;
CREATE TABLE more AS
SELECT btml.boost_fit('SELECT ''new'' AS extra, kind, x, y + 1 AS y FROM flat WHERE kind <> ''a''', 'y', trees => 30, start => m) AS m
FROM models;
SELECT btml.feature_names(m), (SELECT array_agg(DISTINCT category ORDER BY category)
    FROM btml.trees(m), unnest(categories) AS category) AS categories
FROM more;
SELECT (SELECT array_agg((node, threshold, categories, value) ORDER BY tree, node) FROM btml.trees(more.m) WHERE tree < 20)
        = (SELECT array_agg((node, threshold, categories, value) ORDER BY tree, node) FROM btml.trees(models.m)) AS same_trees,
    (SELECT count(DISTINCT tree) FROM btml.trees(more.m)) AS trees
FROM models, more;
SELECT count(*) AS differences
FROM flat, LATERAL (SELECT 'new' AS extra, kind, x) AS row
WHERE btml.predict((SELECT m FROM models), row.*) IS DISTINCT FROM btml.predict((SELECT m FROM more), row.*, 20);
SELECT l.iteration, round(l.train_loss::numeric, 3) AS train_loss FROM more, btml.training_log(m) l WHERE iteration IN (1, 20, 21, 50);

-- A category that no row has any more keeps its side.
SELECT btml.predict((SELECT m FROM more), row.*, 20) = btml.predict((SELECT m FROM models), row.*) AS same
FROM (VALUES ('new', 'a', 3.5::float8)) AS row (extra, kind, x);

-- Rows that are held out calibrate with a guarantee only where the trees of start have not seen them.
CREATE TABLE calibrated AS
SELECT first, btml.boost_fit('SELECT x, kind, held, y FROM flat', 'y', holdout => 'held', trees => 5, start => start) AS m
FROM (VALUES ('the same rows', btml.boost_fit('SELECT x, kind, held, y FROM flat', 'y', holdout => 'held', trees => 5)),
    ('rows that are held out now', btml.boost_fit('SELECT x, kind, NOT held AS held, y FROM flat', 'y', holdout => 'held', trees => 5)),
    ('all rows', btml.boost_fit('SELECT x, kind, y FROM flat', 'y', trees => 5)),
    ('some rows', btml.boost_fit('SELECT x, kind, held, y FROM flat WHERE id > 1', 'y', holdout => 'held', trees => 5)),
    ('nothing', NULL)) starts (first, start);
SELECT first, btml.summary(m)#>>'{calibration,method}' AS method,
    btml.summary(btml.boost_fit('SELECT x, kind, held, y FROM flat', 'y', holdout => 'held', trees => 5,
    start => m))#>>'{calibration,method}' AS once_more
FROM calibrated ORDER BY first;

-- What a model cannot be continued by.
\set caught `echo "${PG_ABS_SRCDIR:-.}/sql/include/caught.sql"`
\i :caught
CREATE VIEW source AS SELECT x, kind, y FROM flat;
CREATE TABLE starts AS
SELECT 'plain' AS name, btml.boost_fit('source', 'y', trees => 2) AS m UNION ALL
SELECT 'quantile', btml.boost_fit('source', 'y', trees => 2, objective => 'quantile', alpha => 0.9) UNION ALL
SELECT 'labels', btml.boost_fit('SELECT x, level FROM flat', 'level', trees => 2) UNION ALL
SELECT 'offset', btml.boost_fit('SELECT x, y, id / 1000.0 AS shift FROM flat', 'y', trees => 2, "offset" => 'shift') UNION ALL
SELECT 'falling', btml.boost_fit('SELECT x, y FROM flat', 'y', trees => 2, decreasing => '{x}') UNION ALL
SELECT 'process', btml.gp_fit('SELECT x, y FROM flat WHERE id <= 50', 'y') UNION ALL
SELECT 'import', btml.from_lightgbm(btml.to_lightgbm(btml.boost_fit('SELECT x, y FROM flat', 'y', trees => 2)));
SELECT name, caught(format('SELECT btml.boost_fit(%L, %L, start => (SELECT m FROM starts WHERE name = %L), %s)', source, target, name,
    options))
FROM (VALUES ('plain', 'SELECT kind, y FROM flat', 'y', 'trees => 1'), ('plain', 'SELECT x::text, kind, y FROM flat', 'y', 'trees => 1'),
    ('plain', 'source', 'y', 'categorical => ''{x}'''), ('plain', 'source', 'y', 'objective => ''poisson'''), ('plain', 'source', 'y',
    'trees => 999999'),
    ('plain', 'source', 'y', 'increasing => ''{x}'''), ('plain', 'SELECT * FROM source WHERE false', 'y', 'trees => 1'),
    ('plain', 'source', 'y', 'options => ''{"start": "x"}'''),
    ('quantile', 'source', 'y', 'objective => ''quantile'', alpha => 0.5'), ('labels', 'SELECT x, level FROM flat WHERE level <> ''low''',
    'level', 'trees => 1'),
    ('labels', 'SELECT x, y AS level FROM flat', 'level', 'trees => 1'),
    ('offset', 'SELECT x, y FROM flat', 'y', 'trees => 1'), ('plain', 'SELECT x, kind, y, x AS shift FROM flat', 'y',
    '"offset" => ''shift'''),
    ('falling', 'SELECT x, y FROM flat', 'y', 'trees => 1'), ('process', 'SELECT x, y FROM flat', 'y', 'trees => 1'), ('import',
    'SELECT x, y FROM flat', 'y', 'trees => 1')) AS v (name, source, target, options);
SELECT btml.boost_fit('source', 'y', trees => 3, start => NULL)::text = btml.boost_fit('source', 'y', trees => 3)::text AS null_is_none;
