// XGBoost's JSON and UBJSON formats of models, as its C++ code writes it since version 1.0 (src/learner.cc,
// src/gbm/gbtree.cc, src/tree/tree_model.cc of XGBoost 3).
#pragma once

#include "core/base/buffer.hpp"
#include "core/boosting/exchange/imported_model.hpp"

namespace btml::boosting {

// Reads a model whose raw scores are XGBoost's to the last bit: it compares features as floats, which thresholds make
// up for, and sums floats, as Import::single_precision says. Trees after the best iteration of early stopping are left
// out, as scikit-learn's interface of XGBoost does, and a notice tells how many. Features have the names of the file,
// or f0, f1, …; categories those of the caller or the file, or else the codes. Covers are sums of hessians. Errors:
// invalid_argument, naming the byte or the tree, for what is no such text, and for categories that do not fit;
// not_supported for gblinear, several targets, and objectives without a link of ours; limit_exceeded for too many
// features without names; memory_limit.
ImportedModel read_xgboost(std::string_view text, std::string_view categories, RunContext& context);

// Reads the JSON form of a UBJSON model: an error that names a byte says of what.
ImportedModel read_xgboost_ubjson(std::string_view json, std::string_view categories, RunContext& context);

// Returns UBJSON as JSON; JSON is itself. Error invalid_argument, naming the byte, for what is neither.
Buffer<char> json_of_ubjson(std::string_view bytes, RunContext& context);

// Features that a model may have without names: nothing else in its text grows with their number.
inline constexpr size_t max_unnamed_features = 65535;

// Returns the number that a double is less than where, rounded to a float, it is less than this threshold.
double threshold_of_doubles(float threshold);

} // namespace btml::boosting
