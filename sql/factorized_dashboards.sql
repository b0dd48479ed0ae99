-- Queries as dashboards write them: time grains, buckets, totals by month. Each is the same factorized as it is without.
SET client_min_messages = warning;
CREATE SCHEMA dashboards;
SET search_path = dashboards;
SELECT btml.version() IS NOT NULL AS loaded;
SET TimeZone = 'Europe/Berlin';
CREATE TABLE users (id int PRIMARY KEY, country text, email text, joined timestamptz, birthday date, plan varchar(12));
CREATE TABLE visits (user_id int, at timestamptz, page text, millis int);
CREATE TABLE orders (user_id int, at timestamp, amount numeric(10, 2), items int, status text);
INSERT INTO users SELECT i, (ARRAY['DE', 'FR', 'at', NULL])[i % 4 + 1], 'User' || i || '@Example.com',
    timestamptz '2023-01-01 UTC' + i * interval '37 h',
    date '1970-01-01' + i * 31, (ARRAY['free', 'pro', 'team'])[i % 3 + 1] FROM generate_series(1, 200) i;
INSERT INTO visits SELECT i * i % 210, timestamptz '2024-01-01 UTC' + i * interval '5 h 7 min', '/Page/' || i % 9, i * 37 % 5000
    FROM generate_series(1, 2000) i;
INSERT INTO orders SELECT i * 7 % 205, timestamp '2024-01-03' + i * interval '11 h 3 min', i * 3.25, i % 5, (ARRAY['paid', 'open',
    'Void'])[i % 3 + 1]
    FROM generate_series(1, 1500) i;
INSERT INTO orders VALUES (1, 'infinity', 1, 0, 'paid'), (NULL, '2024-05-05', 0, 1, ' paid ');
ANALYZE;

CREATE FUNCTION compare(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; plan text := ''; expected text; got text;
BEGIN
    PERFORM set_config('btml.factorize_aggregates', 'off', true);
    EXECUTE format('SELECT string_agg(r::text, E''\n'') FROM (%s) r', query) INTO expected;
    PERFORM set_config('btml.factorize_aggregates', 'exact', true), set_config('btml.force_factorize_aggregates', 'on', true);
    EXECUTE format('SELECT string_agg(r::text, E''\n'') FROM (%s) r', query) INTO got;
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) ' || query LOOP plan := plan || line || E'\n'; END LOOP;
    RETURN CASE WHEN got IS DISTINCT FROM expected THEN format(E'different:\n%s\ninstead of\n%s', got, expected)
        ELSE 'same' || CASE WHEN plan !~ 'btml Factorized Aggregate' THEN ', but not factorized' ELSE '' END ||
            coalesce(', fell back: ' || substring(plan from 'Fell Back: ([^\n]*)'), '') END;
END $$;

-- Time grains as Grafana's macros write them.
SELECT compare($$SELECT floor(extract(epoch FROM v.at) / 21600) * 21600 AS "time", count(*) AS n FROM visits v JOIN orders o USING (user_id)
    WHERE v.at BETWEEN '2024-02-01T00:00:00Z' AND '2024-08-01T00:00:00Z' GROUP BY 1 ORDER BY 1$$);
SELECT compare($$SELECT date_bin('15 minutes', v.at, timestamptz '2001-01-01') AS "time", u.country AS metric, count(*) AS value
    FROM visits v JOIN users u ON u.id = v.user_id JOIN orders o ON o.user_id = u.id GROUP BY 1, 2 ORDER BY 1, 2$$);
SELECT compare($$SELECT (extract(epoch FROM o.at)::bigint / 86400) * 86400 AS "time", sum(o.amount)
    FROM orders o JOIN visits v USING (user_id)
    WHERE o.at < '2025-01-01' GROUP BY 1 ORDER BY 1$$);
SELECT compare($$SELECT date_trunc('hour', v.at) AS "time", avg(v.millis)
    FROM visits v JOIN orders o USING (user_id) GROUP BY 1 ORDER BY 1$$);

-- Metabase's query builder.
SELECT compare($$SELECT DATE_TRUNC('month', "source"."at") AS "at", COUNT(*) AS "count" FROM "orders" AS "source"
    INNER JOIN "visits" AS "v" ON "source"."user_id" = "v"."user_id" GROUP BY DATE_TRUNC('month', "source"."at")
    ORDER BY DATE_TRUNC('month', "source"."at") ASC$$);
SELECT compare($$SELECT CAST((CAST(DATE_TRUNC('week', CAST(v.at AS timestamptz) + INTERVAL '1 day')
    AS timestamptz) + INTERVAL '-1 day') AS date) AS w,
    SUM(o.amount) FROM orders o JOIN visits v USING (user_id) GROUP BY 1 ORDER BY 1$$);
SELECT compare($$SELECT CAST(extract(dow FROM v.at) AS integer) + 1 AS day, count(*)
    FROM visits v JOIN orders o USING (user_id) GROUP BY 1 ORDER BY 1$$);
SELECT compare($$SELECT CAST(extract(hour FROM v.at) AS integer) AS hour, max(o.amount) FROM visits v JOIN orders o USING (user_id)
    GROUP BY CAST(extract(hour FROM v.at) AS integer) ORDER BY 1$$);
SELECT compare($$SELECT FLOOR((v.millis / 500.0)) * 500.0 AS bucket, COUNT(*)
    FROM visits v JOIN orders o USING (user_id) GROUP BY 1 ORDER BY 1$$);
SELECT compare($$SELECT (FLOOR(((o.amount - 0.0) / 250.0)) * 250.0) + 0.0 AS bucket, SUM(o.items)
    FROM orders o JOIN visits v USING (user_id)
    GROUP BY 1 ORDER BY 1$$);
SELECT compare($$SELECT SUM(CASE WHEN o.status = 'paid' THEN o.amount ELSE 0.0 END) AS paid, COUNT(CASE WHEN o.items > 3 THEN 1 END)
    FROM orders o JOIN visits v USING (user_id)$$);
SELECT compare($$SELECT LOWER(u.country), COUNT(*) FROM users u JOIN visits v ON u.id = v.user_id JOIN orders o ON u.id = o.user_id
    WHERE LOWER(u.email) LIKE '%example.com' GROUP BY LOWER(u.country) ORDER BY 1$$);
SELECT compare($$SELECT COALESCE(u.country, 'unknown'), SUM(o.amount)
    FROM users u JOIN visits v ON u.id = v.user_id JOIN orders o ON u.id = o.user_id
    GROUP BY 1 ORDER BY 1$$);
SELECT compare($$SELECT CAST(o.at AS date), COUNT(*), CAST(SUM(o.amount) AS float) / NULLIF(CAST(COUNT(*) AS float), 0.0)
    FROM orders o JOIN visits v USING (user_id) GROUP BY CAST(o.at AS date) ORDER BY 1$$);

-- Superset's time grains and metrics.
SELECT compare($$SELECT DATE_TRUNC('quarter', o.at) AS __timestamp, u.plan AS plan, SUM(o.amount) AS "SUM(amount)" FROM orders o
    JOIN users u ON u.id = o.user_id JOIN visits v ON v.user_id = u.id GROUP BY u.plan, DATE_TRUNC('quarter', o.at) ORDER BY 1, 2$$);
SELECT compare($$SELECT DATE_TRUNC('minute', v.at) + INTERVAL '30 second' * 0 AS t, COUNT(*)
    FROM visits v JOIN orders o USING (user_id) GROUP BY 1 ORDER BY 1$$);
SELECT compare($$SELECT DATE_TRUNC('year', v.at AT TIME ZONE 'UTC') AS y, COUNT(*)
    FROM visits v JOIN orders o USING (user_id) GROUP BY 1 ORDER BY 1$$);
SELECT compare($$SELECT DATE_TRUNC('day', v.at, 'America/New_York') AS d, COUNT(*)
    FROM visits v JOIN orders o USING (user_id) GROUP BY 1 ORDER BY 1$$);
SELECT compare($$SELECT CASE WHEN v.millis < 100 THEN 'fast' WHEN v.millis / 100 < 20 THEN 'fair' ELSE 'slow' END
    AS speed, COUNT(*), AVG(o.amount)
    FROM visits v JOIN orders o USING (user_id) GROUP BY 1 ORDER BY 1$$);
SELECT compare($$SELECT u.plan, COUNT(*) FILTER (WHERE date_trunc('month', o.at) = '2024-03-01') AS march,
    COUNT(*) FILTER (WHERE o.at::date = '2024-04-01') AS first
    FROM users u JOIN orders o ON o.user_id = u.id JOIN visits v ON v.user_id = u.id
    GROUP BY u.plan ORDER BY 1$$);
SELECT compare($$SELECT COUNT(DISTINCT u.id) FROM users u JOIN orders o ON o.user_id = u.id JOIN visits v ON v.user_id = u.id$$);
SELECT compare($$SELECT u.country, SUM(o.amount) FROM users u JOIN orders o ON o.user_id = u.id JOIN visits v ON v.user_id = u.id
    GROUP BY ROLLUP (u.country) ORDER BY 1, 2$$);

-- By hand: reports of analysts.
SELECT compare($$SELECT to_char(o.at, 'YYYY-MM') AS month, trim(upper(o.status)) AS status, sum(o.amount), count(*) FROM orders o
    JOIN visits v USING (user_id) WHERE o.at < 'infinity' GROUP BY 1, 2 HAVING count(*) > 3 ORDER BY 1, 2$$);
SELECT compare($$SELECT extract(year FROM u.birthday) AS born, round(avg(o.amount), 2) FROM users u JOIN orders o ON o.user_id = u.id
    JOIN visits v ON v.user_id = u.id GROUP BY 1 ORDER BY 1$$);
SELECT compare($$SELECT substring(v.page from '/([^/]+)/') || '-' || right(v.page, 1) AS page, count(*)
    FROM visits v JOIN orders o USING (user_id)
    GROUP BY 1 ORDER BY 1$$);
SELECT compare($$SELECT split_part(u.email, '@', 2) AS domain, sum(round(o.amount)), sum(o.amount * 1.19) FROM users u
    JOIN orders o ON o.user_id = u.id JOIN visits v ON v.user_id = u.id GROUP BY 1 ORDER BY 1$$);
SELECT compare($$SELECT date_trunc('month', o.at) AS month, count(*) FROM orders o JOIN visits v
    ON date_trunc('day', v.at AT TIME ZONE 'UTC') = date_trunc('day', o.at) WHERE o.at < 'infinity' GROUP BY 1 ORDER BY 1$$);
SELECT compare($$SELECT age(date_trunc('day', u.joined), timestamptz '2023-01-01') AS since, count(*) FROM users u
    JOIN orders o ON o.user_id = u.id JOIN visits v ON v.user_id = u.id GROUP BY 1 ORDER BY 1$$);
SELECT compare($$SELECT o.items % 2 = 0 AS even, sum(o.amount / (o.items + 1)), max(o.amount / 3)
    FROM orders o JOIN visits v USING (user_id)
    GROUP BY 1 ORDER BY 1$$);
SELECT compare($$SELECT width_bucket(v.millis, 0, 5000, 10), min(o.at), max(o.at::date) FROM visits v JOIN orders o USING (user_id)
    GROUP BY 1 ORDER BY 1$$);
-- Rows without items are left out by WHERE: no plan raises an error. In the second query PostgreSQL raises none, either.
SELECT compare($$SELECT o.user_id % 3, sum(100 / o.items)
    FROM orders o JOIN visits v USING (user_id) WHERE o.items > 0 GROUP BY 1 ORDER BY 1$$);
SELECT compare($$SELECT 10 / (o.user_id - 204), count(*) FROM orders o JOIN users u ON u.id = o.user_id GROUP BY 1 ORDER BY 1$$);
DROP SCHEMA dashboards CASCADE;
