-- Boosted trees over joins: against SQL aggregates over the materialised join, and against training on it.
CREATE SCHEMA boosting;
SET search_path = boosting, public;
SET client_min_messages = warning;

-- A fact table, two tables that it refers to, and a many-to-many companion of one of them.
CREATE TYPE kind AS ENUM ('plain', 'fancy', 'odd', 'rare');
CREATE TABLE store (store int PRIMARY KEY, region text, size int, opened date);
CREATE TABLE item (item int PRIMARY KEY, kind kind, weight_kg float4, fragile boolean);
CREATE TABLE tag (item int, tag text, strength float8);
CREATE TABLE sale (id int PRIMARY KEY, store int, item int, price numeric(8, 2), units int, sold_at timestamp,
    held_out boolean, importance float8, y float8);
INSERT INTO store SELECT i, CASE WHEN i % 9 <> 4 THEN (ARRAY['north', 'east', 'south', 'west'])[1 + i * 3 % 4] END,
    CASE WHEN i % 7 <> 0 THEN i * 37 % 50 END, date '2001-02-03' + i * 97 % 4000 FROM generate_series(1, 20) i;
INSERT INTO item SELECT i, CASE WHEN i % 11 <> 0 THEN (ARRAY['plain', 'fancy', 'odd', 'rare'])[1 + i * i % 4]::kind END,
    (i * 53 % 31) / 8.0, CASE WHEN i % 6 <> 5 THEN i % 3 = 0 END FROM generate_series(1, 40) i;
INSERT INTO tag SELECT 1 + i * 29 % 44, (ARRAY['new', 'old', 'it''s "so"', 'sold \ out'])[1 + i * 7 % 4],
    CASE WHEN i % 13 <> 3 THEN i * 17 % 23 - 11 END FROM generate_series(1, 90) i;
INSERT INTO sale SELECT i, 1 + i * 7919 % 22, 1 + i * 104729 % 43, (i * 6151 % 997) / 10.0,
    CASE WHEN i % 17 <> 0 THEN i * 31 % 12 END, timestamp '2020-01-01 08:00' + i * 7 % 1000 * interval '7 hours',
    CASE WHEN i % 19 <> 0 THEN i * 13 % 5 = 0 END, i * 3 % 4,
    CASE WHEN i % 23 <> 0 THEN (i * 7919 % 22 - 9)^2 / 20 + i * 104729 % 43 / 5.0 + (i * 6151 % 997) / 100.0
        - 3.0 * (i * 13 % 3) + i * 8191 % 101 / 40.0 END
    FROM generate_series(1, 1500) i;

-- The join, its materialisation, and the same with dates as the numbers that the model sees.
CREATE VIEW sales AS SELECT id, region, size, opened, kind, weight_kg, fragile, price, units, sold_at, held_out, importance, y
    FROM sale JOIN store USING (store) JOIN item USING (item);
CREATE TABLE flat AS SELECT * FROM sales;
CREATE VIEW numbers AS SELECT id AS row_id, region, size, extract(epoch FROM opened) AS opened, kind, weight_kg, fragile,
    price, units, extract(epoch FROM sold_at) AS sold_at, held_out, importance, y FROM flat;
CREATE VIEW tagged AS SELECT kind, weight_kg, fragile, tag, strength, price, units, held_out, y
    FROM sale JOIN item USING (item) JOIN tag USING (item);
CREATE TABLE flat_tagged AS SELECT row_number() OVER () AS row_id, * FROM tagged;

-- All nodes of two models are the same.
CREATE FUNCTION same_trees(a btml.model, b btml.model) RETURNS boolean LANGUAGE sql AS $$
    SELECT NOT EXISTS ((SELECT * FROM btml.trees(a) EXCEPT ALL SELECT * FROM btml.trees(b))
        UNION ALL (SELECT * FROM btml.trees(b) EXCEPT ALL SELECT * FROM btml.trees(a)))
        AND btml.summary(a)->'base' = btml.summary(b)->'base' AND btml.summary(a)->'features' = btml.summary(b)->'features'
        AND btml.summary(a)->'metrics' = btml.summary(b)->'metrics' $$;

-- The leaf of each row of a relation in each tree and all nodes above it, by the conditions that btml.trees prints.
-- The relation has a column row_id and dates as numbers.
CREATE FUNCTION walk(model btml.model, relation regclass)
RETURNS TABLE(row_id bigint, tree int, node int, is_leaf boolean, value float8, y float8, held_out boolean, row_data jsonb)
LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE format($q$
        WITH RECURSIVE node AS MATERIALIZED (SELECT * FROM btml.trees($1)),
        input AS MATERIALIZED (SELECT r.row_id::bigint, r.y, to_jsonb(r) AS row_data FROM %s r WHERE r.y IS NOT NULL),
        path AS (
            SELECT i.row_id, n.tree, n.node FROM input i, node n WHERE n.node = 0
            UNION ALL
            SELECT p.row_id, p.tree, CASE WHEN
                CASE WHEN i.row_data->>n.feature IS NULL THEN n.null_left
                    WHEN n.categories IS NOT NULL THEN i.row_data->>n.feature = ANY (n.categories)
                    ELSE (i.row_data->>n.feature)::float8 < n.threshold END
                THEN n.left_child ELSE n.right_child END
            FROM path p JOIN input i USING (row_id) JOIN node n USING (tree, node) WHERE n.feature IS NOT NULL)
        SELECT p.row_id, p.tree, p.node, n.feature IS NULL, n.value, i.y,
            coalesce((i.row_data->>'held_out')::boolean, false), i.row_data
        FROM path p JOIN input i USING (row_id) JOIN node n USING (tree, node) $q$, relation) USING model;
END $$;

-- What btml.trees and btml.training_log print, recomputed in SQL from the materialised join: the largest relative
-- error of rows, leaf values, gains and losses.
CREATE FUNCTION check_model(model btml.model, relation regclass, weighted boolean DEFAULT false, holdout boolean DEFAULT false)
RETURNS TABLE(nodes bigint, rows_wrong bigint, value_error numeric, gain_error numeric, base_error numeric, loss_error numeric)
LANGUAGE sql AS $$
    WITH options AS MATERIALIZED (
        SELECT (s->>'base')::float8 AS base, (s->'params'->>'l2')::float8 AS l2,
            (s->'params'->>'learning_rate')::float8 AS rate FROM btml.summary(model) s),
    path AS MATERIALIZED (
        SELECT *, CASE WHEN holdout AND held_out THEN 0 WHEN weighted THEN (row_data->>'importance')::float8 ELSE 1 END AS w
        FROM walk(model, relation)),
    leaf AS (SELECT row_id, tree, value FROM path WHERE is_leaf),
    before AS MATERIALIZED (
        SELECT row_id, tree, coalesce(sum(value) OVER (PARTITION BY row_id ORDER BY tree ROWS BETWEEN UNBOUNDED PRECEDING
            AND 1 PRECEDING), 0) AS predicted, sum(value) OVER (PARTITION BY row_id ORDER BY tree) AS predicted_after FROM leaf),
    sums AS MATERIALIZED (
        SELECT tree, node, sum(w) AS n, sum(w * (y - base - predicted)) AS s
        FROM path JOIN before USING (row_id, tree), options GROUP BY tree, node),
    compared AS (
        SELECT t.*, x.n, x.s, CASE WHEN t.feature IS NULL THEN rate * x.s / (x.n + l2) END AS expected_value,
            l.s^2 / (l.n + l2) + r.s^2 / (r.n + l2) - x.s^2 / (x.n + l2) AS expected_gain
        FROM btml.trees(model) t LEFT JOIN sums x USING (tree, node) LEFT JOIN sums l ON l.tree = t.tree AND l.node = t.left_child
            LEFT JOIN sums r ON r.tree = t.tree AND r.node = t.right_child, options),
    losses AS (
        SELECT tree + 1 AS iteration, sum(w * (y - base - predicted_after)^2) / sum(w) AS train,
            sum((y - base - predicted_after)^2) FILTER (WHERE held_out) / count(*) FILTER (WHERE held_out) AS holdout
        FROM path JOIN before USING (row_id, tree), options WHERE is_leaf GROUP BY tree)
    SELECT (SELECT count(*) FROM compared), (SELECT count(*) FROM compared WHERE n IS DISTINCT FROM rows),
        (SELECT round(max(abs(expected_value - value) / greatest(abs(value), 1))::numeric, 9) FROM compared),
        (SELECT round(max(abs(expected_gain - gain) / greatest(gain, 1))::numeric, 9) FROM compared),
        (SELECT round((abs(sum(w * y) / sum(w) - max(base)) / max(abs(base)))::numeric, 9) FROM path, options WHERE tree = 0 AND node = 0),
        (SELECT round(max(greatest(abs(train - train_loss), CASE WHEN check_model.holdout THEN abs(losses.holdout - holdout_loss) END)
            / greatest(train, 1))::numeric, 9) FROM losses JOIN btml.training_log(model) USING (iteration)) $$;

CREATE TABLE model (name text PRIMARY KEY, model btml.model);
INSERT INTO model VALUES
    ('tree', btml.tree_fit('boosting.sales', 'y', features => '{region,size,opened,kind,weight_kg,fragile,price,units,sold_at}')),
    ('tree l2', btml.tree_fit('boosting.sales', 'y', features => '{region,size,opened,kind,weight_kg,fragile,price,units,sold_at}',
    l2 => 7.5, min_leaf_rows => 3)),
    ('deep', btml.tree_fit('boosting.sales', 'y', features => '{region,size,opened,kind,weight_kg,fragile,price,units,sold_at}',
    max_leaves => 0, min_leaf_rows => 1)),
    ('boosted', btml.boost_fit('boosting.sales', 'y', trees => 12, max_leaves => 8,
    features => '{region,size,opened,kind,weight_kg,fragile,price,units,sold_at}')),
    ('weighted', btml.boost_fit('boosting.sales', 'y', trees => 6, max_leaves => 8, weight => 'importance',
    features => '{region,size,opened,kind,weight_kg,fragile,price,units,sold_at}')),
    ('held out', btml.boost_fit('boosting.sales', 'y', trees => 6, max_leaves => 8, holdout => 'held_out',
    features => '{region,size,opened,kind,weight_kg,fragile,price,units,sold_at}')),
    ('mse_sum', btml.boost_fit('boosting.sales', 'y', trees => 3, max_leaves => 8, criterion => 'mse_sum', max_bins => 0,
    features => '{region,size,opened,kind,weight_kg,fragile,price,units,sold_at}')),
    ('tagged', btml.boost_fit('boosting.tagged', 'y', trees => 6, max_leaves => 8, holdout => 'held_out')),
    ('left', btml.boost_fit('SELECT price, units, region, size, coalesce(kind::text, ''none'') AS kind, y FROM boosting.sale LEFT JOIN '
        'boosting.store USING (store) LEFT JOIN boosting.item USING (item)', 'y', trees => 6, max_leaves => 8, max_bins => 0));
CREATE TABLE flat_left AS SELECT id AS row_id, price, units, region, size, coalesce(kind::text, 'none') AS kind, y
    FROM sale LEFT JOIN store USING (store) LEFT JOIN item USING (item);

SELECT name, c.* FROM model, LATERAL check_model(model, CASE name WHEN 'tagged' THEN 'flat_tagged' WHEN 'left' THEN 'flat_left'
    ELSE 'numbers' END::regclass,
    name = 'weighted', name IN ('held out', 'tagged')) c ORDER BY name;

-- Every split of a first tree is the best of all that SQL finds over the rows of its node: every threshold, every subset
-- of categories, NULL on either side; on ties the first feature in the source's order.
CREATE FUNCTION check_splits(model btml.model, relation regclass) RETURNS TABLE(splits bigint, not_best bigint, not_first bigint)
LANGUAGE sql AS $$
    WITH params AS MATERIALIZED (
        SELECT (s->>'base')::float8 AS base, (s->'params'->>'l2')::float8 AS l2, (s->'params'->>'min_leaf_rows')::float8 AS least,
            s->'params'->>'criterion' AS criterion FROM btml.summary(model) s),
    feature AS (SELECT f->>'name' AS feature, f ? 'categories' AS categorical, position
        FROM jsonb_array_elements(btml.summary(model)->'features') WITH ORDINALITY AS e(f, position)),
    path AS MATERIALIZED (SELECT p.node, p.row_data, p.y - base AS r FROM walk(model, relation) p, params WHERE tree = 0 AND NOT is_leaf),
    total AS (SELECT node, count(*) AS n, sum(r) AS s, sum(r * r) AS u FROM path GROUP BY node),
    cell AS MATERIALIZED (
        SELECT node, feature, categorical, position, row_data->>feature AS x, count(*) AS n, sum(r) AS s, sum(r * r) AS u
        FROM path, feature GROUP BY 1, 2, 3, 4, 5),
    ordered AS (
        SELECT node, position, sum(n) OVER w AS n, sum(s) OVER w AS s, sum(u) OVER w AS u
        FROM cell WHERE NOT categorical AND x IS NOT NULL
        WINDOW w AS (PARTITION BY node, position ORDER BY x::float8)),
    label AS (
        SELECT *, (dense_rank() OVER (PARTITION BY node, position ORDER BY x) - 1)::int AS bit, count(*) OVER (PARTITION BY node,
            position) AS labels
        FROM cell WHERE categorical AND x IS NOT NULL),
    subset AS (
        SELECT node, position, sum(n) AS n, sum(s) AS s, sum(u) AS u
        FROM label, generate_series(1, (1 << labels::int) - 1) mask WHERE mask & (1 << bit) <> 0 GROUP BY node, position, mask),
    known AS (SELECT * FROM ordered UNION ALL SELECT * FROM subset),
    side AS (
        SELECT * FROM known
        UNION ALL SELECT k.node, position, k.n + c.n, k.s + c.s, k.u + c.u FROM known k JOIN cell c USING (node, position) WHERE c.x IS NULL
        UNION ALL SELECT node, position, n, s, u FROM cell WHERE x IS NULL),
    candidate AS (
        SELECT node, position, s.s^2 / (s.n + l2) + (t.s - s.s)^2 / (t.n - s.n + l2) - t.s^2 / (t.n + l2) AS gain,
            s.u / s.n - (s.s / s.n)^2 + (t.u - s.u) / (t.n - s.n) - ((t.s - s.s) / (t.n - s.n))^2 AS mse
        FROM side s JOIN total t USING (node), params WHERE s.n >= greatest(least, 1) AND t.n - s.n >= greatest(least, 1)),
    best AS (SELECT node, max(gain) AS gain, min(mse) AS mse FROM candidate GROUP BY node),
    first AS (
        SELECT c.node, min(position) AS position, bool_or(abs(c.gain - t.gain) < 1e-9 * t.gain) AS has_gain
        FROM candidate c JOIN best b USING (node) JOIN btml.trees(model) t ON t.tree = 0 AND t.node = c.node, params
        WHERE CASE criterion WHEN 'variance' THEN c.gain >= b.gain * (1 - 1e-9) ELSE c.mse <= b.mse * (1 + 1e-9) END GROUP BY c.node)
    SELECT count(*), count(*) FILTER (WHERE has_gain IS NOT TRUE), count(*) FILTER (WHERE f.feature IS DISTINCT FROM t.feature)
    FROM btml.trees(model) t LEFT JOIN first USING (node) LEFT JOIN feature f USING (position) WHERE t.tree = 0 AND t.feature IS NOT
        NULL $$;
SELECT name, c.* FROM model, LATERAL check_splits(model, CASE name WHEN 'left' THEN 'flat_left' ELSE 'numbers' END::regclass) c
WHERE name IN ('tree', 'tree l2', 'left', 'mse_sum') ORDER BY name;

-- Training over a join and over its materialisation gives the same trees; where one table's rows are the join's, the same bytes.
CREATE FUNCTION compare(over_join text, materialised text, options text)
RETURNS TABLE(same_trees boolean, same_bytes boolean, joined text, flat text) LANGUAGE plpgsql AS $$
DECLARE a btml.model; b btml.model;
BEGIN
    EXECUTE format('SELECT btml.boost_fit(%L, ''y'', %s)', over_join, options) INTO a;
    EXECUTE format('SELECT btml.boost_fit(%L, ''y'', %s)', materialised, options) INTO b;
    RETURN QUERY SELECT boosting.same_trees(a, b), a::bytea = b::bytea,
        btml.summary(a)->>'strategy_reason', btml.summary(b)->>'strategy_reason';
END $$;
SELECT o.options, c.* FROM (VALUES
    ('trees => 5'), ('trees => 5, max_bins => 0, max_leaves => 0, min_leaf_rows => 1'), ('trees => 5, max_bins => 7, l2 => 2'),
    ('trees => 5, holdout => ''held_out'', early_stopping => 2'), ('trees => 5, weight => ''importance''')) o(options),
    compare('boosting.sales', 'boosting.flat', options) c;
SELECT o.options, c.* FROM (VALUES ('trees => 5'), ('trees => 5, max_bins => 0'), ('trees => 5, holdout => ''held_out''')) o(options),
    compare('boosting.tagged', 'SELECT kind, weight_kg, fragile, tag, strength, price, units, held_out, y FROM boosting.flat_tagged',
    options) c;
-- Left joins, a filter on the nullable side, a cross join, a self-join, an expression that mixes tables.
SELECT c.same_trees, source FROM (VALUES
    ('SELECT price, region, size, kind, weight_kg, y FROM boosting.sale LEFT JOIN boosting.store USING (store) LEFT JOIN boosting.item '
        'USING (item)'),
    ('SELECT price, region, size, y FROM boosting.sale LEFT JOIN boosting.store USING (store) WHERE size > 10'),
    ('SELECT price, region, size, y FROM boosting.store LEFT JOIN boosting.sale USING (store)'),
    ('SELECT price, tag, strength, y FROM boosting.sale LEFT JOIN boosting.tag USING (item)'),
    ('SELECT price, region, y FROM boosting.sale, boosting.store WHERE id < 40 AND store.store < 6'),
    ('SELECT a.price, b.tag, c.tag AS other, a.y FROM boosting.sale a JOIN boosting.tag b USING (item) JOIN boosting.tag c USING (item) '
        'WHERE a.id < 300'),
    ('SELECT price, price * weight_kg AS load, region, y FROM boosting.sale JOIN boosting.item USING (item) JOIN boosting.store USING '
        '(store)'),
    ('SELECT y, kind, avg(price) AS price FROM boosting.sale JOIN boosting.item USING (item) GROUP BY y, kind'),
    ('WITH s AS (SELECT * FROM boosting.sale WHERE id % 2 = 0) SELECT price, region, y FROM s JOIN boosting.store USING (store)'))
        s(source),
    LATERAL (SELECT format('SELECT * FROM (%s) AS flat OFFSET 0', source)) f(flat),
    compare(source, flat, 'trees => 4, max_leaves => 6, min_leaf_rows => 5') c;

-- The same bytes for any number of threads and on a second run.
CREATE FUNCTION digest(options text, source text DEFAULT 'boosting.tagged') RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text;
BEGIN
    EXECUTE format('SELECT md5(btml.boost_fit(%L, ''y'', trees => 4, holdout => ''held_out'', %s)::bytea)', source, options) INTO result;
    RETURN result;
END $$;
CREATE TABLE bytes (run text, options text, source text, digest text);
CREATE TABLE setting AS SELECT * FROM (VALUES ('seed => 0'), ('row_fraction => 0.5, seed => 3'), ('feature_fraction => 0.4, seed => 3'),
    ('criterion => ''mse_sum'''), ('max_bins => 0, max_leaves => 0')) o(options),
    (VALUES ('boosting.tagged'), ('boosting.sales')) s(source);
SET btml.threads = 1;
INSERT INTO bytes SELECT '1', *, digest(options, source) FROM setting;
SET btml.threads = 2;
INSERT INTO bytes SELECT '2', *, digest(options, source) FROM setting;
SET btml.threads = 4;
INSERT INTO bytes SELECT '4', *, digest(options, source) FROM setting;
INSERT INTO bytes SELECT '4 again', *, digest(options, source) FROM setting;
RESET btml.threads;
SELECT source, options, count(*) AS runs, count(DISTINCT digest) AS digests FROM bytes GROUP BY 1, 2 ORDER BY 1, 2;
CREATE FUNCTION fit(options text, source text DEFAULT 'boosting.sales') RETURNS btml.model LANGUAGE plpgsql AS $$
DECLARE result btml.model;
BEGIN
    EXECUTE format('SELECT btml.boost_fit(%L, ''y'', trees => 3, %s)', source, options) INTO result;
    RETURN result;
END $$;
-- Options that sample depend on the seed, and no other does.
SELECT options, same_trees(fit(options || ', seed => 1'), fit(options || ', seed => 2')) AS same
FROM (VALUES ('l2 => 0'), ('row_fraction => 0.5'), ('feature_fraction => 0.4')) o(options);
-- The order of rows leaves no trace.
CREATE TABLE shuffled AS SELECT * FROM flat ORDER BY md5(id::text);
SELECT c.same_trees, c.same_bytes FROM compare('boosting.flat', 'boosting.shuffled', 'trees => 5') c;

-- The shape of the trees.
SELECT options, max(leaves) AS most_leaves, max(depth) AS depth, min(least) >= 20 AS least_20, min(least) >= 100 AS least_100,
    min(gain) >= 200 AS gain_200
FROM (VALUES ('l2 => 0'), ('max_leaves => 2'), ('max_leaves => 5'), ('max_leaves => 0'), ('max_depth => 2'),
    ('max_leaves => 0, max_depth => 3'), ('min_leaf_rows => 100'),
    ('max_leaves => 0, min_gain => 200'), ('min_gain => 1e9'), ('min_leaf_rows => 1e9')) o(options),
    LATERAL (SELECT tree, count(*) FILTER (WHERE feature IS NULL) AS leaves, max(depth) AS depth, min(rows) AS least, min(gain) AS gain
        FROM btml.trees(fit(options)) GROUP BY tree) t GROUP BY options ORDER BY options;
SET client_min_messages = notice;
SELECT count(*) AS nodes FROM btml.trees(btml.tree_fit('SELECT * FROM (VALUES (1, 2), (3, 4), (5, 6)) v(x, y)', 'y'));
SET client_min_messages = warning;
-- At most max_bins - 1 thresholds of a feature; enough bins are as good as no limit.
SELECT bins, max(thresholds) AS thresholds FROM (VALUES (2), (3), (10)) b(bins),
    LATERAL (SELECT feature, count(DISTINCT threshold) AS thresholds FROM btml.trees(fit(format('max_leaves => 0, max_bins => %s', bins)))
        WHERE threshold > '-Infinity' GROUP BY feature) t GROUP BY bins ORDER BY bins;
SELECT same_trees(fit('max_bins => 0'), fit('max_bins => 65535'));
-- A category is told from the others only where it has min_category_rows rows, and at most max_split_categories are.
SELECT least, most, count(categories) AS splits, max(cardinality(categories)) AS largest
FROM (VALUES (10, 32), (10, 0), (0, 5), (21, 0)) o(least, most),
    LATERAL btml.boost_fit('SELECT i % 200 AS code, i % 200 * 37 % 101 + i % 3 AS y FROM generate_series(1, 4000) i', 'y', trees => 1,
    categorical => '{code}',
        min_leaf_rows => 1, min_category_rows => least, max_split_categories => most) m, btml.trees(m) GROUP BY 1, 2 ORDER BY 1, 2;

-- features: only those, in the source's order however they are listed; categorical: numbers as categories.
SELECT array_agg(DISTINCT feature) AS used,
    same_trees(fit('features => ''{price,size}'''), fit('features => ''{size,price}''')) AS order_is_ours
FROM btml.trees(fit('features => ''{price,size}'''));
SELECT btml.summary(fit('features => ''{units,held_out,weight_kg}'', categorical => ''{units}'''))->'features';
SELECT count(*) > 0 AS categories, bool_and(threshold IS NULL) AS no_threshold
FROM btml.trees(fit('features => ''{units}'', categorical => ''{units}''')) WHERE feature = 'units';
-- row_fraction: about so many rows in each tree, others in the next; feature_fraction: so many features in each tree.
SELECT bool_and(rows / total BETWEEN 0.4 AND 0.6) AS about_half, count(DISTINCT rows) > 1 AS varies
FROM btml.trees(fit('row_fraction => 0.5')), (SELECT count(y) AS total FROM flat) f WHERE node = 0;
SELECT max(features) AS features, count(DISTINCT names) > 1 AS varies FROM (
    SELECT tree, count(DISTINCT feature) AS features, array_agg(DISTINCT feature) AS names
    FROM btml.trees(fit('feature_fraction => 0.2, max_leaves => 0, features '
        '=> ''{region,size,opened,kind,weight_kg,fragile,price,units,sold_at}''')) GROUP BY tree) t;
-- learning_rate 1 boosts as tree_fit fits.
SELECT same_trees(btml.tree_fit('boosting.sales', 'y'),
    btml.boost_fit('boosting.sales', 'y', trees => 1, learning_rate => 1, max_bins => 0));

-- Integer weights are so many rows.
CREATE TABLE repeated AS SELECT flat.* FROM flat, generate_series(1, importance::int);
SELECT same_trees(btml.boost_fit('boosting.flat', 'y', trees => 5, weight => 'importance', features => '{price,region,size,kind}'),
    btml.boost_fit('boosting.repeated', 'y', trees => 5, features => '{price,region,size,kind}'));
SELECT same_trees(btml.tree_fit('SELECT price, region, kind, importance, y FROM boosting.sale JOIN boosting.store USING (store) JOIN '
    'boosting.item USING (item)', 'y', weight => 'importance'),
    btml.tree_fit('SELECT price, region, kind, y FROM boosting.repeated', 'y'));
-- Weight 0 is no row; weights in another unit are the same model, min_leaf_rows being in that unit.
SELECT same_trees(btml.tree_fit('SELECT price, region, importance, y FROM boosting.flat', 'y', weight => 'importance'),
    btml.tree_fit('SELECT price, region, importance, y FROM boosting.flat WHERE importance > 0', 'y', weight => 'importance'));
SELECT count(*) AS nodes, bool_and(a.feature IS NOT DISTINCT FROM b.feature AND a.threshold IS NOT DISTINCT FROM b.threshold
    AND a.categories IS NOT DISTINCT FROM b.categories) AS same_splits,
    round(max(abs(a.value - b.value))::numeric, 9) AS value_error, round(max(abs(b.rows / a.rows - 1e-6))::numeric, 12) AS rows_error
FROM btml.trees(btml.tree_fit('SELECT price, region, importance AS w, y FROM boosting.flat', 'y', weight => 'w')) a
FULL JOIN btml.trees(btml.tree_fit('SELECT price, region, importance * 1e-6 AS w, y FROM boosting.flat', 'y', weight => 'w',
    min_leaf_rows => 19.5e-6)) b USING (node);

-- Rows without a target are skipped and counted, in the join as in its materialisation.
SELECT source, s->'rows' AS rows, s->'holdout_rows' AS holdout_rows, s->'rows_skipped' AS rows_skipped
FROM (VALUES ('boosting.sales'), ('boosting.flat'), ('boosting.tagged'),
    ('SELECT price, held_out, region, y FROM boosting.store LEFT JOIN boosting.sale USING (store)')) v(source),
    LATERAL btml.summary(btml.boost_fit(source, 'y', trees => 1, holdout => 'held_out')) s;
SELECT 'sales' AS source, count(y) FILTER (WHERE held_out IS NOT TRUE) AS rows, count(y) FILTER (WHERE held_out) AS holdout_rows,
    count(*) - count(y) AS rows_skipped FROM sales
UNION ALL SELECT 'tagged', count(y) FILTER (WHERE held_out IS NOT TRUE), count(y) FILTER (WHERE held_out), count(*) - count(y) FROM tagged
UNION ALL SELECT 'left', count(y) FILTER (WHERE held_out IS NOT TRUE), count(y) FILTER (WHERE held_out), count(*) - count(y)
    FROM store LEFT JOIN sale USING (store);

-- Early stopping keeps the trees up to the best holdout loss, and the log goes on until it gave up.
CREATE TABLE noise AS SELECT i % 37 AS a, i * 7919 % 101 AS b, i % 3 = 0 AS held_out, (i * 104729 % 997)::float8 + (i % 37) * 4 AS y
    FROM generate_series(1, 600) i;
WITH m AS MATERIALIZED (SELECT btml.boost_fit('boosting.noise', 'y', trees => 200, learning_rate => 0.3, holdout => 'held_out',
    early_stopping => 5) AS m),
log AS (SELECT l.* FROM m, btml.training_log(m) l), best AS (SELECT * FROM log ORDER BY holdout_loss, iteration LIMIT 1)
SELECT (s->'metrics'->>'trees')::int = iteration AS best_kept, kept.trees = iteration AS trees_kept, logged - iteration AS patience,
    logged < 200 AS stopped,
    (s->'metrics'->>'holdout_loss')::float8 = holdout_loss AS best_loss, (s->'metrics'->>'train_loss')::float8
    = train_loss AS its_train_loss
FROM m, btml.summary(m) s, best, (SELECT count(*) AS logged FROM log) l, LATERAL (SELECT count(DISTINCT tree) AS trees
    FROM btml.trees(m)) kept;

-- NULL, NaN and infinities among a feature's values: every value has its side, and prediction finds it again.
CREATE TABLE odd AS SELECT i AS row_id, CASE i % 6 WHEN 0 THEN NULL WHEN 1 THEN 'NaN'::float8 WHEN 2 THEN 'Infinity'
    WHEN 3 THEN '-Infinity' WHEN 4 THEN 1e308 ELSE -0.0 END::float8 AS x,
    7 AS constant, NULL::int AS nothing, NULL::text AS no_text, 'one' AS one_text, (i % 6)^2 + i % 2 AS y FROM generate_series(1, 60) i;
SELECT DISTINCT x, avg(y) OVER (PARTITION BY x) AS mean, btml.predict(m, o.*) AS predicted
FROM odd o, btml.tree_fit('SELECT x, constant, nothing, no_text, one_text, y FROM boosting.odd', 'y', min_leaf_rows => 1) m ORDER BY x;
SELECT node, feature, threshold, null_left, round(value::numeric, 9) AS value, rows, round(gain::numeric, 6) AS gain
FROM btml.trees(btml.tree_fit('SELECT x, constant, y FROM boosting.odd', 'y', min_leaf_rows => 1)) ORDER BY node;
-- Nothing to split: constant features, one row, a constant target, equal rows.
SELECT what, count(*) AS nodes, min(round(value::numeric, 9)) AS value, base::numeric FROM (VALUES
    ('constant features', btml.tree_fit('SELECT constant, nothing, no_text, one_text, y FROM boosting.odd', 'y', min_leaf_rows => 1)),
    ('one row', btml.tree_fit('SELECT 1 AS x, 5 AS y', 'y', min_leaf_rows => 0)),
    ('constant target', btml.tree_fit('SELECT i AS x, 2.5 AS y FROM generate_series(1, 100) i', 'y')),
    ('equal rows', btml.tree_fit('SELECT 1 AS x, i % 2 AS y FROM generate_series(1, 100) i', 'y')),
    ('target 0', btml.boost_fit('SELECT i AS x, 0 AS y FROM generate_series(1, 100) i', 'y', trees => 3))) v(what, m),
    btml.trees(m), LATERAL (SELECT btml.summary(m)->>'base') s(base)
GROUP BY what, base ORDER BY what;
-- Large and small targets.
SELECT scale::float8, round((btml.predict(m, ARRAY[1.0]) / scale)::numeric, 9) AS at_1,
    round((btml.predict(m, ARRAY[9.0]) / scale)::numeric, 9) AS at_9
FROM (VALUES (1e149), (1e15), (1), (1e-15), (1e-140), (1e-300)) v(scale),
    LATERAL btml.tree_fit(format('SELECT i AS x, (i / 5) * %s::float8 AS y FROM generate_series(0, 9) i', scale), 'y',
    min_leaf_rows => 1) m ORDER BY scale;

-- Types of features: numbers, dates and times by their seconds; text, enum, boolean, name and character as categories;
-- others when named. Each feature alone gives the tree that its number or its text gives.
CREATE DOMAIN day_of AS date;
CREATE TABLE typed AS SELECT i AS id, i::int2 AS an_int2, i::int8 * 1000000007 AS an_int8, (i / 3.0)::float4 AS a_float4,
    i / 7.0 AS a_numeric,
    date '1999-12-28' + i AS a_date, (date '1999-12-28' + i)::day_of AS a_domain, time '01:00' + i * interval '1 minute' AS a_time,
    timestamp '1969-12-31' + i * interval '90 minutes' AS a_timestamp,
    timestamptz '1969-12-31 00:00+00' + i * interval '90 minutes' AS a_timestamptz,
    i * interval '31 hours' + (i % 15) * interval '5 months' AS an_interval,
    (ARRAY['a', 'b', 'c'])[1 + i % 3] AS a_text, (ARRAY['a', 'b', 'c'])[1 + i % 3]::varchar(5) AS a_varchar,
    (ARRAY['a', 'b', 'c'])[1 + i % 3]::char(5) AS a_char,
    (ARRAY['a', 'b', 'c'])[1 + i % 3]::name AS a_name, (ARRAY['plain', 'fancy', 'odd'])[1 + i % 3]::kind AS an_enum, i % 3 = 0 AS a_boolean,
    md5((i % 3)::text)::uuid AS a_uuid, int4range(i % 3, 9) AS a_range, i * i % 41 + 0.5 AS y FROM generate_series(1, 100) i;
CREATE TABLE column_of AS SELECT attname AS name, attnum AS position,
    CASE WHEN atttypid::regtype::text ~ 'date|time|interval|day_of' THEN 'extract(epoch FROM %I)::float8'
        WHEN atttypid::regtype::text ~ 'char|text|name|kind|bool|uuid|range' THEN '%I::text' ELSE '%I::float8' END AS expression
FROM pg_attribute WHERE attrelid = 'typed'::regclass AND attnum > 1 AND attname <> 'y';
CREATE FUNCTION fit_typed(name name, expression text) RETURNS btml.model LANGUAGE plpgsql AS $$
BEGIN
    RETURN btml.tree_fit(format('SELECT ' || expression || ' AS x, y FROM boosting.typed', name), 'y', min_leaf_rows => 2,
        categorical => CASE WHEN name IN ('a_uuid', 'a_range') THEN '{x}'::name[] END);
END $$;
SELECT name, f->>'type' AS type, f->'categories' AS categories, count(*) AS nodes,
    bool_and((SELECT to_jsonb(b) FROM btml.trees(n) b WHERE b.node = a.node) = to_jsonb(a)) AS as_its_number_or_text
FROM column_of, LATERAL fit_typed(name, '%I') m, LATERAL fit_typed(name, expression) n,
    LATERAL (SELECT btml.summary(m)->'features'->0) s(f),
    btml.trees(m) a
GROUP BY position, name, f ORDER BY position;

-- Real data: salaries, each with its player, its team's season and, many to many, the player's awards.
\set ECHO none
DROP SCHEMA IF EXISTS baseball CASCADE;
\i test/data/baseball/load.sql
\unset ON_ERROR_STOP
\set ECHO all
CREATE VIEW salary AS SELECT salary, yearid, s.teamid, birthyear, birthcountry, p.weight, height, bats, throws, debut, divid, t.rank, t.w,
    attendance, yearid % 5 = 0 AS held_out
    FROM baseball.salaries s JOIN baseball.people p USING (playerid) JOIN baseball.teams t USING (yearid, teamid);
CREATE TABLE flat_salary AS SELECT * FROM salary;
CREATE VIEW award AS SELECT ln(salary + 1) AS salary, s.yearid, birthcountry, p.weight, awardid, a.lgid, b.round, b.hr, b.rbi
    FROM baseball.salaries s JOIN baseball.people p USING (playerid) JOIN baseball.awardsplayers a USING (playerid)
    LEFT JOIN baseball.battingpost b USING (playerid);
CREATE TABLE flat_award AS SELECT * FROM award;
CREATE TABLE baseball_model AS
    SELECT btml.boost_fit('boosting.salary', 'salary', trees => 20, holdout => 'held_out') AS joined,
        btml.boost_fit('boosting.flat_salary', 'salary', trees => 20, holdout => 'held_out') AS flat,
        btml.boost_fit('boosting.award', 'salary', trees => 5) AS joined_award,
        btml.boost_fit('boosting.flat_award', 'salary', trees => 5) AS flat_award;
SELECT joined::bytea = flat::bytea AS same_bytes, same_trees(joined_award, flat_award) FROM baseball_model;
SELECT s->'rows' AS rows, s->'holdout_rows' AS holdout_rows, s->>'strategy_reason' AS strategy_reason
    FROM baseball_model, LATERAL (VALUES (btml.summary(joined)), (btml.summary(joined_award))) v(s);
SELECT count(*) FILTER (WHERE NOT held_out) AS rows, count(*) FILTER (WHERE held_out) AS holdout_rows, (SELECT count(*)
    FROM flat_award) AS award_rows FROM flat_salary;
-- The losses that the log ends with are those of the predictions.
WITH predicted AS (SELECT held_out, f.salary, btml.predict((SELECT joined FROM baseball_model), f.*) AS p FROM flat_salary f),
last AS (SELECT l.* FROM baseball_model, btml.training_log(joined) l ORDER BY iteration DESC LIMIT 1)
SELECT iteration, round((train_loss / avg((salary - p)^2) FILTER (WHERE NOT held_out) - 1)::numeric, 9) AS train_error,
    round((holdout_loss / avg((salary - p)^2) FILTER (WHERE held_out) - 1)::numeric, 9) AS holdout_error,
    corr(salary, p) FILTER (WHERE held_out) > 0.6 AS useful FROM predicted, last GROUP BY last.*, iteration, train_loss, holdout_loss;
SELECT round(max(abs(btml.predict(joined_award, f.*) - btml.predict(m.flat_award, f.*)))::numeric, 9) AS difference
    FROM flat_award f, baseball_model m;

-- Nothing is running now.
SELECT count(*) FROM btml.progress WHERE pid = pg_backend_pid();
DROP SCHEMA baseball CASCADE;
DROP SCHEMA boosting CASCADE;
