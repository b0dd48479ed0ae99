-- SumProd queries over joins that are never materialised.

CREATE FUNCTION btml.explain_join(source text) RETURNS SETOF text
LANGUAGE C VOLATILE CALLED ON NULL INPUT AS 'MODULE_PATHNAME', 'btml_explain_join';
COMMENT ON FUNCTION btml.explain_join(text) IS
'how btml reads a source (a table, a view or a SELECT): base relations with their rows before and after reduction, join tree with its keys, the bags of a cyclic join with their AGM bounds, fractional hypertree width, what was not factorised and why, exact rows of the join, training strategy; the source is read, not materialised';

CREATE FUNCTION btml.sumprod(source text, semiring text DEFAULT 'sum_product') RETURNS float8
LANGUAGE C VOLATILE CALLED ON NULL INPUT AS 'MODULE_PATHNAME', 'btml_sumprod';
COMMENT ON FUNCTION btml.sumprod(text, text) IS
'sum over the join''s rows of the product over the source''s output columns, by message passing (Cromp, Samadian, Pruhs: Relational Boosted Regression Trees, section 2), in time near-linear in the tables, not in the join (of a cyclic join: in its largest bag); SELECT FROM … counts rows, exactly (error 22003 beyond 2^53); semiring: sum_product, max_product (factors not negative, else 22023), min_plus, max_plus, or_and; a NULL factor skips the row; an empty join gives 0, 0, Infinity, -Infinity, 0';

CREATE FUNCTION btml.sumprod_by(source text, group_by name[], semiring text DEFAULT 'sum_product')
RETURNS SETOF record
LANGUAGE C VOLATILE CALLED ON NULL INPUT AS 'MODULE_PATHNAME', 'btml_sumprod_by';
COMMENT ON FUNCTION btml.sumprod_by(text, name[], text) IS
'btml.sumprod for each combination of the group columns, which are output columns of one base relation and not factors; give the column list: AS t(region text, value float8)';

CREATE FUNCTION btml.sumprod_accumulate(float8[], float8[]) RETURNS float8[]
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_sumprod_accumulate';
CREATE FUNCTION btml.sumprod_accumulate(float8[], float8[], text) RETURNS float8[]
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_sumprod_accumulate';
CREATE FUNCTION btml.sumprod_combine(float8[], float8[]) RETURNS float8[]
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_sumprod_combine';
CREATE FUNCTION btml.sumprod_final(float8[]) RETURNS float8
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_sumprod_final';
COMMENT ON FUNCTION btml.sumprod_accumulate(float8[], float8[]) IS 'transition function of btml.sumprod_agg';
COMMENT ON FUNCTION btml.sumprod_accumulate(float8[], float8[], text) IS 'transition function of btml.sumprod_agg';
COMMENT ON FUNCTION btml.sumprod_combine(float8[], float8[]) IS 'combine function of btml.sumprod_agg';
COMMENT ON FUNCTION btml.sumprod_final(float8[]) IS 'final function of btml.sumprod_agg';

CREATE AGGREGATE btml.sumprod_agg(factors float8[]) (
    SFUNC = btml.sumprod_accumulate, STYPE = float8[], COMBINEFUNC = btml.sumprod_combine,
    FINALFUNC = btml.sumprod_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.sumprod_agg(factors float8[], semiring text) (
    SFUNC = btml.sumprod_accumulate, STYPE = float8[], COMBINEFUNC = btml.sumprod_combine,
    FINALFUNC = btml.sumprod_final, PARALLEL = SAFE
);
COMMENT ON AGGREGATE btml.sumprod_agg(float8[]) IS
'sum over the rows of the product of the array''s elements; a NULL array or element skips the row; NULL when no row is left';
COMMENT ON AGGREGATE btml.sumprod_agg(float8[], text) IS
'the same over a semiring: sum_product, max_product, min_plus, max_plus or or_and, the same in every row';
