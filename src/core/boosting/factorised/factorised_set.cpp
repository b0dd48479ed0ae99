#include "core/boosting/factorised/factorised_set.hpp"

#include "core/base/worker_contexts.hpp"
#include "core/boosting/factorised/query_costs.hpp"

#include <bit>
#include <numeric>

namespace btml::boosting {

using namespace factorised;
using namespace relational;

FactorisedSet::FactorisedSet(Dataset& dataset, GroupedJoin& join, const Options& options, ThreadTeam& team,
                             RunContext& context, const std::vector<double>& bases, const Allowance& allowance)
    : options_(options),
      team_(team),
      context_(context),
      join_(join),
      target_table_(dataset.target_table),
      nodes_(join, context),
      residuals_(join, dataset.target_table, options, team, context, allowance),
      populations_(
          dataset, join, options,
          [&](const RowWeights& population) { return queries().count(nodes_.selection(0, population)); }, context),
      layout_(data_.features, SIZE_MAX) {
    const uint64_t left = context.memory().left(), needed = bytes(dataset, join, options);
    bin(dataset, start_scores(dataset, bases));
    for (size_t t = 0; t < join_.tables().size(); t++) leave_out_equal_rows(t);
    const Buffer<double>& weights = populations_.train()[target_table_];
    residuals_.start(weights.empty() ? nullptr : weights.data(),
                     (left - std::min(left, needed)) / 2, // the other half is for the model
                     nanoseconds_of_rows());
    if (sketches_squares(options)) sketch_ = std::make_unique<SketchedSquares>(queries().filtered(), data_, options);
}

uint64_t FactorisedSet::bytes(const Dataset& dataset, const GroupedJoin& join, const Options& options) {
    std::vector<bool> has_features(join.tables().size(), false);
    uint64_t longest = 0;
    for (const FeatureColumn& feature : dataset.features) {
        has_features[feature.table] = true;
        longest = std::max<uint64_t>(longest, feature.numbers.size());
    }
    const uint64_t leaves = options.max_leaves > 0 ? options.max_leaves : 256;
    const uint64_t queries = options.trees * leaves + 8;
    uint64_t rows = 0, rows_with_features = 0;
    for (size_t t = 0; t < join.tables().size(); t++) {
        rows += join.tables()[t].rows;
        if (has_features[t]) rows_with_features += join.tables()[t].rows;
    }
    const auto filters = [&](uint64_t count) { return rows_with_features * ((count + 63) / 64) * sizeof(uint64_t); };
    const auto messages = [&](uint64_t count) {
        const uint64_t query = FilteredSums::bytes_per_query(join);
        return std::max(8 * query, std::min(count * query, FilteredSums::block_memory));
    };
    const bool squares = options.criterion == Criterion::mse_sum;
    // Sums and counts of the root and of a node, and squares.
    const uint64_t sums = rows * sizeof(double) * (squares ? 6 : 4) + sizeof(double) * dataset.target.size();
    const auto populations = uint64_t{1} + (dataset.holdout_table >= 0) + (options.row_fraction < 1);
    const uint64_t weights = rows * sizeof(double) * populations;
    // Open leaves share the rows of tables that their conditions do not touch.
    const uint64_t nodes = rows_with_features * sizeof(RowId) * (2 + std::bit_width(leaves));
    const uint64_t of_queries = queries * (sizeof(FilterQuery) + join.tables().size() * sizeof(int));
    const uint64_t of_squares = !squares                    ? 0
                                : sketches_squares(options) ? SketchedSquares::bytes(dataset, join, options, queries)
                                                            : filters(ResidualQueries::pairs_at_once) +
                                                                  messages(ResidualQueries::pairs_at_once);
    return sums + weights + filters(queries) + of_squares +
           std::max(nodes + messages(queries) + of_queries, 32 * longest);
}

// The weights of the rows that each row joins to, of those that are trained on.
RowWeights FactorisedSet::start_scores(Dataset& dataset, const std::vector<double>& bases) {
    RowWeights train = queries().counts(nodes_.selection(0, populations_.train()), all_tables());
    Buffer<double> held_out(context_.memory(), "join multiplicities");
    if (populations_.holdout_rows() > 0)
        held_out =
            std::move(queries().counts(nodes_.selection(0, populations_.held_out()), only_target())[target_table_]);
    const auto sum = [](const Buffer<double>& weights) { return std::accumulate(weights.begin(), weights.end(), 0.0); };
    populations_.set_total(sum(train[target_table_]) + sum(held_out));
    scores_.emplace(dataset.target, train[target_table_], held_out, populations_.units(), bases, residuals_.values(),
                    team_, context_);
    dataset.target.clear();
    return train;
}

void FactorisedSet::bin(Dataset& dataset, const RowWeights& train) {
    const auto multiplicities = [&](size_t t) {
        Buffer<int64_t> counts(context_.memory(), "join multiplicities", train[t].size());
        context_.for_each(counts.size(), 1,
                          [&](uint64_t i) { counts[i] = populations_.units().to_count(train[t][i]); });
        return counts;
    };
    data_ = bin_features(dataset, multiplicities, options_.max_bins, team_, context_);
}

// A sample of the target's rows would tell equal ones apart.
void FactorisedSet::leave_out_equal_rows(size_t t) {
    const bool has_values = t == target_table_;
    if (has_values && populations_.is_sampled()) return;
    Buffer<double>& values = residuals_.values();
    const EqualRows rows =
        find_equal_rows(data_, t, join_.tables()[t], has_values ? &values : nullptr, team_, context_);
    if (rows.kept.size() == rows.first.size()) return;
    populations_.merge(t, rows);
    if (has_values) keep(values, 1, rows.kept, context_);
    BinnedTable& table = data_.tables[t];
    for (const size_t g : table.groups) {
        BinGroup& group = data_.groups[g];
        keep(group.data, group.width * group.bytes, rows.kept, context_);
    }
    table.rows = rows.kept.size();
    join_.keep_rows(t, rows.kept, context_);
}

double FactorisedSet::nanoseconds_of_rows() const {
    std::vector<double> features(join_.tables().size(), 0);
    for (const FeatureBins& feature : data_.features) features[feature.table] += options_.feature_fraction;
    double sum = 0;
    for (size_t t = 0; t < features.size(); t++)
        sum += static_cast<double>(join_.tables()[t].rows) * summed_row_nanoseconds(features[t]);
    return sum;
}

std::vector<bool> FactorisedSet::only_target() const {
    std::vector<bool> tables(join_.tables().size(), false);
    tables[target_table_] = true;
    return tables;
}

std::vector<bool> FactorisedSet::tables_of_features() const {
    std::vector<bool> tables(join_.tables().size(), false);
    for (const int f : layout_.selected()) tables[data_.features[f].table] = true;
    return tables;
}

int FactorisedSet::start(uint64_t iteration, int, const std::vector<int>& features) {
    layout_.select(features);
    subtract_pending();
    populations_.sample(iteration);
    nodes_.start();
    return 0;
}

// The rows of the last tree's leaves are those of its nodes, which are about to go.
void FactorisedSet::subtract_pending() {
    if (pending_.empty()) return;
    residuals_.subtract(pending_, nodes_);
    pending_.clear();
}

void FactorisedSet::fill(int node, Histogram& to) {
    const bool exact_squares = to.has_tallies() && !sketch_, is_root = node == 0 && !populations_.is_sampled();
    const RowSums& own = is_root ? residuals_.root_sums(bag_of(node), tables_of_features(), exact_squares)
                                 : residuals_.sums(bag_of(node), tables_of_features(), exact_squares);
    add_to_bins(node, own, to);
    if (to.has_tallies() && sketch_) sketch_squares(node, to);
}

void FactorisedSet::add_to_bins(int node, const RowSums& sums, Histogram& to) {
    const double sum_scale = scores_->sum_scale(), square_unit = scores_->square_unit();
    WorkerContexts contexts(context_, team_.size(), 0, "sums by row");
    const auto add_feature = [&](int f, RunContext& context) {
        const FeatureBins& feature = data_.features[f];
        const int t = feature.table;
        const RowSubset& rows = *nodes_[node][t];
        const uint64_t count = rows.all ? join_.tables()[t].rows : rows.rows.size();
        Stats* const bins = to.sums.data() + layout_.offset(f);
        Tally* const tallies = to.has_tallies() && !sketch_ ? to.tallies.data() + layout_.offset(f) : nullptr;
        std::fill_n(bins, feature.size(), Stats{});
        if (tallies) std::fill_n(tallies, feature.size(), Tally{});
        with_bins(data_, feature, [&](const auto& bin_of) {
            context.for_each(count, 1, [&](uint64_t i) {
                const uint64_t row = rows.all ? i : rows.rows[i];
                if (sums.counts[t][row] == 0 && sums.sums[t][row] == 0) return; // as those that meet no row of the node
                const uint32_t bin = bin_of(row);
                const int64_t weight = populations_.units().to_count(sums.counts[t][row]);
                bins[bin] += {rounded_sum(sums.sums[t][row] * sum_scale), weight};
                if (tallies) tallies[bin] += {rounded_sum(sums.squares[t][row] / square_unit), weight};
            });
        });
    };
    team_.for_each(layout_.selected().size(), [&](size_t i, int worker) {
        contexts.run(worker, [&](RunContext& context) { add_feature(layout_.selected()[i], context); });
    });
}

// A node's sum is at most the loss. Estimates far above that, by sketches that are too small, are scaled down, as their
// sum must not overflow.
void FactorisedSet::sketch_squares(int node, Histogram& to) {
    const Buffer<double> squares = sketch_->by_bin(bag_of(node), queries().queries(), layout_.selected());
    const double loss = scores_->squares();
    const bool verify = options_.verify && node == 0;
    const double exact = !verify ? 0 : populations_.is_sampled() ? exact_squares(node) : loss;
    for (const int f : layout_.selected()) {
        const size_t begin = layout_.offset(f), end = begin + data_.features[f].size();
        const double sum = std::accumulate(squares.data() + begin, squares.data() + end, 0.0);
        const double unit = scores_->square_unit() * std::max(1.0, sum / (2 * loss));
        for (size_t bin = begin; bin < end; bin++)
            to.tallies[bin] = {rounded_sum(squares[bin] / unit), to.sums[bin].hessian};
        if (verify) sketch_->measure(sum, exact);
    }
}

double FactorisedSet::exact_squares(int node) {
    const Buffer<double>& squares = residuals_.sums(bag_of(node), only_target(), true).squares[target_table_];
    return std::accumulate(squares.begin(), squares.end(), 0.0);
}

std::optional<SketchReport> FactorisedSet::sketch_report() const {
    return sketch_ ? std::optional(sketch_->report()) : std::nullopt;
}

void FactorisedSet::add(const std::vector<Leaf>& leaves) {
    const auto total_of = [&](const RowWeights& population) -> FactorisedScores::Totals {
        return [&](const Leaf& leaf) { return residuals_.total(nodes_.selection(leaf.node, population)); };
    };
    const bool know_sums = !populations_.is_sampled() && leaves[0].sums;
    scores_->add(leaves, know_sums ? nullptr : total_of(populations_.train()), total_of(populations_.held_out()));
    pending_ = leaves;
}

} // namespace btml::boosting
