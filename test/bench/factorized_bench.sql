-- Data for factorized_bench.py in the shape of sets that btml may not ship: film ratings, flights between airports, houses of
-- a town. The names are those of the real sets, so that the same queries run on both.
-- psql -v set=movielens -f factorized_bench.sql
DROP SCHEMA IF EXISTS :set CASCADE;
CREATE SCHEMA :set;
SET search_path = :set;
SET max_parallel_workers_per_gather = 0;
SELECT setseed(0.42);
SELECT :'set' = 'movielens' AS films, :'set' = 'openflights' AS flights, :'set' = 'housing' AS towns \gset
\if :films
CREATE TABLE movies AS SELECT i AS movie_id, 1950 + floor(70 * random())::int AS year FROM generate_series(1, 9700) i;
ALTER TABLE movies ADD PRIMARY KEY (movie_id);
CREATE TABLE movie_genre AS SELECT DISTINCT movie_id, 1 + floor(19 * random() ^ 1.5)::int AS genre
    FROM movies, generate_series(1, 1 + movie_id % 4);
CREATE TABLE ratings AS SELECT 1 + floor(610 * random() ^ 2)::int AS user_id, 1 + floor(9700 * random() ^ 2.4)::int AS movie_id,
    (1 + floor(10 * random())) / 2 AS rating,
    828124615 + floor(7e8 * random())::bigint AS ts FROM generate_series(1, 100000) i;
CREATE TABLE users AS SELECT user_id, count(*)::int AS u_n, min(ts) AS u_first FROM ratings GROUP BY 1;
CREATE TABLE corating AS SELECT user_id AS user2, movie_id, rating AS rating2, ts AS ts2 FROM ratings;
\endif
\if :flights
CREATE TABLE airports AS SELECT i AS airport_id, floor(200 * random())::int AS country FROM generate_series(1, 3200) i;
-- Each flight goes both ways, as most do.
CREATE TABLE legs AS SELECT DISTINCT ON (src, dst) src, dst, 1 + floor(5 * random() ^ 2)::int AS n_airlines, 100 + 9000 * random() AS dist_km
    FROM (SELECT CASE way WHEN 1 THEN a ELSE b END AS src, CASE way WHEN 1 THEN b ELSE a END AS dst
        FROM (SELECT 1 + floor(3200 * random() ^ 4)::int AS a, 1 + floor(3200 * random() ^ 4)::int AS b FROM generate_series(1, 28000)) f,
            generate_series(1, 2) way) w WHERE src <> dst;
ALTER TABLE legs ADD PRIMARY KEY (src, dst);
\endif
\if :towns
CREATE TABLE demographics AS SELECT p AS postcode, 10000 + 90000 * random() AS averagesalary, (1 + floor(10 * random()))::int AS nbhospitals
    FROM generate_series(1, 5000) p;
CREATE TABLE transport AS SELECT p AS postcode, (1 + floor(20 * random()))::int AS nbbuslines FROM generate_series(1, 5000) p;
CREATE TABLE shop AS SELECT p AS postcode, (8 + floor(17 * random()))::int AS openinghoursshop
    FROM generate_series(1, 5000) p, generate_series(1, 20);
CREATE TABLE restaurant AS SELECT p AS postcode, (8 + floor(17 * random()))::int AS openinghoursrest
    FROM generate_series(1, 5000) p, generate_series(1, 10);
CREATE TABLE institution AS SELECT p AS postcode, (1 + floor(100 * random()))::int AS sizeinstitution
    FROM generate_series(1, 5000) p, generate_series(1, 4);
CREATE TABLE house AS SELECT p AS postcode, 10 + 190 * random() AS livingarea, 100000 + 900000 * random() AS price
    FROM generate_series(1, 5000) p, generate_series(1, 20);
\endif
ANALYZE;
