#include "core/kernel/key_set.hpp"

#include "core/numbers/hashed_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace btml::kernel {

namespace {

constexpr uint64_t units_of_row = 4; // of work: a row in an order that is not memory's

// √Σx² without overflow.
double norm_of_weights(const Keys& keys, const Buffer<uint32_t>& order, RunContext& context) {
    double largest = 0, sum = 0;
    for (const uint32_t row : order) {
        largest = std::max(largest, std::abs(keys.values[row * keys.columns]));
        context.worked(units_of_row);
    }
    if (largest == 0) return 0;
    for (const uint32_t row : order) {
        const double x = keys.values[row * keys.columns] / largest;
        sum += x * x;
        context.worked(units_of_row);
    }
    return largest * std::sqrt(sum);
}

// Orders by hash, then by coordinates and values: the order of the rows as they came plays no part.
class Order {
  public:
    explicit Order(const Keys& keys) : keys_(keys) {}

    bool operator()(const HashedRow& a, const HashedRow& b) const {
        if (a.hash != b.hash) return a.hash < b.hash;
        const int points = compare(keys_.points.row(a.row), keys_.points.row(b.row), keys_.points.dimensions());
        if (points != 0) return points < 0;
        const size_t columns = keys_.columns;
        return compare(&keys_.values[a.row * columns], &keys_.values[b.row * columns], columns) < 0;
    }
    bool same_point(const HashedRow& a, const HashedRow& b) const {
        return a.hash == b.hash &&
               compare(keys_.points.row(a.row), keys_.points.row(b.row), keys_.points.dimensions()) == 0;
    }

  private:
    static int compare(const double* a, const double* b, size_t count) {
        return std::memcmp(a, b, count * sizeof(double));
    }
    const Keys& keys_;
};

Buffer<HashedRow> hashed_order(const Keys& keys, RunContext& context) {
    const size_t dimensions = keys.points.dimensions();
    Buffer<HashedRow> hashed(context.memory(), "hashes of the keys", keys.rows());
    context.for_each(keys.rows(), dimensions, [&](size_t i) {
        hashed[i] = {hash_of_numbers({keys.points.row(i), dimensions}), static_cast<uint32_t>(i)};
    });
    const Order order(keys);
    std::sort(hashed.begin(), hashed.end(), [&](const HashedRow& a, const HashedRow& b) {
        context.worked(1);
        return order(a, b);
    });
    return hashed;
}

Buffer<uint32_t> rows_of(const Buffer<HashedRow>& hashed, RunContext& context) {
    Buffer<uint32_t> rows(context.memory(), "hashes of the keys", hashed.size());
    for (size_t i = 0; i < hashed.size(); i++) {
        rows[i] = hashed[i].row;
        context.worked(1);
    }
    return rows;
}

} // namespace

Buffer<uint32_t> canonical_order(const Keys& keys, RunContext& context) {
    return rows_of(hashed_order(keys, context), context);
}

DistinctKeys merge_equal_keys(Keys keys, const Options& options, RunContext& context) {
    const size_t dimensions = keys.points.dimensions(), columns = keys.columns;
    const Buffer<HashedRow> sorted = hashed_order(keys, context);
    const Buffer<uint32_t> rows = rows_of(sorted, context);
    DistinctKeys distinct{Frame(keys.points, rows, options, context), Points(dimensions, context.memory(), "keys"),
                          columns, Buffer<double>(context.memory(), "values of the keys"),
                          norm_of_weights(keys, rows, context)};
    distinct.points.reserve(sorted.size());
    distinct.values.reserve(sorted.size() * columns);
    const Order order(keys);
    std::vector<double> point(dimensions), sums(columns);
    for (size_t i = 0, end = 0; i < sorted.size(); i = end) {
        std::fill(sums.begin(), sums.end(), 0.0);
        for (end = i; end < sorted.size() && order.same_point(sorted[i], sorted[end]); end++) {
            for (size_t c = 0; c < columns; c++) sums[c] += keys.values[sorted[end].row * columns + c];
            context.worked(dimensions + columns);
        }
        if (std::all_of(sums.begin(), sums.end(), [](double x) { return x == 0; })) continue;
        distinct.frame.apply(keys.points.row(sorted[i].row), point.data());
        distinct.points.append(point);
        for (const double x : sums) distinct.values.push_back(x);
    }
    return distinct;
}

static std::vector<double> largest_magnitudes(const KeySet& keys) {
    std::vector<double> largest(keys.columns(), 0.0);
    for (size_t i = 0; i < keys.rows(); i++)
        for (size_t c = 0; c < keys.columns(); c++) largest[c] = std::max(largest[c], std::abs(keys.value(i, c)));
    // Targets share one, so that their errors add up.
    const size_t columns = keys.distinct.columns;
    if (columns > 1) {
        const double of_targets = *std::max_element(largest.begin() + 1, largest.begin() + columns);
        std::fill(largest.begin() + 1, largest.begin() + columns, of_targets);
    }
    for (double& x : largest)
        if (x == 0) x = 1;
    return largest;
}

KeySet::KeySet(DistinctKeys distinct_keys, bool with_magnitudes, ThreadTeam& team, RunContext& context)
    : distinct(std::move(distinct_keys)),
      magnitudes(with_magnitudes),
      tree(distinct.points, team, context),
      blocks(
          distinct.frame, distinct.points, tree.leaves(), [this](size_t leaf) { return tree.keys(leaf); },
          Precision::full, team, context.memory()),
      values(
          tree.leaves(), columns(), [this](size_t leaf) { return tree.keys(leaf); },
          [this](uint32_t key, size_t column) { return value(key, column); }, largest_magnitudes(*this), team,
          context.memory()) {}

} // namespace btml::kernel
