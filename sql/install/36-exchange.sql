-- Boosted trees that other libraries have trained, and ours for LightGBM.

CREATE FUNCTION btml.to_lightgbm(model btml.model) RETURNS text
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_to_lightgbm';
COMMENT ON FUNCTION btml.to_lightgbm(btml.model) IS
'boosted trees as text of LightGBM (version 4), whose raw scores are those of btml.predict_scores to the last bit on rows without NaN; categories have the codes of btml.summary(model)->''features'' and their names in pandas_categorical, NULL one code more where it makes a difference; NULL for NULL; error 0A000 for a model with an offset and one imported from XGBoost, 42804 for a Gaussian process';

CREATE FUNCTION btml.from_lightgbm(model text, categories btml.json DEFAULT NULL) RETURNS btml.model
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_from_lightgbm';
COMMENT ON FUNCTION btml.from_lightgbm(text, btml.json) IS
'a model that LightGBM has saved as text (model_to_string, save_model). Its raw scores are the same to the last bit; NaN is NULL.
categories: {"feature": ["a", "b"]}, the names of each feature''s categories by LightGBM''s codes 0, 1, ...; by default those of
pandas_categorical, with a NOTICE where these may be another column''s, or else the codes. The target is called "target", labels are 0, 1, ...
NULL for a NULL model. Error 22023 naming the line for what is no such text, 0A000 for linear trees and what else a model here
cannot be.';

CREATE FUNCTION btml.from_xgboost(model text, categories btml.json DEFAULT NULL) RETURNS btml.model
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_from_xgboost';
COMMENT ON FUNCTION btml.from_xgboost(text, btml.json) IS
'a model that XGBoost has saved as JSON (save_model, save_raw), up to the best iteration of early stopping, which a NOTICE tells. Its
raw scores are the same to the last bit: sums of 32-bit numbers; NaN is NULL.
categories: as of btml.from_lightgbm; by default those in the file, or else the codes. Names beyond ASCII must be given.
NULL for a NULL model. Error 22023 naming the byte or the tree for what is no such text, 0A000 for gblinear, several targets,
names beyond ASCII that are not given, and objectives without a link here.';

CREATE FUNCTION btml.from_xgboost(model bytea, categories btml.json DEFAULT NULL) RETURNS btml.model
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_from_xgboost_ubjson';
COMMENT ON FUNCTION btml.from_xgboost(bytea, btml.json) IS
'a model that XGBoost has saved as UBJSON (save_raw, save_model with the suffix ubj) or as the bytes of JSON; the rest is as with a
text. Error 22023 naming the byte for what is neither.';
