-- What servers hold and answer while another one leads a fit over their rows.
CREATE TYPE btml_internal.answers;
CREATE FUNCTION btml_internal.answers_in(cstring) RETURNS btml_internal.answers
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_answers_in';
CREATE FUNCTION btml_internal.answers_out(btml_internal.answers) RETURNS cstring
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_answers_out';
CREATE FUNCTION btml_internal.answers_recv(internal) RETURNS btml_internal.answers
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_answers_recv';
CREATE FUNCTION btml_internal.answers_send(btml_internal.answers) RETURNS bytea
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_answers_send';
CREATE TYPE btml_internal.answers (
    INPUT = btml_internal.answers_in, OUTPUT = btml_internal.answers_out, RECEIVE = btml_internal.answers_recv,
    SEND = btml_internal.answers_send, INTERNALLENGTH = VARIABLE, ALIGNMENT = int4, STORAGE = extended
);
COMMENT ON TYPE btml_internal.answers IS 'what backends that hold rows of a fit answer';
COMMENT ON FUNCTION btml_internal.answers_in(cstring) IS 'input of btml_internal.answers';
COMMENT ON FUNCTION btml_internal.answers_out(btml_internal.answers) IS 'output of btml_internal.answers';
COMMENT ON FUNCTION btml_internal.answers_recv(internal) IS 'binary input of btml_internal.answers';
COMMENT ON FUNCTION btml_internal.answers_send(btml_internal.answers) IS 'binary output of btml_internal.answers';
CREATE FUNCTION btml_internal.answers_combine(btml_internal.answers, btml_internal.answers) RETURNS btml_internal.answers
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_answers_combine';
COMMENT ON FUNCTION btml_internal.answers_combine(btml_internal.answers, btml_internal.answers) IS 'combine function of btml_internal.hold_rows and exchange_messages';
CREATE FUNCTION btml_internal.hold_rows_accumulate(btml_internal.answers, bytea, float8[]) RETURNS btml_internal.answers
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'btml_hold_rows_accumulate';
CREATE FUNCTION btml_internal.hold_rows_accumulate(btml_internal.answers, bytea, float8[], text[]) RETURNS btml_internal.answers
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'btml_hold_rows_accumulate';
CREATE FUNCTION btml_internal.exchange_messages_accumulate(btml_internal.answers, bytea) RETURNS btml_internal.answers
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'btml_exchange_messages_accumulate';
COMMENT ON FUNCTION btml_internal.hold_rows_accumulate(btml_internal.answers, bytea, float8[]) IS 'transition function of btml_internal.hold_rows';
COMMENT ON FUNCTION btml_internal.hold_rows_accumulate(btml_internal.answers, bytea, float8[], text[]) IS 'transition function of btml_internal.hold_rows';
COMMENT ON FUNCTION btml_internal.exchange_messages_accumulate(btml_internal.answers, bytea) IS 'transition function of btml_internal.exchange_messages';
-- An engine ships what it takes to be immutable, as aggregates are.
CREATE AGGREGATE btml_internal.hold_rows(command bytea, numbers float8[]) (
    SFUNC = btml_internal.hold_rows_accumulate, STYPE = btml_internal.answers, COMBINEFUNC = btml_internal.answers_combine
);
CREATE AGGREGATE btml_internal.hold_rows(command bytea, numbers float8[], texts text[]) (
    SFUNC = btml_internal.hold_rows_accumulate, STYPE = btml_internal.answers, COMBINEFUNC = btml_internal.answers_combine
);
CREATE AGGREGATE btml_internal.exchange_messages(command bytea) (
    SFUNC = btml_internal.exchange_messages_accumulate, STYPE = btml_internal.answers, COMBINEFUNC = btml_internal.answers_combine
);
COMMENT ON AGGREGATE btml_internal.hold_rows(bytea, float8[]) IS 'collects rows of a fit that another server leads, until the transaction ends';
COMMENT ON AGGREGATE btml_internal.hold_rows(bytea, float8[], text[]) IS 'collects rows of a fit that another server leads, until the transaction ends';
COMMENT ON AGGREGATE btml_internal.exchange_messages(bytea) IS 'brings messages of the leading server to the rows that this one holds, and answers';
-- A shipped query makes the numbers that reading the column makes.
CREATE FUNCTION btml_internal.number(value numeric, column_name json) RETURNS float8 LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_number_numeric';
CREATE FUNCTION btml_internal.number(date) RETURNS float8 LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_number_date';
CREATE FUNCTION btml_internal.number(time) RETURNS float8 LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_number_time';
CREATE FUNCTION btml_internal.number(timestamp) RETURNS float8 LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_number_timestamp';
CREATE FUNCTION btml_internal.number(timestamptz) RETURNS float8 LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_number_timestamp';
CREATE FUNCTION btml_internal.number(interval) RETURNS float8 LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_number_interval';
CREATE FUNCTION btml_internal.number(tid) RETURNS float8 LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_number_tid';
COMMENT ON FUNCTION btml_internal.number(numeric, json) IS 'the nearest float8; beyond the greatest an error that names the column, a string of JSON, which unlike a text has no collation and can be shipped';
COMMENT ON FUNCTION btml_internal.number(date) IS 'seconds since 1970, as a feature of this type has them';
COMMENT ON FUNCTION btml_internal.number(time) IS 'seconds since midnight, as a feature of this type has them';
COMMENT ON FUNCTION btml_internal.number(timestamp) IS 'seconds since 1970, as a feature of this type has them';
COMMENT ON FUNCTION btml_internal.number(timestamptz) IS 'seconds since 1970, as a feature of this type has them';
COMMENT ON FUNCTION btml_internal.number(interval) IS 'seconds, as a feature of this type has them';
COMMENT ON FUNCTION btml_internal.number(tid) IS 'the number of the block times 65536 plus the number of the row in it';
-- Messages are trusted: only who leads a fit may send them.
REVOKE EXECUTE ON FUNCTION btml_internal.hold_rows(bytea, float8[]), btml_internal.hold_rows(bytea, float8[], text[]),
    btml_internal.exchange_messages(bytea) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION btml_internal.hold_rows_accumulate(btml_internal.answers, bytea, float8[]),
    btml_internal.hold_rows_accumulate(btml_internal.answers, bytea, float8[], text[]),
    btml_internal.exchange_messages_accumulate(btml_internal.answers, bytea) FROM PUBLIC;
