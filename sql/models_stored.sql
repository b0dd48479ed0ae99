-- Models that were stored by every format open, and predict what they did.
SET client_min_messages = warning;
SET extra_float_digits = 0;
\set trees `cat "${PG_ABS_SRCDIR:-.}/test/data/models/boosted_trees-4.txt"`
\set sampled_trees `cat "${PG_ABS_SRCDIR:-.}/test/data/models/boosted_trees_sample-4.txt"`
\set mixture `cat "${PG_ABS_SRCDIR:-.}/test/data/models/gp_mixture-4.txt"`
\set kernel_sum `cat "${PG_ABS_SRCDIR:-.}/test/data/models/gp_kernel_sum-4.txt"`
\set boosted `cat "${PG_ABS_SRCDIR:-.}/test/data/models/gp_boosted-4.txt"`
CREATE TEMP TABLE stored (name text, model btml.model);
INSERT INTO stored VALUES ('boosted_trees-4', :'trees'), ('boosted_trees_sample-4', :'sampled_trees'), ('gp_mixture-4', :'mixture'), ('gp_kernel_sum-4', :'kernel_sum'), ('gp_boosted-4', :'boosted');
SELECT name, s->'kind' AS kind, s->'metrics'->'combine' AS combine, s->'rows' AS rows, s->'holdout_rows' AS held_out, s->'join_rows' AS join_rows,
    s->'params'->'seed' AS seed FROM stored, btml.summary(model) s ORDER BY name;
SELECT name, x, colour, round(btml.predict(model, p)::numeric, 4) AS predicted
FROM stored, (VALUES (0.5, 'red'), (3.25, 'green'), (4.9, NULL), (NULL, 'mauve')) p(x, colour) ORDER BY name, x, colour;
SELECT name, round(n.mean::numeric, 4) AS mean, round(n.sd::numeric, 4) AS sd
FROM stored, (VALUES (3.25, 'green')) p(x, colour), btml.predict_normal(model, p) n WHERE name LIKE 'gp%' ORDER BY name;
