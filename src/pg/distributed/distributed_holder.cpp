// The aggregates btml_internal.hold_rows and btml_internal.exchange_messages, and btml_internal.number: this server's
// part of a fit that another one leads.
#include "core/base/resident_holder.hpp"
#include "core/boosting/binning/shared_categories.hpp"
#include "core/boosting/booster.hpp"
#include "core/boosting/target_labels.hpp"
#include "core/data/dictionary.hpp"
#include "pg/distributed/distributed_messages.hpp"
#include "pg/values/arguments.hpp"
#include "pg/values/expanded_state.hpp"
#include "pg/values/values.hpp"

#include <map>

extern "C" {
#include "access/xact.h"
}

namespace btml::pg {

using namespace boosting;

namespace {

// Backends have the same process number on two servers.
uint64_t this_backend() {
    static const uint64_t number = [] {
        uint64_t random;
        fill_with_random_bytes(&random, sizeof(random));
        return random;
    }();
    return number;
}

// The states of both aggregates: entries of BackendAnswer, one after the other.
class Answers {
  public:
    explicit Answers(MemoryBudget& budget) : bytes_(budget, "answers of servers") {}

    bool empty() const { return bytes_.empty(); }
    void add(uint64_t backend, bool has_answer, const Bytes& answer) {
        const uint64_t header[] = {backend, has_answer, answer.size()};
        append(std::as_bytes(std::span(header)));
        append(answer);
    }
    void append(const Answers& other) { append(other.bytes_.span()); }
    size_t flat_size() const { return bytes_.size(); }
    void flatten(std::byte* to) const noexcept {
        if (!bytes_.empty()) memcpy(to, bytes_.data(), bytes_.size());
    }
    static Answers parse(std::span<const std::byte> bytes, MemoryBudget& budget) {
        Answers answers(budget);
        answers.append(bytes);
        return answers;
    }

  private:
    void append(std::span<const std::byte> bytes) {
        const size_t size = bytes_.size();
        bytes_.resize(size + bytes.size());
        if (!bytes.empty()) memcpy(bytes_.data() + size, bytes.data(), bytes.size());
    }

    Buffer<std::byte> bytes_;
};

constexpr StateNames names{"btml_internal.answers", "the answers", "Train with fewer features or bins."};
using State = ExpandedState<Answers, names>;

// A column of categories as it grows.
struct TextColumn {
    explicit TextColumn(MemoryBudget& budget) : codes(budget, "rows of a fit"), texts(budget) {}

    Buffer<uint32_t> codes; // in the order of their first appearance
    TextDictionary texts;
};

// Gives the column's categories codes in bytewise order.
void take_categories(TextColumn& from, FeatureColumn& to, RunContext& context) {
    std::vector<uint32_t> order(from.texts.size()), code(order.size());
    for (uint32_t i = 0; i < order.size(); i++) order[i] = i;
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
        context.worked(8);
        return from.texts.text(a) < from.texts.text(b);
    });
    for (uint32_t i = 0; i < order.size(); i++) {
        code[order[i]] = i;
        to.categories.emplace_back(from.texts.text(order[i]));
    }
    context.for_each(from.codes.size(), 1, [&](uint64_t row) {
        uint32_t& at = from.codes[row];
        if (at != FeatureColumn::null_code) at = code[at];
    });
    to.codes = std::move(from.codes);
}

constexpr const char* truth_values[] = {"false", "true"};

// Booleans come as numbers.
bool is_text(const Feature& feature) {
    return feature.categorical && feature.type != "boolean";
}

// Gives the column's truth values codes in bytewise order, those that a row has.
void take_booleans(const Buffer<double>& from, FeatureColumn& to, RunContext& context) {
    bool present[2] = {};
    for (const double value : from)
        if (!is_null(value)) present[value != 0] = true;
    uint32_t code[2] = {};
    for (const int value : {0, 1}) {
        code[value] = static_cast<uint32_t>(to.categories.size());
        if (present[value]) to.categories.emplace_back(truth_values[value]);
    }
    to.codes.resize(from.size());
    context.for_each(from.size(), 1, [&](uint64_t row) {
        to.codes[row] = is_null(from[row]) ? FeatureColumn::null_code : code[from[row] != 0];
    });
}

// Which row of the target's table each of the rows repeats.
class RepeatedRows {
  public:
    explicit RepeatedRows(MemoryBudget& budget)
        : budget_(budget), addresses_(budget), rows_(budget, "rows of a fit"), repeats_(budget, "rows of a target") {}

    // Says that the rows to come are of another table, whose addresses are its own.
    void begin_part() {
        addresses_ = IntegerDictionary(budget_);
        first_ = static_cast<uint32_t>(repeats_.size());
    }
    // address: null_number where an outer join found no row.
    void add(double address) {
        if (is_null(address)) {
            rows_.push_back(null_row);
            unmatched_++;
            return;
        }
        if (!(address >= 0 && address < max_address)) refuse_message();
        const uint32_t row = first_ + addresses_.number(static_cast<int64_t>(address));
        if (row == repeats_.size()) repeats_.push_back(0);
        repeats_[row]++;
        rows_.push_back(row);
    }

    void count(HeldCounts& counts) const {
        counts.target_rows = repeats_.size();
        for (const uint64_t repeats : repeats_) counts.most_repeats = std::max(counts.most_repeats, repeats);
        counts.unmatched = unmatched_;
    }
    // Shares the weight of each row of the target's table among its repeats. all: the counts of all servers.
    void share(Buffer<double>& weights, const HeldCounts& all, RunContext& context) const {
        context.for_each(weights.size(), 1, [&](uint64_t row) {
            weights[row] /= static_cast<double>(rows_[row] == null_row ? all.unmatched : repeats_[rows_[row]]);
        });
    }

  private:
    static constexpr uint32_t null_row = UINT32_MAX;
    static constexpr double max_address = 0x1p48;

    MemoryBudget& budget_;
    IntegerDictionary addresses_; // of this part
    uint32_t first_ = 0;          // row of this part
    Buffer<uint32_t> rows_;       // by row of the join
    Buffer<uint64_t> repeats_;    // by row of the target's table
    uint64_t unmatched_ = 0;
};

// The rows of a fit that this backend holds.
class HeldFit {
  public:
    explicit HeldFit(FitPlan plan)
        : plan_(std::move(plan)), budget_(memory_limit_bytes()), level_(GetCurrentTransactionNestLevel()) {
        const Model& model = plan_.model;
        size_t numbers = size_t{!plan_.weight.empty()} + plan_.has_holdout + model.offset.has_value(), texts = 0;
        (has_text_target() ? texts : numbers)++;
        for (size_t f = 0; f < model.features.size(); f++) {
            if (model.offset == static_cast<int32_t>(f)) continue;
            (is_text(model.features[f]) ? texts : numbers)++;
        }
        for (size_t i = 0; i < numbers; i++) numbers_.emplace_back(budget_, "rows of a fit");
        for (size_t i = 0; i < texts; i++) texts_.emplace_back(budget_);
        if (plan_.has_addresses) target_rows_.emplace(budget_);
    }

    int level() const { return level_; }
    // What a subtransaction leaves when it commits is its parent's.
    void pass_to(int level) { level_ = std::min(level_, level); }
    bool is_held() const { return resident_ != nullptr; }
    size_t numbers() const { return numbers_.size() + plan_.has_addresses; }
    size_t texts() const { return texts_.size(); }

    // Says that the rows to come are of another part of the tables.
    void begin_part() {
        if (target_rows_) target_rows_->begin_part();
    }
    // The numbers are the target, the weight, the holdout, the offset, features that are numbers or booleans, and the
    // address, as far as there are such; the texts a target that is one, and features.
    void add(std::span<const double> numbers, std::span<const std::optional<std::string_view>> texts) {
        if (has_text_target() ? !texts[0].has_value() : is_null(numbers[0])) {
            skipped_++;
            return;
        }
        size_t next = 0;
        if (!has_text_target()) check_finite(numbers[next++], plan_.target.c_str());
        if (!plan_.weight.empty()) check_weight(numbers[next++], plan_.weight.c_str());
        next += plan_.has_holdout;
        if (plan_.model.offset) check_given(numbers[next], "offset");
        for (size_t i = 0; i < numbers_.size(); i++) numbers_[i].push_back(numbers[i]);
        for (size_t i = 0; i < texts.size(); i++)
            texts_[i].codes.push_back(texts[i] ? texts_[i].texts.number(*texts[i]) : FeatureColumn::null_code);
        if (target_rows_) target_rows_->add(numbers.back());
        rows_++;
    }

    void post(const Bytes& message) {
        if (!resident_) start();
        resident_->post(message);
    }
    Bytes collect(RunContext& caller) {
        if (!resident_) refuse_message();
        return resident_->collect(caller);
    }
    bool has_ended() const { return resident_ && resident_->has_ended(); }

    // Says whether this step was not taken yet, and takes it.
    bool takes(const FitMessage& message) {
        const uint64_t step = 2 * message.round + (message.step == FitMessage::Step::give ? 0 : 1);
        return std::exchange(step_, step) != step;
    }

  private:
    void start() {
        for (Buffer<double>& column : numbers_) column.shrink_to_fit();
        for (TextColumn& column : texts_) column.codes.shrink_to_fit();
        resident_ = std::make_unique<ResidentHolder>(
            [this](Holder& peers, RunContext& context) {
                std::optional<Model> first;
                if (plan_.has_start) first = decode_model(peers.listen(), context);
                const HeldCounts counts = report_counts(peers);
                Options options = plan_.model.options;
                serve_fit(dataset(counts, context), options, peers, context, std::move(first));
            },
            budget_, thread_count());
    }

    // Says what it holds. Returns what all hold, where weights are shared.
    HeldCounts report_counts(Holder& peers) const {
        HeldCounts counts{rows_, skipped_, 0, 0, 0};
        if (target_rows_) target_rows_->count(counts);
        peers.answer(to_bytes(counts));
        if (plan_.shares_weights()) from_bytes(peers.listen(), counts);
        return counts;
    }

    // counts: of all servers, where weights are shared.
    Dataset dataset(const HeldCounts& counts, RunContext& context) {
        size_t number = 0, text = 0;
        const auto next = [&] { return std::move(numbers_[number++]); };
        Dataset dataset(context.memory(), rows_);
        dataset.target = target(number, text, context);
        dataset.holdout_table = plan_.has_holdout ? 0 : -1;
        dataset.labels = plan_.model.labels;
        dataset.label_weights = plan_.model.label_weights;
        dataset.add_table(rows_);
        if (!plan_.weight.empty()) dataset.weight = next();
        if (target_rows_) share_weights(dataset, counts, context);
        if (plan_.has_holdout) {
            const Buffer<double> flags = next();
            dataset.holdout.resize(flags.size());
            context.for_each(flags.size(), 1,
                             [&](uint64_t row) { dataset.holdout[row] = !is_null(flags[row]) && flags[row] != 0; });
        }
        const Model& model = plan_.model;
        const auto column = [&](const Feature& feature) {
            FeatureColumn made(context.memory(), feature.without_categories(), 0);
            if (is_text(feature))
                take_categories(texts_[text++], made, context);
            else if (feature.categorical)
                take_booleans(next(), made, context);
            else
                made.numbers = next();
            return made;
        };
        if (model.offset) dataset.offset = column(model.features[*model.offset]);
        for (size_t f = 0; f < model.features.size(); f++) {
            if (model.offset == static_cast<int32_t>(f)) continue;
            dataset.features.push_back(column(model.features[f]));
            if (!model.directions.empty()) dataset.features.back().direction = model.directions[f];
        }
        return dataset;
    }

    // Shares weights, if that is asked for. Which rows are repeats need not be known after that.
    void share_weights(Dataset& dataset, const HeldCounts& all, RunContext& context) {
        const RepeatedRows rows = std::move(*target_rows_);
        target_rows_.reset();
        if (!plan_.shares_weights()) return;
        if (plan_.weight.empty()) dataset.weight = Buffer<double>(context.memory(), "weights", rows_, 1.0);
        rows.share(dataset.weight, all, context);
    }

    bool has_text_target() const { return plan_.target_kind == TargetKind::label; }

    // Labels are replaced by their codes.
    Buffer<double> target(size_t& number, size_t& text, RunContext& context) {
        const Model& model = plan_.model;
        if (has_text_target()) {
            TextColumn& from = texts_[text++];
            std::vector<double> codes;
            for (uint32_t i = 0; i < from.texts.size(); i++)
                codes.push_back(static_cast<double>(known_code(from.texts.text(i))));
            Buffer<double> values(context.memory(), "target", rows_);
            context.for_each(rows_, 1, [&](uint64_t row) { values[row] = codes[from.codes[row]]; });
            from.codes = Buffer<uint32_t>(budget_, "rows of a fit");
            return values;
        }
        Buffer<double> values = std::move(numbers_[number++]);
        if (model.labels.empty()) return values;
        std::map<double, double> codes;
        context.for_each(rows_, 1, [&](uint64_t row) {
            auto [found, is_new] = codes.try_emplace(values[row]);
            if (is_new)
                found->second = static_cast<double>(known_code(plan_.target_kind == TargetKind::boolean
                                                                   ? truth_values[values[row] != 0]
                                                                   : label_of_number(values[row])));
            values[row] = found->second;
        });
        return values;
    }

    size_t known_code(std::string_view label) const {
        const std::vector<std::string>& labels = plan_.model.labels;
        const auto at = std::find(labels.begin(), labels.end(), label);
        if (at == labels.end())
            throw Error(ErrorCode::internal,
                        format("a row has the label \"%s\", which no row had before", std::string(label).c_str()), "",
                        "Repeat the fit.");
        return static_cast<size_t>(at - labels.begin());
    }

    FitPlan plan_;
    MemoryBudget budget_;
    int level_; // of the subtransaction that it ends with
    std::vector<Buffer<double>> numbers_;
    std::vector<TextColumn> texts_;
    std::optional<RepeatedRows> target_rows_;
    uint64_t rows_ = 0, skipped_ = 0;
    uint64_t step_ = UINT64_MAX;
    std::unique_ptr<ResidentHolder> resident_; // last: it works on the rows
};

// The fits that this session holds rows of.
std::map<FitToken, HeldFit>& held_fits() {
    static std::map<FitToken, HeldFit> fits;
    return fits;
}

void at_end_of_transaction(XactEvent event, void*) {
    if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE) held_fits().clear();
}

void at_end_of_subtransaction(SubXactEvent event, SubTransactionId, SubTransactionId, void*) {
    const int level = GetCurrentTransactionNestLevel();
    if (event == SUBXACT_EVENT_ABORT_SUB)
        std::erase_if(held_fits(), [=](const auto& held) { return held.second.level() >= level; });
    if (event == SUBXACT_EVENT_COMMIT_SUB)
        for (auto& [token, held] : held_fits()) held.pass_to(level - 1);
}

void free_fits_with_transactions() {
    static bool registered = false;
    if (registered) return;
    pg_call([] {
        RegisterXactCallback(at_end_of_transaction, nullptr);
        RegisterSubXactCallback(at_end_of_subtransaction, nullptr);
    });
    registered = true;
}

std::span<const std::byte> command_of(const Arguments& arguments) {
    const std::span<const std::byte> bytes = datum_bytes(arguments.datum(1, "command"));
    if (bytes.size() < sizeof(FitToken)) refuse_message();
    return bytes;
}

FitToken token_of(std::span<const std::byte> command) {
    FitToken token;
    memcpy(token.data(), command.data(), token.size());
    return token;
}

HeldFit& fit_to_fill(std::span<const std::byte> command) {
    const FitToken token = token_of(command);
    if (const auto found = held_fits().find(token); found != held_fits().end()) return found->second;
    free_fits_with_transactions();
    BackendContext context;
    return held_fits().try_emplace(token, decode_fit_plan(command, context)).first->second;
}

std::vector<std::optional<std::string_view>> texts_of(const Arguments& arguments, int i) {
    std::vector<std::optional<std::string_view>> texts;
    if (i >= arguments.count()) return texts;
    const ArrayElements elements = elements_of(arguments.datum(i, "texts"), TEXTOID, "texts");
    for (size_t n = 0; n < elements.values.size(); n++) {
        texts.emplace_back();
        if (!elements.nulls[n]) texts.back() = bytes_of(elements.values[n], TEXTOID);
    }
    return texts;
}

} // namespace

// btml_internal.number(value numeric, column_name json) → float8
BTML_FUNCTION(btml_number_numeric) {
    const Arguments arguments(fcinfo);
    const std::string json = arguments.string(1, "column_name");
    const std::string name =
        json.substr(std::min<size_t>(1, json.size()), json.size() - std::min<size_t>(2, json.size()));
    NumberColumn column{name.c_str()};
    const Datum value = arguments.datum(0, "value");
    return Float8GetDatum(pg_call([=, &column] { return to_number(value, NumberKind::numeric, &column); }));
}

// btml_internal.number(date | time | timestamp | timestamptz | interval) → float8
#define BTML_NUMBER(kind)                                                                                              \
    BTML_FUNCTION(btml_number_##kind) {                                                                                \
        return Float8GetDatum(to_number(PG_GETARG_DATUM(0), NumberKind::kind, nullptr));                               \
    }

BTML_NUMBER(date)
BTML_NUMBER(time)
BTML_NUMBER(timestamp)
BTML_NUMBER(interval)

// btml_internal.number(tid) → float8
BTML_FUNCTION(btml_number_tid) {
    const auto* const address = reinterpret_cast<const ItemPointerData*>(PG_GETARG_POINTER(0));
    return Float8GetDatum(static_cast<double>(ItemPointerGetBlockNumberNoCheck(address)) * 0x1p16 +
                          ItemPointerGetOffsetNumberNoCheck(address));
}

// btml_internal.hold_rows_accumulate(state, command bytea, numbers float8[] [, texts text[]]) → state
BTML_FUNCTION(btml_hold_rows_accumulate) {
    const Arguments arguments(fcinfo);
    State* const state = State::writable(fcinfo);
    HeldFit& fit = fit_to_fill(command_of(arguments));
    const std::vector<double> numbers = arguments.numbers(2, "numbers");
    const std::vector<std::optional<std::string_view>> texts = texts_of(arguments, 3);
    if (fit.is_held() || numbers.size() != fit.numbers() || texts.size() != fit.texts()) refuse_message();
    const bool is_first = state->content().empty();
    if (is_first) fit.begin_part();
    fit.add(numbers, texts);
    if (is_first) state->content().add(this_backend(), false, {});
    return state->datum();
}

// btml_internal.exchange_messages_accumulate(state, command bytea) → state
BTML_FUNCTION(btml_exchange_messages_accumulate) {
    const Arguments arguments(fcinfo);
    State* const state = State::writable(fcinfo);
    if (!state->content().empty()) return state->datum(); // another row of the same table
    const std::span<const std::byte> command = command_of(arguments);
    if (command.size() < sizeof(FitMessage)) refuse_message();
    FitMessage message;
    memcpy(&message, command.data(), sizeof(message));
    const std::span<const std::byte> bytes = command.subspan(sizeof(message));
    const auto held = held_fits().find(message.token);
    const bool is_held = held != held_fits().end();
    if (message.step == FitMessage::Step::find) {
        if (is_held) state->content().add(this_backend(), false, {});
        return state->datum();
    }
    if (!is_held)
        throw Error(ErrorCode::internal, "this connection does not hold the rows of the fit any more", "",
                    "Repeat the fit: the same rows give the same model.");
    HeldFit& fit = held->second;
    if (!fit.takes(message)) {
        state->content().add(this_backend(), false, {});
        return state->datum();
    }
    if (message.step != FitMessage::Step::collect) fit.post({bytes.begin(), bytes.end()});
    if (message.step == FitMessage::Step::give) {
        state->content().add(this_backend(), false, {});
        return state->datum();
    }
    BackendContext context("boost_fit"); // what btml.progress calls it
    state->content().add(this_backend(), true, fit.collect(context));
    if (fit.has_ended()) held_fits().erase(held);
    return state->datum();
}

BTML_STATE_TYPE(answers, State)

} // namespace btml::pg
