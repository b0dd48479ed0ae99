#include "core/exemplar/row_sample.hpp"

#include "core/base/rng.hpp"
#include "core/base/serial.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

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
    if (k_ != 0 && width != width_)
        throw Error(ErrorCode::invalid_argument, format("x has %zu elements, an earlier row has %u", width, width_));
    width_ = static_cast<uint32_t>(width);
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
    keep(hash_of(row), 1, row);
}

void RowSample::keep(uint64_t hash, uint64_t copies, const SampledRow& row) {
    if (entries_ == 2 * capacity()) prune();
    if (hash > largest_hash_) return;
    const size_t begin = log_.size(), end = begin + row_bytes + row.id.size() + row.x.size() * sizeof(double);
    log_.reserve(end);
    log_.resize(end);
    std::byte* to = log_.data() + begin;
    const auto put = [&](auto value) {
        for (size_t i = 0; i < sizeof(value); i++)
            *to++ = static_cast<std::byte>(static_cast<uint64_t>(value) >> (8 * i));
    };
    put(hash);
    put(copies);
    put(static_cast<uint8_t>(row.has_id));
    put(static_cast<uint32_t>(row.id.size()));
    to = std::copy_n(reinterpret_cast<const std::byte*>(row.id.data()), row.id.size(), to);
    for (const double x : row.x) put(std::bit_cast<uint64_t>(x));
    entries_++;
}

RowSample::Entry RowSample::entry_at(size_t offset) const {
    const std::span<const std::byte> rest = log_.span().subspan(offset);
    Reader reader(rest);
    Entry entry;
    entry.hash = reader.get<uint64_t>();
    entry.copies = reader.get<uint64_t>();
    entry.has_id = reader.get_bool();
    const size_t length = reader.get<uint32_t>();
    entry.id = {reinterpret_cast<const char*>(rest.data()) + row_bytes, length};
    entry.coordinates = rest.subspan(row_bytes + length, width_ * sizeof(double));
    entry.bytes = rest.first(row_bytes + length + width_ * sizeof(double));
    return entry;
}

// The rows of least hashes, in their order, with all their copies: a row that is in it has never been left out.
std::vector<RowSample::Entry> RowSample::sample() const {
    std::vector<Entry> entries;
    entries.reserve(entries_);
    for (size_t offset = 0; offset < log_.size(); offset += entries.back().bytes.size())
        entries.push_back(entry_at(offset));
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.hash < b.hash; });
    size_t distinct = 0;
    for (const Entry& entry : entries) {
        if (distinct > 0 && entries[distinct - 1].hash == entry.hash)
            entries[distinct - 1].copies += entry.copies;
        else if (distinct == capacity())
            break;
        else
            entries[distinct++] = entry;
    }
    entries.resize(distinct);
    return entries;
}

void RowSample::prune() {
    const std::vector<Entry> kept = sample();
    const Buffer<std::byte> before = std::exchange(log_, Buffer<std::byte>(log_.budget(), log_.what()));
    entries_ = 0;
    std::vector<double> x(width_);
    for (const Entry& entry : kept) keep(entry.hash, entry.copies, row_of(entry, x));
    if (kept.size() == capacity()) largest_hash_ = kept.back().hash;
}

// Its coordinates are put into x.
SampledRow RowSample::row_of(const Entry& entry, std::vector<double>& x) {
    Reader reader(entry.coordinates);
    for (double& value : x) value = reader.get_double();
    return {entry.id, entry.has_id, x};
}

void RowSample::append(const RowSample& other) {
    if (other.k_ == 0) return;
    set_shape(other.k_, other.width_, other.ids_are_numbers_);
    rows_ += other.rows_;
    std::vector<double> x(width_);
    for (size_t offset = 0; offset < other.log_.size();) {
        const Entry entry = other.entry_at(offset);
        keep(entry.hash, entry.copies, row_of(entry, x));
        offset += entry.bytes.size();
    }
}

Selection RowSample::select(RunContext& context) const {
    PointSet points(PointSet::Keep::all, context.memory());
    std::vector<double> x(width_);
    for (const Entry& entry : sample()) {
        const SampledRow row = row_of(entry, x);
        Point point;
        point.number = entry.hash;
        point.x = row.x;
        point.weight = static_cast<double>(entry.copies);
        point.id = row.id;
        point.has_id = row.has_id;
        points.append(point);
    }
    Options options;
    options.exemplars = k_;
    options.validation = static_cast<int>(std::max<size_t>(points.size(), 2));
    options.passes = passes;
    StreamGreedy greedy(options, nullptr, context);
    for (size_t i = 0; i < points.size(); i++) greedy.sample(points[i]);
    if (greedy.start()) do
            for (size_t i = 0; i < points.size(); i++)
                if (!greedy.offer(points[i])) break;
        while (greedy.finish_pass());
    Selection selection = greedy.finish();
    const double sampled = points.total_weight();
    for (Exemplar& exemplar : selection.exemplars) exemplar.members *= static_cast<double>(rows_) / sampled;
    return selection;
}

uint64_t RowSample::flat_size() const noexcept {
    return fixed_bytes + log_.size();
}

// Called by PostgreSQL, from C: nothing here may throw.
void RowSample::flatten(std::byte* to) const noexcept {
    const auto put = [&](auto value) {
        for (size_t i = 0; i < sizeof(value); i++)
            *to++ = static_cast<std::byte>(static_cast<uint64_t>(value) >> (8 * i));
    };
    put(static_cast<uint32_t>(k_));
    put(static_cast<uint8_t>(ids_are_numbers_));
    put(width_);
    put(rows_);
    put(static_cast<uint32_t>(entries_));
    std::copy(log_.begin(), log_.end(), to);
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
    sample.width_ = width;
    if (count > 0 && count > 2 * sample.capacity()) corrupt_model(format("It has %zu rows.", count));
    std::vector<double> x(width);
    uint64_t copies_of_all = 0;
    for (size_t i = 0; i < count; i++) {
        const auto hash = reader.get<uint64_t>(), copies = reader.get<uint64_t>();
        const bool has_id = reader.get_bool();
        const std::string id = reader.get_string();
        for (double& value : x) value = reader.get_finite();
        if (hash != hash_of({id, has_id, x})) corrupt_model("A row has another's hash.");
        if (copies == 0 || copies > sample.rows_ - copies_of_all) corrupt_model("Its rows have too many copies.");
        copies_of_all += copies;
        sample.keep(hash, copies, {id, has_id, x});
    }
    reader.finish();
    return sample;
}

} // namespace btml::exemplar
