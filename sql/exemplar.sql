-- btml.exemplars, btml.exemplars_agg and btml.nearest_exemplar.
CREATE SCHEMA exemplar;
SET search_path = exemplar, public;
SET client_min_messages = notice;

\set caught `echo "${PG_ABS_SRCDIR:-.}/sql/include/caught.sql"`
\i :caught

-- Four clusters, of different sizes, one after the other; a dissimilarity between any two of them is over 50.
CREATE TABLE point (id int PRIMARY KEY, g int, x float8[], y float8);
INSERT INTO point SELECT n, g, ARRAY[10 * (g % 2) + (n * 7919 % 101) / 100.0, 10 * (g / 2) + (n * 104729 % 103) / 100.0],
    g + (n * 7919 % 101) / 100.0
FROM (SELECT n, CASE WHEN n <= 400 THEN 0 WHEN n <= 700 THEN 1 WHEN n <= 900 THEN 2 ELSE 3 END AS g FROM generate_series(1, 1000) n) s;
CREATE FUNCTION cost(chosen float8[]) RETURNS float8 LANGUAGE sql AS $$
    SELECT avg((SELECT min((p.x[1] - chosen[2 * i - 1]) ^ 2 + (p.x[2] - chosen[2 * i]) ^ 2)
    FROM generate_series(1, array_length(chosen, 1) / 2) i)) FROM exemplar.point p $$;

-- All rows are validation rows, so two passes find the medoid of each cluster.
CREATE TABLE medoid AS SELECT DISTINCT ON (a.g) a.g, a.id, count(*) AS rows, avg((a.x[1] - b.x[1]) ^ 2 + (a.x[2] - b.x[2]) ^ 2) AS cost
FROM point a JOIN point b USING (g) GROUP BY a.g, a.id ORDER BY a.g, cost, a.id;
CREATE TABLE found AS SELECT * FROM btml.exemplars('exemplar.point', 4, passes => 2);
SELECT g, medoid.id = f.id::int AS medoid, f.members = rows AS members, abs(mean_dissimilarity - cost) < 1e-5 AS mean_dissimilarity,
    f.x = p.x AS x
FROM medoid JOIN point p USING (g, id) LEFT JOIN found f ON f.id::int = medoid.id ORDER BY g;
SELECT array_agg(slot ORDER BY slot) AS slots, count(DISTINCT utility) AS utilities, max(utility_std_error) AS std_error,
    abs(min(utility) - ((SELECT var_pop(x[1]) + var_pop(x[2]) FROM point) - (SELECT sum(cost * rows) / 1000 FROM medoid)))
    < 1e-4 AS utility FROM found;

-- The same from columns, a view, a SELECT, real and numeric arrays, with a weight of 1, and whatever the number of threads.
CREATE VIEW as_columns AS SELECT id, x[1] AS a, x[2] AS b FROM point ORDER BY id;
CREATE FUNCTION ids(source text, k int DEFAULT 4) RETURNS text LANGUAGE sql AS $$ SELECT string_agg(id, ' ' ORDER BY slot)
    FROM btml.exemplars(source, k, passes => 2) $$;
SELECT ids('exemplar.as_columns') = (SELECT string_agg(id, ' ' ORDER BY slot) FROM found) AS columns,
    ids('SELECT id, x, 1 AS weight FROM exemplar.point ORDER BY id') = ids('exemplar.point') AS weight,
    ids('SELECT id, x::numeric[] AS x FROM exemplar.point ORDER BY id') = ids('exemplar.point') AS numerics,
    ids('SELECT id, x::real[] AS x, y::text FROM exemplar.point ORDER BY id') = ids('exemplar.point') AS reals;
SET btml.threads = 3;
SELECT ids('exemplar.point') = (SELECT string_agg(id, ' ' ORDER BY slot) FROM found) AS threads;
RESET btml.threads;
-- A type that is no array, but has a cast to one. (NOTICEs of shell types are worded differently by versions.)
SET client_min_messages = warning;
CREATE TYPE vec;
CREATE FUNCTION vec_in(cstring) RETURNS vec LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE FUNCTION vec_out(vec) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
CREATE TYPE vec (INPUT = vec_in, OUTPUT = vec_out, LIKE = text);
SET client_min_messages = notice;
CREATE FUNCTION vec_to_real(vec) RETURNS real[] LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT translate(vec_out($1)::text, '[]', '{}')::real[] $$;
CREATE CAST (vec AS real[]) WITH FUNCTION vec_to_real(vec);
CREATE TABLE vector AS SELECT id, translate(x::text, '{}', '[]')::cstring::text AS t FROM point;
ALTER TABLE vector ADD x vec;
UPDATE vector SET x = vec_in(t::cstring);
SELECT id, x FROM vector ORDER BY id LIMIT 1;
SELECT count(*), ids('SELECT id, x FROM exemplar.vector ORDER BY id') = ids('exemplar.point') AS vector FROM vector;
-- Without a column id, the number of the row; ids may be NULL.
SELECT slot, id FROM btml.exemplars('SELECT x FROM exemplar.point WHERE id IN (1, 500, 800, 1000) ORDER BY id', 4);
SELECT slot, id, x FROM btml.exemplars('SELECT NULL::int AS id, 1.5 AS a', 1);

-- Dissimilarities, against a function that says the same.
CREATE FUNCTION manhattan(a float8[], b float8[]) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$ SELECT sum(abs(p - q))
    FROM unnest(a, b) u(p, q) $$;
CREATE FUNCTION cosine(a float8[],
    b float8[]) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$ SELECT 1 - sum(p * q) / sqrt(sum(p * p) * sum(q * q))
    FROM unnest(a, b) u(p, q) $$;
CREATE FUNCTION euclidean(a float8[], b float8[]) RETURNS real LANGUAGE sql IMMUTABLE AS $$ SELECT sqrt(sum((p - q) ^ 2))
    FROM unnest(a, b) u(p, q) $$;
CREATE VIEW few AS SELECT id, ARRAY[x[1] + 1, x[2]] AS x FROM point WHERE id % 29 = 0 ORDER BY id;
SELECT d, array_agg(b.id ORDER BY b.slot) = array_agg(f.id ORDER BY f.slot) AS same, max(abs(b.mean_dissimilarity - f.mean_dissimilarity))
    < 1e-5 AS mean, max(abs(b.members - f.members)) AS members
FROM unnest('{manhattan,cosine,euclidean}'::text[]) d,
    btml.exemplars('exemplar.few', 5, dissimilarity => d, passes => 3, phantom => 'random') b
JOIN LATERAL btml.exemplars('exemplar.few', 5, dissimilarity => 'exemplar.' || d || '(float8[],float8[])', passes => 3,
    phantom => 'random') f USING (slot) GROUP BY d ORDER BY d;
-- Of text, and of values that are passed by value.
CREATE FUNCTION overlap(a text, b text) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$ SELECT count(*)
    FROM (SELECT regexp_split_to_table(a, '') EXCEPT SELECT regexp_split_to_table(b, '')) s $$;
SELECT slot, id, x, members FROM btml.exemplars($$SELECT w AS id, w AS x FROM unnest('{abc,abcd,abce,xyz,xyzw,xyz}'::text[]) w$$, 2,
    dissimilarity => 'exemplar.overlap(text,text)', passes => 3);
CREATE FUNCTION apart(a int, b int) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT abs(a - b) $$;
SELECT slot, id, members FROM btml.exemplars('SELECT n AS id, n AS x FROM generate_series(1, 99) n', 1,
    dissimilarity => 'exemplar.apart(int,int)');
-- A function is called for each validation row and candidate: the number of these is bounded.
CREATE SEQUENCE calls;
CREATE FUNCTION counted(a int, b int) RETURNS int LANGUAGE sql VOLATILE AS $$ SELECT nextval('exemplar.calls'); SELECT abs(a - b) $$;
SELECT count(*) FROM btml.exemplars('SELECT n AS id, n AS x FROM generate_series(1, 3000) n', 2,
    dissimilarity => 'exemplar.counted(int,int)', validation => 10, max_candidates => 50);
SELECT last_value BETWEEN 500 AND 600 AS calls FROM calls;
-- Races come to the same medoids, by fewer rows.
SELECT array_agg(id ORDER BY id::int) = (SELECT array_agg(id::text ORDER BY id) FROM medoid) AS medoids
    FROM btml.exemplars('exemplar.point', 4, passes => 3, racing => true, eta => 1e-6);
CREATE FUNCTION calls_of(racing boolean) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN
PERFORM setval('exemplar.calls', 1);
PERFORM btml.exemplars('SELECT n AS id, n + n / 2000 * 1000000 AS x FROM generate_series(1, 5999) n', 3,
    dissimilarity => 'exemplar.counted(int,int)', validation => 4000, max_candidates => 30, batch => 3, eta => 1000, racing => $1);
RETURN nextval('exemplar.calls'); END $$;
SELECT calls_of(true) < 0.7 * calls_of(false) AS fewer_calls;
-- Utilities are measured against the same row with races and without.
SELECT phantom, count(DISTINCT utility) AS utilities FROM unnest('{none,random}'::text[]) phantom, unnest('{t,f}'::bool[]) racing,
    btml.exemplars('SELECT n AS id, n AS x FROM generate_series(1, 300) n', 3,
    dissimilarity => 'exemplar.apart(int,int)', phantom => phantom, racing => racing) GROUP BY 1 ORDER BY 1;

-- Samples: utilities are estimates with an error, and members add up.
SELECT count(*), abs(sum(members) - 1000) < 1e-6 AS members, min(utility_std_error) > 0 AS std_error,
    abs(min(utility) - ((SELECT var_pop(x[1]) + var_pop(x[2])
    FROM point) - cost((SELECT array_agg(e ORDER BY f.slot, i) FROM found f, unnest(f.x) WITH ORDINALITY u(e, i))))) < 4
    * min(utility_std_error) AS near
FROM btml.exemplars('exemplar.point', 4, validation => 100, seed => 5);
-- Weights: rows of weight 0 count for nothing.
SELECT slot, id, members FROM btml.exemplars('SELECT n AS id, n AS a, CASE WHEN n > 90 THEN 2 ELSE 0 END AS weight
    FROM generate_series(1, 99) n', 1, passes => 2);
-- However many they are, all others are in a sample that has room for them.
SELECT count(*), sum(members), max(utility_std_error) AS std_error
    FROM btml.exemplars('SELECT n AS a, (n % 1000 = 0)::int AS weight FROM generate_series(1, 20000) n', 3, validation => 20);
-- One sampled row alone has no standard error.
SELECT count(*) FILTER (WHERE utility_std_error IS NULL) > 0 AS unknown, min(utility_std_error) > 0 AS known
FROM generate_series(0, 19) seed, LATERAL btml.exemplars('SELECT n AS a, sqrt(n) AS y FROM generate_series(1, 6) n', 1,
    objective => 'prediction', target => 'y', validation => 2, length_scales => '{2}', signal => 1, noise => 0.01, seed => seed);
-- A phantom exemplar serves rows too, so none is chosen near it; its members count for their nearest exemplar.
SELECT slot, id, members, round(utility::numeric, 3) AS utility
    FROM btml.exemplars('SELECT n AS id, v AS a FROM unnest(''{0,0.1,-0.1,8,8.1}''::float8[]) WITH ORDINALITY u(v, n)', 1,
    phantom => 'origin', passes => 2);
SELECT slot, id FROM btml.exemplars('SELECT n AS id, v AS a FROM unnest(''{0,0.1,-0.1,8,8.1}''::float8[]) WITH ORDINALITY u(v, n)', 1,
    phantom => '{8.05}', passes => 2);
SELECT count(*) FROM unnest('{mean,random,none}'::text[]) p, btml.exemplars('exemplar.point', 2, phantom => p, max_candidates => 50);
-- No more exemplars than rows that differ; none of no rows.
SELECT slot, id, members, mean_dissimilarity FROM btml.exemplars('SELECT n AS id, n % 3 AS a FROM generate_series(1, 50) n', 10);
SELECT * FROM btml.exemplars('SELECT id, x FROM exemplar.point WHERE false', 3);
-- Limits of the work.
SELECT count(*), bool_and(id::int <= 200) AS first_batches FROM btml.exemplars('exemplar.point', 4, batch => 4, eta => 1e9);
SELECT count(*) FROM btml.exemplars('exemplar.point', 4, max_candidates => 3);
SELECT count(*) FROM btml.exemplars('exemplar.point', 4, passes => 1000000);
-- Whole passes may go by without a candidate, and a source may have rows for the first scan alone.
SELECT count(*) FROM btml.exemplars('exemplar.point', 1, passes => 9, max_candidates => 1);
CREATE SEQUENCE reads;
SELECT * FROM btml.exemplars('SELECT n AS a FROM generate_series(1, 3) n WHERE nextval(''exemplar.reads'') <= 3', 2);

-- Active sets for Gaussian processes.
CREATE VIEW target AS SELECT id, x[1] AS a, x[2] AS b, sin(x[1]) + x[2] / 5 AS t FROM point ORDER BY id;
SELECT o, count(*), bool_and(utility > 0) AS utility, bool_and((utility_std_error > 0) = (o <> 'information')) AS std_error,
    bool_and(mean_dissimilarity >= 0) AS distance
FROM unnest('{information,variance,prediction}'::text[]) o,
    btml.exemplars('exemplar.target', 12, objective => o, target => 't', validation => 200) GROUP BY o ORDER BY o;
-- With a kernel that is given, a target is needed for prediction alone; lengths change what is near.
SELECT count(*) FROM btml.exemplars('exemplar.as_columns', 5, objective => 'information', length_scales => '{1,100}', signal => 1,
    noise => 0.1);
SELECT count(DISTINCT round(x[1]::numeric, 2)) AS along_a
    FROM btml.exemplars('SELECT id, x[1] AS a, x[2] AS b FROM exemplar.point', 5, objective => 'variance', length_scales => '{1,100}',
    signal => 1, noise => 0.1);
-- ½ log det(I + K / σ²) of two far points with signal 3 and noise 1 is log 4.
SELECT round(utility::numeric, 9) = round(ln(4.0), 9) AS information, utility_std_error
    FROM btml.exemplars('SELECT n AS id, 1000 * n AS a FROM generate_series(1, 2) n', 2, objective => 'information',
    length_scales => '{1}', signal => 3, noise => 1);
-- Rows without a target are left out.
SELECT string_agg(id, ' ' ORDER BY id)
    FROM btml.exemplars('SELECT n AS id, n AS a, CASE WHEN n > 3 THEN n END AS t FROM generate_series(1, 6) n', 6,
    objective => 'prediction', target => 't', length_scales => '{1}', signal => 3, noise => 1);
-- A verbose choice says what kernel it learned, as the options that give it.
SET client_min_messages = info;
SELECT count(*) FROM btml.exemplars('SELECT n AS id, n AS a, n % 2 AS t FROM generate_series(1, 20) n', 2, 'variance', 't',
    length_scales => '{0.1}', signal => 0.05, verbose => true);
SET client_min_messages = notice;

-- Blocks of a table in random order: the first exemplars are not those stored first.
CREATE TABLE stored AS SELECT n AS id, n::float8 AS a, repeat('x', 200) AS filler FROM generate_series(1, 5000) n;
SELECT bool_and(id::int <= 5) AS first, count(*) FROM btml.exemplars('exemplar.stored', 5, batch => 5, eta => 1e9);
SELECT bool_and(id::int <= 5) AS first, count(DISTINCT id), sum(members)
    FROM btml.exemplars('exemplar.stored', 5, batch => 5, eta => 1e9, scan_order => 'random_blocks', passes => 3);
SELECT count(DISTINCT id), sum(members), min(id::int) > 4000 AS filtered
    FROM btml.exemplars('SELECT id, a FROM exemplar.stored WHERE id > 4000', 3, scan_order => 'random_blocks');
SELECT (SELECT array_agg(id ORDER BY slot) FROM btml.exemplars('exemplar.stored', 5, scan_order => 'random_blocks', seed => 1))
    = (SELECT array_agg(id ORDER BY slot)
    FROM btml.exemplars('exemplar.stored', 5, scan_order => 'random_blocks', seed => 1)) AS repeatable;
-- Rows that are not in blocks of the named table.
CREATE TABLE parted (LIKE stored) PARTITION BY RANGE (id);
CREATE TABLE parted_low PARTITION OF parted FOR VALUES FROM (MINVALUE) TO (3000);
CREATE TABLE parted_high PARTITION OF parted FOR VALUES FROM (3000) TO (MAXVALUE);
INSERT INTO parted SELECT * FROM stored;
CREATE TABLE parent (LIKE stored);
CREATE TABLE child () INHERITS (parent);
CREATE FOREIGN DATA WRAPPER nothing;
CREATE SERVER nowhere FOREIGN DATA WRAPPER nothing;
CREATE FOREIGN TABLE elsewhere (id int, a float8) SERVER nowhere;
CREATE ACCESS METHOD unlike TYPE TABLE HANDLER heap_tableam_handler;
CREATE TABLE otherwise USING unlike AS SELECT * FROM stored;
SELECT caught(format('SELECT * FROM btml.exemplars(%L, 5, scan_order => ''random_blocks'')', s))
FROM unnest('{exemplar.parted,exemplar.parent,exemplar.elsewhere,exemplar.otherwise,SELECT id\, a FROM exemplar.stored LIMIT 3}'::text[]) s;
SELECT count(*) AS one_partition, (SELECT count(*) FROM btml.exemplars('exemplar.parted', 5)) AS physical,
    (SELECT count(*) FROM btml.exemplars('SELECT id, a FROM ONLY exemplar.parent', 5, scan_order => 'random_blocks')) AS only_parent
FROM btml.exemplars('exemplar.parted_high', 5, scan_order => 'random_blocks');
DROP FOREIGN TABLE elsewhere;
DROP TABLE otherwise;
DROP ACCESS METHOD unlike;
DROP SERVER nowhere;
DROP FOREIGN DATA WRAPPER nothing;


-- The aggregate: as btml.exemplars, whatever the order and the workers.
CREATE FUNCTION agg(query text) RETURNS text LANGUAGE plpgsql
    AS $$ DECLARE result text; BEGIN EXECUTE query INTO result; RETURN result; END $$;
SELECT jsonb_array_length(e), (SELECT array_agg((o->>'id')::int ORDER BY (o->>'id')::int)
    FROM jsonb_array_elements(e) o) = (SELECT array_agg(id ORDER BY id) FROM medoid) AS medoids,
    (SELECT bool_and((o->>'members')::float8 = rows) FROM jsonb_array_elements(e) o JOIN medoid ON id = (o->>'id')::int) AS members
FROM (SELECT btml.exemplars_agg(id, x, 4) AS e FROM point) s;
SELECT agg('SELECT btml.exemplars_agg(id, x, 4) FROM (SELECT * FROM exemplar.point ORDER BY id DESC) s')
    = agg('SELECT btml.exemplars_agg(id, x, 4) FROM exemplar.point') AS any_order;
SELECT g, jsonb_array_length(btml.exemplars_agg(id, x, 2)), jsonb_typeof(btml.exemplars_agg(id, x, 2)->0->'id') AS id,
    jsonb_typeof(btml.exemplars_agg('row ' || id, x, 2)->0->'id') AS of_text FROM point GROUP BY g ORDER BY g;
SELECT btml.exemplars_agg(id, x, 2) FROM (VALUES (1, '{0,0}'::float8[]), (1, '{0,0}'), (1, '{0,0}'), (NULL, '{1,2.5}')) v(id, x);
-- Ids are bigint, text or uuid, so that an engine that ships partial aggregates need not tell the type of a polymorphic argument.
SELECT btml.exemplars_agg(id, x, 2) FROM (VALUES ('00000000-0000-4000-8000-00000000000a'::uuid, '{1}'::float8[]), (NULL, '{5}')) v(id, x);
SELECT btml.exemplars_agg(id, x, 2) FROM (VALUES ('-9223372036854775808'::bigint, '{1}'::float8[]), (9223372036854775807, '{5}')) v(id, x);
SELECT btml.exemplars_agg(id, x, 1) AS text, btml.exemplars_agg(id::varchar, x, 1) AS varchar,
    btml.exemplars_agg(7::smallint, x, 1) AS smallint FROM (VALUES ('12'::text, '{1}'::float8[])) v(id, x);
SELECT caught($$SELECT btml.exemplars_agg(1.5::float8, '{1}', 1)$$);
SELECT count(*) AS polymorphic FROM pg_proc
    WHERE oid IN (SELECT aggtransfn FROM pg_aggregate WHERE aggfnoid::text LIKE 'btml.%')
    AND proargtypes::oid[] && ARRAY['anyelement'::regtype::oid, 'anyarray'::regtype::oid];
SELECT btml.exemplars_agg(id, x, 2) FROM point WHERE false;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 3;
CREATE TABLE many AS SELECT n AS id, ARRAY[n * 7919 % 1009, n * 10473 % 997, n % 7]::float8[] AS x FROM generate_series(1, 40000) n;
ANALYZE many;
CREATE FUNCTION plan_has(query text, what text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS off) ' || query LOOP IF line ~ what THEN RETURN true; END IF; END LOOP;
    RETURN false;
END $$;
SELECT plan_has('SELECT btml.exemplars_agg(id, x, 9) FROM exemplar.many', 'Partial Aggregate') AS parallel;
CREATE TABLE by_workers AS SELECT agg('SELECT btml.exemplars_agg(id, x, 9) FROM exemplar.many') AS e;
SET max_parallel_workers_per_gather = 0;
SELECT agg('SELECT btml.exemplars_agg(id, x, 9) FROM exemplar.many') = e AS same FROM by_workers;
RESET max_parallel_workers_per_gather;
RESET min_parallel_table_scan_size;
RESET parallel_tuple_cost;
RESET parallel_setup_cost;
-- The state's type.
SELECT caught($$SELECT 'AAAA'::btml.exemplar_sample$$);
SELECT caught($$SELECT '?'::btml.exemplar_sample$$);
SELECT caught($$SELECT btml_internal.exemplars_accumulate(NULL, 1::bigint, '{1}', 1)$$);
SELECT caught($$SELECT btml_internal.exemplars_combine(NULL, 'AAAA')$$);

-- The nearest exemplar: members by it are those that btml.exemplars counts.
SELECT bool_and(n = members) AS members, count(*)
    FROM (SELECT btml.nearest_exemplar(x, e) AS id, count(*) AS n
    FROM point, (SELECT jsonb_agg(jsonb_build_object('id', id, 'x', x)) AS e FROM found) s GROUP BY 1) q JOIN found USING (id);
SELECT btml.nearest_exemplar(ARRAY[p.x[1], 0],
    '[{"id": "a", "x": [1, 0]}, {"id": 2.50, "more": {"x": [1]}, "x": [-1, 0]}, {"x": [5, 1e2], "id": null}, {"id": true, "x": [5, 5]}]',
    d) AS nearest, p.x[1], d
FROM (VALUES ('{0}'::float8[]), ('{-2}'), ('{7}')) p(x), unnest('{squared_euclidean,euclidean,manhattan}'::text[]) d ORDER BY d, 2;
SELECT btml.nearest_exemplar('{3,3.1}', '[{"id": "a", "x": [1, 0]}, {"id": "b", "x": [50, 50]}]', 'cosine') AS cosine,
    btml.nearest_exemplar('{3,3.1}', '[{"id": "a", "x": [1, 0]}, {"id": "b", "x": [50, 50]}]') AS squared;
SELECT btml.nearest_exemplar(NULL, '[]') IS NULL AS x, btml.nearest_exemplar('{1}', NULL) IS NULL AS exemplars,
    btml.nearest_exemplar('{1}', '[]') IS NULL AS none, btml.nearest_exemplar('{1}', '[{"id": null, "x": [1]}]') IS NULL AS id;
SELECT a, btml.nearest_exemplar(ARRAY[a], e)
    FROM (VALUES (1, '[{"id": 1, "x": [1]}]'::jsonb), (2, '[{"id": 2, "x": [1]}]'), (3, '[{"id": 1, "x": [1]}]')) v(a, e);

-- Errors.
SELECT caught(format('SELECT * FROM btml.exemplars(%s)', a)) FROM unnest(ARRAY[
    'NULL, 3', $$'exemplar.point', NULL$$, $$'exemplar.point', 0$$, $$'exemplar.point', 100001$$, $$'nowhere', 3$$,
    $$'exemplar.point', 3, 'medoids'$$,
    $$'exemplar.point', 3, target => 'y'$$, $$'exemplar.point', 3, 'prediction'$$, $$'exemplar.point', 3, 'variance'$$,
    $$'exemplar.point', 3, 'prediction', 'z'$$,
    $$'exemplar.point', 3, dissimilarity => 'l2'$$, $$'exemplar.point', 3, dissimilarity => 'nowhere(float8[],float8[])'$$,
    $$'exemplar.point', 3, dissimilarity => 'exemplar.cost(float8[])'$$,
    $$'exemplar.point', 3, dissimilarity => 'exemplar.overlap(text,text)'$$,
    $$'exemplar.as_columns', 3, dissimilarity => 'exemplar.overlap(text,text)'$$,
    $$'exemplar.point', 3, validation => 1$$, $$'exemplar.point', 3, passes => 0$$, $$'exemplar.point', 3, passes => NULL$$,
    $$'exemplar.point', 3, max_candidates => 0$$, $$'exemplar.point', 3, eta => 'NaN'$$,
    $$'exemplar.point', 3, phantom => 'zero'$$, $$'exemplar.point', 3, phantom => '{1}'$$, $$'exemplar.point', 3, phantom => '{1,NULL}'$$,
    $$'exemplar.point', 3, phantom => '{{1,2}}'$$, $$'exemplar.point', 3, phantom => '{a}'$$,
    $$'exemplar.point', 3, phantom => 'origin', dissimilarity => 'cosine'$$,
    $$'exemplar.point', 3, phantom => 'origin', dissimilarity => 'exemplar.manhattan(float8[],float8[])'$$,
    $$'exemplar.point', 3, 'information', phantom => 'mean'$$,
    $$'exemplar.point', 3, batch => 0$$, $$'exemplar.point', 3, confidence => 1$$,
    $$'exemplar.target', 3, 'variance', 't', racing => true$$, $$'exemplar.point', 3, racing => NULL$$,
    $$'exemplar.point', 3, scan_order => 'random'$$, $$'exemplar.as_columns', 3, scan_order => 'random_blocks'$$,
    $$'exemplar.point', 3, noise => 1$$, $$'exemplar.target', 3, 'variance', 't', length_scales => '{1}'$$,
    $$'exemplar.target', 3, 'variance', 't', length_scales => '{1,NULL}'$$, $$'exemplar.target', 3, 'variance', 't', signal => 0$$,
    $$'SELECT 1 AS a, 2 AS t FROM exemplar.point', 3, 'variance', 't'$$, $$'SELECT id FROM exemplar.point', 3$$,
    $$'SELECT 1 AS a, -1 AS weight', 3$$, $$'SELECT 1 AS a, 0 AS weight', 3$$,
    $$'SELECT 1 AS id, NULL::float8[] AS x', 3$$, $$'SELECT 1 AS id, ARRAY[1, NULL] AS x', 3$$,
    $$'SELECT n AS id, ARRAY[1, sqrt(n - 2.0), ''NaN''] AS x FROM generate_series(2, 3) n', 3$$, $$'SELECT NULL::int AS a', 3$$,
    $$'SELECT ARRAY[''Infinity''::float8] AS x', 3$$, $$'SELECT array_fill(1, ARRAY[n]) AS x FROM generate_series(1, 2) n', 3$$,
    $$'SELECT ''{{1,2}}''::int[] AS x', 3$$, $$'SELECT ''{}''::int[] AS x', 3$$,
    $$'SELECT n - 1 AS a FROM generate_series(1, 2) n', 3, dissimilarity => 'cosine'$$,
    $$'SELECT 1.7e308::float8 * n AS a FROM unnest(''{-1,1}''::float8[]) n', 3$$]) WITH ORDINALITY u(a, n) ORDER BY n;
-- Numbers that are too large.
SELECT caught(format('SELECT * FROM btml.exemplars(%s)', a)) FROM unnest(ARRAY[
    $$'SELECT 1e200 * n AS a FROM generate_series(1, 3) n', 2$$,
    $$'SELECT n AS a, 1e308::float8 AS weight FROM generate_series(1, 3) n', 2$$,
    $$'exemplar.point', 3, phantom => '{1e30,0}'$$,
    $$'SELECT n AS a, 1e170 * n AS t FROM generate_series(1, 3) n', 2, 'prediction', 't'$$]) WITH ORDINALITY u(a, n) ORDER BY n;
SELECT btml.nearest_exemplar('{1e150}', e), caught(format('SELECT btml.nearest_exemplar(''{1e200}'', %L)', e))
    FROM (SELECT '[{"id": 1, "x": [-1e150]}, {"id": 2, "x": [5e149]}]'::jsonb) s(e);
SELECT a, btml.nearest_exemplar(ARRAY[a, 2 * a], '[{"id": 1, "x": [1e200, 0]}, {"id": 2, "x": [1e-200, 3e-200]}]', 'cosine')
    FROM unnest('{1e200,1e-200}'::float8[]) a;
-- What a function may not do.
CREATE FUNCTION bad(a int, b int) RETURNS float8 LANGUAGE plpgsql AS $$ BEGIN RETURN CASE a WHEN 1 THEN NULL WHEN 2 THEN -1
    WHEN 3 THEN 'NaN'::float8 WHEN 4 THEN 'Infinity' WHEN 6 THEN 1e39 ELSE 1 / (a - 5) END::float8; END $$;
SELECT caught(format('SELECT * FROM btml.exemplars(''SELECT %s AS x'', 1, dissimilarity => ''exemplar.bad(int,int)'')', n))
    FROM generate_series(1, 6) n;
CREATE ROLE btml_exemplar_reader;
GRANT USAGE ON SCHEMA exemplar TO btml_exemplar_reader;
REVOKE EXECUTE ON FUNCTION apart(int, int) FROM PUBLIC;
SET ROLE btml_exemplar_reader;
SELECT * FROM btml.exemplars('SELECT 1 AS x', 1, dissimilarity => 'exemplar.apart(int,int)');
SELECT * FROM btml.exemplars('exemplar.point', 1);
RESET ROLE;
REVOKE USAGE ON SCHEMA exemplar FROM btml_exemplar_reader;
DROP ROLE btml_exemplar_reader;
SELECT caught(q) FROM unnest(ARRAY[
    'SELECT btml.exemplars_agg(id, x, 0) FROM exemplar.point', 'SELECT btml.exemplars_agg(id, x, NULL) FROM exemplar.point',
    'SELECT btml.exemplars_agg(id, x, id) FROM exemplar.point', 'SELECT btml.exemplars_agg(1, NULL::float8[], 1)',
    $$SELECT btml.exemplars_agg(1, '{}', 1)$$, $$SELECT btml.exemplars_agg(1, '{1,NaN}', 1)$$,
    $$SELECT btml.exemplars_agg(1, '{1,NULL}', 1)$$, $$SELECT btml.exemplars_agg(1, '{{1,2}}', 1)$$,
    $$SELECT btml.exemplars_agg(n, array_fill(1::float8, ARRAY[n]), 1) FROM generate_series(1, 2) n$$,
    $$SELECT btml.nearest_exemplar('{1}', '{}')$$, $$SELECT btml.nearest_exemplar('{1}', '3')$$,
    $$SELECT btml.nearest_exemplar('{1}', '[3]')$$, $$SELECT btml.nearest_exemplar('{1}', '[{"id": 1}]')$$,
    $$SELECT btml.nearest_exemplar('{1}', '[{"x": [1]}]')$$,
    $$SELECT btml.nearest_exemplar('{1}', '[{"id": [1], "x": [1]}]')$$, $$SELECT btml.nearest_exemplar('{1}', '[{"id": 1, "x": 1}]')$$,
    $$SELECT btml.nearest_exemplar('{1}', '[{"id": 1, "x": ["1"]}]')$$, $$SELECT btml.nearest_exemplar('{1}', '[{"id": 1, "x": []}]')$$,
    $$SELECT btml.nearest_exemplar('{1}', '[{"id": 1, "x": [1]}, {"id": 1, "x": [1, 2]}]')$$,
    $$SELECT btml.nearest_exemplar('{1,2}', '[{"id": 1, "x": [1]}]')$$, $$SELECT btml.nearest_exemplar('{NULL}', '[{"id": 1, "x": [1]}]')$$,
    $$SELECT btml.nearest_exemplar('{0}', '[{"id": 1, "x": [1]}]', 'cosine')$$,
    $$SELECT btml.nearest_exemplar('{0}', '[{"id": 1, "x": [1]}]', 'f(float8[],float8[])')$$,
    $$SELECT btml.nearest_exemplar('{0}', '[]', NULL)$$]) WITH ORDINALITY u(q, n) ORDER BY n;
SET btml.memory_limit = '64kB';
SELECT caught($$SELECT * FROM btml.exemplars('exemplar.point', 100)$$);
SET btml.memory_limit = '1MB';
SELECT caught($$SELECT * FROM btml.exemplars('exemplar.point', 400)$$);
SELECT caught($$SELECT btml.exemplars_agg(repeat('long', 1000) || id, x, 1) FROM exemplar.point$$);
-- The rows that there are count, not those that a sample has room for.
SET btml.memory_limit = '8MB';
SELECT count(*) FROM btml.exemplars('exemplar.point', 900);
RESET btml.memory_limit;
-- A far row neither costs the others their digits nor passes for what rounding makes of their gains.
CREATE VIEW exemplar.far AS SELECT far, i AS id, CASE WHEN i = 7 THEN far ELSE i * 0.6180339887498949 % 1 * 12 END AS x,
    i * 0.7548776662466927 % 1 * 3 AS y FROM generate_series(1, 3000) i, unnest(ARRAY[0, 9999999, 1e12, -1e16]) far;
WITH chosen AS (SELECT far, dissimilarity, e.x
    FROM unnest(ARRAY[0, 9999999, 1e12, -1e16]) far, unnest('{squared_euclidean,euclidean,manhattan}'::text[]) dissimilarity,
    btml.exemplars(format('SELECT id, x, y FROM exemplar.far WHERE far = %s', far), 30, dissimilarity => dissimilarity, validation => 3000,
    passes => 2) e),
    measured AS (SELECT far, dissimilarity, avg(d) AS d
    FROM (SELECT c.far, dissimilarity, f.id, min(abs(f.x - c.x[1]) + abs(f.y - c.x[2])) AS d FROM chosen c JOIN exemplar.far f USING (far)
    WHERE f.id <> 7 GROUP BY c.far, dissimilarity, f.id) s GROUP BY far, dissimilarity)
SELECT far, dissimilarity, m.d < 1.04 * n.d AS close
    FROM measured m JOIN (SELECT dissimilarity, d FROM measured WHERE far = 0) n USING (dissimilarity) ORDER BY far, dissimilarity;
-- Ids of their own type.
SELECT e.slot, pg_typeof(e.id) AS type, e.x = p.x AS same FROM btml.exemplars(NULL::integer, 'SELECT id, x FROM exemplar.point', 3) e
    JOIN exemplar.point p USING (id) ORDER BY slot;

SET client_min_messages = warning;
DROP SCHEMA exemplar CASCADE;
