#include "core/boosting/explanations/path_sums.hpp"

namespace btml::boosting::BTML_LEVEL {

namespace {

using AlignedLanes [[gnu::vector_size(path_lanes * sizeof(double))]] = double;
using Lanes [[gnu::aligned(sizeof(double)), gnu::may_alias]] = AlignedLanes; // as buffers of doubles are

[[gnu::always_inline]] inline Lanes* lanes(double* numbers) {
    return reinterpret_cast<Lanes*>(numbers);
}
[[gnu::always_inline]] inline const Lanes* lanes(const double* numbers) {
    return reinterpret_cast<const Lanes*>(numbers);
}

// groups: of path_lanes points; 0 where only the tree knows how many.
template <size_t groups>
[[gnu::always_inline]] inline size_t groups_of(const PathTree& tree) {
    return groups > 0 ? groups : tree.rule.size / path_lanes;
}

// A feature that the row passes has the factor t + (1 − t)z, any other (1 − t)z. At a node of a feature that the path
// has come by, the factor that it had is divided out; a feature that was not passed before is not passed any more, so
// that its factor only gets smaller by the share.
template <size_t groups>
void multiply(const PathTree& tree, const uint8_t* side, PathScratch scratch) {
    const size_t n = groups_of<groups>(tree);
    Lanes *const products = lanes(scratch.products), *const inverses = lanes(scratch.inverses);
    const Lanes *const points = lanes(tree.rule.points), *const rests = lanes(tree.rule.rests);
    for (size_t g = 0; g < n; g++) {
        products[g] = lanes(tree.rule.weights)[g];
        inverses[g] = Lanes{} + 1;
    }
    scratch.passed[0] = 1;
    for (size_t i = 0; i < tree.splits.size(); i++) {
        const PathSplit& split = tree.splits[i];
        const PathSplit::Child &in = split.children[side[i]], &out = split.children[1 - side[i]];
        const Lanes* const from = products + split.node * n;
        Lanes *const to_in = products + in.node * n, *const to_out = products + out.node * n;
        scratch.passed[in.node] = scratch.passed[split.above];
        scratch.passed[out.node] = 0;
        if (scratch.passed[split.above]) {
            const Lanes* const before = inverses + split.above * n;
            Lanes* const inverse = inverses + in.node * n;
            const double rest_out = out.rest * out.value;
            for (size_t g = 0; g < n; g++) {
                const Lanes divided = from[g] * before[g], factor = points[g] + rests[g] * in.rest;
                inverse[g] = 1 / factor;
                to_in[g] = divided * (factor * in.value);
                to_out[g] = divided * (rests[g] * rest_out);
            }
        } else {
            for (size_t g = 0; g < n; g++) {
                to_in[g] = from[g] * in.share;
                to_out[g] = from[g] * out.share;
            }
        }
    }
}

// A feature contributes (o − z) over its factor, which is (1 − z)/(t + (1 − t)z) or −1/(1 − t). Where the path comes by
// it again, that takes the place of what it was.
template <size_t groups>
void add(const PathTree& tree, const uint8_t* side, PathScratch scratch, double* sums) {
    const size_t n = groups_of<groups>(tree);
    Lanes *const products = lanes(scratch.products), *const inverses = lanes(scratch.inverses);
    const Lanes* const inverse_rests = lanes(tree.rule.inverse_rests);
    for (size_t i = tree.splits.size(); i-- > 0;) {
        const PathSplit& split = tree.splits[i];
        const PathSplit::Child &in = split.children[side[i]], &out = split.children[1 - side[i]];
        Lanes* const to = products + split.node * n;
        const Lanes *const from_in = products + in.node * n, *const from_out = products + out.node * n;
        if (scratch.passed[split.above]) {
            const Lanes *const before = inverses + split.above * n, *const inverse = inverses + in.node * n;
            Lanes sum{};
            for (size_t g = 0; g < n; g++) {
                const Lanes was = (1 - split.rest) * before[g];
                sum += from_in[g] * ((1 - in.rest) * inverse[g] - was) - from_out[g] * (inverse_rests[g] + was);
                to[g] = from_in[g] + from_out[g];
            }
            *lanes(sums + path_lanes * static_cast<size_t>(split.feature)) += sum;
        } else {
            for (size_t g = 0; g < n; g++) to[g] = from_in[g] + from_out[g];
        }
    }
}

} // namespace

void multiply_down(const PathTree& tree, const uint8_t* side, PathScratch scratch) {
    switch (tree.rule.size / path_lanes) {
    case 1:
        return multiply<1>(tree, side, scratch);
    case 2:
        return multiply<2>(tree, side, scratch);
    default:
        return multiply<0>(tree, side, scratch);
    }
}

void sum_up(const PathTree& tree, const uint8_t* side, PathScratch scratch, double* sums) {
    switch (tree.rule.size / path_lanes) {
    case 1:
        return add<1>(tree, side, scratch, sums);
    case 2:
        return add<2>(tree, side, scratch, sums);
    default:
        return add<0>(tree, side, scratch, sums);
    }
}

} // namespace btml::boosting::BTML_LEVEL
