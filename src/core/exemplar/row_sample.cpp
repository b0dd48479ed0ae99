#include "core/exemplar/row_sample.hpp"

#include "core/base/serial.hpp"
#include "core/numbers/rng.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

namespace btml::exemplar {

namespace {

constexpr size_t min_capacity = 5000, rows_per_exemplar = 100;
constexpr int passes = 20; // are enough for swaps to end
constexpr uint32_t max_coordinates = 1'000'000;
constexpr uint64_t units_per_row = 4; // of work, to find a row in the log
// The head has: k 4, ids are numbers 1, width 4, rows 8, sampled rows 4.
constexpr size_t fixed_bytes = 4 + 1 + 4 + 8 + 4;
// A row has: hash 8, copies 8, has id 1, length of the id 4, then the id and the coordinates.
constexpr size_t row_bytes = 8 + 8 + 1 + 4;

// The sign of a zero makes no other row.
uint64_t bits_of(double x) {
    return std::bit_cast<uint64_t>(x == 0 ? 0.0 : x);
}

uint64_t hash_of(const Point& row) {
    uint64_t hash = mix64(row.has_id ? row.id.size() + 1 : 0);
    for (size_t i = 0; i < row.id.size(); i += sizeof(uint64_t)) {
        uint64_t word = 0;
        std::memcpy(&word, row.id.data() + i, std::min(sizeof(word), row.id.size() - i));
        if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
        hash = mix64(hash ^ word);
    }
    for (const double x : row.x) hash = mix64(hash ^ bits_of(x));
    return hash;
}

// Writes an integer, lowest byte first, and returns where the next one goes.
template <class Value>
std::byte* put(std::byte* to, Value value) {
    for (size_t i = 0; i < sizeof(value); i++) *to++ = static_cast<std::byte>(static_cast<uint64_t>(value) >> (8 * i));
    return to;
}

} // namespace

size_t RowSample::capacity() const {
    return std::max(min_capacity, rows_per_exemplar * static_cast<size_t>(k_));
}

void RowSample::set_shape(int k, size_t width, bool ids_are_numbers) {
    if (k < 1 || k > max_exemplars)
        throw Error(ErrorCode::invalid_argument, format("invalid value for option \"k\": %d", k), "",
                    format("Valid values are 1 to %d.", max_exemplars));
    if (width == 0) throw Error(ErrorCode::invalid_argument, "x must have at least one element");
    if (width > max_coordinates)
        throw Error(ErrorCode::limit_exceeded,
                    format("x has %zu elements, at most %u are possible", width, max_coordinates));
    if (k_ != 0 && k != k_)
        throw Error(ErrorCode::invalid_argument, "k must be the same in every row of an aggregate",
                    format("One row has %d, another %d.", k_, k));
    if (k_ != 0 && width != width_)
        throw Error(ErrorCode::invalid_argument, format("x has %zu elements, an earlier row has %u", width, width_));
    width_ = width;
    k_ = k;
    ids_are_numbers_ = ids_are_numbers;
}

void RowSample::add(const Point& row, int k, bool ids_are_numbers, RunContext& context) {
    for (const double x : row.x)
        if (!std::isfinite(x))
            throw Error(ErrorCode::out_of_range,
                        format("x has an element that is %s", std::isnan(x) ? "NULL or NaN" : "infinite"), "",
                        "Leave such rows out with FILTER or WHERE.");
    set_shape(k, row.x.size(), ids_are_numbers);
    rows_++;
    if (const uint64_t hash = hash_of(row); takes(hash, context)) keep(hash, 1, row);
}

// Makes room for one more row, and says whether the row of this hash may be one of the sample.
bool RowSample::takes(uint64_t hash, RunContext& context) {
    if (entries_ == 2 * capacity()) prune(context);
    return hash <= max_hash_;
}

// Returns where the bytes of one more entry go.
std::byte* RowSample::add_entry(size_t bytes) {
    const size_t begin = log_.size();
    log_.reserve(begin + bytes);
    log_.resize(begin + bytes);
    entries_++;
    return log_.data() + begin;
}

void RowSample::keep(uint64_t hash, uint64_t copies, const Point& row) {
    std::byte* to = put(put(add_entry(row_bytes + row.id.size() + row.x.size() * sizeof(double)), hash), copies);
    to = put(put(to, static_cast<uint8_t>(row.has_id)), static_cast<uint32_t>(row.id.size()));
    to = std::copy_n(reinterpret_cast<const std::byte*>(row.id.data()), row.id.size(), to);
    for (const double x : row.x) to = put(to, bits_of(x));
}

void RowSample::keep(const Entry& entry, uint64_t copies) {
    std::byte* const to = add_entry(entry.bytes.size());
    std::copy(entry.bytes.begin(), entry.bytes.end(), to);
    put(to + sizeof(entry.hash), copies);
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

Buffer<RowSample::Place> RowSample::places(MemoryBudget& budget, RunContext& context) const {
    Buffer<Place> places(budget, "the order of an aggregate's rows", entries_);
    size_t offset = 0;
    for (Place& place : places) {
        const Entry entry = entry_at(offset);
        place = {entry.hash, entry.copies, offset};
        offset += entry.bytes.size();
        context.worked(units_per_row);
    }
    return places;
}

// Finds the rows with the smallest hashes, in their order, with all their copies: a row that is in the sample has never
// been left out.
Buffer<RowSample::Place> RowSample::sample(MemoryBudget& budget, RunContext& context) const {
    Buffer<Place> found = places(budget, context);
    std::sort(found.begin(), found.end(), [&context](const Place& a, const Place& b) {
        context.worked(1);
        return a.hash < b.hash;
    });
    size_t distinct = 0;
    for (const Place& place : found) {
        if (distinct > 0 && found[distinct - 1].hash == place.hash)
            found[distinct - 1].copies += place.copies;
        else if (distinct == capacity())
            break;
        else
            found[distinct++] = place;
    }
    found.resize(distinct);
    return found;
}

void RowSample::prune(RunContext& context) {
    RowSample kept(log_.budget());
    for (const Place& place : sample(log_.budget(), context)) {
        const Entry entry = entry_at(place.offset);
        kept.keep(entry, place.copies);
        kept.max_hash_ = place.hash;
        context.worked(entry.bytes.size());
    }
    if (kept.entries_ == capacity()) max_hash_ = kept.max_hash_;
    entries_ = kept.entries_;
    log_ = std::move(kept.log_);
}

// Puts its coordinates into x.
Point RowSample::row_of(const Entry& entry, uint64_t copies, std::vector<double>& x) {
    Reader reader(entry.coordinates);
    for (double& value : x) value = reader.get_double();
    return {
        .number = entry.hash, .x = x, .weight = static_cast<double>(copies), .id = entry.id, .has_id = entry.has_id};
}

void RowSample::append(const RowSample& other, RunContext& context) {
    if (other.k_ == 0) return;
    set_shape(other.k_, other.width_, other.ids_are_numbers_);
    rows_ += other.rows_;
    for (size_t offset = 0; offset < other.log_.size();) {
        const Entry entry = other.entry_at(offset);
        if (takes(entry.hash, context)) keep(entry, entry.copies);
        offset += entry.bytes.size();
        context.worked(entry.bytes.size());
    }
}

Selection RowSample::select(RunContext& context) const {
    PointSet points(PointSet::Keep::all, context.memory());
    std::vector<double> x(width_);
    for (const Place& place : sample(context.memory(), context)) {
        const Entry entry = entry_at(place.offset);
        points.append(row_of(entry, place.copies, x));
        context.worked(entry.bytes.size());
    }
    Options options;
    options.exemplars = k_;
    options.validation = std::max<size_t>(points.size(), 2);
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
    to = put(put(to, static_cast<uint32_t>(k_)), static_cast<uint8_t>(ids_are_numbers_));
    to = put(put(put(to, width_), rows_), static_cast<uint32_t>(entries_));
    std::copy(log_.begin(), log_.end(), to);
}

RowSample RowSample::parse(std::span<const std::byte> bytes, MemoryBudget& budget, RunContext& context) {
    RowSample sample(budget);
    Reader reader(bytes);
    const auto k = reader.get<uint32_t>();
    const bool numbers = reader.get_bool();
    const auto width = reader.get<uint32_t>();
    sample.rows_ = reader.get<uint64_t>();
    const uint64_t min_bytes = row_bytes + uint64_t{width} * sizeof(double);
    const size_t count = reader.get_count(min_bytes);
    if (k > static_cast<uint32_t>(max_exemplars)) corrupt_model(format("It is for %u exemplars.", k));
    if (width > max_coordinates || (width == 0) != (count == 0) || (k == 0) != (count == 0) || count > sample.rows_)
        corrupt_model(format("It has %zu of %" PRIu64 " rows with %u coordinates.", count, sample.rows_, width));
    sample.k_ = k;
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
        const Point row{.x = x, .id = id, .has_id = has_id};
        if (hash != hash_of(row)) corrupt_model("A row has another's hash.");
        if (copies == 0 || copies > sample.rows_ - copies_of_all) corrupt_model("Its rows have too many copies.");
        copies_of_all += copies;
        sample.keep(hash, copies, row);
        context.worked(row_bytes + id.size() + x.size() * sizeof(double));
    }
    reader.finish();
    return sample;
}

} // namespace btml::exemplar
