-- The examples of contrib_docs/monte_carlo.md.
CREATE SCHEMA docs_monte_carlo;
SET search_path = docs_monte_carlo, public;

CREATE TABLE sensor AS
SELECT x, sin(3 * x) + 0.3 * (u1 + u2 + u3 - 1.5) / 0.5 AS y
FROM (SELECT (i::bigint * 7919 % 100003) / 50000.0::float8 AS x, (i::bigint * 104729 % 65537) / 65537.0::float8 AS u1,
             (i::bigint * 15485863 % 32771) / 32771.0::float8 AS u2, (i::bigint * 32452843 % 99991) / 99991.0::float8 AS u3
      FROM generate_series(1, 20000) i) s;

SELECT round(s.value::numeric, 4) AS score, round(s.std_error::numeric, 4) AS std_error, s.evaluations < 1000000 AS cheap
FROM btml.kr_score('sensor', 'y', bandwidth => 0.05, method => 'sampled') s;

SELECT * FROM btml.kr_score('SELECT i AS x, i % 2 AS y FROM generate_series(1, 4) i', 'y', bandwidth => 0.1);

CREATE TABLE curve AS
SELECT * FROM btml.select_bandwidth('sensor', 'kr', 'y', lower => 0.0001, upper => 1, steps => 21);
SELECT round(bandwidth::numeric, 4) AS bandwidth, round(score::numeric, 3) AS score, round(std_error::numeric, 3) AS std_error
FROM curve WHERE bandwidth = (SELECT min(bandwidth) FROM curve) OR bandwidth = (SELECT max(bandwidth) FROM curve);
SELECT bandwidth BETWEEN 0.005 AND 0.2 AS sensible, round(score::numeric, 2) AS score FROM curve WHERE best;

SELECT r.id, round(r.value::numeric, 1) AS y
FROM btml.select_bandwidth('sensor', 'kr', 'y') s,
     btml.kernel_regression('sensor', 'y', 'SELECT i AS id, i / 2.0 AS x FROM generate_series(1, 3) i', s.bandwidth) r
WHERE s.best;

SELECT round(exact.value::numeric, 4) AS score, abs(sampled.value / exact.value - 1) < 0.1 AS sampled_is_near
FROM btml.kr_score('sensor', 'y', bandwidth => 0.05, kernel => 'matern32', method => 'exact') exact,
     btml.kr_score('sensor', 'y', bandwidth => 0.05, kernel => 'matern32', method => 'sampled') sampled;

-- Prints the picture contrib_docs/monte_carlo.svg, with which cmp compares it.
\pset format unaligned
\pset tuples_only on
\o | cmp - contrib_docs/monte_carlo.svg
SELECT btml.plot($$
    SELECT bandwidth AS x, score AS y, score - 2 * std_error AS lower, score + 2 * std_error AS upper,
           CASE WHEN best THEN 'best' END AS label, 'point' AS mark FROM curve
    UNION ALL
    SELECT bandwidth, score, NULL, NULL, NULL, 'line' FROM curve $$,
    x_label => 'bandwidth', y_label => 'squared error', x_scale => 'log');
\o
\pset format aligned
\pset tuples_only off

CREATE TABLE sale AS
SELECT i AS sale_id, (i::bigint * 7919 % 1009)::float8 AS price, repeat('-', 60) AS note FROM generate_series(1, 400000) i;

SELECT abs(s.value / t.exact - 1) < 0.03 AS near, s.std_error > 0 AS sampled, s.evaluations < 200000 AS half_of_the_rows
FROM btml.approx_sum('SELECT price FROM sale', epsilon => 0.02) s, (SELECT sum(price) AS exact FROM sale) t;

SET client_min_messages = warning;
DROP SCHEMA docs_monte_carlo CASCADE;
