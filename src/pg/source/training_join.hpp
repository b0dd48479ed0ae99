// Reads what a model is trained on: a source's join, and the part that each of its columns plays.
#pragma once

#include "core/validation/held_fraction.hpp"
#include "pg/source/fit_arguments.hpp"
#include "pg/source/source.hpp"

namespace btml::pg {

// The arguments that every fit over a source has.
struct TrainingRequest {
    Source source;
    List* args; // of all sources of the call, as of GivenSource
    std::string target;
    std::optional<std::vector<std::string>> features; // default: all other columns
    std::vector<std::string> categorical;
    std::optional<std::string> holdout, weight;
    bool verbose = false;
    // These are arguments of some fits alone.
    std::optional<std::string> offset, query;
    std::vector<std::string> increasing, decreasing;
    std::vector<std::string> exclude;
    std::optional<std::string> fold, order_by, group_by; // one of them, at most
    bool takes_labels = false;                           // boolean, text and enum targets, too
    Unit unit = Unit::join;
    std::optional<validation::HeldFraction> held = {}; // where no column is the holdout

    bool holds_out() const { return holdout || held; }
    // How the column that fold, order_by or group_by names divides rows; fold where none does.
    validation::Division division() const {
        return order_by   ? validation::Division::order_by
               : group_by ? validation::Division::group_by
                          : validation::Division::fold;
    }
};
// Errors: null_value; invalid_argument for two of fold, order_by and group_by; those of Source.
TrainingRequest read_training_request(const FitArguments& arguments);
// Takes the option holdout_fraction, by the seed of a fit. Error invalid_argument where a holdout is named as well, or
// where order_by or group_by is and nothing goes by it.
void set_holdout_fraction(TrainingRequest& request, std::optional<double> fraction, int64_t seed);

// The parts that the source's columns play, by their places among its outputs.
struct Roles {
    int target;
    bool target_is_label; // read as a category
    std::optional<int> holdout, weight, offset, query, fold, order_by, group_by;
    std::vector<int> features;
    std::vector<bool> categorical; // of features
    std::vector<ArrayRule> arrays; // of features: how arrays are read, whose elements are features of the model
    std::vector<int> directions;   // of features

    // The column's role other than that of a feature, or nullptr. What rows are ordered by may be a feature.
    const char* of(int column) const {
        return column == target     ? "target"
               : column == holdout  ? "holdout"
               : column == weight   ? "weight"
               : column == offset   ? "offset"
               : column == query    ? "query"
               : column == fold     ? "fold"
               : column == group_by ? "group_by"
                                    : nullptr;
    }
    // The column that divides rows.
    std::optional<int> divider() const { return order_by ? order_by : group_by ? group_by : fold; }
};
// Errors: wrong_type, invalid_argument, duplicate_column or not_supported naming the column.
Roles assign_roles(const TrainingRequest& request);
// Says that no row tells how long the column's arrays are.
[[noreturn]] void refuse_unknown_length(const std::string& column);
// Error duplicate_column where an element of arrays has the name of another column.
void require_distinct_features(std::vector<std::string_view> names);

struct TrainingJoin {
    relational::Join join;        // without the rows whose target is NULL
    relational::DatasetPlan plan; // where target_type is no number, the target's column may be one of categories
    Oid target_type;
    Oid fold_type;               // InvalidOid without folds
    uint64_t rows_skipped;       // of the join: the target is NULL
    std::string repeats;         // of rows of the target's table that count more than once, for people; or empty
    std::vector<Timing> timings; // as of LoadedSource
};

// Errors: wrong_type, invalid_argument, duplicate_column or not_supported naming the column; invalid_argument for a
// source without rows to train on.
TrainingJoin read_training_join(const TrainingRequest& request, RunContext& context,
                                RowContents contents = RowContents::unread,
                                RowContents contents_of_labels = RowContents::unread);
// Holds out what the request asks for where no column says it; a target of labels has been made codes.
void hold_out(TrainingJoin& training, const TrainingRequest& request, RunContext& context);

// Says how often a join of so many rows has each of the rows of the target's table, `most` times at most.
std::string describe_repeats(const std::string& table, double join_rows, double table_rows, double most);
// Says, unless the description is empty, that what is fitted are not the rows of the target's table.
void notice_repeats(const std::string& repeats, const char* hint);
inline constexpr char one_row_each[] = "btml.relational_features makes features of what is joined, one row each.";
inline constexpr char one_row_each_or_unit[] =
    "With unit => 'target' all repeats of a row count as one; btml.relational_features makes features of what is "
    "joined, one row each.";

} // namespace btml::pg
