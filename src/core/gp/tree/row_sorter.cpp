#include "core/gp/tree/row_sorter.hpp"

#include "core/gp/tree/tree_kernel.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace btml::gp {

static constexpr size_t word_bits = 64;
static constexpr int max_digit_bits = 11;
static constexpr size_t min_counted = 48; // fewer words than this are sorted by insertion

std::vector<uint16_t> bits_of_levels(const Encoding& encoding, const BitOrder& order) {
    std::vector<size_t> next;
    for (size_t f = 0; f < encoding.features().size(); f++) next.push_back(encoding.first_bit(f));
    std::vector<uint16_t> bits;
    for (const uint16_t feature : order) {
        if (feature >= next.size())
            throw Error(ErrorCode::invalid_argument,
                        format("a bit order names feature %u of %zu", unsigned{feature}, next.size()));
        if (next[feature] == encoding.first_bit(feature + size_t{1}))
            throw Error(ErrorCode::invalid_argument, format("a bit order takes more than the %d bits of feature %u",
                                                            encoding.features()[feature].bits(), unsigned{feature}));
        bits.push_back(next[feature]++);
    }
    return bits;
}

void encode_order(const BitOrder& order, Writer& writer) {
    writer.put_count(order.size());
    for (const uint16_t feature : order) writer.put(feature);
}

BitOrder decode_order(Reader& reader, const Encoding& encoding) {
    BitOrder order(reader.get_count(sizeof(uint16_t)));
    for (uint16_t& feature : order) feature = reader.get<uint16_t>();
    try {
        bits_of_levels(encoding, order);
    } catch (const Error& error) {
        corrupt_model(format("A member has an order in which %s.", error.what()));
    }
    return order;
}

StringWord::StringWord(std::span<const uint16_t> bits) {
    for (size_t level = 0; level < bits.size(); level++) {
        const uint32_t word = bits[level] / word_bits;
        const int bit = 63 - bits[level] % static_cast<int>(word_bits), shift = bit / 8 * 8;
        auto part = std::find_if(parts_.begin(), parts_.end(),
                                 [&](const Part& p) { return p.word == word && p.shift == shift; });
        if (part == parts_.end()) part = parts_.insert(part, {word, shift, {}});
        for (size_t byte = 0; byte < 256; byte++)
            if (byte >> (bit - shift) & 1) part->of_byte[byte] |= uint64_t{1} << (63 - level);
    }
}

std::vector<StringWord> string_words(std::span<const uint16_t> bits) {
    std::vector<StringWord> words;
    for (size_t level = 0; level < bits.size(); level += word_bits)
        words.emplace_back(bits.subspan(level, std::min(word_bits, bits.size() - level)));
    return words;
}

static void reset(SortedRows& sorted, size_t rows) {
    sorted.rows.resize(rows);
    sorted.common.resize(rows);
    for (size_t i = 0; i < rows; i++) sorted.rows[i] = i;
    std::fill(sorted.common.begin(), sorted.common.end(), 0);
}

RowSorter::RowSorter(const BitRows& rows, RunContext& context)
    : bit_rows_(rows),
      accepted_{Buffer<uint32_t>(context.memory(), "sorted rows"), Buffer<uint16_t>(context.memory(), "sorted rows")},
      proposed_{Buffer<uint32_t>(context.memory(), "sorted rows"), Buffer<uint16_t>(context.memory(), "sorted rows")},
      starts_(context.memory(), "sorted rows"),
      shared_(context.memory(), "sorted rows"),
      items_(context.memory(), "rows to sort"),
      spare_(context.memory(), "rows to sort") {
    if (rows.rows >= UINT32_MAX)
        throw Error(ErrorCode::limit_exceeded,
                    format("a Gaussian process has at most %u rows, this one has %zu", UINT32_MAX - 1, rows.rows));
    reset(accepted_, rows.rows);
    reset(proposed_, rows.rows);
}

void RowSorter::accept() noexcept {
    std::swap(accepted_, proposed_);
    std::swap(accepted_bits_, proposed_bits_);
}

const SortedRows& RowSorter::propose(std::span<const uint16_t> bits, RunContext& context) {
    const std::vector<uint16_t>& old = accepted_bits_;
    const size_t first = std::mismatch(bits.begin(), bits.end(), old.begin(), old.end()).first - bits.begin();
    // It is one more than the longest string has: rows are sorted one by one.
    size_t last = max_levels + 1;
    if (bits.size() == old.size()) {
        size_t end = bits.size();
        while (end > first && bits[end - 1] == old[end - 1]) end--;
        if (std::is_permutation(bits.begin() + first, bits.begin() + end, old.begin() + first)) last = end;
    }
    if (first == bits.size())
        shorten(first);
    else
        sort_groups(bits, first, last, context);
    proposed_bits_.assign(bits.begin(), bits.end());
    return proposed_;
}

SortedRows sort_rows(const BitRows& rows, std::span<const uint16_t> bits, RunContext& context) {
    RowSorter sorter(rows, context);
    sorter.propose(bits, context);
    return std::move(sorter).take();
}

StringRows::StringRows(const Encoding& encoding, const BitOrder& order, std::span<const FeatureView> features,
                       RunContext& context)
    : rows(encoding.encode_rows(features, context)),
      bits(bits_of_levels(encoding, order)),
      sorted(sort_rows(rows, bits, context)) {}

// The strings are the first levels of the accepted ones.
void RowSorter::shorten(size_t levels) {
    std::copy(accepted_.rows.begin(), accepted_.rows.end(), proposed_.rows.begin());
    for (size_t i = 0; i < accepted_.common.size(); i++)
        proposed_.common[i] = std::min(accepted_.common[i], static_cast<uint16_t>(levels));
}

// Neighbours that share `last` levels are a group.
void RowSorter::collect_groups(size_t last) {
    const size_t rows = bit_rows_.rows;
    starts_.resize(rows + 1);
    shared_.resize(rows);
    size_t groups = 0;
    for (size_t i = 0; i < rows; i++) {
        if (i == 0 || accepted_.common[i - 1] < last) starts_[groups++] = i;
        shared_[groups - 1] = accepted_.common[i];
    }
    starts_[groups] = rows;
    starts_.resize(groups + 1);
    shared_.resize(groups);
    items_.resize(groups);
    spare_.resize(groups);
    for (size_t g = 0; g < groups; g++) items_[g].group = g;
}

// Sorts groups by the levels first ≤ level < last, within those that share the levels before.
void RowSorter::sort_groups(std::span<const uint16_t> bits, size_t first, size_t last, RunContext& context) {
    context.poll();
    collect_groups(last);
    last = std::min(last, bits.size());
    first_ = first;
    last_ = last;
    words_ = string_words(bits.subspan(first, last - first));
    const size_t groups = items_.size();
    for (size_t begin = 0; begin < groups;) {
        size_t end = begin + 1;
        // Only neighbours share levels: the last group shares none, even of strings without levels.
        while (end < groups && shared_[end - 1] >= first) end++;
        if (end - begin > 1) sort_items(begin, end, first, context);
        begin = end;
    }
    write(context);
}

// Sorts items that share the levels before `level` by what follows, and finds the levels that neighbours share then.
void RowSorter::sort_items(size_t begin, size_t end, size_t level, RunContext& context) {
    if (level >= last_) {
        std::fill(shared_.begin() + begin, shared_.begin() + end - 1, static_cast<uint16_t>(last_));
        return;
    }
    const StringWord& word = words_[(level - first_) / word_bits];
    for (size_t i = begin; i < end; i++) {
        context.worked(2);
        items_[i].word = word(bit_rows_.row(accepted_.rows[starts_[items_[i].group]]));
    }
    const uint16_t after = shared_[end - 1]; // with the first item behind
    sort_words(begin, end, context);
    for (size_t i = begin; i < end;) {
        size_t same = i + 1;
        while (same < end && items_[same].word == items_[i].word) same++;
        if (same < end) shared_[same - 1] = level + std::countl_zero(items_[i].word ^ items_[same].word);
        if (same - i > 1) sort_items(i, same, level + word_bits, context);
        i = same;
    }
    shared_[end - 1] = after;
}

// Stable; by the highest bits that differ first, in digits so wide that few items remain together.
void RowSorter::sort_words(size_t begin, size_t end, RunContext& context) {
    if (end - begin < min_counted) {
        for (size_t i = begin + 1; i < end; i++) {
            const Item item = items_[i];
            size_t place = i;
            for (; place > begin && items_[place - 1].word > item.word; place--) items_[place] = items_[place - 1];
            items_[place] = item;
        }
        return;
    }
    context.worked(2 * (end - begin));
    uint64_t differing = 0;
    for (size_t i = begin; i < end; i++) differing |= items_[i].word ^ items_[begin].word;
    const int varying = std::bit_width(differing);
    if (varying == 0) return;
    const int width = std::min({varying, max_digit_bits, static_cast<int>(std::bit_width(end - begin)) - 3});
    const int shift = varying - width;
    const uint64_t mask = (uint64_t{1} << width) - 1;
    std::vector<uint32_t> places(mask + 2, 0);
    const auto digit = [&](const Item& item) { return item.word >> shift & mask; };
    for (size_t i = begin; i < end; i++) places[digit(items_[i]) + 1]++;
    places[0] = begin;
    for (size_t d = 1; d < places.size(); d++) places[d] += places[d - 1];
    for (size_t i = begin; i < end; i++) spare_[places[digit(items_[i])]++] = items_[i];
    std::copy(spare_.begin() + begin, spare_.begin() + end, items_.begin() + begin);
    if (shift == 0) return;
    for (size_t d = 0, from = begin; d <= mask; from = places[d++])
        if (places[d] - from > 1) sort_words(from, places[d], context);
}

// Writes the groups' rows in their new order.
void RowSorter::write(RunContext& context) {
    size_t place = 0;
    context.for_each(items_.size(), 2, [&](size_t g) {
        const size_t begin = starts_[items_[g].group], end = starts_[items_[g].group + size_t{1}];
        for (size_t i = begin; i < end; i++, place++) {
            proposed_.rows[place] = accepted_.rows[i];
            proposed_.common[place] = accepted_.common[i];
        }
        proposed_.common[place - 1] = shared_[g];
    });
}

PointEncoder::PointEncoder(const Encoding& encoding, const BitOrder& order)
    : encoding_(encoding),
      words_(string_words(bits_of_levels(encoding, order))),
      level_of_bit_(encoding.bits(), static_cast<uint16_t>(order.size())),
      levels_(order.size()),
      row_((encoding.bits() + 63) / 64),
      string_(words_.size()) {
    const std::vector<uint16_t> bits = bits_of_levels(encoding, order);
    for (size_t level = 0; level < bits.size(); level++) level_of_bit_[bits[level]] = level;
}

String PointEncoder::operator()(std::span<const double> features) {
    std::fill(row_.begin(), row_.end(), 0);
    size_t known = levels_;
    for (size_t f = 0; f < encoding_.features().size(); f++) {
        const ValueBits value = encoding_.value_bits(f, features[f]);
        if (value.known < encoding_.features()[f].bits())
            known = std::min<size_t>(known, level_of_bit_[encoding_.first_bit(f) + value.known]);
        encoding_.put(row_.data(), f, value.code);
    }
    for (size_t w = 0; w < words_.size(); w++) string_[w] = words_[w](row_.data());
    return {string_.data(), known};
}

} // namespace btml::gp
