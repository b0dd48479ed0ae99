-- Generalised linear models.

CREATE FUNCTION btml.linear_fit(source text, target name, features name[] DEFAULT NULL,
    categorical name[] DEFAULT NULL, family text DEFAULT 'auto', penalty float8 DEFAULT 0, l1_ratio float8 DEFAULT 0,
    std_error text DEFAULT 'model', iterations numeric DEFAULT 100, holdout name DEFAULT NULL,
    holdout_fraction float8 DEFAULT NULL, order_by name DEFAULT NULL, group_by name DEFAULT NULL,
    weight name DEFAULT NULL, "offset" name DEFAULT NULL, verbose boolean DEFAULT false, options btml.json DEFAULT NULL,
    exclude name[] DEFAULT NULL, seed numeric DEFAULT 0, args text[] DEFAULT NULL)
    RETURNS btml.model
LANGUAGE C VOLATILE CALLED ON NULL INPUT COST 1000000 AS 'MODULE_PATHNAME', 'btml_linear_fit';
COMMENT ON FUNCTION btml.linear_fit(text, name, name[], name[], text, float8, float8, text, numeric, name, float8, name, name, name, name, boolean, btml.json, name[], numeric, text[]) IS
'a generalised linear model over the rows of a source (McCullagh, Nelder: Generalized Linear Models, 1989): least squares, logistic,
Poisson and gamma regression; family: auto (binomial for two labels, gaussian for numbers), gaussian, binomial, poisson, gamma;
penalty and l1_ratio: ridge, lasso and elastic net (Friedman, Hastie, Tibshirani 2010); std_error: model or robust, clustered by
group_by; offset: added to scores, as ln(exposure); text, enum, boolean: categories beside that of reference, the most frequent; a NULL is the mean and an indicator; same
source, same options: same model; errors name the option and the valid values; options: contrib_docs/linear.md';

CREATE FUNCTION btml.coefficients(model btml.model, confidence float8 DEFAULT 0.95, OUT feature text, OUT category text,
    OUT missing boolean, OUT estimate float8, OUT std_error float8, OUT statistic float8, OUT p_value float8, OUT lower float8, OUT upper float8)
    RETURNS SETOF record
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE ROWS 20 AS 'MODULE_PATHNAME', 'btml_coefficients';
COMMENT ON FUNCTION btml.coefficients(btml.model, float8) IS
'coefficients of a linear model on the scale of its link, in the features'' units: "(intercept)" first, then the features in the
source''s order, each category beside that of reference, and a row that is missing for what NULL adds; statistic: estimate over
std_error, by Student''s t of gaussian and gamma, else normal; p_value: of the estimate being 0, two-sided; lower, upper: the
interval of this confidence; estimate NULL: dropped, being constant or following from features before it; std_error and what
follows NULL with a penalty; no rows for NULL; error 42804 for another kind of model';

-- One model a group, by an aggregate.
CREATE FUNCTION btml_internal.linear_fit_accumulate(btml.training_rows, float8, float8[], btml.json) RETURNS btml.training_rows
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_linear_fit_accumulate';
CREATE FUNCTION btml_internal.linear_fit_accumulate(btml.training_rows, float8, float8[], btml.json, float8) RETURNS btml.training_rows
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_linear_fit_accumulate';
CREATE FUNCTION btml_internal.linear_fit_accumulate(btml.training_rows, boolean, float8[], btml.json) RETURNS btml.training_rows
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_linear_fit_accumulate_boolean';
CREATE FUNCTION btml_internal.linear_fit_accumulate(btml.training_rows, boolean, float8[], btml.json, float8) RETURNS btml.training_rows
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_linear_fit_accumulate_boolean';
CREATE FUNCTION btml_internal.linear_fit_accumulate(btml.training_rows, text, float8[], btml.json) RETURNS btml.training_rows
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_linear_fit_accumulate_label';
CREATE FUNCTION btml_internal.linear_fit_accumulate(btml.training_rows, text, float8[], btml.json, float8) RETURNS btml.training_rows
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_linear_fit_accumulate_label';
CREATE FUNCTION btml_internal.linear_fit_final(btml.training_rows) RETURNS btml.model
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_linear_fit_final';
COMMENT ON FUNCTION btml_internal.linear_fit_accumulate(btml.training_rows, float8, float8[], btml.json) IS 'transition function of btml.linear_fit_agg';
COMMENT ON FUNCTION btml_internal.linear_fit_accumulate(btml.training_rows, float8, float8[], btml.json, float8) IS 'transition function of btml.linear_fit_agg';
COMMENT ON FUNCTION btml_internal.linear_fit_accumulate(btml.training_rows, boolean, float8[], btml.json) IS 'transition function of btml.linear_fit_agg';
COMMENT ON FUNCTION btml_internal.linear_fit_accumulate(btml.training_rows, boolean, float8[], btml.json, float8) IS 'transition function of btml.linear_fit_agg';
COMMENT ON FUNCTION btml_internal.linear_fit_accumulate(btml.training_rows, text, float8[], btml.json) IS 'transition function of btml.linear_fit_agg';
COMMENT ON FUNCTION btml_internal.linear_fit_accumulate(btml.training_rows, text, float8[], btml.json, float8) IS 'transition function of btml.linear_fit_agg';
COMMENT ON FUNCTION btml_internal.linear_fit_final(btml.training_rows) IS 'final function of btml.linear_fit_agg';

CREATE AGGREGATE btml.linear_fit_agg(y float8, x float8[]) (
    SFUNC = btml_internal.training_rows_accumulate, STYPE = btml.training_rows, SSPACE = 2048, COMBINEFUNC = btml_internal.training_rows_combine,
    FINALFUNC = btml_internal.linear_fit_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.linear_fit_agg(y float8, x float8[], options btml.json) (
    SFUNC = btml_internal.linear_fit_accumulate, STYPE = btml.training_rows, SSPACE = 2048, COMBINEFUNC = btml_internal.training_rows_combine,
    FINALFUNC = btml_internal.linear_fit_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.linear_fit_agg(y float8, x float8[], options btml.json, weight float8) (
    SFUNC = btml_internal.linear_fit_accumulate, STYPE = btml.training_rows, SSPACE = 2048, COMBINEFUNC = btml_internal.training_rows_combine,
    FINALFUNC = btml_internal.linear_fit_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.linear_fit_agg(y boolean, x float8[]) (
    SFUNC = btml_internal.training_rows_accumulate, STYPE = btml.training_rows, SSPACE = 2048, COMBINEFUNC = btml_internal.training_rows_combine,
    FINALFUNC = btml_internal.linear_fit_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.linear_fit_agg(y boolean, x float8[], options btml.json) (
    SFUNC = btml_internal.linear_fit_accumulate, STYPE = btml.training_rows, SSPACE = 2048, COMBINEFUNC = btml_internal.training_rows_combine,
    FINALFUNC = btml_internal.linear_fit_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.linear_fit_agg(y boolean, x float8[], options btml.json, weight float8) (
    SFUNC = btml_internal.linear_fit_accumulate, STYPE = btml.training_rows, SSPACE = 2048, COMBINEFUNC = btml_internal.training_rows_combine,
    FINALFUNC = btml_internal.linear_fit_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.linear_fit_agg(y text, x float8[]) (
    SFUNC = btml_internal.training_rows_accumulate, STYPE = btml.training_rows, SSPACE = 2048, COMBINEFUNC = btml_internal.training_rows_combine,
    FINALFUNC = btml_internal.linear_fit_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.linear_fit_agg(y text, x float8[], options btml.json) (
    SFUNC = btml_internal.linear_fit_accumulate, STYPE = btml.training_rows, SSPACE = 2048, COMBINEFUNC = btml_internal.training_rows_combine,
    FINALFUNC = btml_internal.linear_fit_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.linear_fit_agg(y text, x float8[], options btml.json, weight float8) (
    SFUNC = btml_internal.linear_fit_accumulate, STYPE = btml.training_rows, SSPACE = 2048, COMBINEFUNC = btml_internal.training_rows_combine,
    FINALFUNC = btml_internal.linear_fit_final, PARALLEL = SAFE
);
COMMENT ON AGGREGATE btml.linear_fit_agg(float8, float8[]) IS
'a linear model for each group of any query: y is the target, a number; x the features x1 ... xd by position; a NULL element of x is a missing value, a NULL y skips the row; NULL for no rows, and with a NOTICE where no finite coefficients exist, as for one label';
COMMENT ON AGGREGATE btml.linear_fit_agg(float8, float8[], btml.json) IS
'the same with options: a JSON object with names and values of btml.linear_fit''s options family, penalty, l1_ratio, std_error and iterations, the same in every row';
COMMENT ON AGGREGATE btml.linear_fit_agg(float8, float8[], btml.json, float8) IS
'the same with options, and with what a row counts, not negative';
COMMENT ON AGGREGATE btml.linear_fit_agg(boolean, float8[]) IS
'logistic regression of a boolean for each group of any query, otherwise as of numbers';
COMMENT ON AGGREGATE btml.linear_fit_agg(boolean, float8[], btml.json) IS
'the same of a boolean, with options';
COMMENT ON AGGREGATE btml.linear_fit_agg(boolean, float8[], btml.json, float8) IS
'the same of a boolean, with options, and with what a row counts, not negative';
COMMENT ON AGGREGATE btml.linear_fit_agg(text, float8[]) IS
'logistic regression of two labels, in their bytewise order, for each group of any query, otherwise as of numbers';
COMMENT ON AGGREGATE btml.linear_fit_agg(text, float8[], btml.json) IS
'the same of labels, with options';
COMMENT ON AGGREGATE btml.linear_fit_agg(text, float8[], btml.json, float8) IS
'the same of labels, with options, and with what a row counts, not negative';
