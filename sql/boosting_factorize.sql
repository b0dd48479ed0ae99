-- Strategy factorize: the trees of an enumerated join, without its rows.
SET search_path = factorize, public;
SET client_min_messages = warning;
CREATE SCHEMA factorize;
CREATE TABLE shop AS SELECT i AS shop, i % 17 AS area, CASE WHEN i % 9 > 0 THEN sin(i) END AS size, md5((i % 5)::text) AS region
    FROM generate_series(1, 60) i;
CREATE TABLE sale AS SELECT i AS id, i % 61 AS shop, i * 7 % 31 AS item, cos(i) * 3 AS price, i % 4 AS units, i % 5 = 0 AS held_out,
    i % 3 AS weight,
    CASE WHEN i % 50 > 0 THEN sin(i % 61) + i * 7 % 31 / 9.0 + cos(i) + i % 4 END AS y FROM generate_series(1, 900) i;
CREATE TABLE tag AS SELECT i % 31 AS item, 't' || i % 6 AS tag, i % 11 AS strength, i % 7 = 1 AS rare FROM generate_series(1, 200) i;
CREATE TABLE review AS SELECT i % 29 AS item, i % 23 AS stars, ln(i) AS length FROM generate_series(1, 150) i;
CREATE TABLE offer AS SELECT i % 60 AS shop, i % 31 AS item, i % 13 AS discount FROM generate_series(1, 700) i;

-- The models by either strategy: the same splits, values and losses to 1e-9.
CREATE FUNCTION compare(source text, options text)
RETURNS TABLE(rows bigint, splits bigint, different bigint, value_error numeric, loss_error numeric) LANGUAGE plpgsql AS $$
DECLARE a btml.model; b btml.model;
BEGIN
    EXECUTE format('SELECT btml.boost_fit(%L, ''y'', strategy => ''enumerate''%s)', source, ', ' || options) INTO a;
    EXECUTE format('SELECT btml.boost_fit(%L, ''y'', strategy => ''factorize''%s)', source, ', ' || options) INTO b;
    IF btml.summary(b)->>'strategy' <> 'factorize' OR btml.summary(a)->'rows' <> btml.summary(b)->'rows'
    OR btml.summary(a)->'features' <> btml.summary(b)->'features'
        OR btml.summary(a)->'base' <> btml.summary(b)->'base' OR btml.summary(a)->'holdout_rows' IS DISTINCT
        FROM btml.summary(b)->'holdout_rows' THEN
        RAISE 'the summaries differ: % %', btml.summary(a), btml.summary(b);
    END IF;
    RETURN QUERY SELECT (btml.summary(b)->>'rows')::bigint, count(t.feature),
        count(*) FILTER (WHERE (t.parent, t.feature, t.threshold, t.categories, t.null_left, t.left_child, t.rows) IS DISTINCT
        FROM (u.parent, u.feature, u.threshold, u.categories, u.null_left, u.left_child, u.rows)),
        round(max(abs(t.value - u.value))::numeric, 9),
        (SELECT round(max(greatest(abs(l.train_loss - m.train_loss), abs(l.holdout_loss - m.holdout_loss)))::numeric, 9)
        FROM btml.training_log(a) l JOIN btml.training_log(b) m USING (iteration))
    FROM btml.trees(a) t FULL JOIN btml.trees(b) u USING (tree, node);
END $$;

SELECT c.*, left(source, 90) AS source FROM (VALUES
    ('SELECT area, size, region, price, units, tag, strength, y FROM sale JOIN shop USING (shop) JOIN tag USING (item)'),
    ('SELECT area, price, tag, stars, length, discount, y FROM sale s JOIN shop USING (shop) JOIN tag t USING (item)
    JOIN review USING (item) JOIN offer o ON o.shop = s.shop'),
    ('SELECT area, size, price, tag, stars, y FROM sale LEFT JOIN shop USING (shop) LEFT JOIN tag USING (item)
    LEFT JOIN review USING (item)'),
    ('SELECT price, stars, y FROM sale, review'),
    ('SELECT a.price, b.units, b.price AS other, a.y FROM sale a JOIN sale b USING (item)'),
    ('SELECT strength, stars, y FROM tag JOIN review USING (item) JOIN sale USING (item) WHERE strength > 2'),
    ('SELECT price, units, y FROM sale'),
    ('SELECT price, discount, area, y FROM sale JOIN offer USING (shop, item) JOIN shop USING (shop)'),
    ('SELECT s.price, o.discount, h.area, t.strength, s.y FROM sale s JOIN offer o ON o.item = s.item
    JOIN shop h ON h.shop = o.shop AND h.area = s.units JOIN tag t ON t.item = o.item')) v(source),
    compare(source, 'trees => 6, max_leaves => 7, min_leaf_rows => 5') c;
SELECT c.*, options FROM unnest(ARRAY[
    'trees => 5, max_leaves => 0, min_leaf_rows => 200', 'trees => 4, max_bins => 0', 'trees => 4, max_bins => 3, l2 => 5',
    'trees => 4, max_depth => 2, learning_rate => 1',
    'trees => 4, weight => ''weight''', 'trees => 6, holdout => ''held_out''', 'trees => 30, max_leaves => 4, holdout => ''rare''',
    'trees => 5, row_fraction => 0.5, seed => 3', 'trees => 5, feature_fraction => 0.5',
    'trees => 3, criterion => ''mse_sum'', max_leaves => 5',
    'trees => 3, criterion => ''mse_sum'', weight => ''weight'', holdout => ''held_out''',
    'trees => 4, categorical => ''{units,strength}'', min_category_rows => 0', 'trees => 3, min_gain => 100',
    'trees => 5, weight => ''weight'', holdout => ''rare'', row_fraction => 0.7']) options,
    compare('SELECT area, size, region, price, units, tag, strength, held_out, rare, weight, y
    FROM sale JOIN shop USING (shop) JOIN tag USING (item)', options) c;
-- Early stopping goes by all held-out rows, none of which calibrates: it keeps the trees up to the best holdout loss.
WITH m AS MATERIALIZED (SELECT btml.boost_fit('SELECT area, size, price, units, held_out, y
    FROM sale JOIN shop USING (shop) JOIN tag USING (item)', 'y', trees => 200, learning_rate => 0.5, max_leaves => 4,
    min_leaf_rows => 1, holdout => 'held_out', early_stopping => 2, strategy => 'factorize') AS m)
SELECT (s#>>'{metrics,trees}')::int = (SELECT iteration
    FROM btml.training_log(m) ORDER BY holdout_loss, iteration LIMIT 1) AS best_kept, (s#>>'{metrics,trees}')::int < 200 AS stopped,
    s ? 'calibration' AS calibrated FROM m, btml.summary(m) s;
-- One tree, Algorithm 1 of the paper.
SELECT count(*) AS nodes, bool_and((t.feature, t.threshold, t.categories, t.left_child) IS NOT DISTINCT
    FROM (u.feature, u.threshold, u.categories, u.left_child)) AS same_splits
FROM btml.trees(btml.tree_fit('SELECT area, tag, strength, price, y FROM sale JOIN shop USING (shop) JOIN tag USING (item)', 'y',
    max_leaves => 0, min_leaf_rows => 1, criterion => 'mse_sum', max_depth => 5, strategy => 'factorize')) t
FULL JOIN btml.trees(btml.tree_fit('SELECT area, tag, strength, price, y FROM sale JOIN shop USING (shop) JOIN tag USING (item)', 'y',
    max_leaves => 0, min_leaf_rows => 1, criterion => 'mse_sum', max_depth => 5, strategy => 'enumerate')) u USING (tree, node);

-- The same bytes whatever the number of threads.
SELECT count(DISTINCT model::text) AS models FROM generate_series(1, 3) threads, set_config('btml.threads', threads::text, false),
    LATERAL (SELECT btml.boost_fit('SELECT area, size, price, tag, strength, y FROM sale JOIN shop USING (shop) JOIN tag USING (item)
    WHERE id > ' || threads * 0, 'y', trees => 8, strategy => 'factorize') AS model) m;
RESET btml.threads;

-- Sums of squares by sketch, which criterion mse_sum needs: the trees of one that is large enough are near the exact ones.
CREATE FUNCTION sketched(options text) RETURNS TABLE(sketch_size int, sketches int, params jsonb, near boolean, measured boolean,
    loss_ratio numeric) LANGUAGE plpgsql AS $$
DECLARE
    source text := 'SELECT area, price, units, tag, strength, held_out, weight, y FROM sale JOIN shop USING (shop) JOIN tag USING (item)';
    common text := 'trees => 3, max_leaves => 4, learning_rate => 0.5, criterion => ''mse_sum'', strategy => ''factorize''';
    exact text := regexp_replace(options, ', *(sketch_size|epsilon|delta|verify) => [^,]*', '', 'g');
    a btml.model; b btml.model;
BEGIN
    EXECUTE format('SELECT btml.boost_fit(%L, ''y'', %s, residuals => ''sketch'', %s)', source, common, options) INTO a;
    EXECUTE format('SELECT btml.boost_fit(%L, ''y'', %s, %s)', source, common, exact) INTO b;
    RETURN QUERY SELECT (m->>'sketch_size')::int, (m->>'sketches')::int,
        (SELECT jsonb_object_agg(key, value) FROM jsonb_each(btml.summary(a)->'params')
        WHERE key IN ('residuals', 'sketch_size', 'epsilon', 'delta')),
        (m->>'sketch_error')::float8 < 0.2, m ? 'sketch_error',
        round(((m->>'train_loss')::float8 / (btml.summary(b)#>>'{metrics,train_loss}')::float8)::numeric, 1)
        FROM (SELECT btml.summary(a)->'metrics') s(m);
END $$;
SELECT s.*, options FROM unnest(ARRAY['seed => 0, sketch_size => 1000', 'seed => 1, sketch_size => 1000, verify => true',
    'seed => 2, sketch_size => 300, verify => true, weight => ''weight'', holdout => ''held_out''',
    'seed => 3, sketch_size => 300, verify => true, row_fraction => 0.6',
    'seed => 4, epsilon => 0.9, delta => 0.9, verify => true, max_bins => 3']) options, sketched(options) s;
-- The same bytes whatever the number of threads; another seed, other sketches.
SELECT count(DISTINCT model::text) AS models FROM generate_series(1, 3) threads, set_config('btml.threads', threads::text, false),
    LATERAL (SELECT btml.boost_fit('SELECT area, price, tag, y FROM sale JOIN shop USING (shop) JOIN tag USING (item) WHERE id > '
    || threads * 0, 'y', trees => 2, max_leaves => 4, criterion => 'mse_sum', strategy => 'factorize', residuals => 'sketch',
    sketch_size => 50) AS model) m;
SELECT count(DISTINCT btml.summary(btml.boost_fit('SELECT area, price, tag, y FROM sale JOIN shop USING (shop) JOIN tag USING (item)', 'y',
    trees => 1, max_leaves => 2, criterion => 'mse_sum', strategy => 'factorize', residuals => 'sketch', sketch_size => 50, verify => true,
    seed => seed))#>>'{metrics,sketch_error}') AS errors
FROM generate_series(1, 3) seed;
-- The sketches of a seed are the same wherever the rows lie.
CREATE TABLE shuffled_sale AS SELECT * FROM sale ORDER BY random();
CREATE TABLE shuffled_shop AS SELECT * FROM shop ORDER BY random();
CREATE TABLE shuffled_tag AS SELECT * FROM tag ORDER BY random();
CREATE FUNCTION sketched_trees(prefix text) RETURNS SETOF text LANGUAGE sql AS $$
    SELECT (tree, node, feature, threshold, categories, round(gain::numeric, 3))::text
    FROM btml.trees(btml.boost_fit(format('SELECT area, size, price, tag, y FROM %1$ssale s JOIN %1$sshop USING (shop)
        JOIN %1$stag USING (item)', prefix),
        'y', trees => 3, max_leaves => 4, criterion => 'mse_sum', strategy => 'factorize', residuals => 'sketch', sketch_size => 20)) $$;
SELECT count(*) AS nodes, count(*) FILTER (WHERE s IS NULL OR t IS NULL) AS different
    FROM sketched_trees('') s FULL JOIN sketched_trees('shuffled_') t ON s = t;
-- No sketch where no squares are needed, or where the residuals are held; verify says so.
SELECT s->'strategy' AS strategy, criterion, s->'params'->'residuals' AS residuals, s->'metrics' ? 'sketch_size' AS sketched
    FROM (VALUES ('factorize', 'variance'), ('enumerate', 'mse_sum'), ('auto', 'mse_sum')) v(strategy, criterion),
    btml.summary(btml.boost_fit('SELECT area, price, tag, y FROM sale JOIN shop USING (shop) JOIN tag USING (item)', 'y', trees => 2,
    strategy => v.strategy, criterion => criterion, residuals => 'sketch', verify => true)) s;
-- The tables of a cyclic join ask for the size that they ask for without a cycle: its bag is none of them.
SELECT condition, m->'sketch_size' AS sketch_size, (m->>'sketch_error')::float8 < 0.5 AS kept
    FROM unnest('{strength = area,true}'::text[]) condition,
    LATERAL (SELECT btml.summary(btml.boost_fit('SELECT price, size, tag, y FROM sale JOIN shop USING (shop) JOIN tag USING (item) WHERE '
    || condition, 'y', trees => 1, max_leaves => 2, criterion => 'mse_sum', strategy => 'factorize', residuals => 'sketch', epsilon => 0.5,
    delta => 0.5, verify => true))->'metrics' AS m) t;
-- A long forecast names sketch_size before the work starts; then a sketch that is too large is refused.
SET btml.threads = 1;
SET client_min_messages = notice;
SELECT btml.boost_fit('SELECT area, price, tag, y FROM sale JOIN shop USING (shop) JOIN tag USING (item)', 'y', criterion => 'mse_sum',
    strategy => 'factorize', residuals => 'sketch', epsilon => 0.0001);
SET btml.memory_limit = '8MB';
SELECT btml.boost_fit('SELECT area, price, tag, y FROM sale JOIN shop USING (shop) JOIN tag USING (item)', 'y', criterion => 'mse_sum',
    strategy => 'factorize', residuals => 'sketch', sketch_size => 1000000);
RESET btml.memory_limit;
SET client_min_messages = warning;
RESET btml.threads;

-- A join of 8·10^15 rows is no larger than its tables, and has the loss of the one that matters; auto chooses, and says why.
CREATE TABLE long AS SELECT i % 20 AS a, i * 3 % 50 AS b, i % 10 / 4.0 + i % 20 AS y FROM generate_series(1, 200000) i;
SET btml.memory_limit = '64MB';
SELECT s->'rows' AS rows, s->'strategy' AS strategy, s->'strategy_reason' AS reason,
    round((s->'metrics'->>'train_loss')::numeric, 6) AS train_loss
FROM btml.summary(btml.boost_fit('SELECT l.a, l.b, m.b AS c, n.b AS d, l.y FROM long l, long m, long n', 'y', trees => 3, max_leaves => 4,
    learning_rate => 1)) s;
SELECT round((btml.summary(btml.boost_fit('SELECT a, b, y FROM long', 'y', trees => 3, max_leaves => 4,
    learning_rate => 1))->'metrics'->>'train_loss')::numeric, 6) AS train_loss;
-- Weights keep their weight, however many join rows there are; splits of no gain are none.
CREATE TABLE weighed AS SELECT i % 20 AS a, i % 20 + i % 7 AS y, CASE WHEN i % 100 = 0 THEN 1e4 ELSE 1 END AS w, 1e-14 * (i % 3) AS small,
    i % 4 = 0 AS held_out FROM generate_series(1, 1000) i;
CREATE TABLE useless AS SELECT i % 3 AS c FROM generate_series(1, 1000000) i;
SELECT count(DISTINCT round((s->>'base')::numeric, 9)) AS bases,
    count(DISTINCT round((s->'metrics'->>'train_loss')::numeric, 6)) AS losses,
    count(DISTINCT round((s->'metrics'->>'holdout_loss')::numeric, 4)) AS holdout_losses, max((s->>'rows')::bigint) AS rows
FROM (VALUES ('weighed', 'enumerate'), ('weighed', 'factorize'), ('weighed, useless', 'factorize'),
    ('weighed, useless, (SELECT c FROM useless WHERE c = 1) u', 'factorize')) v(tables, strategy),
    LATERAL btml.summary(btml.boost_fit('SELECT a, y, w, held_out FROM ' || tables, 'y', weight => 'w', holdout => 'held_out',
    strategy => strategy, trees => 3, min_leaf_rows => 0)) s;
SELECT strategy, s->'rows' AS rows, round((s->'metrics'->>'train_loss')::numeric, 9) AS train_loss,
    round((s->'metrics'->>'holdout_loss')::numeric, 9) AS holdout_loss FROM unnest('{enumerate,factorize}'::text[]) strategy,
    LATERAL (SELECT btml.summary(btml.boost_fit('SELECT a, y, small, held_out FROM weighed', 'y', weight => 'small', holdout => 'held_out',
    strategy => strategy, trees => 1, max_leaves => 4, min_leaf_rows => 0, learning_rate => 1)) AS s) t;
-- What has no weight, or is held out, may be as large as a number can be.
CREATE TABLE outliers AS SELECT i % 20 AS a, i % 7 AS b, CASE WHEN i % 50 = 0 THEN 1e300 ELSE i % 20 + i % 3 END AS heavy,
    CASE WHEN i % 50 = 0 THEN 1e149 ELSE i % 20 + i % 3 END AS large, (i % 50 > 0)::int AS w, i % 50 = 0 AS held_out
    FROM generate_series(1, 1000) i;
SELECT rows, splits, different, value_error, criterion, target, role
    FROM unnest('{variance,mse_sum}'::text[]) criterion, (VALUES ('heavy', 'weight', 'w'), ('large', 'holdout', 'held_out')) v(target,
    role, name),
    compare(format('SELECT a, o.b, %s AS y, %s, i FROM outliers o JOIN generate_series(1, 5) i ON i = o.b', target, name),
    format('trees => 3, max_leaves => 5, criterion => %L, %s => %L', criterion, role, name)) c;
-- Of equal targets the held-out rows alone say how fine the residuals are.
SELECT strategy, round((s->'metrics'->>'train_loss')::numeric, 9) AS train_loss,
    round((s->'metrics'->>'holdout_loss')::numeric, 9) AS holdout_loss
FROM unnest('{enumerate,factorize}'::text[]) strategy,
    btml.summary(btml.boost_fit('SELECT a, CASE WHEN w = 0 THEN 1e200 WHEN a = 0 THEN 3.7 ELSE 3.25 END AS y, w, a = 0 AS held_out
    FROM outliers', 'y', weight => 'w', holdout => 'held_out', trees => 2, strategy => strategy)) s;
-- What rounding leaves of the mean is no tree.
SELECT strategy, (SELECT value FROM btml.trees(model)) AS value, (SELECT count(*) FROM btml.training_log(model)) AS iterations
    FROM unnest('{enumerate,factorize}'::text[]) strategy,
    LATERAL (SELECT btml.boost_fit('SELECT i % 5 AS a, ln(i) AS y, i % 4 = 0 AS held_out FROM generate_series(1, 25) i', 'y',
    holdout => 'held_out', early_stopping => 3, min_leaf_rows => 20, strategy => strategy) AS model) m;
-- Weights that are no multiples of one another: what doubles round of them makes no rows, and no leaf of such rows.
SELECT min_leaf_rows, criterion, count(t_feature) AS splits, count(*) FILTER (WHERE different) AS different,
    round(max(value_error)::numeric, 9) AS value_error
FROM unnest('{0,1,20}'::float8[]) min_leaf_rows, unnest('{variance,mse_sum}'::text[]) criterion,
    LATERAL (SELECT 'SELECT area, region, units, tag, strength, (units + 1) / 3.0 + (strength IS NULL)::int AS w, y
    FROM sale JOIN shop USING (shop) JOIN tag USING (item)' AS source) s,
    LATERAL (SELECT btml.boost_fit(source, 'y', weight => 'w', strategy => 'enumerate', trees => 2, max_leaves => 0, max_depth => 9,
    min_leaf_rows => min_leaf_rows, criterion => criterion) AS a) a,
    LATERAL (SELECT btml.boost_fit(source, 'y', weight => 'w', strategy => 'factorize', trees => 2, max_leaves => 0, max_depth => 9,
    min_leaf_rows => min_leaf_rows, criterion => criterion) AS b) b,
    LATERAL (SELECT t.feature AS t_feature, (t.feature, t.threshold, t.categories, t.null_left) IS DISTINCT
    FROM (u.feature, u.threshold, u.categories, u.null_left) AS different, abs(t.value - u.value) AS value_error
             FROM btml.trees(a) t FULL JOIN btml.trees(b) u USING (tree, node)) c
WHERE criterion = 'variance' OR min_leaf_rows = 20 GROUP BY min_leaf_rows, criterion ORDER BY min_leaf_rows, criterion;
CREATE TABLE few (x int, y float8);
INSERT INTO few VALUES (-3,4),(-2,2),(-2,2),(-2,3),(-1,2),(-1,3),(-1,3),(0,1),(0,1),(0,1),(0,1),(2,1),(2,3),(2,4),(2,4),(2,4),
    (3,1),(3,3),(4,1),(4,2),(4,2),(4,3),(4,3),(5,2),(5,3),(5,4);
SELECT * FROM compare('few', 'criterion => ''mse_sum'', learning_rate => 1, max_leaves => 4, trees => 5, min_leaf_rows => 1');
SELECT * FROM btml.explain_join('SELECT FROM long l, long m, long n');
SELECT btml.boost_fit('SELECT l.a, l.b, l.y FROM long l, long m, long n, long o', 'y');
RESET btml.memory_limit;
-- Which of the two is estimated to be faster.
SELECT s->'rows' AS rows, s->'strategy' AS strategy, s->'strategy_reason' AS reason
FROM btml.summary(btml.boost_fit('SELECT l.a, l.y, i FROM long l JOIN generate_series(1, 1000) i ON i % 20 = a', 'y', trees => 6,
    max_leaves => 8)) s;
-- What the trees touch shows how long factorising takes: here it is given up for the rows. The model is that of the rows.
CREATE TABLE origin AS SELECT i % 40 AS k, i * 7919 % 1009 AS a, i * 104729 % 997 AS b,
    sin(i % 40) * 3 + cos(2 * (i % 40)) + i * 104729 % 997 / 997.0 AS y FROM generate_series(1, 5000) i;
CREATE TABLE target AS SELECT i % 40 AS k, i * 31 % 1013 / 1013.0 + sin(i % 40) AS c, i * 17 % 1013 / 1013.0 + cos(i % 40) AS d
    FROM generate_series(1, 5000) i;
CREATE TABLE given_up AS SELECT strategy, btml.boost_fit('SELECT y, a, b, c, d FROM origin JOIN target USING (k)', 'y', trees => 200,
    strategy => strategy) AS model
FROM unnest(ARRAY['auto', 'enumerate']) strategy;
SELECT g.strategy, s->>'strategy' AS took, regexp_replace(s->>'strategy_reason', '(after|about) [\d.]+', '\1 N', 'g') AS reason,
    s->'seconds' ? 'factorising, given up' AS timed
FROM given_up g, btml.summary(model) s ORDER BY g.strategy;
SELECT count(DISTINCT trees) AS models
    FROM (SELECT strategy, array_agg(t ORDER BY t.tree, t.node) AS trees FROM given_up, btml.trees(model) t GROUP BY strategy) all_trees;
-- Of a training that goes on from a model, the trees that are new count.
WITH first AS (SELECT btml.boost_fit('SELECT y, a, b, c, d FROM origin JOIN target USING (k)', 'y', trees => 5) AS model),
    continued AS (SELECT strategy, btml.boost_fit('SELECT y, a, b, c, d FROM origin JOIN target USING (k)', 'y', trees => 195,
    strategy => strategy, start => model) AS model
                  FROM first, unnest(ARRAY['auto', 'enumerate']) strategy)
SELECT strategy, s->>'strategy' AS took, s->>'strategy_reason' ~ 'factorising was given up after \d+ of 195 trees' AS given_up,
    (SELECT md5(string_agg(t::text, ' ' ORDER BY t.tree, t.node))
    FROM btml.trees(model) t) = lag((SELECT md5(string_agg(t::text, ' ' ORDER BY t.tree, t.node))
    FROM btml.trees(model) t)) OVER (ORDER BY strategy) AS same
FROM continued, btml.summary(model) s ORDER BY strategy;
-- With weights and held-out rows; notices come once.
SET client_min_messages = notice;
SELECT s->>'strategy' AS took, s->>'strategy_reason' LIKE '%factorising was given up%' AS given_up, (s->>'holdout_rows')::int
    > 0 AS held_out
FROM btml.summary(btml.boost_fit('SELECT (y > 2)::int AS y, a, b, c, d, 1 + a % 2 AS w, b % 7 = 0 AS held
    FROM origin JOIN target USING (k)', 'y', weight => 'w', holdout => 'held', trees => 200)) s;
SET client_min_messages = warning;
-- Features that are not asked for take no time: with few of them the rows are held at once.
SELECT s->>'strategy' AS took, s->>'strategy_reason' AS reason
FROM btml.summary(btml.boost_fit('SELECT y, a, b, c, d FROM origin JOIN target USING (k)', 'y', feature_fraction => 0.1)) s;
-- Where memory may not suffice for the rows, it is not given up.
SET btml.memory_limit = '16500kB';
SELECT s->>'strategy' AS took
    FROM btml.summary(btml.boost_fit('SELECT y, a, b, c, d FROM origin JOIN target USING (k)', 'y', trees => 200)) s;
RESET btml.memory_limit;
-- Where factorising takes longer at best, it is not tried.
SELECT * FROM btml.explain_join('SELECT FROM generate_series(1, 300000) i JOIN generate_series(1, 300000) j ON i / 4 = j / 4') line
    WHERE line ~ '^ *Training';
DROP TABLE given_up, origin, target;
-- Residuals are held by combinations of rows while those are few, and in pairs of leaves where there are many; the trees are
-- the same.
CREATE TABLE person AS SELECT i % 40 AS town, i * 7919 % 1009 / 1009.0 AS age, i * 104729 % 997 / 997.0 + i % 40 * 0.01 AS y
    FROM generate_series(1, 2000) i;
CREATE TABLE car AS SELECT i % 40 AS town, i * 31 % 1013 / 1013.0 AS power, i * 17 % 3 AS doors FROM generate_series(1, 2000) i;
CREATE FUNCTION ways(source text, options text, OUT enumerated numeric, OUT factorised numeric, OUT same_splits bool,
    OUT reason text) LANGUAGE plpgsql AS $$
DECLARE
    fit text := format('SELECT btml.boost_fit(%L, ''y'', min_gain => 1e-9, %s, strategy => ', source, options);
    held btml.model;
    without btml.model;
BEGIN
    EXECUTE fit || quote_literal('enumerate') || ')' INTO held;
    EXECUTE fit || quote_literal('factorize') || ')' INTO without;
    enumerated := round((btml.summary(held)->'metrics'->>'train_loss')::numeric, 9);
    factorised := round((btml.summary(without)->'metrics'->>'train_loss')::numeric, 9);
    SELECT bool_and((h.feature, h.threshold, h.rows) IS NOT DISTINCT FROM (w.feature, w.threshold, w.rows)) INTO same_splits
    FROM btml.trees(held) h FULL JOIN btml.trees(without) w USING (tree, node);
    reason := btml.summary(without)->>'strategy_reason';
END $$;
SELECT * FROM ways('SELECT age, doors, y FROM person JOIN car USING (town)', 'trees => 20, max_leaves => 4, max_bins => 4');
SELECT * FROM ways('SELECT age, doors, power, y FROM person JOIN car USING (town)',
    'trees => 20, max_leaves => 20, learning_rate => 0.7, min_leaf_rows => 1');
SELECT * FROM ways('SELECT age, doors, power, y FROM person JOIN car USING (town)',
    'trees => 4, max_leaves => 4, criterion => ''mse_sum''');
DROP SCHEMA factorize CASCADE;
