#include "core/boosting/binning/binning.hpp"

#include "core/base/radix_sort.hpp"
#include "core/boosting/binning/quantile_cuts.hpp"
#include "core/numbers/weighted_quantile.hpp"

#include <bit>
#include <cmath>

namespace btml::boosting {

double midpoint(double a, double b) {
    if (std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
    if (std::isinf(a) || std::isinf(b)) return b;
    const double distance = b - a;
    const double middle = std::isinf(distance) ? a / 2 + b / 2 : a + distance / 2;
    return a < middle && middle <= b ? middle : b;
}

size_t bin_bytes(size_t bins) {
    return bins <= 256 ? 1 : bins <= 65536 ? 2 : 4;
}

namespace {

constexpr uint64_t sign_bit = uint64_t{1} << 63, key_of_nan = ~uint64_t{0};

// Unsigned order of keys is PostgreSQL's order of numbers; −0 and 0 have one key, and so have all NaN.
uint64_t to_key(double x) {
    return std::isnan(x) ? key_of_nan : static_cast<uint64_t>(ordered_bits(x)) ^ sign_bit;
}

double from_key(uint64_t key) {
    return key == key_of_nan ? std::numeric_limits<double>::quiet_NaN()
                             : from_ordered_bits(static_cast<int64_t>(key ^ sign_bit));
}

struct KeyedRow {
    uint64_t key;
    uint32_t row;
};

// Adds thresholds that are not there yet.
void add_thresholds(const std::vector<double>& wanted, Buffer<double>& thresholds) {
    const size_t cuts = thresholds.size();
    const auto is_less = [](double a, double b) { return to_key(a) < to_key(b); };
    std::vector<double> added;
    for (const double threshold : wanted)
        if (!std::binary_search(thresholds.begin(), thresholds.end(), threshold, is_less)) added.push_back(threshold);
    std::sort(added.begin(), added.end(), is_less);
    const auto is_equal = [](double a, double b) { return to_key(a) == to_key(b); };
    added.erase(std::unique(added.begin(), added.end(), is_equal), added.end());
    thresholds.resize(cuts + added.size());
    std::copy(added.begin(), added.end(), thresholds.begin() + static_cast<std::ptrdiff_t>(cuts));
    std::inplace_merge(thresholds.begin(), thresholds.begin() + static_cast<std::ptrdiff_t>(cuts), thresholds.end(),
                       is_less);
}

// One numeric column: sorted once, then cut, then every row's bin written.
class NumberBinner {
  public:
    NumberBinner(ThreadTeam& team, RunContext& context, size_t max_rows)
        : team_(team),
          context_(context),
          items_(context.memory(), "values to sort", max_rows),
          spare_(context.memory(), "values to sort", max_rows) {}

    // Fills in `values` and `thresholds`, which are those wanted and as many more as max_bins asks for.
    void cut(const FeatureColumn& column, const Buffer<int64_t>& multiplicity, int max_bins, FeatureBins& feature) {
        sort(column.numbers);
        if (team_.peers())
            cut_among_peers(column.name, multiplicity, max_bins, feature);
        else
            cut_without_peers(multiplicity, max_bins, feature);
        add_thresholds(column.thresholds, feature.thresholds);
        feature.values = static_cast<uint32_t>(feature.thresholds.size() + 1);
    }

    // Writes the bin of every row of the column last cut.
    template <class Bin>
    void write(const FeatureBins& feature, Bin* bins) {
        const auto null_bin = static_cast<Bin>(feature.null_bin());
        if (items_.size() < rows_)
            for_pieces(team_, rows_,
                       [&](size_t begin, size_t end, int) { std::fill(bins + begin, bins + end, null_bin); });
        const Buffer<double>& cuts = feature.thresholds;
        for_pieces(team_, items_.size(), [&](size_t begin, size_t end, int) {
            const double first = from_key(items_[begin].key);
            const auto is_below = [&](double cut) { return !sql_less(first, cut); };
            size_t bin = std::partition_point(cuts.begin(), cuts.end(), is_below) - cuts.begin();
            uint64_t next = bin < cuts.size() ? to_key(cuts[bin]) : 0;
            for (size_t i = begin; i < end; i++) {
                while (bin < cuts.size() && items_[i].key >= next) {
                    bin++;
                    next = bin < cuts.size() ? to_key(cuts[bin]) : 0;
                }
                bins[items_[i].row] = static_cast<Bin>(bin);
            }
        });
    }

  private:
    struct Totals {
        size_t distinct = 0;
        uint128 weight = 0;
        Totals& operator+=(const Totals& other) {
            distinct += other.distinct;
            weight += other.weight;
            return *this;
        }
    };

    void sort(const Buffer<double>& numbers) {
        rows_ = numbers.size();
        const size_t pieces = count_pieces(team_, rows_), size = pieces > 0 ? (rows_ + pieces - 1) / pieces : 0;
        const auto end = [&](size_t piece) { return std::min(rows_, (piece + 1) * size); };
        std::vector<size_t> places(pieces + 1, 0); // of each piece's items
        team_.for_each(pieces, [&](size_t piece, int) {
            size_t kept = 0;
            for (size_t i = piece * size; i < end(piece); i++) kept += !is_null(numbers[i]);
            places[piece + 1] = kept;
        });
        for (size_t piece = 0; piece < pieces; piece++) places[piece + 1] += places[piece];
        items_.resize(places[pieces]);
        spare_.resize(places[pieces]);
        team_.for_each(pieces, [&](size_t piece, int) {
            size_t place = places[piece];
            for (size_t i = piece * size; i < end(piece); i++)
                if (!is_null(numbers[i])) items_[place++] = {to_key(numbers[i]), static_cast<uint32_t>(i)};
        });
        radix_sort(items_, spare_, team_, [](const KeyedRow& item) { return item.key; });
    }

    // body(key, weight) for every distinct value that some training row has and that begins in [begin, end), ascending.
    template <class Body>
    void for_each_distinct(const Buffer<int64_t>& multiplicity, size_t begin, size_t end, const Body& body) const {
        const size_t count = items_.size();
        size_t i = begin;
        while (i > 0 && i < end && items_[i].key == items_[i - 1].key) i++;
        while (i < end) {
            const uint64_t key = items_[i].key;
            int64_t weight = 0;
            if (multiplicity.empty())
                for (; i < count && items_[i].key == key; i++) weight++;
            else
                for (; i < count && items_[i].key == key; i++) weight += multiplicity[items_[i].row];
            if (weight > 0) body(key, weight);
        }
    }

    // Calls body for all of them.
    template <class Body>
    void for_each_distinct(const Buffer<int64_t>& multiplicity, const Body& body) {
        for (size_t begin = 0; begin < items_.size(); begin += piece_rows) {
            context_.poll();
            for_each_distinct(multiplicity, begin, std::min(items_.size(), begin + piece_rows), body);
        }
    }

    // Adds up the values whose weight is accepted.
    template <class Accept>
    Totals add_up(const Buffer<int64_t>& multiplicity, const Accept& accept) {
        TeamSums<Totals> sums(team_.size(), nullptr);
        for_pieces(team_, items_.size(), [&](size_t begin, size_t end, int worker) {
            Totals own;
            for_each_distinct(multiplicity, begin, end, [&](uint64_t, int64_t weight) {
                if (accept(weight)) own += {1, static_cast<uint64_t>(weight)};
            });
            sums[worker] += own;
        });
        return sums.total();
    }

    // Finds the bins of a feature all of whose rows are here. multiplicity: by row of its table, in how many training
    // rows of the join it is; empty: 1.
    void cut_without_peers(const Buffer<int64_t>& multiplicity, int max_bins, FeatureBins& feature) {
        const Totals all = add_up(multiplicity, [](int64_t) { return true; });
        feature.distinct = all.distinct;
        if (max_bins > 0 && all.distinct > static_cast<size_t>(max_bins)) {
            cut_quantiles(multiplicity, all, max_bins, feature);
        } else {
            feature.thresholds.resize(all.distinct > 0 ? all.distinct - 1 : 0);
            size_t seen = 0;
            double last = 0;
            for_each_distinct(multiplicity, [&](uint64_t key, int64_t) {
                const double value = from_key(key);
                if (seen > 0) feature.thresholds[seen - 1] = midpoint(last, value);
                last = value;
                seen++;
            });
        }
    }

    // The coordinator of several processes has no rows, and cuts as the others do.
    void cut_among_peers(const std::string& name, const Buffer<int64_t>& multiplicity, int max_bins,
                         FeatureBins& feature) {
        WeightedValues own{Buffer<uint64_t>(context_.memory(), "distinct values"),
                           Buffer<uint64_t>(context_.memory(), "weights of values"), name};
        uint64_t up_to = 0;
        for_each_distinct(multiplicity, [&](uint64_t key, int64_t weight) {
            own.keys.push_back(key);
            own.up_to.push_back(up_to += static_cast<uint64_t>(weight));
        });
        for (const Cut& cut :
             cuts_among(*team_.peers(), own, static_cast<size_t>(max_bins), max_histogram_bins - 1, feature.distinct))
            feature.thresholds.push_back(midpoint(from_key(cut.last), from_key(cut.next)));
    }

    void cut_quantiles(const Buffer<int64_t>& multiplicity, const Totals& all, size_t max_bins, FeatureBins& feature) {
        const auto may_be_alone = [&](int64_t weight) {
            return is_frequent(static_cast<uint64_t>(weight), all.weight, max_bins);
        };
        const Totals frequent = add_up(multiplicity, may_be_alone);
        BinFiller bins(max_bins, frequent.distinct, all.weight - frequent.weight);
        double last = 0;
        for_each_distinct(multiplicity, [&](uint64_t key, int64_t weight) {
            const double value = from_key(key);
            if (bins.add(static_cast<uint64_t>(weight), may_be_alone(weight)))
                feature.thresholds.push_back(midpoint(last, value));
            last = value;
        });
    }

    ThreadTeam& team_;
    RunContext& context_;
    Buffer<KeyedRow> items_, spare_;
    size_t rows_ = 0;
};

template <class Bin>
void write_categories(const Buffer<uint32_t>& codes, uint32_t categories, Bin* bins, ThreadTeam& team) {
    for_each_row(team, codes.size(), [&](size_t i, int) {
        if (codes[i] != FeatureColumn::null_code && codes[i] >= categories)
            throw Error(ErrorCode::internal, format("category code %u of %u", codes[i], categories));
        bins[i] = static_cast<Bin>(std::min(codes[i], categories));
    });
}

// `write` puts a column of the right width into `column`.
template <class Write>
Buffer<uint8_t> make_column(size_t rows, size_t bytes, RunContext& context, const Write& write) {
    Buffer<uint8_t> column(context.memory(), "binned features", rows * bytes);
    with_bin_type(bytes, [&](auto bin) { write(reinterpret_cast<decltype(bin)*>(column.data())); });
    return column;
}

// Collects a table's columns into groups.
class GroupPacker {
  public:
    GroupPacker(BinnedData& data, int table, ThreadTeam& team, RunContext& context)
        : data_(data), table_(table), team_(team), context_(context) {}

    void add(size_t feature, Buffer<uint8_t> column, size_t bytes) {
        if (bytes > 1) {
            std::vector<Buffer<uint8_t>> single;
            single.push_back(std::move(column));
            emit({feature}, std::move(single), bytes);
            return;
        }
        features_.push_back(feature);
        columns_.push_back(std::move(column));
        if (features_.size() == BinGroup::max_width) finish();
    }
    void finish() {
        if (!features_.empty()) emit(std::exchange(features_, {}), std::exchange(columns_, {}), 1);
    }

  private:
    void emit(std::vector<size_t> features, std::vector<Buffer<uint8_t>> columns, size_t bytes) {
        for (size_t slot = 0; slot < features.size(); slot++) {
            data_.features[features[slot]].group = data_.groups.size();
            data_.features[features[slot]].slot = slot;
        }
        data_.tables[table_].groups.push_back(data_.groups.size());
        const size_t width = features.size();
        data_.groups.push_back(
            {table_, width, bytes, std::move(features), width == 1 ? std::move(columns[0]) : interleave(columns)});
    }
    Buffer<uint8_t> interleave(const std::vector<Buffer<uint8_t>>& columns) {
        const size_t width = columns.size(), rows = columns[0].size();
        Buffer<uint8_t> packed(context_.memory(), "binned features", rows * width);
        for_pieces(team_, rows, [&](size_t begin, size_t end, int) {
            for (size_t slot = 0; slot < width; slot++)
                for (size_t i = begin; i < end; i++) packed[i * width + slot] = columns[slot][i];
        });
        return packed;
    }

    BinnedData& data_;
    const int table_;
    ThreadTeam& team_;
    RunContext& context_;
    std::vector<size_t> features_;
    std::vector<Buffer<uint8_t>> columns_;
};

size_t max_rows_to_sort(const Dataset& dataset) {
    size_t most = 0;
    for (const FeatureColumn& column : dataset.features)
        if (!column.categorical) most = std::max(most, column.numbers.size());
    return most;
}

// One feature's column of bins; frees the raw one unless it is kept.
Buffer<uint8_t> bin_column(FeatureColumn& column, FeatureBins& feature, const Buffer<int64_t>& multiplicity,
                           int max_bins, bool keep, NumberBinner& numbers, ThreadTeam& team, RunContext& context) {
    if (column.categorical) {
        feature.values = static_cast<uint32_t>(column.categories.size());
        Buffer<uint8_t> bins = make_column(column.codes.size(), bin_bytes(feature.size()), context, [&](auto* target) {
            write_categories(column.codes, feature.values, target, team);
        });
        if (!keep) column.codes.clear();
        return bins;
    }
    numbers.cut(column, multiplicity, max_bins, feature);
    const size_t rows = column.numbers.size();
    if (!keep) column.numbers.clear();
    return make_column(rows, bin_bytes(feature.size()), context, [&](auto* target) { numbers.write(feature, target); });
}

} // namespace

BinnedData bin_features(Dataset& dataset, const TrainingRows& training, int max_bins, ThreadTeam& team,
                        RunContext& context, bool keep_columns) {
    const auto of_table = [&](size_t t) { return multiplicities(dataset.tables[t], training, team, context); };
    return bin_features(dataset, of_table, max_bins, team, context, keep_columns);
}

BinnedData bin_features(Dataset& dataset, const Multiplicities& multiplicities, int max_bins, ThreadTeam& team,
                        RunContext& context, bool keep_columns) {
    BinnedData data;
    data.rows = dataset.rows;
    for (const FeatureColumn& column : dataset.features)
        data.features.push_back({column.table, column.categorical, static_cast<int8_t>(column.direction), 1, 0,
                                 Buffer<double>(context.memory(), "thresholds"), 0, 0});
    NumberBinner numbers(team, context, max_rows_to_sort(dataset));
    size_t done = 0;
    for (size_t t = 0; t < dataset.tables.size(); t++) {
        const DataTable& table = dataset.tables[t];
        const Buffer<int64_t> multiplicity = multiplicities(t);
        data.tables.push_back({table.rows, table.ids(), {}});
        GroupPacker groups(data, static_cast<int>(t), team, context);
        for (size_t f = 0; f < dataset.features.size(); f++) {
            if (dataset.features[f].table != static_cast<int>(t)) continue;
            context.progress("binning features", done++, dataset.features.size());
            Buffer<uint8_t> column = bin_column(dataset.features[f], data.features[f], multiplicity, max_bins,
                                                keep_columns, numbers, team, context);
            groups.add(f, std::move(column), bin_bytes(data.features[f].size()));
        }
        groups.finish();
    }
    return data;
}

} // namespace btml::boosting
