-- Conditions over two tables that are joined first, which raise an error for rows that a third table leaves out.
SET client_min_messages = warning;
CREATE SCHEMA conditions;
SET search_path = conditions;
SELECT btml.version() IS NOT NULL AS loaded;
CREATE TYPE colour AS ENUM ('red', 'green');
CREATE TABLE item (id int, parts int, k int, t text, tags int[], c colour);
CREATE TABLE pay (id int, amount int, t text);
CREATE TABLE third (k int, w int);
-- What has no parts, or a text that is no number, has no third.
INSERT INTO item SELECT i, CASE i % 100 WHEN 0 THEN 0 ELSE i % 5 + 1 END, nullif(i % 100, 0),
    CASE i % 100 WHEN 0 THEN 'none' ELSE i::text END,
    ARRAY[i % 3, i % 4], (ARRAY['red', 'green'])[i % 2 + 1]::colour FROM generate_series(1, 2000) i;
INSERT INTO pay SELECT i % 2000 + 1, i % 60, (ARRAY['red', 'green', 'blue'])[i % 3 + 1] FROM generate_series(1, 4000) i;
INSERT INTO third SELECT i % 3 + 1, i FROM generate_series(1, 6) i;
CREATE INDEX ON item (k);
CREATE INDEX ON pay (id);
ANALYZE item, pay, third;

-- What becomes of the query: rows or an error with the setting off, and forced.
CREATE FUNCTION outcome(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE rows text;
BEGIN
    EXECUTE format('SELECT string_agg(r::text, '' '' ORDER BY r::text) FROM (%s) r', query) INTO rows;
    RETURN rows;
EXCEPTION WHEN OTHERS THEN
    RETURN SQLERRM;
END $$;
CREATE FUNCTION compare(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE expected text; got text; why text;
BEGIN
    PERFORM set_config('btml.factorize_aggregates', 'off', true);
    expected := outcome(query);
    PERFORM set_config('btml.factorize_aggregates', 'exact', true), set_config('btml.force_factorize_aggregates', 'on', true);
    got := outcome(query);
    SELECT string_agg(line, E'\n') FROM btml.explain_factorized(query) line INTO why;
    PERFORM set_config('btml.force_factorize_aggregates', 'off', true);
    RETURN CASE WHEN got IS DISTINCT FROM expected THEN format(E'different: %s\ninstead of %s\n', got, expected)
        ELSE format(E'%s both times\n', left(got, 40)) END || why;
END $$;
\pset format unaligned
\pset tuples_only on

SELECT compare('SELECT count(*) FROM item i JOIN pay p ON p.id = i.id AND p.amount / i.parts >= 10 JOIN third USING (k)');
SELECT compare('SELECT i.k, count(*) FROM item i JOIN pay p ON p.id = i.id JOIN third USING (k) WHERE p.amount % i.parts = 1 GROUP BY 1');
SELECT compare('SELECT DISTINCT i.parts FROM item i JOIN pay p ON p.id = i.id JOIN third USING (k) WHERE p.amount / i.parts > 3');
SELECT compare('SELECT count(*) FROM item i JOIN pay p ON p.id = i.id JOIN third USING (k) WHERE i.t::int + p.amount > 5');
SELECT compare('SELECT count(*) FROM item i JOIN third USING (k) WHERE EXISTS (SELECT FROM pay p WHERE p.id = i.id
    AND p.amount / i.parts > 3)');
SELECT compare('SELECT count(*) FROM item i JOIN third USING (k) WHERE NOT EXISTS (SELECT FROM pay p WHERE p.id = i.id
    AND p.amount < i.t::int)');
SELECT compare('SELECT count(p.id) FROM item i LEFT JOIN pay p ON p.id = i.id AND p.amount / i.parts >= 10 JOIN third USING (k)');
SELECT compare('SELECT count(p.id) FROM item i LEFT JOIN pay p ON p.id = i.id AND 100 / i.parts >= 10 JOIN third USING (k)');
-- A key of a table that is joined first by another condition.
SELECT compare('SELECT count(*) FROM item i JOIN pay p ON p.amount = 100 / i.parts AND (p.id < i.id OR p.amount IS NULL) JOIN third USING (k)');
SELECT compare('SELECT count(*) FROM item i JOIN pay p ON p.id = i.t::int AND p.amount <> i.parts JOIN third USING (k)');
-- An expression of both tables that equals a constant, or a column of the third.
SELECT compare('SELECT count(*) FROM item i JOIN pay p ON p.id = i.id JOIN third USING (k) WHERE p.amount / i.parts = 3');
SELECT compare('SELECT count(*) FROM item i JOIN pay p ON p.id = i.id JOIN third USING (k) WHERE p.amount / i.parts = third.w');
-- What depends on a row of another table in FROM.
SELECT compare('SELECT count(*) FROM item i JOIN third USING (k), LATERAL generate_series(1, 10 / i.parts)');
SELECT compare('SELECT count(*) FROM item i JOIN third USING (k), LATERAL (SELECT p.id FROM pay p WHERE p.id = i.t::int OFFSET 0) s');
SELECT compare('SELECT count(*) FROM item i JOIN third USING (k), LATERAL (VALUES (1 / i.parts), (2)) s');
-- Where nothing can raise an error the two are joined first, and what is asked of both is computed by btml.
SELECT compare('SELECT count(*) FROM item i JOIN pay p ON p.id = i.id AND p.amount >= i.parts JOIN third USING (k)');
SELECT compare('SELECT count(*) FROM item i JOIN pay p ON p.id = i.id AND p.t <> i.c::text JOIN third USING (k)');
SELECT compare('SELECT sum(p.amount / i.parts) FROM item i JOIN pay p ON p.id = i.id JOIN third USING (k)');
SELECT compare('SELECT count(*), sum(tag) FROM item i JOIN third USING (k), LATERAL unnest(i.tags) tag');
SELECT compare('SELECT count(*), sum(n) FROM item i JOIN third USING (k), LATERAL generate_series(1, i.parts) n');
SELECT compare('SELECT count(*), max(s.amount) FROM item i JOIN third USING (k), LATERAL (SELECT p.amount FROM pay p
    WHERE p.id = i.id AND p.t = ''red'' OR p.amount > i.k OFFSET 0) s');
SELECT compare('SELECT count(*), max(s.amount) FROM item i JOIN third USING (k), LATERAL (SELECT p.amount FROM pay p
    WHERE p.id = i.id UNION ALL SELECT p.amount FROM pay p WHERE p.id < i.parts OFFSET 0) s');
-- Parameters have values, sub-queries have yet to find theirs.
SET btml.force_factorize_aggregates = on;
SELECT * FROM btml.explain_factorized('SELECT count(*) FROM item i JOIN pay p ON p.id = i.id JOIN third USING (k)
    WHERE p.amount < $1 OR i.parts = $2');
RESET btml.force_factorize_aggregates;
SELECT compare('SELECT count(*) FROM item i JOIN pay p ON p.id = i.id JOIN third USING (k)
    WHERE p.amount < i.parts OR i.parts < (SELECT 10 / (count(*) - 6) FROM third)');
-- A condition on one table is evaluated by its scan.
SELECT compare('SELECT count(*) FROM item i JOIN pay p ON p.id = i.id JOIN third USING (k) WHERE i.parts + 1 > 2 AND p.amount <> i.parts');
DROP SCHEMA conditions CASCADE;
