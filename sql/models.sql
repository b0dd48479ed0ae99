-- Models as values: input and output, storage, prediction, and what looks into them.
CREATE SCHEMA models;
SET search_path = models, public;
SET client_min_messages = warning;

\set caught `echo "${PG_ABS_SRCDIR:-.}/sql/include/caught.sql"`
\i :caught

SELECT btml.version() LIKE extversion || '.%' AS versions_agree FROM pg_extension WHERE extname = 'btml';

-- A table with columns and labels whose names need quotes.
CREATE TYPE mood AS ENUM ('sad', 'it''s "ok"', 'back\slash', '$1');
CREATE TABLE thing (id int PRIMARY KEY, "we""ird name" float8, num numeric, small int2, label text, mood mood, flag boolean, bought date,
    "Seen At" timestamptz, lasted interval, at time, fixed char(4), who name, y float8);
INSERT INTO thing SELECT i, CASE WHEN i % 10 <> 0 THEN i * 37 % 101 / 8.0 END, i * 53 % 97 / 10.0, i % 19,
    CASE WHEN i % 9 <> 0 THEN (ARRAY['plain', 'it''s', 'a "quote"', 'back\slash', E'two\nlines', '', ' lead'])[1 + i % 7] END,
    (ARRAY['sad', 'it''s "ok"', 'back\slash', '$1'])[1 + i % 4]::mood, CASE WHEN i % 8 <> 0 THEN i % 3 = 0 END,
    date '1969-12-01' + i * 7 % 60, timestamptz '2024-02-29 12:00+00' + i * 11 % 97 * interval '13 minutes',
    i * 29 % 31 * interval '17 hours' - interval '3 days',
    time '00:00' + i * 31 % 1440 * interval '1 minute', (ARRAY['x', 'yy', 'zzzz'])[1 + i % 3], (ARRAY['x', 'yy', 'zzzz'])[1 + i * i % 3],
    (i * 37 % 101) / 8.0 + (i % 7) * 2 + (i % 4) ^ 2 + (i * 7 % 60) / 10.0 + (i * 11 % 97) / 30.0 + (i * 29 % 31) / 9.0 + (i * 31 % 1440)
    / 700.0 + i % 3 * 2 + i * i % 3 FROM generate_series(1, 400) i;
CREATE TABLE model (name text PRIMARY KEY, model btml.model);
INSERT INTO model VALUES ('small', btml.tree_fit('SELECT num, label, y FROM models.thing', 'y', max_leaves => 4)),
    ('large', btml.boost_fit('models.thing', 'y', trees => 40, max_leaves => 20, min_leaf_rows => 5,
    features => '{"we\"ird name",num,small,label,mood,flag,bought,"Seen At",lasted,at,fixed,who}')),
    ('deep', btml.tree_fit('SELECT * FROM models.thing', 'y', max_leaves => 0, min_leaf_rows => 1)),
    ('stump', btml.tree_fit('SELECT num, y FROM models.thing', 'y', min_gain => 1e9));

-- Text and binary forms, casts, storage.
SELECT name, model::text::btml.model::text = model::text AS as_text, (model::bytea)::btml.model::bytea = model::bytea AS as_bytea,
    decode(model::text, 'base64') = model::bytea AS text_is_base64, btml_internal.model_send(model) = model::bytea AS sends_bytea,
    length(model::bytea) > 10000 AS long FROM model ORDER BY name;
CREATE TABLE copied (LIKE model);
\copy model TO PROGRAM 'cat >"${TMPDIR:-/tmp}/btml_models.$PPID"' (FORMAT binary)
\copy copied FROM PROGRAM 'cat "${TMPDIR:-/tmp}/btml_models.$PPID"' (FORMAT binary)
\copy model TO PROGRAM 'cat >"${TMPDIR:-/tmp}/btml_models.$PPID"'
\copy copied FROM PROGRAM 'cat "${TMPDIR:-/tmp}/btml_models.$PPID"; rm "${TMPDIR:-/tmp}/btml_models.$PPID"'
SELECT count(*) AS copies, bool_and(c.model::bytea = m.model::bytea) AS same FROM copied c JOIN model m USING (name);
-- Seconds are no part of the portable forms.
SELECT bool_and(btml.summary(model) ? 'seconds') AS fresh, bool_or(btml.summary(model::text::btml.model) ? 'seconds') AS from_text
    FROM model;
CREATE TABLE plain (LIKE model); ALTER TABLE plain ALTER model SET STORAGE plain;
    INSERT INTO plain SELECT * FROM model WHERE name IN ('small', 'stump');
CREATE TABLE main (LIKE model); ALTER TABLE main ALTER model SET STORAGE main; INSERT INTO main SELECT * FROM model;
CREATE TABLE external (LIKE model); ALTER TABLE external ALTER model SET STORAGE external; INSERT INTO external SELECT * FROM model;
CREATE TEMP TABLE temporary AS SELECT * FROM model;
SELECT storage, count(DISTINCT s.name) AS models, bool_and(btml.predict(s.model, t.*) = btml.predict(m.model, t.*)) AS same
FROM (SELECT 'plain' AS storage, * FROM plain UNION ALL SELECT 'main', * FROM main UNION ALL SELECT 'external', * FROM external
    UNION ALL SELECT 'temporary', * FROM temporary) s
JOIN model m USING (name), (SELECT * FROM thing WHERE id <= 50) t GROUP BY storage ORDER BY storage;
SELECT g, (SELECT round(sum(abs(t.y - btml.predict((array_agg(m.model))[1], t.*)))::numeric, 6) > 0 FROM thing t) AS predicts
FROM (SELECT id % 2 AS g, model FROM model, generate_series(1, 2) id WHERE name = 'small') m GROUP BY g ORDER BY g;
-- Types go by names that do not depend on search_path.
SET search_path = public;
SELECT btml.summary(btml.tree_fit('SELECT mood, bought, y FROM models.thing', 'y'))->'features'->0->>'type' AS type;
SET search_path = models, public;
SELECT btml.summary(btml.tree_fit('SELECT mood, bought, y FROM models.thing', 'y'))->'features'->0->>'type' AS type;
-- An updated value is another model, also for a prepared statement that keeps its cache.
CREATE TEMP TABLE one AS SELECT model FROM model WHERE name = 'stump';
PREPARE p AS SELECT count(DISTINCT btml.predict((SELECT model FROM one), t.*)) > 1 AS varies FROM thing t;
EXECUTE p;
UPDATE one SET model = (SELECT model FROM model WHERE name = 'large');
EXECUTE p;
DEALLOCATE p;
-- One call with more models than it keeps decoded, and with more than its memory holds, each of them for every row.
CREATE TEMP TABLE ramp AS SELECT i AS x, i AS y FROM generate_series(1, 8) i;
CREATE TEMP TABLE shifted AS SELECT i AS shift,
    btml.tree_fit(format('SELECT x, y + %s AS y FROM ramp', 1000 * i), 'y', min_leaf_rows => 1) AS model FROM generate_series(1, 300) i;
SELECT count(*) AS predictions, bool_and(btml.predict(model, r.*) = y + 1000 * shift) AS right FROM (SELECT * FROM ramp OFFSET 0) r
    CROSS JOIN LATERAL (SELECT * FROM shifted WHERE shift <> r.x OFFSET 0) s;
CREATE TEMP TABLE process AS SELECT i AS shift,
    btml.gp_fit(format('SELECT id, num, y + %s AS y FROM models.thing', 1000 * i), 'y', search => 'none') AS model
    FROM generate_series(1, 120) i;
SET btml.memory_limit = '1MB';
SELECT count(*) AS predictions, bool_and(abs(btml.predict(model, t.*) - y - 1000 * shift) < 30) AS near
    FROM (SELECT * FROM thing WHERE id <= 3) t CROSS JOIN LATERAL (SELECT * FROM process WHERE shift <> t.id OFFSET 0) p;
RESET btml.memory_limit;

-- Comparison is that of the portable bytes: seconds do not count, and the same bytes are the same model wherever they are stored.
CREATE TABLE compared AS SELECT row_number() OVER (ORDER BY storage, name) AS id, s.*
    FROM (SELECT 'plain' AS storage, * FROM plain UNION ALL SELECT 'main', * FROM main
    UNION ALL SELECT 'external', * FROM external UNION ALL SELECT 'text', name, model::text::btml.model FROM model) s;
SELECT count(*) AS pairs, bool_and((a.model OPERATOR(btml.=) b.model) = (a.name = b.name)) AS equal,
    bool_and((a.model OPERATOR(btml.<>) b.model) = (a.name <> b.name)) AS not_equal,
    bool_and((a.model OPERATOR(btml.<) b.model) = (a.model::bytea < b.model::bytea)) AS less,
    bool_and((a.model OPERATOR(btml.<=) b.model) = (a.model::bytea <= b.model::bytea)) AS less_equal,
    bool_and((a.model OPERATOR(btml.>) b.model) = (a.model::bytea > b.model::bytea)) AS greater,
    bool_and((a.model OPERATOR(btml.>=) b.model) = (a.model::bytea >= b.model::bytea)) AS greater_equal,
    bool_and(btml_internal.model_compare(a.model, b.model) = CASE WHEN a.model::bytea < b.model::bytea THEN -1
    WHEN a.model::bytea = b.model::bytea THEN 0 ELSE 1 END) AS compare,
    bool_and(a.name <> b.name OR (btml_internal.model_hash(a.model) = btml_internal.model_hash(b.model)
    AND btml_internal.model_hash_extended(a.model, 7) = btml_internal.model_hash_extended(b.model, 7))) AS hash FROM compared a, compared b;
SELECT count(DISTINCT btml_internal.model_hash(model)) AS hashes, count(DISTINCT btml_internal.model_hash_extended(model, 7)) AS extended,
    bool_or(btml_internal.model_hash_extended(model, 0) = btml_internal.model_hash_extended(model, 1)) AS seed_is_ignored FROM compared;
SET enable_hashagg = off;
SELECT count(*) FROM (SELECT DISTINCT model FROM compared) d;
SET enable_sort = off; RESET enable_hashagg;
SELECT count(*) FROM (SELECT DISTINCT model FROM compared) d;
RESET enable_sort;
SELECT string_agg(DISTINCT name, ',') AS name, count(*) FROM compared GROUP BY model ORDER BY 1;
SELECT count(*) FROM (SELECT model FROM external UNION SELECT model FROM main) u;
SELECT count(*) FROM (SELECT model FROM external EXCEPT SELECT model FROM main WHERE name <> 'deep') u;
SELECT bool_and(ARRAY[model] = ARRAY[model::text::btml.model]) AS arrays FROM model;
SELECT count(*) AS rows FROM (SELECT DISTINCT r FROM (SELECT name, model FROM compared) r) d;
SELECT string_agg(name, ',' ORDER BY model) = string_agg(name, ',' ORDER BY model::bytea) AS sorted FROM model;
CREATE INDEX by_hash ON external USING hash (model);
SET enable_seqscan = off; SET search_path = models, btml, public;
SELECT name FROM external WHERE model = (SELECT model FROM main WHERE name = 'large');
RESET enable_seqscan; SET search_path = models, public;
SELECT caught('SELECT a.model = b.model FROM models.model a, models.model b');

-- What cannot be a model: 22P02 or 22P03.
SELECT input, caught(format('SELECT %L::btml.model', input)) FROM unnest(ARRAY['', 'not base64!', 'QlRNTA==', repeat('QUJD', 20)]) input;
SELECT caught(format('SELECT %L::bytea::btml.model', input))
    FROM unnest(ARRAY['\x', '\x42544d4c', '\x42544d4c0400010000000000000000000000000000',
    '\x42544d4c010001000000000000000000e3b0c44298fc1c149afbf4c8996fb924']) input;
-- Models forged with the right digest.
CREATE FUNCTION little_endian(value bigint, bytes int) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT string_agg(decode(lpad(to_hex((value >> (8 * i)) & 255), 2, '0'), 'hex'), '' ORDER BY i) FROM generate_series(0, bytes - 1) i $$;
CREATE FUNCTION forge(payload bytea) RETURNS bytea LANGUAGE sql AS $$
    SELECT '\x42544d4c01000100'::bytea || little_endian(length(payload), 8) || substr(sha256(payload), 1, 16) || payload $$;
CREATE TABLE small AS SELECT m::bytea AS bytes, substr(m::bytea, 33) AS payload
    FROM btml.tree_fit('SELECT num, label, y FROM models.thing WHERE length(label) > 4', 'y', max_leaves => 3) m;
SELECT forge(payload) = bytes AS forged FROM small;
-- What happens to bytes: an error, or a model that everything can be done with.
CREATE FUNCTION outcome(bytes bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE m btml.model; s jsonb;
BEGIN
    m := bytes::btml.model;
    s := btml.summary(m);
    PERFORM btml.predict(m, array_fill(1.0::float8, ARRAY[jsonb_array_length(s->'features')]));
    PERFORM btml.predict(m, array_fill(NULL::float8, ARRAY[jsonb_array_length(s->'features')]));
    PERFORM count(to_jsonb(t)) FROM btml.trees(m) t;
    PERFORM count(to_jsonb(t)) FROM btml.training_log(m) t;
    PERFORM count(to_jsonb(t)) FROM btml.feature_importance(m) t;
    PERFORM length(btml.to_sql(m));
    RETURN CASE WHEN m::bytea = bytes THEN 'accepted' ELSE 'changed' END;
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
SELECT outcome(substr(bytes, 1, n)), count(*), min(n) AS least, max(n) = length(bytes) - 1 AS to_the_last_but_one
    FROM small, generate_series(0, length(bytes) - 1) n GROUP BY 1, bytes;
SELECT outcome(bytes || '\x00'), outcome(bytes || bytes) FROM small;
SELECT flip, outcome(set_byte(bytes, n, get_byte(bytes, n) # flip)), count(*) = length(bytes) AS every_byte
    FROM small, unnest(ARRAY[1, 128, 255]) flip, generate_series(0, length(bytes) - 1) n GROUP BY 1, 2, bytes ORDER BY 1;
SELECT caught(format('SELECT %L::bytea::btml.model', set_byte(bytes, n, get_byte(bytes, n) # 4)))
    FROM small, unnest(ARRAY[0, 4, 6, 10, 16, 31, 32]) n ORDER BY n;
-- The same below the checksum.
CREATE TABLE forged AS SELECT outcome(forge(set_byte(payload, n, get_byte(payload, n) # flip))), n, flip
    FROM small, unnest(ARRAY[1, 128, 255]) flip, generate_series(0, length(payload) - 1) n;
SELECT outcome IN ('accepted', '22P03 invalid btml.model value') AS harmless, outcome LIKE 'accepted' AS accepted, count(*) > 100 AS many
    FROM forged GROUP BY 1, 2 ORDER BY 2;
SELECT outcome, n, flip FROM forged WHERE outcome NOT IN ('accepted', '22P03 invalid btml.model value');
SELECT outcome(forge(substr(payload, 1, n))), count(*) = length(payload) AS every_length
    FROM small, generate_series(0, length(payload) - 1) n GROUP BY 1, payload;
SELECT caught(format('SELECT %L::bytea::btml.model', forge(payload || '\x00'))) FROM small;
-- A target's name with a NUL byte.
SELECT caught(format('SELECT %L::bytea::btml.model', forge(set_byte(payload, 28, 0)))) FROM small;

-- Models are kept decoded by what they are: of one length, and different by a multiple of CRC-32C's polynomial, so
-- that a checksum of few bits is the same.
CREATE FUNCTION flip(bytes bytea, n int, pattern bytea) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    FOR i IN 0..length(pattern) - 1 LOOP bytes := set_byte(bytes, n + i, get_byte(bytes, n + i) # get_byte(pattern, i)); END LOOP;
    RETURN bytes;
END $$;
CREATE TABLE twin AS SELECT n, forge(flip(payload, n, '\xf176ec0501')) AS bytes FROM small, generate_series(0, length(payload) - 5) n;
DELETE FROM twin WHERE outcome(bytes) <> 'accepted';
ALTER TABLE twin ADD alone float8;
CREATE FUNCTION predict_alone(bytes bytea) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE result float8;
BEGIN
    EXECUTE 'SELECT btml.predict($1::btml.model, ARRAY[NULL, 3]::float8[])' INTO result USING bytes;
    RETURN result;
END $$;
UPDATE twin SET alone = predict_alone(bytes);
SELECT count(DISTINCT alone) > 10 AS differ, count(*) FILTER (WHERE together <> alone) AS wrong
FROM (SELECT alone, btml.predict(bytes::btml.model, ARRAY[NULL, 3]::float8[]) AS together FROM twin ORDER BY n) t;
-- An envelope that names another model's digest is refused, and leaves nothing behind for that one. (Where the
-- session has that one ready, it predicts as that one does.)
SET btml.model_cache = 0;
CREATE TABLE liar AS SELECT overlay(t.bytes PLACING substr(s.bytes, 17, 16) FROM 17) AS bytes FROM small s, twin t
    WHERE t.alone <> predict_alone(s.bytes) ORDER BY n LIMIT 1;
SELECT caught(format('SELECT %L::bytea::btml.model', bytes)) FROM liar;
CREATE FUNCTION unchecked(bytea) RETURNS btml.model LANGUAGE internal IMMUTABLE STRICT AS 'byteasend';
SELECT caught(call) FROM unnest(ARRAY['SELECT btml.predict(models.unchecked(bytes), ARRAY[NULL, 3]::float8[]) FROM models.liar',
    'SELECT models.unchecked(bytes)::text FROM models.liar', 'SELECT models.unchecked(bytes)::bytea FROM models.liar']) call;
DO $$
DECLARE m btml.model; told float8[];
BEGIN
    FOR m IN SELECT models.unchecked(bytes) FROM (SELECT 1 AS n, bytes FROM models.liar UNION ALL SELECT 2, bytes FROM models.small) b
    ORDER BY n LOOP
        BEGIN
            told := told || btml.predict(m, ARRAY[NULL, 3]::float8[]);
        EXCEPTION WHEN OTHERS THEN
            told := told || NULL::float8;
        END;
    END LOOP;
    RAISE WARNING 'refused: %, right: %', told[1] IS NULL, told[2] = models.predict_alone((SELECT bytes FROM models.small));
END $$;
RESET btml.model_cache;

-- Prediction by record: features by name, whatever their order and the columns besides.
CREATE VIEW narrow AS SELECT label, num FROM thing;
CREATE TABLE dropped (junk int, id int, num numeric, junk2 text, label text);
INSERT INTO dropped SELECT 1, id, num, 'junk', label FROM thing;
ALTER TABLE dropped DROP junk, DROP junk2;
CREATE TABLE added AS SELECT id, label FROM thing;
ALTER TABLE added ADD num numeric DEFAULT 3.25;
CREATE TYPE pair AS (num float8, label text);
CREATE FUNCTION same_sum(expression text, relation text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE result numeric;
BEGIN
    EXECUTE format('SELECT sum((%s)::numeric) FROM (SELECT model AS m FROM models.model WHERE name = ''small'') m, %s', expression,
    relation) INTO result;
    RETURN result;
END $$;
SELECT relation, same_sum(expression, relation) = same_sum('btml.predict(m, t.*)', 'models.thing t') AS same FROM (VALUES
    ('btml.predict(m, t.*)', 'models.narrow t'), ('btml.predict(m, t)', 'models.narrow t'), ('btml.predict(m, d.*)', 'models.dropped d'),
    ('btml.predict(m, s.*)', '(SELECT label, num FROM models.thing) s'),
    ('btml.predict(m, s.*)', '(SELECT 1 AS a, num::float8, 2 AS b, label::varchar, now() FROM models.thing) s'), ('btml.predict(m, s.*)',
    '(SELECT num, label::name FROM models.thing) s'),
    ('btml.predict(m, ROW(num, label)::models.pair)', 'models.thing'), ('btml.predict(m, (SELECT r FROM (SELECT t.num, t.label) r))',
    'models.thing t'),
    ('btml.predict(m, input => t.*)', 'models.thing t')) v(expression, relation);
SELECT same_sum('btml.predict(m, a.*)', 'models.added a')
    = same_sum('btml.predict(m, s.*)', '(SELECT 3.25 AS num, label FROM models.thing) s') AS added_column;
SELECT same_sum('btml.predict(m, s.*)', '(SELECT num::int AS num, label FROM models.thing) s') = same_sum('btml.predict(m, s.*)',
    '(SELECT num::int::float4 AS num, label FROM models.thing) s') AS integer_is_real,
    same_sum('btml.predict(m, s.*)', '(SELECT num::int2 AS num, label FROM models.thing) s') = same_sum('btml.predict(m, s.*)',
    '(SELECT num::int8 AS num, label FROM models.thing) s') AS widths;
-- Text for an enum, a boolean and a name; padded for not padded.
SELECT count(*) AS rows, bool_and(btml.predict(model, t.*) = btml.predict(model, s.*)) AS same FROM model, thing t JOIN
    (SELECT id, "we""ird name", num::float8, small::text::int AS small, label, mood::text, flag::text, bought::timestamp, "Seen At",
    lasted, at, fixed::text, who::text FROM thing) s USING (id) WHERE name = 'large';
SELECT caught('SELECT btml.predict(model, ' || input || ') FROM models.model, models.thing WHERE name = ''small''')
    FROM unnest(ARRAY['ROW(1, 2)', 'ROW()', 'thing.id', '(SELECT r FROM (SELECT 1 AS num, 2 AS labels) r)',
    '(SELECT r FROM (SELECT 1 AS "Num", ''x'' AS label) r)', '(SELECT r FROM (SELECT ''x''::text AS num, label) r)',
    '(SELECT r FROM (SELECT point(1, 2) AS num, label) r)', '(SELECT r FROM (SELECT 1 AS num, label, 2 AS num) r)']) input;
SELECT btml.predict(model, t.*) IS NULL AS null_model FROM (SELECT NULL::btml.model AS model) m, narrow t LIMIT 1;
SELECT btml.predict(model, NULL::pair) IS NULL AS null_record, btml.predict(model, NULL::float8[]) IS NULL AS null_array FROM model
    WHERE name = 'small';
SELECT btml.summary(NULL) IS NULL AS summary, btml.to_sql(NULL) IS NULL AS to_sql, (SELECT count(*)
    FROM btml.trees(NULL)) AS trees, (SELECT count(*) FROM btml.training_log(NULL)) AS log, (SELECT count(*)
    FROM btml.feature_importance(NULL)) AS importance;
SELECT count(*) AS rows, count(btml.summary(m)) AS summaries, count(btml.to_sql(m)) AS expressions
    FROM (VALUES (NULL::btml.model), (NULL)) v(m);
SELECT m IS NULL AS null_model, count(t.*) AS nodes
    FROM (SELECT NULL::btml.model UNION ALL SELECT model FROM model WHERE name = 'stump') v(m) LEFT JOIN LATERAL btml.trees(m) t ON true
    GROUP BY 1 ORDER BY 1;
-- Functions with a model that are strict: none but those that predict, explain, write or cast it.
SELECT DISTINCT proname FROM pg_proc
    WHERE pronamespace::regnamespace::text ~ '^btml' AND proisstrict AND 'btml.model'::regtype = ANY (proargtypes::oid[]) ORDER BY 1;
-- A category is given as text or as the type that it had in training; anything else would be one that training did not see.
CREATE DOMAIN code AS int;
CREATE DOMAIN word AS text;
CREATE TABLE coded AS SELECT i % 4 AS small, (i % 5)::bigint::code AS of_domain, (i % 3)::text AS label,
    i % 2 = 0 AS flag, (ARRAY['sad', '$1'])[1 + i % 2]::mood AS mood, date '2020-01-01' + i % 3 AS day, i % 4 + i % 5 + i % 3 AS y
    FROM generate_series(1, 120) i;
CREATE TABLE of_categories AS
    SELECT btml.tree_fit('models.coded', 'y', categorical => '{small,of_domain,label,flag,mood,day}', min_leaf_rows => 1,
    max_leaves => 0) AS model;
SELECT string_agg(f->>'type', ', ') AS types FROM of_categories, jsonb_array_elements(btml.summary(model)->'features') f;
SELECT bool_and(btml.predict(model, c.*) = y) AS own_types, bool_and(btml.predict(model, t.*) = y) AS texts,
    bool_and(btml.predict(model, n.*) = y) AS same_texts
FROM of_categories, coded c, LATERAL (SELECT c.small::text, c.of_domain::varchar, c.label::word, c.flag::text, c.mood::name,
    c.day::text) t, LATERAL (SELECT c.small::int2, c.of_domain::int8, c.label::char(1), c.flag, c.mood, c.day) n;
SELECT caught('SELECT btml.predict(model, x) FROM models.of_categories, models.coded c, LATERAL (SELECT ' || columns || ') x')
    FROM unnest(ARRAY['small, of_domain, label::int, flag, mood, day', 'small, of_domain, label = ''1'' AS label, flag, mood, day',
    'small::numeric, of_domain, label, flag, mood, day', 'small = 1 AS small, of_domain, label, flag, mood, day',
    'small, of_domain::float8, label, flag, mood, day', 'small, of_domain, label, flag::int, mood, day',
    'small, of_domain, label, flag, flag AS mood, day',
    'small, of_domain, label, flag, 1 AS mood, day', 'small, of_domain, label, flag, mood, day::timestamp']) columns;
SELECT caught('SELECT * FROM btml.gp_sample((SELECT btml.gp_fit(''SELECT label, y
    FROM models.coded'', ''y'', search => ''none'')), ''SELECT 1 AS label'')');

-- A row of NULLs is a record, not NULL; a category never seen goes where its tree's right side is.
SELECT btml.predict(model, ROW(NULL, NULL)::pair) = btml.predict(model, ARRAY[NULL, NULL]::float8[]) AS nulls,
    btml.predict(model, ROW(1, 'never seen')::pair) = btml.predict(model, ARRAY[1, -1]) AS unseen,
    btml.predict(model, ARRAY[1, -1]) = btml.predict(model, ARRAY[1, 1e9]) AS any_code,
    btml.predict(model, ARRAY[1, 0.5]) = btml.predict(model, ARRAY[1, 'NaN'::float8]) AS no_code FROM model WHERE name = 'small';

-- Prediction by array: by position, categories by code.
SELECT bool_and(btml.predict(model, t.*)
    = btml.predict(model, ARRAY[t.num, (SELECT position - 1
    FROM jsonb_array_elements_text(btml.summary(model)->'features'->1->'categories') WITH ORDINALITY c(label, position)
    WHERE c.label = t.label)])) AS same
FROM thing t, model WHERE name = 'small';
SELECT caught(format('SELECT btml.predict(model, %s) FROM models.model WHERE name = ''small''', input))
    FROM unnest(ARRAY['ARRAY[1.0]', 'ARRAY[1.0, 2, 3]', '''{}''::float8[]', 'ARRAY[[1.0, 2], [3, 4]]', 'ARRAY[''a'']']) input;
SELECT btml.predict(model, '[5:6]={1,2}'::float8[]) = btml.predict(model, ARRAY[1.0, 2]) AS other_bounds FROM model WHERE name = 'small';

-- In a parallel query, several models row by row, in WHERE, in an index, in a loop.
CREATE TABLE many AS SELECT t.* FROM thing t, generate_series(1, 30);
ANALYZE many;
CREATE FUNCTION plan_has(query text, what text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS off) ' || query LOOP IF line ~ what THEN RETURN true; END IF; END LOOP;
    RETURN false;
END $$;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2;
SELECT plan_has($$SELECT sum(btml.predict((SELECT model FROM models.model WHERE name = 'large'), m.*)::numeric) FROM models.many m$$,
    'Partial Aggregate') AS parallel;
SELECT sum(btml.predict((SELECT model FROM models.model WHERE name = 'large'), m.*)::numeric)
    = (SELECT 30 * sum(btml.predict(model, t.*)::numeric) FROM thing t, model WHERE name = 'large') AS same FROM many m;
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size; RESET max_parallel_workers_per_gather;
CREATE TABLE alone (name text, id int, p float8);
DO $$ DECLARE m record; BEGIN
    FOR m IN SELECT * FROM models.model LOOP INSERT INTO models.alone SELECT m.name, t.id, btml.predict(m.model, t.*)
    FROM models.thing t; END LOOP;
END $$;
SELECT count(*) AS predictions, bool_and(a.p = s.p) AS same
    FROM alone a JOIN (SELECT m.name, t.id, m.p
    FROM thing t, LATERAL (SELECT name, btml.predict(model, t.*) AS p FROM model ORDER BY name OFFSET 0) m
    ORDER BY t.id, m.name) s USING (name, id);
SELECT count(*) AS predictions, bool_and(a.p = s.p) AS same
    FROM alone a JOIN (SELECT m.name, t.id, m.p
    FROM thing t, LATERAL (SELECT name, btml.predict(model, t.*) AS p FROM external ORDER BY name OFFSET 0) m
    ORDER BY t.id, m.name) s USING (name, id);
-- The rows of two types one after the other at one call.
SELECT count(DISTINCT p) FROM model, LATERAL (VALUES (to_jsonb(1))) v, LATERAL (SELECT btml.predict(model, r) AS p
    FROM (SELECT ROW(1.5, 'plain')::pair AS r UNION ALL SELECT ROW(1.5, 'plain')::pair) x) y WHERE name = 'small';
SELECT count(*) > 0 AS some, bool_and(a.p > 20) AS all_above FROM thing t JOIN model m ON m.name = 'large' JOIN alone a USING (id)
    WHERE a.name = 'large' AND btml.predict(m.model, t.*) > 20;
DO $$ DECLARE r record; m btml.model; wrong int := 0; BEGIN
    SELECT model INTO m FROM models.model WHERE name = 'large';
    FOR r IN SELECT t.*, a.p FROM models.thing t JOIN models.alone a USING (id) WHERE name = 'large' LOOP
        IF btml.predict(m, r) <> r.p THEN wrong := wrong + 1; END IF;
    END LOOP;
    IF wrong > 0 THEN RAISE EXCEPTION '% predictions in a loop are wrong', wrong; END IF;
END $$;
DO $$ BEGIN EXECUTE (SELECT format('CREATE INDEX by_prediction ON models.many (btml.predict(%L::btml.model, ARRAY[num::float8, id %% 7]))',
    model) FROM models.model WHERE name = 'small'); END $$;
SET enable_seqscan = off;
SELECT plan_has(query, 'by_prediction') AS index_used
    FROM (SELECT format('SELECT * FROM models.many WHERE btml.predict(%L::btml.model, ARRAY[num::float8, id %% 7]) > 20', model) AS query
    FROM model WHERE name = 'small') q;
RESET enable_seqscan;
SELECT caught((SELECT format('CREATE INDEX ON models.thing (btml.predict(%L::btml.model, thing.*))', model) FROM model
    WHERE name = 'small'));

-- Predictions are the base and the leaves that btml.trees leads to.
WITH RECURSIVE node AS MATERIALIZED (SELECT t.* FROM model, btml.trees(model) t WHERE name = 'large'),
input AS MATERIALIZED (SELECT id, to_jsonb(t) || jsonb_build_object('bought', extract(epoch FROM bought), 'Seen At', extract(epoch
    FROM "Seen At"), 'lasted', extract(epoch FROM lasted), 'at', extract(epoch FROM at), 'fixed', fixed::text) AS x FROM thing t),
path AS (SELECT id, tree, 0 AS node FROM input, (SELECT DISTINCT tree FROM node) n
    UNION ALL SELECT p.id, p.tree, CASE WHEN CASE WHEN x->>feature IS NULL THEN null_left WHEN categories IS NOT NULL THEN x->>feature
    = ANY (categories) ELSE (x->>feature)::float8 < threshold END THEN left_child ELSE right_child END
    FROM path p JOIN node n USING (tree, node) JOIN input i ON i.id = p.id WHERE feature IS NOT NULL)
SELECT count(*) AS rows, round(max(abs(a.p - base - s.sum))::numeric, 9) AS difference FROM
    (SELECT id, sum(value) FROM path JOIN node USING (tree, node) GROUP BY id) s
    JOIN alone a USING (id), (SELECT (btml.summary(model)->>'base')::float8 AS base FROM model WHERE name = 'large') b
    WHERE a.name = 'large';

-- btml.to_sql: the same number to the last bit on every row, rows that training never saw among them, whatever the settings.
CREATE TABLE other AS SELECT * FROM thing;
INSERT INTO other SELECT 1000 + id, x, 'NaN', -7, 'unseen', '$1', NULL, d, d, '-1 year', '24:00', 'new', 'new', NULL
    FROM thing, (VALUES ('NaN'::float8, 'infinity'::date), ('Infinity', '-infinity'), ('-Infinity', '4000-01-01'), ('-0', NULL)) v(x, d)
    WHERE id <= 3;
INSERT INTO other (id) VALUES (2000);
CREATE FUNCTION sql_differs(model text) RETURNS TABLE(rows bigint, differ bigint) LANGUAGE plpgsql AS $$
DECLARE expression text := (SELECT btml.to_sql(m.model) FROM models.model m WHERE name = sql_differs.model);
BEGIN
    RETURN QUERY EXECUTE format('SELECT count(*), count(*) FILTER (WHERE float8send(%s) IS DISTINCT
        FROM float8send(btml.predict(m.model, o.*))) FROM models.other o, models.model m WHERE name = %L', expression, model);
END $$;
SELECT name, d.* FROM model, sql_differs(name) d ORDER BY name;
SET standard_conforming_strings = off; SET escape_string_warning = off; SET DateStyle = 'SQL, DMY'; SET TimeZone = 'Asia/Kathmandu';
    SET IntervalStyle = 'iso_8601'; SET extra_float_digits = -5;
SELECT name, d.* FROM model, sql_differs(name) d ORDER BY name;
RESET standard_conforming_strings; RESET escape_string_warning; RESET DateStyle; RESET TimeZone; RESET IntervalStyle;
    RESET extra_float_digits;
SELECT regexp_replace(btml.to_sql(model), '\d+\.\d+', 'N', 'g') FROM model WHERE name IN ('small', 'stump') ORDER BY name;

-- Thousands of trees, and a tree of great depth.
CREATE TABLE alternating AS SELECT i AS x, i % 2 AS y FROM generate_series(1, 300) i;
INSERT INTO model VALUES ('many trees', btml.boost_fit('models.alternating', 'y', trees => 1000, learning_rate => 0.01, max_leaves => 3)),
    ('one chain', btml.tree_fit('models.alternating', 'y', max_leaves => 0, min_leaf_rows => 1));
SELECT name, max(tree) AS tree, max(depth) AS depth FROM model, btml.trees(model) WHERE name IN ('many trees', 'one chain')
    GROUP BY name ORDER BY name;
CREATE FUNCTION sql_differs_on_alternating(model text) RETURNS TABLE(rows bigint, differ bigint) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE format('SELECT count(*), count(*) FILTER (WHERE float8send(%s) IS DISTINCT
        FROM float8send(btml.predict(m.model, s.*))) FROM models.alternating s, models.model m WHERE name = %L',
        (SELECT btml.to_sql(m.model) FROM models.model m WHERE name = sql_differs_on_alternating.model), model);
END $$;
SELECT name, d.* FROM unnest(ARRAY['many trees', 'one chain']) name, sql_differs_on_alternating(name) d;

-- The summary, the log, the features' importance.
SELECT jsonb_pretty(btml.summary(model) - 'seconds' - 'base' - 'metrics') FROM model WHERE name = 'small';
SELECT key, jsonb_typeof(value) FROM model, jsonb_each(btml.summary(model)) WHERE name = 'large' ORDER BY key;
SELECT count(*) > 3 AS phases, bool_and((value #>> '{}')::float8 >= 0) AS not_negative
    FROM model, jsonb_each(btml.summary(model)->'seconds') WHERE name = 'large';
SELECT count(*) AS iterations, bool_and(train_loss <= before) AS never_rises, bool_and(holdout_loss IS NULL) AS no_holdout
    FROM (SELECT l.*, lag(train_loss) OVER (ORDER BY iteration) AS before FROM model, btml.training_log(model) l WHERE name = 'large') l;
SELECT round((l.train_loss / avg((t.y - a.p)^2) - 1)::numeric, 9) AS error FROM model m, btml.training_log(m.model) l, thing t
    JOIN alone a USING (id) WHERE m.name = 'large' AND a.name = 'large' AND iteration = 40 GROUP BY l.train_loss;
SELECT i.feature, i.splits = count(t.node) AS splits_agree, round((i.gain - coalesce(sum(t.gain), 0))::numeric, 6) AS gain_error
    FROM model m, btml.feature_importance(m.model) WITH ORDINALITY i(feature, gain, splits, rank)
    LEFT JOIN LATERAL (SELECT * FROM btml.trees((SELECT model FROM model WHERE name = 'large'))) t ON t.feature = i.feature
    WHERE name = 'large' GROUP BY i.feature, i.gain, i.splits, rank ORDER BY rank;
-- A number is no date and no boolean.
CREATE TABLE dated AS SELECT i AS y, date '2025-01-01' + i AS day, i % 2 = 0 AS even, i::float8 AS x FROM generate_series(1, 50) i;
CREATE TABLE dated_model AS SELECT btml.tree_fit('models.dated', 'y') AS model;
SELECT columns, caught(format('SELECT btml.predict(model, r) FROM models.dated_model, (SELECT %s) r', columns))
    FROM unnest(ARRAY['date ''2025-01-09'' AS day, true AS even, 1 AS x',
    'timestamptz ''2025-01-09'' AS day, ''true''::text AS even, 1.5 AS x',
    '20098 AS day, true AS even, 1 AS x', 'date ''2025-01-09'' AS day, 1 AS even, 1 AS x',
    'date ''2025-01-09'' AS day, true AS even, true AS x', 'date ''2025-01-09'' AS day, true AS even, interval ''1 day'' AS x']) columns;
-- A type of the server has one name, whatever else is called so and comes first in search_path.
CREATE TYPE models.uuid AS ENUM ('a', 'b');
CREATE TABLE shadowed AS SELECT md5((i % 3)::text)::pg_catalog.uuid AS id, 'a'::models.uuid AS other, i % 3 AS y
    FROM generate_series(1, 60) i;
CREATE TABLE shadowed_model AS SELECT btml.tree_fit('SELECT id, other, y FROM models.shadowed', 'y', categorical => '{id}') AS model;
SET search_path = models, pg_catalog;
SELECT r.model::text = m.model::text AS same, btml.summary(r.model)->'features'->0->'type' AS type,
    btml.summary(r.model)->'features'->1->'type' AS other
FROM shadowed_model m, btml.tree_fit('SELECT id, other, y FROM models.shadowed', 'y', categorical => '{id}') r(model);
SELECT count(btml.predict(model, s)) FROM shadowed_model, shadowed s;
DROP SCHEMA models CASCADE;
