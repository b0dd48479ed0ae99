// A fit whose rows other servers hold: what they are told of it, and what their aggregates answer.
//
// The coordinator's queries carry everything. btml_internal.hold_rows collects a server's rows where they are, in the
// backend that serves the coordinator's session, until the transaction ends; btml_internal.exchange_messages brings
// that backend the coordinator's messages and takes its answers back. Both are aggregates, since those are what an
// engine ships to where rows are.
#pragma once

#include "core/base/peers.hpp"
#include "core/boosting/trees/boosting_model.hpp"
#include "pg/bridge/guard.hpp"

#include <array>

namespace btml::pg {

// Error internal where there are none to be had.
void fill_with_random_bytes(void* to, size_t size);

using FitToken = std::array<std::byte, 16>; // names a fit among all

// Says what the columns of the rows are, and what is to be made of them.
struct FitPlan {
    FitToken token;
    std::string target, weight; // what errors call these columns; no weight: empty
    bool has_holdout;
    TargetKind target_kind; // a label is the first of the texts, other targets of the numbers
    // Has the options and features (those without categories are numbers), the offset, labels and directions.
    boosting::Model model;
    bool has_start;     // the first message has the model to start from
    bool has_addresses; // the last of the numbers is the address of the row of the target's table, or NULL

    // Whether the weight of a row of the target's table is shared among its repeats.
    bool shares_weights() const { return has_addresses && model.options.unit == Unit::target; }
};

// What a server says before everything else. Where it shares weights it is told what all say together.
struct HeldCounts {
    uint64_t rows, skipped; // skipped: the target is NULL
    // Where rows have addresses: rows of the target's table, and how often the join has one of them at most.
    uint64_t target_rows, most_repeats;
    uint64_t unmatched; // rows that an outer join gave no row of the target's table: all of them repeat its null row

    HeldCounts& operator+=(const HeldCounts& other);
};

// A message of the coordinator on its way to servers.
struct FitMessage {
    enum class Step : uint64_t {
        give,     // the message is given
        collect,  // the answer to it is wanted
        exchange, // both
        find      // neither: who holds rows says so
    };

    FitToken token;
    uint64_t round; // backends that are asked twice in a round do nothing the second time
    Step step;
};

Bytes encode(const FitPlan& plan, RunContext& context);
// Error internal for bytes that encode() does not write.
FitPlan decode_fit_plan(std::span<const std::byte> bytes, RunContext& context);
Bytes encode(const boosting::Model& model, RunContext& context);
boosting::Model decode_model(std::span<const std::byte> bytes, RunContext& context);

// The entries of a state of either aggregate: which backends took part, and what they answered.
struct BackendAnswer {
    uint64_t backend; // a random number
    bool has_answer;
    Bytes answer;
};
std::vector<BackendAnswer> backend_answers(Datum state);

} // namespace btml::pg
