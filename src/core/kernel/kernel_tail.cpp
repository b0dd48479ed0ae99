#include "core/kernel/kernel_tail.hpp"

#include "core/kernel/query_groups.hpp"
#include "core/numbers/rng.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

namespace btml::kernel {

namespace {

constexpr double max_entries = 1e9;     // that automatic looks at one by one
constexpr double sampled_entries = 2e7; // roughly
constexpr size_t min_rows = 64;         // of a sample
constexpr size_t queries_of_item = 32;

constexpr size_t bins = (std::bit_cast<uint32_t>(1.0F) >> 15) + 1; // of entries, by their bits but the last 15
constexpr size_t bin_parts = size_t{1} << 15;                      // of a bin: by those

size_t bin_of(float entry) {
    return std::bit_cast<uint32_t>(entry) >> 15;
}
size_t part_of(float entry) {
    return std::bit_cast<uint32_t>(entry) % bin_parts;
}

// The kernel matrix of queries and keys, both in the order given.
class Matrix {
  public:
    Matrix(const Points& keys, const Points& queries, const Options& options, RunContext& context)
        : context_(context),
          team_(context),
          queries_(queries),
          order_(in_order(keys.rows(), context)),
          frame_(keys, order_, options, context),
          framed_(frame_points(keys, frame_, context)),
          blocks_(
              frame_, framed_, (keys.rows() + block_keys - 1) / block_keys,
              [this](size_t block) {
                  const size_t first = block * block_keys;
                  return order_.span().subspan(first, std::min(block_keys, order_.size() - first));
              },
              Precision::full, team_, context.memory()),
          workers_(QueryGroup::of_team(team_, frame_, 0, context.memory())) {
        framed_.clear();
    }

    int workers() const noexcept { return team_.size(); }
    size_t items(size_t rows) const noexcept { return (rows + queries_of_item - 1) / queries_of_item; }

    // visit(item, worker, position of the row, entries) for parts of all these rows, up to a number of keys. Rows of an
    // item, and the parts of each, come one after another.
    template <class Visit>
    void scan(std::span<const uint32_t> rows, size_t keys, const Visit& visit) {
        team_.for_each(items(rows.size()), [&](size_t item, int thread) {
            QueryGroup& group = workers_[thread];
            const size_t first = item * queries_of_item, count = std::min(queries_of_item, rows.size() - first);
            group.load(queries_, rows.subspan(first, count));
            for (size_t tile = 0; tile < group.tiles(); tile++) {
                if (thread == 0) context_.poll();
                for (size_t block = 0; block * block_keys < keys; block++) {
                    const size_t width = std::min(blocks_.keys(block), keys - block * block_keys);
                    const float* const values = group.evaluate(tile, blocks_, block, width);
                    for (size_t i = tile * tile_queries; i < std::min(count, (tile + 1) * tile_queries); i++)
                        visit(item, thread, first + i, std::span(values + i % tile_queries * block_keys, width));
                }
            }
        });
    }

  private:
    static Buffer<uint32_t> in_order(size_t rows, RunContext& context) {
        Buffer<uint32_t> order(context.memory(), "keys in order", rows);
        std::iota(order.begin(), order.end(), 0U);
        return order;
    }
    static Points frame_points(const Points& points, const Frame& frame, RunContext& context) {
        Points framed(points.dimensions(), context.memory(), points.what());
        framed.reserve(points.rows());
        std::vector<double> row(points.dimensions());
        for (size_t i = 0; i < points.rows(); i++) {
            frame.apply(points.row(i), row.data());
            framed.append(row);
        }
        return framed;
    }

    RunContext& context_;
    ThreadTeam team_;
    const Points& queries_;
    Buffer<uint32_t> order_;
    Frame frame_;
    Points framed_;
    KeyBlocks blocks_;
    std::vector<QueryGroup> workers_;
};

// Entries of some ranks (1: the largest), and the sum of the first `top` of them, by counting.
class RankedEntries {
  public:
    RankedEntries(Matrix& matrix, std::span<const uint32_t> rows, size_t keys, RunContext& context)
        : matrix_(matrix),
          rows_(rows),
          keys_(keys),
          context_(context),
          counts_(context.memory(), "a histogram", bins, uint64_t{0}) {
        Buffer<uint64_t> of_workers(context.memory(), "a histogram", bins * matrix.workers(), uint64_t{0});
        matrix.scan(rows, keys, [&](size_t, size_t worker, size_t, std::span<const float> entries) {
            uint64_t* const counts = &of_workers[worker * bins];
            for (const float entry : entries) counts[bin_of(entry)]++;
        });
        for (size_t i = 0; i < of_workers.size(); i++) counts_[i % bins] += of_workers[i];
    }

    uint64_t entries() const noexcept { return rows_.size() * keys_; }
    // Returns an entry for each rank; 0 for one beyond the last entry.
    std::vector<double> of_ranks(const std::vector<uint64_t>& ranks) {
        struct Place {
            size_t bin;
            uint64_t left; // rank within the bin
        };
        std::vector<Place> places;
        std::vector<size_t> wanted; // bins
        for (uint64_t rank : ranks) {
            size_t bin = bins;
            while (bin > 0 && rank > 0) {
                bin--;
                if (rank <= counts_[bin]) break;
                rank -= counts_[bin];
            }
            places.push_back({bin, rank});
            if (std::find(wanted.begin(), wanted.end(), bin) == wanted.end()) wanted.push_back(bin);
        }
        const size_t size = wanted.size() * bin_parts;
        Buffer<uint64_t> counts(context_.memory(), "a histogram", size * matrix_.workers(), uint64_t{0});
        matrix_.scan(rows_, keys_, [&](size_t, size_t worker, size_t, std::span<const float> entries) {
            for (const float entry : entries)
                for (size_t i = 0; i < wanted.size(); i++)
                    if (bin_of(entry) == wanted[i]) counts[worker * size + i * bin_parts + part_of(entry)]++;
        });
        for (size_t i = size; i < counts.size(); i++) counts[i % size] += counts[i];
        std::vector<double> values;
        for (size_t i = 0; i < ranks.size(); i++) {
            if (ranks[i] > entries()) {
                values.push_back(0);
                continue;
            }
            const auto at = std::find(wanted.begin(), wanted.end(), places[i].bin) - wanted.begin();
            size_t part = bin_parts;
            uint64_t left = places[i].left;
            while (part > 0) {
                part--;
                if (left <= counts[at * bin_parts + part]) break;
                left -= counts[at * bin_parts + part];
            }
            values.push_back(std::bit_cast<float>(static_cast<uint32_t>(places[i].bin * bin_parts + part)));
        }
        return values;
    }

    // Holds, of a row, Σ of all, Σ of those above `threshold` and how many they are.
    struct RowSums {
        double all = 0, top = 0, count = 0;
    };

    std::vector<RowSums> above(double threshold) {
        std::vector<RowSums> sums(rows_.size());
        matrix_.scan(rows_, keys_, [&](size_t, size_t, size_t row, std::span<const float> entries) {
            RowSums& of_row = sums[row];
            for (const float entry : entries) {
                const double x = entry;
                of_row.all += x;
                if (x > threshold) {
                    of_row.top += x;
                    of_row.count++;
                }
            }
        });
        return sums;
    }

  private:
    Matrix& matrix_;
    std::span<const uint32_t> rows_;
    size_t keys_;
    RunContext& context_;
    Buffer<uint64_t> counts_;
};

double ratio_of(double a, double b) {
    return b > 0 ? a / b : std::numeric_limits<double>::infinity();
}

void check(const Points& keys, const Points& queries, const Options& options) {
    options.check();
    if (keys.rows() == 0) throw Error(ErrorCode::invalid_argument, "there are no keys");
    if (queries.rows() == 0) throw Error(ErrorCode::invalid_argument, "there are no queries");
    if (keys.dimensions() != queries.dimensions())
        throw Error(ErrorCode::invalid_argument,
                    format("queries have %zu coordinates, keys have %zu", queries.dimensions(), keys.dimensions()));
}

// The top n of the whole matrix are estimated by as large a share of the rows' own entries.
TailRatio ratio_from(RankedEntries& entries, double share_of_rows, uint64_t n) {
    const auto top = n * share_of_rows;
    const auto rank = std::max<uint64_t>(1, std::min(entries.entries(), static_cast<uint64_t>(std::llround(top))));
    const double threshold = entries.of_ranks({rank})[0];
    const std::vector<RankedEntries::RowSums> rows = entries.above(threshold);
    double all = 0, sum = 0, count = 0;
    for (const auto& row : rows) {
        all += row.all;
        sum += row.top;
        count += row.count;
    }
    sum += (rank - count) * threshold; // of equal entries
    TailRatio result{ratio_of(std::max(0.0, all - sum), sum), 0, entries.entries()};
    if (share_of_rows >= 1 || !(sum > 0)) return result;
    // Linearised: the top's sum changes with a row by the row's own part of it, and by the threshold as often as the
    // row has more entries above it than its share.
    double squares = 0;
    const auto size = static_cast<double>(rows.size());
    for (const auto& row : rows) {
        const double own = row.top + (rank / size - row.count) * threshold, residual = row.all - (all / sum) * own;
        squares += residual * residual;
    }
    result.std_error = std::sqrt((1 - share_of_rows) * size / (size - 1) * squares) / sum;
    return result;
}

} // namespace

TailRatio kernel_tail_ratio(const Points& keys, const Points& queries, const Options& options, RunContext& context) {
    check(keys, queries, options);
    const size_t rows = queries.rows();
    const double entries = rows * static_cast<double>(keys.rows());
    const bool exact =
        options.method == Method::exact || (options.method == Method::automatic && entries <= max_entries);
    std::vector<uint32_t> chosen(rows);
    std::iota(chosen.begin(), chosen.end(), 0U);
    if (!exact) {
        const auto wanted = static_cast<size_t>(sampled_entries / keys.rows());
        const size_t size = std::min(rows, std::max(min_rows, wanted));
        RandomStream random(options.seed, 0);
        for (size_t i = 0; i < size; i++) std::swap(chosen[i], chosen[i + random.below(rows - i)]);
        chosen.resize(size);
    }
    Matrix matrix(keys, queries, options, context);
    RankedEntries ranked(matrix, chosen, keys.rows(), context);
    return ratio_from(ranked, chosen.size() / static_cast<double>(rows), std::max(keys.rows(), rows));
}

std::vector<TailOfPrefix> kernel_tail_profile(const Points& keys, const Points& queries, const Options& options,
                                              const std::vector<uint64_t>& prefixes, RunContext& context) {
    check(keys, queries, options);
    const uint64_t longest = std::max(keys.rows(), queries.rows());
    std::vector<uint64_t> chosen = prefixes;
    if (chosen.empty()) {
        for (uint64_t prefix = 50; prefix < longest; prefix *= 2) chosen.push_back(prefix);
        chosen.push_back(longest);
    }
    for (const uint64_t prefix : chosen)
        if (prefix < 1 || prefix > longest)
            throw Error(ErrorCode::invalid_argument,
                        format("a prefix of %" PRIu64 " points is not between 1 and %" PRIu64, prefix, longest));
    Matrix matrix(keys, queries, options, context);
    std::vector<TailOfPrefix> profile;
    std::vector<uint32_t> rows(queries.rows());
    std::iota(rows.begin(), rows.end(), 0U);
    for (const uint64_t prefix : chosen) {
        RankedEntries ranked(matrix, std::span(rows).first(std::min<size_t>(prefix, rows.size())),
                             std::min<size_t>(prefix, keys.rows()), context);
        const std::vector<double> at = ranked.of_ranks({prefix, prefix + 1, 2 * prefix});
        profile.push_back(
            {prefix, ratio_from(ranked, 1, prefix).value, ratio_of(at[0], at[1]), ratio_of(at[0], at[2])});
    }
    return profile;
}

} // namespace btml::kernel
