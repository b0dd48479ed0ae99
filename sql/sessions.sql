-- What a model makes of a value does not depend on the session that trained it, nor on the one that predicts.
CREATE SCHEMA sessions;
SET search_path = sessions, public;
SET client_min_messages = warning;

\set caught `echo "${PG_ABS_SRCDIR:-.}/sql/include/caught.sql"`
\i :caught

-- A point in time that is given as another type is what PostgreSQL's cast makes of it in the session's time zone.
CREATE TABLE moment AS SELECT i AS id, timestamptz '2024-03-09 20:00:00+00' + i * interval '1 hour' AS zoned,
    timestamp '2024-03-09 20:00:00' + i * interval '1 hour' AS local,
    date '2024-03-09' + i AS day, i % 2 AS other, i AS y FROM generate_series(1, 48) i;
CREATE TABLE of_time AS SELECT kind, source, CASE WHEN kind ~ 'trees' THEN btml.tree_fit(sql, 'y', max_leaves => 0, min_leaf_rows => 1)
    ELSE btml.gp_fit(sql, 'y', kernel => 'matern52', mean => 'zero') END AS model
FROM (VALUES ('trees'), ('process')) k(kind), (VALUES ('zoned'), ('local'), ('day')) s(source),
    format('SELECT %I AS x, other, y FROM sessions.moment', source) sql;
CREATE TYPE zoned_row AS (x timestamptz, other int);
CREATE TABLE given AS SELECT id, local, local::date AS day, local AT TIME ZONE 'Asia/Tokyo' AS zoned, other, y FROM moment;
CREATE FUNCTION answers(model btml.model, sql text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE answer text; parts text[] := '{}'; is_process boolean := btml.summary(model)->>'kind' ~ 'gaussian';
    call text; calls text[] := ARRAY['SELECT array_agg(btml.predict($1, s) ORDER BY id)::text FROM (%1$s) s'] || CASE WHEN is_process
    THEN ARRAY['SELECT array_agg(btml.predict_normal($1, s) ORDER BY id)::text FROM (%1$s) s',
    'SELECT btml.gp_update($1, s, 3)::text FROM (%1$s) s WHERE id = 5',
        'SELECT btml.gp_downdate(btml.gp_update($1, s, 3), s, 3)::text FROM (%1$s) s WHERE id = 5',
        'SELECT array_agg(value ORDER BY row_number)::text FROM btml.gp_sample($1, %1$L)']
    ELSE ARRAY['SELECT array_agg(btml.shap($1, s) ORDER BY id)::text FROM (%1$s) s',
    'SELECT array_agg(btml.predict_leaf($1, s) ORDER BY id)::text FROM (%1$s) s',
        'SELECT array_agg(contribution ORDER BY id, feature)::text FROM (%1$s) s, btml.explain($1, s)',
        'SELECT array_agg(contribution ORDER BY id, feature, other)::text FROM (%1$s) s, btml.shap_interactions($1, s) i(feature, '
            'other2, contribution)',
        'SELECT array_agg(i ORDER BY feature)::text FROM btml.shap_importance($1, %1$L) i',
        'SELECT array_agg(i ORDER BY feature)::text FROM btml.permutation_importance($1, %1$L, ''y'') i',
        'SELECT array_agg(p.mean)::text FROM btml.partial_dependence($1, %1$L, ''x'') p',
        'SELECT array_agg(' || btml.to_sql(model) || ' ORDER BY id)::text FROM (%1$s) s'] END;
BEGIN
    FOREACH call IN ARRAY calls LOOP
        EXECUTE format(call, sql) INTO STRICT answer USING model;
        parts := parts || answer;
    END LOOP;
    RETURN md5(parts::text);
END $$;
CREATE FUNCTION reads_as_cast(wanted text, type text) RETURNS TABLE (kind text, given text, as_cast boolean) LANGUAGE sql AS $$
    SELECT m.kind, g, answers(m.model, format('SELECT id, %I AS x, other, y FROM sessions.given', g))
    = answers(m.model, format('SELECT id, %I::%s AS x, other, y FROM sessions.given', g, type))
    FROM of_time m, unnest('{zoned,local,day}'::text[]) g WHERE m.source = wanted ORDER BY 1, 2 $$;
SET timezone = 'America/New_York';
SELECT wanted, r.* FROM (VALUES ('zoned', 'timestamptz'), ('local', 'timestamp'), ('day', 'date')) w(wanted, type),
    reads_as_cast(wanted, type) r ORDER BY 1, 2, 3;
SET timezone = 'Asia/Kolkata';
SELECT wanted, bool_and(as_cast) AS as_cast
    FROM (VALUES ('zoned', 'timestamptz'), ('local', 'timestamp'), ('day', 'date')) w(wanted, type), reads_as_cast(wanted, type) r
    GROUP BY 1 ORDER BY 1;
-- The hour that a change of the clocks leaves out, and the ends of time.
SET timezone = 'America/New_York';
SELECT x, btml.predict(model, r) AS predicted, btml.predict(model, ROW(x::timestamptz, 0)::zoned_row) AS of_cast
FROM of_time, LATERAL (SELECT x, 0 AS other FROM (VALUES (timestamp '2024-03-10 02:30'), ('-infinity'), ('infinity')) v(x)) r
    WHERE kind = 'trees' AND source = 'zoned';
RESET timezone;

-- A category is the same value in every session: its text is the one that a dump has, and equal values are one category.
CREATE TABLE kinds AS SELECT i AS id, date '2024-01-30' + i % 3 AS a_date,
    timestamp '2024-01-30 12:00:00.5' + i % 3 * interval '1 day' AS a_timestamp,
    timestamptz '2024-01-30 12:00+00' + i % 3 * interval '9 hours' AS a_timestamptz,
    (ARRAY['1 mon -1 hours', '-1 days -02:03:00', '0'])[1 + i % 3]::interval AS an_interval,
    decode((ARRAY['00ff', '61', '5c27'])[1 + i % 3], 'hex') AS a_bytea, (i % 3)
    / 3.0::float8 AS a_double, ((i % 3) / 3.0)::float4 AS a_real,
    (i % 3)::numeric / 4 AS a_numeric, ('10.0.0.' || i % 3)::inet AS an_inet, ('10.0.' || i % 3 || '.0/24')::cidr AS a_cidr,
    time '12:00' + i % 3 * interval '1 hour' AS a_time, md5((i % 3)::text)::uuid AS a_uuid, i % 3 * 10 AS an_integer,
    int4range(i % 3, 9) AS a_range, tstzrange(timestamptz '2024-01-30 12:00+00' + i % 3 * interval '9 hours', NULL) AS a_tstzrange,
    ARRAY[date '2024-01-30' + i % 3] AS dates, ('{"a": ' || i % 3 || '}')::json AS a_json, i % 3 AS y FROM generate_series(1, 30) i;
-- The same values, written and stored in other ways.
CREATE TABLE same_kinds AS SELECT id, a_date, a_timestamp,
    a_timestamptz, (CASE y WHEN 0 THEN '29 days 23:00' WHEN 1 THEN '-26:03:00' ELSE '0' END)::interval AS an_interval, a_bytea,
    CASE y WHEN 0 THEN '-0' ELSE a_double END::float8 AS a_double, CASE y WHEN 0 THEN '-0'
    ELSE a_real END::float4 AS a_real, (a_numeric::text || '000')::numeric AS a_numeric, an_inet, a_cidr, a_time, a_uuid, an_integer,
    a_range, a_tstzrange, dates, a_json, y
FROM (SELECT id, a_date, a_timestamp, a_timestamptz, an_interval, a_bytea, a_double, a_real, round(a_numeric, 2) AS a_numeric, an_inet,
    a_cidr, a_time, a_uuid, an_integer, a_range, a_tstzrange, dates, a_json, y FROM kinds) k;
CREATE TABLE setting AS SELECT *
    FROM (VALUES (1, 'ISO, MDY', 'UTC', 'postgres', 'hex', '1'), (2, 'German', 'America/New_York', 'sql_standard', 'escape', '0'), (3,
    'SQL, DMY', 'Asia/Kolkata', 'iso_8601', 'escape', '-8'),
    (4, 'Postgres, DMY', 'Pacific/Chatham', 'postgres_verbose', 'hex', '3')) v(n, datestyle, timezone, intervalstyle, bytea_output,
    extra_float_digits);
CREATE FUNCTION take(n int) RETURNS void LANGUAGE sql AS $$
    SELECT set_config('datestyle', datestyle, false), set_config('timezone', timezone, false),
    set_config('intervalstyle', intervalstyle, false), set_config('bytea_output', bytea_output, false),
    set_config('extra_float_digits', extra_float_digits, false)
    FROM setting s WHERE s.n = take.n $$;
CREATE TABLE of_kind (name text, trained int, model btml.model);
CREATE FUNCTION train(trained int) RETURNS void LANGUAGE sql AS $$
    SELECT take(trained);
    INSERT INTO of_kind SELECT attname, trained,
    btml.tree_fit(format('SELECT %I AS x, y FROM sessions.kinds', attname), 'y', categorical => '{x}', min_leaf_rows => 1)
    FROM pg_attribute WHERE attrelid = 'sessions.kinds'::regclass AND attnum > 1 AND attname <> 'y' $$;
CREATE FUNCTION misses(predicted int) RETURNS TABLE (in_session int, name text, source text, trained int, wanted float8, record float8,
    expression float8, points float8) LANGUAGE plpgsql AS $$
DECLARE o record;
BEGIN
    PERFORM take(predicted);
    FOR o IN SELECT k.*, t AS source FROM of_kind k, unnest('{kinds,same_kinds}'::text[]) t LOOP
        RETURN QUERY EXECUTE format('SELECT $1, $2, $3, $4, y::float8, a, b, c
            FROM (SELECT y, btml.predict($5, x.*) AS a, (%s)::float8 AS b,
            (SELECT mean FROM btml.partial_dependence($5, ''SELECT %I AS x FROM sessions.%I WHERE id = '' || id, ''x'')) AS c
            FROM (SELECT %I AS x, id, y FROM sessions.%I WHERE id <= 3) x) m
            WHERE (round(a::numeric, 9), round(b::numeric, 9), round(c::numeric, 9)) IS DISTINCT
            FROM (y, y, y)', btml.to_sql(o.model), o.name, o.source, o.name, o.source)
            USING predicted, o.name, o.source, o.trained, o.model;
    END LOOP;
END $$;
SELECT count(*) AS sessions FROM setting, LATERAL (SELECT train(n)) t;
SELECT (SELECT count(*) FROM of_kind) AS models, count(*) AS missed FROM setting, misses(n);
SELECT DISTINCT ON (k.name) k.name,
    btml.summary(k.model)->'features'->0->'categories' AS categories, (SELECT count(DISTINCT o.model::bytea) FROM of_kind o
    WHERE o.name = k.name) AS models FROM of_kind k ORDER BY k.name;
SELECT take(1);
-- A value of a table is what a row has, and what points are: the same category with equal values.
SELECT count(*) AS categories, bool_and(n = 10) AS all_rows
    FROM (SELECT value, count(*) AS n
    FROM same_kinds, LATERAL (SELECT a_numeric AS x) r,
    LATERAL btml.explain((SELECT model FROM of_kind WHERE name = 'a_numeric' AND trained = 1), r)
    WHERE feature = 'x' GROUP BY value) e;

-- What has no such text is refused wherever it would be a category.
DO $$
BEGIN
    CREATE COLLATION case_blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
EXCEPTION WHEN OTHERS THEN
    RAISE EXCEPTION 'this test needs a server with ICU';
END $$;
CREATE TYPE mark AS (a int);
CREATE TABLE refused AS SELECT i AS id, ('{"a": ' || i % 2 || '}')::jsonb AS a_jsonb, 'pg_class'::regclass AS a_class, i::money AS a_money,
    ARRAY[1.5::numeric] AS numerics, ARRAY['pg_class'::regclass] AS classes, ROW(i)::mark AS a_row, 'a'::tsvector AS a_vector,
    numrange(1, 2) AS a_numrange, (ARRAY['a', 'A'])[1 + i % 2] COLLATE case_blind AS blind,
    ARRAY[(ARRAY['a', 'A'])[1 + i % 2] COLLATE case_blind] AS blinds, i AS y FROM generate_series(1, 40) i;
SELECT name || E'\n' || caught(format('SELECT btml.tree_fit(''SELECT %I, y FROM sessions.refused'', ''y'', categorical => ''{%I}'')', name,
    name))
FROM unnest('{a_jsonb,a_class,a_money,numerics,classes,a_row,a_vector,a_numrange,blind,blinds}'::name[]) name;
SELECT call || E'\n' || caught('SELECT * FROM btml.' || call)
    FROM unnest(ARRAY['tree_fit(''SELECT a_jsonb, y FROM sessions.refused'', ''y'')',
    'tree_fit(''SELECT a_money, y FROM sessions.refused'', ''y'')', 'boost_fit(''SELECT id, blind FROM sessions.refused'', ''blind'')',
    'gp_fit(''SELECT blind, y FROM sessions.refused'', ''y'')',
    'boost_fit(''SELECT id, y, blind FROM sessions.refused'', ''y'', objective => ''rank'', query => ''blind'')',
    'cross_validate(''SELECT id, y, a_jsonb FROM sessions.refused'', ''y'', fold => ''a_jsonb'')',
    'partial_dependence((SELECT model FROM sessions.of_kind WHERE name = ''an_integer'' LIMIT 1), ''SELECT id AS x, blind FROM '
        'sessions.refused'', ''x'', by => ''blind'')']) call;
-- A text that is given to a model of texts is what its bytes are.
SELECT btml.predict(model, r) AS predicted
    FROM btml.tree_fit('SELECT blind COLLATE "C" AS blind, y % 2 AS y FROM sessions.refused', 'y', min_leaf_rows => 1) model, (SELECT blind
    FROM refused ORDER BY id LIMIT 2) r ORDER BY 1;
-- The column id is what the session writes.
SELECT take(2);
SELECT id FROM btml.gp_sample((SELECT model FROM of_time WHERE kind = 'process' AND source = 'zoned'),
    'SELECT timestamptz ''2024-03-10 12:00+00'' AS id, timestamptz ''2024-03-10 12:00+00'' AS x, 0 AS other');
SELECT take(1);

-- Categories of numbers are in the order of their values, so that codes are those of arrays from eleven on.
CREATE TABLE coded AS SELECT i % 21 AS code, (i % 21 * 37 % 23)::float8 AS y FROM generate_series(1, 2100) i;
CREATE FUNCTION code_misses(model btml.model) RETURNS bigint LANGUAGE sql AS $$ SELECT count(*) FROM coded c
    WHERE btml.predict(model, ARRAY[c.code]) IS DISTINCT
    FROM btml.predict(model, c.*) OR round(btml.predict(model, c.*)::numeric, 9) <> c.y $$;
SELECT type, btml.summary(model)->'features'->0->'categories' AS categories, code_misses(model) AS misses
FROM unnest('{int2,int4,int8}'::text[]) type,
    btml.tree_fit(format('SELECT code::%s, y FROM sessions.coded', type), 'y', categorical => '{code}', min_leaf_rows => 1,
    max_leaves => 0) model;
SELECT type, btml.summary(model)->'features'->0->'categories' AS categories
FROM unnest('{numeric,float4,float8}'::text[]) type,
    btml.tree_fit(format('SELECT (code - 10.5)::%s * 1000 AS code, y FROM sessions.coded WHERE code %% 4 = 0', type), 'y',
    categorical => '{code}') model;
-- Training goes on from a model with other codes.
SELECT btml.summary(model)->'features'->0->'categories' AS categories,
    count(*) FILTER (WHERE btml.predict(model, ARRAY[code - 5]) IS DISTINCT FROM btml.predict(model, c.*)) AS misses
FROM coded c, btml.boost_fit('SELECT * FROM sessions.coded WHERE code > 8', 'y', trees => 2, categorical => '{code}',
    min_category_rows => 0, start => btml.boost_fit('SELECT * FROM sessions.coded WHERE code BETWEEN 5 AND 11', 'y', trees => 1,
    categorical => '{code}', min_category_rows => 0)) model
WHERE code > 4 GROUP BY 1;
DROP SCHEMA sessions CASCADE;
