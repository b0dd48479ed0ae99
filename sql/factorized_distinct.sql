-- GROUP BY without aggregates, and DISTINCT, over joins.
SET client_min_messages = warning;
CREATE SCHEMA distinct_rows;
SET search_path = distinct_rows;
SELECT btml.version() IS NOT NULL AS loaded;
CREATE TABLE a (id int PRIMARY KEY, k int, x int, t text, d date, n numeric, f float8, j jsonb);
CREATE TABLE b (k int, m int, t varchar(9), s timestamp, n numeric);
CREATE TABLE c (m int, w int, t text);
INSERT INTO a SELECT i, nullif(i % 10, 7), i % 23, 't' || i % 4, date '2024-01-01' + i % 40, i % 3 + 0.5, i % 3,
    to_jsonb(i % 2) FROM generate_series(1, 400) i;
INSERT INTO b SELECT nullif(i % 12, 5), i % 7, 't' || i % 6, timestamp '2024-01-01' + i * interval '7 h', i % 4
    FROM generate_series(1, 300) i;
INSERT INTO c SELECT i % 9, i % 5, nullif('t' || i % 3, 't2') FROM generate_series(1, 200) i;
ANALYZE a, b, c;

-- The query's rows, in their order, with the setting off, and forced: 'same' where they were had without the join.
CREATE FUNCTION compare(query text, settings text DEFAULT '{}') RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; plan text := ''; expected text; got text;
BEGIN
    PERFORM set_config(setting, 'off', true) FROM unnest(settings::text[]) setting;
    PERFORM set_config('btml.factorize_aggregates', 'off', true);
    EXECUTE format('SELECT string_agg(r::text, E''\n'' %s) FROM (%s) r', CASE WHEN query !~ 'ORDER BY' THEN 'ORDER BY r::text' END, query)
        INTO expected;
    PERFORM set_config('btml.factorize_aggregates', 'exact', true), set_config('btml.force_factorize_aggregates', 'on', true);
    EXECUTE format('SELECT string_agg(r::text, E''\n'' %s) FROM (%s) r', CASE WHEN query !~ 'ORDER BY' THEN 'ORDER BY r::text' END, query)
        INTO got;
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) ' || query LOOP plan := plan || line || E'\n'; END LOOP;
    PERFORM set_config('btml.force_factorize_aggregates', 'off', true);
    PERFORM set_config(setting, 'on', true) FROM unnest(settings::text[]) setting;
    RETURN CASE WHEN got IS DISTINCT FROM expected THEN format(E'different:\n%s\ninstead of\n%s', got, expected)
        ELSE coalesce(cardinality(string_to_array(got, E'\n')), 0) || ' rows, the same' ||
            CASE WHEN plan !~ 'btml Factorized Aggregate' THEN ', but not factorized' ELSE '' END ||
            coalesce(', fell back: ' || substring(plan from 'Fell Back: ([^\n]*)'), '') END;
END $$;
CREATE FUNCTION why(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('btml.factorize_aggregates', 'exact', true), set_config('btml.force_factorize_aggregates', 'on', true);
    RETURN QUERY SELECT regexp_replace(line, '\d{3,}', 'N', 'g') FROM btml.explain_factorized(query) line;
    PERFORM set_config('btml.force_factorize_aggregates', 'off', true), set_config('btml.factorize_aggregates', 'off', true);
END $$;

-- Groups without aggregates: of one table, of several, of expressions, with conditions on them, hashed and sorted.
SELECT compare('SELECT a.k FROM a JOIN b USING (k) GROUP BY a.k');
SELECT compare('SELECT a.t, c.t, b.m FROM a JOIN b USING (k) JOIN c USING (m) GROUP BY 1, 2, 3');
SELECT compare('SELECT date_trunc(''month'', b.s), upper(a.t) || c.w FROM a JOIN b USING (k) JOIN c USING (m)
    GROUP BY date_trunc(''month'', b.s), upper(a.t), c.w ORDER BY 2, 1 LIMIT 5');
SELECT compare('SELECT a.x, c.w FROM a JOIN b USING (k) JOIN c USING (m) GROUP BY 1, 2 HAVING a.x > c.w AND c.w > 1');
SELECT compare('SELECT a.x % 3 FROM a JOIN b USING (k) GROUP BY a.x % 3 HAVING a.x % 3 > (SELECT min(w) FROM c)');
SELECT compare('SELECT a.id, a.t FROM a JOIN b USING (k) GROUP BY a.id HAVING a.x > 20');
SELECT compare('SELECT a.t FROM a JOIN b USING (k) WHERE a.x < 0 GROUP BY 1');
SELECT compare('SELECT a.t, c.w FROM a JOIN b USING (k) LEFT JOIN c ON c.m = b.m AND c.w > 3 GROUP BY 1, 2', '{enable_hashagg}');
SELECT compare('SELECT a.n FROM a JOIN b USING (k) GROUP BY 1', '{enable_hashagg}');
SELECT compare('SELECT ''all'', a.t, 7 FROM a JOIN b USING (k) GROUP BY 1, 2, 3');
SELECT compare('SELECT ''all'', a.t, count(*) FROM a JOIN b USING (k) GROUP BY 1, 2');
SELECT compare('SELECT count(*) FROM (SELECT a.t, c.w, count(*) FROM a JOIN b USING (k) JOIN c USING (m) GROUP BY 1, 2) g');
SELECT compare('SELECT rank() OVER (ORDER BY a.x DESC), a.x FROM a JOIN b USING (k) GROUP BY a.x ORDER BY 1 LIMIT 3');

-- DISTINCT, hashed and sorted.
SELECT compare('SELECT DISTINCT a.t FROM a JOIN b USING (k)');
SELECT compare('SELECT DISTINCT a.t FROM a JOIN b USING (k)', '{enable_hashagg}');
SELECT compare('SELECT DISTINCT b.m, a.t, a.d FROM a JOIN b USING (k) JOIN c USING (m) ORDER BY a.d DESC, 2, 1');
SELECT compare('SELECT DISTINCT b.m, a.t, a.d FROM a JOIN b USING (k) JOIN c USING (m) ORDER BY a.d DESC, 2, 1', '{enable_hashagg}');
SELECT compare('SELECT DISTINCT c.w, extract(year FROM b.s) AS y, a.t IS NULL FROM a JOIN b USING (k) JOIN c USING (m)',
    '{enable_hashagg}');
SELECT compare('SELECT DISTINCT 1, a.x, ''x'' FROM a JOIN b USING (k) ORDER BY 2 DESC OFFSET 3 LIMIT 4');
SELECT compare('SELECT DISTINCT a.k, b.m FROM a JOIN b USING (k) WHERE a.k = 3');
SELECT compare('SELECT DISTINCT a.k, b.k AS bk FROM a JOIN b USING (k)');
SELECT compare('SELECT DISTINCT a.k, c.w FROM a LEFT JOIN b ON a.k = b.k LEFT JOIN c ON c.m = b.m AND c.w = 4');
SELECT compare('SELECT DISTINCT a.t FROM a WHERE EXISTS (SELECT FROM b WHERE b.k = a.k) AND NOT EXISTS (SELECT FROM c WHERE c.m = a.x)');
SELECT compare('SELECT DISTINCT a.x FROM a JOIN b USING (k) JOIN c USING (m) WHERE a.x < b.m');
SELECT compare('SELECT count(*) FROM (SELECT DISTINCT a.x, c.w FROM a JOIN b USING (k) JOIN c USING (m)) d');
SELECT compare('SELECT c.w, (SELECT string_agg(v::text, '','' ORDER BY v) FROM (SELECT DISTINCT a.x AS v FROM a JOIN b USING (k)
    WHERE b.m = c.m) d) FROM c GROUP BY c.w, c.m');
SELECT compare('SELECT DISTINCT a.x FROM a JOIN b USING (k) UNION SELECT DISTINCT c.w FROM c JOIN b USING (m)');
SELECT compare('SELECT DISTINCT count(*), a.t FROM a JOIN b USING (k) GROUP BY a.t, a.x');
SELECT compare('SELECT DISTINCT a.x FROM a JOIN b ON false');
SELECT compare('SELECT DISTINCT 1 FROM a JOIN b USING (k) WHERE a.x < 0');
-- Equal values that look different, and errors in rows that join to nothing.
SELECT compare('SELECT DISTINCT a.n * 2 FROM a JOIN b USING (k) ORDER BY 1');
INSERT INTO b VALUES (3, 3, 't', NULL, 1.00);
SELECT compare('SELECT DISTINCT round(b.n) FROM a JOIN b USING (k)');
SELECT compare('SELECT count(*) FROM (SELECT DISTINCT b.n FROM a JOIN b USING (k)) d');
INSERT INTO a (id, k, x) VALUES (0, -1, -77);
SELECT compare('SELECT DISTINCT 100 / (a.x + 77) FROM a JOIN b USING (k)');
SELECT compare('SELECT 100 / (a.x + 77) FROM a JOIN b USING (k) GROUP BY 1', '{enable_hashagg}');

-- What is left alone, and why.
SELECT why('SELECT DISTINCT a.t FROM a JOIN b USING (k)');
SELECT why('SELECT a.t FROM a JOIN b USING (k) GROUP BY a.t');
SELECT why('SELECT DISTINCT ON (a.t) a.t, b.m FROM a JOIN b USING (k) ORDER BY a.t, b.m');
SELECT why('SELECT DISTINCT a.t, row_number() OVER (ORDER BY b.m) FROM a JOIN b USING (k)');
SELECT why('SELECT DISTINCT generate_series(1, a.x) FROM a JOIN b USING (k)');
CREATE COLLATION blunt (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
SELECT why('SELECT DISTINCT a.t COLLATE blunt FROM a JOIN b USING (k)');
DROP COLLATION blunt;
SELECT why('SELECT a.t p, a.t q, count(*) FROM a JOIN b USING (k) GROUP BY ROLLUP (p, q)');
SELECT why('SELECT DISTINCT a.x + b.m FROM a JOIN b USING (k)');
SELECT why('SELECT DISTINCT a.x + b.m FROM a JOIN b USING (k) JOIN c USING (m)');
SELECT why('SELECT DISTINCT a.x + random() FROM a JOIN b USING (k)');
SELECT why('SELECT DISTINCT a.x, (SELECT max(w) FROM c) FROM a JOIN b USING (k)');
SELECT why('SELECT DISTINCT 1 FROM a JOIN b USING (k)');
SELECT why('SELECT a.t FROM a JOIN b USING (k)');
SELECT why('SELECT DISTINCT t FROM a');
SELECT why('SELECT count(*) FROM (SELECT count(*) FROM a JOIN b USING (k)) g');
SELECT why('SELECT DISTINCT n FROM (SELECT a.t, count(*) AS n FROM a JOIN b USING (k) GROUP BY a.t) g');
SELECT why('SELECT count(*) FROM (SELECT DISTINCT a.x, c.w FROM a JOIN b USING (k) JOIN c USING (m)) d JOIN c USING (w)');

-- The plans, and what they fall back to.
SET btml.factorize_aggregates = exact;
SET btml.force_factorize_aggregates = on;
EXPLAIN (COSTS off) SELECT DISTINCT a.t, b.m FROM a JOIN b USING (k) ORDER BY b.m LIMIT 3;
CREATE FUNCTION ran(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) ' || query LOOP
        IF line ~ 'Custom|Fell Back|Unique|Group' THEN RETURN NEXT regexp_replace(line, '(rows=\d+)\.\d+', '\1'); END IF;
    END LOOP;
END $$;
SELECT ran('SELECT DISTINCT b.n FROM a JOIN b USING (k) WHERE b.m = 3');
SET enable_hashagg = off;
SELECT ran('SELECT DISTINCT b.n FROM a JOIN b USING (k) WHERE b.m = 3');
SELECT ran('SELECT b.n FROM a JOIN b USING (k) WHERE b.m = 3 GROUP BY b.n');
RESET enable_hashagg;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT DISTINCT b.m, a.t FROM a JOIN b USING (k) ORDER BY 1, 2;
FETCH 2 FROM c;
FETCH LAST FROM c;
FETCH BACKWARD 1 FROM c;
COMMIT;
PREPARE p (int) AS SELECT DISTINCT a.t FROM a JOIN b USING (k) WHERE b.m < $1 ORDER BY 1;
SET plan_cache_mode = force_generic_plan;
EXECUTE p (1);
EXECUTE p (0);
RESET plan_cache_mode;
RESET btml.force_factorize_aggregates;
-- A few rows may be had early.
CREATE TABLE large (k int, x int);
INSERT INTO large SELECT i % 100, i FROM generate_series(1, 20000) i;
CREATE INDEX ON large (x);
CREATE INDEX ON large (k);
ANALYZE large;
SET max_parallel_workers_per_gather = 0;
EXPLAIN (COSTS off) SELECT DISTINCT p.k, q.k FROM large p JOIN large q USING (k);
EXPLAIN (COSTS off) SELECT DISTINCT p.x FROM large p JOIN large q USING (k) ORDER BY p.x LIMIT 3;
EXPLAIN (COSTS off) SELECT DISTINCT p.x FROM large p JOIN large q USING (k) ORDER BY p.x;
EXPLAIN (COSTS off) SELECT p.x FROM large p JOIN large q USING (k) GROUP BY p.x ORDER BY p.x LIMIT 3;
-- The ordinary plan is begun first, and given up where its join has too many rows.
CREATE TABLE hub AS SELECT i AS id, CASE WHEN i % 50 = 0 THEN i / 50 % 4 ELSE 100 + i END AS k, i % 10 AS w
    FROM generate_series(1, 20000) i;
CREATE TABLE spoke AS SELECT i % 7 AS v, CASE WHEN i % 20 = 0 THEN i / 20 % 5 ELSE 100 + i * 3 % 20000 END AS k
    FROM generate_series(1, 20000) i;
CREATE INDEX ON hub (id); CREATE INDEX ON spoke (k);
ANALYZE hub, spoke;
\set joined 'FROM hub a JOIN spoke b USING (k) JOIN spoke c USING (k) WHERE a.w = 0 AND a.k * 2 < 7 AND a.id '
\set none '< 600 AND a.k + 0 < 0'
CREATE FUNCTION switched(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; plan text := '';
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) ' || query LOOP plan := plan || line || E'\n'; END LOOP;
    RETURN coalesce(substring(plan from 'Switched: (\w+)'), 'not begun as the ordinary plan') ||
        coalesce(', above ' || substring(plan from 'Unique|Group|HashAggregate'), '');
END $$;
SELECT switched('SELECT DISTINCT b.v, a.k ' || :'joined' || '< 300'), switched('SELECT DISTINCT b.v, a.k ' || :'joined' || :'none');
SET enable_hashagg = off;
SELECT switched('SELECT DISTINCT b.v, a.k ' || :'joined' || '< 300'), switched('SELECT DISTINCT b.v, a.k ' || :'joined' || :'none');
SELECT switched('SELECT b.v, a.k ' || :'joined' || '< 300 GROUP BY 1, 2'), switched('SELECT b.v ' || :'joined' || :'none' || ' GROUP BY 1');
SELECT count(*), sum(v), sum(k) FROM (SELECT DISTINCT b.v, a.k :joined < 300) d;
SELECT count(*), sum(v), sum(k) FROM (SELECT b.v, a.k :joined < 300 GROUP BY 1, 2) d;
SET btml.factorize_aggregates = off;
SELECT count(*), sum(v), sum(k) FROM (SELECT DISTINCT b.v, a.k :joined < 300) d;
SET btml.factorize_aggregates = exact;
RESET enable_hashagg;

-- Who may not compare the values does not get them.
CREATE ROLE regress_distinct;
GRANT USAGE ON SCHEMA distinct_rows TO regress_distinct;
GRANT SELECT ON a, b TO regress_distinct;
SET btml.force_factorize_aggregates = on;
SET enable_hashagg = off;
BEGIN;
REVOKE EXECUTE ON FUNCTION pg_catalog.texteq(text, text) FROM PUBLIC;
SET LOCAL ROLE regress_distinct;
SELECT DISTINCT a.x FROM a JOIN b USING (k) ORDER BY 1 LIMIT 2;
SAVEPOINT s;
SELECT DISTINCT a.t FROM a JOIN b USING (k);
ROLLBACK TO s;
SELECT a.t FROM a JOIN b USING (k) GROUP BY 1;
ROLLBACK;
DROP SCHEMA distinct_rows CASCADE;
DROP ROLE regress_distinct;
