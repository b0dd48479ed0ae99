-- A source is read with the rights of whoever calls: grants on tables and columns, view owners, row-level security.
SET client_min_messages = warning;
CREATE SCHEMA permissions;
CREATE ROLE regress_btml_owner;
CREATE ROLE regress_btml_reader;
CREATE ROLE regress_btml_nobody;
GRANT USAGE, CREATE ON SCHEMA permissions TO regress_btml_owner;
GRANT USAGE ON SCHEMA permissions TO regress_btml_reader, regress_btml_nobody;
GRANT USAGE ON SCHEMA btml TO regress_btml_owner, regress_btml_reader, regress_btml_nobody;
SET search_path = permissions;
SET ROLE regress_btml_owner;
CREATE TABLE open (k int, v float8);
CREATE TABLE hidden (k int, secret float8);
CREATE TABLE columns (k int, v float8, secret float8);
INSERT INTO open VALUES (1, 2), (2, 3), (3, 5);
INSERT INTO hidden VALUES (1, 10), (2, 100), (4, 1000);
INSERT INTO columns VALUES (1, 7, 70), (2, 11, 110);
GRANT SELECT ON open TO regress_btml_reader, regress_btml_nobody;
GRANT SELECT (k, v) ON columns TO regress_btml_reader;
CREATE VIEW window_on AS SELECT o.k, o.v, h.secret / 10 AS hint FROM open o JOIN hidden h USING (k);
CREATE VIEW left_window AS SELECT o.k, o.v, coalesce(h.secret, 1) AS hint FROM open o LEFT JOIN hidden h USING (k);
CREATE VIEW where_window AS SELECT o.k, o.v FROM open o WHERE EXISTS (SELECT FROM hidden h WHERE h.k = o.k);
GRANT SELECT ON window_on, left_window, where_window TO regress_btml_reader;
RESET ROLE;

-- Which sources a role may read; messages as PostgreSQL words them.
CREATE FUNCTION read_by(role name, VARIADIC sources text[]) RETURNS TABLE (source text, result text) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('SET LOCAL ROLE %I', role);
    FOREACH source IN ARRAY sources LOOP
        BEGIN
            result := btml.sumprod(source);
        EXCEPTION WHEN insufficient_privilege THEN
            result := SQLERRM;
        END;
        RETURN NEXT;
    END LOOP;
    RESET ROLE;
END $$;

SELECT * FROM read_by('regress_btml_reader', 'open', 'hidden', 'columns', 'SELECT v FROM columns', 'SELECT v, secret FROM columns',
    'SELECT v FROM columns WHERE secret > 0',
    'SELECT FROM columns', 'SELECT FROM hidden', 'SELECT v FROM open JOIN hidden USING (k)',
    'SELECT o.v FROM open o JOIN columns c ON o.k = c.secret',
    'SELECT o.v, c.v AS cv FROM open o JOIN columns c USING (k)',
    'SELECT o.v FROM open o LEFT JOIN columns c ON o.k = c.k AND c.secret > 0', 'SELECT length(c::text) AS l FROM columns c',
    'SELECT v FROM open WHERE k IN (SELECT k FROM hidden)', 'SELECT v, (SELECT max(secret) FROM hidden) AS m FROM open',
    'SELECT v FROM (SELECT v, k FROM open) o, LATERAL (SELECT secret FROM hidden h WHERE h.k = o.k LIMIT 1) s',
    'SELECT v FROM open UNION ALL SELECT secret FROM hidden', 'WITH h AS (SELECT k FROM hidden) SELECT v FROM open JOIN h USING (k)',
    'SELECT sum(secret) AS s FROM hidden', 'SELECT v FROM open LEFT JOIN hidden ON false');
SELECT * FROM read_by('regress_btml_reader', 'window_on', 'left_window', 'where_window', 'SELECT hint FROM window_on',
    'SELECT w.hint, h.secret FROM window_on w JOIN hidden h USING (k)',
    'SELECT w.hint, o.v FROM window_on w JOIN open o USING (k)',
    'SELECT w.hint, x.hint AS xhint FROM window_on w LEFT JOIN left_window x USING (k)');
SELECT * FROM read_by('regress_btml_nobody', 'open', 'window_on', 'left_window', 'SELECT v FROM open JOIN window_on USING (k, v)',
    'SELECT o.v FROM open o LEFT JOIN window_on w ON o.k = w.k', 'columns');
-- A view's owner has to have the rights that the view uses.
REVOKE SELECT ON hidden FROM regress_btml_owner;
SELECT * FROM read_by('regress_btml_reader', 'window_on', 'where_window', 'SELECT v FROM left_window');
SELECT * FROM read_by('regress_btml_owner', 'window_on', 'SELECT secret FROM hidden');
GRANT SELECT ON hidden TO regress_btml_owner;

-- Every function asks.
SET ROLE regress_btml_reader;
SELECT * FROM btml.sumprod_by('hidden', '{k}') AS t (k int, value float8);
SELECT * FROM btml.sample_join('hidden', 1) AS t (k int, secret float8);
SELECT * FROM btml.explain_join('hidden');
SELECT * FROM btml.explain_join('SELECT v FROM open LEFT JOIN hidden USING (k)');
SELECT btml.boost_fit('hidden', 'secret');
SELECT * FROM btml.explain_join('window_on');
RESET ROLE;

-- Row-level security filters what is read, wherever the table stands in the source.
SET ROLE regress_btml_owner;
CREATE TABLE rows_of (k int, who name, v float8);
INSERT INTO rows_of VALUES (1, 'regress_btml_reader', 2), (2, 'regress_btml_reader', 3), (1, 'regress_btml_nobody', 50), (3,
    'regress_btml_nobody', 70), (2, 'regress_btml_owner', 900);
ALTER TABLE rows_of ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON rows_of USING (who = current_user);
CREATE TABLE memberships (k int, who name);
INSERT INTO memberships VALUES (1, 'regress_btml_reader'), (3, 'regress_btml_nobody');
CREATE TABLE by_member (k int, v float8);
INSERT INTO by_member VALUES (1, 5), (2, 70), (3, 11);
ALTER TABLE by_member ENABLE ROW LEVEL SECURITY;
CREATE POLICY members ON by_member USING (EXISTS (SELECT FROM memberships m WHERE m.k = by_member.k AND m.who = current_user));
GRANT SELECT ON rows_of, memberships, by_member TO regress_btml_reader, regress_btml_nobody;
CREATE VIEW all_rows AS SELECT k, v FROM rows_of;
CREATE VIEW fenced WITH (security_barrier) AS SELECT o.k, o.v FROM open o JOIN hidden h USING (k) WHERE h.secret < 50;
GRANT SELECT ON all_rows, fenced TO regress_btml_reader;
RESET ROLE;
SELECT role, r.* FROM unnest(ARRAY['regress_btml_reader', 'regress_btml_nobody', 'regress_btml_owner']) AS role, read_by(role,
    'SELECT v FROM rows_of', 'SELECT FROM rows_of', 'SELECT r.v, o.v AS ov FROM rows_of r JOIN open o USING (k)',
    'SELECT o.v, coalesce(r.v, 1) AS rv FROM open o LEFT JOIN rows_of r USING (k)',
    'SELECT a.v, b.v AS bv FROM rows_of a JOIN rows_of b USING (k)', 'SELECT v FROM by_member',
    'SELECT r.v, m.v AS mv FROM rows_of r JOIN by_member m USING (k)',
    'SELECT o.v, coalesce(m.v, 1) AS mv FROM open o LEFT JOIN by_member m ON o.k = m.k AND m.v > 1',
    'SELECT v FROM open WHERE k IN (SELECT k FROM rows_of)', 'SELECT v FROM (SELECT k, v FROM by_member) s',
    'SELECT a.v FROM open a LEFT JOIN by_member m ON a.k = m.k WHERE m.k IS NULL', 'SELECT sum(v) AS s FROM rows_of') AS r;
-- A view shows what its owner may see.
SELECT * FROM read_by('regress_btml_reader', 'SELECT v FROM all_rows', 'SELECT a.v, r.v AS rv FROM all_rows a JOIN rows_of r USING (k)',
    'SELECT v FROM fenced');
SET ROLE regress_btml_reader;
SET row_security = off;
SELECT btml.sumprod('SELECT v FROM rows_of');
RESET row_security;
SELECT * FROM btml.explain_join('SELECT o.v FROM open o JOIN rows_of r USING (k)');
SELECT * FROM btml.sample_join('SELECT r.who, r.v, o.v FROM rows_of r JOIN open o USING (k)', 100) AS t (who name, v float8, open float8)
    ORDER BY v;
SELECT * FROM btml.sample_join('SELECT o.k, r.who, f.v FROM open o LEFT JOIN rows_of r USING (k) LEFT JOIN fenced f USING (k)',
    100) AS t (k int, who name, v float8) ORDER BY k;

-- A function that tells what it is given sees only rows that the caller may see.
CREATE FUNCTION pg_temp.tell(v float8) RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS $$ BEGIN RAISE WARNING 'told of %',
    v; RETURN true; END $$;
CREATE FUNCTION pg_temp.tell_stable(v float8) RETURNS boolean LANGUAGE plpgsql STABLE COST 0.0001 AS $$ BEGIN RAISE WARNING 'told of %',
    v; RETURN true; END $$;
SELECT btml.sumprod('SELECT v FROM rows_of WHERE pg_temp.tell_stable(v)');
SELECT btml.sumprod('SELECT v FROM rows_of WHERE pg_temp.tell(v)');
SELECT btml.sumprod('SELECT r.v, pg_temp.tell_stable(r.v) AS t FROM open o JOIN rows_of r USING (k)');
SELECT btml.sumprod('SELECT r.v FROM open o JOIN rows_of r ON pg_temp.tell_stable(r.v) = (o.k IS NOT NULL)');
SELECT btml.sumprod('SELECT r.v FROM open o LEFT JOIN rows_of r ON o.k = r.k AND pg_temp.tell_stable(r.v)');
SELECT btml.sumprod('SELECT v FROM fenced WHERE pg_temp.tell_stable(v)');
SELECT btml.sumprod('SELECT f.v, pg_temp.tell_stable(f.v) AS t FROM fenced f JOIN open o USING (k)');
RESET ROLE;

-- A cast that nobody wrote down runs only where its function is the caller's own or a superuser's.
SET ROLE regress_btml_owner;
CREATE TYPE disguise AS (numbers real[]);
CREATE FUNCTION tell_who(disguise) RETURNS real[] LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'cast by %',
    current_user; RETURN $1.numbers; END $$;
CREATE CAST (disguise AS real[]) WITH FUNCTION tell_who(disguise);
CREATE TABLE bait (id int, x disguise);
INSERT INTO bait VALUES (1, ROW('{0}')::disguise);
GRANT SELECT ON bait TO regress_btml_reader;
SELECT id, x FROM btml.exemplars('bait', 1);
RESET ROLE;
SELECT id, x FROM btml.exemplars('bait', 1);
SELECT * FROM btml.kernel_sum('SELECT 0 AS x', 'SELECT id, x[1] AS x FROM (SELECT id, x::real[] FROM permissions.bait) b', 1);
SET ROLE regress_btml_reader;
SELECT * FROM btml.kernel_sum('SELECT ARRAY[0] AS x', 'bait', 1);
SELECT * FROM btml.kernel_sum('SELECT ARRAY[0] AS x', 'SELECT id, x::real[] FROM bait', 1);
RESET ROLE;
ALTER FUNCTION tell_who(disguise) OWNER TO CURRENT_USER;
SET ROLE regress_btml_reader;
SELECT * FROM btml.kernel_sum('SELECT ARRAY[0] AS x', 'bait', 1);
RESET ROLE;
REVOKE EXECUTE ON FUNCTION tell_who(disguise) FROM PUBLIC;
SET ROLE regress_btml_reader;
SELECT * FROM btml.kernel_sum('SELECT ARRAY[0] AS x', 'bait', 1);
RESET ROLE;

-- Features are made of what the caller may read, and say what is left out.
CREATE SCHEMA private AUTHORIZATION regress_btml_owner;
SET ROLE regress_btml_owner;
CREATE TABLE client (id int PRIMARY KEY, region text, income int);
CREATE TABLE open_call (client int REFERENCES client, at timestamp, minutes int);
CREATE TABLE hidden_call (client int REFERENCES client, at timestamp, minutes int);
CREATE TABLE no_key (client int REFERENCES client, at timestamp, minutes int);
CREATE TABLE no_time (client int REFERENCES client, at timestamp, minutes int);
CREATE TABLE some_columns (client int REFERENCES client, at timestamp, minutes int, secret int);
CREATE TABLE private.call (client int REFERENCES client, at timestamp, minutes int);
CREATE TABLE own_call (client int REFERENCES client, at timestamp, minutes int, who name);
ALTER TABLE own_call ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON own_call USING (who = current_user);
CREATE TABLE ask (client int REFERENCES client, as_of timestamp, y int);
INSERT INTO client SELECT i, CASE i % 2 WHEN 0 THEN 'north' ELSE 'south' END, 100 * i FROM generate_series(1, 4) i;
INSERT INTO open_call VALUES (1, '2024-01-01', 3), (1, '2024-01-02', 4);
INSERT INTO hidden_call SELECT * FROM open_call;
INSERT INTO no_key SELECT * FROM open_call;
INSERT INTO no_time SELECT * FROM open_call;
INSERT INTO private.call SELECT * FROM open_call;
INSERT INTO some_columns SELECT *, 666 FROM open_call;
INSERT INTO own_call SELECT client, at, minutes, 'regress_btml_reader' FROM open_call;
INSERT INTO own_call SELECT client, at, 100 * minutes, 'regress_btml_nobody' FROM open_call;
INSERT INTO ask SELECT 1 + i % 4, timestamp '2023-12-25' + i * interval '1 day', i % 4 FROM generate_series(1, 60) i;
CREATE VIEW call_window AS SELECT client, at, minutes FROM hidden_call;
GRANT SELECT ON open_call, own_call, ask, private.call, call_window TO regress_btml_reader, regress_btml_nobody;
GRANT SELECT (id, region) ON client TO regress_btml_reader;
GRANT SELECT (at, minutes) ON no_key TO regress_btml_reader;
GRANT SELECT (client, minutes) ON no_time TO regress_btml_reader;
GRANT SELECT (client, at, minutes) ON some_columns TO regress_btml_reader;
-- The owner reads more than others.
CREATE TABLE plan AS SELECT btml.relational_features('SELECT client, as_of FROM ask', as_of => 'as_of', windows => '{NULL}') AS p;
GRANT SELECT ON plan TO regress_btml_reader;
SELECT count(*) FROM jsonb_array_elements((SELECT p -> 'relations' FROM plan));
SET ROLE regress_btml_reader;
SET client_min_messages = notice;
CREATE TEMP TABLE may AS SELECT btml.relational_features('SELECT client, as_of FROM ask', as_of => 'as_of', windows => '{NULL}') AS p;
SELECT f ->> 'relation' AS relation, string_agg(DISTINCT f ->> 'column', ', ') AS columns FROM may, jsonb_array_elements(p -> 'features') f
    GROUP BY 1 ORDER BY 1;
SELECT btml.relational_features('ask', as_of => 'as_of', target => 'y') IS NULL;
CREATE FUNCTION pg_temp.read_as_named(relation text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE n int; p jsonb;
BEGIN
    p := btml.relational_features('SELECT client, as_of FROM ask', as_of => 'as_of', windows => '{NULL}', relations => ('{"r": '
        || relation || '}')::btml.json);
    EXECUTE format('SELECT count(f) FROM (%s) f', btml.feature_sql(p, 'SELECT client, as_of FROM ask')) INTO n;
    RETURN n || ' rows';
EXCEPTION WHEN OTHERS THEN
    RETURN SQLERRM;
END $$;
SELECT r, pg_temp.read_as_named(r) FROM unnest(ARRAY[
    '{"table": "hidden_call", "key": {"client": "client"}}', '{"table": "private.call", "key": {"client": "client"}}',
    '{"table": "no_key", "key": {"client": "client"}}', '{"table": "no_time", "key": {"client": "client"}}',
    '{"table": "no_time", "key": {"client": "client"}, "time": "at"}', '{"table": "no_time", "key": {"client": "client"}, "time": null}',
    '{"table": "some_columns", "key": {"client": "client"}, "columns": ["secret"]}',
    '{"table": "some_columns", "key": {"client": "client"}}', '{"table": "call_window", "key": {"client": "client"}}',
    '{"table": "client", "key": {"id": "client"}, "columns": ["income"]}', '{"table": "pg_authid", "key": {"oid": "client"}}']) r;
-- A plan of another's looks tables up with the rights of who writes its SELECT, which reads with the rights of who runs it.
SELECT btml.feature_sql(p, 'SELECT 1 AS client, timestamp ''2024-02-01'' AS as_of') FROM plan;
SELECT btml.feature_sql(jsonb_build_object('as_of', 'as_of',
    'relations', jsonb_path_query_array(p -> 'relations', '$[*] ? (@.schema != "private")'),
    'features', jsonb_path_query_array(p -> 'features', '$[*] ? (@.relation == "hidden_call")')),
    'SELECT 1 AS client, timestamp ''2024-02-01'' AS as_of') AS q FROM plan \gset
SELECT count(f) FROM (:q) AS f;
SELECT btml.feature_sql(p, 'SELECT 1 AS client, timestamp ''2024-02-01'' AS as_of') AS q FROM may \gset
SELECT open_call_minutes_sum, some_columns_minutes_sum, client_region FROM (:q) AS f;
SELECT btml.feature_sql(btml.relational_features('SELECT client, as_of FROM ask', as_of => 'as_of', windows => '{NULL}',
    relations => '{"own": {"table": "own_call", "key": {"client": "client"}}}'),
    'SELECT 1 AS client, timestamp ''2024-02-01'' AS as_of') AS q \gset
SELECT own_count, own_minutes_sum FROM (:q) AS f;
SET ROLE regress_btml_nobody;
SELECT own_count, own_minutes_sum FROM (:q) AS f;
SET ROLE regress_btml_owner;
SELECT own_count, own_minutes_sum FROM (:q) AS f;
RESET ROLE;
-- A view of features reads with the rights of its owner.
SET ROLE regress_btml_owner;
SELECT btml.feature_sql(p, 'SELECT 1 AS client, timestamp ''2024-02-01'' AS as_of') AS q FROM plan \gset
CREATE VIEW of_owner AS :q;
GRANT SELECT ON of_owner TO regress_btml_reader;
SET ROLE regress_btml_reader;
SELECT hidden_call_minutes_sum, client_income, call_minutes_sum FROM of_owner;
RESET ROLE;
REVOKE SELECT ON hidden_call FROM regress_btml_owner;
SET ROLE regress_btml_reader;
SELECT hidden_call_minutes_sum FROM of_owner;
RESET ROLE;
SET client_min_messages = warning;

DROP SCHEMA permissions, private CASCADE;
DROP OWNED BY regress_btml_owner, regress_btml_reader, regress_btml_nobody;
DROP ROLE regress_btml_owner, regress_btml_reader, regress_btml_nobody;
