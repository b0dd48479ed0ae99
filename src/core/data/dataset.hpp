// Holds what a model is trained on: rows of a join, given as row ids into a few tables that hold the columns.
#pragma once

#include "core/base/buffer.hpp"
#include "core/numbers/number.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace btml {

// What a target's values are: numbers, 0 and 1, or codes of labels.
enum class TargetKind : uint8_t { number, boolean, label };

inline constexpr size_t max_labels = 1000;

enum class FeatureKind { number, category };

struct FeatureColumn {
    static constexpr uint32_t null_code = UINT32_MAX;

    std::string name;
    std::string type; // SQL type name, kept in the model
    FeatureKind kind;
    int table;              // index into Dataset::tables
    Buffer<double> numbers; // kind number: one per table row, null_number for NULL; may be infinite or NaN
    Buffer<uint32_t> codes; // kind category: one per table row, null_code for NULL
    std::vector<std::string>
        categories;    // kind category: distinct labels in CategoryOrder(type); a code is an index here
    int direction = 0; // 1: predictions must never fall as it grows; −1: never grow
    std::vector<double> thresholds = {}; // kind number: bins must tell apart what lies on both sides of these
};

struct DataTable {
    uint64_t rows;
    Buffer<uint32_t> row_ids;       // the table's row in each row of the join; empty: row i of the join is row i here
    const uint32_t* lent = nullptr; // the same where another dataset, which outlives this one, holds them

    // Null where row i of the join is row i here.
    const uint32_t* ids() const { return lent ? lent : row_ids.empty() ? nullptr : row_ids.data(); }
};

struct Dataset {
    uint64_t rows = 0; // of the join; at most 2^32 − 2
    std::vector<DataTable> tables;
    std::vector<FeatureColumn> features; // in the order of the source's columns
    int target_table = 0;
    Buffer<double> target;                      // per row of target_table; finite; a code where there are labels
    Buffer<double> weight;                      // per row of target_table, finite and ≥ 0; empty: 1 each
    int holdout_table = -1;                     // -1: nothing is held out
    Buffer<uint8_t> holdout;                    // per row of holdout_table: 1 for rows that are not trained on,
                                                // in boosting a Role
    std::vector<std::string> labels = {};       // in the order of their codes, distinct; empty: the target is a number
    std::vector<double> label_weights = {};     // what a row of each label counts in the loss; empty: 1
    std::optional<FeatureColumn> offset = {};   // numbers of target_table, finite, that are added to scores
    std::optional<Buffer<uint32_t>> query = {}; // per row of target_table: the group that it is ranked in
    std::optional<FeatureColumn> fold = {};     // the fold that a row is scored in; NULL: none
    std::optional<Buffer<uint64_t>> row_hashes = {}; // per row of the join: a number made of its content
};

// Error invalid_argument where no row of a join with so many rows is left to train on.
[[noreturn]] void refuse_no_training_rows(uint64_t rows, uint64_t held_out);
// Check a number of a row; `what` is what errors call it, as in: weight "w". Errors: out_of_range for NaN and
// infinities, check_given null_value for NULL, check_weight out_of_range for a negative number.
void check_finite(double number, const char* what);
void check_given(double number, const char* what);
void check_weight(double weight, const char* what);
// Error out_of_range for a target of 1e150 or more in magnitude, whose square could overflow a sum.
void check_targets(double largest);

} // namespace btml
