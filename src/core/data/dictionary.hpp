// Dense numbers for distinct values, in the order of their first appearance.
#pragma once

#include "core/base/buffer.hpp"
#include "core/numbers/rng.hpp"

#include <cstring>
#include <string_view>

namespace btml {

// Open addressing, linear probing: returns the first place from that of a hash on where stops(slot) holds. mask: the
// number of slots, a power of two, less one. Some slot must be free, and stop it.
template <class Slot, class Stops>
size_t probe(const Slot* slots, size_t mask, uint64_t hash, const Stops& stops) {
    size_t at = hash & mask;
    while (!stops(slots[at])) at = (at + 1) & mask;
    return at;
}

// From a 32-bit hash to a dense number; the owner of the values decides what is equal.
class HashIndex {
  public:
    HashIndex(MemoryBudget& budget, const char* what) : slots_(budget, what) {}

    static uint32_t hash(uint64_t bits) { return static_cast<uint32_t>(mix64(bits)); }

    // The number of the value with this hash for which equal(number) holds, or `next` after noting that the new value
    // has that number.
    template <class Equal>
    uint32_t find_or_add(uint32_t hash, uint32_t next, Equal&& equal) {
        if ((static_cast<uint64_t>(next) + 1) * 2 > slots_.size()) [[unlikely]]
            grow();
        Slot& slot = slots_[probe(slots_.data(), slots_.size() - 1, hash, [&](const Slot& found) {
            return found.number == free_slot || (found.hash == hash && equal(found.number));
        })];
        if (slot.number == free_slot) slot = {hash, next};
        return slot.number;
    }

  private:
    struct Slot {
        uint32_t hash, number;
    };
    static constexpr uint32_t free_slot = UINT32_MAX;

    void grow() {
        Buffer<Slot> old = std::move(slots_);
        slots_ = Buffer<Slot>(old.budget(), old.what(), old.empty() ? 1024 : old.size() * 2, Slot{0, free_slot});
        const auto is_free = [](const Slot& slot) { return slot.number == free_slot; };
        for (const Slot& slot : old)
            if (!is_free(slot)) slots_[probe(slots_.data(), slots_.size() - 1, slot.hash, is_free)] = slot;
    }

    Buffer<Slot> slots_;
};

// Distinct 64-bit integers. Small ones, as most keys are, are looked up by their value, the others by a hash.
class IntegerDictionary {
  public:
    explicit IntegerDictionary(MemoryBudget& budget)
        : index_(budget, "a dictionary of join keys"),
          small_(budget, "a dictionary of join keys"),
          values_(budget, "a dictionary of join keys") {}

    uint32_t number(int64_t value) {
        const auto place = static_cast<uint64_t>(value);
        if (place < small_.size() && small_[place] != none) return small_[place];
        const auto next = static_cast<uint32_t>(values_.size());
        if (place < max_small) {
            if (place >= small_.size()) make_room(place);
            small_[place] = next;
        } else {
            const uint32_t number = index_.find_or_add(HashIndex::hash(place), next,
                                                       [&](uint32_t other) { return values_[other] == value; });
            if (number != next) return number;
        }
        values_.push_back(value);
        return next;
    }
    const Buffer<int64_t>& values() const { return values_; }

  private:
    static constexpr uint32_t none = UINT32_MAX;
    static constexpr uint64_t max_small = uint64_t{1} << 20;

    void make_room(uint64_t place) {
        const size_t before = small_.size(), size = std::min(max_small, std::max<uint64_t>(2 * place, 1024));
        small_.resize(size);
        std::fill(small_.begin() + before, small_.end(), none);
    }

    HashIndex index_;
    Buffer<uint32_t> small_; // by value: its number, or none
    Buffer<int64_t> values_;
};

// Distinct byte strings.
class TextDictionary {
  public:
    explicit TextDictionary(MemoryBudget& budget)
        : index_(budget, "a dictionary of texts"),
          ends_(budget, "a dictionary of texts"),
          bytes_(budget, "a dictionary of texts") {}

    uint32_t number(std::string_view text) {
        const auto next = static_cast<uint32_t>(ends_.size());
        const uint32_t hash = HashIndex::hash(std::hash<std::string_view>{}(text));
        const uint32_t number =
            index_.find_or_add(hash, next, [&](uint32_t other) { return this->text(other) == text; });
        if (number == next) add(text);
        return number;
    }
    size_t size() const { return ends_.size(); }
    std::string_view text(uint32_t number) const {
        const size_t begin = number == 0 ? 0 : ends_[number - 1];
        return {bytes_.data() + begin, ends_[number] - begin};
    }

  private:
    void add(std::string_view text) {
        const size_t end = bytes_.size() + text.size();
        bytes_.reserve(end);
        const size_t begin = bytes_.size();
        bytes_.resize(end);
        if (!text.empty()) std::memcpy(bytes_.data() + begin, text.data(), text.size());
        ends_.push_back(end);
    }

    HashIndex index_;
    Buffer<size_t> ends_;
    Buffer<char> bytes_;
};

} // namespace btml
