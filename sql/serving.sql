-- Serving single rows: models that a session keeps ready, the first trees alone, what a model says of itself in a line.
CREATE SCHEMA serving;
SET search_path = serving, public;
SET client_min_messages = warning;
\set VERBOSITY terse
CREATE TYPE kind AS ENUM ('loft', 'flat');
CREATE TABLE house (id int PRIMARY KEY, size float8, rooms int, kind kind, label text, held boolean, price float8);
INSERT INTO house SELECT i, i * 37 % 120, i % 5, CASE i % 3 WHEN 0 THEN 'loft' ELSE 'flat' END::kind, 'a' || i % 7, i % 4 = 0,
    i * 37 % 120 * 3 + i % 5 * 10 + i % 3 + i % 7 * i % 11 FROM generate_series(1, 2000) i;
CREATE TABLE model (name text PRIMARY KEY, model btml.model);
INSERT INTO model SELECT 'seed ' || seed,
    btml.boost_fit('SELECT size, rooms, kind, label, price FROM serving.house', 'price', row_fraction => 0.5, seed => seed)
FROM generate_series(1, 3) seed;

-- Says whether a prediction is possible within a limit, in kB.
CREATE FUNCTION fits(which text, kb int) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('btml.memory_limit', kb::text, true);
    EXECUTE 'SELECT btml.predict((SELECT model FROM serving.model WHERE name = $1), h) FROM serving.house h WHERE id = 1' USING which;
    RETURN true;
EXCEPTION WHEN out_of_memory OR program_limit_exceeded OR insufficient_resources THEN RETURN false;
END $$;
-- Returns the largest limit that is too small.
CREATE FUNCTION too_small(which text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE small int := 64; large int := 8192; middle int;
BEGIN
    WHILE large - small > 1 LOOP
        middle := (small + large) / 2;
        IF fits(which, middle) THEN large := middle; ELSE small := middle; END IF;
    END LOOP;
    RETURN small;
END $$;
-- With one kB less than it takes to decode a model, only one that is kept ready can predict.
SET btml.model_cache = 0;
CREATE TABLE tight AS SELECT name, too_small(name) AS kb FROM model;
CREATE VIEW ready AS SELECT t.name, fits(t.name, t.kb) AS ready FROM tight t;
CREATE FUNCTION predicts(which text) RETURNS float8 LANGUAGE sql AS $$
    SELECT btml.predict((SELECT model FROM serving.model WHERE name = which), h) FROM serving.house h WHERE id = 1 $$;
SELECT kb > 64 AS takes_more FROM tight GROUP BY 1;
SELECT count(predicts(name)) AS predicted FROM model;
SELECT ready, count(*) FROM ready GROUP BY ready;
RESET btml.model_cache;
SELECT ready, count(*) FROM ready GROUP BY ready;
SELECT predicts('seed 1') IS NOT NULL AS predicted;
SELECT * FROM ready ORDER BY name;
SELECT count(predicts(name)) AS predicted FROM model;
SELECT * FROM ready ORDER BY name;
-- Those go first that were not used for longest, where two and a half have room.
CREATE TABLE size AS SELECT too_small('seed 1') AS kb;
SELECT set_config('btml.model_cache', (size.kb * 5 / 2)::text, false) <> '' AS set FROM size;
SELECT predicts('seed 1') IS NOT NULL AND predicts('seed 2') IS NOT NULL AND predicts('seed 1') IS NOT NULL
    AND predicts('seed 3') IS NOT NULL AS predicted;
SELECT * FROM ready ORDER BY name;
SET btml.model_cache = '1kB';
SELECT predicts('seed 1') IS NOT NULL AS predicted;
SELECT count(*) FILTER (WHERE ready) AS ready FROM ready;
RESET btml.model_cache;
-- Nor are any kept beyond the cap that superusers set: the next call, which has no room either, lets them go.
SELECT predicts('seed 1') IS NOT NULL AS predicted;
SET btml.max_memory_limit = '64kB';
SELECT predicts('seed 1');
RESET btml.max_memory_limit;
SELECT count(*) FILTER (WHERE ready) AS ready FROM ready;
-- Equal models are one, wherever they are stored.
SELECT predicts('seed 2') IS NOT NULL AS predicted;
INSERT INTO model SELECT 'copy', model::text::btml.model FROM model WHERE name = 'seed 2';
INSERT INTO tight SELECT 'copy', kb FROM tight WHERE name = 'seed 2';
SELECT * FROM ready WHERE name = 'copy';
-- Another model under the same name predicts at once, and no longer after a rollback.
CREATE TABLE answer AS SELECT name, predicts(name) AS price FROM model;
BEGIN;
UPDATE model SET model = (SELECT model FROM model WHERE name = 'seed 3') WHERE name = 'seed 1';
SELECT predicts('seed 1') = price AS as_the_other FROM answer WHERE name = 'seed 3';
ROLLBACK;
SELECT name, predicts(name) = price AS as_before FROM answer ORDER BY name;
SELECT count(DISTINCT price) AS different FROM answer;
-- What a row type looks like is learned anew.
ALTER TYPE kind RENAME VALUE 'loft' TO 'attic';
SELECT btml.predict(model, h) = btml.predict(model, ROW(h.*)::house) AS same,
    btml.predict(model, x) = btml.predict(model, h) AS a_category_never_seen
FROM model, house h, LATERAL (SELECT h.size, h.rooms, 'castle'::text AS kind, h.label) x WHERE name = 'seed 1' AND id = 3;
ALTER TYPE kind RENAME VALUE 'attic' TO 'loft';
ALTER TABLE house RENAME label TO tag;
SELECT predicts('seed 1');
ALTER TABLE house RENAME tag TO label;
ALTER TABLE house ADD COLUMN score float8;
CREATE FUNCTION score() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.score := btml.predict((SELECT model FROM serving.model WHERE name = 'seed 1'), NEW);
    RETURN NEW;
END $$;
CREATE TRIGGER score BEFORE INSERT OR UPDATE ON house FOR EACH ROW EXECUTE FUNCTION score();
UPDATE house SET rooms = rooms;
SELECT count(*) FILTER (WHERE score = btml.predict(model, h)) AS scored, count(*) AS rows FROM house h, model WHERE name = 'seed 1';
-- So it is by every command of one transaction, whose calls of one trigger are one call site.
CREATE FUNCTION score_by_variable() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE m btml.model;
BEGIN
    SELECT model INTO m FROM serving.model WHERE name = 'seed 1';
    NEW.score := btml.predict(m, NEW);
    RETURN NEW;
END $$;
DROP TRIGGER score ON house;
CREATE TRIGGER score BEFORE UPDATE ON house FOR EACH ROW EXECUTE FUNCTION score_by_variable();
CREATE VIEW wrong AS SELECT count(*) FILTER (WHERE score <> btml.predict((SELECT model FROM model WHERE name = 'seed 1'), h)) AS wrong,
    count(*) AS rows FROM house h;
BEGIN;
UPDATE house SET held = held;
ALTER TYPE kind RENAME VALUE 'loft' TO 'attic';
UPDATE house SET held = held;
SELECT * FROM wrong;
ALTER TABLE house ADD COLUMN extra int DEFAULT 5;
UPDATE house SET held = held;
SELECT count(*) FILTER (WHERE score <> btml.predict(model, h)) AS wrong, count(*) AS rows FROM house h, model WHERE name = 'seed 1';
ROLLBACK;
BEGIN;
UPDATE house SET held = held;
ALTER TABLE house ALTER rooms TYPE float8;
ALTER TABLE house RENAME size TO other; ALTER TABLE house RENAME rooms TO size; ALTER TABLE house RENAME other TO rooms;
UPDATE house SET held = held;
SELECT count(*) FILTER (WHERE score <> btml.predict(model, h)) AS wrong, count(*) AS rows FROM house h, model WHERE name = 'seed 1';
ROLLBACK;
-- A session that is at its end while models are kept.
\c -
SET search_path = serving, public;
SELECT count(predicts(name)) AS predicted FROM model;
\c -
SET search_path = serving, public;
SET client_min_messages = warning;
\set VERBOSITY terse

-- The model by a scalar sub-query lets the table be scanned in parallel.
CREATE FUNCTION plan_nodes(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP RETURN NEXT substring(line FROM '(Gather|Parallel Seq Scan)'); END LOOP;
END $$;
CREATE TABLE many AS SELECT h.* FROM house h, generate_series(1, 20);
ANALYZE many;
SET max_parallel_workers_per_gather = 2; SET min_parallel_table_scan_size = 0;
SELECT array_remove(array_agg(node), NULL) AS nodes
    FROM plan_nodes($$SELECT btml.predict((SELECT model FROM serving.model WHERE name = 'seed 1'), m.*) FROM serving.many m$$) node;
SELECT count(*) FILTER (WHERE predicted = btml.predict(model, h)) AS same
FROM (SELECT DISTINCT id, btml.predict((SELECT model FROM model WHERE name = 'seed 1'), m.*) AS predicted FROM many m) m
    JOIN house h USING (id), model WHERE name = 'seed 1';
RESET max_parallel_workers_per_gather; RESET min_parallel_table_scan_size;

-- The first trees are a fit of so many.
INSERT INTO model SELECT 'trees ' || trees,
    btml.boost_fit('SELECT size, rooms, kind, label, price FROM serving.house', 'price', trees => trees, max_leaves => leaves)
FROM (VALUES (1, 8), (2, 8), (5, 8), (40, 8)) v(trees, leaves);
SELECT trees, count(*) FILTER (WHERE btml.predict(f.model, h, trees) = btml.predict(m.model, h)) AS same, count(*) AS rows
FROM (VALUES (1), (2), (5), (40)) v(trees) JOIN model m ON m.name = 'trees ' || trees, model f, house h WHERE f.name = 'trees 40'
    GROUP BY trees ORDER BY trees;
SELECT bool_and(btml.predict(model, h, 0) = (btml.summary(model)->>'base')::float8) AS base,
    bool_and(btml.predict(model, ARRAY[h.size, h.rooms, 1, 0], 3) = btml.predict(model, x, 3)) AS by_position
FROM model, house h, LATERAL (SELECT h.size, h.rooms, 'loft' AS kind, 'a0' AS label) x WHERE name = 'trees 40';
-- Trees of more leaves than masks hold, and several scores.
INSERT INTO model SELECT 'deep', btml.boost_fit('SELECT size, rooms, kind, label, price FROM serving.house', 'price', trees => 4,
    max_leaves => 100, min_leaf_rows => 1);
INSERT INTO model SELECT 'deep 2', btml.boost_fit('SELECT size, rooms, kind, label, price FROM serving.house', 'price', trees => 2,
    max_leaves => 100, min_leaf_rows => 1);
SELECT bool_and(btml.predict(f.model, h, 2) = btml.predict(m.model, h)) AS same FROM model f, model m, house h
    WHERE f.name = 'deep' AND m.name = 'deep 2';
INSERT INTO model SELECT 'binary', btml.boost_fit('SELECT size, rooms, kind = ''flat'' AS flat, held, label FROM serving.house', 'flat',
    trees => 7, holdout => 'held');
INSERT INTO model SELECT 'labels', btml.boost_fit('SELECT size, rooms, price, label FROM serving.house', 'label', trees => 3);
INSERT INTO model SELECT 'by group', btml.boost_fit_agg(price, ARRAY[size, rooms]) FROM house;
INSERT INTO model SELECT 'process', btml.gp_fit('SELECT size, rooms, price FROM serving.house WHERE id < 100', 'price', members => 3,
    combine => 'mixture');
INSERT INTO model SELECT 'process held out', btml.gp_fit('SELECT size, rooms, held, price FROM serving.house WHERE id < 100', 'price',
    members => 3, holdout => 'held');
SELECT bool_and(btml.predict(model, h, 7) = btml.predict(model, h)) AS all_trees, min(btml.predict(model, h, 1)) > 0
    AND max(btml.predict(model, h, 1)) < 1 AS probabilities FROM model, house h WHERE name = 'binary';
SELECT btml.predict(model, h, 8) FROM model, house h WHERE name = 'binary';
SELECT btml.predict(model, h, -1) FROM model, house h WHERE name = 'binary';
SELECT btml.predict(model, h, 1) FROM model, house h WHERE name = 'labels';
SELECT btml.predict(model, h, 1) FROM model, house h WHERE name = 'process';
SELECT btml.predict(model, ARRAY[1.0], 1) FROM model WHERE name = 'binary';
SELECT btml.predict(model, h, NULL) IS NULL AS is_null FROM model, house h WHERE name = 'binary' AND id = 1;

-- What a model says of itself.
SELECT name, btml.describe(model) FROM model WHERE name NOT LIKE 'process%' AND name NOT LIKE 'seed%' ORDER BY name;
SELECT name, regexp_replace(btml.describe(model), '[-0-9.]+(?= |$)(?= leaving| *$)', 'N') AS description FROM model
    WHERE name LIKE 'process%' ORDER BY name;
SELECT name, btml.feature_names(model) FROM model WHERE name IN ('binary', 'by group', 'process', 'seed 1') ORDER BY name;
SELECT btml.describe(NULL) IS NULL AND btml.feature_names(NULL) IS NULL AS null_of_null;
DROP SCHEMA serving CASCADE;
