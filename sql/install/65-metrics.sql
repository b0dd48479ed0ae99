-- Metrics of predictions as aggregates. Transition types are types of ours, so that engines which ship partial aggregates can
-- ship them: exact sums for metrics that are means of terms, rows for those that rank.

CREATE TYPE btml.metric_sums;
CREATE FUNCTION btml_internal.metric_sums_in(cstring) RETURNS btml.metric_sums
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_metric_sums_in';
CREATE FUNCTION btml_internal.metric_sums_out(btml.metric_sums) RETURNS cstring
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_metric_sums_out';
CREATE FUNCTION btml_internal.metric_sums_recv(internal) RETURNS btml.metric_sums
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_metric_sums_recv';
CREATE FUNCTION btml_internal.metric_sums_send(btml.metric_sums) RETURNS bytea
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_metric_sums_send';
CREATE TYPE btml.metric_sums (
    INPUT = btml_internal.metric_sums_in, OUTPUT = btml_internal.metric_sums_out, RECEIVE = btml_internal.metric_sums_recv,
    SEND = btml_internal.metric_sums_send, INTERNALLENGTH = VARIABLE, ALIGNMENT = int4, STORAGE = extended
);
COMMENT ON TYPE btml.metric_sums IS 'transition state of metrics that are means: exact sums of their terms';
COMMENT ON FUNCTION btml_internal.metric_sums_in(cstring) IS 'input of btml.metric_sums';
COMMENT ON FUNCTION btml_internal.metric_sums_out(btml.metric_sums) IS 'output of btml.metric_sums';
COMMENT ON FUNCTION btml_internal.metric_sums_recv(internal) IS 'binary input of btml.metric_sums';
COMMENT ON FUNCTION btml_internal.metric_sums_send(btml.metric_sums) IS 'binary output of btml.metric_sums';

CREATE FUNCTION btml_internal.metric_sums_combine(btml.metric_sums, btml.metric_sums) RETURNS btml.metric_sums
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_metric_sums_combine';
CREATE FUNCTION btml_internal.metric_sums_final(btml.metric_sums) RETURNS float8
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_metric_sums_final';
COMMENT ON FUNCTION btml_internal.metric_sums_combine(btml.metric_sums, btml.metric_sums) IS 'combine function of metrics that are means';
COMMENT ON FUNCTION btml_internal.metric_sums_final(btml.metric_sums) IS 'final function of metrics that are means';

CREATE TYPE btml.metric_rows;
CREATE FUNCTION btml_internal.metric_rows_in(cstring) RETURNS btml.metric_rows
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_metric_rows_in';
CREATE FUNCTION btml_internal.metric_rows_out(btml.metric_rows) RETURNS cstring
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_metric_rows_out';
CREATE FUNCTION btml_internal.metric_rows_recv(internal) RETURNS btml.metric_rows
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_metric_rows_recv';
CREATE FUNCTION btml_internal.metric_rows_send(btml.metric_rows) RETURNS bytea
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_metric_rows_send';
CREATE TYPE btml.metric_rows (
    INPUT = btml_internal.metric_rows_in, OUTPUT = btml_internal.metric_rows_out, RECEIVE = btml_internal.metric_rows_recv,
    SEND = btml_internal.metric_rows_send, INTERNALLENGTH = VARIABLE, ALIGNMENT = int4, STORAGE = extended
);
COMMENT ON TYPE btml.metric_rows IS 'transition state of metrics that rank: the rows collected so far';
COMMENT ON FUNCTION btml_internal.metric_rows_in(cstring) IS 'input of btml.metric_rows';
COMMENT ON FUNCTION btml_internal.metric_rows_out(btml.metric_rows) IS 'output of btml.metric_rows';
COMMENT ON FUNCTION btml_internal.metric_rows_recv(internal) IS 'binary input of btml.metric_rows';
COMMENT ON FUNCTION btml_internal.metric_rows_send(btml.metric_rows) IS 'binary output of btml.metric_rows';

CREATE FUNCTION btml_internal.metric_rows_combine(btml.metric_rows, btml.metric_rows) RETURNS btml.metric_rows
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_metric_rows_combine';
CREATE FUNCTION btml_internal.auc_final(btml.metric_rows) RETURNS float8
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_auc_final';
CREATE FUNCTION btml_internal.average_precision_final(btml.metric_rows) RETURNS float8
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_average_precision_final';
CREATE FUNCTION btml_internal.ndcg_final(btml.metric_rows) RETURNS float8
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_ndcg_final';
COMMENT ON FUNCTION btml_internal.metric_rows_combine(btml.metric_rows, btml.metric_rows) IS 'combine function of metrics that rank';
COMMENT ON FUNCTION btml_internal.auc_final(btml.metric_rows) IS 'final function of btml.auc';
COMMENT ON FUNCTION btml_internal.average_precision_final(btml.metric_rows) IS 'final function of btml.average_precision';
COMMENT ON FUNCTION btml_internal.ndcg_final(btml.metric_rows) IS 'final function of btml.ndcg';

-- Of predicted numbers.

CREATE FUNCTION btml_internal.rmse_accumulate(btml.metric_sums, float8, float8) RETURNS btml.metric_sums
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_rmse_accumulate';
COMMENT ON FUNCTION btml_internal.rmse_accumulate(btml.metric_sums, float8, float8) IS 'transition function of btml.rmse';
CREATE FUNCTION btml_internal.rmse_accumulate(btml.metric_sums, float8, float8, float8) RETURNS btml.metric_sums
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_rmse_accumulate';
COMMENT ON FUNCTION btml_internal.rmse_accumulate(btml.metric_sums, float8, float8, float8) IS 'transition function of btml.rmse';
CREATE AGGREGATE btml.rmse(y float8, prediction float8) (
    SFUNC = btml_internal.rmse_accumulate, STYPE = btml.metric_sums, SSPACE = 1280, COMBINEFUNC = btml_internal.metric_sums_combine,
    FINALFUNC = btml_internal.metric_sums_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.rmse(y float8, prediction float8, weight float8) (
    SFUNC = btml_internal.rmse_accumulate, STYPE = btml.metric_sums, SSPACE = 2304, COMBINEFUNC = btml_internal.metric_sums_combine,
    FINALFUNC = btml_internal.metric_sums_final, PARALLEL = SAFE
);
COMMENT ON AGGREGATE btml.rmse(float8, float8) IS
'root mean squared error, sqrt(avg((y - prediction)^2)); lower is better; fits boosting''s squared loss, estimates the mean;
error 22003 for an argument that is NaN or infinite and where it overflows; a row with a NULL is skipped; NULL for no rows;
the same bits for every order of the rows and every plan';
COMMENT ON AGGREGATE btml.rmse(float8, float8, float8) IS
'the same, where a row counts as often as its weight says: finite and not negative, else error 22003; NULL where all weights
are 0';

CREATE FUNCTION btml_internal.mae_accumulate(btml.metric_sums, float8, float8) RETURNS btml.metric_sums
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_mae_accumulate';
COMMENT ON FUNCTION btml_internal.mae_accumulate(btml.metric_sums, float8, float8) IS 'transition function of btml.mae';
CREATE FUNCTION btml_internal.mae_accumulate(btml.metric_sums, float8, float8, float8) RETURNS btml.metric_sums
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_mae_accumulate';
COMMENT ON FUNCTION btml_internal.mae_accumulate(btml.metric_sums, float8, float8, float8) IS 'transition function of btml.mae';
CREATE AGGREGATE btml.mae(y float8, prediction float8) (
    SFUNC = btml_internal.mae_accumulate, STYPE = btml.metric_sums, SSPACE = 1280, COMBINEFUNC = btml_internal.metric_sums_combine,
    FINALFUNC = btml_internal.metric_sums_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.mae(y float8, prediction float8, weight float8) (
    SFUNC = btml_internal.mae_accumulate, STYPE = btml.metric_sums, SSPACE = 2304, COMBINEFUNC = btml_internal.metric_sums_combine,
    FINALFUNC = btml_internal.metric_sums_final, PARALLEL = SAFE
);
COMMENT ON AGGREGATE btml.mae(float8, float8) IS
'mean absolute error, avg(|y - prediction|); lower is better; estimates the median; error 22003 for an argument that is NaN or
infinite and where it overflows; a row with a NULL is skipped; NULL for no rows; the same bits for every order of the rows and
every plan';
COMMENT ON AGGREGATE btml.mae(float8, float8, float8) IS
'the same, where a row counts as often as its weight says: finite and not negative, else error 22003; NULL where all weights
are 0';

CREATE FUNCTION btml_internal.r2_accumulate(btml.metric_sums, float8, float8) RETURNS btml.metric_sums
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_r2_accumulate';
COMMENT ON FUNCTION btml_internal.r2_accumulate(btml.metric_sums, float8, float8) IS 'transition function of btml.r2';
CREATE FUNCTION btml_internal.r2_accumulate(btml.metric_sums, float8, float8, float8) RETURNS btml.metric_sums
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_r2_accumulate';
COMMENT ON FUNCTION btml_internal.r2_accumulate(btml.metric_sums, float8, float8, float8) IS 'transition function of btml.r2';
CREATE AGGREGATE btml.r2(y float8, prediction float8) (
    SFUNC = btml_internal.r2_accumulate, STYPE = btml.metric_sums, SSPACE = 3840, COMBINEFUNC = btml_internal.metric_sums_combine,
    FINALFUNC = btml_internal.metric_sums_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.r2(y float8, prediction float8, weight float8) (
    SFUNC = btml_internal.r2_accumulate, STYPE = btml.metric_sums, SSPACE = 3840, COMBINEFUNC = btml_internal.metric_sums_combine,
    FINALFUNC = btml_internal.metric_sums_final, PARALLEL = SAFE
);
COMMENT ON AGGREGATE btml.r2(float8, float8) IS
'coefficient of determination, 1 - sum((y - prediction)^2)/sum((y - avg(y))^2): the share of the variance that is explained;
higher is better, 1 the best, 0 what predicting the mean has; NULL where all y are equal; error 22003 for an argument that is
NaN or infinite and where it overflows; a row with a NULL is skipped; NULL for no rows; the same bits for every order of the
rows and every plan';
COMMENT ON AGGREGATE btml.r2(float8, float8, float8) IS
'the same, where a row counts as often as its weight says: finite and not negative, else error 22003; NULL where all weights
are 0';

CREATE FUNCTION btml_internal.pinball_accumulate(btml.metric_sums, float8, float8, float8) RETURNS btml.metric_sums
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_pinball_accumulate';
COMMENT ON FUNCTION btml_internal.pinball_accumulate(btml.metric_sums, float8, float8, float8) IS 'transition function of btml.pinball';
CREATE FUNCTION btml_internal.pinball_accumulate(btml.metric_sums, float8, float8, float8, float8) RETURNS btml.metric_sums
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_pinball_accumulate';
COMMENT ON FUNCTION btml_internal.pinball_accumulate(btml.metric_sums, float8, float8, float8, float8) IS 'transition function of btml.pinball';
CREATE AGGREGATE btml.pinball(y float8, prediction float8, alpha float8) (
    SFUNC = btml_internal.pinball_accumulate, STYPE = btml.metric_sums, SSPACE = 1280, COMBINEFUNC = btml_internal.metric_sums_combine,
    FINALFUNC = btml_internal.metric_sums_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.pinball(y float8, prediction float8, alpha float8, weight float8) (
    SFUNC = btml_internal.pinball_accumulate, STYPE = btml.metric_sums, SSPACE = 2304, COMBINEFUNC = btml_internal.metric_sums_combine,
    FINALFUNC = btml_internal.metric_sums_final, PARALLEL = SAFE
);
COMMENT ON AGGREGATE btml.pinball(float8, float8, float8) IS
'mean pinball loss of a predicted alpha-quantile: alpha (y - prediction) above it, (1 - alpha)(prediction - y) below (Koenker,
Bassett: Regression Quantiles, 1978); lower is better; alpha is between 0 and 1, the same in every row, else error 22023;
error 22003 for an argument that is NaN or infinite and where it overflows; a row with a NULL is skipped; NULL for no rows;
the same bits for every order of the rows and every plan';
COMMENT ON AGGREGATE btml.pinball(float8, float8, float8, float8) IS
'the same, where a row counts as often as its weight says: finite and not negative, else error 22003; NULL where all weights
are 0';

CREATE FUNCTION btml_internal.poisson_deviance_accumulate(btml.metric_sums, float8, float8) RETURNS btml.metric_sums
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_poisson_deviance_accumulate';
COMMENT ON FUNCTION btml_internal.poisson_deviance_accumulate(btml.metric_sums, float8, float8) IS 'transition function of btml.poisson_deviance';
CREATE FUNCTION btml_internal.poisson_deviance_accumulate(btml.metric_sums, float8, float8, float8) RETURNS btml.metric_sums
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_poisson_deviance_accumulate';
COMMENT ON FUNCTION btml_internal.poisson_deviance_accumulate(btml.metric_sums, float8, float8, float8) IS 'transition function of btml.poisson_deviance';
CREATE AGGREGATE btml.poisson_deviance(y float8, prediction float8) (
    SFUNC = btml_internal.poisson_deviance_accumulate, STYPE = btml.metric_sums, SSPACE = 1280, COMBINEFUNC = btml_internal.metric_sums_combine,
    FINALFUNC = btml_internal.metric_sums_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.poisson_deviance(y float8, prediction float8, weight float8) (
    SFUNC = btml_internal.poisson_deviance_accumulate, STYPE = btml.metric_sums, SSPACE = 2304, COMBINEFUNC = btml_internal.metric_sums_combine,
    FINALFUNC = btml_internal.metric_sums_final, PARALLEL = SAFE
);
COMMENT ON AGGREGATE btml.poisson_deviance(float8, float8) IS
'mean Poisson deviance, avg(2 (y ln(y/prediction) - y + prediction)) with 0 ln 0 = 0; lower is better, 0 the best; error 22003
for a y that is negative or not finite, a prediction that is not finite and greater than 0, and overflow; a row with a NULL is
skipped; NULL for no rows; the same bits for every order of the rows and every plan';
COMMENT ON AGGREGATE btml.poisson_deviance(float8, float8, float8) IS
'the same, where a row counts as often as its weight says: finite and not negative, else error 22003; NULL where all weights
are 0';

-- Of classes and their probabilities.

CREATE FUNCTION btml_internal.log_loss_accumulate(btml.metric_sums, boolean, float8) RETURNS btml.metric_sums
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_log_loss_class_accumulate';
COMMENT ON FUNCTION btml_internal.log_loss_accumulate(btml.metric_sums, boolean, float8) IS 'transition function of btml.log_loss';
CREATE FUNCTION btml_internal.log_loss_accumulate(btml.metric_sums, boolean, float8, float8) RETURNS btml.metric_sums
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_log_loss_class_accumulate';
COMMENT ON FUNCTION btml_internal.log_loss_accumulate(btml.metric_sums, boolean, float8, float8) IS 'transition function of btml.log_loss';
CREATE AGGREGATE btml.log_loss(y boolean, p float8) (
    SFUNC = btml_internal.log_loss_accumulate, STYPE = btml.metric_sums, SSPACE = 1280, COMBINEFUNC = btml_internal.metric_sums_combine,
    FINALFUNC = btml_internal.metric_sums_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.log_loss(y boolean, p float8, weight float8) (
    SFUNC = btml_internal.log_loss_accumulate, STYPE = btml.metric_sums, SSPACE = 2304, COMBINEFUNC = btml_internal.metric_sums_combine,
    FINALFUNC = btml_internal.metric_sums_final, PARALLEL = SAFE
);
COMMENT ON AGGREGATE btml.log_loss(boolean, float8) IS
'log loss (cross entropy), avg(-ln p) where y is true and avg(-ln(1 - p)) where it is false; p, the probability of true, is
clipped to [2^-53, 1 - 2^-53]; lower is better; error 22003 for a p that is not from 0 to 1; a row with a NULL is skipped;
NULL for no rows; the same bits for every order of the rows and every plan';
COMMENT ON AGGREGATE btml.log_loss(boolean, float8, float8) IS
'the same, where a row counts as often as its weight says: finite and not negative, else error 22003; NULL where all weights
are 0';

CREATE FUNCTION btml_internal.log_loss_accumulate(btml.metric_sums, float8, float8) RETURNS btml.metric_sums
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_log_loss_accumulate';
COMMENT ON FUNCTION btml_internal.log_loss_accumulate(btml.metric_sums, float8, float8) IS 'transition function of btml.log_loss';
CREATE FUNCTION btml_internal.log_loss_accumulate(btml.metric_sums, float8, float8, float8) RETURNS btml.metric_sums
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_log_loss_accumulate';
COMMENT ON FUNCTION btml_internal.log_loss_accumulate(btml.metric_sums, float8, float8, float8) IS 'transition function of btml.log_loss';
CREATE AGGREGATE btml.log_loss(y float8, p float8) (
    SFUNC = btml_internal.log_loss_accumulate, STYPE = btml.metric_sums, SSPACE = 1280, COMBINEFUNC = btml_internal.metric_sums_combine,
    FINALFUNC = btml_internal.metric_sums_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.log_loss(y float8, p float8, weight float8) (
    SFUNC = btml_internal.log_loss_accumulate, STYPE = btml.metric_sums, SSPACE = 2304, COMBINEFUNC = btml_internal.metric_sums_combine,
    FINALFUNC = btml_internal.metric_sums_final, PARALLEL = SAFE
);
COMMENT ON AGGREGATE btml.log_loss(float8, float8) IS
'log loss of a share y from 0 to 1, avg(-(y ln p + (1 - y) ln(1 - p))); p, the share predicted, is clipped to [2^-53, 1 -
2^-53]; lower is better; error 22003 for an argument that is not from 0 to 1; a row with a NULL is skipped; NULL for no rows;
the same bits for every order of the rows and every plan';
COMMENT ON AGGREGATE btml.log_loss(float8, float8, float8) IS
'the same, where a row counts as often as its weight says: finite and not negative, else error 22003; NULL where all weights
are 0';

CREATE FUNCTION btml_internal.log_loss_accumulate(btml.metric_sums, float8) RETURNS btml.metric_sums
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_log_loss_true_accumulate';
COMMENT ON FUNCTION btml_internal.log_loss_accumulate(btml.metric_sums, float8) IS 'transition function of btml.log_loss';
CREATE AGGREGATE btml.log_loss(p float8) (
    SFUNC = btml_internal.log_loss_accumulate, STYPE = btml.metric_sums, SSPACE = 1280, COMBINEFUNC = btml_internal.metric_sums_combine,
    FINALFUNC = btml_internal.metric_sums_final, PARALLEL = SAFE
);
COMMENT ON AGGREGATE btml.log_loss(float8) IS
'log loss of any number of classes, avg(-ln p); p, the probability that the true class was given, is clipped to [2^-53, 1 -
2^-53]; lower is better; with weights: btml.log_loss(true, p, weight); error 22003 for a p that is not from 0 to 1; a row with
a NULL is skipped; NULL for no rows; the same bits for every order of the rows and every plan';

CREATE FUNCTION btml_internal.brier_accumulate(btml.metric_sums, boolean, float8) RETURNS btml.metric_sums
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_brier_class_accumulate';
COMMENT ON FUNCTION btml_internal.brier_accumulate(btml.metric_sums, boolean, float8) IS 'transition function of btml.brier';
CREATE FUNCTION btml_internal.brier_accumulate(btml.metric_sums, boolean, float8, float8) RETURNS btml.metric_sums
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_brier_class_accumulate';
COMMENT ON FUNCTION btml_internal.brier_accumulate(btml.metric_sums, boolean, float8, float8) IS 'transition function of btml.brier';
CREATE AGGREGATE btml.brier(y boolean, p float8) (
    SFUNC = btml_internal.brier_accumulate, STYPE = btml.metric_sums, SSPACE = 1280, COMBINEFUNC = btml_internal.metric_sums_combine,
    FINALFUNC = btml_internal.metric_sums_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.brier(y boolean, p float8, weight float8) (
    SFUNC = btml_internal.brier_accumulate, STYPE = btml.metric_sums, SSPACE = 2304, COMBINEFUNC = btml_internal.metric_sums_combine,
    FINALFUNC = btml_internal.metric_sums_final, PARALLEL = SAFE
);
COMMENT ON AGGREGATE btml.brier(boolean, float8) IS
'Brier score, avg((y - p)^2) with y as 1 or 0 and p the probability of true (Brier: Verification of forecasts expressed in terms
of probability, 1950); lower is better; error 22003 for a p that is not from 0 to 1; a row with a NULL is skipped; NULL for no
rows; the same bits for every order of the rows and every plan';
COMMENT ON AGGREGATE btml.brier(boolean, float8, float8) IS
'the same, where a row counts as often as its weight says: finite and not negative, else error 22003; NULL where all weights
are 0';

CREATE FUNCTION btml_internal.brier_accumulate(btml.metric_sums, float8, float8) RETURNS btml.metric_sums
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_brier_accumulate';
COMMENT ON FUNCTION btml_internal.brier_accumulate(btml.metric_sums, float8, float8) IS 'transition function of btml.brier';
CREATE FUNCTION btml_internal.brier_accumulate(btml.metric_sums, float8, float8, float8) RETURNS btml.metric_sums
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_brier_accumulate';
COMMENT ON FUNCTION btml_internal.brier_accumulate(btml.metric_sums, float8, float8, float8) IS 'transition function of btml.brier';
CREATE AGGREGATE btml.brier(y float8, p float8) (
    SFUNC = btml_internal.brier_accumulate, STYPE = btml.metric_sums, SSPACE = 1280, COMBINEFUNC = btml_internal.metric_sums_combine,
    FINALFUNC = btml_internal.metric_sums_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.brier(y float8, p float8, weight float8) (
    SFUNC = btml_internal.brier_accumulate, STYPE = btml.metric_sums, SSPACE = 2304, COMBINEFUNC = btml_internal.metric_sums_combine,
    FINALFUNC = btml_internal.metric_sums_final, PARALLEL = SAFE
);
COMMENT ON AGGREGATE btml.brier(float8, float8) IS
'Brier score of a share y from 0 to 1, avg((y - p)^2); lower is better; error 22003 for an argument that is not from 0 to 1; a
row with a NULL is skipped; NULL for no rows; the same bits for every order of the rows and every plan';
COMMENT ON AGGREGATE btml.brier(float8, float8, float8) IS
'the same, where a row counts as often as its weight says: finite and not negative, else error 22003; NULL where all weights
are 0';

CREATE FUNCTION btml_internal.accuracy_accumulate(btml.metric_sums, boolean, boolean) RETURNS btml.metric_sums
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_accuracy_boolean_accumulate';
COMMENT ON FUNCTION btml_internal.accuracy_accumulate(btml.metric_sums, boolean, boolean) IS 'transition function of btml.accuracy';
CREATE FUNCTION btml_internal.accuracy_accumulate(btml.metric_sums, boolean, boolean, float8) RETURNS btml.metric_sums
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_accuracy_boolean_accumulate';
COMMENT ON FUNCTION btml_internal.accuracy_accumulate(btml.metric_sums, boolean, boolean, float8) IS 'transition function of btml.accuracy';
CREATE AGGREGATE btml.accuracy(y boolean, prediction boolean) (
    SFUNC = btml_internal.accuracy_accumulate, STYPE = btml.metric_sums, SSPACE = 1280, COMBINEFUNC = btml_internal.metric_sums_combine,
    FINALFUNC = btml_internal.metric_sums_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.accuracy(y boolean, prediction boolean, weight float8) (
    SFUNC = btml_internal.accuracy_accumulate, STYPE = btml.metric_sums, SSPACE = 2304, COMBINEFUNC = btml_internal.metric_sums_combine,
    FINALFUNC = btml_internal.metric_sums_final, PARALLEL = SAFE
);
COMMENT ON AGGREGATE btml.accuracy(boolean, boolean) IS
'the share of rows where the predicted class is the true one; higher is better; a row with a NULL is skipped; NULL for no rows;
the same bits for every order of the rows and every plan';
COMMENT ON AGGREGATE btml.accuracy(boolean, boolean, float8) IS
'the same, where a row counts as often as its weight says: finite and not negative, else error 22003; NULL where all weights
are 0';

CREATE FUNCTION btml_internal.accuracy_accumulate(btml.metric_sums, bigint, bigint) RETURNS btml.metric_sums
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_accuracy_bigint_accumulate';
COMMENT ON FUNCTION btml_internal.accuracy_accumulate(btml.metric_sums, bigint, bigint) IS 'transition function of btml.accuracy';
CREATE FUNCTION btml_internal.accuracy_accumulate(btml.metric_sums, bigint, bigint, float8) RETURNS btml.metric_sums
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_accuracy_bigint_accumulate';
COMMENT ON FUNCTION btml_internal.accuracy_accumulate(btml.metric_sums, bigint, bigint, float8) IS 'transition function of btml.accuracy';
CREATE AGGREGATE btml.accuracy(y bigint, prediction bigint) (
    SFUNC = btml_internal.accuracy_accumulate, STYPE = btml.metric_sums, SSPACE = 1280, COMBINEFUNC = btml_internal.metric_sums_combine,
    FINALFUNC = btml_internal.metric_sums_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.accuracy(y bigint, prediction bigint, weight float8) (
    SFUNC = btml_internal.accuracy_accumulate, STYPE = btml.metric_sums, SSPACE = 2304, COMBINEFUNC = btml_internal.metric_sums_combine,
    FINALFUNC = btml_internal.metric_sums_final, PARALLEL = SAFE
);
COMMENT ON AGGREGATE btml.accuracy(bigint, bigint) IS
'the share of rows where the predicted class is the true one; higher is better; a row with a NULL is skipped; NULL for no rows;
the same bits for every order of the rows and every plan';
COMMENT ON AGGREGATE btml.accuracy(bigint, bigint, float8) IS
'the same, where a row counts as often as its weight says: finite and not negative, else error 22003; NULL where all weights
are 0';

CREATE FUNCTION btml_internal.accuracy_accumulate(btml.metric_sums, text, text) RETURNS btml.metric_sums
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_accuracy_text_accumulate';
COMMENT ON FUNCTION btml_internal.accuracy_accumulate(btml.metric_sums, text, text) IS 'transition function of btml.accuracy';
CREATE FUNCTION btml_internal.accuracy_accumulate(btml.metric_sums, text, text, float8) RETURNS btml.metric_sums
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_accuracy_text_accumulate';
COMMENT ON FUNCTION btml_internal.accuracy_accumulate(btml.metric_sums, text, text, float8) IS 'transition function of btml.accuracy';
CREATE AGGREGATE btml.accuracy(y text, prediction text) (
    SFUNC = btml_internal.accuracy_accumulate, STYPE = btml.metric_sums, SSPACE = 1280, COMBINEFUNC = btml_internal.metric_sums_combine,
    FINALFUNC = btml_internal.metric_sums_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.accuracy(y text, prediction text, weight float8) (
    SFUNC = btml_internal.accuracy_accumulate, STYPE = btml.metric_sums, SSPACE = 2304, COMBINEFUNC = btml_internal.metric_sums_combine,
    FINALFUNC = btml_internal.metric_sums_final, PARALLEL = SAFE
);
COMMENT ON AGGREGATE btml.accuracy(text, text) IS
'the share of rows where the predicted class is the true one; higher is better; texts are equal when their bytes are, whatever
their collation; a row with a NULL is skipped; NULL for no rows; the same bits for every order of the rows and every plan';
COMMENT ON AGGREGATE btml.accuracy(text, text, float8) IS
'the same, where a row counts as often as its weight says: finite and not negative, else error 22003; NULL where all weights
are 0';

CREATE FUNCTION btml_internal.ranking_accumulate(btml.metric_rows, boolean, float8) RETURNS btml.metric_rows
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_ranking_accumulate';
COMMENT ON FUNCTION btml_internal.ranking_accumulate(btml.metric_rows, boolean, float8) IS 'transition function of btml.auc and btml.average_precision';
CREATE FUNCTION btml_internal.ranking_accumulate(btml.metric_rows, boolean, float8, float8) RETURNS btml.metric_rows
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_ranking_accumulate';
COMMENT ON FUNCTION btml_internal.ranking_accumulate(btml.metric_rows, boolean, float8, float8) IS 'transition function of btml.auc and btml.average_precision';
CREATE AGGREGATE btml.auc(y boolean, score float8) (
    SFUNC = btml_internal.ranking_accumulate, STYPE = btml.metric_rows, SSPACE = 2048, COMBINEFUNC = btml_internal.metric_rows_combine,
    FINALFUNC = btml_internal.auc_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.auc(y boolean, score float8, weight float8) (
    SFUNC = btml_internal.ranking_accumulate, STYPE = btml.metric_rows, SSPACE = 2048, COMBINEFUNC = btml_internal.metric_rows_combine,
    FINALFUNC = btml_internal.auc_final, PARALLEL = SAFE
);
COMMENT ON AGGREGATE btml.auc(boolean, float8) IS
'area under the ROC curve: the probability that a true row has a higher score than a false one, equal scores count half; higher
is better, 0.5 for no skill; NULL for rows of one class; rows are held: 16 bytes each, 24 with weights, error 53200 beyond
btml.memory_limit; error 22003 for a score that is NaN; an infinite one ranks before or behind all others; a row with a NULL
is skipped; NULL for no rows; the same bits for every order of the rows and every plan';
COMMENT ON AGGREGATE btml.auc(boolean, float8, float8) IS
'the same, where a row counts as often as its weight says: finite and not negative, else error 22003; NULL where all weights
are 0';

CREATE AGGREGATE btml.average_precision(y boolean, score float8) (
    SFUNC = btml_internal.ranking_accumulate, STYPE = btml.metric_rows, SSPACE = 2048, COMBINEFUNC = btml_internal.metric_rows_combine,
    FINALFUNC = btml_internal.average_precision_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.average_precision(y boolean, score float8, weight float8) (
    SFUNC = btml_internal.ranking_accumulate, STYPE = btml.metric_rows, SSPACE = 2048, COMBINEFUNC = btml_internal.metric_rows_combine,
    FINALFUNC = btml_internal.average_precision_final, PARALLEL = SAFE
);
COMMENT ON AGGREGATE btml.average_precision(boolean, float8) IS
'average precision, the sum of (recall - recall before) times precision over the thresholds from the highest score on, rows of
equal scores at once; higher is better, the share of true rows for no skill; NULL for no true rows; rows are held: 16 bytes
each, 24 with weights, error 53200 beyond btml.memory_limit; error 22003 for a score that is NaN; an infinite one ranks before
or behind all others; a row with a NULL is skipped; NULL for no rows; the same bits for every order of the rows and every plan';
COMMENT ON AGGREGATE btml.average_precision(boolean, float8, float8) IS
'the same, where a row counts as often as its weight says: finite and not negative, else error 22003; NULL where all weights
are 0';

CREATE FUNCTION btml_internal.ndcg_accumulate(btml.metric_rows, float8, float8, bigint) RETURNS btml.metric_rows
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_ndcg_accumulate';
COMMENT ON FUNCTION btml_internal.ndcg_accumulate(btml.metric_rows, float8, float8, bigint) IS 'transition function of btml.ndcg';
CREATE AGGREGATE btml.ndcg(relevance float8, score float8, k bigint) (
    SFUNC = btml_internal.ndcg_accumulate, STYPE = btml.metric_rows, SSPACE = 2048, COMBINEFUNC = btml_internal.metric_rows_combine,
    FINALFUNC = btml_internal.ndcg_final, PARALLEL = SAFE
);
COMMENT ON AGGREGATE btml.ndcg(float8, float8, bigint) IS
'normalised discounted cumulative gain of one query: the sum over the k highest scores of (2^relevance - 1)/log2(1 + rank),
beside the most that it could be (Jarvelin, Kekalainen 2002); rows of equal scores share their ranks (McSherry, Najork 2008);
higher is better; NULL where every relevance is 0; relevance is from 0 to 31, else error 22003, k at least 1 and the same in
every row, else 22023; 16 bytes a row are held, error 53200 beyond btml.memory_limit; error 22003 for a score that is NaN; a
row with a NULL is skipped; NULL for no rows';

-- Of predicted distributions and intervals.

CREATE FUNCTION btml_internal.coverage_accumulate(btml.metric_sums, float8, float8, float8) RETURNS btml.metric_sums
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_coverage_accumulate';
COMMENT ON FUNCTION btml_internal.coverage_accumulate(btml.metric_sums, float8, float8, float8) IS 'transition function of btml.coverage';
CREATE FUNCTION btml_internal.coverage_accumulate(btml.metric_sums, float8, float8, float8, float8) RETURNS btml.metric_sums
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_coverage_accumulate';
COMMENT ON FUNCTION btml_internal.coverage_accumulate(btml.metric_sums, float8, float8, float8, float8) IS 'transition function of btml.coverage';
CREATE AGGREGATE btml.coverage(y float8, lower float8, upper float8) (
    SFUNC = btml_internal.coverage_accumulate, STYPE = btml.metric_sums, SSPACE = 1280, COMBINEFUNC = btml_internal.metric_sums_combine,
    FINALFUNC = btml_internal.metric_sums_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.coverage(y float8, lower float8, upper float8, weight float8) (
    SFUNC = btml_internal.coverage_accumulate, STYPE = btml.metric_sums, SSPACE = 2304, COMBINEFUNC = btml_internal.metric_sums_combine,
    FINALFUNC = btml_internal.metric_sums_final, PARALLEL = SAFE
);
COMMENT ON AGGREGATE btml.coverage(float8, float8, float8) IS
'the share of rows with y in [lower, upper]; near the nominal share is better; the bounds may be infinite, and an interval
whose lower bound is above its upper one covers nothing; error 22003 for a y that is not finite and a bound that is NaN; a row
with a NULL is skipped; NULL for no rows; the same bits for every order of the rows and every plan';
COMMENT ON AGGREGATE btml.coverage(float8, float8, float8, float8) IS
'the same, where a row counts as often as its weight says: finite and not negative, else error 22003; NULL where all weights
are 0';

CREATE FUNCTION btml_internal.nll_normal_accumulate(btml.metric_sums, float8, float8, float8) RETURNS btml.metric_sums
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_nll_normal_accumulate';
COMMENT ON FUNCTION btml_internal.nll_normal_accumulate(btml.metric_sums, float8, float8, float8) IS 'transition function of btml.nll_normal';
CREATE FUNCTION btml_internal.nll_normal_accumulate(btml.metric_sums, float8, float8, float8, float8) RETURNS btml.metric_sums
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_nll_normal_accumulate';
COMMENT ON FUNCTION btml_internal.nll_normal_accumulate(btml.metric_sums, float8, float8, float8, float8) IS 'transition function of btml.nll_normal';
CREATE AGGREGATE btml.nll_normal(y float8, mean float8, sd float8) (
    SFUNC = btml_internal.nll_normal_accumulate, STYPE = btml.metric_sums, SSPACE = 1280, COMBINEFUNC = btml_internal.metric_sums_combine,
    FINALFUNC = btml_internal.metric_sums_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.nll_normal(y float8, mean float8, sd float8, weight float8) (
    SFUNC = btml_internal.nll_normal_accumulate, STYPE = btml.metric_sums, SSPACE = 2304, COMBINEFUNC = btml_internal.metric_sums_combine,
    FINALFUNC = btml_internal.metric_sums_final, PARALLEL = SAFE
);
COMMENT ON AGGREGATE btml.nll_normal(float8, float8, float8) IS
'mean negative log-likelihood of normal distributions, avg(ln(sd sqrt(2 pi)) + ((y - mean)/sd)^2/2); lower is better; error
22003 for an argument that is NaN or infinite, an sd that is not greater than 0, and overflow; a row with a NULL is skipped;
NULL for no rows; the same bits for every order of the rows and every plan';
COMMENT ON AGGREGATE btml.nll_normal(float8, float8, float8, float8) IS
'the same, where a row counts as often as its weight says: finite and not negative, else error 22003; NULL where all weights
are 0';

CREATE FUNCTION btml_internal.crps_normal_accumulate(btml.metric_sums, float8, float8, float8) RETURNS btml.metric_sums
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_crps_normal_accumulate';
COMMENT ON FUNCTION btml_internal.crps_normal_accumulate(btml.metric_sums, float8, float8, float8) IS 'transition function of btml.crps_normal';
CREATE FUNCTION btml_internal.crps_normal_accumulate(btml.metric_sums, float8, float8, float8, float8) RETURNS btml.metric_sums
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_crps_normal_accumulate';
COMMENT ON FUNCTION btml_internal.crps_normal_accumulate(btml.metric_sums, float8, float8, float8, float8) IS 'transition function of btml.crps_normal';
CREATE AGGREGATE btml.crps_normal(y float8, mean float8, sd float8) (
    SFUNC = btml_internal.crps_normal_accumulate, STYPE = btml.metric_sums, SSPACE = 1280, COMBINEFUNC = btml_internal.metric_sums_combine,
    FINALFUNC = btml_internal.metric_sums_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.crps_normal(y float8, mean float8, sd float8, weight float8) (
    SFUNC = btml_internal.crps_normal_accumulate, STYPE = btml.metric_sums, SSPACE = 2304, COMBINEFUNC = btml_internal.metric_sums_combine,
    FINALFUNC = btml_internal.metric_sums_final, PARALLEL = SAFE
);
COMMENT ON AGGREGATE btml.crps_normal(float8, float8, float8) IS
'mean continuous ranked probability score of normal distributions, in the unit of y (Gneiting, Raftery: Strictly Proper Scoring
Rules, 2007, equation 21); lower is better; error 22003 for an argument that is NaN or infinite, an sd that is not greater
than 0, and overflow; a row with a NULL is skipped; NULL for no rows; the same bits for every order of the rows and every plan';
COMMENT ON AGGREGATE btml.crps_normal(float8, float8, float8, float8) IS
'the same, where a row counts as often as its weight says: finite and not negative, else error 22003; NULL where all weights
are 0';

CREATE FUNCTION btml_internal.nll_student_t_accumulate(btml.metric_sums, float8, float8, float8, float8) RETURNS btml.metric_sums
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_nll_student_t_accumulate';
COMMENT ON FUNCTION btml_internal.nll_student_t_accumulate(btml.metric_sums, float8, float8, float8, float8) IS 'transition function of btml.nll_student_t';
CREATE FUNCTION btml_internal.nll_student_t_accumulate(btml.metric_sums, float8, float8, float8, float8, float8) RETURNS btml.metric_sums
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_nll_student_t_accumulate';
COMMENT ON FUNCTION btml_internal.nll_student_t_accumulate(btml.metric_sums, float8, float8, float8, float8, float8) IS 'transition function of btml.nll_student_t';
CREATE AGGREGATE btml.nll_student_t(y float8, location float8, scale float8, df float8) (
    SFUNC = btml_internal.nll_student_t_accumulate, STYPE = btml.metric_sums, SSPACE = 1280, COMBINEFUNC = btml_internal.metric_sums_combine,
    FINALFUNC = btml_internal.metric_sums_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.nll_student_t(y float8, location float8, scale float8, df float8, weight float8) (
    SFUNC = btml_internal.nll_student_t_accumulate, STYPE = btml.metric_sums, SSPACE = 2304, COMBINEFUNC = btml_internal.metric_sums_combine,
    FINALFUNC = btml_internal.metric_sums_final, PARALLEL = SAFE
);
COMMENT ON AGGREGATE btml.nll_student_t(float8, float8, float8, float8) IS
'mean negative log-likelihood of Student''s t distributions with df degrees of freedom; lower is better; error 22003 for an
argument that is NaN or infinite, a scale or df that is not greater than 0, and overflow; a row with a NULL is skipped; NULL
for no rows; the same bits for every order of the rows and every plan';
COMMENT ON AGGREGATE btml.nll_student_t(float8, float8, float8, float8, float8) IS
'the same, where a row counts as often as its weight says: finite and not negative, else error 22003; NULL where all weights
are 0';

-- A sum that does not depend on the order of its terms.

CREATE FUNCTION btml_internal.exact_sum_accumulate(btml.metric_sums, float8) RETURNS btml.metric_sums
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_exact_sum_accumulate';
CREATE FUNCTION btml_internal.exact_sum_remove(btml.metric_sums, float8) RETURNS btml.metric_sums
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_exact_sum_remove';
COMMENT ON FUNCTION btml_internal.exact_sum_accumulate(btml.metric_sums, float8) IS 'transition function of btml.exact_sum';
COMMENT ON FUNCTION btml_internal.exact_sum_remove(btml.metric_sums, float8) IS 'inverse transition function of btml.exact_sum';
CREATE AGGREGATE btml.exact_sum(x float8) (
    SFUNC = btml_internal.exact_sum_accumulate, STYPE = btml.metric_sums, SSPACE = 2304, COMBINEFUNC = btml_internal.metric_sums_combine,
    FINALFUNC = btml_internal.metric_sums_final, PARALLEL = SAFE, MSFUNC = btml_internal.exact_sum_accumulate,
    MINVFUNC = btml_internal.exact_sum_remove, MSTYPE = btml.metric_sums, MSSPACE = 2304,
    MFINALFUNC = btml_internal.metric_sums_final
);
COMMENT ON AGGREGATE btml.exact_sum(float8) IS
'the sum of x, rounded once: the same bits for every order of the rows and every plan; NaN and infinities as sum(float8) has
them; error 22003 where the sum itself, not a part of it, overflows; NULL for no rows; over a moving window rows are also taken back; a fixed-point accumulator (Kulisch) of
2176 bits';
