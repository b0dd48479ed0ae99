#include "core/kernel/error_freedom.hpp"

#include "core/kernel/query_group.hpp"
#include "core/monte_carlo/stratified_mean.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace btml::kernel {

namespace {

// [query][place among the sample's keys]: what a key adds to the error of one result, in units in which the
// covariance of two of these is the product of their rows.
class Deviations {
  public:
    Deviations(const ErrorFreedom& of, size_t queries, RunContext& context)
        : of_(of),
          places_(of.sample.blocks().blocks() * block_keys),
          values_(context.memory(), "a pilot", queries * places_, 0.0F) {}

    void find(const Points& queries, size_t count, const double* sums, MemoryBudget& budget) {
        const Frame& frame = of_.keys.distinct.frame;
        QueryGroup group(frame, 0, budget);
        std::vector<uint32_t> rows(count);
        std::iota(rows.begin(), rows.end(), 0U);
        group.load(queries, rows);
        const KeyStrata& strata = of_.sample.strata();
        for (size_t stratum = 0; stratum < strata.strata(); stratum++) {
            const size_t keys = strata.sampled(stratum, of_.fraction), begin = of_.sample.first_block(stratum);
            for (size_t tile = 0; tile < group.tiles(); tile++)
                for (size_t k = 0; k < keys; k++) {
                    const size_t block = begin + k / block_keys, place = k % block_keys;
                    if (place == 0) group.evaluate(tile, of_.sample.blocks(), block);
                    for (size_t i = tile * tile_queries; i < std::min(count, (tile + 1) * tile_queries); i++)
                        if (!of_.is_exact(i, block, place))
                            values_[i * places_ + block * block_keys + place] =
                                static_cast<float>(group.values()[i % tile_queries * block_keys + place] *
                                                   deviation(i, sums + i * of_.estimand.columns(), block, place));
                }
            for (size_t i = 0; i < count; i++) centre(i, stratum, keys);
        }
    }

    // Over every second place from the first on.
    double product(size_t a, size_t b, size_t first) const noexcept {
        double sum = 0;
        for (size_t j = first; j < places_; j += 2)
            sum += values_[a * places_ + j] * static_cast<double>(values_[b * places_ + j]);
        return sum;
    }

  private:
    // Takes one target of a mean, which is the query's turn.
    double deviation(size_t query, const double* sums, size_t block, size_t place) const noexcept {
        const BlockValues& values = of_.sample.values();
        const double weight = values.of(block, 0)[place];
        if (!of_.estimand.is_mean()) return weight;
        if (!(sums[0] > 0)) return 0;
        const size_t c = 1 + query % of_.estimand.targets();
        return (values.of(block, c)[place] - sums[c] / sums[0] * weight) / sums[0];
    }

    // Strata are sampled each for itself, at rates of which inflation is the reciprocal.
    void centre(size_t query, size_t stratum, size_t count) noexcept {
        if (count == 0) return;
        const KeyStrata& strata = of_.sample.strata();
        float* const first = values_.data() + query * places_ + of_.sample.first_block(stratum) * block_keys;
        const double mean = std::accumulate(first, first + count, 0.0) / count,
                     unit = std::sqrt(strata.inflation_of(stratum) * strata.keys(stratum) / count);
        for (size_t k = 0; k < count; k++) first[k] = static_cast<float>(unit * (first[k] - mean));
    }

    const ErrorFreedom& of_;
    size_t places_;
    Buffer<float> values_;
};

} // namespace

double ErrorFreedom::estimate(const Points& queries, const double* sums, RunContext& context) const {
    const size_t count = std::min(max_queries, queries.rows());
    Deviations deviations(*this, count, context);
    deviations.find(queries, count, sums, context.memory());
    double variance = 0, covariances = 0; // the squares' mean: halves of the sample err independently of each other
    for (size_t i = 0; i < count; i++) {
        context.poll();
        variance += (deviations.product(i, i, 0) + deviations.product(i, i, 1)) / count;
        for (size_t j = 0; j < i; j++) covariances += 4 * deviations.product(i, j, 0) * deviations.product(i, j, 1);
    }
    covariances /= count * (count - 1) / 2;
    if (!(variance > 0) || !(covariances > 0)) return std::numeric_limits<double>::infinity();
    return std::max(1.0, variance * variance / covariances);
}

double share_of_budget(double confidence, double degrees_of_freedom) {
    // Wilson and Hilferty's approximation of the quantile of χ²_ν/ν.
    const double spread = 2 / (9 * degrees_of_freedom),
                 quantile = std::pow(1 - spread + monte_carlo::normal_quantile(confidence) * std::sqrt(spread), 3),
                 of_heavy_pairs = 1 + 0.141 * std::sqrt(-2 * std::log(1 - confidence));
    return 1 / (std::max(1.0, quantile) - 1 + of_heavy_pairs * of_heavy_pairs);
}

} // namespace btml::kernel
