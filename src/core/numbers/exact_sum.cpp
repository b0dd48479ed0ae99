#include "core/numbers/exact_sum.hpp"

#include "core/base/serial.hpp"

#include <cmath>
#include <limits>

namespace btml {

[[noreturn]] static void overflow() {
    throw Error(ErrorCode::out_of_range, "value out of range: overflow");
}

template <int lowest_bit, int digits>
void FixedPointSum<lowest_bit, digits>::carry_on(int digit, int64_t carry) {
    for (; digit < digits; digit++)
        if (!__builtin_add_overflow(digits_[digit], carry, &digits_[digit])) return;
    overflow();
}

template <int lowest_bit, int digits>
void FixedPointSum<lowest_bit, digits>::add_special(uint64_t bits) {
    const bool is_nan = bits & mantissa_mask;
    specials_ |= is_nan ? nan : bits >> 63 ? minus_infinity : plus_infinity;
}

template <int lowest_bit, int digits>
void FixedPointSum<lowest_bit, digits>::add(const FixedPointSum& other) {
    Wide carry = 0;
    for (int i = 0; i < digits; i++) {
        const Wide sum = static_cast<Wide>(digits_[i]) + other.digits_[i] + carry;
        digits_[i] = static_cast<int64_t>(sum);
        carry = (sum - digits_[i]) >> digit_bits;
    }
    if (carry != 0) overflow();
    specials_ |= other.specials_;
}

template <int lowest_bit, int digits>
void FixedPointSum<lowest_bit, digits>::add(const ScaledNumber& x) {
    if (!std::isfinite(x.mantissa)) return add(x.mantissa);
    const int bits = mantissa_bits + 1, place = x.exponent - bits - lowest_bit;
    if (x.mantissa == 0 || place <= -bits) return;
    if (place / digit_bits + 1 >= digits) overflow();
    const int below = std::max(0, -place);
    add_at(static_cast<uint32_t>(place + below), static_cast<int64_t>(std::ldexp(x.mantissa, bits - below)));
}

template <int lowest_bit, int digits>
int FixedPointSum<lowest_bit, digits>::top() const noexcept {
    int top = digits - 1;
    while (top >= 0 && digits_[top] == 0) top--;
    return top;
}

namespace {

// A magnitude in ordinary digits, the highest of which, at `top`, is not 0.
template <size_t size>
struct Magnitude {
    std::array<uint64_t, size> digits{};
    int top = -1;

    bool bit(int place) const { return place >= 0 && digits[place / 64] >> place % 64 & 1; }
    bool has_bits_below(int place) const {
        for (int i = 0; i < place / 64; i++)
            if (digits[i] != 0) return true;
        return place > 0 && (digits[place / 64] & ((uint64_t{1} << place % 64) - 1)) != 0;
    }
    // The 53 bits from `place` on.
    uint64_t mantissa(int place) const {
        const int i = place / 64, shift = place % 64;
        const uint64_t high = shift == 0 ? 0 : digits[i + 1] << (64 - shift);
        return (digits[i] >> shift | high) & ((uint64_t{1} << 53) - 1);
    }
};

} // namespace

template <int lowest_bit, int digits>
double FixedPointSum<lowest_bit, digits>::value() const {
    const double result = nearest();
    if (std::isinf(result) && specials_ == 0) overflow();
    return result;
}

template <int lowest_bit, int digits>
double FixedPointSum<lowest_bit, digits>::special() const noexcept {
    if (specials_ & nan || specials_ == (plus_infinity | minus_infinity))
        return std::numeric_limits<double>::quiet_NaN();
    return specials_ & plus_infinity ? HUGE_VAL : -HUGE_VAL;
}

template <int lowest_bit, int digits>
ScaledNumber FixedPointSum<lowest_bit, digits>::rounded(int least_place) const noexcept {
    if (specials_ != 0) return ScaledNumber(special());
    const int highest = top();
    if (highest < 0) return ScaledNumber(0);
    // The highest digit's sign is the sum's, since the others weigh less than one of its units.
    const bool negative = digits_[highest] < 0;
    Magnitude<digits + 2> magnitude;
    Wide carry = 0;
    for (int i = 0; i <= highest; i++) {
        carry += negative ? -static_cast<Wide>(digits_[i]) : static_cast<Wide>(digits_[i]);
        magnitude.digits[i] = static_cast<uint64_t>(carry);
        carry >>= digit_bits;
        if (magnitude.digits[i] != 0) magnitude.top = i;
    }
    const int bits = 64 * magnitude.top + std::bit_width(magnitude.digits[magnitude.top]);
    const int place = std::max(least_place, bits - (mantissa_bits + 1));
    uint64_t mantissa = magnitude.mantissa(place);
    const bool half = magnitude.bit(place - 1);
    if (half && (mantissa & 1 || magnitude.has_bits_below(place - 1))) mantissa++;
    const auto size = static_cast<double>(mantissa);
    return {negative ? -size : size, place + lowest_bit};
}

template <int lowest_bit, int digits>
double FixedPointSum<lowest_bit, digits>::nearest() const noexcept {
    return rounded(bits_below_doubles).nearest();
}

template <int lowest_bit, int digits>
ScaledNumber FixedPointSum<lowest_bit, digits>::scaled() const noexcept {
    return rounded(0);
}

template <int lowest_bit, int digits>
ScaledNumber FixedPointSum<lowest_bit, digits>::take_part() {
    const ScaledNumber part = scaled();
    if (!std::isfinite(part.mantissa)) overflow();
    add(ScaledNumber(-part.mantissa, part.exponent));
    return part;
}

// specials 1, lowest digit 1, number of digits 1, the digits
template <int lowest_bit, int digits>
size_t FixedPointSum<lowest_bit, digits>::flat_size() const noexcept {
    const int highest = top();
    int lowest = 0;
    while (lowest < highest && digits_[lowest] == 0) lowest++;
    return 3 + sizeof(int64_t) * static_cast<size_t>(highest < 0 ? 0 : highest - lowest + 1);
}

template <int lowest_bit, int digits>
std::byte* FixedPointSum<lowest_bit, digits>::flatten(std::byte* to) const noexcept {
    const int count = static_cast<int>((flat_size() - 3) / sizeof(int64_t)), lowest = top() - count + 1;
    *to++ = static_cast<std::byte>(specials_);
    *to++ = static_cast<std::byte>(count == 0 ? 0 : lowest);
    *to++ = static_cast<std::byte>(count);
    for (int i = lowest; i < lowest + count; i++)
        for (int byte = 0; byte < 8; byte++)
            *to++ = static_cast<std::byte>(static_cast<uint64_t>(digits_[i]) >> (8 * byte));
    return to;
}

template <int lowest_bit, int digits>
FixedPointSum<lowest_bit, digits> FixedPointSum<lowest_bit, digits>::parse(Reader& reader) {
    FixedPointSum sum;
    sum.specials_ = reader.get<uint8_t>();
    const int lowest = reader.get<uint8_t>(), count = reader.get<uint8_t>();
    if (sum.specials_ > every_special)
        corrupt_model(format("A sum has the flags %d.", static_cast<int>(sum.specials_)));
    if (lowest + count > digits || (count == 0 && lowest != 0))
        corrupt_model(format("A sum has %d digits from digit %d on.", count, lowest));
    for (int i = lowest; i < lowest + count; i++) sum.digits_[i] = reader.get<int64_t>();
    if (count > 0 && (sum.digits_[lowest] == 0 || sum.digits_[lowest + count - 1] == 0))
        corrupt_model("A sum has zeros at an end of its digits.");
    return sum;
}

template class FixedPointSum<-1074, 34>;
template class FixedPointSum<-3222, 100>;

} // namespace btml
