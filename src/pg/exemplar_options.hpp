// Arguments of btml.exemplars.
#pragma once

#include "core/exemplar/options.hpp"
#include "pg/bridge/arguments.hpp"

namespace btml::pg {

struct ExemplarRequest {
    std::string source;
    std::optional<std::string> target;
    exemplar::Options options; // validated
    std::string function;      // with Metric::function: its signature
    bool verbose = false;
};

// Errors: null_value, invalid_argument naming the option and its valid values.
ExemplarRequest read_exemplar_request(const NamedArguments& arguments);

// The name of a built-in dissimilarity; nothing for the signature of a function.
std::optional<exemplar::Metric> metric_of(const std::string& dissimilarity);
inline constexpr const char* built_in_dissimilarities =
    "\"squared_euclidean\", \"euclidean\", \"cosine\", \"manhattan\"";

} // namespace btml::pg
