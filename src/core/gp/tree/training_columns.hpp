// Holds the rows that a Gaussian process is trained on. A feature of a table that has far fewer rows stays there.
#pragma once

#include "core/data/dataset.hpp"
#include "core/gp/tree/encoding.hpp"

#include <memory>

namespace btml::gp {

struct TrainingColumn {
    bool categorical;
    Buffer<double> numbers;
    Buffer<uint32_t> codes;
    uint32_t categories;
    // Where the value of each row is, which all features of a table share; null: at the row.
    std::shared_ptr<const Buffer<uint32_t>> ids = nullptr;

    FeatureView view() const {
        return {categorical, numbers.span(), codes.span(), categories, ids ? ids->span() : std::span<const uint32_t>()};
    }
};

struct TrainingColumns {
    explicit TrainingColumns(MemoryBudget& budget) : target(budget, "targets"), weight(budget, "weights") {}

    std::vector<TrainingColumn> features;
    Buffer<double> target;
    Buffer<double> weight; // empty: 1 each

    size_t rows() const { return target.size(); }
    double weight_of(size_t row) const { return weight.empty() ? 1 : weight[row]; }
    std::vector<FeatureView> views() const;
    // Reads the features of one row as Predictor takes them.
    void read_row(size_t row, std::span<double> values) const;
    // Leaves targets and weights.
    void free_features();
};

TrainingColumns copy(const TrainingColumns& rows, RunContext& context);
// Returns these rows, in this order, with all features in columns of their own.
TrainingColumns select(const TrainingColumns& rows, std::span<const uint32_t> chosen, RunContext& context);
// Adds one row, features as Predictor takes them, each a number or a category with a code; or takes one away, in whose
// place the last one comes.
void add_row(TrainingColumns& rows, std::span<const double> values, double target, double weight = 1);
void take_row(TrainingColumns& rows, size_t row);

// 8 bytes a number, a target and a weight (none where all are 1), 4 a category. decode checks every number once,
// features by the encoding: error corrupt_model.
void encode(const TrainingColumns& rows, Writer& writer);
TrainingColumns decode_training_columns(Reader& reader, const Encoding& encoding, RunContext& context);

// Rows to train on, and those that are held out: some choose the model, the others are left to calibrate it by.
struct FitRows {
    TrainingColumns training, choosing, calibrating;
    bool are_halves = false; // the latter two; or else all held-out rows are among the first, and none chooses

    FitRows(TrainingColumns rows, RunContext& context)
        : training(std::move(rows)), choosing(context.memory()), calibrating(context.memory()) {}
};

// Bytes that expand() needs at most besides the dataset, and by how many (or fewer, if negative) its result is larger
// than the dataset.
struct ExpansionBytes {
    int64_t peak, growth;
};
ExpansionBytes expansion_bytes(const Dataset& dataset);

// Lists the rows of the join, those held out as rows that choose. They come in an order that depends on their values
// alone, so that the join and its materialisation give the same sums to the last bit; rows of weight 0 are left out.
// The dataset's columns are freed one by one. Errors: invalid_argument where there is no feature or no row to train on;
// out_of_range for a target of 1e150 or more in magnitude; limit_exceeded beyond 2^32 − 2 rows.
FitRows expand(Dataset dataset, RunContext& context);

} // namespace btml::gp
