// Turns the features of a point into bits.
//
// A number is scaled to [0, 1] (NumberScale) and gives the first bits of its binary expansion, 1 counting as the
// greatest number below it; a category gives the bits of its place among the categories in order of their target mean,
// or by code where they have a few rows each and their means differ no more than by chance.
// A feature in which training rows have NULLs has one more bit, before the others: 1 for NULL. A feature that is
// constant over the training rows gives no bit.
//
// Infinities and NaN don't stretch the scale: they lie beyond its ends, NaN beyond the upper one as PostgreSQL sorts
// it.
#pragma once

#include "core/base/buffer.hpp"
#include "core/base/serial.hpp"
#include "core/gp/tree/number_scale.hpp"
#include "core/numbers/number.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace btml::gp {

// Refers to a feature of the training rows.
struct FeatureView {
    static constexpr uint32_t null_code = UINT32_MAX;

    bool categorical = false;
    std::span<const double> numbers; // unless categorical: null_number for NULL; may be infinite or NaN
    std::span<const uint32_t> codes; // if categorical: below `categories`, or null_code
    uint32_t categories = 0;
    std::span<const uint32_t> ids = {}; // of a table's rows: where the value of each row is; empty: at the row

    size_t rows() const { return !ids.empty() ? ids.size() : categorical ? codes.size() : numbers.size(); }
    size_t place(size_t row) const { return ids.empty() ? row : ids[row]; }
    // Returns what Encoding::value_bits takes.
    double value(size_t row) const {
        const size_t at = place(row);
        if (!categorical) return numbers[at];
        return codes[at] == null_code ? null_number : codes[at];
    }
};

// Holds the rows' bits, packed: bit b of a row is bit 63 − b mod 64 of its word b / 64.
struct BitRows {
    size_t rows = 0, words = 0; // words per row
    Buffer<uint64_t> data;      // rows × words

    const uint64_t* row(size_t i) const { return data.data() + i * words; }
};

struct FeatureBits {
    static constexpr uint32_t unseen = UINT32_MAX;

    bool categorical = false;
    bool null_bit = false;                    // whether the first bit says that the value is NULL
    int value_bits = 0;                       // of the value, most significant first
    std::shared_ptr<const NumberScale> scale; // of a number, which all shifts of an encoding share
    std::optional<double> shift;              // u of [0, 1): the scaled number x is moved to (x + u/2)/1.5
    std::vector<uint32_t> places;             // of the categories, by code; unseen: not in the training rows
    uint32_t seen = 0;                        // categories in the training rows

    int bits() const { return value_bits + null_bit; }
};

// Holds the bits of one value of a feature: the lowest FeatureBits::bits() of `code`, of which only the first `known`
// are known. A NULL, or a category, that no training row has is known by none of the value's bits.
struct ValueBits {
    uint32_t code;
    int known;
    bool outside; // of the training range
};

class Encoding {
  public:
    static constexpr int max_value_bits = 30;

    // Bits per feature unless the user says otherwise: p = min(8, ⌊150/d⌋ + 1).
    static int default_value_bits(size_t features);

    // `value_bits` per feature, from 1 to max_value_bits (fewer where a category's place needs fewer); `shifts` by
    // feature, or empty. Categories are ordered by the weighted mean of `target` (`weight` empty: 1 each), where means
    // say something, equal ones by code. Error invalid_argument naming value_bits; limit_exceeded when the features
    // have more than max_levels bits together.
    Encoding(std::span<const FeatureView> features, std::span<const double> target, std::span<const double> weight,
             int value_bits, std::span<const double> shifts, RunContext& context,
             NumberPlaces places = NumberPlaces::values);

    // Returns the same with these shifts of the numeric features, of [0, 1), one per feature.
    Encoding shifted(std::span<const double> shifts) const;

    const std::vector<FeatureBits>& features() const noexcept { return features_; }
    // Returns those of its numbers.
    NumberPlaces places() const;
    // Counts those of a row, and says where a feature's bits begin among them.
    size_t bits() const noexcept { return first_bits_.back(); }
    size_t first_bit(size_t feature) const noexcept { return first_bits_[feature]; }

    // Adds the bits of a feature's value to a row, in which they are 0.
    void put(uint64_t* row, size_t feature, uint32_t code) const;
    // Takes a number, a category's code as a double (not in the model's range: a category never seen), or null_number.
    ValueBits value_bits(size_t feature, double value) const;
    // Encodes the rows of the columns that the encoding was made of, or of others with the same categories. Unknown
    // bits are 0. Encodes these rows, or all of them.
    BitRows encode_rows(std::span<const FeatureView> features, RunContext& context,
                        std::optional<std::span<const uint32_t>> chosen = {}) const;

    void encode(Writer& writer) const;
    // Throws corrupt_model.
    static Encoding decode(Reader& reader);

  private:
    Encoding() = default;
    void index_bits();

    std::vector<FeatureBits> features_;
    std::vector<size_t> first_bits_; // one more than features
};

} // namespace btml::gp
