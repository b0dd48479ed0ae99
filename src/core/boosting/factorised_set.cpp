#include "core/boosting/factorised_set.hpp"

#include "core/base/rng.hpp"
#include "core/base/worker_contexts.hpp"
#include "core/boosting/number_grid.hpp"

#include <bit>
#include <cmath>

namespace btml::boosting {

using namespace relational;

FactorisedSet::FactorisedSet(Dataset& dataset, GroupedJoin& join, const Options& options, ThreadTeam& team,
                             RunContext& context)
    : options_(options),
      team_(team),
      context_(context),
      join_(join),
      target_table_(dataset.target_table),
      values_(context.memory(), "residuals"),
      filtered_{join, filters_, target_table_, values_, team, context},
      queries_(filtered_),
      layout_(data_.features, SIZE_MAX) {
    start_filters();
    normalise_weights(dataset);
    start(0, {}); // the root
    choose_rows(dataset);
    bin(dataset, start_residuals(dataset));
    for (size_t t = 0; t < join_.tables().size(); t++) leave_out_equal_rows(t);
    start_filters();
    if (sketches_squares(options)) sketch_ = std::make_unique<SketchedSquares>(filtered_, data_, options);
    root_ = no_sums(all_tables());
    residual_.push_back(plain_query(1, 1));
    queries_.add(selection(nodes_[0], train_), residual_, pointers(root_.sums), pointers(root_.counts));
}

FactorisedSet::~FactorisedSet() = default;

uint64_t FactorisedSet::bytes(const Dataset& dataset, const GroupedJoin& join, const Options& options) {
    std::vector<bool> has_features(join.tables().size(), false);
    uint64_t longest = 0;
    for (const FeatureColumn& feature : dataset.features) {
        has_features[static_cast<size_t>(feature.table)] = true;
        longest = std::max<uint64_t>(longest, feature.numbers.size());
    }
    const auto leaves = static_cast<uint64_t>(options.max_leaves > 0 ? options.max_leaves : 256);
    const uint64_t queries = static_cast<uint64_t>(options.trees) * leaves + 8;
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
    const uint64_t nodes = rows_with_features * sizeof(RowId) * static_cast<uint64_t>(2 + std::bit_width(leaves));
    const uint64_t of_queries = queries * (sizeof(FilterQuery) + join.tables().size() * sizeof(int));
    const uint64_t of_squares = !squares                    ? 0
                                : sketches_squares(options) ? SketchedSquares::bytes(dataset, join, options, queries)
                                                            : filters(pairs_at_once) + messages(pairs_at_once);
    return sums + weights + filters(queries) + of_squares +
           std::max(nodes + messages(queries) + of_queries, 32 * longest);
}

void FactorisedSet::start_filters() {
    filters_.clear();
    for (const GroupedTable& table : join_.tables()) filters_.emplace_back(table.rows, context_.memory());
}

void FactorisedSet::bin(Dataset& dataset, const RowWeights& train) {
    const auto multiplicities = [&](size_t t) {
        Buffer<int64_t> counts(context_.memory(), "join multiplicities", train[t].size());
        for (size_t i = 0; i < counts.size(); i++) {
            poll_at(i);
            counts[i] = to_count(train[t][i]);
        }
        return counts;
    };
    data_ = bin_features(dataset, multiplicities, options_.max_bins, team_, context_);
}

void FactorisedSet::poll_at(size_t row) {
    if (row % piece_rows == 0) context_.poll();
}

// In units of 2^-scale_ of weight.
int64_t FactorisedSet::to_count(double weight) const {
    return rounded_sum(weighted_ ? std::ldexp(weight, weight_exponent_ + scale_) : weight);
}

FactorisedSet::RowSums FactorisedSet::no_sums(const std::vector<bool>& tables) const {
    RowSums result;
    for (size_t t = 0; t < tables.size(); t++) {
        const uint64_t rows = tables[t] ? join_.tables()[t].rows : 0;
        result.sums.emplace_back(context_.memory(), "sums by row", rows, 0.0);
        result.counts.emplace_back(context_.memory(), "sums by row", rows, 0.0);
    }
    return result;
}

std::vector<bool> FactorisedSet::all_tables() const {
    return std::vector<bool>(join_.tables().size(), true);
}

std::vector<bool> FactorisedSet::only_target() const {
    std::vector<bool> tables(join_.tables().size(), false);
    tables[static_cast<size_t>(target_table_)] = true;
    return tables;
}

std::vector<double*> FactorisedSet::pointers(std::vector<Buffer<double>>& buffers) {
    std::vector<double*> result;
    for (Buffer<double>& buffer : buffers) result.push_back(buffer.empty() ? nullptr : buffer.data());
    return result;
}

Selection FactorisedSet::selection(const Node& node, const RowWeights& population) const {
    Selection result;
    for (size_t t = 0; t < node.rows.size(); t++) {
        result.rows.push_back(node.rows[t].get());
        result.weights.push_back(population[t].empty() ? nullptr : population[t].data());
    }
    return result;
}

FilterQuery FactorisedSet::plain_query(double coefficient, int power) const {
    return {coefficient, power, std::vector<int>(join_.tables().size(), -1)};
}

// weight · 2^shift_
double FactorisedSet::shifted(double weight) const {
    return std::ldexp(weight, weight_exponent_ + shift_);
}

double FactorisedSet::train_loss() const {
    return std::ldexp(static_cast<double>(loss_) / shifted(train_count_), -2 * value_grid_);
}

SumUnits FactorisedSet::units() const {
    const int square_shift = std::max(0, bit_width(static_cast<uint128>(std::max<int128>(loss_, 0))) - 61);
    const int64_t slack = weighted_ ? to_count(train_count_) >> slack_bits : 0;
    return {.grid = value_grid_ - sum_shift_,
            .shift = shift_,
            .hessian_unit = std::ldexp(1, shift_ - scale_),
            .count_scale = scale_,
            .square_unit = std::ldexp(1, square_shift - 2 * sum_shift_),
            .slack = slack,
            .first_square = first_square_,
            .exact = !weighted_};
}

int64_t FactorisedSet::leaf_value(Stats total, const Options& options) const {
    if (total.hessian == 0) return 0;
    const double weight = static_cast<double>(total.hessian) * units().hessian_unit;
    const double sum = std::ldexp(static_cast<double>(total.sum), sum_shift_);
    return rounded_leaf_value(sum, weight, options.learning_rate, std::ldexp(options.l2, shift_));
}

double FactorisedSet::to_number(int64_t value) const {
    return std::ldexp(static_cast<double>(value), -value_grid_);
}

int FactorisedSet::start(uint64_t tree, const std::vector<int>& features) {
    layout_.select(features);
    const std::vector<FilterQuery> added = take_pending();
    if (!train_.empty()) sample(tree);
    nodes_.clear();
    Node root;
    for (size_t t = 0; t < join_.tables().size(); t++)
        root.rows.push_back(
            std::make_shared<RowSubset>(RowSubset{true, Buffer<RowId>(context_.memory(), "rows of nodes"),
                                                  Buffer<RowId>(context_.memory(), "rows of nodes")}));
    nodes_.push_back(std::move(root));
    if (!added.empty() && in_bag_.empty())
        queries_.add(selection(nodes_[0], train_), added, pointers(root_.sums),
                     std::vector<double*>(join_.tables().size(), nullptr));
    return 0;
}

uint64_t FactorisedSet::rows(int node) const {
    uint64_t rows = 0;
    for (size_t t = 0; t < join_.tables().size(); t++) {
        const RowSubset& subset = *nodes_[static_cast<size_t>(node)].rows[t];
        rows += subset.all ? join_.tables()[t].rows : subset.rows.size();
    }
    return rows;
}

std::pair<int, int> FactorisedSet::split(int node, const Split& split) {
    const FeatureBins& feature = data_.features[static_cast<size_t>(split.feature)];
    const auto table = static_cast<size_t>(feature.table);
    const Node parent = nodes_[static_cast<size_t>(node)];
    const RowSubset& rows = *parent.rows[table];
    std::vector<uint8_t> sides(feature.size(), 0);
    if (feature.categorical)
        for (const uint32_t code : split.categories) sides[code] = 1;
    else
        std::fill_n(sides.begin(), split.last_bin + 1, 1);
    sides[feature.null_bin()] = split.null_left;
    RowSubset children[2] = {
        {false, Buffer<RowId>(context_.memory(), "rows of nodes"), Buffer<RowId>(context_.memory(), "rows of nodes")},
        {false, Buffer<RowId>(context_.memory(), "rows of nodes"), Buffer<RowId>(context_.memory(), "rows of nodes")}};
    const GroupedTable& grouped = join_.tables()[table];
    for (RowSubset& child : children) child.first.reserve(grouped.groups() + 1);
    with_bins(data_, feature, [&](const auto& bin_of) {
        for (uint64_t g = 0; g < grouped.groups(); g++) {
            if (g % 4096 == 0) context_.poll();
            for (RowSubset& child : children) child.first.push_back(static_cast<RowId>(child.rows.size()));
            const auto place = [&](RowId row) { children[1 - sides[bin_of(row)]].rows.push_back(row); };
            if (rows.all)
                for (RowId row = grouped.first[g]; row < grouped.first[g + 1]; row++) place(row);
            else
                for (RowId i = rows.first[g]; i < rows.first[g + 1]; i++) place(rows.rows[i]);
        }
    });
    for (RowSubset& child : children) {
        child.first.push_back(static_cast<RowId>(child.rows.size()));
        child.rows.shrink_to_fit();
        child.first.shrink_to_fit();
        Node added = parent;
        added.rows[table] = std::make_shared<RowSubset>(std::move(child));
        nodes_.push_back(std::move(added));
    }
    nodes_[static_cast<size_t>(node)].rows.clear();
    return {static_cast<int>(nodes_.size()) - 2, static_cast<int>(nodes_.size()) - 1};
}

std::vector<bool> FactorisedSet::tables_of_features() const {
    std::vector<bool> tables(join_.tables().size(), false);
    for (const int f : layout_.selected())
        tables[static_cast<size_t>(data_.features[static_cast<size_t>(f)].table)] = true;
    return tables;
}

void FactorisedSet::fill(int node, Stats* sums, Tally* tallies) {
    const Node& rows = nodes_[static_cast<size_t>(node)];
    const bool is_root = node == 0 && in_bag_.empty();
    RowSums own;
    if (!is_root) {
        own = no_sums(tables_of_features());
        queries_.add(selection(rows, in_bag_.empty() ? train_ : in_bag_), residual_, pointers(own.sums),
                     pointers(own.counts));
    }
    RowSums square_sums;
    if (tallies && !sketch_) {
        square_sums = no_sums(tables_of_features());
        count_squares(rows, square_sums);
    }
    add_to_bins(rows, is_root ? root_ : own, square_sums.sums, sums, sketch_ ? nullptr : tallies);
    if (tallies && sketch_) sketch_squares(node, sums, tallies);
}

void FactorisedSet::add_to_bins(const Node& node, const RowSums& sums, const std::vector<Buffer<double>>& squares,
                                Stats* out, Tally* out_tallies) {
    const double sum_unit = std::ldexp(shifted(1), -sum_shift_);
    const double unit_of_squares = square_unit();
    WorkerContexts contexts(context_, team_.size(), 0, "sums by row");
    const auto add_feature = [&](int f, RunContext& context) {
        const FeatureBins& feature = data_.features[static_cast<size_t>(f)];
        const auto t = static_cast<size_t>(feature.table);
        const RowSubset& rows = *node.rows[t];
        const uint64_t count = rows.all ? join_.tables()[t].rows : rows.rows.size();
        Stats* const bins = out + layout_.offset(f);
        Tally* const tallies = out_tallies ? out_tallies + layout_.offset(f) : nullptr;
        std::fill_n(bins, feature.size(), Stats{});
        if (tallies) std::fill_n(tallies, feature.size(), Tally{});
        with_bins(data_, feature, [&](const auto& bin_of) {
            for (uint64_t i = 0; i < count; i++) {
                if (i % piece_rows == 0) context.poll();
                const uint64_t row = rows.all ? i : rows.rows[i];
                const uint32_t bin = bin_of(row);
                const int64_t weight = to_count(sums.counts[t][row]);
                bins[bin] += {rounded_sum(sums.sums[t][row] * sum_unit), weight};
                if (tallies) tallies[bin] += {rounded_sum(squares[t][row] / unit_of_squares), weight};
            }
        });
    };
    team_.for_each(layout_.selected().size(), [&](size_t i, int worker) {
        contexts.run(worker, [&](RunContext& context) { add_feature(layout_.selected()[i], context); });
    });
}

std::optional<SketchReport> FactorisedSet::sketch_report() const {
    return sketch_ ? std::optional(sketch_->report()) : std::nullopt;
}

FilterQuery FactorisedSet::query_of(const Leaf& leaf) {
    FilterQuery query = plain_query(-static_cast<double>(leaf.value), 0);
    const Node& node = nodes_[static_cast<size_t>(leaf.node)];
    for (size_t t = 0; t < node.rows.size(); t++)
        if (!node.rows[t]->all) query.filters[t] = filters_[t].add(*node.rows[t], context_);
    return query;
}

FilteredSums::Total FactorisedSet::leaf_total(const Leaf& leaf, const RowWeights& population) {
    return queries_.total(selection(nodes_[static_cast<size_t>(leaf.node)], population), residual_);
}

static void check_partition(double weight_of_leaves, double weight) {
    if (!(std::fabs(weight_of_leaves - weight) <= 1e-9 * weight))
        throw Error(ErrorCode::internal, "the leaves of a tree do not partition the join");
}

// Σ r'² = Σ r² − 2 Σ_ℓ value_ℓ s_ℓ + Σ_ℓ value_ℓ² n_ℓ, as the leaves partition the join.
void FactorisedSet::update_losses(const std::vector<Leaf>& leaves) {
    double trained = 0, held_out = 0;
    for (const Leaf& leaf : leaves) {
        const int128 value = leaf.value;
        int128 sum = static_cast<int128>(leaf.sums.total.sum) << sum_shift_;
        double weight = static_cast<double>(leaf.sums.total.hessian) * units().hessian_unit;
        if (!in_bag_.empty()) {
            const FilteredSums::Total total = leaf_total(leaf, train_);
            sum = static_cast<int128>(shifted(total.sum));
            weight = shifted(total.count);
        }
        trained += weight;
        const auto v = static_cast<double>(leaf.value);
        loss_ += weighted_ ? static_cast<int128>(v * v * weight) : value * value * static_cast<int64_t>(weight);
        loss_ -= 2 * value * sum;
        if (holdout_rows_ > 0) {
            const FilteredSums::Total total = leaf_total(leaf, held_out_);
            const double number = to_number(leaf.value);
            held_out += total.count;
            holdout_squares_ += number * (number * total.count - 2 * std::ldexp(total.sum, -value_grid_));
        }
    }
    check_partition(trained, shifted(train_count_));
    check_partition(held_out, holdout_count_);
    loss_ = std::max<int128>(loss_, 0);
    if (holdout_rows_ > 0) holdout_loss_ = std::max(0.0, holdout_squares_) / holdout_count_;
}

void FactorisedSet::add(const std::vector<Leaf>& leaves) {
    update_losses(leaves);
    pending_ = leaves;
    if (!in_bag_.empty()) refine_sums();
}

// The queries of the last tree's leaves; their rows are those of its nodes, which are about to go.
std::vector<FilterQuery> FactorisedSet::take_pending() {
    std::vector<FilterQuery> added;
    for (const Leaf& leaf : pending_)
        if (leaf.value != 0) added.push_back(query_of(leaf));
    pending_.clear();
    residual_.insert(residual_.end(), added.begin(), added.end());
    return added;
}

// Trees fitted to samples may let the loss grow, and with it the sums.
void FactorisedSet::refine_sums() {
    const double bound = std::ldexp(std::sqrt(shifted(train_count_) * static_cast<double>(loss_)), -sum_shift_);
    if (bound >= std::ldexp(1, max_sum_bits)) sum_shift_ += std::ilogb(bound) - sum_bits + 1;
}

} // namespace btml::boosting
