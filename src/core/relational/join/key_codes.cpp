#include "core/relational/join/key_codes.hpp"

#include "core/data/dictionary.hpp"

#include <bit>

namespace btml::relational {

namespace {

// Numbers pairs (code so far, next key) by first appearance, in slots of which at most half are taken.
class PairNumbers {
  public:
    PairNumbers(MemoryBudget& memory, uint64_t max_pairs)
        : slots_(memory, "a hash table of composite join keys", slots(max_pairs), Slot{0, free_slot}),
          mask_(slots_.size() - 1) {}

    Key insert(uint64_t pair) {
        Slot& slot = slots_[locate(pair)];
        if (slot.number == free_slot) slot = {pair, size_++};
        return slot.number;
    }
    // free_slot when the pair was never inserted.
    Key find(uint64_t pair) const { return slots_[locate(pair)].number; }
    Key size() const { return size_; }

    static constexpr Key free_slot = UINT32_MAX;
    // Of 16 bytes each.
    static constexpr uint64_t slots(uint64_t max_pairs) { return std::bit_ceil(2 * max_pairs + 2); }

  private:
    struct Slot {
        uint64_t pair;
        Key number;
    };

    uint64_t locate(uint64_t pair) const {
        return probe(slots_.data(), mask_, mix64(pair),
                     [&](const Slot& slot) { return slot.number == free_slot || slot.pair == pair; });
    }

    Buffer<Slot> slots_;
    uint64_t mask_;
    Key size_ = 0;
};

// Keys of one column are below this bound; 0 when all are NULL.
uint64_t key_bound(const Buffer<Key>& keys, RunContext& context) {
    Key bound = 0; // NULL is the greatest key, so that NULL + 1 is 0
    context.for_each(keys.size(), 1, [&](uint64_t row) { bound = std::max(bound, keys[row] + 1); });
    return bound;
}

// The code so far and the next key as one number: small ranges are addressed directly.
void fold_direct(Buffer<Key>& codes, Key count, const Buffer<Key>& keys, uint64_t bound, RunContext& context) {
    const Key none = static_cast<Key>(count * bound);
    context.for_each(keys.size(), 1, [&](uint64_t row) {
        const bool known = codes[row] != count && keys[row] < bound;
        codes[row] = known ? static_cast<Key>(codes[row] * bound + keys[row]) : none;
    });
}

uint64_t pair_of(Key code, Key key) {
    return uint64_t{code} << 32 | key;
}

// The side with fewer rows numbers its pairs, those without NULL; the other looks its pairs up.
Key fold_hashed(Buffer<Key>& few, const Buffer<Key>& few_keys, Buffer<Key>& many, const Buffer<Key>& many_keys,
                Key count, RunContext& context) {
    PairNumbers numbers(context.memory(), few.size());
    constexpr Key none = PairNumbers::free_slot;
    context.for_each(few.size(), 1, [&](uint64_t row) {
        const bool known = few[row] != count && few_keys[row] != null_key;
        few[row] = known ? numbers.insert(pair_of(few[row], few_keys[row])) : none;
    });
    context.for_each(many.size(), 1, [&](uint64_t row) {
        many[row] = std::min(numbers.find(pair_of(many[row], many_keys[row])), numbers.size());
    });
    context.for_each(few.size(), 1, [&](uint64_t row) { few[row] = std::min(few[row], numbers.size()); });
    return numbers.size();
}

} // namespace

KeyCodes encode_keys(const KeyColumns& left, uint64_t left_rows, const KeyColumns& right, uint64_t right_rows,
                     RunContext& context) {
    static constexpr const char* what = "the separators of a join";
    KeyCodes codes{1, Buffer<Key>(context.memory(), what, left_rows, Key{0}),
                   Buffer<Key>(context.memory(), what, right_rows, Key{0})};
    for (size_t i = 0; i < left.size(); i++) {
        const uint64_t bound = std::min(key_bound(*left[i], context), key_bound(*right[i], context));
        const uint64_t range = codes.count * bound; // both below 2^32
        const uint64_t slots = PairNumbers::slots(std::min(left_rows, right_rows));
        if (range <= std::min<uint64_t>(std::max(2 * (left_rows + right_rows), 2 * slots) + 1024, max_rows)) {
            fold_direct(codes.left, codes.count, *left[i], bound, context);
            fold_direct(codes.right, codes.count, *right[i], bound, context);
            codes.count = static_cast<Key>(range);
        } else if (left_rows < right_rows) {
            codes.count = fold_hashed(codes.left, *left[i], codes.right, *right[i], codes.count, context);
        } else {
            codes.count = fold_hashed(codes.right, *right[i], codes.left, *left[i], codes.count, context);
        }
    }
    return codes;
}

} // namespace btml::relational
