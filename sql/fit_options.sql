-- Options of fits as JSON, and columns that are no features.
CREATE SCHEMA fit_options;
SET search_path = fit_options;
CREATE TABLE reading AS
SELECT i AS id, i % 7 AS a, i % 11 AS b, (i % 5)::text AS c, 1 + i % 2 AS w, i % 3 = 0 AS held, (i % 7) * (i % 11) + i % 5 AS y
FROM generate_series(1, 400) i;

-- An option counts as its argument does.
SELECT btml.boost_fit('reading', 'y', trees => 5, max_leaves => 8, min_leaf_rows => 3, features => '{a,b,c}', categorical => '{a}',
        weight => 'w', holdout => 'held', metric => 'mae', l2 => 0.5, strategy => 'enumerate')::text =
    btml.boost_fit('reading', 'y', options => '{"trees": 5, "max_leaves": 8, "min_leaf_rows": 3, "features": ["a", "b", "c"],
        "categorical": ["a"], "weight": "w", "holdout": "held", "metric": "mae", "l2": 0.5, "strategy": "enumerate"}')::text AS boost_fit,
    btml.tree_fit('reading', 'y', max_leaves => 5, criterion => 'mse_sum', exclude => '{id}')::text =
    btml.tree_fit('reading', 'y', options => '{"max_leaves": 5, "criterion": "mse_sum", "exclude": ["id"]}')::text AS tree_fit,
    btml.gp_fit('reading', 'y', members => 2, noise => 0.1, features => '{a,b}', combine => 'mixture')::text =
    btml.gp_fit('reading', 'y', options => '{"members": 2, "noise": 0.1, "features": ["a", "b"], "combine": "mixture"}')::text AS gp_fit;
SELECT btml.boost_fit('SELECT a, b, held AS y FROM reading', 'y', trees => 3, positive => 'false', class_weights => '{"true": 2}')::text =
    btml.boost_fit('SELECT a, b, held AS y FROM reading', 'y',
    options => '{"trees": 3, "positive": "false", "class_weights": {"true": 2}}')::text AS labels;

-- No options, nulls, and values that both give alike.
SELECT btml.boost_fit('reading', 'y', 3)::text = btml.boost_fit('reading', 'y', 3, options => NULL)::text AS no_options,
    btml.boost_fit('reading', 'y', 3)::text = btml.boost_fit('reading', 'y', 3, options => '{}')::text AS empty,
    btml.boost_fit('reading', 'y', 3)::text = btml.boost_fit('reading', 'y', 3, options => '{"trees": 3, "metric": null, "features": null,
        "exclude": null, "class_weights": null, "weight": null, "verbose": false}')::text AS alike,
    btml.boost_fit('reading', 'y', 3, features => '{a}')::text =
    btml.boost_fit('reading', 'y', 3, features => '{a}', options => '{"features": ["a"]}')::text AS features_alike;

-- What is said twice in two ways.
SELECT btml.boost_fit('reading', 'y', trees => 5, options => '{"trees": 6}');
\echo :SQLSTATE
SELECT btml.boost_fit('reading', 'y', features => '{a}', options => '{"features": ["b"]}');
SELECT btml.boost_fit('reading', 'y', weight => 'w', options => '{"weight": "a"}');
SELECT btml.boost_fit('reading', 'y', class_weights => '{"true": 2}', options => '{"class_weights": {"true": 3}}');
SELECT btml.boost_fit('reading', 'y', verbose => true, options => '{"verbose": false}');
SELECT btml.gp_fit('reading', 'y', search => 'none', options => '{"search": "bfgs"}');

-- What is no option.
SELECT btml.boost_fit('reading', 'y', options => '{"tres": 6}');
\echo :SQLSTATE
SELECT btml.boost_fit('reading', 'y', options => '{"n_estimators": 6}');
SELECT btml.boost_fit('reading', 'y', options => '{"num_leaves": 6}');
SELECT btml.boost_fit('reading', 'y', options => '{"loss": "squared"}');
SELECT btml.boost_fit('reading', 'y', options => '{"xyzzy_plugh": 6}');
SELECT btml.boost_fit('reading', 'y', options => '{"options": {}}');
SELECT btml.boost_fit('reading', 'y', options => '{"source": "other"}');
SELECT btml.tree_fit('reading', 'y', options => '{"trees": 6}');
SELECT btml.gp_fit('reading', 'y', options => '{"alpha": 0.1}');
SELECT btml.boost_fit_agg(y, ARRAY[a, b], '{"n_estimators": 6}') FROM reading;
SELECT btml.boost_fit_agg(y, ARRAY[a, b], '{"early_stopping_rounds": 6}') FROM reading;

-- Values that are none.
SELECT btml.boost_fit('reading', 'y', options => '[1]');
SELECT btml.boost_fit('reading', 'y', options => '"trees"');
SELECT btml.boost_fit('reading', 'y', options => 'null');
SELECT btml.boost_fit('reading', 'y', options => '{"trees": 0}');
SELECT btml.boost_fit('reading', 'y', options => '{"trees": "many"}');
SELECT btml.boost_fit('reading', 'y', options => '{"trees": null}');
SELECT btml.boost_fit('reading', 'y', options => '{"trees": 2.5}');
SELECT btml.boost_fit('reading', 'y', options => '{"trees": [2, 5]}');
SELECT btml.boost_fit('reading', 'y', options => '{"objective": "regression_l2"}');
SELECT btml.boost_fit('reading', 'y', options => '{"balanced": 1}');
SELECT btml.boost_fit('reading', 'y', options => '{"features": "a"}');
SELECT btml.boost_fit('reading', 'y', options => '{"features": ["a", 1]}');
SELECT btml.boost_fit('reading', 'y', options => '{"features": {"a": 1}}');
SELECT btml.boost_fit('reading', 'y', options => '{"weight": ["w"]}');
SELECT btml.boost_fit('reading', 'y', options => '{"weight": 1}');
SELECT btml.boost_fit('reading', 'y', options => '{"weight": "ww"}');
SELECT btml.boost_fit('reading', 'y', options => '{"verbose": "yes"}');
SELECT btml.boost_fit('reading', 'y', options => '{"verbose": null}');
SELECT btml.boost_fit('reading', 'y', options => '{"learning_rate": 1e400}');

-- Columns that are no features.
SELECT btml.feature_names(btml.boost_fit('reading', 'y', 3, exclude => '{id,held,w}')) AS boost_fit,
    btml.feature_names(btml.tree_fit('reading', 'y', exclude => '{id,held,w,y}')) AS tree_fit,
    btml.feature_names(btml.gp_fit('reading', 'y', members => 1, exclude => '{id,held,w,c}')) AS gp_fit,
    btml.feature_names(btml.boost_fit('reading', 'y', 3, exclude => '{}')) AS none_excluded;
SELECT btml.boost_fit('reading', 'y', exclude => '{idd}');
SELECT btml.boost_fit('reading', 'y', exclude => '{id,id}');
SELECT btml.boost_fit('reading', 'y', exclude => '{id,NULL}');
SELECT btml.boost_fit('reading', 'y', exclude => '{id,a}', features => '{a,b}');
SELECT btml.boost_fit('reading', 'y', exclude => '{id,a}', categorical => '{a}');
SELECT btml.boost_fit('reading', 'y', exclude => '{id,a,b,c,w,held}');

-- What is odd is told once, with all columns that it is true of.
SELECT setseed(0.25);
CREATE TABLE odd AS SELECT i AS id, 'number ' || i AS "Label's", 7 AS seven, NULL::text AS nothing, i % 10 AS digit, i % 9 AS x,
    i % 9 * 2.5 AS twice, i % 9 > 3 AS leak, (i % 9)::text AS name,
    (i % 9) + 0.01 * random() AS y, random() AS chance
FROM generate_series(1, 300) i;
SELECT btml.boost_fit('odd', 'y', 2) IS NOT NULL AS fit;
SELECT btml.boost_fit('odd', 'leak', 2, features => '{chance,digit,x}') IS NOT NULL AS labels;
SELECT btml.boost_fit('odd', 'name', 2, features => '{chance,digit,twice,y}') IS NOT NULL AS many_labels;
SELECT btml.boost_fit('odd', 'seven', 2, features => '{chance,digit}') IS NOT NULL AS constant;
SELECT btml.boost_fit('odd', 'chance', 2, exclude => '{id,"Label''s",seven,nothing}') IS NOT NULL AS quiet;
SELECT btml.boost_fit('SELECT * FROM odd WHERE id < 100', 'y', 2) IS NOT NULL AS few_rows;
SELECT count(*) FROM btml.cross_validate('odd', 'chance', 2, options => '{"trees": 2, "features": ["id", "x"]}');
-- A key that rows of the join share is no number of them.
SELECT btml.boost_fit('SELECT o.id, g, chance + g * id % 7 AS y FROM odd o, generate_series(1, 3) g', 'y', 2) IS NOT NULL AS shared_key;
-- A fit to noise is worse than its constant on held-out rows, and says so; a few trees are worse by no more than chance explains.
CREATE TABLE noise AS SELECT i * 7919 % 997 / 7.0 AS x, i * i % 1009 / 3.0 AS z, (i * 104729::bigint % 10007 * i % 13)::float8 AS y,
    i * 104729::bigint % 10007 * i % 13 < 6 AS b, i % 3 = 0 AS held FROM generate_series(1, 300) i;
SELECT btml.boost_fit('noise', 'y', trees, features => '{x,z}', holdout => 'held', min_leaf_rows => least) IS NOT NULL AS noise
    FROM (VALUES (300, 1), (3, 40)) v(trees, least);
SELECT btml.boost_fit('noise', 'y', 300, features => '{x,z}', holdout => 'held', min_leaf_rows => 1,
    early_stopping => 5) IS NOT NULL AS stopped;
SELECT btml.boost_fit('noise', 'y', 300, features => '{x,z}', holdout => 'held', min_leaf_rows => 1,
    objective => 'absolute') IS NOT NULL AS absolute;
SELECT btml.boost_fit('noise', 'b', 300, features => '{x,z}', holdout => 'held', min_leaf_rows => 1) IS NOT NULL AS labels;
SELECT btml.boost_fit('SELECT x, z, x + z AS y, held FROM noise', 'y', 30, holdout => 'held') IS NOT NULL AS better;
SELECT btml.gp_fit('SELECT x, z, y, held FROM noise', 'y', holdout => 'held', noise => 1e-6, mean => 'zero') IS NOT NULL AS process;
SELECT btml.gp_fit('SELECT x, z, y, held FROM noise', 'y', mean => 'zero') IS NOT NULL AS left_out;
SET client_min_messages = warning;
\set caught `echo "${PG_ABS_SRCDIR:-.}/sql/include/caught.sql"`
\i :caught
-- Integers of every type are counts and seeds, in every function; other numbers are no counts.
SELECT p.oid::regprocedure FROM pg_proc p, unnest(proargtypes) type
    WHERE pronamespace = 'btml'::regnamespace AND prokind = 'f' AND type IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype);
SELECT count(DISTINCT model::text) FROM (SELECT btml.boost_fit('noise', 'y', 5, seed => 9223372036854775807) AS model
    UNION ALL SELECT btml.boost_fit('noise', 'y', 5::smallint, seed => 9223372036854775807)
    UNION ALL SELECT btml.boost_fit('noise', 'y', 5::bigint, seed => 9223372036854775807)
    UNION ALL SELECT btml.boost_fit('noise', 'y', 5.0, seed => 9223372036854775807)
    UNION ALL SELECT btml.boost_fit('noise', 'y', '5', seed => 9223372036854775807)) m;
-- So is JSON of either type, where jsonb may be given, and a parameter without a type.
SELECT count(DISTINCT model::text) FROM (SELECT btml.boost_fit('noise', 'y', options => '{"trees": 5}') AS model
    UNION ALL SELECT btml.boost_fit('noise', 'y', options => '{"trees": 5}'::json)
    UNION ALL SELECT btml.boost_fit('noise', 'y', options => '{"trees": 5}'::jsonb)) m;
SELECT p.oid::regprocedure FROM pg_proc p, unnest(proargtypes) type
    WHERE pronamespace = 'btml'::regnamespace AND type IN ('json'::regtype, 'jsonb'::regtype);
SELECT btml.describe(btml.boost_fit_agg(y, ARRAY[x], '{"trees": 5}'::json))
    = btml.describe(btml.boost_fit_agg(y, ARRAY[x], '{"trees": 5}'::jsonb)) AS aggregate,
    btml.describe(btml.gp_fit_agg(y, ARRAY[x], '{"search": "none"}'::json)) IS NOT NULL AS process FROM noise;
PREPARE with_options AS SELECT btml.describe(btml.boost_fit('noise', 'y', options => $1))
    = btml.describe(btml.boost_fit('noise', 'y', 5)) AS prepared;
EXECUTE with_options('{"trees": 5}');
SELECT caught($$SELECT btml.boost_fit('noise', 'y', options => '[1]'::json)$$);
PREPARE fit(bigint, numeric) AS SELECT btml.describe(btml.boost_fit('noise', 'y', $1, max_leaves => $2)) IS NOT NULL AS prepared;
EXECUTE fit(5, 7);
\pset format unaligned
\pset tuples_only on
SELECT call || E'\n' || caught('SELECT ' || call) || E'\n' AS error
    FROM unnest(ARRAY['btml.boost_fit(''noise'', ''y'', 2.5)', 'btml.boost_fit(''noise'', ''y'', ''NaN''::numeric)',
    'btml.boost_fit(''noise'', ''y'', 3000000000)', 'btml.boost_fit(''noise'', ''y'', seed => 9223372036854775808)',
    'btml.boost_fit(''noise'', ''y'', 5, max_bins => -1::bigint)',
    'btml.gp_fit(''noise'', ''y'', bits => 2.5)', 'btml.cross_validate(''noise'', ''y'', folds => 2.5)',
    'btml.tune(''noise'', ''y'', ''{}'', trials => 1e10)',
    'btml.density(''SELECT x FROM fit_options.noise'', ''SELECT 1 AS x'', seed => 0.5)',
    'btml.exemplars(''SELECT x FROM fit_options.noise'', 2.5)', 'btml.plot(''SELECT x, y FROM fit_options.noise'', width => 100.5)',
    '* FROM btml.sample_join(''noise'', 2.5) AS (x float8)',
    'btml.predict(btml.boost_fit(''noise'', ''y'', 5), noise, 2.5) FROM fit_options.noise',
    'btml.predict(btml.boost_fit(''noise'', ''y'', 5), noise, 6::bigint) FROM fit_options.noise']) call;
DROP SCHEMA fit_options CASCADE;
