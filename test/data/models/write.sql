-- Writes a model of each kind into this folder, in the text form of btml.model. From the top of the source tree:
--
--   psql -XAtq -f test/data/models/write.sql
SET client_min_messages = warning;
CREATE TEMP VIEW training AS SELECT (i * 37 % 40) / 8.0 AS x, (ARRAY['red', 'green', 'blue'])[1 + i % 3] AS colour,
    i % 7 = 0 AS held_out, sin((i * 37 % 40) / 8.0) + (i % 3) / 2.0 AS y FROM generate_series(1, 40) i;
CREATE TEMP VIEW classes AS SELECT x, held_out, y > 0.5 AS late, colour, round(2 + y)::int AS visits, x / 4 AS exposure FROM training;
CREATE TEMP VIEW spread AS SELECT (i * 37 % 40) / 8.0 AS x, i % 7 = 0 AS held_out, (i * 37 % 40) / 8.0 * (i * 29 % 17 - 8) AS y FROM generate_series(1, 400) i;
\o test/data/models/boosted_trees-1.txt
SELECT btml.boost_fit('training', 'y', trees => 3, max_leaves => 4, min_leaf_rows => 2, holdout => 'held_out');
\o test/data/models/boosted_trees_sample-1.txt
SELECT btml.boost_fit('training', 'y', trees => 3, max_leaves => 4, min_leaf_rows => 2, holdout => 'held_out', strategy => 'sample', sample_rows => 30);
\o test/data/models/boosted_elements-1.txt
SELECT btml.boost_fit('SELECT ARRAY[x, NULL, sin(x)] AS e, colour, y FROM training', 'y', trees => 3, max_leaves => 4, min_leaf_rows => 2);
\o test/data/models/boosted_deviation-1.txt
SELECT btml.boost_fit('spread', 'y', trees => 3, max_leaves => 4, holdout => 'held_out', deviation => 'learned');
\o test/data/models/boosted_binary-1.txt
SELECT btml.boost_fit('classes', 'late', trees => 3, max_leaves => 4, min_leaf_rows => 2, features => '{x,colour}', holdout => 'held_out', balanced => true);
\o test/data/models/boosted_multiclass-1.txt
SELECT btml.boost_fit('classes', 'colour', trees => 3, max_leaves => 4, min_leaf_rows => 2, features => '{x,visits}', holdout => 'held_out', class_weights => '{"red": 2}');
\o test/data/models/boosted_poisson-1.txt
SELECT btml.boost_fit('classes', 'visits', trees => 3, max_leaves => 4, min_leaf_rows => 2, features => '{x,colour}', objective => 'poisson', "offset" => 'exposure', increasing => '{x}');
\o test/data/models/gp_mixture-1.txt
SELECT btml.gp_fit('training', 'y', combine => 'mixture', members => 2, evaluations => 40, holdout => 'held_out');
\o test/data/models/gp_kernel_sum-1.txt
SELECT btml.gp_fit('training', 'y', combine => 'kernel_sum', members => 4, evaluations => 2000, holdout => 'held_out');
\o test/data/models/gp_left_out-1.txt
SELECT btml.gp_fit('training', 'y', combine => 'mixture', members => 2, evaluations => 40, exclude => '{held_out}');
\o test/data/models/gp_ranks-1.txt
SELECT btml.gp_fit('training', 'y', combine => 'mixture', members => 2, evaluations => 40, holdout => 'held_out', encoding => 'rank');
\o test/data/models/gp_sparse-1.txt
SELECT btml.gp_fit('training', 'y', kernel => 'matern52', exemplars => 8, holdout => 'held_out');
\set lightgbm `cat test/data/exchange/lightgbm_zero_missing.txt`
\set xgboost `cat test/data/exchange/xgboost_dart.json`
\o test/data/models/imported_lightgbm-1.txt
SELECT btml.from_lightgbm(:'lightgbm');
\o test/data/models/imported_xgboost-1.txt
SELECT btml.from_xgboost(:'xgboost');
