#include "core/relational/filtered_kernels.hpp"

#include "core/base/clones.hpp"

#include <array>

namespace btml::relational::kernels {

namespace {

using Lanes [[gnu::vector_size(lanes * sizeof(double))]] = double;

// Eight numbers anywhere in an array.
inline void load(const double* from, Lanes& to) {
    __builtin_memcpy(&to, from, sizeof(Lanes));
}
inline void store(const Lanes& from, double* to) {
    __builtin_memcpy(to, &from, sizeof(Lanes));
}

// The bits of every byte as numbers.
alignas(64) constexpr auto bits_of_bytes = [] {
    std::array<std::array<double, lanes>, 256> table{};
    for (size_t byte = 0; byte < 256; byte++)
        for (size_t i = 0; i < lanes; i++) table[byte][i] = static_cast<double>(byte >> i & 1);
    return table;
}();

inline double power_of(double x, int power) {
    return power == 0 ? 1 : power == 1 ? x : x * x;
}

} // namespace

BTML_CLONES
void add_local_sums(const GroupRows& rows, const FilterBits* filters, size_t count, const int* plain, double* sums) {
    for (size_t i = 0; i < rows.count; i++) {
        const uint32_t row = rows.rows ? rows.rows[i] : rows.first + static_cast<uint32_t>(i);
        const double weight = rows.weights ? rows.weights[row] : 1;
        for (int power = 0; power < 3; power++)
            if (plain[power] >= 0)
                sums[plain[power]] += power == 0 ? weight : weight * power_of(rows.values[row], power);
        for (size_t f = 0; f < count; f++) {
            const FilterBits& filter = filters[f];
            const double scale = filter.power == 0 ? weight : weight * power_of(rows.values[row], filter.power);
            Lanes bits, sum;
            load(bits_of_bytes[static_cast<uint8_t>(filter.word[row] >> filter.shift)].data(), bits);
            load(sums + filter.at, sum);
            sum += scale * bits;
            store(sum, sums + filter.at);
        }
    }
}

BTML_CLONES
void add_row_sums(const GroupRows& rows, const FilterBits* filters, size_t count, const int* plain,
                  const double* factors, double* sums) {
    for (size_t i = 0; i < rows.count; i++) {
        const uint32_t row = rows.rows ? rows.rows[i] : rows.first + static_cast<uint32_t>(i);
        double sum = 0;
        for (int power = 0; power < 3; power++)
            if (plain[power] >= 0)
                sum += power == 0 ? factors[plain[0]] : factors[plain[power]] * power_of(rows.values[row], power);
        Lanes filtered{};
        for (size_t f = 0; f < count; f++) {
            const FilterBits& filter = filters[f];
            Lanes bits, factor;
            load(bits_of_bytes[static_cast<uint8_t>(filter.word[row] >> filter.shift)].data(), bits);
            load(factors + filter.at, factor);
            bits *= factor;
            filtered += filter.power == 0 ? bits : bits * power_of(rows.values[row], filter.power);
        }
        sum += ((filtered[0] + filtered[4]) + (filtered[2] + filtered[6])) +
               ((filtered[1] + filtered[5]) + (filtered[3] + filtered[7]));
        sums[row] += rows.weights ? rows.weights[row] * sum : sum;
    }
}

BTML_CLONES
void multiply(double* out, double scale, const double* const* factors, size_t count, size_t width) {
    for (size_t i = 0; i < width; i += lanes) {
        Lanes product = Lanes{} + scale, factor;
        for (size_t f = 0; f < count; f++) {
            load(factors[f] + i, factor);
            product *= factor;
        }
        store(product, out + i);
    }
}

BTML_CLONES
void multiply_add(double* out, double scale, const double* const* factors, size_t count, size_t width) {
    for (size_t i = 0; i < width; i += lanes) {
        Lanes product = Lanes{} + scale, factor;
        for (size_t f = 0; f < count; f++) {
            load(factors[f] + i, factor);
            product *= factor;
        }
        load(out + i, factor);
        factor += product;
        store(factor, out + i);
    }
}

} // namespace btml::relational::kernels
