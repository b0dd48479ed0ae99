#include "core/relational/filtered/filtered_kernels.hpp"

#include <array>
#include <bit>
#include <cmath>

namespace btml::relational::kernels {

namespace BTML_LEVEL {

namespace {

using Lanes [[gnu::vector_size(lanes * sizeof(double))]] = double;

// Eight numbers anywhere in an array.
[[gnu::always_inline]] inline void load(const double* from, Lanes& to) {
    __builtin_memcpy(&to, from, sizeof(Lanes));
}
[[gnu::always_inline]] inline void store(const Lanes& from, double* to) {
    __builtin_memcpy(to, &from, sizeof(Lanes));
}

// The bits of every byte as numbers.
alignas(64) constexpr auto bits_of_bytes = [] {
    std::array<std::array<double, lanes>, 256> table{};
    for (size_t byte = 0; byte < 256; byte++)
        for (size_t i = 0; i < lanes; i++) table[byte][i] = static_cast<double>(byte >> i & 1);
    return table;
}();

[[gnu::always_inline]] inline double power_of(double x, int power) {
    return power == 0 ? 1 : power == 1 ? x : x * x;
}

[[gnu::always_inline]] inline double sum_of(const Lanes& x) {
    return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

struct Complexes {
    Lanes re, im;

    [[gnu::always_inline]] Complexes& operator+=(const Complexes& other) {
        re += other.re;
        im += other.im;
        return *this;
    }
    [[gnu::always_inline]] Complexes& operator*=(const Complexes& other) {
        const Lanes real = re * other.re - im * other.im;
        im = re * other.im + im * other.re;
        re = real;
        return *this;
    }
};
[[gnu::always_inline]] inline void load(const Spectrum::Value* from, Complexes& to) {
    load(from->re, to.re);
    load(from->im, to.im);
}
[[gnu::always_inline]] inline void store(const Complexes& from, Spectrum::Value* to) {
    store(from.re, to->re);
    store(from.im, to->im);
}

// What is worked on at a time: eight numbers, or a spectrum, and how many columns that takes.
template <class Value>
using Taken = std::conditional_t<std::is_same_v<Value, double>, Lanes, Complexes>;
template <class Value>
constexpr size_t columns_taken = std::is_same_v<Value, double> ? lanes : 1;

[[gnu::always_inline]] inline void fill(double from, Lanes& to) {
    to = Lanes{} + from;
}
[[gnu::always_inline]] inline void fill(const Spectrum::Value& from, Complexes& to) {
    load(&from, to);
}
[[gnu::always_inline]] inline void fill_with_one(Lanes& to) {
    to = Lanes{} + 1;
}
[[gnu::always_inline]] inline void fill_with_one(Complexes& to) {
    fill(Spectrum::one(), to);
}

[[gnu::always_inline]] inline void load(const Factor<double>& factor, size_t i, Lanes& to) {
    const double* const values = factor.values;
    if (!factor.index) return load(values + i, to);
    const uint32_t* const index = factor.index + i;
    to = Lanes{values[index[0]], values[index[1]], values[index[2]], values[index[3]],
               values[index[4]], values[index[5]], values[index[6]], values[index[7]]};
}
[[gnu::always_inline]] inline void load(const Factor<Spectrum::Value>& factor, size_t i, Complexes& to) {
    load(factor.values + (factor.index ? factor.index[i] : i), to);
}

template <class Value, class Register = Taken<Value>>
[[gnu::always_inline]] inline void product_of(std::span<const Factor<Value>> factors, const Value* scale, size_t i,
                                              Register& product) {
    size_t f = 0;
    if (scale)
        fill(*scale, product);
    else if (factors.empty())
        fill_with_one(product);
    else
        load(factors[f++], i, product);
    Register factor{};
    for (; f < factors.size(); f++) {
        load(factors[f], i, factor);
        product *= factor;
    }
}

template <bool add, class Value>
[[gnu::always_inline]] inline void multiply_all(Value* out, const Value* scale, std::span<const Factor<Value>> factors,
                                                size_t width) {
    for (size_t i = 0; i < width; i += columns_taken<Value>) {
        Taken<Value> product{}, sum{};
        product_of(factors, scale, i, product);
        if (add) {
            load(out + i, sum);
            product += sum;
        }
        store(product, out + i);
    }
}

// Multiplies the factors before each, then those after it: n of them take 3n products instead of n².
template <class Value>
[[gnu::always_inline]] inline void
multiply_all_without_each(Value* out, const Value* scale, std::span<const Factor<Value>> factors,
                          std::span<const Factor<Value>> left_out, size_t width, bool add) {
    using Register = Taken<Value>;
    Register values[max_left_out], before[max_left_out];
    for (size_t i = 0; i < width; i += columns_taken<Value>) {
        Register product{}, after{}, sum{};
        product_of(factors, scale, i, product);
        for (size_t f = 0; f < left_out.size(); f++) {
            load(left_out[f], i, values[f]);
            before[f] = product;
            product *= values[f];
        }
        fill_with_one(after);
        for (size_t f = left_out.size(); f-- > 0;) {
            before[f] *= after;
            if (add) {
                load(out + f * width + i, sum);
                before[f] += sum;
            }
            store(before[f], out + f * width + i);
            after *= values[f];
        }
    }
}

// The filters that a row passes.
[[gnu::always_inline]] inline uint64_t passed(const SpectrumFilters& filter, uint32_t row) {
    return filter.word ? filter.word[row] & filter.mask : 1;
}

} // namespace

void add_local_sums(const GroupRows& rows, const FilterBits* filters, size_t count, const int* plain, double* sums) {
    for (size_t i = 0; i < rows.count; i++) {
        const uint32_t row = rows.row(i);
        const double weight = rows.weights ? rows.weights[row] : 1;
        if (weight == 0) continue; // its value may be infinite
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

void add_row_sums(const GroupRows& rows, const FilterBits* filters, size_t count, const int* plain,
                  const double* factors, double* sums) {
    for (size_t i = 0; i < rows.count; i++) {
        const uint32_t row = rows.row(i);
        if (rows.weights && rows.weights[row] == 0) continue;
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
        sum += sum_of(filtered);
        sums[row] += rows.weights ? rows.weights[row] * sum : sum;
    }
}

void intersect(const uint64_t* a, unsigned bit_a, const uint64_t* b, unsigned bit_b, size_t count, unsigned bit,
               uint64_t* out) {
    using Words [[gnu::vector_size(lanes * sizeof(uint64_t))]] = uint64_t;
    size_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        Words of_a{}, of_b{}, words{};
        __builtin_memcpy(&of_a, a + i, sizeof(Words));
        __builtin_memcpy(&of_b, b + i, sizeof(Words));
        __builtin_memcpy(&words, out + i, sizeof(Words));
        words |= (of_a >> bit_a & of_b >> bit_b & 1) << bit;
        __builtin_memcpy(out + i, &words, sizeof(Words));
    }
    for (; i < count; i++) out[i] |= (a[i] >> bit_a & b[i] >> bit_b & 1) << bit;
}

void multiply(double* out, const double* scale, std::span<const Factor<double>> factors, size_t width, bool add) {
    add ? multiply_all<true>(out, scale, factors, width) : multiply_all<false>(out, scale, factors, width);
}

void multiply(Spectrum::Value* out, const Spectrum::Value* scale, std::span<const Factor<Spectrum::Value>> factors,
              size_t width, bool add) {
    add ? multiply_all<true>(out, scale, factors, width) : multiply_all<false>(out, scale, factors, width);
}

void multiply_without_each(double* out, const double* scale, std::span<const Factor<double>> factors,
                           std::span<const Factor<double>> left_out, size_t width, bool add) {
    multiply_all_without_each(out, scale, factors, left_out, width, add);
}

void multiply_without_each(Spectrum::Value* out, const Spectrum::Value* scale,
                           std::span<const Factor<Spectrum::Value>> factors,
                           std::span<const Factor<Spectrum::Value>> left_out, size_t width, bool add) {
    multiply_all_without_each(out, scale, factors, left_out, width, add);
}

// Four sums at a time: one alone would wait for each addition.
void add_up(double* out, const double* values, const uint32_t* order, const uint32_t* first, size_t size) {
    for (size_t i = 0; i < size; i++) {
        double sums[4] = {0, 0, 0, 0};
        uint32_t j = first[i];
        for (; j + 4 <= first[i + 1]; j += 4)
            for (size_t k = 0; k < 4; k++) sums[k] += values[order[j + k]];
        for (; j < first[i + 1]; j++) sums[0] += values[order[j]];
        out[i] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
}

void add_up(Spectrum::Value* out, const Spectrum::Value* values, const uint32_t* order, const uint32_t* first,
            size_t size) {
    for (size_t i = 0; i < size; i++) {
        Complexes sum{}, value{};
        for (uint32_t j = first[i]; j < first[i + 1]; j++) {
            load(values + order[j], value);
            sum += value;
        }
        store(sum, out + i);
    }
}

void add_spectra(const GroupRows& rows, const RowSpectra& hashed, std::span<const SpectrumFilters> filters,
                 Spectrum::Value* sums) {
    for (size_t i = 0; i < rows.count; i++) {
        const uint32_t row = rows.row(i), bucket = hashed.buckets[row] & ~SketchHash::sign_bit;
        double scale = rows.weights ? std::sqrt(rows.weights[row]) : 1;
        if (scale == 0) continue;
        if (bucket != hashed.buckets[row]) scale = -scale;
        Complexes own{}, sum{};
        fill(hashed.powers ? hashed.powers[bucket] : hashed.roots.powers(bucket, hashed.block, 1), own);
        own.re *= scale;
        own.im *= scale;
        for (const SpectrumFilters& filter : filters) {
            const double power = filter.power == 0 ? 1 : power_of(rows.values[row], filter.power);
            const Complexes added{own.re * power, own.im * power};
            for (uint64_t bits = passed(filter, row); bits; bits &= bits - 1) {
                Spectrum::Value* const to = sums + filter.at[std::countr_zero(bits)];
                load(to, sum);
                sum += added;
                store(sum, to);
            }
        }
    }
}

void add_norms(const GroupRows& rows, std::span<const SpectrumFilters> filters, const Spectrum::Value* factors,
               const SpectrumNorms& out) {
    Lanes frequency_weights{};
    load(out.frequency_weights.data(), frequency_weights);
    for (size_t i = 0; i < rows.count; i++) {
        const uint32_t row = rows.row(i);
        if (rows.weights && rows.weights[row] == 0) continue;
        Complexes v{}, factor{};
        if (out.partial) load(out.partial + row, v);
        for (const SpectrumFilters& filter : filters) {
            const double power = filter.power == 0 ? 1 : power_of(rows.values[row], filter.power);
            for (uint64_t bits = passed(filter, row); bits; bits &= bits - 1) {
                load(factors + filter.at[std::countr_zero(bits)], factor);
                v.re += power * factor.re;
                v.im += power * factor.im;
            }
        }
        if (out.partial_sums) {
            store(v, out.partial_sums + row);
        } else {
            const Lanes squares = frequency_weights * (v.re * v.re + v.im * v.im);
            out.norms[row] += (rows.weights ? rows.weights[row] : 1) * sum_of(squares);
        }
    }
}

} // namespace BTML_LEVEL

} // namespace btml::relational::kernels
