// Small data sets for Gaussian processes, and what dense algebra says of a model fitted to them.
#pragma once

#include "caught.hpp"
#include "gp_reference.hpp"

#include "core/gp/fit.hpp"
#include "core/gp/outside.hpp"
#include "core/gp/tree/row_sorter.hpp"

#include <functional>
#include <optional>

namespace btml::gp::test {

// Rows of two numbers, a category, and a target; NULL where a number is null_number or a label is empty.
struct PlainRow {
    double x1, x2;
    std::string label;
    double y, weight = 1;
    bool held_out = false;
};

inline std::vector<PlainRow> random_rows(size_t count, uint64_t seed) {
    Random random(seed);
    static const std::string labels[] = {"a", "b", "c", "d", ""};
    std::vector<PlainRow> rows;
    for (size_t i = 0; i < count; i++) {
        PlainRow row{std::floor(8 * random.unit()), 10 * random.unit(), labels[random.below(5)], 0};
        row.y = 100 + 3 * std::sin(row.x1) + row.x2 + static_cast<double>(row.label.size()) + 0.3 * random.normal();
        if (random.chance(0.15)) row.x2 = null_number;
        rows.push_back(row);
    }
    return rows;
}

struct DataShape {
    bool weights = false, holdout = false;
};

inline Dataset dataset_of(const std::vector<PlainRow>& rows, const DataShape& shape, RunContext& context) {
    Dataset data(context.memory(), rows.size());
    data.holdout_table = shape.holdout ? 0 : -1;
    data.add_table(rows.size());
    const auto feature = [&](Feature made) {
        data.features.emplace_back(context.memory(), std::move(made), 0);
        return data.features.size() - 1;
    };
    const size_t x1 = feature({"x1", "double precision", false, {}}),
                 x2 = feature({"x2", "double precision", false, {}});
    const size_t kind = feature({"kind", "double precision", true, {"a", "b", "c", "d"}});
    for (const PlainRow& row : rows) {
        data.features[x1].numbers.push_back(row.x1);
        data.features[x2].numbers.push_back(row.x2);
        data.features[kind].codes.push_back(row.label.empty() ? FeatureColumn::null_code
                                                              : static_cast<uint32_t>(row.label[0] - 'a'));
        data.target.push_back(row.y);
        if (shape.weights) data.weight.push_back(row.weight);
        if (shape.holdout) data.holdout.push_back(row.held_out);
    }
    return data;
}

// Rows of which every `distinct` one has the second number and the category of the same row of a table.
inline std::vector<PlainRow> star_rows(size_t count, size_t distinct, uint64_t seed) {
    std::vector<PlainRow> rows = random_rows(count, seed);
    for (size_t i = distinct; i < count; i++) {
        rows[i].x2 = rows[i % distinct].x2;
        rows[i].label = rows[i % distinct].label;
    }
    return rows;
}

// The same, with these two features in a table of their own, which has one row more that no other goes to.
inline Dataset star_of(const std::vector<PlainRow>& rows, size_t distinct, const DataShape& shape,
                       RunContext& context) {
    Dataset data = dataset_of(rows, shape, context);
    std::vector<PlainRow> table(rows.begin(), rows.begin() + static_cast<ptrdiff_t>(distinct));
    table.push_back({0, 1e6, "d", 0});
    Dataset star = dataset_of(table, {}, context);
    Buffer<uint32_t> ids(context.memory(), "row ids");
    for (size_t i = 0; i < rows.size(); i++) ids.push_back(static_cast<uint32_t>(i % distinct));
    data.tables.push_back({table.size(), std::move(ids)});
    for (const size_t f : {1, 2}) {
        data.features[f] = std::move(star.features[f]);
        data.features[f].table = 1;
    }
    return data;
}

inline Options plain_options() {
    Options options;
    options.search = Search::none;
    options.bits = 4;
    return options;
}

inline std::vector<double> features_of(const PlainRow& row) {
    return {row.x1, row.x2, row.label.empty() ? null_number : row.label[0] - 'a'};
}

inline FitResult fit_rows(const std::vector<PlainRow>& rows, const Options& options, const DataShape& shape,
                          RunContext& context) {
    return fit(dataset_of(rows, shape, context), options, context);
}

inline std::string bytes_of(const Model& model) {
    QuietContext quiet;
    Writer writer(quiet);
    encode(model, writer);
    return {reinterpret_cast<const char*>(writer.bytes().data()), writer.bytes().size()};
}

inline Model model_of(const std::string& bytes, RunContext& context) {
    Reader reader(std::as_bytes(std::span(bytes.data(), bytes.size())), context);
    Model model = decode(reader, context);
    reader.finish();
    return model;
}

// Expects that a fit with too little memory is refused before it starts, and that it runs with some that is enough.
inline void expect_memory_is_estimated(const std::function<Dataset(RunContext&)>& make_data, const Options& options) {
    QuietContext large;
    const Dataset data = make_data(large);
    const uint64_t held = large.memory().used();
    bool enough = false;
    for (uint64_t limit = held; limit < 2000 * held && !enough; limit += limit / 4) {
        QuietContext context(1, limit);
        bool made = false;
        const auto refusal = btml::test::caught([&] {
            Dataset made_data = make_data(context);
            made = true;
            fit(std::move(made_data), options, context);
        });
        enough = !refusal.thrown;
        if (refusal.thrown && made) {
            EXPECT_EQ(refusal.code, ErrorCode::memory_limit);
            EXPECT_NE(refusal.detail.find("a Gaussian process"), std::string::npos) << refusal.detail;
        }
    }
    EXPECT_TRUE(enough);
}

inline void expect_memory_is_estimated(const std::vector<PlainRow>& rows, const Options& options) {
    expect_memory_is_estimated([&](RunContext& context) { return dataset_of(rows, {}, context); }, options);
}

// The string of a point, and '?' where a level is not known, which is equal to nothing.
inline std::string string_of(const Member& member, const std::vector<double>& features) {
    PointEncoder encoder(member.encoding, member.order);
    const String point = encoder(features);
    std::string text;
    for (size_t level = 0; level < member.order.size(); level++)
        text.push_back(level >= point.known ? '?' : point.words[level / 64] >> (63 - level % 64) & 1 ? '1' : '0');
    return text;
}

// A member as dense algebra sees it: its rows on the scale of the model.
inline PlainGp plain_gp_of(const Model& model, const Member& member, const std::vector<PlainRow>& rows, bool weights) {
    PlainGp plain;
    plain.kernel = member.trie.kernel();
    for (const PlainRow& row : rows) {
        plain.strings.push_back(string_of(member, features_of(row)));
        plain.target.push_back((row.y - model.centre) / model.scale);
        if (weights) plain.weight.push_back(row.weight);
    }
    return plain;
}

// The latent function at a string, on the scale of the model.
inline Normal dense_latent(const PlainGp& plain, const std::string& string) {
    std::vector<std::string> at{string};
    Dense cross;
    const std::vector<double> c = plain.kernel.covariances();
    for (const std::string& row : plain.strings) {
        size_t levels = 0;
        while (levels < string.size() && string[levels] != '?' && string[levels] == row[levels]) levels++;
        cross.push_back(c[levels]);
    }
    if (plain.rows() == 0) return {0, plain.kernel.signal()};
    const Cholesky factor(observed_covariance(plain));
    return {static_cast<double>(dot(cross, factor.solve(dense(plain.target)))),
            static_cast<double>(plain.kernel.signal() - dot(cross, factor.solve(cross)))};
}

// What OutsideScale says, of the model's members, written down a second time.
inline Nearness plain_nearness(const Model& model, const std::vector<double>& features) {
    Nearness near;
    if (model.options.outside == Outside::clamp) return near;
    for (const size_t f : {size_t{0}, size_t{1}}) {
        const FeatureBits& bits = model.members().front().encoding.features()[f];
        const double least = bits.scale->least(), greatest = bits.scale->greatest(), x = features[f];
        if (is_null(x) || (x >= least && x <= greatest)) continue;
        const auto lost_from = [&](int bit) {
            if (bit <= 0) return 1.0;
            double lost = 0, all = 0;
            for (const Member& member : model.members()) {
                const std::vector<double>& weights = member.trie.kernel().weights;
                bool is_lost = false;
                int used = bits.null_bit ? 0 : 1;
                for (size_t level = 0; level < weights.size(); level++) {
                    is_lost |= member.order[level] == f && used++ == bit;
                    if (is_lost) lost += member.weight * weights[level];
                    all += member.weight * weights[level];
                }
            }
            return lost / all;
        };
        const double range = greatest - least, beyond = x > greatest ? x - greatest : least - x;
        const double distance = range > 0 ? beyond / range : 1;
        double lost = 0, already = 0; // with which probability two points have parted
        for (int bit = 0; bit <= bits.value_bits; bit++) {
            const double parted = std::min(1.0, distance * std::pow(2, bit));
            lost += (parted - already) * lost_from(bit);
            already = parted;
        }
        near.correlation *= 1 - lost;
        near.mean *= std::max(0.0, 1 - distance);
    }
    return near;
}

// Likewise, of a point that may lie beyond the training ranges.
inline Normal dense_latent_at(const Model& model, const Member& member, const PlainGp& plain,
                              const std::vector<double>& features) {
    const Normal at = dense_latent(plain, string_of(member, features));
    const auto [mean, correlation] = plain_nearness(model, features);
    const double kept = correlation * correlation, turn = (mean - correlation) * at.mean;
    return {mean * at.mean, kept * at.variance + (1 - kept) * plain.kernel.signal() + turn * turn};
}

// To be changed by a test.
inline std::vector<Member>& members_of(Model& model) {
    return std::get<Mixture>(model.posterior).members;
}

} // namespace btml::gp::test
