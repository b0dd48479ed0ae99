#include "core/metrics/ranked_rows.hpp"

#include "core/base/serial.hpp"
#include "core/metrics/terms.hpp"

#include <cmath>

namespace btml::metrics {

void RankedRows::require_weights(bool weighted) const {
    if (weighted ? !rows_.empty() : !weighted_rows_.empty())
        throw Error(ErrorCode::invalid_argument, "either all rows have weights or none has");
}

static double require_relevance(double relevance) {
    if (!(relevance >= 0 && relevance <= RankedRows::max_relevance))
        throw Error(ErrorCode::out_of_range, format("argument \"relevance\" must be from 0 to %g, not %s",
                                                    RankedRows::max_relevance, shortest(relevance).c_str()));
    return relevance;
}

void RankedRows::add(double relevance, double score) {
    require_weights(false);
    rows_.push_back({require_not_nan("score", score), require_relevance(relevance)});
}

void RankedRows::add(double relevance, double score, double weight) {
    require_weights(true);
    weighted_rows_.push_back(
        {require_not_nan("score", score), require_relevance(relevance), require_not_negative("weight", weight)});
}

void RankedRows::set_k(int k) {
    if (k < 1) throw Error(ErrorCode::invalid_argument, format("argument \"k\" must be at least 1, not %d", k));
    if (k_ == 0 && rows() == 0) k_ = k;
    if (k_ != k)
        throw Error(ErrorCode::invalid_argument, "k must be the same in every row of an aggregate",
                    format("One row has %d, another %d.", k_, k));
}

void RankedRows::append(const RankedRows& other, RunContext& context) {
    const auto append_rows = [&](auto& to, const auto& from) {
        to.reserve(to.size() + from.size());
        context.for_each(from.size(), 1, [&](uint64_t row) { to.append_reserved(from[row]); });
    };
    if (other.rows() == 0) return;
    require_weights(other.rows_.empty());
    if (rows() == 0) k_ = other.k_;
    if (k_ != other.k_) set_k(other.k_);
    append_rows(rows_, other.rows_);
    append_rows(weighted_rows_, other.weighted_rows_);
}

template <class Ranked>
void RankedRows::sort(Buffer<Ranked>& rows, RunContext& context) {
    const auto is_before = [](const Ranked& a, const Ranked& b) { return a.score > b.score; };
    if (std::is_sorted(rows.begin(), rows.end(), is_before)) return;
    context.progress("ranking rows", 0, 0);
    std::sort(rows.begin(), rows.end(), [&](const Ranked& a, const Ranked& b) {
        context.worked(1);
        return is_before(a, b);
    });
}

namespace {

// Calls on_row(i) for each of the sorted rows, and on_tie() behind the last of each range of equal scores.
template <class Ranked, class OnRow, class OnTie>
void for_each_tie(const Buffer<Ranked>& rows, RunContext& context, const OnRow& on_row, const OnTie& on_tie) {
    context.for_each(rows.size(), 1, [&](uint64_t i) {
        on_row(i);
        if (i + 1 == rows.size() || rows[i + 1].score != rows[i].score) on_tie();
    });
}

template <class Ranked>
void count(const Ranked&, double& total) {
    total++;
}
template <class Ranked>
void count(const Ranked& row, ExactSum& total) {
    total.add(row.weight);
}
double value_of(double total) {
    return total;
}
double value_of(const ExactSum& total) {
    return total.value();
}

} // namespace

template <class Ranked>
std::optional<double> RankedRows::auc_of(Buffer<Ranked>& rows, RunContext& context) {
    sort(rows, context);
    typename Ranked::Total positive{}, negative{}, negative_here{}; // here: among the rows of one score
    double above = 0;                                               // the weight of positive rows with higher scores
    WideSum twice; // the weight of pairs in order, those of equal scores half, times 2
    const auto add = [&](size_t i) {
        if (rows[i].relevance > 0) return count(rows[i], positive);
        count(rows[i], negative);
        count(rows[i], negative_here);
    };
    for_each_tie(rows, context, add, [&] {
        twice.add(ScaledNumber(value_of(negative_here)) *
                  ScaledNumber(require_no_overflow(above + value_of(positive))));
        above = value_of(positive);
        negative_here = {};
    });
    if (!(value_of(positive) > 0 && value_of(negative) > 0)) return std::nullopt;
    const ScaledNumber pairs = ScaledNumber(value_of(positive)) * ScaledNumber(value_of(negative));
    return std::min(1.0, (twice.scaled() / pairs).nearest() / 2);
}

template <class Ranked>
std::optional<double> RankedRows::average_precision_of(Buffer<Ranked>& rows, RunContext& context) {
    sort(rows, context);
    typename Ranked::Total all{}, positive{}, positive_here{}; // here: among the rows of one score
    ExactSum sum; // of the weight of positive rows times the precision at their score
    const auto add = [&](size_t i) {
        count(rows[i], all);
        if (!(rows[i].relevance > 0)) return;
        count(rows[i], positive);
        count(rows[i], positive_here);
    };
    for_each_tie(rows, context, add, [&] {
        if (value_of(positive_here) > 0) sum.add(value_of(positive_here) * (value_of(positive) / value_of(all)));
        positive_here = {};
    });
    if (!(value_of(positive) > 0)) return std::nullopt;
    return std::min(1.0, sum.value() / value_of(positive));
}

std::optional<double> RankedRows::auc(RunContext& context) const {
    return weighted_rows_.empty() ? auc_of(rows_, context) : auc_of(weighted_rows_, context);
}

std::optional<double> RankedRows::average_precision(RunContext& context) const {
    return weighted_rows_.empty() ? average_precision_of(rows_, context)
                                  : average_precision_of(weighted_rows_, context);
}

namespace {

double gain(double relevance) {
    return std::exp2(relevance) - 1;
}

// Returns the discount of the row with so many before it.
double discount(size_t before) {
    return 1 / std::log2(static_cast<double>(before) + 2);
}

} // namespace

double RankedRows::gain_of_ranking(RunContext& context) const {
    const size_t counted = k_ == 0 ? rows_.size() : std::min<size_t>(rows_.size(), static_cast<size_t>(k_));
    sort(rows_, context);
    ExactSum sum, gains, discounts; // the latter two: of the rows of one score
    double tied = 0;
    const auto add = [&](size_t i) {
        gains.add(gain(rows_[i].relevance));
        if (i < counted) discounts.add(discount(i));
        tied++;
    };
    for_each_tie(rows_, context, add, [&] {
        sum.add(gains.value() / tied * discounts.value());
        gains = discounts = {};
        tied = 0;
    });
    return sum.value();
}

double RankedRows::best_gain(RunContext& context) const {
    Buffer<double> relevances(context.memory(), "the relevances of a query", rows_.size());
    context.for_each(rows_.size(), 1, [&](uint64_t row) { relevances[row] = rows_[row].relevance; });
    const size_t counted = k_ == 0 ? rows_.size() : std::min<size_t>(rows_.size(), static_cast<size_t>(k_));
    std::partial_sort(relevances.begin(), relevances.begin() + counted, relevances.end(), [&](double a, double b) {
        context.worked(1);
        return a > b;
    });
    ExactSum sum;
    for (size_t row = 0; row < counted; row++) sum.add(gain(relevances[row]) * discount(row));
    return sum.value();
}

std::optional<double> RankedRows::ndcg(RunContext& context) const {
    const double best = best_gain(context);
    if (!(best > 0)) return std::nullopt;
    return std::min(1.0, gain_of_ranking(context) / best);
}

// k 4, weighted 1, rows 8, score, relevance and weight of each
static constexpr size_t fixed_bytes = 4 + 1 + 8;

uint64_t RankedRows::flat_size() const noexcept {
    return fixed_bytes + rows_.size() * sizeof(Row) + weighted_rows_.size() * sizeof(WeightedRow);
}

// Called by PostgreSQL, from C: nothing here may throw.
void RankedRows::flatten(std::byte* to) const noexcept {
    const auto put = [&](auto value) {
        for (size_t i = 0; i < sizeof(value); i++) *to++ = static_cast<std::byte>(value >> (8 * i));
    };
    const auto put_number = [&](double value) {
        uint64_t bits = std::bit_cast<uint64_t>(value);
        if constexpr (std::endian::native == std::endian::big) bits = __builtin_bswap64(bits);
        std::memcpy(to, &bits, sizeof(bits));
        to += sizeof(bits);
    };
    put(static_cast<uint32_t>(k_));
    put(static_cast<uint8_t>(!weighted_rows_.empty()));
    put(rows());
    for (const Row& row : rows_) put_number(row.score), put_number(row.relevance);
    for (const WeightedRow& row : weighted_rows_)
        put_number(row.score), put_number(row.relevance), put_number(row.weight);
}

RankedRows RankedRows::parse(std::span<const std::byte> bytes, MemoryBudget& budget, RunContext& context) {
    RankedRows ranked(budget);
    Reader reader(bytes);
    const auto k = reader.get<uint32_t>();
    const bool weighted = reader.get_bool();
    const auto rows = reader.get<uint64_t>();
    const size_t width = weighted ? sizeof(WeightedRow) : sizeof(Row);
    if (k > INT32_MAX) corrupt_model(format("It ranks %u rows.", k));
    if (rows != reader.remaining() / width || reader.remaining() % width != 0)
        corrupt_model("Its rows do not fill its length.");
    if (k != 0) ranked.set_k(static_cast<int>(k));
    if (weighted)
        ranked.weighted_rows_.reserve(rows);
    else
        ranked.rows_.reserve(rows);
    try {
        context.for_each(rows, width, [&](uint64_t) {
            const double score = reader.get_double(), relevance = reader.get_double();
            weighted ? ranked.add(relevance, score, reader.get_double()) : ranked.add(relevance, score);
        });
    } catch (const Error& error) {
        if (error.code() != ErrorCode::out_of_range) throw;
        corrupt_model("It has a row with impossible numbers.");
    }
    return ranked;
}

} // namespace btml::metrics
