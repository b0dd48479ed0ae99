#include "core/data/row_collection.hpp"

#include "core/base/serial.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

namespace btml {

// features 4, skipped 8, flags 1, length of options 4, options, of labels: their number 4 and, for each, length 4 and
// bytes; rows 8, values
static constexpr size_t fixed_bytes = 4 + 8 + 1 + 4 + 8;
static constexpr uint8_t options_flag = 1, weights_flag = 2;
static constexpr int target_shift = 2; // of the kind of the target in the flags

void RowCollection::set_options(std::string_view options) {
    const std::string_view before(options_.data(), options_.size());
    if (has_options_ && options != before)
        throw Error(ErrorCode::invalid_argument, "options must be the same in every row of an aggregate",
                    format("One row has %s, another %s.", std::string(before).c_str(), std::string(options).c_str()));
    if (has_options_) return;
    options_.resize(options.size());
    std::copy(options.begin(), options.end(), options_.begin());
    has_options_ = true;
}

void RowCollection::set_shape(const Shape& shape, size_t features) {
    if (features == 0) throw Error(ErrorCode::invalid_argument, "x must have at least one element");
    if (features > max_features)
        throw Error(ErrorCode::limit_exceeded,
                    format("x has %zu elements, at most %u are possible", features, max_features));
    if (features_ == none) {
        features_ = static_cast<uint32_t>(features);
        shape_ = shape;
    }
    if (features_ != features)
        throw Error(ErrorCode::invalid_argument,
                    format("x has %zu elements, an earlier row has %u", features, features_));
    if (shape_ != shape)
        throw Error(ErrorCode::invalid_argument, "states of different aggregates cannot be combined",
                    "Their targets differ in type, or one has weights.");
}

void RowCollection::add(const Shape& shape, double target, std::span<const double> features, double weight) {
    check_finite(target, "target y");
    if (shape.weighted) check_weight(weight, "weight");
    set_shape(shape, features.size());
    values_.reserve(values_.size() + width());
    values_.push_back(target);
    if (shape.weighted) values_.push_back(weight);
    for (double x : features) values_.push_back(x);
}

void RowCollection::add(std::string_view label, std::span<const double> features, std::optional<double> weight) {
    const auto code = static_cast<double>(code_of(label));
    add({TargetKind::label, weight.has_value()}, code, features, weight.value_or(1));
}

std::string_view RowCollection::label(size_t code) const {
    const size_t begin = code == 0 ? 0 : label_ends_[code - 1];
    return {label_bytes_.data() + begin, label_ends_[code] - begin};
}

// There are few labels: a hash table would take more than all else that a small group holds.
size_t RowCollection::code_of(std::string_view wanted) {
    for (size_t code = 0; code < labels(); code++)
        if (label(code) == wanted) return code;
    if (labels() == max_labels)
        throw Error(ErrorCode::limit_exceeded, format("target y has more than %zu labels", max_labels));
    const size_t begin = label_bytes_.size();
    label_bytes_.resize(begin + wanted.size());
    if (!wanted.empty()) std::memcpy(label_bytes_.data() + begin, wanted.data(), wanted.size());
    label_ends_.push_back(label_bytes_.size());
    return labels() - 1;
}

void RowCollection::append(const RowCollection& other, RunContext& context) {
    skipped_ += other.skipped_;
    if (other.has_options_) set_options(other.options());
    if (other.features_ == none) return;
    set_shape(other.shape_, other.features_);
    std::vector<double> codes;
    for (size_t code = 0; code < other.labels(); code++)
        codes.push_back(static_cast<double>(code_of(other.label(code))));
    values_.reserve(values_.size() + other.values_.size());
    for (size_t i = 0; i < other.values_.size(); i++) {
        const double value = other.values_[i];
        const bool is_code = !codes.empty() && i % width() == 0;
        values_.append_reserved(is_code ? codes[static_cast<size_t>(value)] : value);
        context.worked(1);
    }
}

uint64_t RowCollection::flat_size() const noexcept {
    const uint64_t of_labels =
        shape_.target == TargetKind::label ? sizeof(uint32_t) * (1 + labels()) + label_bytes_.size() : 0;
    return fixed_bytes + options_.size() + of_labels + values_.size() * sizeof(double);
}

// Called by PostgreSQL, from C: nothing here may throw.
void RowCollection::flatten(std::byte* to) const noexcept {
    const auto put = [&](auto value) {
        for (size_t i = 0; i < sizeof(value); i++) *to++ = static_cast<std::byte>(value >> (8 * i));
    };
    const auto put_text = [&](const char* text, size_t length) {
        put(static_cast<uint32_t>(length));
        to = std::copy_n(reinterpret_cast<const std::byte*>(text), length, to);
    };
    put(features_);
    put(skipped_);
    put(static_cast<uint8_t>((has_options_ ? options_flag : 0) | (shape_.weighted ? weights_flag : 0) |
                             (static_cast<uint8_t>(shape_.target) << target_shift)));
    put_text(options_.data(), options_.size());
    if (shape_.target == TargetKind::label) {
        put(static_cast<uint32_t>(labels()));
        for (size_t code = 0; code < labels(); code++) put_text(label(code).data(), label(code).size());
    }
    put(rows());
    for (double value : values_) {
        uint64_t bits = std::bit_cast<uint64_t>(value);
        if constexpr (std::endian::native == std::endian::big) bits = __builtin_bswap64(bits);
        std::memcpy(to, &bits, sizeof(bits));
        to += sizeof(bits);
    }
}

void RowCollection::parse_labels(Reader& reader) {
    const size_t count = reader.get_count(sizeof(uint32_t));
    if (count == 0 || count > max_labels) corrupt_model(format("It has %zu labels.", count));
    for (size_t code = 0; code < count; code++)
        if (code_of(reader.get_string()) != code) corrupt_model("It has a label twice.");
}

void RowCollection::parse_rows(Reader& reader, uint64_t rows, RunContext& context) {
    const auto holds = [&](double target) {
        if (shape_.target == TargetKind::number) return std::isfinite(target);
        const double codes = shape_.target == TargetKind::boolean ? 2 : static_cast<double>(labels());
        return target >= 0 && target < codes && std::floor(target) == target;
    };
    values_.resize(rows * width());
    for (uint64_t i = 0; i < values_.size(); i++) {
        const double value = reader.get_double();
        const size_t place = i % width();
        if (place == 0 && !holds(value))
            corrupt_model(shape_.target == TargetKind::number ? "A target is not finite." : "A target is no label.");
        if (place == 1 && shape_.weighted && !(std::isfinite(value) && value >= 0))
            corrupt_model("A weight is negative or not finite.");
        values_[i] = is_null(value) ? value : from_sql(value);
        context.worked(1);
    }
}

RowCollection RowCollection::parse(std::span<const std::byte> bytes, MemoryBudget& budget, RunContext& context) {
    RowCollection collection(budget);
    Reader reader(bytes);
    collection.features_ = reader.get<uint32_t>();
    collection.skipped_ = reader.get<uint64_t>();
    const auto flags = reader.get<uint8_t>();
    if (flags >> target_shift > static_cast<uint8_t>(TargetKind::label)) corrupt_model("Its flags are unknown.");
    collection.shape_ = {static_cast<TargetKind>(flags >> target_shift), (flags & weights_flag) != 0};
    const std::string options = reader.get_string();
    if (!(flags & options_flag) && !options.empty()) corrupt_model("It has options that no row has.");
    if (flags & options_flag) collection.set_options(options);
    const bool empty = collection.features_ == none;
    if (empty && collection.shape_ != Shape()) corrupt_model("It has weights or labels that no row has.");
    if (!empty && (collection.features_ == 0 || collection.features_ > max_features))
        corrupt_model(format("It has %u features.", collection.features_));
    if (collection.shape_.target == TargetKind::label) collection.parse_labels(reader);
    const auto rows = reader.get<uint64_t>();
    const uint64_t width = empty ? 0 : collection.width();
    if (empty
            ? rows != 0 || reader.remaining() != 0
            : rows > reader.remaining() / sizeof(double) / width || rows * width * sizeof(double) != reader.remaining())
        corrupt_model("Its rows do not fill its length.");
    if (!empty) collection.parse_rows(reader, rows, context);
    return collection;
}

Dataset RowCollection::dataset(RunContext& context) const {
    MemoryBudget& budget = context.memory();
    const uint64_t count = rows();
    const size_t wide = width();
    Dataset dataset(budget, count);
    dataset.target.resize(count);
    dataset.weight.resize(shape_.weighted ? count : 0);
    dataset.add_table(count);
    std::vector<size_t> order(labels());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return label(a) < label(b); });
    std::vector<double> sorted(labels());
    for (size_t code = 0; code < labels(); code++) {
        sorted[order[code]] = static_cast<double>(code);
        dataset.labels.emplace_back(label(order[code]));
    }
    context.for_each(count, 1, [&](uint64_t row) {
        const double target = values_[row * wide];
        dataset.target[row] = sorted.empty() ? target : sorted[static_cast<size_t>(target)];
        if (shape_.weighted) dataset.weight[row] = values_[row * wide + 1];
    });
    for (uint32_t f = 0; f < features_; f++) {
        FeatureColumn feature(budget, {"x" + std::to_string(f + 1), "double precision", false, {}}, 0);
        feature.numbers.resize(count);
        const size_t place = wide - features_ + f;
        context.for_each(count, 4, [&](uint64_t row) { feature.numbers[row] = values_[row * wide + place]; });
        dataset.features.push_back(std::move(feature));
    }
    return dataset;
}

} // namespace btml
