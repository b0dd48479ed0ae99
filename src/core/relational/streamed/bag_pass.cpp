#include "core/relational/streamed/bag_pass.hpp"

#include "core/base/threads.hpp"
#include "core/base/worker_contexts.hpp"

#include <algorithm>

namespace btml::relational {

namespace {

// Of the bag and those nested in it, the one whose chunks are the finest.
const BagJoin& rows_to_cut(const BagInput& bag) {
    const BagJoin* most = &bag.rows;
    for (const std::unique_ptr<const BagInput>& nested : bag.nested)
        if (nested)
            if (const BagJoin& rows = rows_to_cut(*nested); rows.rows_cut() > most->rows_cut()) most = &rows;
    return *most;
}

} // namespace

// Passes over chunks of the bag's rows on one thread, and over what nested bags have with the same first attributes.
class BagPass::Worker {
  public:
    Worker(const StreamedPlan& plan, const BagInput& bag, Message& own, RunContext& context)
        : bag_(bag), context_(context), nested_(bag.nested.size()) {
        std::vector<const Message*> children;
        for (size_t c = 0; c < nested_.size(); c++) {
            if (bag.nested[c]) nested_[c] = nest(plan, *bag.nested[c]);
            children.push_back(bag.nested[c] ? nested_[c].message.get() : bag.messages[c].get());
        }
        pass_ = std::make_unique<TablePass>(plan, bag.table, std::move(children), own, context.memory());
    }

    // Rows add to this message of the bag from now on.
    void add_to(Message& own) { pass_->add_to(own); }

    // Adds the rows with these keys of the first attribute.
    void add(Key begin, Key end) {
        for (Nested& nested : nested_)
            if (nested.worker && !nested.fill(begin, end, context_)) return;
        bag_.rows.join(begin, end, context_,
                       [&](RowBatch& batch, const std::vector<const uint32_t*>& known, const uint32_t* numbers) {
                           pass_->add(batch.columns(), batch.rows, context_, known, numbers);
                       });
    }

    void report(std::map<int, StreamedReport>& reports) const {
        StreamedReport& of = reports[bag_.table];
        of.rows_read += pass_->rows_read();
        of.rows_kept += pass_->rows_kept();
        of.ranges.resize(pass_->ranges().size());
        for (size_t m = 0; m < of.ranges.size(); m++) widen(of.ranges[m], pass_->ranges()[m]);
        for (const Nested& nested : nested_)
            if (nested.worker) nested.report(reports);
    }

  private:
    // A nested bag, with the part of its message that the chunk at hand meets.
    struct Nested {
        // False: no row of the upper bag finds a partner.
        bool fill(Key begin, Key end, RunContext& context) {
            message->clear();
            worker->add(begin, end);
            message->finish(context);
            keys += message->entries();
            max_bytes = std::max(max_bytes, message->bytes());
            return message->entries() > 0;
        }
        void report(std::map<int, StreamedReport>& reports) const {
            worker->report(reports);
            StreamedReport& of = reports[worker->bag_.table];
            of.keys += keys;
            of.bytes = std::max(of.bytes, max_bytes);
        }

        std::unique_ptr<Message> message;
        std::unique_ptr<Worker> worker;
        uint64_t keys = 0, max_bytes = 0;
    };

    Nested nest(const StreamedPlan& plan, const BagInput& bag) {
        Nested nested;
        nested.message = std::make_unique<Message>(MessageLayout(plan, bag.table), context_.memory());
        nested.worker = std::make_unique<Worker>(plan, bag, *nested.message, context_);
        return nested;
    }

    const BagInput& bag_;
    RunContext& context_;
    std::vector<Nested> nested_; // by child; empty where one is not nested
    std::unique_ptr<TablePass> pass_;
};

BagPass::BagPass(const StreamedPlan& plan, const BagInput& bag, Message& own, RunContext& context)
    : plan_(plan), bag_(bag), own_(own), context_(context), bounds_(rows_to_cut(bag).bounds()) {}

bool BagPass::sums_numbers() const {
    const std::vector<StreamedQuery>& queries = plan_.tables[bag_.table].queries;
    return std::any_of(queries.begin(), queries.end(),
                       [](const StreamedQuery& query) { return query.kind == CellKind::number_sum; });
}

// Chunks have messages of their own, which are put together in their order. Where each key is in one chunk, that is
// what the rows give in their order, and the small messages are faster, too. Elsewhere sums of numbers have other last
// bits: these are made in the order of the rows, but for a message of one key, which is made of chunks with one thread,
// too.
void BagPass::add() {
    const StreamedTable& table = plan_.tables[bag_.table];
    const auto has_first = [&](const std::vector<int>& columns) {
        return std::find(columns.begin(), columns.end(), bag_.rows.first_column()) != columns.end();
    };
    const bool one_key = own_.layout().full_key_words() == 0;
    const bool disjoint = has_first(table.key) || has_first(table.groups);
    if (own_.is_numbered())
        add_by_number();
    else if (disjoint || (sums_numbers() ? one_key : context_.threads() > 1))
        add_by_chunks(disjoint);
    else
        add_in_order();
}

void BagPass::add_in_order() {
    Worker worker(plan_, bag_, own_, context_);
    for (size_t chunk = 0; chunk < chunks(); chunk++) worker.add(bounds_[chunk], bounds_[chunk + 1]);
    worker.report(reports_);
}

void BagPass::add_by_number() {
    ThreadTeam team(context_, static_cast<int>(chunks()));
    WorkerContexts contexts(context_, team.size(), 0, "the messages of a join");
    std::vector<std::unique_ptr<Worker>> workers(team.size());
    const auto add = [&](size_t chunk, int number) {
        contexts.run(number, [&](RunContext& context) {
            std::unique_ptr<Worker>& worker = workers[number];
            if (!worker) worker = std::make_unique<Worker>(plan_, bag_, own_, context);
            worker->add(bounds_[chunk], bounds_[chunk + 1]);
        });
    };
    team.for_each(chunks(), add, [&] { contexts.poll(); });
    for (const std::unique_ptr<Worker>& worker : workers)
        if (worker) worker->report(reports_);
}

void BagPass::add_by_chunks(bool disjoint) {
    ThreadTeam team(context_, static_cast<int>(chunks()));
    WorkerContexts contexts(context_, team.size(), 0, "the messages of a join");
    std::vector<std::unique_ptr<Worker>> workers(team.size());
    const size_t round = 16 * static_cast<size_t>(team.size()); // messages in memory at a time
    for (size_t begin = 0; begin < chunks(); begin += round) {
        std::vector<std::unique_ptr<Message>> parts(std::min(round, chunks() - begin));
        const auto add_part = [&](size_t part, int number) {
            parts[part] = std::make_unique<Message>(own_.layout(), context_.memory());
            contexts.run(number, [&](RunContext& context) {
                std::unique_ptr<Worker>& worker = workers[number];
                if (!worker) worker = std::make_unique<Worker>(plan_, bag_, *parts[part], context);
                worker->add_to(*parts[part]);
                worker->add(bounds_[begin + part], bounds_[begin + part + 1]);
            });
        };
        team.for_each(parts.size(), add_part, [&] { contexts.poll(); });
        if (disjoint)
            own_.append(parts, team, contexts);
        else
            for (const std::unique_ptr<Message>& part : parts) own_.merge(*part, context_);
    }
    for (const std::unique_ptr<Worker>& worker : workers)
        if (worker) worker->report(reports_);
}

} // namespace btml::relational
