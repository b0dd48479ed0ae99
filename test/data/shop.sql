-- A shop of five tables, made up: u() is a number from 0 to 1, the same on every server.
SET client_min_messages = warning;
CREATE FUNCTION u(text) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$ SELECT ('x' || left(md5($1), 8))::bit(32)::bigint / 4294967296.0 $$;
CREATE TABLE plan (plan text PRIMARY KEY, price numeric);
INSERT INTO plan VALUES ('free', 0), ('plus', 9), ('pro', 29);
CREATE TABLE customer (id int PRIMARY KEY, joined date, city text, plan text REFERENCES plan);
INSERT INTO customer SELECT i, date '2024-01-01' + (u('j' || i) * 420)::int, (ARRAY['Bergen', 'Oslo', 'Tromsø', 'Molde'])[1 + (u('c' || i) * 4)::int % 4],
    (ARRAY['free', 'plus', 'pro'])[1 + (u('p' || i) ^ 2 * 3)::int % 3] FROM generate_series(1, 1200) i;
-- How content a customer is, which nobody sees, falls with tickets and with the price of the plan.
CREATE TABLE ticket AS SELECT id AS customer, joined + (u('t' || id || '/' || k) * 400)::int AS day, (ARRAY['billing', 'delivery', 'quality'])[1 + (u('q' || id || k) * 3)::int % 3] AS topic
    FROM customer, generate_series(1, 6) k WHERE u('h' || id || k) < 0.3;
CREATE INDEX ON ticket (customer, day);
CREATE TABLE visit AS SELECT id AS customer, joined + d AS day, 1 + (u('v' || id || '.' || d) * 9)::int AS pages FROM customer, generate_series(0, 490, 7) d
    WHERE u('w' || id || '-' || d) < 0.85 - d / 900.0 * (CASE plan WHEN 'pro' THEN 0.2 ELSE 1 END)
        - 0.3 * least(2, (SELECT count(*) FROM ticket t WHERE t.customer = id AND t.day BETWEEN joined + d - 60 AND joined + d));
CREATE TABLE "order" AS SELECT customer, day, round((5 + 80 * u('a' || customer || '/' || (day - date '2024-01-01')) ^ 3)::numeric, 2) AS amount FROM visit WHERE u('o' || customer || '/' || (day - date '2024-01-01')) < 0.35;
ALTER TABLE ticket ADD FOREIGN KEY (customer) REFERENCES customer;
ALTER TABLE visit ADD FOREIGN KEY (customer) REFERENCES customer;
ALTER TABLE "order" ADD FOREIGN KEY (customer) REFERENCES customer;
CREATE INDEX ON visit (customer, day);
CREATE INDEX ON "order" (customer, day);
ANALYZE;
RESET client_min_messages;
