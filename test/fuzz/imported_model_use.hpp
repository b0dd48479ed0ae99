// What must hold of every model that a reader of another library's format returns.
#pragma once

#include "boosting/walking.hpp"
#include "core/boosting/exchange/lightgbm_text.hpp"
#include "core/boosting/explanations/explainer.hpp"
#include "core/boosting/trees/to_sql.hpp"

#include <cstdlib>

namespace btml::boosting {

inline bool same(double a, double b) {
    return a == b || (std::isnan(a) && std::isnan(b));
}

// It can be stored and read again, and predicts as plain walking does.
inline void check_storable(const Model& model, const std::vector<double>& row, RunContext& context) {
    Writer writer(context);
    encode(model, writer);
    Reader reader(writer.bytes(), context);
    const Model stored = decode(reader);
    const std::vector<double> plain = scores_by_walking(model, row);
    Predictor predict(stored, context);
    const std::span<const double> scores = predict.scores(row);
    for (size_t s = 0; s < plain.size(); s++)
        if (!same(plain[s], scores[s])) std::abort();
}

// Written for LightGBM and read again, it predicts the same.
inline void check_written(const Model& model, const std::vector<double>& row, RunContext& context) {
    if (model.imported->single_precision) return;
    const Buffer<char> text = write_lightgbm(model, context);
    const ImportedModel again = read_lightgbm({text.data(), text.size()}, "", context);
    const std::vector<double> scores = scores_by_walking(model, row), found = scores_by_walking(again.model, row);
    for (size_t s = 0; s < scores.size(); s++)
        if (!same(scores[s], found[s])) std::abort();
}

inline void use_imported(const ImportedModel& imported, RunContext& context) {
    const Model& model = imported.model;
    for (const double x : {0.5, 0.0, -1e300, 3.0}) {
        const std::vector<double> row(model.features.size(), x);
        check_storable(model, row, context);
        check_written(model, row, context);
    }
    size_t nodes = 0;
    for (const Tree& tree : model.trees) nodes += tree.size();
    constexpr size_t max_explained = 300; // a path of many features takes the square of their number
    if (nodes > max_explained) return;
    std::vector<double> row(model.features.size(), null_number);
    check_storable(model, row, context);
    check_written(model, row, context);
    std::vector<double> contributions((row.size() + 1) * model.scores());
    Explainer(model, context).contributions(row, contributions);
    to_sql(model, context);
}

// Reads bytes with categories in front of the first byte 1, if there is one.
template <class Read>
void read_hostile(std::span<const char> bytes, const Read& read) {
    const std::string_view text(bytes.data(), bytes.size());
    const size_t end = text.find('\1');
    const std::string_view categories = end == std::string_view::npos ? "" : text.substr(0, end);
    QuietContext context(1, uint64_t{256} << 20);
    try {
        use_imported(read(end == std::string_view::npos ? text : text.substr(end + 1), categories, context), context);
    } catch (const Error& error) {
        const bool expected = error.code() == ErrorCode::invalid_argument || error.code() == ErrorCode::not_supported ||
                              error.code() == ErrorCode::memory_limit || error.code() == ErrorCode::limit_exceeded;
        if (!expected) std::abort();
    }
    if (context.memory().used() != 0) std::abort();
}

} // namespace btml::boosting
