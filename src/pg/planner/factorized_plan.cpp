#include "pg/planner/factorized_plan.hpp"

#include "core/relational/streamed/fields.hpp"
#include "pg/bridge/settings.hpp"

namespace btml::pg::planner {

void FactorizedPlan::write(Writer& writer) const {
    writer.put_count(joins.size());
    for (const FactorizedJoin& join : joins) {
        join.streamed.write(writer);
        relational::transfer(writer, join);
    }
    relational::transfer(writer, *this);
}

// The bytes come from the planner of this backend or of its leader: only their form is checked.
FactorizedPlan FactorizedPlan::read(Reader& reader) {
    FactorizedPlan plan;
    plan.joins.resize(reader.get_count(1));
    for (FactorizedJoin& join : plan.joins) {
        join.streamed = relational::StreamedPlan::read(reader);
        relational::transfer(reader, join);
    }
    relational::transfer(reader, plan);
    return plan;
}

double message_memory() {
    return std::min(static_cast<double>(get_hash_memory_limit()), static_cast<double>(memory_limit_bytes()) / 2);
}

const char* message_memory_setting() {
    return message_memory() < static_cast<double>(get_hash_memory_limit()) ? "half of btml.memory_limit"
                                                                           : "work_mem times hash_mem_multiplier";
}

} // namespace btml::pg::planner
