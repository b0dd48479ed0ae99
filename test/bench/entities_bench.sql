-- What entities_bench.py reads: the tables of each set in a schema entities_… of its own, tasks (one row a prediction: keys, as_of,
-- target), and `…_by_hand`, the features that somebody would write in an hour. psql variables: set, and folder with the
-- gzipped files of the set.
\set ON_ERROR_STOP on
SET client_min_messages = warning;
SELECT :'set' = 'energy' AS energy, :'set' = 'baseball' AS baseball, :'set' = 'movielens' AS movielens \gset
\set schema entities_ :set
DROP SCHEMA IF EXISTS :schema CASCADE;
CREATE SCHEMA :schema;
SET search_path = :schema, public;

\if :energy
\i test/data/energy.sql
CREATE VIEW churn AS SELECT customer_id, as_of, churned AS target FROM task;

CREATE VIEW churn_by_hand AS
SELECT t.*, c.region, c.persons, t.as_of - c.joined AS age, k.*, price / previous_price - 1 AS rise, price / first_price - 1 AS total_rise,
    s.*, calls_90::float8 / nullif(calls_365, 0) AS recent_calls, r.*, kwh_90 / nullif(kwh_90_last_year, 0) AS kwh_to_last_year,
    kwh_90 / nullif(kwh_180 - kwh_90, 0) AS kwh_to_quarter_before, last_kwh / nullif(kwh_last_year, 0) AS last_to_last_year,
    kwh_365 / c.persons AS kwh_a_person, m.*
FROM churn t JOIN customer c USING (customer_id),
    LATERAL (SELECT count(*) AS contracts, t.as_of - max(signed) AS since_signed, (array_agg(price ORDER BY signed DESC))[1] AS price,
        (array_agg(price ORDER BY signed DESC))[2] AS previous_price, (array_agg(price ORDER BY signed))[1] AS first_price,
        (array_agg(tariff ORDER BY signed DESC))[1] AS tariff, count(DISTINCT tariff) AS tariffs
        FROM contract WHERE customer_id = t.customer_id AND signed < t.as_of) AS k,
    LATERAL (SELECT count(*) FILTER (WHERE called_at >= t.as_of - 30) AS calls_30,
        count(*) FILTER (WHERE called_at >= t.as_of - 90) AS calls_90,
        count(*) FILTER (WHERE called_at >= t.as_of - 365) AS calls_365,
        count(*) FILTER (WHERE NOT resolved AND called_at >= t.as_of - 30) AS unresolved_30,
        count(*) FILTER (WHERE NOT resolved AND called_at >= t.as_of - 90) AS unresolved_90,
        count(*) FILTER (WHERE NOT resolved AND called_at >= t.as_of - 365) AS unresolved_365,
        sum(minutes) FILTER (WHERE called_at >= t.as_of - 90) AS minutes_90, avg(minutes) AS minutes_a_call,
        count(*) FILTER (WHERE topic = 'price' AND called_at >= t.as_of - 90) AS on_price,
        count(*) FILTER (WHERE topic = 'bill' AND called_at >= t.as_of - 90) AS on_bill,
        count(*) FILTER (WHERE topic = 'outage' AND called_at >= t.as_of - 90) AS on_outage, avg(resolved::int) AS resolved,
        t.as_of - max(called_at)::date AS since_call, t.as_of - (max(called_at) FILTER (WHERE NOT resolved))::date AS since_unresolved,
        (array_agg(topic ORDER BY called_at DESC))[1] AS last_topic, (array_agg(resolved::int ORDER BY called_at DESC))[1] AS last_resolved
        FROM call WHERE customer_id = t.customer_id AND called_at < t.as_of) AS s,
    LATERAL (SELECT sum(kwh) FILTER (WHERE read_on >= t.as_of - 30) AS kwh_30, sum(kwh) FILTER (WHERE read_on >= t.as_of - 90) AS kwh_90,
        sum(kwh) FILTER (WHERE read_on >= t.as_of - 180) AS kwh_180, sum(kwh) FILTER (WHERE read_on >= t.as_of - 365) AS kwh_365,
        sum(kwh) FILTER (WHERE read_on >= t.as_of - 455 AND read_on < t.as_of - 365) AS kwh_90_last_year,
        sum(kwh) FILTER (WHERE read_on >= t.as_of - 395 AND read_on < t.as_of - 365) AS kwh_last_year,
        (array_agg(kwh ORDER BY read_on DESC))[1] AS last_kwh, max(kwh) FILTER (WHERE read_on >= t.as_of - 365) AS greatest_kwh,
        stddev(kwh) FILTER (WHERE read_on >= t.as_of - 365) AS sd_kwh,
        regr_slope(kwh, extract(epoch FROM read_on)) FILTER (WHERE read_on >= t.as_of - 365) AS kwh_slope,
        avg((occasion = 'estimated')::int) FILTER (WHERE read_on >= t.as_of - 365) AS estimated, t.as_of - max(read_on) AS since_reading
        FROM reading JOIN meter USING (meter_id) WHERE meter.customer_id = t.customer_id AND read_on < t.as_of) AS r,
    LATERAL (SELECT count(*) AS meters FROM meter WHERE customer_id = t.customer_id AND installed < t.as_of) AS m;
\endif

\if :baseball
-- What a row says is known at the end of its year. What people later became (last game, death) is left out.
CREATE TABLE people_file (player_id text, birth_year int, x1 text, x2 text, birth_country text, x3 text, x4 text, x5 text, x6 text,
    x7 text, x8 text, x9 text, x10 text, x11 text, x12 text, x13 text, weight int, height int, bats text, throws text, debut date,
    x14 text, x15 text, x16 text);
CREATE TABLE teams_file (year_id int, league text, team_id text, franchise text, division text, rank int, games int, x1 text,
    wins int, losses int, division_won text, wild_card text, league_won text, series_won text, runs int, x2 text, x3 text, x4 text,
    x5 text, home_runs int, x6 text, x7 text, x8 text, x9 text, x10 text, x11 text, runs_against int, x12 text,
    earned_run_average float8, x13 text, x14 text, x15 text, x16 text, x17 text, x18 text, x19 text, x20 text, x21 text,
    x22 text, x23 text, x24 text, x25 text, attendance int, x26 text, x27 text, x28 text, x29 text, x30 text);
CREATE TABLE salaries_file (year_id int, team_id text, league text, player_id text, salary int);
CREATE TABLE allstarfull_file (player_id text, year_id int, game int, x1 text, team_id text, league text, played int, position int);
CREATE TABLE awardsplayers_file (player_id text, award text, year_id int, league text, tie text, notes text);
CREATE TABLE awardsshareplayers_file (award text, year_id int, league text, player_id text, points float8, max_points float8,
    first_votes float8);
CREATE TABLE battingpost_file (year_id int, round text, player_id text, team_id text, league text, games int, at_bats int, runs int,
    hits int, doubles int, triples int, home_runs int, runs_batted_in int, stolen_bases int, x1 text, walks int, strikeouts int,
    x2 text, x3 text, x4 text, x5 text, x6 text);
CREATE TABLE collegeplaying_file (player_id text, school text, year_id int);
SELECT format('COPY %I FROM PROGRAM %L CSV HEADER', file || '_file', format('gzip -dc %L', :'folder' || '/' || file || '.csv.gz'))
FROM unnest(ARRAY['people', 'teams', 'salaries', 'allstarfull', 'awardsplayers', 'awardsshareplayers', 'battingpost',
    'collegeplaying']) AS file \gexec

CREATE TABLE people AS SELECT player_id, birth_year, birth_country, weight, height, bats, throws, debut FROM people_file;
ALTER TABLE people ADD PRIMARY KEY (player_id);
CREATE TABLE teams AS SELECT year_id, team_id, league, division, rank, games, wins, losses, division_won = 'Y' AS division_won,
    league_won = 'Y' AS league_won, series_won = 'Y' AS series_won, runs, home_runs, runs_against, earned_run_average, attendance,
    make_date(year_id, 12, 31) AS season_end FROM teams_file;
ALTER TABLE teams ADD PRIMARY KEY (year_id, team_id);
SELECT format('CREATE TABLE %I AS SELECT %s, make_date(year_id, 12, 31) AS season_end FROM %I_file WHERE year_id > 0 AND player_id IN '
    '(SELECT player_id FROM people); ALTER TABLE %I ADD FOREIGN KEY (player_id) REFERENCES people; CREATE INDEX ON %I (player_id, year_id)',
    "table", columns, file, "table", "table")
FROM (VALUES ('salary', 'salaries', 'player_id, year_id, team_id, salary'),
    ('all_star', 'allstarfull', 'player_id, year_id, team_id, played, position'),
    ('award', 'awardsplayers', 'player_id, year_id, award, tie = ''Y'' AS tie'),
    ('vote', 'awardsshareplayers', 'player_id, year_id, award, points, max_points, first_votes'),
    ('batting', 'battingpost', 'player_id, year_id, team_id, round, games, at_bats, runs, hits, doubles, triples, home_runs, '
        'runs_batted_in, stolen_bases, walks, strikeouts'),
    ('college', 'collegeplaying', 'player_id, year_id, school')) AS t("table", file, columns) \gexec
ALTER TABLE salary ADD FOREIGN KEY (year_id, team_id) REFERENCES teams, ADD PRIMARY KEY (year_id, team_id, player_id);
ALTER TABLE batting ADD FOREIGN KEY (year_id, team_id) REFERENCES teams, ADD PRIMARY KEY (player_id, year_id, round);
SELECT format('DROP TABLE %I', table_name) FROM information_schema.tables WHERE table_schema = :'schema' AND table_name LIKE '%\_file' \gexec

-- Who played in a year is who was paid in it; as of the year's end, about the year after.
CREATE TABLE season AS SELECT DISTINCT player_id, make_date(year_id + 1, 1, 1) AS as_of FROM salary;
ALTER TABLE season ADD PRIMARY KEY (player_id, as_of), ADD FOREIGN KEY (player_id) REFERENCES people;
CREATE VIEW all_star_next AS SELECT player_id, as_of, EXISTS (SELECT FROM all_star WHERE player_id = season.player_id
    AND year_id = extract(year FROM as_of)) AS target FROM season;
CREATE VIEW award_next AS SELECT player_id, as_of, EXISTS (SELECT FROM award WHERE player_id = season.player_id
    AND year_id = extract(year FROM as_of)) AS target FROM season;
CREATE VIEW salary_next AS SELECT player_id, as_of, ln(sum(salary)::float8) AS target FROM season JOIN salary USING (player_id)
    WHERE year_id = extract(year FROM as_of) GROUP BY 1, 2 HAVING sum(salary) > 0;

CREATE VIEW season_by_hand AS
SELECT t.*, extract(year FROM t.as_of) - p.birth_year AS age, p.birth_country, p.weight, p.height, p.bats, p.throws,
    t.as_of - p.debut AS since_debut, s.*, salary_last / nullif(salary_before, 0) AS rise, salary_last / nullif(average, 0) AS to_average,
    a.*, w.*, v.*, b.*, hits_all::float8 / nullif(at_bats_all, 0) AS batting_average, g.*, (SELECT count(DISTINCT school) FROM college
        WHERE player_id = t.player_id AND season_end < t.as_of) AS schools
FROM season t JOIN people p USING (player_id)
    JOIN (SELECT make_date(year_id + 1, 1, 1) AS as_of, avg(salary) AS average FROM salary GROUP BY 1) AS y USING (as_of),
    LATERAL (SELECT count(DISTINCT year_id) AS seasons, sum(salary) FILTER (WHERE season_end >= t.as_of - 365) AS salary_last,
        sum(salary) FILTER (WHERE season_end >= t.as_of - 731 AND season_end < t.as_of - 365) AS salary_before, max(salary) AS salary_max,
        avg(salary) FILTER (WHERE season_end >= t.as_of - 1096) AS salary_of_3_years, count(DISTINCT team_id) AS teams,
        (array_agg(team_id ORDER BY year_id DESC))[1] AS last_team,
        t.as_of - min(season_end) AS since_first_salary FROM salary WHERE player_id = t.player_id AND season_end < t.as_of) AS s,
    LATERAL (SELECT count(*) AS games_all, count(*) FILTER (WHERE season_end >= t.as_of - 365) AS all_star_1,
        count(*) FILTER (WHERE season_end >= t.as_of - 731) AS all_star_2,
        count(*) FILTER (WHERE season_end >= t.as_of - 1096) AS all_star_3,
        count(*) FILTER (WHERE season_end >= t.as_of - 1826) AS all_star_5, count(position) AS starts,
        count(position) FILTER (WHERE season_end >= t.as_of - 1096) AS starts_3, t.as_of - max(season_end) AS since_all_star,
        (array_agg(position ORDER BY year_id DESC) FILTER (WHERE position IS NOT NULL))[1] AS last_position
        FROM all_star WHERE player_id = t.player_id AND season_end < t.as_of) AS a,
    LATERAL (SELECT count(*) AS awards, count(*) FILTER (WHERE season_end >= t.as_of - 365) AS awards_1,
        count(*) FILTER (WHERE season_end >= t.as_of - 1096) AS awards_3, count(DISTINCT award) AS kinds,
        count(*) FILTER (WHERE award = 'Gold Glove') AS gloves, count(*) FILTER (WHERE award = 'Silver Slugger') AS sluggers,
        count(*) FILTER (WHERE award LIKE '%All-Star%') AS press_all_stars, t.as_of - max(season_end) AS since_award,
        (array_agg(award ORDER BY year_id DESC, award))[1] AS last_award
        FROM award WHERE player_id = t.player_id AND season_end < t.as_of) AS w,
    LATERAL (SELECT sum(points / max_points) AS share_all, sum(points / max_points) FILTER (WHERE season_end >= t.as_of - 365) AS share_1,
        sum(points / max_points) FILTER (WHERE season_end >= t.as_of - 1096) AS share_3, max(points / max_points) AS share_max,
        sum(first_votes) AS first_votes, t.as_of - max(season_end) AS since_votes
        FROM vote WHERE player_id = t.player_id AND season_end < t.as_of) AS v,
    LATERAL (SELECT count(*) AS rounds, count(*) FILTER (WHERE season_end >= t.as_of - 365) AS rounds_1, sum(at_bats) AS at_bats_all,
        sum(at_bats) FILTER (WHERE season_end >= t.as_of - 365) AS at_bats_1, sum(hits) AS hits_all, sum(home_runs) AS home_runs_all,
        sum(home_runs) FILTER (WHERE season_end >= t.as_of - 1096) AS home_runs_3, sum(runs_batted_in) AS runs_batted_in_all,
        t.as_of - max(season_end) AS since_batting FROM batting WHERE player_id = t.player_id AND season_end < t.as_of) AS b
    LEFT JOIN LATERAL (SELECT wins::float8 / games AS won, rank, division_won::int, series_won::int, attendance, league, runs, runs_against
        FROM salary JOIN teams USING (year_id, team_id) WHERE player_id = t.player_id AND salary.season_end < t.as_of
        ORDER BY year_id DESC, team_id LIMIT 1) AS g ON true;
CREATE VIEW all_star_next_by_hand AS SELECT * FROM all_star_next JOIN season_by_hand USING (player_id, as_of);
CREATE VIEW award_next_by_hand AS SELECT * FROM award_next JOIN season_by_hand USING (player_id, as_of);
CREATE VIEW salary_next_by_hand AS SELECT * FROM salary_next JOIN season_by_hand USING (player_id, as_of);
\endif

\if :movielens
CREATE TABLE movie (movie_id int PRIMARY KEY, year int, genres int, title_length int);
CREATE TABLE genre (genre_id int PRIMARY KEY, name text);
CREATE TABLE movie_genre (movie_id int REFERENCES movie, genre_id int REFERENCES genre, PRIMARY KEY (movie_id, genre_id));
CREATE TABLE ratings_file (user_id int, movie_id int, rating float8, at bigint);
CREATE TABLE tags_file (user_id int, movie_id int, length int, at bigint);
SELECT format('COPY %I FROM PROGRAM %L CSV HEADER', "table", format('gzip -dc %L', :'folder' || '/' || file || '.csv.gz'))
FROM (VALUES ('movie', 'movies'), ('genre', 'genres'), ('movie_genre', 'movie_genre'), ('ratings_file', 'ratings'),
    ('tags_file', 'tags')) AS t("table", file) \gexec
CREATE TABLE "user" AS SELECT DISTINCT user_id FROM ratings_file;
ALTER TABLE "user" ADD PRIMARY KEY (user_id);
CREATE TABLE rating AS SELECT DISTINCT ON (user_id, movie_id) user_id, movie_id, rating, to_timestamp(at) AT TIME ZONE 'UTC' AS rated_at
    FROM ratings_file ORDER BY user_id, movie_id, at;
CREATE TABLE tag AS SELECT user_id, movie_id, length, to_timestamp(at) AT TIME ZONE 'UTC' AS tagged_at FROM tags_file;
ALTER TABLE rating ADD FOREIGN KEY (user_id) REFERENCES "user", ADD FOREIGN KEY (movie_id) REFERENCES movie,
    ADD PRIMARY KEY (user_id, movie_id);
ALTER TABLE tag ADD FOREIGN KEY (user_id) REFERENCES "user", ADD FOREIGN KEY (movie_id) REFERENCES movie;
CREATE INDEX ON rating (user_id, rated_at);
CREATE INDEX ON rating (movie_id, rated_at);
DROP TABLE ratings_file, tags_file;
CREATE TABLE to_rate AS SELECT user_id, movie_id, rated_at AS as_of, rating AS target FROM rating;
ALTER TABLE to_rate ADD FOREIGN KEY (user_id) REFERENCES "user", ADD FOREIGN KEY (movie_id) REFERENCES movie,
    ADD PRIMARY KEY (user_id, movie_id);

-- How many will rate a film in the year that begins.
CREATE TABLE film AS SELECT DISTINCT movie_id, make_date(year, 1, 1) AS as_of FROM rating, generate_series(1997, 2015) AS year
    WHERE rated_at < make_date(year, 1, 1);
ALTER TABLE film ADD PRIMARY KEY (movie_id, as_of), ADD FOREIGN KEY (movie_id) REFERENCES movie;
CREATE VIEW ratings_next AS SELECT movie_id, as_of, ln(1 + (SELECT count(*) FROM rating WHERE movie_id = film.movie_id
    AND rated_at >= as_of AND rated_at < as_of + interval '1 year')::float8) AS target FROM film;

CREATE VIEW ratings_next_by_hand AS
SELECT t.*, extract(year FROM t.as_of) - m.year AS film_age, m.genres, m.title_length, f.*, n_1::float8 / nullif(n_2 - n_1, 0) AS growth,
    n_1::float8 / nullif(y.n, 0) AS share_of_all, y.n AS all_1, b.*
FROM ratings_next t JOIN movie m USING (movie_id),
    LATERAL (SELECT count(*) AS n_all, count(*) FILTER (WHERE rated_at >= t.as_of - interval '90 days') AS n_quarter,
        count(*) FILTER (WHERE rated_at >= t.as_of - interval '1 year') AS n_1,
        count(*) FILTER (WHERE rated_at >= t.as_of - interval '2 years') AS n_2,
        count(*) FILTER (WHERE rated_at >= t.as_of - interval '3 years') AS n_3, avg(rating) AS mean, stddev(rating) AS sd,
        avg(rating) FILTER (WHERE rated_at >= t.as_of - interval '1 year') AS mean_1,
        extract(epoch FROM t.as_of - min(rated_at)) AS since_first, extract(epoch FROM t.as_of - max(rated_at)) AS since_last
        FROM rating WHERE movie_id = t.movie_id AND rated_at < t.as_of) AS f,
    LATERAL (SELECT count(*) AS tags, count(*) FILTER (WHERE tagged_at >= t.as_of - interval '1 year') AS tags_1
        FROM tag WHERE movie_id = t.movie_id AND tagged_at < t.as_of) AS b
    JOIN LATERAL (SELECT count(*) AS n FROM rating WHERE rated_at >= t.as_of - interval '1 year' AND rated_at < t.as_of) AS y ON true;

CREATE VIEW to_rate_by_hand AS
SELECT t.*, m.year, m.genres, m.title_length, extract(year FROM t.as_of) - m.year AS film_age, u.*, f.*, g.*, b.*, d.*
FROM to_rate t JOIN movie m USING (movie_id),
    LATERAL (SELECT count(*) AS rated, avg(rating) AS user_mean, stddev(rating) AS user_sd, min(rating) AS user_min,
        max(rating) AS user_max, avg(rating) FILTER (WHERE rated_at >= t.as_of - interval '30 days') AS user_mean_30,
        count(*) FILTER (WHERE rated_at >= t.as_of - interval '1 day') AS rated_today,
        (array_agg(rating ORDER BY rated_at DESC))[1] AS user_last,
        extract(epoch FROM t.as_of - min(rated_at)) AS user_since, extract(epoch FROM t.as_of - max(rated_at)) AS user_last_at
        FROM rating WHERE user_id = t.user_id AND rated_at < t.as_of) AS u,
    LATERAL (SELECT count(*) AS film_rated, avg(rating) AS film_mean, stddev(rating) AS film_sd,
        avg(rating) FILTER (WHERE rated_at >= t.as_of - interval '365 days') AS film_mean_365,
        count(*) FILTER (WHERE rated_at >= t.as_of - interval '365 days') AS film_rated_365,
        (array_agg(rating ORDER BY rated_at DESC))[1] AS film_last, extract(epoch FROM t.as_of - min(rated_at)) AS film_since
        FROM rating WHERE movie_id = t.movie_id AND rated_at < t.as_of) AS f,
    LATERAL (SELECT avg(r.rating) AS user_mean_of_genres, count(*) AS rated_of_genres FROM rating r JOIN movie_genre o USING (movie_id)
        WHERE r.user_id = t.user_id AND r.rated_at < t.as_of
            AND o.genre_id IN (SELECT genre_id FROM movie_genre WHERE movie_id = t.movie_id)) AS g,
    LATERAL (SELECT avg(r.rating) AS user_mean_of_decade, count(*) AS rated_of_decade FROM rating r JOIN movie o USING (movie_id)
        WHERE r.user_id = t.user_id AND r.rated_at < t.as_of AND o.year / 10 = m.year / 10) AS d,
    LATERAL (SELECT count(*) AS tags FROM tag WHERE movie_id = t.movie_id AND tagged_at < t.as_of) AS b;
\endif
ANALYZE;
