#include "core/gp/additive/sum_model.hpp"

#include "core/gp/additive/conjugate_gradients.hpp"
#include "core/gp/additive/float_columns.hpp"
#include "core/numbers/rng.hpp"

#include <bit>

namespace btml::gp {

double SumResiduals::worst() const {
    return largest(std::array{targets, samples});
}

Encoding encoding_of_member(const Encoding& encoding, uint64_t seed, size_t member) {
    std::vector<double> shifts;
    for (size_t f = 0; f < encoding.features().size(); f++)
        shifts.push_back(random_unit(seed, stream_of(SumStream::shifts, member), f));
    return encoding.shifted(shifts);
}

SumModel::SumModel(Parts parts, RunContext& context) : parts_(std::move(parts)) {
    const std::vector<FeatureView> views = parts_.rows.views();
    Block first(context.memory(), "trees of a model"), second(context.memory(), "trees of a model");
    for (size_t m = 0; m < parts_.members.size(); m++) {
        context.progress("trees", m, parts_.members.size());
        add_member(m, views, first, second, context);
        path_.resize(std::max(path_.size(), parts_.members[m].order.size() + 1)); // levels grow along a path
    }
}

void SumModel::add_member(size_t member, std::span<const FeatureView> points, Block& scratch1, Block& scratch2,
                          RunContext& context) {
    const auto& [order, weights] = parts_.members[member];
    const Encoding encoding = encoding_of_member(parts_.encoding, parts_.seed, member);
    const auto [rows, bits, sorted] = StringRows(encoding, order, points, context);
    const MemberTree from(sorted, bits.size(), context);
    MemoryBudget& memory = context.memory();
    const size_t nodes = from.nodes();
    trees_.push_back({PointEncoder(encoding, order), Kernel{weights, parts_.noise}.covariances(),
                      (bits.size() + 63) / 64, Buffer<uint32_t>(memory, "trees of a model", nodes),
                      Buffer<uint16_t>(memory, "trees of a model", nodes), Buffer<uint64_t>(memory, "trees of a model"),
                      Buffer<Values>(memory, "trees of a model", nodes)});
    Tree& tree = trees_.back();
    scratch1.resize(nodes);
    scratch2.resize(nodes);
    context.poll();
    node_values(from, tree.covariances, {parts_.seed, stream_of(SumStream::first_samples, member)}, 1,
                parts_.first.data(), scratch1.data());
    context.poll();
    node_values(from, tree.covariances, {parts_.seed, stream_of(SumStream::second_samples, member)}, 0,
                parts_.second.data(), scratch2.data());
    const std::vector<StringWord> string = string_words(bits);
    const uint32_t* row = from.sorted_rows();
    for (uint32_t node = 0, leaves = 0; node < nodes; node++) {
        context.worked(16);
        tree.level[node] = from.level(node);
        tree.values[node].mean = scratch1[node][0];
        for (size_t s = 0; s < samples; s++)
            tree.values[node].deviations[s] =
                upper_half(s < samples_of_first ? scratch1[node][s + 1] : scratch2[node][s - samples_of_first]);
        if (from.is_leaf(node)) {
            tree.next[node] = leaf | leaves++;
            for (const StringWord& word : string) tree.keys.push_back(word(rows.row(*row)));
            row += from.rows_of(node);
        } else {
            tree.next[node] = from.right(node);
        }
    }
}

// Returns how many levels a key shares with a point.
static size_t shared_levels(const uint64_t* key, size_t words, const String& point) {
    for (size_t w = 0; w < words; w++)
        if (key[w] != point.words[w]) return std::min(point.known, w * 64 + std::countl_zero(key[w] ^ point.words[w]));
    return point.known;
}

// A point that leaves an edge somewhere lies between the values at both of its ends, but for a Brownian bridge, and
// below there nothing is known of its own part. The leaf at the end of the path that the point's bits take shares as
// many levels with it as any does.
void SumModel::add(const Tree& tree, const String& point, Sums& sums) {
    const Covariances& c = tree.covariances;
    uint32_t* const path = path_.data();
    size_t depth = 0;
    uint32_t node = 0;
    for (uint32_t next = tree.next[0]; !(next & leaf); next = tree.next[node]) {
        const size_t level = tree.level[node];
        path[depth++] = node;
        node = point.words[level / 64] >> (63 - level % 64) & 1 ? next : node + 1;
    }
    const size_t shared = shared_levels(tree.keys.data() + (tree.next[node] & ~leaf) * tree.words, tree.words, point);
    while (depth > 0 && tree.level[path[depth - 1]] >= shared) node = path[--depth];
    const bool at_root = depth == 0;
    const uint32_t above = at_root ? 0 : path[depth - 1];
    const double from = at_root ? 0 : c[tree.level[above]], edge = c[tree.level[node]] - from;
    const double place = edge > 0 ? (c[shared] - from) / edge : 1;
    const auto far = static_cast<float>(place), near = at_root ? 0 : 1 - far;
    const Values &upper = tree.values[above], &lower = tree.values[node];
    sums.mean += static_cast<double>(near * upper.mean + far * lower.mean);
    add_deviations(upper.deviations, lower.deviations, near, far, samples, sums.deviations);
    sums.variance += place * (1 - place) * edge + (c.back() - c[shared]);
}

Normal SumModel::latent(std::span<const double> features) {
    Sums sums;
    for (Tree& tree : trees_) add(tree, tree.encoder(features), sums);
    double squares = 0;
    for (const float deviation : sums.deviations) squares += static_cast<double>(deviation) * deviation;
    return {sums.mean, parts_.calibration * (squares / samples + sums.variance)};
}

} // namespace btml::gp
