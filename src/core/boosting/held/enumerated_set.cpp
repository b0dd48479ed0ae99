#include "core/boosting/held/enumerated_set.hpp"

namespace btml::boosting {

// Returns the most rows of a table whose rows several rows of the join may come from.
static size_t max_rows_of_joined_table(const BinnedData& data) {
    size_t most = 0;
    for (const BinnedTable& table : data.tables)
        if (table.ids()) most = std::max(most, table.rows);
    return most;
}

static size_t max_category_bins(const BinnedData& data) {
    size_t most = 0;
    for (const FeatureBins& feature : data.features)
        if (feature.categorical) most = std::max(most, feature.size());
    return most;
}

// What histograms sum up for each row: tallies, too, where they are needed and sums have no room for the counts.
static StatsFormat format_of(const RowScores& scores, const Options& options) {
    return needs_tallies(options) && scores.packed_bits() == 0 ? StatsFormat::tallied : scores.stats_format();
}

// What records take, with the sums that a builder makes of them.
static uint64_t record_bytes(const BinnedData& data, StatsFormat format, int threads) {
    const uint64_t bytes = Records::bytes(data, format);
    return bytes == 0 ? 0 : bytes + HistogramBuilder::packed_bytes(data, threads);
}

// Few trees would not make up for the time that records take to fill.
static std::optional<Records> make_records(const BinnedData& data, StatsFormat format, const Options& options,
                                           uint64_t room, ThreadTeam& team, RunContext& context) {
    constexpr int min_trees = 4;
    const uint64_t bytes = record_bytes(data, format, team.size());
    if (bytes == 0 || bytes > room || options.trees < min_trees) return {};
    return std::optional<Records>(std::in_place, data, format, team, context);
}

EnumeratedSet::EnumeratedSet(const BinnedData& data, const TrainingRows& training, std::unique_ptr<RowScores> scores,
                             const Options& options, uint64_t room_for_copies, ThreadTeam& team, RunContext& context)
    : data_(data),
      training_(training),
      scores_(std::move(scores)),
      options_(options),
      team_(team),
      index_(training, team, context),
      records_(make_records(data_, format_of(*scores_, options), options, room_for_copies, team, context)),
      columns_(data_, room_for_copies - (records_ ? record_bytes(data_, format_of(*scores_, options), team.size()) : 0),
               team, context),
      builder_(data_, *scores_, index_, records_ ? &*records_ : nullptr,
               format_of(*scores_, options) == StatsFormat::tallied, team, context),
      wide_(data_, *scores_, index_, needs_tallies(options), team, context),
      table_sides_(context.memory(), "sides of table rows", max_rows_of_joined_table(data_)),
      bin_sides_(context) {}

uint64_t EnumeratedSet::scratch_bytes(const BinnedData& data, const Options& options, int threads) {
    const uint64_t leaves = options.max_leaves > 0 ? options.max_leaves : std::numeric_limits<uint64_t>::max();
    return RowIndex::bytes(data.rows, leaves, threads) +
           HistogramBuilder::scratch_bytes(data, needs_tallies(options), threads) +
           WideFeatures::scratch_bytes(data, needs_tallies(options), threads) + max_rows_of_joined_table(data) +
           max_category_bins(data);
}

int EnumeratedSet::start(uint64_t iteration, int score, const std::vector<int>& features) {
    scores_->select(score);
    builder_.select(features);
    nodes_.clear();
    nodes_.push_back(index_.root(options_.row_fraction, options_.seed, iteration));
    return 0;
}

void EnumeratedSet::fill(int node, Histogram& to) {
    const RowSet& rows = node_rows(node)[in_bag];
    if (builder_.has_tallies()) return builder_.build(rows, to.sums.data(), to.tallies.data());
    const int packed_bits = to.has_tallies() ? scores_->packed_bits() : 0;
    builder_.build(rows, packed_bits, to.sums.data());
    if (to.has_tallies()) unpack(packed_bits, to);
}

void EnumeratedSet::unpack(int bits, Histogram& histogram) const {
    const int64_t mask = (int64_t{1} << bits) - 1;
    for (size_t b = 0; b < layout().bins(); b++) {
        histogram.tallies[b] = {0, histogram.sums[b].hessian >> bits};
        histogram.sums[b].hessian &= mask;
    }
}

NodeSums EnumeratedSet::sum(int node) {
    const RowSet& rows = node_rows(node)[in_bag];
    TeamSums<NodeSums> partials(team_.size(), nullptr); // over the rows that are held here
    index_.for_each_list(rows, [&](const RowList& list, int worker) {
        NodeSums& partial = partials[worker];
        NodeSums gathered[RowIndex::list_rows];
        scores_->gather_tallied(list, gathered);
        for (size_t i = 0; i < list.count; i++) partial += gathered[i];
    });
    const NodeSums sums = partials.total();
    return needs_tallies(options_) ? sums : NodeSums(sums.total);
}

template <class Side>
std::pair<NodeRows, NodeRows> EnumeratedSet::partition(const NodeRows& rows, size_t number, const Side& side) {
    const FeatureBins& feature = data_.features[number];
    const BinGroup& group = data_.groups[feature.group];
    const BinnedTable& table = data_.tables[feature.table];
    const uint32_t* const ids = table.ids().data();
    std::pair<NodeRows, NodeRows> result;
    const auto apply = [&](const auto& go_left, const auto& address) {
        for (size_t part = 0; part < part_count; part++)
            std::tie(result.first[part], result.second[part]) = index_.partition(rows[part], go_left, address);
    };
    if (const uint8_t* const bins = columns_.find(number, rows[in_bag].size())) {
        uint8_t sides[UINT8_MAX + 1];
        for (uint32_t bin = 0; bin < feature.size(); bin++) sides[bin] = static_cast<uint8_t>(side(bin));
        apply([bins, sides = &sides[0]](uint32_t row) -> size_t { return sides[bins[row]]; }, nullptr);
        return result;
    }
    with_bin_type(group.bytes, [&](auto bin) {
        const auto* const bins = group.bins<decltype(bin)>();
        const size_t width = group.width, slot = feature.slot;
        if (!ids) {
            apply([=](uint32_t row) -> size_t { return side(bins[row * width + slot]); },
                  [=](uint32_t row) { return bins + row * width + slot; });
        } else if (rows[in_bag].size() < table.rows) {
            apply([=](uint32_t row) -> size_t { return side(bins[ids[row] * width + slot]); },
                  [=](uint32_t row) { return ids + row; });
        } else {
            uint8_t* sides = table_sides_.data();
            for_each_row(team_, table.rows,
                         [&](size_t i, int) { sides[i] = static_cast<uint8_t>(side(bins[i * width + slot])); });
            apply([=](uint32_t row) -> size_t { return sides[ids[row]]; }, [=](uint32_t row) { return ids + row; });
        }
    });
    return result;
}

std::pair<int, int> EnumeratedSet::split(int node, const Split& split) {
    const NodeRows rows = std::move(nodes_[node]);
    bin_sides_.with(data_.features[split.feature], split, [&](const auto& goes_left) {
        auto [left, right] = partition(rows, static_cast<size_t>(split.feature), goes_left);
        nodes_.push_back(std::move(left));
        nodes_.push_back(std::move(right));
    });
    return {static_cast<int>(nodes_.size()) - 2, static_cast<int>(nodes_.size()) - 1};
}

int64_t EnumeratedSet::renewed_value(std::span<const int> nodes, const LeafRule& rule) {
    std::vector<const RowSet*> rows;
    for (const int node : nodes) rows.push_back(&node_rows(node)[in_bag]);
    return scores_->renewed_value(rows, index_, rule);
}

void EnumeratedSet::add(const std::vector<Leaf>& leaves) {
    std::vector<RowScores::Leaf> rows;
    for (const Leaf& leaf : leaves) rows.push_back({&node_rows(leaf.node), leaf.value});
    scores_->add(rows, index_);
}

} // namespace btml::boosting
