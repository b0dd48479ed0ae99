// Rows in the order of their strings. A bit order arranges the bits of a row into the string that the kernel compares.
#pragma once

#include "core/gp/tree/encoding.hpp"

#include <utility>

namespace btml::gp {

// Names the feature of each level: a level takes the next unused bit of its feature.
using BitOrder = std::vector<uint16_t>;

// Returns the bit of a row (see BitRows) at each level. Throws invalid_argument when a feature has no bit left for a
// level or there is no such feature.
std::vector<uint16_t> bits_of_levels(const Encoding& encoding, const BitOrder& order);

void encode_order(const BitOrder& order, Writer& writer);
// Throws corrupt_model.
BitOrder decode_order(Reader& reader, const Encoding& encoding);

// A string of q levels in ⌈q/64⌉ words, the first level in the highest bit, bits beyond q 0. Of a point that lacks
// some value only the first `known` levels are known; it shares no more of them with any other point.
struct String {
    const uint64_t* words;
    size_t known;
};

struct SortedRows {
    Buffer<uint32_t> rows;   // row numbers, in the order of their strings
    Buffer<uint16_t> common; // levels that a row shares with the next; 0 for the last one
};

// 64 levels of the strings, gathered from the packed rows through tables by byte.
class StringWord {
  public:
    // The string's first level is the highest bit; at most 64 levels, missing ones are 0.
    explicit StringWord(std::span<const uint16_t> bits);

    uint64_t operator()(const uint64_t* row) const {
        uint64_t word = 0;
        for (const Part& part : parts_) word |= part.of_byte[(row[part.word] >> part.shift) & 255];
        return word;
    }

  private:
    struct Part {
        uint32_t word;
        int shift;
        uint64_t of_byte[256];
    };
    std::vector<Part> parts_;
};

// Makes those of all levels.
std::vector<StringWord> string_words(std::span<const uint16_t> bits);

// Sorts by one order after another, as a search over bit orders does: what two orders have in common is not sorted
// again. Equal strings keep the order that they had before; at first, that of row numbers.
class RowSorter {
  public:
    // Keeps a reference to the rows; 50 bytes each besides. At most 2^32 − 2 rows.
    RowSorter(const BitRows& rows, RunContext& context);

    // Sorts by the strings of these bits, at most max_levels. Against the accepted order, levels before the first
    // difference are kept, and so are those after the last one if the levels between hold the same bits in another
    // sequence. The result is valid until the next call.
    const SortedRows& propose(std::span<const uint16_t> bits, RunContext& context);
    // Makes the last proposal the one that the next is compared with.
    void accept() noexcept;
    const SortedRows& accepted() const noexcept { return accepted_; }
    // Returns the last proposal, of a sorter that is used no more.
    SortedRows take() && noexcept { return std::move(proposed_); }

  private:
    struct Item {
        uint64_t word;
        uint32_t group;
    };

    void collect_groups(size_t last);
    void sort_groups(std::span<const uint16_t> bits, size_t first, size_t last, RunContext& context);
    void sort_items(size_t begin, size_t end, size_t level, RunContext& context);
    void sort_words(size_t begin, size_t end, RunContext& context);
    void write(RunContext& context);
    void shorten(size_t levels);

    const BitRows& bit_rows_;
    std::vector<uint16_t> accepted_bits_, proposed_bits_;
    SortedRows accepted_, proposed_;
    std::vector<StringWord> words_; // of the levels sorted by
    size_t first_ = 0, last_ = 0;   // levels sorted by
    Buffer<uint32_t> starts_;       // of groups of rows that stay together, and the end of the last one
    Buffer<uint16_t> shared_;       // levels that the group in a place shares with the next
    Buffer<Item> items_, spare_;    // groups in their new order
};

// Sorts once.
SortedRows sort_rows(const BitRows& rows, std::span<const uint16_t> bits, RunContext& context);

// Holds the rows of these features in the order of their strings under one bit order.
struct StringRows {
    BitRows rows;
    std::vector<uint16_t> bits; // are those of the levels
    SortedRows sorted;

    StringRows(const Encoding& encoding, const BitOrder& order, std::span<const FeatureView> features,
               RunContext& context);
};

// Makes the string of one point, for prediction.
class PointEncoder {
  public:
    // Copies the encoding. Error as of bits_of_levels.
    PointEncoder(const Encoding& encoding, const BitOrder& order);

    // Takes one value per feature, as Encoding::value_bits does. Valid until the next call; not thread-safe (scratch
    // space).
    String operator()(std::span<const double> features);

  private:
    Encoding encoding_;
    std::vector<StringWord> words_;
    std::vector<uint16_t> level_of_bit_; // the number of levels for a bit that the order leaves out
    size_t levels_;
    std::vector<uint64_t> row_, string_;
};

} // namespace btml::gp
