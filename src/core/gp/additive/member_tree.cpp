#include "core/gp/additive/member_tree.hpp"

namespace btml::gp {

// Goes from the last row to the first: then a node follows its right child, and that all nodes below its left one, so
// that numbers are depth-first once they are turned round.
MemberTree::MemberTree(const SortedRows& sorted, size_t levels, RunContext& context)
    : levels_(levels),
      rows_(context.memory(), "trees of a kernel sum", sorted.rows.size()),
      next_(context.memory(), "trees of a kernel sum"),
      level_(context.memory(), "trees of a kernel sum") {
    std::copy(sorted.rows.begin(), sorted.rows.end(), rows_.begin());
    struct Open {
        uint32_t node;
        uint16_t level; // that it shares with the rows before
    };
    std::vector<Open> open;
    for (size_t end = rows_.size(); end > 0;) {
        size_t begin = end - 1;
        while (begin > 0 && sorted.common[begin - 1] == levels) begin--;
        next_.push_back(leaf | static_cast<uint32_t>(end - begin));
        level_.push_back(levels);
        const bool first = begin == 0;
        for (; !open.empty() && (first || open.back().level > sorted.common[begin - 1]); open.pop_back()) {
            next_.push_back(open.back().node);
            level_.push_back(open.back().level);
        }
        if (!first) open.push_back({static_cast<uint32_t>(next_.size() - 1), sorted.common[begin - 1]});
        context.worked(4 * (end - begin));
        end = begin;
    }
    next_.shrink_to_fit();
    level_.shrink_to_fit();
    std::reverse(next_.begin(), next_.end());
    std::reverse(level_.begin(), level_.end());
    context.for_each(nodes(), 4, [&](size_t node) {
        if (!is_leaf(node)) next_[node] = nodes() - 1 - next_[node];
    });
}

} // namespace btml::gp
