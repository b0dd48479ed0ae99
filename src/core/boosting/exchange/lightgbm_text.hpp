// LightGBM's text format of models, versions 2 to 4, as its C++ code reads and writes it (src/io/tree.cpp,
// src/boosting/gbdt_model_text.cpp of LightGBM 4): a header, trees and what else there is as lines key=value.
#pragma once

#include "core/boosting/exchange/imported_model.hpp"

namespace btml::boosting {

// Reads a model whose raw scores are LightGBM's to the last bit. Features have the names of the file. A feature is
// categorical where a tree splits it so, or the caller names its categories; their names are the caller's, or those of
// pandas_categorical, where these are certain, or else the codes; a notice tells what is not. Covers are counts of
// rows. Errors: invalid_argument, naming the line, for what is no such text, and for categories that do not fit;
// not_supported for linear trees, for objectives without a link of ours, and where zeros are missing for some splits of
// a feature only; memory_limit.
ImportedModel read_lightgbm(std::string_view text, std::string_view categories, RunContext& context);

// Writes a model in version 4, whose predictions by LightGBM are ours to the last bit of the raw scores, on every row
// without NaN. Names have underscores for what LightGBM allows no name to have. A categorical feature's codes are ours,
// NULL is one code more where it goes left somewhere, and names are in pandas_categorical, whose places pandas_features
// has. Errors: not_supported for an offset and for a model that sums floats.
Buffer<char> write_lightgbm(const Model& model, RunContext& context);

} // namespace btml::boosting
