#include "core/exemplar/row_sample.hpp"

#include "core/base/rng.hpp"
#include "core/base/serial.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

namespace btml::exemplar {

namespace {

constexpr size_t least_capacity = 5000, rows_per_exemplar = 100;
constexpr int passes = 20; // over the sample: enough for swaps to end
constexpr uint32_t most_coordinates = 1'000'000;
// k 4, ids are numbers 1, width 4, rows 8, sampled rows 4
constexpr size_t fixed_bytes = 4 + 1 + 4 + 8 + 4;
// hash 8, copies 8, has id 1, length of the id 4
constexpr size_t row_bytes = 8 + 8 + 1 + 4;

uint64_t hash_of(const SampledRow& row) {
    uint64_t hash = mix64(row.has_id ? row.id.size() + 1 : 0);
    for (size_t i = 0; i < row.id.size(); i += sizeof(uint64_t)) {
        uint64_t word = 0;
        std::memcpy(&word, row.id.data() + i, std::min(sizeof(word), row.id.size() - i));
        if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
        hash = mix64(hash ^ word);
    }
    for (const double x : row.x) hash = mix64(hash ^ std::bit_cast<uint64_t>(x == 0 ? 0.0 : x));
    return hash;
}

} // namespace

size_t RowSample::capacity() const {
    return std::max(least_capacity, rows_per_exemplar * static_cast<size_t>(k_));
}

void RowSample::set_shape(int k, size_t width, bool ids_are_numbers) {
    if (k < 1 || k > most_exemplars)
        throw Error(ErrorCode::invalid_argument, format("invalid value for option \"k\": %d", k), "",
                    format("Valid values are 1 to %d.", most_exemplars));
    if (width == 0) throw Error(ErrorCode::invalid_argument, "x must have at least one element");
    if (width > most_coordinates)
        throw Error(ErrorCode::limit_exceeded,
                    format("x has %zu elements, at most %u are possible", width, most_coordinates));
    if (k_ != 0 && k != k_)
        throw Error(ErrorCode::invalid_argument, "k must be the same in every row of an aggregate",
                    format("One row has %d, another %d.", k_, k));
    if (points_.size() > 0 && width != points_.width())
        throw Error(ErrorCode::invalid_argument,
                    format("x has %zu elements, an earlier row has %zu", width, points_.width()));
    k_ = k;
    ids_are_numbers_ = ids_are_numbers;
}

void RowSample::add(const SampledRow& row, int k, bool ids_are_numbers) {
    for (const double x : row.x)
        if (!std::isfinite(x))
            throw Error(ErrorCode::out_of_range,
                        format("x has an element that is %s", std::isnan(x) ? "NULL or NaN" : "infinite"), "",
                        "Leave such rows out with FILTER or WHERE.");
    set_shape(k, row.x.size(), ids_are_numbers);
    rows_++;
    keep(hash_of(row), row, 1);
}

void RowSample::keep(uint64_t hash, const SampledRow& row, uint64_t copies) {
    const bool full = points_.size() == capacity();
    if (full && hash > largest_first_.front().first) return;
    if (const auto found = places_.find(hash); found != places_.end()) {
        points_.set_weight(found->second, points_.weight(found->second) + static_cast<double>(copies));
        return;
    }
    size_t place = points_.size();
    if (full) {
        std::pop_heap(largest_first_.begin(), largest_first_.end());
        place = largest_first_.back().second;
        places_.erase(largest_first_.back().first);
        largest_first_.pop_back();
    }
    Point point;
    point.number = hash;
    point.x = row.x;
    point.weight = static_cast<double>(copies);
    point.id = row.id;
    point.has_id = row.has_id;
    points_.put(place, point);
    places_[hash] = place;
    largest_first_.emplace_back(hash, place);
    std::push_heap(largest_first_.begin(), largest_first_.end());
}

void RowSample::append(const RowSample& other) {
    if (other.k_ == 0) return;
    set_shape(other.k_, other.points_.width(), other.ids_are_numbers_);
    rows_ += other.rows_;
    for (size_t i = 0; i < other.points_.size(); i++) {
        const Point point = other.points_[i];
        keep(point.number, {point.id, point.has_id, point.x}, static_cast<uint64_t>(point.weight));
    }
}

Selection RowSample::select(RunContext& context) const {
    Options options;
    options.exemplars = k_;
    options.validation = static_cast<int>(std::max<size_t>(points_.size(), 2));
    options.passes = passes;
    std::vector<size_t> order(points_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return points_.number(a) < points_.number(b); });
    StreamGreedy greedy(options, nullptr, context);
    for (const size_t i : order) greedy.sample(points_[i]);
    if (greedy.start()) do
            for (const size_t i : order)
                if (!greedy.offer(points_[i])) break;
        while (greedy.finish_pass());
    Selection selection = greedy.finish();
    const double sampled = points_.total_weight();
    for (Exemplar& exemplar : selection.exemplars) exemplar.members *= static_cast<double>(rows_) / sampled;
    return selection;
}

uint64_t RowSample::flat_size() const noexcept {
    uint64_t size = fixed_bytes + points_.size() * (row_bytes + points_.width() * sizeof(double));
    for (size_t i = 0; i < points_.size(); i++) size += points_.id(i).size();
    return size;
}

// Called by PostgreSQL, from C: nothing here may throw.
void RowSample::flatten(std::byte* to) const noexcept {
    const auto put = [&](auto value) {
        for (size_t i = 0; i < sizeof(value); i++)
            *to++ = static_cast<std::byte>(static_cast<uint64_t>(value) >> (8 * i));
    };
    put(static_cast<uint32_t>(k_));
    put(static_cast<uint8_t>(ids_are_numbers_));
    put(static_cast<uint32_t>(points_.width()));
    put(rows_);
    put(static_cast<uint32_t>(points_.size()));
    for (size_t i = 0; i < points_.size(); i++) {
        const std::string_view id = points_.id(i);
        put(points_.number(i));
        put(static_cast<uint64_t>(points_.weight(i)));
        put(static_cast<uint8_t>(points_.has_id(i)));
        put(static_cast<uint32_t>(id.size()));
        to = std::copy_n(reinterpret_cast<const std::byte*>(id.data()), id.size(), to);
        for (const double x : points_.x(i)) put(std::bit_cast<uint64_t>(x));
    }
}

RowSample RowSample::parse(std::span<const std::byte> bytes, MemoryBudget& budget) {
    RowSample sample(budget);
    Reader reader(bytes);
    const auto k = reader.get<uint32_t>();
    const bool numbers = reader.get_bool();
    const auto width = reader.get<uint32_t>();
    sample.rows_ = reader.get<uint64_t>();
    const uint64_t least = row_bytes + uint64_t{width} * sizeof(double);
    const size_t count = reader.get_count(least);
    if (k > static_cast<uint32_t>(most_exemplars)) corrupt_model(format("It is for %u exemplars.", k));
    if (width > most_coordinates || (width == 0) != (count == 0) || (k == 0) != (count == 0) || count > sample.rows_)
        corrupt_model(format("It has %zu of %llu rows with %u coordinates.", count,
                             static_cast<unsigned long long>(sample.rows_), width));
    sample.k_ = static_cast<int>(k);
    sample.ids_are_numbers_ = numbers;
    if (count > 0 && count > sample.capacity()) corrupt_model(format("It has %zu rows.", count));
    std::vector<double> x(width);
    uint64_t copies_of_all = 0;
    for (size_t i = 0; i < count; i++) {
        const auto hash = reader.get<uint64_t>(), copies = reader.get<uint64_t>();
        const bool has_id = reader.get_bool();
        const std::string id = reader.get_string();
        for (double& value : x) value = reader.get_finite();
        if (hash != hash_of({id, has_id, x})) corrupt_model("A row has another's hash.");
        if (copies == 0 || copies > sample.rows_ - copies_of_all) corrupt_model("Its rows have too many copies.");
        if (sample.places_.contains(hash)) corrupt_model("A row is in it twice.");
        copies_of_all += copies;
        sample.keep(hash, {id, has_id, x}, copies);
    }
    reader.finish();
    return sample;
}

} // namespace btml::exemplar
