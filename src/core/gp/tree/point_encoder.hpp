// Makes the string of one point, for prediction.
#pragma once

#include "core/gp/tree/row_sorter.hpp"

namespace btml::gp {

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
