-- Features over tables of every kind, keys and names of every kind, and plans that somebody changed.
SET client_min_messages = warning;
SET jit = off; -- which takes most of the time over so few rows
CREATE SCHEMA feature_tables;
SET search_path = feature_tables, public;

-- The features of a plan over a source, one line for each row.
CREATE FUNCTION features_of(plan jsonb, source text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE 'SELECT to_jsonb(f)::text FROM (' || btml.feature_sql(plan, source) || ') f ORDER BY 1';
END $$;
-- What they end with: a number of rows, or an error.
CREATE FUNCTION ends_with(plan jsonb, source text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE d text;
BEGIN
    SELECT count(f) INTO d FROM features_of(plan, source) f;
    RETURN d || ' rows';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS d = PG_EXCEPTION_DETAIL;
    RETURN concat_ws(' / ', SQLSTATE, SQLERRM, nullif(d, ''));
END $$;
-- Those of a fresh plan with all rows as the only window, of few aggregates.
CREATE FUNCTION fresh(source text, relations jsonb DEFAULT NULL, max_depth int DEFAULT 2, inclusive boolean DEFAULT false)
RETURNS jsonb LANGUAGE sql AS $$
SELECT p || jsonb_build_object('features', (SELECT coalesce(jsonb_agg(f), '[]') FROM jsonb_array_elements(p -> 'features') f
    WHERE f ->> 'aggregate' IN ('value', 'count', 'last', 'sum') AND f ->> 'window' IS NULL))
FROM btml.relational_features($1, as_of => 'as_of', relations => $2, max_depth => $3, windows => '{NULL}', inclusive => $4) p $$;
CREATE FUNCTION paths(plan jsonb) RETURNS SETOF text LANGUAGE sql AS
'SELECT DISTINCT path COLLATE "C" FROM btml.feature_list($1) ORDER BY 1';

-- Partitioned tables, with foreign keys from and to them.
CREATE TABLE customer (id int PRIMARY KEY, region text) PARTITION BY HASH (id);
CREATE TABLE customer_0 PARTITION OF customer FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE customer_1 PARTITION OF customer FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE call (customer int REFERENCES customer, at timestamp, minutes int) PARTITION BY RANGE (at);
CREATE TABLE call_2023 PARTITION OF call FOR VALUES FROM ('2023-01-01') TO ('2024-01-01');
CREATE TABLE call_2024 PARTITION OF call FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
CREATE TABLE task (customer int REFERENCES customer, as_of timestamp);
INSERT INTO customer SELECT i, CASE i % 2 WHEN 0 THEN 'north' ELSE 'south' END FROM generate_series(1, 6) i;
INSERT INTO call SELECT 1 + i % 5, timestamp '2023-06-01' + i * interval '40 days', i FROM generate_series(0, 12) i;
INSERT INTO task SELECT i, '2024-03-01' FROM generate_series(1, 6) i;
SELECT paths(fresh('task'));
SELECT features_of(fresh('task'), 'task');
-- A prediction at the very time of an event.
SELECT features_of(fresh('task', '{"customer": {"columns": []}}'), 'SELECT customer, at AS as_of FROM call WHERE customer = 1');
SELECT features_of(fresh('task', '{"customer": {"columns": []}}', inclusive => true), 'SELECT customer, at AS as_of FROM call
    WHERE customer = 1');
SELECT paths(fresh('SELECT customer, at AS as_of FROM call_2023'));

-- Inheritance: a primary key says nothing of the tables below.
CREATE TABLE place (id int PRIMARY KEY, kind text);
CREATE TABLE city () INHERITS (place);
CREATE TABLE visit (place int REFERENCES place, at timestamp, n int);
CREATE TABLE trip (place int REFERENCES place, as_of timestamp);
INSERT INTO place VALUES (1, 'a'), (2, 'a'), (3, 'b');
INSERT INTO city VALUES (1, 'b'), (1, 'b'), (4, 'b');
INSERT INTO visit SELECT 1 + i % 3, timestamp '2024-01-01' + i * interval '1 day', i FROM generate_series(1, 9) i;
INSERT INTO trip VALUES (1, '2024-02-01'), (2, '2024-02-01');
SELECT paths(fresh('trip'));
SELECT features_of(fresh('trip', '{"visit": {"table": "visit", "key": {"place": "place"}}}'), 'trip');
SELECT features_of(fresh('trip', '{"p": {"table": "place", "key": {"id": "place"}}}'), 'trip');
SELECT features_of(fresh('trip', '{"c": {"table": "city", "key": {"id": "place"}}}'), 'trip');

-- Keys of several columns, in another order; of text, uuid, an enum, char(n); bigint that refers to int.
CREATE TYPE land AS ENUM ('no', 'se');
CREATE TABLE firm (country land, number char(6), code uuid UNIQUE, name text UNIQUE, small int UNIQUE, size int,
    PRIMARY KEY (country, number));
CREATE TABLE bill (num char(6), nation land, at date, amount numeric, FOREIGN KEY (nation, num) REFERENCES firm (country, number));
CREATE TABLE by_code (firm uuid REFERENCES firm (code), at date, x float8);
CREATE TABLE by_name (firm text REFERENCES firm (name), at date, x float8);
CREATE TABLE by_small (firm bigint REFERENCES firm (small), at date, x float8);
CREATE TABLE firm_task (country land, number char(6), code uuid REFERENCES firm (code), name text REFERENCES firm (name),
    small bigint REFERENCES firm (small), as_of date, FOREIGN KEY (country, number) REFERENCES firm);
INSERT INTO firm VALUES ('no', 'a1', md5('1')::uuid, 'one', 1, 10), ('se', 'a1', md5('2')::uuid, 'two ', 2, 20),
    ('se', 'b', md5('3')::uuid, 'THREE', 3, 30);
INSERT INTO bill VALUES ('a1', 'no', '2024-01-01', 5), ('a1  ', 'se', '2024-01-01', 7), ('a1', 'se', '2024-01-02', 8),
    (NULL, 'no', '2024-01-01', 100), ('a1', NULL, '2024-01-01', 100), ('b', 'se', NULL, 100);
INSERT INTO by_code SELECT code, '2024-01-01', size FROM firm;
INSERT INTO by_name SELECT name, '2024-01-01', size FROM firm;
INSERT INTO by_small SELECT small, '2024-01-01', size FROM firm;
INSERT INTO firm_task SELECT country, number, code, name, small, '2024-02-01' FROM firm;
INSERT INTO firm_task VALUES ('no', NULL, NULL, NULL, NULL, '2024-02-01'), ('se', 'a1', NULL, NULL, NULL, '2024-01-02');
SELECT paths(fresh('firm_task', max_depth => 1));
SELECT features_of(fresh('SELECT country, number, as_of FROM firm_task', '{"firm": {"columns": ["size"]}, "by_code": false,
    "by_name": false, "by_small": false}'), 'SELECT country, number, as_of FROM firm_task');
SELECT c, f::jsonb -> c AS key, f::jsonb -> 'firm_size' AS size, f::jsonb -> ('by_' || c || '_x_sum') AS sum
FROM unnest('{code,name,small}'::text[]) c, LATERAL (SELECT 'SELECT ' || c || ', as_of FROM firm_task' AS q) q,
    features_of(fresh(q), q) f ORDER BY c COLLATE "C", f COLLATE "C";
-- Keys of types that do not go together.
SELECT ends_with(fresh('SELECT name, as_of FROM firm_task', '{"wrong": {"table": "by_small", "key": {"firm": "name"}}}'),
    'SELECT name, as_of FROM firm_task');

-- Tables that refer to themselves and to each other.
CREATE TABLE person (id int PRIMARY KEY, boss int REFERENCES person, team int, salary int);
CREATE TABLE team (id int PRIMARY KEY, lead int REFERENCES person, budget int);
ALTER TABLE person ADD FOREIGN KEY (team) REFERENCES team;
CREATE TABLE review (person int REFERENCES person, as_of date);
INSERT INTO person SELECT i, nullif(i / 2, 0), NULL, 100 * i FROM generate_series(1, 7) i;
INSERT INTO team VALUES (1, 2, 10), (2, 3, 20);
UPDATE person SET team = 1 + id % 2;
INSERT INTO review SELECT id, '2024-01-01' FROM person;
SELECT d, count(*) FROM generate_series(0, 3) d, LATERAL (SELECT DISTINCT p -> 'name'
    FROM jsonb_array_elements(fresh('review', max_depth => d) -> 'relations') p) r GROUP BY d ORDER BY d;
SELECT paths(fresh('review', max_depth => 1));
SELECT key, value FROM features_of(fresh('review', max_depth => 1), 'SELECT * FROM review WHERE person = 4') f, jsonb_each(f::jsonb)
ORDER BY key COLLATE "C";
-- A cycle as named.
SELECT features_of(fresh('review', '{"one": {"table": "person", "key": {"id": "person"}, "columns": ["salary"]},
    "two": {"table": "person", "key": {"id": "boss"}, "of": "one", "columns": ["salary"]},
    "three": {"table": "person", "key": {"boss": "id"}, "of": "two", "columns": ["salary"]}}'), 'review');

-- Times: several of one table, infinite ones, none; of other types.
CREATE TABLE thing (id int PRIMARY KEY);
CREATE TABLE stay (thing int REFERENCES thing, began timestamp, ended timestamp, nights int);
CREATE TABLE event (thing int REFERENCES thing, at timestamp, x int);
CREATE TABLE look (thing int REFERENCES thing, as_of timestamp, zoned timestamptz, day date);
INSERT INTO thing VALUES (1), (2);
INSERT INTO stay VALUES (1, '2024-01-01', '2024-03-01', 60), (1, '2024-02-01', '2024-02-03', 2);
INSERT INTO event VALUES (1, '-infinity', 1), (1, '2024-01-01', 10), (1, '2024-02-10', 100), (1, 'infinity', 1000), (1, NULL, 10000);
INSERT INTO look VALUES (1, '2024-02-10', '2024-02-10 UTC', '2024-02-10'), (2, '2024-02-10', '2024-02-10 UTC', '2024-02-10');
SET client_min_messages = notice;
SELECT paths(fresh('look'));
SELECT paths(fresh('look', '{"stay": {"time": "ended"}}'));
SELECT paths(fresh('look', '{"stay": false, "event": {"time": null}}'));
SELECT fresh('look', '{"stay": {"time": "end"}}');
SELECT fresh('look', '{"stay": {"time": "nights"}}');
SELECT fresh('look', '{"stays": {"time": "ended"}}');
SELECT fresh('look', '{"stay": false, "evnt": false}');
SELECT fresh('look', '{"stay": {"columns": ["night"]}}');
SELECT fresh('look', '{"stay": {"of": "thing"}}');
SET client_min_messages = warning;
SELECT features_of(fresh('look', '{"stay": {"time": "ended"}}'), 'SELECT thing, as_of FROM look');
SELECT features_of(fresh('look', '{"stay": {"time": "ended"}}'), 'SELECT thing, day AS as_of FROM look');
SELECT features_of(fresh('look', '{"stay": false}'), 'SELECT thing, t::timestamp AS as_of FROM look,
    unnest(''{-infinity,2024-02-10,infinity}''::timestamp[]) t WHERE thing = 1');
SELECT features_of(fresh('look', '{"stay": false}', inclusive => true), 'SELECT thing, t::timestamp AS as_of FROM look,
    unnest(''{-infinity,2024-02-10,infinity}''::timestamp[]) t WHERE thing = 1');
SELECT f::jsonb -> 'event_count' AS count FROM features_of(btml.relational_features('SELECT thing FROM look',
    relations => '{"stay": false}'), 'SELECT DISTINCT thing FROM look') f;
SELECT ends_with(fresh('look', '{"stay": false}'), 'SELECT thing, zoned AS as_of FROM look');
SELECT ends_with(fresh('look', '{"stay": false}'), 'SELECT thing, NULL::timestamp AS as_of FROM look');
SELECT btml.relational_features('look', as_of => 'zoned');
-- Times with a zone are the same moments in any zone of the session.
CREATE TABLE zoned_event (thing int REFERENCES thing, at timestamptz, x int);
INSERT INTO zoned_event VALUES (1, '2024-02-09 23:00 UTC', 1), (1, '2024-02-10 00:00 UTC', 2), (1, '2024-01-11 00:00 UTC', 4);
CREATE TABLE zoned AS SELECT btml.relational_features('SELECT thing, zoned FROM look', as_of => 'zoned', windows => '{30 days}',
    relations => '{"z": {"table": "zoned_event", "key": {"thing": "thing"}}}') AS p;
UPDATE zoned SET p = p || jsonb_build_object('features', jsonb_path_query_array(p -> 'features', '$[*] ? (@.aggregate == "sum")'));
SET TimeZone = 'Asia/Tokyo';
SELECT features_of(p, 'SELECT thing, zoned FROM look') FROM zoned;
SET TimeZone = 'America/Los_Angeles';
SELECT features_of(p, 'SELECT thing, zoned FROM look') FROM zoned;
RESET TimeZone;

-- Names that are words of SQL, have capitals, blanks, quotes, or are long.
CREATE SCHEMA "Sel""ect";
CREATE TABLE "Sel""ect"."user" ("select" int PRIMARY KEY, "a""b" text, "from" text);
CREATE TABLE "Sel""ect"."Order" ("user" int REFERENCES "Sel""ect"."user", "time" timestamp, "Amount Due" int, "ä€😀" int, "\x" text,
    "this_is_a_name_that_is_almost_as_long_as_a_name_can_ever_get_to" int, btml_row int, at int, since int, v1 int);
CREATE TABLE "Sel""ect"."order" ("user" int REFERENCES "Sel""ect"."user", "time" timestamp, x int, t int);
CREATE TABLE "Sel""ect".history ("user" int REFERENCES "Sel""ect"."user", k1 timestamp, x int);
CREATE TABLE "Sel""ect".features ("user" int REFERENCES "Sel""ect"."user", k1 timestamp, x int);
CREATE TABLE "Sel""ect".by_time ("user" int REFERENCES "Sel""ect"."user", k1 timestamp, x int);
CREATE TABLE "Sel""ect".source ("user" int REFERENCES "Sel""ect"."user", k1 timestamp, x int);
CREATE TABLE "Sel""ect".prediction ("user" int REFERENCES "Sel""ect"."user", k1 timestamp, x int);
CREATE TABLE "Sel""ect"."group" ("where" int REFERENCES "Sel""ect"."user", v1 int, "as of" timestamp, x int, t int, k1 int,
    features int);
INSERT INTO "Sel""ect"."user" VALUES (1, 'it''s', E'\\ "x" \n --'), (2, '', E'\\ "x" \n --');
INSERT INTO "Sel""ect"."Order" SELECT 1, '2024-01-01', 1, 2, E'a\\'';--\r\n', 3, 4, 5, 6, 7 FROM generate_series(1, 2);
INSERT INTO "Sel""ect"."order" VALUES (1, '2024-01-01', 10, 20);
INSERT INTO "Sel""ect".history VALUES (1, '2024-01-01', 100);
INSERT INTO "Sel""ect".features VALUES (1, '2024-01-01', 101);
INSERT INTO "Sel""ect".by_time VALUES (1, '2024-01-01', 102);
INSERT INTO "Sel""ect".source VALUES (1, '2024-01-01', 103);
INSERT INTO "Sel""ect".prediction VALUES (1, '2024-01-01', 104);
INSERT INTO "Sel""ect"."group" VALUES (1, 9, '2024-02-01', 8, 7, 6, 5), (2, 9, '2024-02-01', 8, 7, 6, 5);
CREATE TABLE odd AS SELECT btml.relational_features('SELECT * FROM "Sel""ect"."group"', as_of => 'as of', windows => '{1 year}') AS p;
SELECT count(*), count(DISTINCT f ->> 'name'), max(octet_length(f ->> 'name')) FROM odd, jsonb_array_elements(p -> 'features') f;
SELECT f.key, f.value FROM odd, jsonb_array_elements(p -> 'features') x, features_of(p, 'TABLE "Sel""ect"."group"') r,
    jsonb_each(r::jsonb) f WHERE x ->> 'name' = f.key AND x ->> 'aggregate' IN ('sum', 'value', 'share') AND r::jsonb -> 'where' = '1'
ORDER BY f.key COLLATE "C";
SET standard_conforming_strings = off;
SET escape_string_warning = off;
SELECT count(*) FROM odd, features_of(p, 'TABLE "Sel""ect"."group"');
RESET standard_conforming_strings;
RESET escape_string_warning;
-- The SELECT is one that a view can hold, and EXPLAIN.
SELECT btml.feature_sql(p, 'TABLE "Sel""ect"."group"') AS q FROM odd \gset
CREATE VIEW odd_view AS :q;
SELECT count(v) FROM odd_view v;

-- A source that is a view over a join; a semicolon or a comment behind it; whose own table is named.
CREATE VIEW joined AS SELECT t.customer AS who, t.as_of AS moment, p.kind FROM task t JOIN place p ON p.id = t.customer;
SELECT paths(btml.relational_features('joined', as_of => 'moment'));
SELECT paths(btml.relational_features('SELECT who, moment FROM joined -- all', as_of => 'moment'));
SELECT paths(btml.relational_features('SELECT who, moment FROM joined;', as_of => 'moment'));
SELECT features_of(btml.relational_features('SELECT who, moment FROM joined', as_of => 'moment', windows => '{NULL}',
    relations => '{"before": {"table": "task", "key": {"customer": "who"}, "columns": []}}'), 'SELECT who, moment FROM joined');
SELECT paths(btml.relational_features('WITH w AS (SELECT customer AS c, max(as_of) AS as_of FROM task GROUP BY 1) SELECT c, as_of FROM w',
    as_of => 'as_of'));

-- Columns that were renamed or dropped, tables that are gone.
CREATE TABLE kept AS SELECT fresh('task') AS p;
BEGIN;
ALTER TABLE call RENAME minutes TO seconds;
SELECT ends_with(p, 'task') FROM kept;
ROLLBACK;
BEGIN;
ALTER TABLE call DROP COLUMN minutes;
SELECT ends_with(p, 'task') FROM kept;
ROLLBACK;
BEGIN;
DROP TABLE call;
SELECT ends_with(p, 'task') FROM kept;
ROLLBACK;
-- Plans that somebody changed are errors, or other plans; nothing of them runs.
CREATE TABLE witness (i int);
CREATE FUNCTION changed(path text[], value jsonb) RETURNS text LANGUAGE sql AS
$$ SELECT ends_with(jsonb_set(p, path, value), 'task') FROM kept $$;
SELECT path, changed(path::text[], to_jsonb('x"; INSERT INTO witness VALUES (1); --'::text)) FROM unnest(ARRAY['{as_of}',
    '{relations,0,name}', '{relations,0,schema}', '{relations,0,table}', '{relations,0,of}', '{relations,0,time}',
    '{relations,0,time_type}', '{relations,0,unique}', '{relations,0,key,id}', '{relations,1,key}', '{relations,1,time}',
    '{features,0,name}', '{features,0,relation}', '{features,0,aggregate}', '{features,0,column}', '{features,0,type}',
    '{features,0,definition}', '{features,0,window}', '{features,1,window}', '{features,1,gain}', '{features,1,value}',
    '{inclusive}', '{format}', '{features}', '{relations}']) path;
SELECT w, changed('{features,1,window}', to_jsonb(w)) FROM unnest(ARRAY[$$1 day'; INSERT INTO witness VALUES (1); --$$,
    $$1 day\' || (SELECT 1) || \'$$, $$\$$, '-30 days', '0', '178000000 years', '1 day', '']) w;
-- Servers before 17 have no infinite intervals, and raise another error.
SELECT changed('{features,1,window}', '"infinity"') ~ '^220(07|23) ' AS is_refused;
SELECT n, ends_with(replace(replace(p::text, '"name": "call"', '"name": ' || n), '"relation": "call"', '"relation": ' || n)::jsonb, 'task')
FROM kept, unnest(ARRAY['customer', 'source', 'task', repeat('n', 100), 'x" y',
    E'line\nbreak', E'-- \r', '*/', $$\$$, 'history', 'features']) given, CAST(to_jsonb(given) AS text) n;
SELECT s, changed('{relations,1,schema}', to_jsonb(s)) FROM unnest(ARRAY['', 'public', 'pg_catalog', 'no such']) s;
SELECT t, changed('{relations,1,table}', to_jsonb(t)) FROM unnest(ARRAY['customer', 'call_2023', 'pg_authid', 'customer_pkey']) t;
SELECT changed('{features,2,column}', to_jsonb(c)) FROM unnest(ARRAY['ctid', 'tableoid', '(SELECT 1)', 'customer.region']) c;
SELECT count(*) FROM witness;
SELECT p, ends_with(p, 'task') FROM unnest(ARRAY['null', '3', '[]', '{}', '{"relations": 1}', '{"features": [{}]}']::jsonb[]) p;

-- A plan's tables are what the catalogue says now: a time of another type than the plan has it, a table without a schema.
SELECT features_of(jsonb_set(p, '{relations,0,time_type}', '"timestamptz"'), 'SELECT thing, as_of FROM look')
    = features_of(p, 'SELECT thing, as_of FROM look') AS same
FROM (SELECT fresh('look', '{"e": {"table": "event", "key": {"thing": "thing"}}}') AS p) f;
SELECT ends_with(jsonb_set(p, '{relations,0,time}', '"x"'), 'SELECT thing, as_of FROM look'),
    ends_with(jsonb_set(p, '{relations,0,time_type}', '"timestamptz"'), 'SELECT thing, zoned AS as_of FROM look')
FROM (SELECT fresh('look', '{"e": {"table": "event", "key": {"thing": "thing"}}}') AS p) f;
CREATE TABLE zoned_thing (thing int PRIMARY KEY, born timestamptz);
SELECT ends_with(fresh('look', '{"e": {"table": "zoned_thing", "key": {"thing": "thing"}, "time": null}, "s": {"table": "stay",
    "key": {"thing": "thing"}, "time": "ended"}}') || '{"features": [{"name": "f", "relation": "e", "aggregate": "value", "column": "born",
    "type": "time"}]}', 'SELECT thing, as_of FROM look');
SELECT features_of(p #- '{relations,1,schema}', 'SELECT thing, as_of FROM look') = features_of(p, 'SELECT thing, as_of FROM look') AS same
FROM (SELECT fresh('look', '{"event": {"table": "stay", "key": {"thing": "thing"}, "time": "ended"},
    "more": {"table": "event", "key": {"thing": "thing"}}}') AS p) f;

-- Keys of the last row meet those that are equal, whatever their texts, types and the session's styles are.
CREATE TABLE stage AS SELECT i % 7 AS thing, timestamp '2024-01-01' + i * interval '1 day' AS at,
    (i * 7 % 5)::numeric + (ARRAY[0, 0.0, 0.00])[1 + i % 3] AS grade, (ARRAY['a', 'b,"', 'c d', ' e'])[1 + i * 5 % 4]::char(5) AS code,
    timestamptz '2024-01-01 UTC' + (i * 11 % 3) * interval '1 day' AS moment, ARRAY[i % 2, NULL] AS pair FROM generate_series(1, 40) i;
UPDATE stage SET grade = NULL WHERE thing = 3 AND at > '2024-01-20';
CREATE TABLE mark AS SELECT i % 5 AS grade, (ARRAY['a', 'b,"', 'c d', ' e'])[1 + i % 4]::char(9) AS code,
    timestamptz '2024-01-01 UTC' + (i % 3) * interval '1 day' AS moment, ARRAY[i % 2, NULL] AS pair, 2 ^ (i % 50) AS n
FROM generate_series(1, 300) i;
CREATE TABLE last_plan AS SELECT fresh('SELECT 1 AS thing, timestamp ''2024-01-01'' AS as_of', '{"stage": {"table": "stage",
    "key": {"thing": "thing"}, "columns": [], "time": "at"}, "g": {"table": "mark", "key": {"grade": "grade"}, "of": "stage", "last": true,
    "columns": ["n"], "time": null}, "c": {"table": "mark", "key": {"code": "code"}, "of": "stage", "last": true, "columns": ["n"],
    "time": null}, "m": {"table": "mark", "key": {"moment": "moment", "pair": "pair", "grade": "grade"}, "of": "stage", "last": true,
    "columns": ["n"], "time": null}}') AS p;
CREATE TABLE last_asked AS SELECT thing, timestamp '2024-01-01' + a * interval '3 days' AS as_of FROM generate_series(0, 7) thing,
    generate_series(0, 14) a;
SELECT btml.feature_sql(p, 'last_asked') AS q FROM last_plan \gset
SET DateStyle = 'SQL, DMY';
SET TimeZone = 'Asia/Kolkata';
SELECT count(*), count(g_n_sum) AS grades, count(c_n_sum) AS codes, count(m_n_sum) AS all_three,
    count(*) FILTER (WHERE g_n_sum IS DISTINCT FROM (SELECT sum(n) FROM mark WHERE grade = (SELECT grade FROM stage s
        WHERE s.thing = f.thing AND at < as_of AND grade IS NOT NULL ORDER BY at DESC LIMIT 1))
        OR c_n_sum IS DISTINCT FROM (SELECT sum(n) FROM mark WHERE code = (SELECT code FROM stage s
        WHERE s.thing = f.thing AND at < as_of ORDER BY at DESC LIMIT 1))
        OR m_n_sum IS DISTINCT FROM (SELECT sum(n) FROM mark m JOIN (SELECT * FROM stage s WHERE s.thing = f.thing AND at < as_of
        AND grade IS NOT NULL ORDER BY at DESC LIMIT 1) l USING (moment, pair, grade))) AS differing
FROM (:q) f;
RESET DateStyle;
RESET TimeZone;
-- Keys of different collations.
CREATE TABLE shop (name text COLLATE "POSIX" PRIMARY KEY, size int);
CREATE TABLE sale (shop text COLLATE "C", at timestamp, n int, item text COLLATE "C");
CREATE TABLE item (name text COLLATE "POSIX", price int);
INSERT INTO shop VALUES ('a', 1), ('B', 2);
INSERT INTO sale VALUES ('a', '2024-01-01', 10, 'x'), ('B', '2024-01-01', 20, 'Y'), ('a', '2024-01-02', 30, 'Y');
INSERT INTO item VALUES ('x', 5), ('Y', 6);
SELECT features_of(fresh(q, '{"shop": {"table": "shop", "key": {"name": "shop"}}, "sale": {"table": "sale", "key": {"shop": "name"},
    "of": "shop", "columns": ["n"]}, "item": {"table": "item", "key": {"name": "item"}, "of": "sale", "last": true, "time": null},
    "all": {"table": "item", "key": {"name": "item"}, "of": "sale", "time": null}}'), q)
FROM (SELECT 'SELECT shop COLLATE "C" AS shop, timestamp ''2024-02-01'' AS as_of FROM unnest(''{a,B}''::text[]) shop'::text AS q) q;
SELECT features_of(fresh(q, '{"sale": {"table": "sale", "key": {"shop": "shop"}, "columns": ["n"]}}'), q)
FROM (SELECT 'SELECT name AS shop, timestamp ''2024-02-01'' AS as_of FROM shop'::text AS q) q;

-- Keys are compared as SQL's = compares them: by the relation's collation, whatever the source's is, and as its types are.
CREATE COLLATION ignore_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE named (k text PRIMARY KEY, x int);
INSERT INTO named VALUES ('a', 1), ('A', 2), ('b', 3);
CREATE TABLE named_event (k text, at timestamp, x int);
INSERT INTO named_event VALUES ('a', '2020-01-01', 1), ('A', '2020-01-01', 2), ('A', '2020-01-02', 4);
CREATE TABLE asker (k text COLLATE ignore_case, as_of timestamp, n int, big bigint, short varchar(3));
INSERT INTO asker VALUES ('a', '2021-01-01', 1, 16777217, 'a '), ('A', '2021-01-01', 2, 16777216, 'b'), ('b', '2021-01-01', 3, 1, NULL);
SELECT btml.feature_sql(fresh('asker', '{"named": {"table": "named", "key": {"k": "k"}, "columns": ["x"], "time": null},
    "event": {"table": "named_event", "key": {"k": "k"}, "columns": ["x"]}}'), 'asker') AS q \gset
SELECT n, named_x, event_count FROM (:q) f ORDER BY n;
CREATE TABLE by_real (k real, at timestamp, v int);
INSERT INTO by_real VALUES (16777216, '2020-01-01', 1);
CREATE TABLE by_char (k char(3), at timestamp, v int);
INSERT INTO by_char VALUES ('a', '2020-01-01', 1), ('a ', '2020-01-02', 2);
SELECT btml.feature_sql(fresh('asker', '{"r": {"table": "by_real", "key": {"k": "big"}, "columns": []},
    "c": {"table": "by_char", "key": {"k": "short"}, "columns": []}}'), 'asker') AS q \gset
SELECT n, r_count = (SELECT count(*) FROM by_real h WHERE h.k = f.big) AS reals,
    c_count = (SELECT count(*) FROM by_char h WHERE h.k = f.short) AS chars, r_count, c_count FROM (:q) f ORDER BY n;
SELECT fresh('SELECT interval ''1 day'' AS k, as_of FROM asker', '{"r": {"table": "by_real", "key": {"k": "k"}}}');
SELECT fresh('asker', '{"r": {"table": "named_pkey", "key": {"k": "k"}}}');
-- Numbers that a float8 does not hold, dates that no timestamp has, and windows longer than both.
CREATE TABLE vast (thing int, at date, x numeric, y numeric(400, 0), z numeric(310, 310), n numeric(5, 2));
INSERT INTO vast VALUES (1, '2024-01-01', 1e400, 1e399, 1e-310, 1), (1, '2024-01-02', -2.5, 7, 0, 2), (2, '2024-01-01', 1e-400, 7, 0, 3),
    (2, '2024-01-02', '-infinity', 1, 0.5, 4), (3, '2024-01-01', 'NaN', 1, 0.9, 5), (3, '2024-01-02', 1.7976931348623157e308, 1, 0, 6),
    (4, '5874000-01-01', 3, 3, 0.3, 7), (4, 'infinity', 4, 4, 0.4, 8), (4, '-infinity', 5, 5, 0.5, 9), (4, '294276-12-31', 6, 6, 0.6, 10);
SELECT f ->> 'thing' AS thing, (f ->> 'v_x_sum')::float8 AS x, (f ->> 'v_y_sum')::float8 AS y, (f ->> 'v_z_sum')::float8 AS z
FROM (SELECT 'SELECT thing, date ''2024-02-01'' AS as_of FROM generate_series(1, 4) thing'::text AS q) q,
    features_of(fresh(q, '{"v": {"table": "vast", "key": {"thing": "thing"}}}'), q) t, CAST(t AS jsonb) f;
SELECT features_of(fresh(q, '{"v": {"table": "vast", "key": {"thing": "thing"}, "columns": ["n"]}}'), q)
FROM (SELECT 'SELECT 4 AS thing, d::date AS as_of FROM unnest(''{294276-12-31,5000000-01-01,infinity}''::date[]) d'::text AS q) q;
SELECT btml.relational_features('SELECT 1 AS thing, date ''2024-02-01'' AS as_of', as_of => 'as_of', windows => '{7000 years}',
    relations => '{"v": {"table": "vast", "key": {"thing": "thing"}}}');
SELECT count(f) FROM features_of(btml.relational_features('SELECT 1 AS thing, date ''2024-02-01'' AS as_of', as_of => 'as_of',
    windows => '{1000 years}', relations => '{"v": {"table": "vast", "key": {"thing": "thing"}}}'),
    'SELECT 1 AS thing, date ''2024-02-01'' AS as_of') f;

-- Keys that PostgreSQL does not hash; the order of rows does not choose the sample, also where many have one key.
CREATE TABLE flagged AS SELECT (i % 8)::bit(3) AS flags, (i % 5)::money AS fee, timestamp '2024-01-01' + i * interval '1 hour' AS at, i AS x
FROM generate_series(1, 200) i;
CREATE TABLE flag_task AS SELECT (i % 8)::bit(3) AS flags, (i % 3)::money AS fee, timestamp '2024-01-05' AS as_of, i % 8 AS y, i AS hashed
FROM generate_series(1, 21000) i;
CREATE FUNCTION flag_plan(source text) RETURNS jsonb LANGUAGE sql AS $$ SELECT btml.relational_features(source, target => 'y',
    as_of => 'as_of', relations => '{"f": {"table": "flagged", "key": {"flags": "flags"}}, "g": {"table": "flagged", "key": {"fee": "fee"},
    "columns": []}}', windows => '{NULL}', max_features => 5) $$;
SELECT jsonb_array_length(p -> 'features') > 0 AS found, p = flag_plan('SELECT * FROM flag_task ORDER BY md5(hashed::text)') AS same
FROM (SELECT flag_plan('flag_task') AS p) f;

-- Temporary tables, in whichever session they are.
CREATE TEMP TABLE owner (id int PRIMARY KEY, size int);
CREATE TEMP TABLE entry (owner int REFERENCES owner, at timestamp, n int);
CREATE TEMP TABLE question (owner int REFERENCES owner, as_of timestamp);
INSERT INTO owner VALUES (1, 7);
INSERT INTO entry VALUES (1, '2024-01-01', 3);
INSERT INTO question VALUES (1, '2024-02-01');
CREATE TABLE temporary AS SELECT fresh('question') AS p;
SELECT features_of(p, 'question'), p -> 'relations' -> 0 ->> 'schema' AS schema FROM temporary;
\c -
SET search_path = feature_tables, public;
CREATE TEMP TABLE owner (id int PRIMARY KEY, size int);
CREATE TEMP TABLE entry (owner int, at timestamp, n int);
INSERT INTO owner VALUES (1, 70);
SELECT features_of(p, 'SELECT 1 AS owner, timestamp ''2024-02-01'' AS as_of') FROM temporary;
DROP TABLE owner, entry;
SET client_min_messages = warning;
SET jit = off;

-- The window functions by themselves.
CREATE FUNCTION told(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r text;
BEGIN
    EXECUTE 'SELECT string_agg(r::text, '' '') FROM (' || statement || ') r' INTO r;
    RETURN coalesce(r, 'nothing');
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE TABLE rows (thing int, at timestamp, since timestamp[], x float8[], t text[]);
INSERT INTO rows VALUES (1, '2024-01-01', NULL, '{1}', '{a}'), (1, '2024-01-02', NULL, '{3}', '{NULL}'),
    (1, '2024-01-03', NULL, NULL, NULL), (1, '2024-01-04', '{2024-01-02}', NULL, NULL), (2, '2024-01-01', '{-infinity}', '{5}', '{z}');
SELECT told(format('SELECT btml.history_features(at, since, x, %s) OVER (PARTITION BY thing ORDER BY at) FROM rows WHERE x IS NOT NULL '
    'OR since IS NOT NULL ORDER BY thing, at', f)) FROM unnest(ARRAY['ARRAY[''sum 1 1'', ''count 0 1'']', '''{}''', 'NULL', '''{NULL}''',
    '''{{sum 1 1,sum 1 1}}''', '''{sum 1 2}''', '''{sum 2 1}''', '''{sum 2147483647 1}''', '''{count 0 2147483647}''', '''{value 1 1}''',
    '''{sum}''', '''{sum 1 1 1}''', '''{sum -1 1}''', '''{SUM 1 1}''', '''{last 1 1}''', 'ARRAY['' sum 1 1'']']) f;
SELECT told(s) FROM unnest(ARRAY[
    'SELECT btml.history_features(at, since, x, ''{sum 1 1}'') FROM rows',
    'SELECT btml.history_last(at, since, t) FROM rows',
    'SELECT btml.history_features(at, since, x, ''{count 0 1}'') OVER (PARTITION BY thing ORDER BY at DESC) FROM rows',
    'SELECT btml.history_last(at, since, t) OVER (PARTITION BY thing ORDER BY at DESC) FROM rows',
    'SELECT btml.history_features(at, since, x, ''{count 0 1}'') OVER () FROM (SELECT * FROM rows ORDER BY thing DESC, at) r',
    'SELECT btml.history_features(at, since, x, ''{count 0 1}'') OVER (ORDER BY at) FROM rows',
    'SELECT btml.history_features(NULL, since, x, ''{count 0 1}'') OVER () FROM rows',
    'SELECT btml.history_last(NULL, since, t) OVER () FROM rows WHERE since IS NOT NULL',
    'SELECT btml.history_features(at, ''{NULL}'', x, ''{count 0 1}'') OVER (ORDER BY at) FROM rows',
    'SELECT btml.history_features(at, ''{}'', x, ''{count 0 1}'') OVER (ORDER BY at) FROM rows',
    'SELECT btml.history_features(at, ''{{2024-01-01,2024-01-01}}'', x, ''{count 0 1}'') OVER (ORDER BY at) FROM rows',
    'SELECT btml.history_features(at, since, ''{{1,2},{3,4}}'', ''{count 0 1}'') OVER (ORDER BY at) FROM rows',
    'SELECT btml.history_features(at, since, ''[5:5]={7}''::float8[], ''{sum 1 1}'') OVER (PARTITION BY thing ORDER BY at) FROM rows',
    'SELECT btml.history_features(at, since, x || x, ''{sum 2 1}'') OVER (PARTITION BY thing ORDER BY at) FROM rows WHERE x IS NOT NULL',
    'SELECT btml.history_features(at, since, array_fill(1.0::float8, ARRAY[extract(day FROM at)::int]), ''{sum 1 1}'') OVER
        (PARTITION BY thing ORDER BY at) FROM rows',
    'SELECT btml.history_last(at, since, t) OVER (PARTITION BY thing ORDER BY at) FROM rows',
    'SELECT btml.history_last(at, since, ''{{a,b}}'') OVER (PARTITION BY thing ORDER BY at) FROM rows',
    'SELECT btml.history_last(at, since, t || t) OVER (PARTITION BY thing ORDER BY at) FROM rows',
    'SELECT btml.history_last(at, since, array_fill(''u''::text, ARRAY[4 - extract(day FROM at)::int])) OVER
        (PARTITION BY thing ORDER BY at) FROM rows',
    'SELECT btml.history_features(at, since, x, ''{count 0 1}'') OVER (ORDER BY at) FROM rows WHERE false',
    'SELECT thing, (SELECT count(h) FROM (SELECT btml.history_features(r.at, r.since, r.x, ''{sum 1 1}'') OVER (ORDER BY r.at) AS h
        FROM rows r WHERE r.thing = o.thing AND (r.x IS NOT NULL OR r.since IS NOT NULL)) s) FROM rows o']) s;

-- Foreign tables have no keys, so they are named.
SELECT format('OPTIONS (dbname %L, host %L, port %L)', current_database(), split_part(current_setting('unix_socket_directories'), ',', 1),
    current_setting('port')) AS options \gset
CREATE EXTENSION postgres_fdw;
CREATE SERVER elsewhere FOREIGN DATA WRAPPER postgres_fdw :options;
CREATE USER MAPPING FOR CURRENT_USER SERVER elsewhere;
CREATE FOREIGN TABLE far_event (thing int, at timestamp, x int) SERVER elsewhere OPTIONS (schema_name 'feature_tables', table_name 'event');
SELECT features_of(fresh('look', '{"far": {"table": "far_event", "key": {"thing": "thing"}}}'), 'SELECT thing, as_of FROM look');
DROP EXTENSION postgres_fdw CASCADE;

DROP SCHEMA "Sel""ect" CASCADE;
DROP SCHEMA feature_tables CASCADE;

-- A table that has lost the key by which it is joined.
CREATE TABLE kept (id int PRIMARY KEY, colour text, at timestamp);
CREATE TABLE keeper (kept int REFERENCES kept, as_of timestamp);
INSERT INTO kept VALUES (1, 'red', '2024-01-01');
INSERT INTO keeper VALUES (1, '2024-02-01');
CREATE TABLE kept_plan AS SELECT btml.relational_features('keeper', as_of => 'as_of') AS p;
-- The rows of a table that inherits from it are in no index of its own.
CREATE TABLE child () INHERITS (kept);
SELECT btml.feature_sql(p, 'keeper') FROM kept_plan;
DROP TABLE child;
SELECT btml.feature_sql(p, 'keeper') IS NOT NULL AS joined FROM kept_plan;
ALTER TABLE kept DROP CONSTRAINT kept_pkey CASCADE;
SELECT btml.feature_sql(p, 'keeper') FROM kept_plan;

-- Texts of a collation in which different ones are equal are no features, and an index over it is no key of plain texts.
CREATE COLLATION IF NOT EXISTS alike (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE loose (id text COLLATE alike, shade text COLLATE alike, n int, at timestamp);
CREATE UNIQUE INDEX ON loose (id COLLATE "C");
INSERT INTO loose VALUES ('a', 'red', 1, '2024-01-01'), ('A', 'Red', 2, '2024-01-02');
SELECT name FROM btml.feature_list(btml.relational_features('SELECT text ''a'' COLLATE alike AS id, timestamp ''2024-02-01'' AS as_of',
    as_of => 'as_of', windows => '{NULL}', relations => '{"loose": {"table": "loose", "key": {"id": "id"}}}'))
WHERE name ~ 'count|shade|sum';
-- A time with a zone beside those without is left out.
CREATE TABLE owner (id int PRIMARY KEY);
CREATE TABLE zoned (owner int REFERENCES owner, at timestamptz, n int);
CREATE TABLE plainly (owner int REFERENCES owner, at timestamp, n int);
CREATE TABLE inquiry (owner int REFERENCES owner, as_of date, y int);
INSERT INTO owner VALUES (1);
INSERT INTO plainly VALUES (1, '2024-01-01', 1);
INSERT INTO inquiry VALUES (1, '2024-02-01', 1);
SET client_min_messages = notice;
SELECT DISTINCT path FROM btml.feature_list(btml.relational_features('inquiry', as_of => 'as_of'));
-- Without as_of all rows count, whether or not their times have a zone.
SELECT DISTINCT path COLLATE "C" AS path FROM btml.feature_list(btml.relational_features('SELECT owner FROM inquiry')) ORDER BY 1;
SELECT btml.relational_features('inquiry', target => 'y', as_of => 'as_of', holdout => 'y');
SELECT btml.relational_features('SELECT owner, as_of, 1 AS btml_place FROM inquiry', as_of => 'as_of');

-- A feature that is the target itself, and one that tells nothing of it.
CREATE TABLE exam AS SELECT i AS id, i % 7 AS mark, 1 AS same FROM generate_series(1, 300) i;
ALTER TABLE exam ADD PRIMARY KEY (id);
CREATE TABLE pupil AS SELECT id AS exam, mark AS y FROM exam;
ALTER TABLE pupil ADD FOREIGN KEY (exam) REFERENCES exam;
SELECT name FROM btml.feature_list(btml.relational_features('pupil', target => 'y'));
SELECT name FROM btml.feature_list(btml.relational_features('pupil', target => 'y', relations => '{"exam": {"columns": ["same"]}}'));
-- More tables than are taken.
CREATE TABLE hub (id int PRIMARY KEY);
DO $$ BEGIN
    FOR i IN 1 .. 100 LOOP EXECUTE format('CREATE TABLE spoke_%s (hub int REFERENCES hub)', i); END LOOP;
    CREATE TABLE wheel (hub int REFERENCES hub);
    INSERT INTO hub VALUES (1);
    INSERT INTO wheel VALUES (1);
END $$;
SELECT jsonb_array_length(btml.relational_features('wheel') -> 'relations') AS relations;
DO $$ BEGIN
    FOR i IN 1 .. 100 LOOP EXECUTE format('DROP TABLE spoke_%s', i); END LOOP;
END $$;
DROP TABLE wheel, hub, pupil, exam;
-- Tables that max_depth keeps out are named.
SET client_min_messages = notice;
SELECT DISTINCT path FROM btml.feature_list(btml.relational_features('inquiry', as_of => 'as_of', max_depth => 0,
    relations => '{"owner": {"time": null}}'));
