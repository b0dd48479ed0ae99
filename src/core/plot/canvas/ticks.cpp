#include "core/plot/canvas/ticks.hpp"

#include "core/base/error.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>

namespace btml::plot {

namespace {

constexpr char minus[] = "\xE2\x88\x92", times[] = "\xC3\x97";

// digits · 10^exponent, exactly.
struct Decimal {
    int64_t digits;
    int exponent;

    double value() const {
        const std::string text = std::to_string(digits) + "e" + std::to_string(exponent);
        double x = 0;
        std::from_chars(text.data(), text.data() + text.size(), x);
        return x;
    }
};

// Returns 10^exponent as a double that is correctly rounded.
double power_of_ten(int exponent) {
    return Decimal{1, exponent}.value();
}

// Returns the exponent of the largest power of ten that is not greater than x > 0.
int decimal_exponent(double x) {
    char text[40];
    const auto end = std::to_chars(text, text + sizeof(text), x, std::chars_format::scientific).ptr;
    const std::string written(text, end);
    return std::atoi(written.c_str() + written.find('e') + 1);
}

std::string superscript(int number) {
    static const char* const digits[] = {"\xE2\x81\xB0", "\xC2\xB9",     "\xC2\xB2",     "\xC2\xB3",
                                         "\xE2\x81\xB4", "\xE2\x81\xB5", "\xE2\x81\xB6", "\xE2\x81\xB7",
                                         "\xE2\x81\xB8", "\xE2\x81\xB9"};
    std::string text = number < 0 ? "\xE2\x81\xBB" : "";
    for (const char c : std::to_string(std::abs(number))) text += digits[c - '0'];
    return text;
}

// Writes |number| with as many decimals as it has, and commas between thousands where they are asked for.
std::string plain(Decimal number, bool commas) {
    std::string text = std::to_string(std::abs(number.digits));
    if (number.digits != 0 && number.exponent > 0) text.append(static_cast<size_t>(number.exponent), '0');
    const size_t decimals = number.exponent < 0 ? static_cast<size_t>(-number.exponent) : 0;
    if (text.size() <= decimals) text.insert(0, decimals + 1 - text.size(), '0');
    for (size_t at = text.size() - decimals; commas && at > 3; at -= 3) text.insert(at - 3, ",");
    if (decimals > 0) text.insert(text.size() - decimals, ".");
    return text;
}

std::string in_powers(Decimal number) {
    while (number.digits % 10 == 0) {
        number.digits /= 10;
        number.exponent++;
    }
    const std::string digits = std::to_string(std::abs(number.digits));
    const int exponent = number.exponent + static_cast<int>(digits.size()) - 1;
    if (digits == "1") return "10" + superscript(exponent);
    return digits.substr(0, 1) + (digits.size() > 1 ? "." + digits.substr(1) : "") + times + "10" +
           superscript(exponent);
}

enum class Notation { plain, commas, millions, powers };

// largest: the magnitude of the largest label; exponent: of the last digit of all.
Notation notation_for(double largest, int exponent) {
    if (largest >= 1e10 || (exponent < -5 && largest < 1e-3)) return Notation::powers;
    if (largest >= 1e7) return Notation::millions;
    return largest >= 1e4 ? Notation::commas : Notation::plain; // years have no comma
}

std::string label(Decimal number, Notation notation) {
    const std::string sign = number.digits < 0 ? minus : "";
    if (number.digits == 0) return "0";
    if (notation == Notation::powers) return sign + in_powers(number);
    if (notation != Notation::millions) return sign + plain(number, notation == Notation::commas);
    number.exponent -= 6;
    while (number.exponent < 0 && number.digits % 10 == 0) {
        number.digits /= 10;
        number.exponent++;
    }
    return sign + plain(number, true) + "M";
}

struct Step {
    int mantissa, exponent; // mantissa · 10^exponent
    int64_t first, last;    // multiples within the range
};

// Returns the smallest round step that has no more than `most` multiples in the range.
Step round_step(double low, double high, size_t most, bool whole) {
    const double width = high - low;
    int exponent = decimal_exponent(std::max(width / static_cast<double>(most), 1e-300)) - 1;
    if (whole) exponent = std::max(exponent, 0);
    for (;; exponent++)
        for (const int mantissa : {1, 2, 5}) {
            const double step = mantissa * power_of_ten(exponent);
            const double first = std::ceil(low / step - 1e-9), last = std::floor(high / step + 1e-9);
            if (last - first + 1 <= static_cast<double>(most) && std::fabs(first) < 1e15 && std::fabs(last) < 1e15)
                return {mantissa, exponent, static_cast<int64_t>(first), static_cast<int64_t>(last)};
        }
}

} // namespace

double number_step(double low, double high, size_t most, bool whole) {
    const Step step = round_step(low, high, most, whole);
    return step.mantissa * power_of_ten(step.exponent);
}

std::vector<Tick> number_ticks(double low, double high, size_t most, bool whole) {
    const Step step = round_step(low, high, most, whole);
    const double largest = std::max(std::fabs(low), std::fabs(high));
    const Notation notation = notation_for(largest, step.exponent);
    std::vector<Tick> ticks;
    for (int64_t i = step.first; i <= step.last; i++) {
        const Decimal number{i * step.mantissa, step.exponent};
        ticks.push_back({number.value(), label(number, notation)});
    }
    return ticks;
}

std::vector<Tick> log_ticks(double low, double high, size_t most) {
    const double slack = 1e-9;
    const int first = decimal_exponent(low), last = decimal_exponent(high * (1 + slack));
    const auto within = [&](double x) { return x >= low * (1 - slack) && x <= high * (1 + slack); };
    const auto multiples_of = [&](std::initializer_list<int> mantissas, int every) {
        std::vector<Decimal> numbers;
        for (int exponent = first; exponent <= last; exponent++)
            for (const int mantissa : mantissas)
                if (exponent % every == 0 && within(Decimal{mantissa, exponent}.value()))
                    numbers.push_back({mantissa, exponent});
        return numbers;
    };
    std::vector<Decimal> numbers = multiples_of({1, 2, 5}, 1);
    if (numbers.size() < 3) return number_ticks(low, high, most);
    for (int every = 1; numbers.size() > most && every <= 700; every++) numbers = multiples_of({1}, every);
    Notation notation = high >= 1e4 ? Notation::commas : Notation::plain;
    for (const Decimal& number : numbers)
        if (number.exponent < -4 || number.exponent > 6) notation = Notation::powers;
    std::vector<Tick> ticks;
    for (const Decimal& number : numbers) ticks.push_back({number.value(), label(number, notation)});
    return ticks;
}

std::string described_number(double x) {
    if (x == 0) return "0";
    char text[40];
    const auto end = std::to_chars(text, text + sizeof(text), x, std::chars_format::general, 4).ptr;
    return {text, end};
}

} // namespace btml::plot
