-- Loads the airports of this folder into a new schema `openflights`. Run by psql from the top of the source tree:
--     psql -f test/data/openflights/load.sql
-- Needs gzip where psql runs, and no superuser.
\set ON_ERROR_STOP on
BEGIN;
CREATE SCHEMA openflights;
SET LOCAL search_path = openflights;

-- One row an airport of Europe and around: degrees north and east, and how many others are reached without a stop.
CREATE TABLE airports (lat float8, lon float8, destinations int);
\copy airports FROM PROGRAM 'gzip -dc test/data/openflights/airports.csv.gz' (FORMAT csv, HEADER)
COMMIT;
ANALYZE openflights.airports;
