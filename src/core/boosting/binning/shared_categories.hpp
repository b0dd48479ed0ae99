// Categories that a feature has beside those of the rows at hand.
#pragma once

#include "core/base/peers.hpp"
#include "core/base/run_context.hpp"
#include "core/data/dataset.hpp"

namespace btml::boosting {

// Adds categories, in the order of the column's type, and returns the code that each of them has then.
std::vector<uint32_t> merge_categories(const std::vector<std::string>& added, FeatureColumn& column,
                                       RunContext& context);

// Gives every feature the categories of all peers' rows. Error not_supported where these are more than max_categories.
void share_categories(Dataset& dataset, Peers& peers, RunContext& context, size_t max_categories = UINT32_MAX);

} // namespace btml::boosting
