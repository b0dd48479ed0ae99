#include "core/gp/tree/point_encoder.hpp"

#include <algorithm>

namespace btml::gp {

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
