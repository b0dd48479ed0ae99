// Small data sets in plain vectors, their layouts, and gradient boosting written as plainly as possible to compare
// with.
#pragma once

#include "core/boosting/booster.hpp"
#include "core/numbers/rng.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace btml::boosting::test {

struct PlainColumn {
    std::string name;
    bool categorical = false;
    int table = 0;
    std::vector<double> numbers;
    std::vector<uint32_t> codes;
    uint32_t categories = 0;
    int direction = 0;

    // As a predictor wants it.
    double value(size_t row) const;
};

struct PlainTable {
    size_t rows = 0;
    std::vector<uint32_t> ids; // by row of the join; empty: the same row
};

struct PlainData {
    size_t rows = 0;
    std::vector<PlainTable> tables;
    std::vector<PlainColumn> columns;
    int target_table = 0;
    std::vector<double> target, weight;
    int holdout_table = -1;
    std::vector<uint8_t> holdout;
    size_t labels = 0; // the target is a code below that
    std::vector<double> label_weights, offset;
    std::vector<uint32_t> query;

    uint32_t row_of(int table, size_t row) const;
    double target_of(size_t row) const { return target[row_of(target_table, row)]; }
    double offset_of(size_t row) const { return offset.empty() ? 0 : offset[row_of(target_table, row)]; }
    double weight_of(size_t row) const { return weight.empty() ? 1 : weight[row_of(target_table, row)]; }
    bool held_out(size_t row) const { return holdout_table >= 0 && holdout[row_of(holdout_table, row)]; }
    std::vector<double> features_of(size_t row) const;
};

// A stream of random numbers.
class Random {
  public:
    explicit Random(uint64_t seed) : seed_(seed) {}
    double unit() { return random_unit(seed_, 77, next_++); }
    size_t below(size_t count) { return static_cast<size_t>(unit() * static_cast<double>(count)); }
    bool chance(double p) { return unit() < p; }

  private:
    uint64_t seed_, next_ = 0;
};

struct DataShape {
    size_t rows = 200;
    int dimensions = 2;   // tables besides the first, reached through row ids
    int features = 5;     // spread over the tables
    size_t distinct = 12; // values of a numeric column; 0: continuous
    double nulls = 0.1;
    bool odd_numbers = false; // infinities, NaN and -0
    bool categories = true;
    bool weights = false, holdout = false;
    bool fact_ids = false; // the first table has row ids as well: rows of the join repeat its rows
};

inline double PlainColumn::value(size_t row) const {
    if (!categorical) return numbers[row];
    return codes[row] == FeatureColumn::null_code ? null_number : static_cast<double>(codes[row]);
}

inline uint32_t PlainData::row_of(int table, size_t row) const {
    const PlainTable& t = tables[static_cast<size_t>(table)];
    return t.ids.empty() ? static_cast<uint32_t>(row) : t.ids[row];
}

inline std::vector<double> PlainData::features_of(size_t row) const {
    std::vector<double> values;
    for (const PlainColumn& column : columns) values.push_back(column.value(row_of(column.table, row)));
    return values;
}

inline double random_number(const DataShape& shape, Random& random) {
    if (random.chance(shape.nulls)) return null_number;
    if (shape.odd_numbers && random.chance(0.25)) {
        static constexpr double infinity = std::numeric_limits<double>::infinity();
        const double odd[] = {infinity, -infinity, std::numeric_limits<double>::quiet_NaN(), -0.0, 0.0};
        return odd[random.below(5)];
    }
    if (shape.distinct == 0) return 10 * random.unit() - 5;
    return static_cast<double>(random.below(shape.distinct)) - static_cast<double>(shape.distinct / 2);
}

inline PlainData random_data(const DataShape& shape, uint64_t seed) {
    Random random(seed);
    PlainData data;
    data.rows = shape.rows;
    for (int t = 0; t <= shape.dimensions; t++) {
        PlainTable table;
        const bool identity = t == 0 && !shape.fact_ids;
        table.rows = identity ? shape.rows : 1 + random.below(std::max<size_t>(2, shape.rows / 5));
        if (!identity)
            for (size_t i = 0; i < shape.rows; i++)
                table.ids.push_back(static_cast<uint32_t>(random.below(table.rows)));
        data.tables.push_back(std::move(table));
    }
    for (int f = 0; f < shape.features; f++) {
        PlainColumn column;
        column.name = "f" + std::to_string(f);
        column.table = static_cast<int>(random.below(data.tables.size()));
        column.categorical = shape.categories && random.chance(0.3);
        column.categories = column.categorical ? static_cast<uint32_t>(1 + random.below(9)) : 0;
        for (size_t i = 0; i < data.tables[static_cast<size_t>(column.table)].rows; i++) {
            if (column.categorical)
                column.codes.push_back(random.chance(shape.nulls)
                                           ? FeatureColumn::null_code
                                           : static_cast<uint32_t>(random.below(column.categories)));
            else
                column.numbers.push_back(random_number(shape, random));
        }
        data.columns.push_back(std::move(column));
    }
    const size_t target_rows = data.tables[0].rows;
    data.target.assign(target_rows, 0);
    for (size_t i = 0; i < target_rows; i++) data.target[i] = 100 + 4 * random.unit();
    for (size_t i = 0; i < shape.rows; i++) { // something to learn
        double& y = data.target[data.row_of(0, i)];
        for (const PlainColumn& column : data.columns) {
            const double x = column.value(data.row_of(column.table, i));
            if (std::isfinite(x)) y += std::sin(x + column.table);
        }
    }
    if (shape.weights)
        for (size_t i = 0; i < target_rows; i++) data.weight.push_back(static_cast<double>(random.below(4)));
    if (shape.holdout) {
        data.holdout_table = static_cast<int>(random.below(data.tables.size()));
        for (size_t i = 0; i < data.tables[static_cast<size_t>(data.holdout_table)].rows; i++)
            data.holdout.push_back(random.chance(0.3));
        data.holdout[data.row_of(data.holdout_table, 0)] = 0;
    }
    if (shape.weights) data.weight[data.row_of(0, 0)] = 1;
    return data;
}

template <class T>
Buffer<T> to_buffer(const std::vector<T>& values, RunContext& context) {
    Buffer<T> buffer(context.memory(), "test data", values.size());
    std::copy(values.begin(), values.end(), buffer.begin());
    return buffer;
}

inline Dataset to_dataset(const PlainData& data, RunContext& context) {
    Dataset dataset(context.memory(), data.rows);
    dataset.target_table = data.target_table;
    dataset.target = to_buffer(data.target, context);
    dataset.weight = to_buffer(data.weight, context);
    dataset.holdout_table = data.holdout_table;
    dataset.holdout = to_buffer(data.holdout, context);
    for (const PlainTable& table : data.tables) dataset.tables.push_back({table.rows, to_buffer(table.ids, context)});
    for (const PlainColumn& column : data.columns) {
        FeatureColumn feature(context.memory(),
                              {column.name, column.categorical ? "text" : "double precision", column.categorical, {}},
                              column.table, column.direction);
        feature.numbers = to_buffer(column.numbers, context);
        feature.codes = to_buffer(column.codes, context);
        for (uint32_t code = 0; code < column.categories; code++) feature.categories.push_back(format("c%06u", code));
        dataset.features.push_back(std::move(feature));
    }
    for (size_t label = 0; label < data.labels; label++) dataset.labels.push_back(format("label %zu", label));
    dataset.label_weights = data.label_weights;
    if (!data.offset.empty()) {
        dataset.offset.emplace(context.memory(), Feature{"offset", "double precision", false, {}}, data.target_table);
        dataset.offset->numbers = to_buffer(data.offset, context);
    }
    if (!data.query.empty()) dataset.query = to_buffer(data.query, context);
    return dataset;
}

// The rows as one table in another order, `order` being row numbers with or without repetition.
inline PlainData reorder(const PlainData& data, const std::vector<size_t>& order) {
    PlainData result;
    result.rows = order.size();
    result.tables = {{order.size(), {}}};
    for (const PlainColumn& column : data.columns) {
        PlainColumn copy{column.name, column.categorical, 0, {}, {}, column.categories, column.direction};
        for (const size_t row : order) {
            const uint32_t id = data.row_of(column.table, row);
            if (column.categorical)
                copy.codes.push_back(column.codes[id]);
            else
                copy.numbers.push_back(column.numbers[id]);
        }
        result.columns.push_back(std::move(copy));
    }
    for (const size_t row : order) {
        result.target.push_back(data.target_of(row));
        if (!data.offset.empty()) result.offset.push_back(data.offset_of(row));
        if (!data.query.empty()) result.query.push_back(data.query[data.row_of(data.target_table, row)]);
        if (!data.weight.empty()) result.weight.push_back(data.weight_of(row));
        if (data.holdout_table >= 0) result.holdout.push_back(data.held_out(row));
    }
    result.holdout_table = data.holdout_table >= 0 ? 0 : -1;
    result.labels = data.labels;
    result.label_weights = data.label_weights;
    return result;
}

// The same rows as one table.
inline PlainData materialise(const PlainData& data) {
    std::vector<size_t> order(data.rows);
    std::iota(order.begin(), order.end(), 0);
    return reorder(data, order);
}

inline std::vector<size_t> random_order(size_t rows, uint64_t seed) {
    std::vector<size_t> order(rows);
    std::iota(order.begin(), order.end(), 0);
    Random random(seed);
    for (size_t i = rows; i > 1; i--) std::swap(order[i - 1], order[random.below(i)]);
    return order;
}

inline Model fit_plain(const PlainData& data, const Options& options, int threads = 1,
                       std::optional<Model> start = {}) {
    QuietContext context(threads);
    Model model = fit(to_dataset(data, context), options, context, false, std::move(start)).model;
    EXPECT_EQ(context.memory().used(), 0u);
    return model;
}

// The model alone, whatever the rows that calibrated it.
inline Model uncalibrated(Model model) {
    model.calibration.reset();
    return model;
}

// A model as bytes: equal when every bit is.
inline std::string bytes_of(Model model) {
    QuietContext quiet;
    Writer writer(quiet);
    encode(model, writer);
    const auto bytes = writer.bytes();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

} // namespace btml::boosting::test
