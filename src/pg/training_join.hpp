// Reads what a model is trained on: a source's join, and the part that each of its columns plays.
#pragma once

#include "core/relational/join.hpp"
#include "core/relational/join_dataset.hpp"
#include "pg/bridge/source.hpp"
#include "pg/fit_arguments.hpp"

#include <chrono>

namespace btml::pg {

// The arguments that every fit over a source has.
struct TrainingRequest {
    std::string source, target;
    std::optional<std::vector<std::string>> features; // default: all other columns
    std::vector<std::string> categorical;
    std::optional<std::string> holdout, weight;
    bool verbose = false;
    // Of fits that have these arguments.
    std::optional<std::string> offset, query;
    std::vector<std::string> increasing, decreasing;
    std::vector<std::string> exclude;
    std::optional<std::string> fold;
    bool takes_labels = false; // boolean, text and enum targets, too
};
// Errors null_value.
TrainingRequest read_training_request(const FitArguments& arguments);

struct TrainingJoin {
    relational::Join join;        // without the rows whose target is NULL
    relational::DatasetPlan plan; // where target_type is no number, the target's column may be one of categories
    Oid target_type;
    Oid fold_type;         // InvalidOid without folds
    uint64_t rows_skipped; // of the join: the target is NULL
    double seconds_reading, seconds_joining;
};

// Errors: those of Source; wrong_type, invalid_argument, duplicate_column or not_supported naming the column;
// invalid_argument for a source without rows to train on.
TrainingJoin read_training_join(const TrainingRequest& request, RunContext& context,
                                RowContents contents = RowContents::unread,
                                RowContents contents_of_labels = RowContents::unread);

double seconds_since(std::chrono::steady_clock::time_point start);

} // namespace btml::pg
