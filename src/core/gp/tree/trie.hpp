// Observations under the binary tree kernel, stored for prediction: the path-compressed trie of the observed strings,
// in which every subtree is held as the one observation that it acts as (see likelihood.hpp).
#pragma once

#include "core/base/serial.hpp"
#include "core/gp/tree/observations.hpp"
#include "core/gp/tree/row_sorter.hpp"
#include "core/gp/tree/tree_kernel.hpp"

namespace btml::gp {

class Trie {
  public:
    // The rows in the order of their strings of these bits, and their observations in that order. The kernel must be
    // valid, with one weight per bit.
    Trie(const BitRows& rows, std::span<const uint16_t> bits, const SortedRows& sorted,
         const Observations& observations, Kernel kernel, RunContext& context);

    const Kernel& kernel() const noexcept { return kernel_; }
    size_t words() const noexcept { return words_; } // of a string
    size_t strings() const noexcept { return strings_; }
    // Observations of weight > 0, and their likelihood: O(strings) time.
    double rows() const noexcept { return rows_; }
    double negative_log_likelihood() const;

    // Returns the latent function at a point given all observations; an observation of weight w there has noise/w more
    // variance. O(depth of the trie + q/64) time.
    Normal latent(const String& point) const;

    // Add or remove one observation, exactly, in O(depth). Every level of the point must be known. Error
    // invalid_argument when weight or target is impossible, or the observation to remove can't be one of those at its
    // point.
    void insert(const String& point, double target, double weight);
    void remove(const String& point, double target, double weight);

    // 20 + ⌈q/8⌉ bytes per string, and 8 per level. decode checks every number once: error corrupt_model.
    void encode(Writer& writer) const;
    static Trie decode(Reader& reader, RunContext& context);

  private:
    friend class JointPosterior;
    static constexpr uint32_t none = UINT32_MAX;

    // Holds what the observations below say of the latent function here.
    struct Node {
        double variance, mean;
        uint32_t child[2]; // by the bit at `level`; of a leaf: its number, and none
        uint16_t level;    // shared by all strings below; q for a leaf

        bool is_leaf() const { return child[1] == none; }
        uint32_t leaf() const { return child[0]; }
        bool taken_out() const { return child[0] == none; }
    };
    struct Leaf {
        double weight;
        uint32_t rows;
    };
    // While strings are appended: a subtree, and the levels that it shares with what follows.
    struct Open {
        uint32_t node;
        size_t level;
    };

    Trie(Kernel kernel, RunContext& context);
    void reserve(size_t strings);
    uint32_t add_leaf(const uint64_t* words, double mean, double weight, uint32_t rows);
    uint32_t add_inner(uint32_t left, uint32_t right, size_t level);
    void append(uint32_t node, size_t common);
    void meet(Node& node) const;
    void update(const std::vector<uint32_t>& path);
    void replace_child(const std::vector<uint32_t>& path, uint32_t old, uint32_t node);
    void take_out(std::vector<uint32_t>& path);
    std::vector<uint32_t> path_to(const uint64_t* words) const;
    uint32_t find_leaf(const uint64_t* words) const;
    // Returns how many levels the point shares with the string of any observation.
    size_t shared_levels(const String& point) const;
    size_t common_levels(const uint64_t* a, const uint64_t* b) const;
    const uint64_t* key(uint32_t leaf) const { return keys_.data() + leaf * words_; }
    static bool bit(const uint64_t* words, size_t level) { return words[level / 64] >> (63 - level % 64) & 1; }

    Kernel kernel_;
    std::vector<double> covariances_; // c_0 … c_q
    size_t words_;
    Buffer<Node> nodes_; // those that removals took out stay until the bytes are written
    Buffer<Leaf> leaves_;
    Buffer<uint64_t> keys_; // leaves × words
    uint32_t root_ = none;
    std::vector<Open> open_;
    size_t strings_ = 0;
    double rows_ = 0;        // observations
    double residual_ = 0;    // as of Observations: of rows within strings
    double log_weights_ = 0; // Σ over rows of log w
};

} // namespace btml::gp
