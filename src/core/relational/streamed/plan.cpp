#include "core/relational/streamed/plan.hpp"

#include "core/relational/streamed/fields.hpp"

#include <algorithm>

namespace btml::relational {

bool StreamedPlan::is_bag(int table) const {
    return std::any_of(bags.begin(), bags.end(), [=](const StreamedBag& bag) { return bag.table == table; });
}

size_t StreamedPlan::message_groups(int table) const {
    size_t groups = tables[table].groups.size();
    for (const StreamedChild& child : tables[table].children)
        if (multiplies(child.join)) groups += message_groups(child.table);
    return groups;
}

void StreamedPlan::write(Writer& writer) const {
    transfer(writer, *this);
}

StreamedPlan StreamedPlan::read(Reader& reader) {
    StreamedPlan plan;
    transfer(reader, plan);
    if (const char* flaw = flaw_of(plan)) corrupt_model(format("Its plan of a streamed join is none: %s.", flaw));
    return plan;
}

} // namespace btml::relational
