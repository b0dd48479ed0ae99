#include "core/boosting/sketched_squares.hpp"

#include "core/base/rng.hpp"
#include "core/relational/tensor_sketch.hpp"

#include <cmath>

namespace btml::boosting {

using namespace relational;

namespace {

constexpr const char* what = "sums of squares by sketch";
constexpr uint64_t stream = uint64_t{1} << 33; // of random numbers, apart from those that sample rows and features

} // namespace

SketchPlan plan_sketches(const Options& options, uint64_t bins, size_t tables) {
    if (options.sketch_size > 0) return {static_cast<uint64_t>(options.sketch_size), 1};
    return sketch_plan(options.epsilon, options.delta, std::max<uint64_t>(1, bins), static_cast<int>(tables));
}

static uint64_t bins_of(const BinnedData& data) {
    uint64_t bins = 0;
    for (const FeatureBins& feature : data.features) bins += feature.size();
    return bins;
}

SketchedSquares::SketchedSquares(const GroupedJoin& join, const BinnedData& data, const Options& options,
                                 RunContext& context)
    : data_(data),
      plan_(plan_sketches(options, bins_of(data), join.tables().size())),
      seed_(static_cast<uint64_t>(options.seed)),
      context_(context) {}

uint64_t SketchedSquares::bytes(const Dataset& dataset, const GroupedJoin& join, const Options& options, int threads) {
    uint64_t bins = 0;
    for (const FeatureColumn& column : dataset.features) {
        const uint64_t most = options.max_bins > 0 ? static_cast<uint64_t>(options.max_bins) : column.numbers.size();
        bins += 1 + (column.kind == FeatureKind::category ? column.categories.size()
                                                          : std::min<uint64_t>(most, column.numbers.size()));
    }
    const SketchPlan plan = plan_sketches(options, bins, join.tables().size());
    return FilteredSketch::bytes(join, TensorSketch::checked_size(plan.size), threads) +
           (static_cast<uint64_t>(plan.sketches) + 1) * bins * sizeof(double);
}

Buffer<double> SketchedSquares::by_bin(const FilteredSketch& residuals, const std::vector<int>& features) {
    size_t bins = 0;
    std::vector<std::vector<std::pair<const FeatureBins*, size_t>>> places(data_.tables.size()); // by table: offsets
    for (const int f : features) {
        const FeatureBins& feature = data_.features[static_cast<size_t>(f)];
        places[static_cast<size_t>(feature.table)].emplace_back(&feature, bins);
        bins += feature.size();
    }
    const auto sketches = static_cast<size_t>(plan_.sketches);
    Buffer<double> sums(context_.memory(), what, sketches * bins, 0.0); // by bin and sketch
    for (size_t sketch = 0; sketch < sketches; sketch++)
        for (size_t t = 0; t < places.size(); t++) {
            if (places[t].empty()) continue;
            const uint64_t seed = random_bits(seed_, stream, sketches_taken_++);
            const Buffer<double> norms = residuals.squared_norms(static_cast<int>(t), plan_.size, seed);
            for (const auto& [feature, offset] : places[t])
                with_bins(data_, *feature, [&, offset = offset](const auto& bin_of) {
                    double* const out = sums.data() + offset * sketches + sketch;
                    for (uint64_t row = 0; row < norms.size(); row++) out[bin_of(row) * sketches] += norms[row];
                });
        }
    Buffer<double> medians(context_.memory(), what, bins);
    for (size_t bin = 0; bin < bins; bin++) {
        double* const of_bin = sums.data() + bin * sketches;
        std::nth_element(of_bin, of_bin + sketches / 2, of_bin + sketches);
        medians[bin] = of_bin[sketches / 2];
    }
    return medians;
}

void SketchedSquares::measure(double estimate, double exact) {
    largest_sum_ = std::max(largest_sum_, exact);
    const bool is_rounding_error = exact <= 1e-20 * largest_sum_;
    error_ = std::max(error_.value_or(0), is_rounding_error ? 0 : std::fabs(estimate / exact - 1));
}

} // namespace btml::boosting
