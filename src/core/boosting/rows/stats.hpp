// The sums that decide a split, exact integers: adding and subtracting them is associative, so histograms come out the
// same in any order of rows and on any number of threads.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace btml::boosting {

// Signed and unsigned 128-bit integers; __extension__ keeps -Wpedantic quiet about them.
__extension__ using int128 = __int128;
__extension__ using uint128 = unsigned __int128;

inline int bit_width(uint128 x) {
    const auto high = static_cast<uint64_t>(x >> 64);
    return high ? 64 + std::bit_width(high) : std::bit_width(static_cast<uint64_t>(x));
}

inline uint64_t magnitude(int64_t x) {
    return x < 0 ? uint64_t{0} - static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
}

// The numbers of Stats and of NodeSums, which are added alike: by one addition. Sums that nobody reads may wrap.
using Pair [[gnu::vector_size(16), gnu::may_alias]] = unsigned long long;
using Quad [[gnu::vector_size(32), gnu::may_alias, gnu::aligned(16)]] = unsigned long long;

inline Pair pair_of(int64_t first, int64_t second) {
    return Pair{static_cast<uint64_t>(first), static_cast<uint64_t>(second)};
}

// Holds what gains and values of leaves are made of. A residual is minus the derivative of a row's loss by its score.
struct alignas(16) Stats {
    using Numbers = Pair;

    int64_t sum = 0;     // of weight · residual, in units of the residual grid
    int64_t hessian = 0; // of weight · second derivative of the loss, in units of SumUnits::hessian_unit

    Stats& operator+=(Stats other) {
        sum += other.sum;
        hessian += other.hessian;
        return *this;
    }
    Stats& operator-=(Stats other) {
        sum -= other.sum;
        hessian -= other.hessian;
        return *this;
    }
};

// Holds what is summed beside them where it is needed: squares for criterion mse_sum, counts where the hessian is not
// the count, as it is for squared loss.
struct alignas(16) Tally {
    int64_t squares = 0; // of weight · residual², in square units; 0 unless the criterion is mse_sum
    int64_t count = 0;   // of weights, in units of the weight grid (rows, when there are no weights)

    Tally& operator+=(Tally other) {
        squares += other.squares;
        count += other.count;
        return *this;
    }
    Tally& operator-=(Tally other) {
        squares -= other.squares;
        count -= other.count;
        return *this;
    }
};

// All sums over some rows. Gains and values of leaves go by the hessian; whether a split is admissible, and what a node
// says of its rows, by the count.
struct NodeSums {
    using Numbers = Quad;

    Stats total;
    Tally tally;

    NodeSums() = default;
    NodeSums(Stats stats, Tally with) : total(stats), tally(with) {}
    // Without a tally the hessian is the count.
    explicit NodeSums(Stats stats, const Tally* with = nullptr)
        : NodeSums(stats, with ? *with : Tally{0, stats.hessian}) {}

    int64_t count() const { return tally.count; }
    NodeSums& operator+=(const NodeSums& other) {
        total += other.total;
        tally += other.tally;
        return *this;
    }
    NodeSums& operator-=(const NodeSums& other) {
        total -= other.total;
        tally -= other.tally;
        return *this;
    }
    friend NodeSums operator+(NodeSums a, const NodeSums& b) { return a += b; }
    friend NodeSums operator-(NodeSums a, const NodeSums& b) { return a -= b; }
};

static_assert(sizeof(NodeSums) == sizeof(Quad));

// Says how few bytes hold the stats of a row: all 16; 8 for the sum alone, where every hessian is 1; 8 for both where
// they fit 32 bits each; 32 for those with a tally.
enum class StatsFormat : uint8_t { full, unit_hessian, narrow, tallied };

inline constexpr size_t bytes_of(StatsFormat format) {
    return format == StatsFormat::tallied ? sizeof(NodeSums)
           : format == StatsFormat::full  ? sizeof(Stats)
                                          : sizeof(int64_t);
}

// Says what the integers of a histogram stand for.
struct SumUnits {
    int grid = 0; // a sum: integer · 2^-grid of weight · 2^shift · residual
    int shift = 0;
    double hessian_unit = 1; // a hessian: integer · hessian_unit of weight · 2^shift · second derivative
    int count_scale = 0;     // a count: integer · 2^-count_scale of weight
    double square_unit = 1;  // a sum of squares: integer · square_unit, in squared units of the grid
    int64_t slack = 0;       // of fractional weights: a side of a split must weigh more, and sums compare to within it
    double first_square = 0; // of usual residuals before the first tree: what rounding may feign goes by it
    bool drifts = true;      // every tree rounds residuals that the next one starts from
    bool exact = true;       // false: differences of counts up to the slack are what doubles rounded
};
inline constexpr int slack_bits = 40; // the slack is 2^-40 of all the weight, far above what doubles round

} // namespace btml::boosting
