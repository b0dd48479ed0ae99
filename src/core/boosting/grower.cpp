#include "core/boosting/grower.hpp"

#include <cmath>

namespace btml::boosting {

static constexpr double tie = 1e-9;
static constexpr uint64_t histogram_memory = uint64_t{64} << 20; // kept for open leaves, unless 8 need more
static constexpr size_t least_shared_bins = 1024; // fewer bins than this are not worth waking a thread for

static size_t all_histogram_bins(const BinnedData& data) {
    size_t bins = 0;
    for (const FeatureBins& feature : data.features)
        if (feature.size() <= max_histogram_bins) bins += feature.size();
    return bins;
}

// Histograms to keep at most: one per leaf, and only for nodes of more rows than a histogram has bins.
static size_t histograms_to_keep(const BinnedData& data, const Options& options) {
    const size_t bins = all_histogram_bins(data);
    if (bins == 0) return 0;
    const size_t by_memory = std::max<size_t>(8, histogram_memory / (bins * sizeof(Stats)));
    const size_t by_leaves = options.max_leaves > 0 ? static_cast<size_t>(options.max_leaves) : by_memory;
    return std::min({by_memory, by_leaves, data.rows / bins + 1});
}

static size_t most_table_rows(const BinnedData& data) {
    size_t most = 0;
    for (const BinnedTable& table : data.tables)
        if (table.ids()) most = std::max(most, static_cast<size_t>(table.rows));
    return most;
}

static size_t most_category_bins(const BinnedData& data) {
    size_t most = 0;
    for (const FeatureBins& feature : data.features)
        if (feature.categorical) most = std::max(most, feature.size());
    return most;
}

TreeGrower::TreeGrower(const BinnedData& data, const TrainingRows& training, Residuals& residuals, RowIndex& index,
                       const Options& options, ThreadTeam& team, RunContext& context)
    : data_(data),
      training_(training),
      residuals_(residuals),
      index_(index),
      options_(options),
      team_(team),
      context_(context),
      builder_(data, residuals, index, team, context),
      wide_(data, residuals, index, options.criterion == Criterion::mse_sum, team, context),
      most_histograms_(histograms_to_keep(data, options)),
      table_sides_(context.memory(), "sides of table rows", most_table_rows(data)),
      category_sides_(context.memory(), "sides of categories", most_category_bins(data), 0),
      tree_memory_(context.memory(), "trees") {}

uint64_t TreeGrower::scratch_bytes(const BinnedData& data, const Options& options, int threads) {
    const bool squares = options.criterion == Criterion::mse_sum;
    const uint64_t histogram = all_histogram_bins(data) * sizeof(Stats) * (squares ? 2 : 1);
    return (histograms_to_keep(data, options) + 2) * histogram + HistogramBuilder::scratch_bytes(data, threads) +
           WideFeatures::scratch_bytes(data, squares, threads) + most_table_rows(data) + most_category_bins(data);
}

int TreeGrower::take_histogram() {
    if (!free_histograms_.empty()) {
        const int histogram = free_histograms_.back();
        free_histograms_.pop_back();
        return histogram;
    }
    const size_t bins = all_histogram_bins(data_);
    Histogram added{Buffer<Stats>(context_.memory(), "histograms", bins),
                    Buffer<Stats>(context_.memory(), "histograms")};
    if (options_.criterion == Criterion::mse_sum) added.squares.resize(bins);
    histograms_.push_back(std::move(added));
    return static_cast<int>(histograms_.size() - 1);
}

void TreeGrower::release_histogram(int histogram) {
    if (histogram >= 0) free_histograms_.push_back(histogram);
}

void TreeGrower::build_histogram(const RowSet& rows, int histogram) {
    const Stopwatch watch(clock_.histograms);
    Histogram& target = histograms_[static_cast<size_t>(histogram)];
    builder_.build(rows, Quantity::residual, target.sums.data());
    if (!target.squares.empty()) builder_.build(rows, Quantity::square, target.squares.data());
}

void TreeGrower::subtract_histogram(int from, int what) {
    Histogram& target = histograms_[static_cast<size_t>(from)];
    const Histogram& part = histograms_[static_cast<size_t>(what)];
    for (size_t b = 0; b < builder_.bins(); b++) target.sums[b] -= part.sums[b];
    if (target.squares.empty()) return;
    for (size_t b = 0; b < builder_.bins(); b++) target.squares[b] -= part.squares[b];
}

NodeSums TreeGrower::sum_up(const RowSet& rows, int histogram) {
    NodeSums sums;
    if (histogram >= 0) {
        const Histogram& source = histograms_[static_cast<size_t>(histogram)];
        const int feature = builder_.features().front();
        const size_t first = builder_.offset(feature), size = data_.features[static_cast<size_t>(feature)].size();
        for (size_t b = first; b < first + size; b++) {
            sums.total += source.sums[b];
            if (!source.squares.empty()) sums.squares += source.squares[b].sum;
        }
        return sums;
    }
    const uint32_t* list = index_.rows(rows);
    std::vector<NodeSums> partials(static_cast<size_t>(team_.size()));
    for_pieces(team_, rows.size(), [&](size_t begin, size_t end, int worker) {
        NodeSums& partial = partials[static_cast<size_t>(worker)];
        for (size_t i = begin; i < end; i++) {
            Stats sum, square;
            const uint32_t row = list ? list[i] : static_cast<uint32_t>(rows.begin + i);
            residuals_.gather(&row, 0, 1, &sum);
            if (options_.criterion == Criterion::mse_sum) residuals_.gather_squares(&row, 0, 1, &square);
            partial.total += sum;
            partial.squares += square.sum;
        }
    });
    for (const NodeSums& partial : partials) {
        sums.total += partial.total;
        sums.squares += partial.squares;
    }
    return sums;
}

bool TreeGrower::may_split(const Leaf& leaf) const {
    return (options_.max_depth == 0 || leaf.depth < options_.max_depth) && leaf.rows[in_bag].size() >= 2 &&
           rules_->may_split(leaf.sums.total);
}

void TreeGrower::close(const Leaf& leaf) {
    const int64_t value = residuals_.leaf_value(leaf.sums.total, options_.learning_rate, options_.l2);
    tree_[static_cast<size_t>(leaf.node)].value = residuals_.to_number(value);
    leaves_.push_back({leaf.rows, value});
}

bool TreeGrower::is_wide(int feature) const {
    return data_.features[static_cast<size_t>(feature)].size() > max_histogram_bins;
}

// A histogram's bins are too few for the search to poll, so any thread may do it.
void TreeGrower::search_histogram(const SplitSearch& search, const Histogram& histogram, int f, Searched& result) {
    const FeatureBins& feature = data_.features[static_cast<size_t>(f)];
    const Stats* sums = histogram.sums.data() + builder_.offset(f);
    const Stats* squares = histogram.squares.empty() ? nullptr : histogram.squares.data() + builder_.offset(f);
    const NodeSums null{sums[feature.values], squares ? squares[feature.values].sum : 0};
    const DenseBins bins{sums, squares, 0, feature.values};
    if (feature.categorical)
        search.scan_categories(f, bins, null, result.order, result.found, context_);
    else
        search.scan_numbers(f, bins, {}, null, result.found);
}

// By feature of this tree; the threads share the features out. Wide ones are left empty.
std::vector<TreeGrower::Searched> TreeGrower::search_histograms(const SplitSearch& search, const RowSet& rows,
                                                                int histogram) {
    const size_t count = features_.size();
    std::vector<Searched> results(count, {search.no_candidates(), {}});
    if (histogram < 0) return results;
    const size_t most_occupied = std::min(builder_.bins(), rows.size() * builder_.features().size());
    const size_t pieces = most_occupied < least_shared_bins ? 1 : count;
    team_.for_each(pieces, [&](size_t piece, int) {
        for (size_t i = piece; i < count; i += pieces)
            if (!is_wide(features_[i]))
                search_histogram(search, histograms_[static_cast<size_t>(histogram)], features_[i], results[i]);
    });
    return results;
}

// Finds the leaf's best split and keeps it open, or closes it. Takes over the histogram.
void TreeGrower::find_split(Leaf& leaf, int histogram) {
    const Stopwatch watch(clock_.splits);
    const SplitSearch search(*rules_, leaf.sums);
    std::vector<Searched> results = search_histograms(search, leaf.rows[in_bag], histogram);
    Candidates found = search.no_candidates();
    for (size_t i = 0; i < features_.size(); i++) {
        if (is_wide(features_[i]))
            wide_.search(features_[i], leaf.rows[in_bag], search, results[i].order, results[i].found);
        found.add(results[i].found);
        if (!found.ends_with(features_[i])) results[i].order = {}; // it cannot win
    }
    if (found.empty()) {
        release_histogram(histogram);
        close(leaf);
        return;
    }
    const Candidate& best = found.winner();
    leaf.split = {best.feature, best.gain, best.left, best.null_left, best.last, {}};
    const auto place = std::find(features_.begin(), features_.end(), best.feature) - features_.begin();
    const std::vector<BinSums>& order = results[static_cast<size_t>(place)].order;
    if (!order.empty()) {
        const auto first = best.last < 0 ? order.end() + best.last : order.begin();
        for (auto cell = first; cell != first + std::abs(best.last); ++cell) leaf.split.categories.push_back(cell->bin);
    }
    std::sort(leaf.split.categories.begin(), leaf.split.categories.end());
    const size_t taken = histograms_.size() - free_histograms_.size();
    if (histogram >= 0 && leaf.rows[in_bag].size() > builder_.bins() && taken <= most_histograms_)
        leaf.histogram = histogram;
    else
        release_histogram(histogram);
    by_gain_.emplace(-best.gain, leaf.node);
    open_.emplace(leaf.node, leaf);
}

// The open leaf with the largest gain, the lowest node of those within a tie; without a limit on leaves, where the
// order changes nothing but the numbers of nodes, level by level.
TreeGrower::Leaf TreeGrower::take_next_leaf() {
    int node = open_.begin()->first;
    if (options_.max_leaves > 0) {
        const double least = -by_gain_.begin()->first * (1 - tie);
        node = by_gain_.begin()->second;
        for (const auto& [negative_gain, other] : by_gain_) {
            if (-negative_gain < least) break;
            node = std::min(node, other);
        }
    }
    auto handle = open_.extract(node);
    by_gain_.erase({-handle.mapped().split.gain, node});
    return std::move(handle.mapped());
}

// What RowIndex::partition asks for a row, and where that lies.
template <class Look, class Address>
struct GoLeft {
    Look look;
    Address address;
    size_t operator()(uint32_t row) const { return look(row); }
};

template <class Side>
std::pair<NodeRows, NodeRows> TreeGrower::partition_by(const NodeRows& rows, const FeatureBins& feature,
                                                       const Side& side) {
    const BinGroup& group = data_.groups[feature.group];
    const BinnedTable& table = data_.tables[static_cast<size_t>(feature.table)];
    const uint32_t* ids = table.ids();
    std::pair<NodeRows, NodeRows> result;
    const auto apply = [&](const auto& go_left) {
        for (size_t part = 0; part < part_count; part++)
            std::tie(result.first[part], result.second[part]) = index_.partition(rows[part], go_left);
    };
    const auto dispatch = [&](const auto* bins) {
        const size_t width = group.width, slot = feature.slot;
        if (!ids) {
            apply(GoLeft{[=](uint32_t row) -> size_t { return side(bins[row * width + slot]); },
                         [=](uint32_t row) { return bins + row * width + slot; }});
        } else if (rows[in_bag].size() < table.rows) {
            apply(GoLeft{[=](uint32_t row) -> size_t { return side(bins[ids[row] * width + slot]); },
                         [=](uint32_t row) { return ids + row; }});
        } else {
            uint8_t* sides = table_sides_.data();
            for_pieces(team_, table.rows, [&](size_t begin, size_t end, int) {
                for (size_t i = begin; i < end; i++) sides[i] = static_cast<uint8_t>(side(bins[i * width + slot]));
            });
            apply(GoLeft{[=](uint32_t row) -> size_t { return sides[ids[row]]; },
                         [=](uint32_t row) { return ids + row; }});
        }
    };
    if (group.bytes == 1)
        dispatch(group.bins<uint8_t>());
    else if (group.bytes == 2)
        dispatch(group.bins<uint16_t>());
    else
        dispatch(group.bins<uint32_t>());
    return result;
}

std::pair<NodeRows, NodeRows> TreeGrower::partition(const NodeRows& rows, const Split& split) {
    const Stopwatch watch(clock_.partition);
    const FeatureBins& feature = data_.features[static_cast<size_t>(split.feature)];
    if (!feature.categorical) {
        const auto limit = static_cast<uint32_t>(split.last_bin + 1);
        const uint32_t null = split.null_left ? feature.null_bin() : UINT32_MAX;
        return partition_by(rows, feature,
                            [=](uint32_t bin) -> size_t { return size_t{bin < limit} | size_t{bin == null}; });
    }
    const auto mark = [&](uint8_t value) {
        for (const uint32_t code : split.categories) category_sides_[code] = value;
        category_sides_[feature.null_bin()] = value && split.null_left;
    };
    mark(1);
    const uint8_t* sides = category_sides_.data();
    auto result = partition_by(rows, feature, [=](uint32_t bin) -> size_t { return sides[bin]; });
    mark(0);
    return result;
}

void TreeGrower::write_split(const Split& split, Node& node) const {
    const FeatureBins& feature = data_.features[static_cast<size_t>(split.feature)];
    node.feature = split.feature;
    node.null_left = split.null_left;
    node.categories = split.categories;
    if (!feature.categorical)
        node.threshold = split.last_bin < 0 ? -std::numeric_limits<double>::infinity()
                                            : feature.thresholds[static_cast<size_t>(split.last_bin)];
    const double gain = std::ldexp(split.gain, -2 * residuals_.grid() - training_.shift());
    node.gain = std::min(gain, std::numeric_limits<double>::max());
}

void TreeGrower::expand(Leaf leaf) {
    if (tree_.size() > (size_t{1} << 30))
        throw Error(ErrorCode::limit_exceeded, "a tree has more than 2^30 nodes", {}, "Set max_leaves or max_depth.");
    tree_memory_.add(2 * (sizeof(Node) + sizeof(Residuals::Leaf)) + leaf.split.categories.size() * sizeof(uint32_t));
    const auto [left_rows, right_rows] = partition(leaf.rows, leaf.split);
    Leaf left{static_cast<int>(tree_.size()), leaf.depth + 1, left_rows, leaf.split.left, {}, -1};
    Leaf right{left.node + 1, leaf.depth + 1, right_rows, leaf.sums, {}, -1};
    right.sums.total -= left.sums.total;
    right.sums.squares -= left.sums.squares;

    Node& node = tree_[static_cast<size_t>(leaf.node)];
    write_split(leaf.split, node);
    node.left = left.node;
    node.right = right.node;
    for (const Leaf* child : {&left, &right}) {
        Node& added = tree_.emplace_back();
        added.parent = leaf.node;
        added.rows = std::ldexp(static_cast<double>(child->sums.total.count), -training_.scale());
    }
    leaf_count_++;
    if (options_.max_leaves > 0 && leaf_count_ >= options_.max_leaves) {
        release_histogram(leaf.histogram);
        close(left);
        close(right);
    } else {
        open_children(std::move(left), std::move(right), leaf.histogram);
    }
}

// Looks for the children's splits, or closes them. The smaller child's histogram is built from its rows; the larger
// one's is what is left of the parent's.
void TreeGrower::open_children(Leaf left, Leaf right, int parent) {
    const bool left_small = left.rows[in_bag].size() <= right.rows[in_bag].size();
    Leaf& small = left_small ? left : right;
    Leaf& large = left_small ? right : left;
    const bool small_may = may_split(small), large_may = may_split(large);
    int small_histogram = -1, large_histogram = -1;
    if (builder_.bins() > 0 && (small_may || large_may)) {
        const bool subtract = parent >= 0 && large_may;
        if (small_may || subtract) {
            small_histogram = take_histogram();
            build_histogram(small.rows[in_bag], small_histogram);
        }
        if (subtract) {
            large_histogram = std::exchange(parent, -1);
            subtract_histogram(large_histogram, small_histogram);
        } else if (large_may) {
            large_histogram = take_histogram();
            build_histogram(large.rows[in_bag], large_histogram);
        }
        if (!small_may) release_histogram(std::exchange(small_histogram, -1));
    }
    release_histogram(parent);
    for (auto [leaf, may, histogram] :
         {std::tuple(&small, small_may, small_histogram), std::tuple(&large, large_may, large_histogram)}) {
        if (may)
            find_split(*leaf, histogram);
        else
            close(*leaf);
    }
}

Tree TreeGrower::grow(const NodeRows& root_rows, const std::vector<int>& features) {
    features_ = features;
    builder_.select(features);
    rules_.emplace(options_, training_, residuals_);
    tree_.assign(1, {});
    leaves_.clear();
    leaf_count_ = 1;

    Leaf root{0, 0, root_rows, {}, {}, -1};
    int histogram = -1;
    if (builder_.bins() > 0) {
        histogram = take_histogram();
        build_histogram(root.rows[in_bag], histogram);
    }
    root.sums = sum_up(root.rows[in_bag], histogram);
    tree_[0].rows = std::ldexp(static_cast<double>(root.sums.total.count), -training_.scale());
    if (may_split(root)) {
        find_split(root, histogram);
    } else {
        release_histogram(histogram);
        close(root);
    }
    while (!open_.empty()) {
        context_.poll();
        Leaf leaf = take_next_leaf();
        if (options_.max_leaves > 0 && leaf_count_ >= options_.max_leaves) {
            release_histogram(leaf.histogram);
            close(leaf);
        } else {
            expand(std::move(leaf));
        }
    }
    return std::move(tree_);
}

} // namespace btml::boosting
