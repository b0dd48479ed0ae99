#include "core/boosting/factorised/sketched_squares.hpp"

#include "core/numbers/rng.hpp"
#include "core/relational/queries/tensor_sketch.hpp"

#include <cmath>

namespace btml::boosting {

using namespace relational;

namespace {

constexpr const char* what = "sums of squares by sketch";
constexpr uint64_t stream = uint64_t{1} << 33; // of random numbers, apart from those that sample rows and features

} // namespace

SketchPlan plan_sketches(const Options& options, uint64_t bins, int tables) {
    if (options.sketch_size > 0) return {static_cast<uint64_t>(options.sketch_size), 1};
    return sketch_plan(options.epsilon, options.delta, std::max<uint64_t>(1, bins), tables);
}

static uint64_t bins_of(const BinnedData& data) {
    uint64_t bins = 0;
    for (const FeatureBins& feature : data.features) bins += feature.size();
    return bins;
}

SketchedSquares::SketchedSquares(const FilteredJoin& join, const BinnedData& data, const Options& options)
    : data_(data),
      plan_(plan_sketches(options, bins_of(data), join.join.relations())),
      seed_(options.seed),
      context_(join.context),
      sketch_(join) {}

uint64_t SketchedSquares::bytes(const Dataset& dataset, const GroupedJoin& join, const Options& options,
                                uint64_t queries) {
    uint64_t bins = 0;
    for (const FeatureColumn& column : dataset.features) {
        const uint64_t most = options.max_bins > 0 ? options.max_bins : column.numbers.size();
        bins += 1 + (column.categorical ? column.categories.size() : std::min<uint64_t>(most, column.numbers.size()));
    }
    const SketchPlan plan = plan_sketches(options, bins, join.relations());
    uint64_t rows = 0;
    for (const GroupedTable& table : join.tables()) rows += table.rows;
    return FilteredSketch::bytes(join, TensorSketch::checked_size(plan.size), queries) + rows * sizeof(double) +
           (plan.sketches + 1) * bins * sizeof(double);
}

Buffer<double> SketchedSquares::by_bin(const Selection& selection, const std::vector<FilterQuery>& residual,
                                       const std::vector<int>& features) {
    size_t bins = 0;
    std::vector<Buffer<double>> norms;
    for (size_t t = 0; t < data_.tables.size(); t++) norms.emplace_back(context_.memory(), what);
    for (const int f : features) {
        const FeatureBins& feature = data_.features[f];
        norms[feature.table].resize(data_.tables[feature.table].rows);
        bins += feature.size();
    }
    std::vector<double*> to;
    for (Buffer<double>& of_table : norms) to.push_back(of_table.empty() ? nullptr : of_table.data());
    const size_t sketches = plan_.sketches;
    Buffer<double> sums(context_.memory(), what, sketches * bins, 0.0); // by bin and sketch
    for (size_t sketch = 0; sketch < sketches; sketch++) {
        for (Buffer<double>& of_table : norms) std::fill(of_table.begin(), of_table.end(), 0.0);
        sketch_.add_norms(selection, residual, plan_.size, random_bits(seed_, stream, sketches_taken_++), to);
        double* out = sums.data() + sketch;
        for (const int f : features) {
            const FeatureBins& feature = data_.features[f];
            const Buffer<double>& of_table = norms[feature.table];
            with_bins(data_, feature, [&](const auto& bin_of) {
                context_.for_each(of_table.size(), 1,
                                  [&](uint64_t row) { out[bin_of(row) * sketches] += of_table[row]; });
            });
            out += feature.size() * sketches;
        }
    }
    Buffer<double> medians(context_.memory(), what, bins);
    context_.for_each(bins, sketches, [&](uint64_t bin) {
        double* const of_bin = sums.data() + bin * sketches;
        std::nth_element(of_bin, of_bin + sketches / 2, of_bin + sketches);
        medians[bin] = of_bin[sketches / 2];
    });
    return medians;
}

void SketchedSquares::measure(double estimate, double exact) {
    largest_sum_ = std::max(largest_sum_, exact);
    const bool is_rounding_error = exact <= 1e-20 * largest_sum_;
    error_ = std::max(error_.value_or(0), is_rounding_error ? 0 : std::fabs(estimate / exact - 1));
}

} // namespace btml::boosting
