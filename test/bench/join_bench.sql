-- Joins that are many times larger than their tables. :town tables meet on one key, about s³ · (s + 1) / 2 · log₂(s + 1) rows of
-- the join for each of n towns; ratings meet the other ratings of their film;
-- visits meet patients and doses, 50,000 rows.
-- psql -v schema=town20 -v s=20 -v n=25000 -f join_bench.sql, with -v ratings=0 for the towns alone
DROP SCHEMA IF EXISTS :schema CASCADE;
CREATE SCHEMA :schema;
SET search_path = :schema;
SELECT setseed(0.5);
CREATE TABLE people AS SELECT town, 10000 + 90000 * random() AS income, 100 * random() AS unemployed, floor(10 * random())::int AS doctors
    FROM generate_series(1, :n) town;
CREATE TABLE traffic AS SELECT town, floor(20 * random())::int AS lines, 100 * random() AS distance FROM generate_series(1, :n) town;
CREATE TABLE shop AS SELECT town, 8 + floor(17 * random())::int AS opens, floor(3 * random())::int AS prices, random() < 0.5 AS chain
    FROM generate_series(1, :n) town, generate_series(1, :s);
CREATE TABLE restaurant AS SELECT town, floor(4 * random())::int AS stars, 100 * random() AS seats
    FROM generate_series(1, :n) town, generate_series(1, (:s + 1) / 2);
CREATE TABLE school AS SELECT town, floor(12 * random())::int AS kind, floor(100 * random())::int AS size
    FROM generate_series(1, :n) town, generate_series(1, floor(log(2, :s + 1))::int);
CREATE TABLE house AS SELECT *, 50 * area * (1 + garden / 30000) + 0.8 * income - 1500 * distance + 8000 * rooms + 20000 * (random() - 0.5) AS price
    FROM (SELECT town, 10 + 190 * random() AS area, floor(10 * random())::int AS rooms, 50 * random() AS kitchen, 10000 * random() AS garden
        FROM generate_series(1, :n) town, generate_series(1, :s)) h JOIN (SELECT town, income FROM people) p USING (town) JOIN (SELECT town, distance FROM traffic) t USING (town);
ALTER TABLE house DROP COLUMN income, DROP COLUMN distance;
CREATE VIEW town AS SELECT price AS y, area, rooms, kitchen, garden, opens, prices, chain, stars, seats, kind, size, income, unemployed, doctors, lines, distance
    FROM house NATURAL JOIN shop NATURAL JOIN restaurant NATURAL JOIN school NATURAL JOIN people NATURAL JOIN traffic;

CREATE TABLE viewer AS SELECT viewer, 20 + floor(60 * random())::int AS age, random() AS mood FROM generate_series(1, 700) viewer;
CREATE TABLE film AS SELECT film, 1950 + floor(70 * random())::int AS year, 60 + floor(120 * random())::int AS minutes, random() AS quality FROM generate_series(1, 9000) film;
CREATE TABLE genre AS SELECT film, floor(18 * random())::int AS genre FROM film, generate_series(1, 2);
CREATE TABLE rating AS SELECT viewer, film, at, 1 + 3 * quality + mood + random() AS stars
    FROM (SELECT 1 + floor(700 * random())::int AS viewer, 1 + floor(9000 * random() ^ 3)::int AS film, 1e9 * random() AS at FROM generate_series(1, :ratings)) r JOIN viewer USING (viewer) JOIN film USING (film);
CREATE VIEW watched AS SELECT r.stars AS y, r.at, v.age, v.mood, f.year, f.minutes, g.genre, o.stars AS other_stars, o.at AS other_at
    FROM rating r JOIN viewer v USING (viewer) JOIN film f USING (film) JOIN genre g USING (film) JOIN rating o USING (film);

CREATE TABLE patient AS SELECT i % 50 AS doctor, random() AS age, random() AS weight FROM generate_series(1, 500) i;
CREATE TABLE dose AS SELECT i % 40 AS drug, random() AS amount FROM generate_series(1, 200) i;
CREATE TABLE visit AS SELECT i % 50 AS doctor, (i * 7) % 40 AS drug, at, minutes, sin(9 * at) + cos(13 * minutes) + at * minutes + sin(i % 50) + cos(i * 7 % 40) AS y
    FROM (SELECT i, random() AS at, random() AS minutes FROM generate_series(1, 1000) i) i;
CREATE VIEW treated AS SELECT y, at, minutes, age, weight, amount FROM visit JOIN patient USING (doctor) JOIN dose USING (drug);
ANALYZE;
