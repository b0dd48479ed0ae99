#include "core/gp/tree/trie.hpp"

#include <algorithm>

namespace btml::gp {

// Beyond what any sum of valid weights reaches.
static constexpr double min_weight = 1e-45, max_weight = 1e52;

static size_t key_bytes(size_t levels) {
    return (levels + 7) / 8;
}

void Trie::encode(Writer& writer) const {
    gp::encode(kernel_, writer);
    writer.put_finite(residual_);
    writer.put_finite(log_weights_);
    writer.put_count(strings_);
    std::vector<uint32_t> rest; // subtrees to write, the next one last
    if (root_ != none) rest.push_back(root_);
    while (!rest.empty()) {
        const Node& node = nodes_[rest.back()];
        rest.pop_back();
        if (!node.is_leaf()) {
            rest.insert(rest.end(), {node.child[1], node.child[0]});
            continue;
        }
        const uint64_t* words = key(node.leaf());
        for (size_t byte = 0; byte < key_bytes(kernel_.levels()); byte++)
            writer.put(static_cast<uint8_t>(words[byte / 8] >> (56 - 8 * (byte % 8))));
        writer.put_positive(leaves_[node.leaf()].weight);
        writer.put_finite(node.mean);
        writer.put(leaves_[node.leaf()].rows);
    }
}

Trie Trie::decode(Reader& reader, RunContext& context) {
    Trie trie(decode_kernel(reader), context);
    const size_t levels = trie.kernel_.levels(), bytes = key_bytes(levels);
    trie.residual_ = reader.get_finite();
    trie.log_weights_ = reader.get_finite();
    if (trie.residual_ < 0) corrupt_model("A sum of squares is negative.");
    const size_t strings = reader.get_count(bytes + 2 * sizeof(double) + sizeof(uint32_t));
    trie.reserve(strings);
    std::vector<uint64_t> words(trie.words_);
    uint32_t last = none; // the leaf before
    context.for_each(strings, 8, [&](size_t i) {
        std::fill(words.begin(), words.end(), 0);
        for (size_t byte = 0; byte < bytes; byte++)
            words[byte / 8] |= uint64_t{reader.get<uint8_t>()} << (56 - 8 * (byte % 8));
        if (levels % 64 != 0 && words.back() << (levels % 64) != 0) corrupt_model("A string has bits beyond its end.");
        if (i > 0) {
            const size_t shared = trie.common_levels(trie.key(static_cast<uint32_t>(i - 1)), words.data());
            if (shared == levels || !bit(words.data(), shared)) corrupt_model("The strings are not in order.");
            trie.append(last, shared);
        }
        const double weight = reader.get_finite(), mean = reader.get_finite();
        const auto rows = reader.get<uint32_t>();
        if (!(weight >= min_weight && weight <= max_weight) || rows == 0)
            corrupt_model("The weight or number of the observations of a string is out of range.");
        last = trie.add_leaf(words.data(), mean, weight, rows);
    });
    if (last != none) trie.append(last, 0);
    return trie;
}

} // namespace btml::gp
