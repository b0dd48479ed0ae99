// Holds what a model is trained on: rows of a join, given as row ids into a few tables that hold the columns.
#pragma once

#include "core/base/buffer.hpp"
#include "core/data/feature.hpp"
#include "core/numbers/number.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace btml {

// What a target's values are: numbers, 0 and 1, or codes of labels.
enum class TargetKind : uint8_t { number, boolean, label };

inline constexpr size_t max_labels = 1000;

// A feature with its values, which are those of rows of a table.
struct FeatureColumn : Feature {
    static constexpr uint32_t null_code = UINT32_MAX;

    // Makes a column without values.
    FeatureColumn(MemoryBudget& budget, Feature feature, int table_, int direction_ = 0)
        : Feature(std::move(feature)),
          table(table_),
          direction(direction_),
          numbers(budget, "features"),
          codes(budget, "features") {}

    int table;                      // index into Dataset::tables
    int direction;                  // 1: predictions must never fall as it grows; −1: never grow
    Buffer<double> numbers;         // one per table row, null_number for NULL; may be infinite or NaN
    Buffer<uint32_t> codes;         // of what is categorical: one per table row, null_code for NULL
    std::vector<double> thresholds; // of numbers: bins must tell apart what lies on both sides of these

    size_t rows() const { return categorical ? codes.size() : numbers.size(); }
};

// Says where rows of the join are in one of its tables.
class RowIds {
  public:
    // ids: null where row i of the join is row i of the table.
    RowIds(const uint32_t* ids = nullptr) : ids_(ids) {}

    uint32_t operator[](uint64_t row) const { return ids_ ? ids_[row] : static_cast<uint32_t>(row); }
    // Says whether they are other numbers than those of the rows of the join.
    explicit operator bool() const { return ids_ != nullptr; }
    const uint32_t* data() const { return ids_; }

  private:
    const uint32_t* ids_;
};

struct DataTable {
    uint64_t rows;
    Buffer<uint32_t> row_ids;       // the table's row in each row of the join; empty: row i of the join is row i here
    const uint32_t* lent = nullptr; // row_ids of another dataset that outlives this one

    RowIds ids() const { return lent ? lent : row_ids.empty() ? nullptr : row_ids.data(); }
};

struct Dataset {
    // Makes a dataset without tables and columns. rows: of the join.
    Dataset(MemoryBudget& budget, uint64_t rows);

    uint64_t rows; // of the join; at most 2^32 − 2
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
    std::optional<FeatureColumn> divider = {};  // what rows are divided by: folds (NULL: none), groups, or an order
    std::optional<Buffer<uint64_t>> row_hashes = {}; // per row of the join: a number made of its content

    // Adds a table and returns its number. lent: the rows' ids, which outlive this; null: its rows are those of the
    // join.
    int add_table(uint64_t table_rows, const uint32_t* lent = nullptr);
    // Says whose rows the numbers in `holdout` are, and weights and targets: rows of these tables of the join.
    RowIds target_ids() const { return tables[static_cast<size_t>(target_table)].ids(); }
    RowIds holdout_ids() const {
        return holdout_table < 0 ? RowIds() : tables[static_cast<size_t>(holdout_table)].ids();
    }
    RowIds ids_of(const FeatureColumn& column) const { return tables[static_cast<size_t>(column.table)].ids(); }
    double weight_of(uint64_t row) const { return weight.empty() ? 1 : weight[target_ids()[row]]; } // of the join
    // Returns a dataset of the same rows, whose ids this one lends, with copies of the targets and of what goes with
    // them. Its features have no values, which bins hold, and nothing is held out.
    Dataset copy_of_targets(RunContext& context) const;
    // Says for each row of the join what it is.
    void hold_out(Buffer<uint8_t> rows_of_join);
};

// Says that no row has a weight to be trained on with. It is an error of its own, since a group of an aggregate without
// such rows has no model, where one fit over them fails.
class NothingToTrainOn : public Error {
  public:
    explicit NothingToTrainOn(std::string message, std::string detail = {})
        : Error(ErrorCode::invalid_argument, std::move(message), std::move(detail)) {}
};

// Throws it where no row of a join with so many rows is left to train on.
[[noreturn]] void refuse_no_training_rows(uint64_t rows, uint64_t held_out);
// Check a number of a row; `what` is what errors call it, as in: weight "w". Errors: out_of_range for NaN and
// infinities, check_given null_value for NULL, check_weight out_of_range for a negative number.
void check_finite(double number, const char* what);
void check_given(double number, const char* what);
void check_weight(double weight, const char* what);
// Error out_of_range for a target of 1e150 or more in magnitude, whose square could overflow a sum.
void check_targets(double largest);

} // namespace btml
