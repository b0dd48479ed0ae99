-- Loads the baseball tables of this folder into a new schema `baseball`. Run by psql from the top of the source tree:
--     psql -f test/data/baseball/load.sql
-- Needs gzip where psql runs, and no superuser.
\set ON_ERROR_STOP on
BEGIN;
CREATE SCHEMA baseball;
SET LOCAL search_path = baseball;

-- One row a player: born where and when, body, batting and throwing hand, first game.
CREATE TABLE people (
    playerid text PRIMARY KEY, birthyear int, birthcountry text, namefirst text, namelast text, weight int, height int,
    bats text, throws text, debut date);

-- One row a team and season; g, w, l, r, hr, era, attendance are those of the season.
CREATE TABLE teams (
    yearid int, lgid text, teamid text, divid text, rank int, g int, w int, l int, wswin text, r int, hr int, era float8,
    name text, park text, attendance int, PRIMARY KEY (yearid, teamid));

-- What a player was paid by a team in a season, in dollars.
CREATE TABLE salaries (
    yearid int, teamid text, lgid text, playerid text REFERENCES people, salary int,
    PRIMARY KEY (yearid, teamid, playerid), FOREIGN KEY (yearid, teamid) REFERENCES teams);

CREATE TABLE awardsplayers (
    playerid text REFERENCES people, awardid text, yearid int, lgid text, tie text, notes text);
CREATE INDEX ON awardsplayers (playerid, yearid);

-- One row a player and postseason round: games, at bats, runs, hits, doubles, triples, home runs, …
CREATE TABLE battingpost (
    yearid int, round text, playerid text REFERENCES people, teamid text, lgid text, g int, ab int, r int, h int,
    "2b" int, "3b" int, hr int, rbi int, sb int, cs int, bb int, so int, ibb int, hbp int, sh int, sf int, gidp int,
    PRIMARY KEY (playerid, yearid, round));

\copy people FROM PROGRAM 'gzip -dc test/data/baseball/people.csv.gz' (FORMAT csv, HEADER)
\copy teams FROM PROGRAM 'gzip -dc test/data/baseball/teams.csv.gz' (FORMAT csv, HEADER)
\copy salaries FROM PROGRAM 'gzip -dc test/data/baseball/salaries.csv.gz' (FORMAT csv, HEADER)
\copy awardsplayers FROM PROGRAM 'gzip -dc test/data/baseball/awardsplayers.csv.gz' (FORMAT csv, HEADER)
\copy battingpost FROM PROGRAM 'gzip -dc test/data/baseball/battingpost.csv.gz' (FORMAT csv, HEADER)
COMMIT;
ANALYZE baseball.people, baseball.teams, baseball.salaries, baseball.awardsplayers, baseball.battingpost;
