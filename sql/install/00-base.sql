-- Version and progress.

-- Every function reads with its caller's rights, so everybody may call them.
GRANT USAGE ON SCHEMA btml TO PUBLIC;

CREATE FUNCTION btml.version() RETURNS text
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_version';
COMMENT ON FUNCTION btml.version() IS 'version of the loaded btml library';

CREATE FUNCTION btml.progress_lines(OUT pid integer, OUT function text, OUT phase text, OUT done bigint,
    OUT total bigint, OUT started_at timestamptz, OUT eta interval) RETURNS SETOF record
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'btml_progress_lines';
COMMENT ON FUNCTION btml.progress_lines() IS 'rows of the view btml.progress';

CREATE VIEW btml.progress AS SELECT pid, function, phase, done, total, started_at, eta FROM btml.progress_lines();
COMMENT ON VIEW btml.progress IS
'one row per running btml call: what it is doing, how much of the phase is done (in units of the phase), when the call began, and the time left at the rate so far (NULL where nothing can be said); empty if shared memory had no room for it';
GRANT SELECT ON btml.progress TO PUBLIC;

CREATE TYPE btml.estimate AS (value float8, std_error float8, lower float8, upper float8, evaluations bigint);
COMMENT ON TYPE btml.estimate IS
'an estimate: its standard error (or a bound on it), bounds that hold with the probability asked for, and the amount of work, in units that the function names';

CREATE TYPE btml.normal AS (mean float8, sd float8);
COMMENT ON TYPE btml.normal IS 'a normal distribution: its mean and its standard deviation';
