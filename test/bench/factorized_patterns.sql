-- Two generated sets for factorized_bench.py: a social network in which patterns are counted, after the Labelled Subgraph
-- Query Benchmark, and a question-and-answer site with skewed foreign keys, after STATS-CEB and JOB-light.
-- psql -v scale=1 -f factorized_patterns.sql
DROP SCHEMA IF EXISTS social, site CASCADE;
CREATE SCHEMA social;
SET search_path = social;
SET max_parallel_workers_per_gather = 0;
SELECT setseed(0.42), 2000 * :scale AS people, 20000 * :scale AS messages \gset
CREATE TABLE city AS SELECT i AS city, i % 5 AS country FROM generate_series(0, 199) i;
CREATE TABLE person AS SELECT i AS person, floor(200 * random() ^ 2)::int AS city FROM generate_series(1, :people) i;
-- Both directions of each acquaintance.
CREATE TABLE knows AS SELECT DISTINCT CASE way WHEN 1 THEN a ELSE b END AS one, CASE way WHEN 1 THEN b ELSE a END AS other
    FROM (SELECT 1 + floor(:people * random() ^ 2)::int AS a, 1 + floor(:people * random() ^ 2)::int AS b FROM generate_series(1, 8 * :people)) k,
        generate_series(1, 2) way WHERE a <> b;
CREATE TABLE interest AS SELECT DISTINCT person, floor(300 * random() ^ 2)::int AS tag FROM person, generate_series(1, 8);
CREATE TABLE tag AS SELECT i AS tag, i % 15 AS class FROM generate_series(0, 299) i;
CREATE TABLE post AS SELECT i AS message, 1 + floor(:people * random() ^ 2)::int AS creator, floor(300 * random())::int AS forum,
    floor(365 * random())::int AS day FROM generate_series(1, :messages) i;
CREATE TABLE comment AS SELECT i AS message, 1 + floor(:people * random() ^ 2)::int AS creator, 1 + floor(:messages * random() ^ 2)::int AS reply_of
    FROM generate_series(1, 2 * :messages) i;
CREATE TABLE message_tag AS SELECT DISTINCT message, floor(300 * random() ^ 2)::int AS tag FROM post, generate_series(1, 3);
CREATE TABLE likes AS SELECT DISTINCT 1 + floor(:people * random() ^ 2)::int AS person, 1 + floor(:messages * random() ^ 3)::int AS message
    FROM generate_series(1, 3 * :messages);
CREATE TABLE member AS SELECT DISTINCT floor(300 * random())::int AS forum, person FROM person, generate_series(1, 6);
ANALYZE;

CREATE SCHEMA site;
SET search_path = site;
SELECT 10000 * :scale AS users, 30000 * :scale AS posts \gset
CREATE TABLE users AS SELECT i AS id, floor(10000 * random() ^ 6)::int AS reputation, floor(200 * random() ^ 4)::int AS upvotes
    FROM generate_series(1, :users) i;
CREATE TABLE posts AS SELECT i AS id, 1 + floor(:users * random() ^ 2)::int AS owner, floor(100 * random() ^ 4)::int AS score,
    floor(20 * random() ^ 3)::int AS answers, 1 + i % 2 AS kind FROM generate_series(1, :posts) i;
CREATE TABLE comments AS SELECT 1 + floor(:posts * random() ^ 2)::int AS post, 1 + floor(:users * random() ^ 2)::int AS author,
    floor(50 * random() ^ 5)::int AS score FROM generate_series(1, 2 * :posts);
CREATE TABLE votes AS SELECT 1 + floor(:posts * random() ^ 2)::int AS post, 1 + floor(15 * random() ^ 3)::int AS kind,
    floor(2000 * random())::int AS day FROM generate_series(1, 3 * :posts);
CREATE TABLE badges AS SELECT 1 + floor(:users * random() ^ 2)::int AS owner, floor(2000 * random())::int AS day FROM generate_series(1, :posts);
CREATE TABLE history AS SELECT 1 + floor(:posts * random() ^ 2)::int AS post, 1 + floor(10 * random())::int AS kind FROM generate_series(1, 3 * :posts);
CREATE TABLE links AS SELECT 1 + floor(:posts * random() ^ 2)::int AS post, 1 + floor(:posts * random() ^ 2)::int AS other
    FROM generate_series(1, :posts / 5);
ANALYZE;
