// Small data sets for linear models, whose figures statsmodels has computed from the same formulas.
#pragma once

#include "caught.hpp"

#include "core/base/serial.hpp"
#include "core/linear/linear_fit.hpp"
#include "core/linear/linear_predictor.hpp"
#include "core/numbers/rng.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace btml::linear::test {

// A feature with its values by row: null_number for NULL; codes of what has categories.
struct PlainFeature {
    std::string name;
    std::vector<double> values;
    std::vector<std::string> categories = {};
    int table = 0; // of PlainRows::ids
};

struct PlainRows {
    std::vector<PlainFeature> features;
    std::vector<double> target, weight = {}; // no weights: 1
    std::vector<uint32_t> clusters = {};
    std::vector<bool> held_out = {};
    std::vector<std::string> labels = {};
    std::vector<std::vector<uint32_t>> ids =
        {}; // by table but the first, by row; features of it have values by its rows

    size_t size() const { return target.size(); }
    double value(size_t feature, size_t row) const {
        const PlainFeature& of = features[feature];
        return of.values[of.table == 0 ? row : ids[static_cast<size_t>(of.table) - 1][row]];
    }
    std::vector<double> features_of(size_t row) const {
        std::vector<double> values;
        for (size_t f = 0; f < features.size(); f++) values.push_back(value(f, row));
        return values;
    }
};

inline uint32_t code_of(double value) {
    return is_null(value) ? FeatureColumn::null_code : static_cast<uint32_t>(value);
}

// Puts rows in this order; all of them, in their own, where it is empty.
inline Dataset dataset_of(const PlainRows& rows, RunContext& context, std::vector<size_t> order = {}) {
    if (order.empty())
        for (size_t i = 0; i < rows.size(); i++) order.push_back(i);
    Dataset data(context.memory(), order.size());
    data.add_table(order.size());
    for (const std::vector<uint32_t>& ids : rows.ids) {
        data.add_table(0);
        for (const size_t i : order) data.tables.back().row_ids.push_back(ids[i]);
    }
    for (const PlainFeature& feature : rows.features) {
        const bool is_categorical = !feature.categories.empty();
        data.features.emplace_back(
            context.memory(),
            Feature{feature.name, is_categorical ? "text" : "double precision", is_categorical, feature.categories},
            feature.table);
        FeatureColumn& column = data.features.back();
        const auto add = [&](double value) {
            if (is_categorical) return column.codes.push_back(code_of(value));
            column.numbers.push_back(value);
        };
        if (feature.table > 0) {
            data.tables[static_cast<size_t>(feature.table)].rows = feature.values.size();
            for (const double value : feature.values) add(value);
        } else {
            for (const size_t i : order) add(feature.values[i]);
        }
    }
    for (const size_t i : order) {
        data.target.push_back(rows.target[i]);
        if (!rows.weight.empty()) data.weight.push_back(rows.weight[i]);
        if (!rows.held_out.empty()) data.holdout.push_back(rows.held_out[i]);
    }
    if (!rows.held_out.empty()) data.holdout_table = 0;
    data.labels = rows.labels;
    if (rows.clusters.empty()) return data;
    std::vector<std::string> names;
    for (uint32_t g = 0; g <= *std::max_element(rows.clusters.begin(), rows.clusters.end()); g++)
        names.push_back(format("%03u", g));
    data.divider.emplace(context.memory(), Feature{"g", "text", true, names}, 0);
    for (const size_t i : order) data.divider->codes.push_back(rows.clusters[i]);
    return data;
}

inline FitResult fit_rows(const PlainRows& rows, const Options& options, RunContext& context,
                          std::vector<size_t> order = {}) {
    return fit(dataset_of(rows, context, std::move(order)), options, context);
}

inline std::string bytes_of(const Model& model) {
    QuietContext context;
    Writer writer(context);
    encode(model, writer);
    return {reinterpret_cast<const char*>(writer.bytes().data()), writer.bytes().size()};
}

inline Model model_of(const std::string& bytes, RunContext& context) {
    Reader reader({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, context);
    return decode(reader);
}

// Numbers that look random, and are the same wherever the formula is written down.
inline double mixed(size_t i, size_t k) {
    return static_cast<double>((i * 7919 + k * 104729 + i * i * 31 + i * k * 57 + k * k * i * 13) % 1009) / 1009.0;
}

// 80 rows of two numbers, one of which is missing at times, a category and a boolean.
inline PlainRows formula_rows(Family family, bool weighted) {
    PlainRows rows;
    rows.features = {{"x1", {}}, {"x2", {}}, {"code", {}, {"a", "b", "c", "d"}}, {"flag", {}}};
    for (size_t i = 0; i < 80; i++) {
        const double x1 = 100 + 10 * mixed(i, 1), x2 = mixed(i, 2) - 0.5, flag = mixed(i, 4) < 0.4;
        const size_t code = (i * i + i / 5) % 4;
        const double eta = 0.3 * (x1 - 105) / 10 + 1.2 * x2 + 0.4 * (code == 1) - 0.3 * (code == 3) + 0.2 * flag;
        const double values[] = {x1, i % 7 == 3 ? null_number : x2, static_cast<double>(code), flag};
        for (size_t f = 0; f < 4; f++) rows.features[f].values.push_back(values[f]);
        rows.target.push_back(family == Family::gaussian   ? 5 + 3 * eta + mixed(i, 5) - 0.5
                              : family == Family::binomial ? mixed(i, 6) < 0.5 + 0.4 * eta
                              : family == Family::poisson
                                  ? std::max(0.0, std::floor(6 * mixed(i, 7) * (1 + eta) * (1 + eta)))
                                  : (0.2 + mixed(i, 8)) * std::exp(0.5 * eta));
        if (weighted) rows.weight.push_back(1 + static_cast<double>(i % 4) * 0.75);
        rows.clusters.push_back(static_cast<uint32_t>((i * 3 + i / 7) % 11));
    }
    return rows;
}

// A stream of random numbers.
class Random {
  public:
    explicit Random(uint64_t seed) : seed_(seed) {}
    double unit() { return random_unit(seed_, 91, next_++); }
    size_t below(size_t n) { return static_cast<size_t>(unit() * static_cast<double>(n)); }
    bool chance(double p) { return unit() < p; }
    double normal() {
        double sum = -6;
        for (int i = 0; i < 12; i++) sum += unit();
        return sum;
    }

  private:
    const uint64_t seed_;
    uint64_t next_ = 0;
};

// Rows of all kinds of features, with a target of any family that they say something of.
inline PlainRows random_rows(size_t count, uint64_t seed, Family family) {
    Random random(seed);
    PlainRows rows;
    rows.features = {
        {"x1", {}}, {"x2", {}}, {"x3", {}}, {"kind", {}, {"a", "b", "c", "d", "e"}}, {"other", {}, {"p", "q", "r"}}};
    for (size_t i = 0; i < count; i++) {
        const double kind = random.chance(0.1) ? null_number : static_cast<double>(random.below(5));
        const double x2 = random.chance(0.15) ? null_number : random.normal();
        const double values[] = {1000 + random.normal(), x2, 1e-3 * random.normal(), kind,
                                 static_cast<double>(random.below(3))};
        for (size_t f = 0; f < 5; f++) rows.features[f].values.push_back(values[f]);
        const double eta = 0.5 * (values[0] - 1000) + (is_null(x2) ? 0.7 : 0.4 * x2) + 300 * values[2] +
                           (is_null(kind) ? -0.5 : 0.2 * kind - 0.4) + 0.3 * (values[4] == 1);
        rows.target.push_back(family == Family::gaussian   ? eta + random.normal()
                              : family == Family::binomial ? random.chance(1 / (1 + std::exp(-eta)))
                              : family == Family::poisson  ? std::floor(std::exp(0.7 * eta) * 2 * random.unit() + 0.5)
                                                           : std::exp(0.7 * eta) * (0.1 + random.unit()));
        rows.weight.push_back(random.chance(0.05) ? 0 : 0.5 + random.unit());
        rows.clusters.push_back(static_cast<uint32_t>(random.below(9)));
        rows.held_out.push_back(random.chance(0.1));
    }
    return rows;
}

inline constexpr Family all_families[] = {Family::gaussian, Family::binomial, Family::poisson, Family::gamma};

inline Options options_of(Family family) {
    Options options;
    options.family = family;
    return options;
}

} // namespace btml::linear::test
