-- What counts as one in a fit over a join: its rows, or those of the target's table.
CREATE SCHEMA unit;
SET search_path = unit, public;

\set caught `echo "${PG_ABS_SRCDIR:-.}/sql/include/caught.sql"`
\i :caught

-- Things with up to 5 events, some without any; one lacks its target. Half of the weights are 2.
CREATE TABLE thing (thing_id int, x float8, kind text, y float8, w float8, part int);
CREATE TABLE event (thing_id int, z float8);
CREATE TABLE place (kind text, area float8);
INSERT INTO thing SELECT i, i * 37 % 101, chr(97 + i % 3), nullif(i * 7919 % 53, 13) + i % 3 * 10, 1 + i % 2, i % 3
FROM generate_series(1, 300) i;
INSERT INTO event SELECT i, i * n * 31 % 47 FROM generate_series(1, 300) i, generate_series(1, i % 6) n;
INSERT INTO place VALUES ('a', 10), ('b', 20), ('c', 30);

CREATE VIEW met AS SELECT y, x, z FROM thing JOIN event USING (thing_id);
CREATE VIEW met_kinds AS SELECT y, x, kind, z FROM thing JOIN event USING (thing_id);
CREATE VIEW met_weighted AS SELECT y, x, kind, z, w FROM thing JOIN event USING (thing_id);
CREATE VIEW met_parts AS SELECT y, x, kind, z, part FROM thing JOIN event USING (thing_id);

-- The join's rows with the weights that they have one by one.
CREATE TABLE listed AS
SELECT t.y, t.x, t.kind, e.z, t.part, 1.0::float8 / count(*) OVER of_thing AS share, t.w / count(*) OVER of_thing AS weighted_share
FROM thing t JOIN event e USING (thing_id) WINDOW of_thing AS (PARTITION BY thing_id);

CREATE FUNCTION trees_of(model btml.model) RETURNS text LANGUAGE sql AS $$
    SELECT md5(string_agg(t::text, ' ' ORDER BY tree, node, class)) FROM btml.trees(model) t $$;
CREATE FUNCTION rounded_trees_of(model btml.model) RETURNS text LANGUAGE sql AS $$
    SELECT md5(string_agg(concat_ws(' ', feature, round(threshold::numeric, 6), round(value::numeric, 6), round(rows::numeric, 6)), ';'
        ORDER BY tree, node)) FROM btml.trees(model) $$;

-- A NOTICE of each function that fits, once.
SELECT btml.summary(btml.boost_fit('met', 'y', trees => 3)) #> '{params,unit}' AS unit;
SELECT btml.summary(btml.tree_fit('SELECT y, x, z FROM thing t JOIN event USING (thing_id)', 'y')) #> '{params,unit}' AS unit;
SELECT count(*) FROM btml.cross_validate('met', 'y', options => '{"trees": 3}');
SELECT count(*) FROM btml.cross_validate('met', 'y', method => 'gp');
SELECT count(*) FROM btml.tune('met', 'y', '{"trees": [2, 3]}', trials => 2);
SELECT btml.summary(btml.gp_fit('met', 'y', members => 1, evaluations => 3)) ->> 'rows' AS rows;
SELECT count(*) FROM btml.gp_fit_members('met', 'y', members => 2, evaluations => 3);
SELECT count(*) FROM btml.gp_regression('met', 'y', 'SELECT 1 AS x, 2 AS z', members => 1, evaluations => 3);

-- Factorised, sampled, cyclic, by a left join and many times over.
SELECT btml.summary(btml.boost_fit('met', 'y', trees => 3, strategy => 'factorize')) ->> 'strategy' AS strategy;
SELECT btml.summary(btml.boost_fit('met', 'y', trees => 3, strategy => 'sample',
    sample_rows => 500)) ->> 'sample_rows' AS sample_rows;
SELECT btml.summary(btml.boost_fit('SELECT t.y, t.x, e.z FROM thing t LEFT JOIN event e USING (thing_id)', 'y',
    trees => 3)) ->> 'rows' AS rows;
SELECT btml.summary(btml.boost_fit('SELECT t.y, t.x, e.z FROM thing t, event e, event f, place p
    WHERE t.thing_id = e.thing_id AND e.z = f.z AND f.thing_id = t.thing_id AND p.kind = t.kind', 'y', trees => 3)) ->> 'rows' AS rows;
SELECT btml.summary(btml.boost_fit('SELECT t.y, t.x, e.z FROM thing t, event e, event f', 'y',
    trees => 1, max_leaves => 2)) ->> 'rows' AS rows;

-- None where the target is at the many end, where each row is there once, and of the other unit.
SELECT btml.summary(btml.boost_fit('SELECT z, x FROM thing JOIN event USING (thing_id)', 'z', trees => 3)) ->> 'rows' AS rows;
SELECT btml.summary(btml.boost_fit('SELECT t.y, t.x, p.area FROM thing t JOIN place p USING (kind)', 'y', trees => 3)) ->> 'rows' AS rows;
SELECT btml.summary(btml.boost_fit('thing', 'y', trees => 3)) ->> 'rows' AS rows;
SELECT btml.summary(btml.boost_fit('met', 'y', trees => 3, unit => 'target')) #> '{params,unit}' AS unit;
SELECT btml.summary(btml.tree_fit('met', 'y', unit => 'target')) #> '{params,unit}' AS unit;
SELECT count(*) FROM btml.cross_validate('met', 'y', unit => 'target', options => '{"trees": 3}');
SELECT trial, options FROM btml.tune('met', 'y', '{"trees": [2]}', trials => 1, unit => 'target');
SELECT trial, options FROM btml.tune('met', 'y', '{"trees": [2]}', trials => 1,
    options => '{"unit": "target"}');
SELECT options FROM btml.tune('listed', 'y', '{"trees": [2]}', trials => 1, options => '{"unit": "join"}');

-- The fit over the join's rows with a weight each: of any objective, the same bits; factorised, the same numbers.
SELECT o AS objective, trees_of(btml.boost_fit('met_kinds', 'y', objective => o,
        trees => 5, unit => 'target')) =
    trees_of(btml.boost_fit('SELECT y, x, kind, z, share FROM listed', 'y', objective => o, trees => 5, weight => 'share')) AS same,
    trees_of(btml.boost_fit('met_weighted', 'y', objective => o,
        trees => 5, unit => 'target', weight => 'w')) =
    trees_of(btml.boost_fit('SELECT y, x, kind, z, weighted_share FROM listed', 'y', objective => o, trees => 5,
        weight => 'weighted_share')) AS same_weighted
FROM unnest('{squared,absolute,huber,quantile,poisson,tweedie}'::text[]) o;
SELECT trees_of(btml.boost_fit('met_kinds', 'kind', trees => 5, unit => 'target', balanced => true)) =
    trees_of(btml.boost_fit('SELECT t.y, t.x, t.kind, e.z, 1.0 / count(*) OVER (PARTITION BY thing_id) AS share
        FROM thing t JOIN event e USING (thing_id)', 'kind', trees => 5, weight => 'share', balanced => true)) AS same_labels;
SELECT strategy, rounded_trees_of(btml.boost_fit('met_kinds', 'y', trees => 5, unit => 'target',
        strategy => strategy)) =
    rounded_trees_of(btml.boost_fit('SELECT y, x, kind, z, share FROM listed', 'y', trees => 5, weight => 'share')) AS same
FROM unnest('{enumerate,factorize,sample}'::text[]) strategy;

-- The same bits in any order of the rows, with any number of threads.
CREATE TABLE shuffled_thing AS SELECT * FROM thing ORDER BY md5(thing_id::text);
CREATE TABLE shuffled_event AS SELECT * FROM event ORDER BY md5(thing_id::text || z);
CREATE FUNCTION fitted(source text, strategy text, threads int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('btml.threads', threads::text, true);
    RETURN trees_of(btml.boost_fit(source, 'y', trees => 20, min_leaf_rows => 3, unit => 'target', strategy => strategy,
        sample_rows => CASE strategy WHEN 'sample' THEN 500 END));
END $$;
SELECT strategy, fitted('met_kinds', strategy, 1) = fitted('SELECT y, x, kind, z FROM shuffled_thing JOIN shuffled_event USING (thing_id)',
    strategy, 3) AS same
FROM unnest('{enumerate,sample}'::text[]) strategy;

-- Leaves have rows of the target's table.
SELECT round(rows::numeric, 6) AS rows FROM btml.trees(btml.tree_fit('met', 'y', unit => 'target'))
WHERE node = 0;
SELECT count(DISTINCT thing_id) FROM thing JOIN event USING (thing_id) WHERE y IS NOT NULL;
SELECT min(rows) >= 20 - 1e-6 AS leaves_have_20 FROM btml.trees(btml.tree_fit('met', 'y', unit => 'target'))
WHERE left_child IS NULL;

-- The first prediction is the mean over things.
SELECT round((btml.summary(btml.boost_fit('met', 'y', trees => 1, unit => 'target'))->>'base')::numeric, 9) =
    (SELECT round(avg(y)::numeric, 9) FROM thing WHERE EXISTS (SELECT FROM event e WHERE e.thing_id = thing.thing_id)) AS is_mean;

-- Folds are scored by the same weights.
SELECT a.fold, a.rows, a.value = b.value AS same
FROM btml.cross_validate('met_parts', 'y', fold => 'part', unit => 'target',
        options => '{"trees": 5}') a
JOIN btml.cross_validate('SELECT y, x, kind, z, share, part FROM listed', 'y', fold => 'part',
        options => '{"trees": 5, "weight": "share"}') b
    USING (fold) ORDER BY fold;
SELECT options, score = other_score AS same
FROM btml.tune('met_parts', 'y', '{"max_leaves": [4, 8]}', fold => 'part', unit => 'target',
        trials => 2, options => '{"trees": 5}')
JOIN (SELECT trial, score AS other_score FROM btml.tune('SELECT y, x, kind, z, share, part FROM listed', 'y', '{"max_leaves": [4, 8]}',
        fold => 'part', trials => 2, options => '{"trees": 5, "weight": "share"}')) b USING (trial) ORDER BY trial;

-- Held-out repeats keep their share.
SELECT btml.summary(m) ->> 'holdout_rows' AS holdout_rows,
    round(rows::numeric, 6) = (SELECT round(sum(share)::numeric, 6) FROM listed WHERE z >= 10 AND y IS NOT NULL) AS same
FROM (SELECT btml.boost_fit('SELECT *, z < 10 AS held_out FROM met', 'y', holdout => 'held_out', trees => 1, unit => 'target') AS m) f,
    btml.trees(m) WHERE node = 0;

-- Mistakes.
SELECT caught($$SELECT btml.boost_fit('met', 'y', unit => 'targets')$$);
SELECT caught($$SELECT btml.tree_fit('met', 'y', unit => 'row')$$);
SELECT caught($$SELECT btml.boost_fit('met', 'y', unit => NULL)$$);
SELECT caught($$SELECT btml.boost_fit('met', 'y', options => '{"unit": 1}')$$);
SELECT caught($$SELECT btml.boost_fit('met', 'y', options => '{"unit": "join"}', unit => 'target')$$);
SELECT caught($$SELECT btml.cross_validate('met', 'y', unit => 'things')$$);
SELECT caught($$SELECT btml.tune('met', 'y', '{"trees": [2]}', unit => '')$$);
SELECT caught($$SELECT btml.cross_validate('met', 'y', method => 'gp', unit => 'target')$$);
SELECT caught($$SELECT btml.tune('met', 'y', '{"unit": ["join", "target"]}')$$);
SELECT caught($$SELECT btml.boost_fit_agg(y, ARRAY[x], '{"unit": "target"}') FROM thing$$);
SELECT caught($$SELECT btml.gp_fit('met', 'y', options => '{"unit": "target"}')$$);
-- Where repeats are not known.
SELECT caught($$SELECT btml.boost_fit('SELECT y, x, z FROM thing t JOIN event e ON t.thing_id = e.thing_id AND z < x', 'y',
    unit => 'target')$$);
SELECT caught($$SELECT btml.boost_fit('SELECT y, x, max(z) AS z FROM thing JOIN event USING (thing_id) GROUP BY y, x', 'y',
    unit => 'target')$$);
-- Weights are checked as they were given.
UPDATE thing SET w = -1 WHERE thing_id = 5;
SELECT caught($$SELECT btml.boost_fit('SELECT y, x, z, w FROM thing JOIN event USING (thing_id)', 'y', unit => 'target', weight => 'w')$$);
UPDATE thing SET w = NULL WHERE thing_id = 5;
SELECT caught($$SELECT btml.boost_fit('SELECT y, x, z, w FROM thing JOIN event USING (thing_id)', 'y', unit => 'target', weight => 'w')$$);
UPDATE thing SET w = 0;
SELECT caught($$SELECT btml.boost_fit('SELECT y, x, z, w FROM thing JOIN event USING (thing_id)', 'y', unit => 'target', weight => 'w')$$);
SELECT caught($$SELECT btml.boost_fit('SELECT y, x, z FROM thing JOIN event USING (thing_id) WHERE z < 0', 'y', unit => 'target')$$);
DELETE FROM thing WHERE thing_id <> 5;
SELECT btml.summary(btml.boost_fit('met', 'y', unit => 'target', min_leaf_rows => 0, trees => 1)) ->> 'rows' AS rows;
SET client_min_messages = warning;
DROP SCHEMA unit CASCADE;
