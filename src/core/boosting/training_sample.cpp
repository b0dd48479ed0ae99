#include "core/boosting/training_sample.hpp"

#include "core/relational/queries/join_sample.hpp"

#include <cmath>

namespace btml::boosting {

using namespace relational;

namespace {

constexpr uint64_t default_rows = 10'000'000;
constexpr uint64_t min_rows = 10'000;
constexpr uint64_t train_stream = 0, holdout_stream = 1;

RowFilter held_out_rows(const Join& join, const ColumnRef& holdout, bool held_out, RunContext& context) {
    const Buffer<double>& flags = join.tables()[holdout.table].columns[holdout.column].numbers;
    RowFilter filter{holdout.table, RowMask(context.memory(), "holdout flags", flags.size())};
    context.for_each(flags.size(), 1,
                     [&](uint64_t row) { filter.kept[row] = (!is_null(flags[row]) && flags[row] != 0) == held_out; });
    return filter;
}

class Sampling {
  public:
    Sampling(const Join& join, const DatasetPlan& plan, const Options& options, RunContext& context)
        : join_(join), options_(options), labels_(plan.labels.size()), context_(context) {
        const std::optional<ColumnRef>& holdout = plan.holdout;
        const auto filter = [&](bool held_out) -> std::optional<RowFilter> {
            if (!holdout) return {};
            return held_out_rows(join, *holdout, held_out, context);
        };
        train_.emplace(join, filter(false), context);
        if (holdout) held_out_.emplace(join, filter(true), context);
        count_ = checked_count(WideCounting::add(train_->count(), held_out_ ? held_out_->count() : 0));
    }

    std::optional<TrainingSample> draw() {
        const uint64_t most = static_cast<uint64_t>(std::min<WideCount>(count_, default_rows));
        const bool automatic = options_.sample_rows == 0;
        const uint64_t rows = automatic ? rows_that_fit(most) : static_cast<uint64_t>(options_.sample_rows);
        if (rows >= count_) return {};
        const auto seed = static_cast<uint64_t>(options_.seed);
        const uint64_t held_out = held_out_rows_of(rows);
        TrainingSample sample{
            train_->draw(rows - held_out, seed, train_stream), {count_, rows}, automatic && rows < most};
        if (held_out > 0) append(sample.rows, held_out_->draw(held_out, seed, holdout_stream));
        return sample;
    }

  private:
    // Roughly what drawing and training hold: row ids, scores and nodes' rows; bins of the tables' rows that are left
    // and, of one column at a time, values to sort.
    uint64_t bytes(uint64_t rows) const {
        const uint64_t row_ids = rows * sizeof(RowId) * join_.tables().size();
        uint64_t bins = 0, sorting = 0;
        for (const Table& table : join_.tables()) {
            const uint64_t kept = std::min(table.rows, rows);
            bins += 2 * kept * table.columns.size();
            if (!table.columns.empty()) sorting = std::max(sorting, 40 * kept);
        }
        const uint64_t training =
            row_ids + rows * (objective_of(options_.objective).row_bytes(labels_) + 2) + bins + sorting;
        return std::max(train_->bytes(rows) + (held_out_ ? row_ids : 0), training);
    }

    uint64_t rows_that_fit(uint64_t most) const {
        const auto fits = [&](uint64_t rows) { return bytes(rows) <= context_.memory().left(); };
        if (fits(most)) return most;
        uint64_t rows = min_rows;
        while (2 * rows < most && fits(2 * rows)) rows *= 2;
        return rows;
    }

    // As large a part as of the rows to train on, of which there is at least one.
    uint64_t held_out_rows_of(uint64_t rows) const {
        if (!held_out_ || held_out_->count() == 0) return 0;
        const double part = static_cast<double>(held_out_->count()) / static_cast<double>(count_);
        const auto shared = static_cast<uint64_t>(std::llround(part * static_cast<double>(rows)));
        const uint64_t least = rows > train_->count() ? rows - static_cast<uint64_t>(train_->count()) : rows > 1;
        const uint64_t most = train_->count() == 0 ? rows : rows - 1;
        return static_cast<uint64_t>(std::min<WideCount>(std::max(least, std::min(shared, most)), held_out_->count()));
    }

    void append(JoinRows& rows, const JoinRows& more) {
        for (size_t t = 0; t < rows.row_ids.size(); t++) {
            Buffer<RowId>& row_ids = rows.row_ids[t];
            if (more.row_ids[t].empty()) continue; // of a bag
            row_ids.resize(rows.rows + more.rows);
            std::copy(more.row_ids[t].begin(), more.row_ids[t].end(), row_ids.begin() + rows.rows);
        }
        rows.rows += more.rows;
    }

    const Join& join_;
    const Options& options_;
    const size_t labels_;
    RunContext& context_;
    std::optional<JoinSampler> train_, held_out_;
    WideCount count_ = 0;
};

} // namespace

std::optional<TrainingSample> draw_training_sample(const Join& join, const DatasetPlan& plan, const Options& options,
                                                   RunContext& context) {
    return Sampling(join, plan, options, context).draw();
}

} // namespace btml::boosting
