-- A supplier of energy, made up: who leaves next month? Five tables that say since when each row is known, and the task.
-- The psql variable customers is their number, 1,000 unless it is set. All that is drawn is a hash of keys and every
-- number is made by plain arithmetic, so the rows are the same on every server, in every session and time zone.
--
--   customer  joined                 one a customer
--   contract  signed                 one a year of a customer, with the price of a kilowatt-hour from then on
--   meter     installed              electricity, and gas for half of the customers
--   reading   read_on                one a month and meter
--   call      called_at              to the service
--   task      as_of                  one a customer and month in which the contract runs: does it end within that month?
--
-- What makes customers leave: calls of the last two months that solved nothing, prices that rose within three months,
-- less use than before, a young contract, and how restless the customer is, which no table says.
-- Whoever leaves also leaves traces from as_of on, some at as_of itself: a final reading, and mostly a call to cancel. They
-- give the answer away, and must not count: a feature as of a time knows only what was there before.
\if :{?customers}
\else
\set customers 1000
\endif
SET client_min_messages = warning;
-- A number from 0 to 1 of a purpose and up to two keys.
CREATE FUNCTION pg_temp.u(purpose int, a int, b int DEFAULT 0) RETURNS float8 LANGUAGE sql IMMUTABLE AS
$$ SELECT (hashint4extended(b, hashint4extended(a, purpose)) & 4294967295) / 4294967296.0::float8 $$;
CREATE FUNCTION pg_temp.month(m int) RETURNS date LANGUAGE sql IMMUTABLE AS
$$ SELECT (date '2022-01-01' + make_interval(months => m))::date $$;

CREATE TABLE customer (customer_id int PRIMARY KEY, region text NOT NULL, persons int NOT NULL, joined date NOT NULL);
CREATE TABLE contract (contract_id int PRIMARY KEY, customer_id int NOT NULL REFERENCES customer, tariff text NOT NULL,
    price numeric NOT NULL, signed date NOT NULL);
CREATE TABLE meter (meter_id int PRIMARY KEY, customer_id int NOT NULL REFERENCES customer, kind text NOT NULL,
    installed date NOT NULL);
CREATE TABLE reading (reading_id int PRIMARY KEY, meter_id int NOT NULL REFERENCES meter, kwh numeric NOT NULL,
    occasion text NOT NULL, read_on date NOT NULL);
CREATE TABLE call (call_id int PRIMARY KEY, customer_id int NOT NULL REFERENCES customer, topic text NOT NULL,
    minutes int NOT NULL, resolved boolean NOT NULL, called_at timestamp NOT NULL);
CREATE TABLE task (customer_id int REFERENCES customer, as_of date, churned boolean NOT NULL, PRIMARY KEY (customer_id, as_of));

INSERT INTO customer
SELECT i, (ARRAY['north', 'east', 'south', 'west'])[1 + floor(pg_temp.u(1, i) * 4)::int],
    1 + floor(pg_temp.u(2, i) * pg_temp.u(3, i) * 6)::int, date '2019-01-01' + floor(pg_temp.u(4, i) * 2000)::int
FROM generate_series(1, :customers) i;

-- Prices rise by nothing, or by 3 to 20 percent of the first one, in 2023 by twice that.
CREATE TEMPORARY TABLE year AS
SELECT customer_id, n, (joined + make_interval(years => n))::date AS signed,
    CASE WHEN n = 0 OR pg_temp.u(10, customer_id, n) < 0.4 THEN 0 ELSE (0.03 + 0.17 * pg_temp.u(11, customer_id, n))
        * (CASE extract(year FROM joined) + n WHEN 2023 THEN 2 ELSE 1 END) END AS rise
FROM customer, generate_series(0, 5) n;

-- The three months that begin after each rise.
CREATE TEMPORARY TABLE recent_rise AS
SELECT customer_id, 12 * (extract(year FROM signed)::int - 2022) + extract(month FROM signed)::int - 1 + later AS m, rise
FROM year, generate_series(1, 3) later WHERE rise > 0;

-- One row a customer and month since 2022: whether the customer is in trouble, and how much is used of what was before.
CREATE TEMPORARY TABLE month AS
SELECT customer_id, m, pg_temp.month(m) AS first_day, joined,
    EXISTS (SELECT FROM generate_series(greatest(m - 2, 0), m) begun WHERE pg_temp.u(20, customer_id, begun) < 0.03) AS in_trouble,
    m - CASE WHEN pg_temp.u(21, customer_id) < 0.4 THEN floor(pg_temp.u(22, customer_id) * 36)::int END AS since_fall,
    coalesce(rise, 0) AS rise
FROM customer CROSS JOIN generate_series(0, 35) m LEFT JOIN recent_rise USING (customer_id, m)
WHERE pg_temp.month(m + 1) > joined;

CREATE TEMPORARY TABLE conversation AS
SELECT customer_id, m, k, called_at, 1 + floor(20 * pg_temp.u(31, customer_id, m * 8 + k) * pg_temp.u(32, customer_id, m * 8 + k))::int
        + CASE WHEN in_trouble THEN 5 ELSE 0 END AS minutes,
    pg_temp.u(33, customer_id, m * 8 + k) < CASE WHEN in_trouble THEN 0.35 ELSE 0.85 END AS resolved,
    CASE WHEN rise > 0 AND pg_temp.u(34, customer_id, m * 8 + k) < 0.5 THEN 'price'
        ELSE (ARRAY['bill', 'outage', 'meter', 'move', 'other'])[1 + floor(5 * pg_temp.u(35, customer_id, m * 8 + k))::int] END AS topic
FROM month, generate_series(1, 4) k,
    LATERAL (SELECT first_day + floor(28 * pg_temp.u(36, customer_id, m * 8 + k))::int
        + make_interval(mins => 480 + floor(600 * pg_temp.u(37, customer_id, m * 8 + k))::int) AS called_at) AS t
WHERE pg_temp.u(30, customer_id, m * 8 + k) < CASE WHEN in_trouble THEN 0.4 ELSE 0.03 END AND called_at >= joined;

-- The day each customer leaves, in the first month from July 2022 on that is unlucky; NULL for those who stay.
CREATE TEMPORARY TABLE leaving AS
WITH unresolved AS (
    SELECT customer_id, m, count(*) AS calls FROM conversation WHERE NOT resolved GROUP BY customer_id, m
), risk AS (
    SELECT month.*, (first_day - joined) / 30.0::float8 AS age,
        least(3, sum(coalesce(calls, 0)) OVER (PARTITION BY customer_id ORDER BY m ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING)) AS calls
    FROM month LEFT JOIN unresolved USING (customer_id, m)
)
SELECT DISTINCT ON (customer_id) customer_id, m, first_day + floor(27 * pg_temp.u(42, customer_id))::int AS left_on
FROM risk
WHERE m >= 6 AND first_day >= joined AND pg_temp.u(40, customer_id, m) < 0.0045 * (1 + 4 * coalesce(calls, 0)) * (1 + 30 * rise)
    * CASE WHEN since_fall BETWEEN 1 AND 5 THEN 6 ELSE 1 END * (0.4 + 24 / (12 + age)) * (0.5 + pg_temp.u(41, customer_id))
ORDER BY customer_id, m;

INSERT INTO contract
SELECT row_number() OVER (ORDER BY customer_id, n), customer_id,
    (ARRAY['basic', 'green', 'fixed'])[1 + floor(3 * pg_temp.u(12, customer_id, n / 2))::int],
    round(((22 + 8 * pg_temp.u(13, customer_id)) * (1 + sum(rise) OVER (PARTITION BY customer_id ORDER BY n)))::numeric, 2), signed
FROM year LEFT JOIN leaving USING (customer_id) WHERE signed < coalesce(left_on, pg_temp.month(36));

INSERT INTO meter
SELECT row_number() OVER (ORDER BY customer_id, kind), customer_id, kind, joined + floor(20 * pg_temp.u(50, customer_id))::int
FROM customer, unnest(ARRAY['electricity', 'gas']) kind WHERE kind = 'electricity' OR pg_temp.u(51, customer_id) < 0.5;

-- Meters are read on a day of the month of their own, and for the last time on the day that the customer leaves.
INSERT INTO reading
SELECT row_number() OVER (ORDER BY read_on, meter_id), meter_id,
    round((CASE kind WHEN 'gas' THEN 300 * (ARRAY[2.2, 2.0, 1.6, 1.0, 0.5, 0.2, 0.2, 0.2, 0.4, 0.9, 1.5, 2.0])[1 + month.m % 12]
        ELSE 110 * (ARRAY[1.2, 1.1, 1.1, 1.0, 0.9, 0.9, 0.9, 0.9, 0.9, 1.0, 1.1, 1.2])[1 + month.m % 12] END
        * (1 + persons) * (0.6 + 0.5 * pg_temp.u(52, meter_id)) * (0.85 + 0.3 * pg_temp.u(53, meter_id, month.m))
        * CASE WHEN since_fall > 0 THEN 0.6 ELSE 1 END)::numeric, 1),
    CASE WHEN read_on = left_on THEN 'final' WHEN pg_temp.u(54, meter_id, month.m) < 0.1 THEN 'estimated' ELSE 'regular' END, read_on
FROM month JOIN customer USING (customer_id) JOIN meter USING (customer_id) LEFT JOIN leaving USING (customer_id),
    LATERAL (SELECT CASE WHEN month.m = leaving.m THEN left_on
        ELSE first_day + floor(28 * pg_temp.u(55, meter_id))::int END AS read_on) AS day
WHERE read_on >= installed AND read_on <= coalesce(left_on, pg_temp.month(36));

INSERT INTO call
SELECT row_number() OVER (ORDER BY called_at, customer_id, k), customer_id, topic, minutes, resolved, called_at
FROM (
    SELECT customer_id, k, topic, minutes, resolved, called_at FROM conversation LEFT JOIN leaving USING (customer_id)
    WHERE called_at < coalesce(left_on, pg_temp.month(36))
    UNION ALL
    SELECT customer_id, 5, 'cancellation', 3 + floor(9 * pg_temp.u(60, customer_id))::int, true,
        pg_temp.month(m) + floor((left_on - pg_temp.month(m)) * pg_temp.u(61, customer_id))::int
        + make_interval(mins => floor(1440 * greatest(0, pg_temp.u(62, customer_id) - 0.1))::int)
    FROM leaving WHERE pg_temp.u(63, customer_id) < 0.7
) AS calls;

INSERT INTO task
SELECT customer_id, first_day, coalesce(month.m = leaving.m, false)
FROM month LEFT JOIN leaving USING (customer_id)
WHERE month.m >= 6 AND first_day > joined AND (leaving.m IS NULL OR month.m <= leaving.m)
ORDER BY customer_id, first_day;

DROP TABLE year, recent_rise, month, conversation, leaving;
CREATE INDEX ON contract (customer_id, signed);
CREATE INDEX ON meter (customer_id);
CREATE INDEX ON reading (meter_id, read_on);
CREATE INDEX ON call (customer_id, called_at);
ANALYZE customer, contract, meter, reading, call, task;
RESET client_min_messages;
