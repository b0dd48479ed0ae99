#include "core/gp/additive/member_tree.hpp"

namespace btml::gp {

MemberTree::MemberTree(const SortedRows& sorted, size_t levels, RunContext& context)
    : levels_(levels),
      rows_(context.memory(), "trees of a kernel sum", sorted.rows.size()),
      next_(context.memory(), "trees of a kernel sum"),
      level_(context.memory(), "trees of a kernel sum") {
    std::copy(sorted.rows.begin(), sorted.rows.end(), rows_.begin());
    uint32_t root = 0;
    const Buffer<Split> splits = split(sorted, root, context);
    number(splits, root, context);
}

// Neighbours whose strings differ meet at a split. The rows of each leaf are counted into next_.
Buffer<MemberTree::Split> MemberTree::split(const SortedRows& sorted, uint32_t& root, RunContext& context) {
    Buffer<Split> splits(context.memory(), "trees of a kernel sum");
    std::vector<uint32_t> open; // splits whose right side has begun
    for (size_t i = 0, begin = 0; i < rows_.size(); i++) {
        context.worked(4);
        const bool last = i + 1 == rows_.size();
        const uint16_t common = sorted.common[i];
        if (!last && common == levels_) continue;
        uint32_t node = leaf | static_cast<uint32_t>(next_.size());
        next_.push_back(leaf | static_cast<uint32_t>(i + 1 - begin));
        begin = i + 1;
        while (!open.empty() && (last || splits[open.back()].level > common)) {
            splits[open.back()].right = node;
            node = open.back();
            open.pop_back();
        }
        if (last) {
            root = node;
        } else {
            open.push_back(static_cast<uint32_t>(splits.size()));
            splits.push_back({node, 0, common});
        }
    }
    return splits;
}

// Depth-first numbers.
void MemberTree::number(const Buffer<Split>& splits, uint32_t root, RunContext& context) {
    const Buffer<uint32_t> leaves = std::move(next_);
    next_ = Buffer<uint32_t>(context.memory(), "trees of a kernel sum", leaves.size() + splits.size());
    level_.resize(next_.size());
    struct Rest {
        uint32_t node, parent; // parent: whose right child it is
    };
    std::vector<Rest> rest{{root, 0}};
    for (uint32_t at = 0; !rest.empty(); at++) {
        context.worked(4);
        const auto [node, parent] = rest.back();
        rest.pop_back();
        if (at > parent + 1) next_[parent] = at;
        if (node & leaf) {
            next_[at] = leaves[node & ~leaf];
            level_[at] = static_cast<uint16_t>(levels_);
        } else {
            level_[at] = splits[node].level;
            rest.push_back({splits[node].right, at});
            rest.push_back({splits[node].left, at});
        }
    }
}

} // namespace btml::gp
