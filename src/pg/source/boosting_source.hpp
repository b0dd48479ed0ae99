// What fits of boosted trees over a source have in common: what they are asked for, and the rows that they hold.
#pragma once

#include "core/boosting/findings.hpp"
#include "core/boosting/strategy.hpp"
#include "core/boosting/target_labels.hpp"
#include "core/boosting/training_sample.hpp"
#include "pg/source/fit_arguments.hpp"
#include "pg/source/training_join.hpp"

namespace btml::pg {

struct BoostRequest : TrainingRequest {
    boosting::Options options; // validated, but for what depends on the target
    boosting::LabelRequest labels;
    std::optional<Datum> start; // a model
};

// `defaults` are those of the function. Errors: null_value, invalid_argument naming the option and its valid values.
BoostRequest read_boost_request(const FitArguments& arguments, const boosting::Options& defaults);

inline constexpr char valid_class_weights[] =
    "Valid values are labels with their weights, as {\"yes\": 5}; with balanced => true all labels count the same.";

// A JSON object from labels to weights. Error invalid_argument.
std::vector<boosting::LabelWeight> read_label_weights(const std::string& json);

// Tells once of each kind of finding, with the columns it is about.
void notice_findings(const boosting::Findings& findings, const std::string& target);

// Joins that may be sampled or sketched are read with the contents of their rows.
RowContents contents_for(const boosting::Options& options, bool has_labels);

// Makes of the target what the objective takes, which is not automatic any more then.
void read_target(TrainingJoin& training, const BoostRequest& request, boosting::Options& options, RunContext& context);

// Brings the categories of a column, each of which a row has, into the order of their type; texts stay in that of their
// bytes.
void sort_categories(relational::DataColumn& column, Oid type, RunContext& context);

// Makes a target's categories codes of labels, in the order of their type; returns the labels.
std::vector<std::string> take_labels(relational::DataColumn& column, Oid type, RunContext& context);

// known_trees: that training starts with.
boosting::Workload workload_of(const TrainingJoin& training, int known_trees = 0);

// Returns the rows to hold: all of them, or a sample, of which the report is; the choice says which then.
std::pair<relational::JoinRows, std::optional<boosting::SampleReport>> hold_rows(TrainingJoin& training,
                                                                                 boosting::StrategyChoice& choice,
                                                                                 const boosting::Options& options,
                                                                                 RunContext& context);

} // namespace btml::pg
