-- The rows that aggregates train on: a type of ours, so that engines which ship partial aggregates can ship it.

CREATE TYPE btml.training_rows;
CREATE FUNCTION btml_internal.training_rows_in(cstring) RETURNS btml.training_rows
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_training_rows_in';
CREATE FUNCTION btml_internal.training_rows_out(btml.training_rows) RETURNS cstring
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_training_rows_out';
CREATE FUNCTION btml_internal.training_rows_recv(internal) RETURNS btml.training_rows
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_training_rows_recv';
CREATE FUNCTION btml_internal.training_rows_send(btml.training_rows) RETURNS bytea
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_training_rows_send';
CREATE TYPE btml.training_rows (
    INPUT = btml_internal.training_rows_in, OUTPUT = btml_internal.training_rows_out, RECEIVE = btml_internal.training_rows_recv,
    SEND = btml_internal.training_rows_send, INTERNALLENGTH = VARIABLE, ALIGNMENT = int4, STORAGE = extended
);
COMMENT ON TYPE btml.training_rows IS 'transition state of aggregates that train models: the rows collected so far';
COMMENT ON FUNCTION btml_internal.training_rows_in(cstring) IS 'input of btml.training_rows';
COMMENT ON FUNCTION btml_internal.training_rows_out(btml.training_rows) IS 'output of btml.training_rows';
COMMENT ON FUNCTION btml_internal.training_rows_recv(internal) IS 'binary input of btml.training_rows';
COMMENT ON FUNCTION btml_internal.training_rows_send(btml.training_rows) IS 'binary output of btml.training_rows';

CREATE FUNCTION btml_internal.training_rows_accumulate(btml.training_rows, float8, float8[]) RETURNS btml.training_rows
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_training_rows_accumulate';
CREATE FUNCTION btml_internal.training_rows_accumulate(btml.training_rows, float8, float8[], float8) RETURNS btml.training_rows
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_training_rows_accumulate';
CREATE FUNCTION btml_internal.training_rows_accumulate(btml.training_rows, boolean, float8[]) RETURNS btml.training_rows
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_training_rows_accumulate_boolean';
CREATE FUNCTION btml_internal.training_rows_accumulate(btml.training_rows, boolean, float8[], float8) RETURNS btml.training_rows
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_training_rows_accumulate_boolean';
CREATE FUNCTION btml_internal.training_rows_accumulate(btml.training_rows, text, float8[]) RETURNS btml.training_rows
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_training_rows_accumulate_label';
CREATE FUNCTION btml_internal.training_rows_accumulate(btml.training_rows, text, float8[], float8) RETURNS btml.training_rows
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_training_rows_accumulate_label';
CREATE FUNCTION btml_internal.training_rows_combine(btml.training_rows, btml.training_rows) RETURNS btml.training_rows
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_training_rows_combine';
COMMENT ON FUNCTION btml_internal.training_rows_accumulate(btml.training_rows, float8, float8[]) IS 'transition function of aggregates that train models';
COMMENT ON FUNCTION btml_internal.training_rows_accumulate(btml.training_rows, float8, float8[], float8) IS 'transition function of aggregates that train models';
COMMENT ON FUNCTION btml_internal.training_rows_accumulate(btml.training_rows, boolean, float8[]) IS 'transition function of aggregates that train models';
COMMENT ON FUNCTION btml_internal.training_rows_accumulate(btml.training_rows, boolean, float8[], float8) IS 'transition function of aggregates that train models';
COMMENT ON FUNCTION btml_internal.training_rows_accumulate(btml.training_rows, text, float8[]) IS 'transition function of aggregates that train models';
COMMENT ON FUNCTION btml_internal.training_rows_accumulate(btml.training_rows, text, float8[], float8) IS 'transition function of aggregates that train models';
COMMENT ON FUNCTION btml_internal.training_rows_combine(btml.training_rows, btml.training_rows) IS 'combine function of aggregates that train models';
