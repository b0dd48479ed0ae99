// The part of a join to train on where its rows are not all held.
#pragma once

#include "core/boosting/trees/boosting_model.hpp"
#include "core/relational/join/join_dataset.hpp"

namespace btml::boosting {

struct TrainingSample {
    relational::JoinRows rows;
    SampleReport report;
    bool limited; // by the memory, to less than the default
};

// A uniform sample without replacement, of options.sample_rows rows, which option seed draws: of the rows to train on
// and, apart, of those held out, as large a part of each. Without a number, 10 million rows, or the largest 10,000·2^k
// that fit into memory. Nothing where those are all rows of the join: then there is no need for a sample. The tables
// must have contents. Errors as of JoinSampler.
std::optional<TrainingSample> draw_training_sample(const relational::Join& join, const relational::DatasetPlan& plan,
                                                   const Options& options, RunContext& context);

} // namespace btml::boosting
