// Puts rows of a dataset into an order that follows from their contents, so that sums of doubles over them do not
// depend on the order in which a source gave them.
#pragma once

#include "core/base/threads.hpp"
#include "core/data/dataset.hpp"

namespace btml::linear {

struct OrderedRows {
    Dataset dataset;   // the rows to train on, then those that are held out; without rows of weight 0
    uint64_t training; // rows to train on
    // How many rows of a join each of these stands for; empty: 1. A row of 0 has the weight 0.
    Buffer<uint64_t> repeats{dataset.target.budget(), "repeats of rows"};
};

// Consumes the dataset. Rows of equal content, which are the same to any sum, are next to each other in any order.
// Errors: NothingToTrainOn; out_of_range for a feature that is not finite or 1e150 or more in magnitude; those of
// check_weight.
OrderedRows order_rows(Dataset dataset, ThreadTeam& team, RunContext& context);

// Error out_of_range for a number that is not finite or 1e150 or more in magnitude. `what` is what the error calls it.
void check_size(double number, const char* what);
void check_feature(double number, const std::string& name);

} // namespace btml::linear
