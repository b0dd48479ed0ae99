-- How far off predictions are.

CREATE TYPE btml.bounds AS (lower float8, upper float8);
COMMENT ON TYPE btml.bounds IS 'an interval: its two ends, which belong to it';
CREATE TYPE btml.student_t AS (location float8, scale float8, df float8);
COMMENT ON TYPE btml.student_t IS
'a Student t distribution, about location; its standard deviation is scale * sqrt(df / (df - 2)) for df > 2, and infinite else';

CREATE FUNCTION btml.predict_interval(model btml.model, input record, level float8 DEFAULT 0.9,
    of text DEFAULT 'observation') RETURNS btml.bounds
LANGUAGE C STABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'btml_predict_interval_record';
CREATE FUNCTION btml.predict_interval(model btml.model, features float8[], level float8 DEFAULT 0.9,
    of text DEFAULT 'observation') RETURNS btml.bounds
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'btml_predict_interval_array';
COMMENT ON FUNCTION btml.predict_interval(btml.model, record, float8, text) IS
'interval that the target of a row is in with probability level, in the target''s units, by how far off the model is for the rows in btml.summary(model)->''calibration''; an end is infinite, with a NOTICE, where they are too few for the level; of a gaussian linear model without a penalty by Student''s t; of ''mean'' the interval of what such targets are on average, for linear models of all families without a penalty, and Gaussian processes (normal); features and errors as for btml.predict; error 22023 for a model without a calibration, 42804 for objectives binary, multiclass and rank; use it in LATERAL for its fields';
COMMENT ON FUNCTION btml.predict_interval(btml.model, float8[], float8, text) IS
'interval of the target for features by position, as btml.predict takes them; the result as for a row';

CREATE FUNCTION btml.predict_quantile(model btml.model, input record, q float8) RETURNS float8
LANGUAGE C STABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'btml_predict_quantile_record';
CREATE FUNCTION btml.predict_quantile(model btml.model, features float8[], q float8) RETURNS float8
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'btml_predict_quantile_array';
COMMENT ON FUNCTION btml.predict_quantile(btml.model, record, float8) IS
'number that the target of a row is at most with probability q, or for q < 0.5 at least with probability 1 - q: the ends of btml.predict_interval; features and errors as there';
COMMENT ON FUNCTION btml.predict_quantile(btml.model, float8[], float8) IS
'quantile of the target for features by position, as btml.predict takes them; the result as for a row';

CREATE FUNCTION btml.predict_distribution(model btml.model, input record) RETURNS btml.student_t
LANGUAGE C STABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'btml_predict_distribution_record';
CREATE FUNCTION btml.predict_distribution(model btml.model, features float8[]) RETURNS btml.student_t
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'btml_predict_distribution_array';
COMMENT ON FUNCTION btml.predict_distribution(btml.model, record) IS
'distribution of the target for a row: the Student t about the prediction that is the likeliest for how far off the model is, for the same rows as btml.predict_interval goes by; btml.nll_student_t scores it; features and errors as there; use it in LATERAL for its fields';
COMMENT ON FUNCTION btml.predict_distribution(btml.model, float8[]) IS
'distribution of the target for features by position, as btml.predict takes them; the result as for a row';
