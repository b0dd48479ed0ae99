#include "core/relational/streamed/bag_pass.hpp"

#include "core/base/threads.hpp"
#include "core/base/worker_contexts.hpp"
#include "core/relational/streamed/ranges.hpp"

#include <algorithm>

namespace btml::relational {

BagPass::BagPass(const StreamedPlan& plan, int table, std::vector<const Message*> children, Message& own,
                 RunContext& context)
    : plan_(plan),
      table_(table),
      children_(std::move(children)),
      own_(own),
      context_(context),
      ranges_(plan.tables[table].measured.size()) {}

bool BagPass::sums_numbers() const {
    const std::vector<StreamedQuery>& queries = plan_.tables[table_].queries;
    return std::any_of(queries.begin(), queries.end(),
                       [](const StreamedQuery& query) { return query.kind == CellKind::number_sum; });
}

// Chunks have messages of their own, which are put together in their order. Where each key is in one chunk, that is
// what the rows give in their order, and the small messages are faster, too. Elsewhere sums of numbers have other last
// bits: these are made in the order of the rows, but for a message of one key, which is made of chunks with one thread,
// too.
void BagPass::add(BagJoin rows) {
    rows.look_up(children_, context_);
    const StreamedTable& table = plan_.tables[table_];
    const auto has_first = [&](const std::vector<int>& columns) {
        return std::find(columns.begin(), columns.end(), rows.first_column()) != columns.end();
    };
    const bool one_key = own_.layout().full_key_words() == 0;
    const bool disjoint = has_first(table.key) || has_first(table.groups);
    if (own_.is_numbered())
        add_by_number(rows);
    else if (disjoint || (sums_numbers() ? one_key : context_.threads() > 1))
        add_by_chunks(rows, disjoint);
    else
        add_in_order(rows);
}

void BagPass::count(const TablePass& pass) {
    rows_read_ += pass.rows_read();
    rows_kept_ += pass.rows_kept();
    for (size_t m = 0; m < ranges_.size(); m++) widen(ranges_[m], pass.ranges()[m]);
}

void BagPass::add_chunk(const BagJoin& rows, size_t chunk, TablePass& pass, RunContext& context) {
    rows.join(chunk, context, context_.memory(),
              [&](RowBatch& batch, const std::vector<const uint32_t*>& known, const uint32_t* numbers) {
                  pass.add(batch.columns(), batch.rows, known, numbers);
              });
}

void BagPass::add_in_order(const BagJoin& rows) {
    TablePass pass(plan_, table_, children_, own_, context_, context_.memory());
    for (size_t chunk = 0; chunk < rows.chunks(); chunk++) add_chunk(rows, chunk, pass, context_);
    count(pass);
}

void BagPass::add_by_number(const BagJoin& rows) {
    ThreadTeam team(context_, static_cast<int>(rows.chunks()));
    WorkerContexts contexts(context_, team.size(), 0, "the messages of a join");
    std::vector<std::unique_ptr<TablePass>> passes(team.size()); // by worker
    const auto add = [&](size_t chunk, int worker) {
        contexts.run(worker, [&](RunContext& context) {
            std::unique_ptr<TablePass>& pass = passes[worker];
            if (!pass) pass = std::make_unique<TablePass>(plan_, table_, children_, own_, context, context_.memory());
            add_chunk(rows, chunk, *pass, context);
        });
    };
    team.for_each(rows.chunks(), add, [&] { contexts.poll(); });
    for (const std::unique_ptr<TablePass>& pass : passes)
        if (pass) count(*pass);
}

void BagPass::add_by_chunks(const BagJoin& rows, bool disjoint) {
    ThreadTeam team(context_, static_cast<int>(rows.chunks()));
    WorkerContexts contexts(context_, team.size(), 0, "the messages of a join");
    std::vector<std::unique_ptr<TablePass>> passes(team.size()); // by worker
    const size_t round = 16 * static_cast<size_t>(team.size());  // messages in memory at a time
    for (size_t begin = 0; begin < rows.chunks(); begin += round) {
        std::vector<std::unique_ptr<Message>> parts(std::min(round, rows.chunks() - begin));
        const auto add_part = [&](size_t part, int worker) {
            parts[part] = std::make_unique<Message>(own_.layout(), context_.memory());
            contexts.run(worker, [&](RunContext& context) {
                std::unique_ptr<TablePass>& pass = passes[worker];
                if (!pass)
                    pass =
                        std::make_unique<TablePass>(plan_, table_, children_, *parts[part], context, context_.memory());
                pass->add_to(*parts[part]);
                add_chunk(rows, begin + part, *pass, context);
            });
        };
        team.for_each(parts.size(), add_part, [&] { contexts.poll(); });
        if (disjoint)
            own_.append(parts, team, contexts);
        else
            for (const std::unique_ptr<Message>& part : parts) own_.merge(*part, context_);
    }
    if (disjoint) own_.index(team, contexts);
    for (const std::unique_ptr<TablePass>& pass : passes)
        if (pass) count(*pass);
}

} // namespace btml::relational
