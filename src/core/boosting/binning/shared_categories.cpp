#include "core/boosting/binning/shared_categories.hpp"

#include "core/data/feature.hpp"

#include <algorithm>

namespace btml::boosting {

namespace {

// Texts in bytewise order, each ended by a zero byte, which none of them has.
struct TextSet : std::vector<char> {
    TextSet() = default;
    // Takes the first `most` texts alone.
    explicit TextSet(std::vector<std::string> texts, size_t most = SIZE_MAX) {
        std::sort(texts.begin(), texts.end());
        texts.resize(std::min(most, texts.size()));
        for (const std::string& text : texts) insert(end(), text.c_str(), text.c_str() + text.size() + 1);
    }

    std::vector<std::string> texts() const {
        std::vector<std::string> texts;
        for (auto begin = this->begin(); begin != end();) {
            const auto zero = std::find(begin, end(), 0);
            if (zero == end()) refuse_message();
            std::string text(begin, zero);
            if (!texts.empty() && texts.back() >= text) refuse_message();
            texts.push_back(std::move(text));
            begin = zero + 1;
        }
        return texts;
    }
    TextSet& operator+=(const TextSet& other) {
        const std::vector<std::string> a = texts(), b = other.texts();
        std::vector<std::string> all;
        std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all));
        return *this = TextSet(all);
    }
};

} // namespace

std::vector<uint32_t> merge_categories(const std::vector<std::string>& added, FeatureColumn& column,
                                       RunContext& context) {
    std::vector<std::string> all;
    const CategoryOrder is_less(column.type);
    std::set_union(column.categories.begin(), column.categories.end(), added.begin(), added.end(),
                   std::back_inserter(all), is_less);
    const auto codes_of = [&](const std::vector<std::string>& categories) {
        std::vector<uint32_t> codes;
        for (const std::string& category : categories)
            codes.push_back(
                static_cast<uint32_t>(std::lower_bound(all.begin(), all.end(), category, is_less) - all.begin()));
        return codes;
    };
    if (all.size() > column.categories.size()) {
        const std::vector<uint32_t> codes = codes_of(column.categories);
        context.for_each(column.codes.size(), 1, [&](uint64_t row) {
            uint32_t& code = column.codes[row];
            if (code != FeatureColumn::null_code) code = codes[code];
        });
    }
    std::vector<uint32_t> codes = codes_of(added);
    column.categories = std::move(all);
    return codes;
}

void share_categories(Dataset& dataset, Peers& peers, RunContext& context, size_t max_categories) {
    for (FeatureColumn& column : dataset.features) {
        if (!column.categorical) continue;
        // One too many says as much as all of them, of which there may be as many as rows.
        TextSet all(column.categories, max_categories + 1);
        peers.add_up(all);
        const Reservation copies(context.memory(), "categories", 2 * all.size());
        std::vector<std::string> texts = all.texts();
        std::sort(texts.begin(), texts.end(), CategoryOrder(column.type));
        if (texts.size() > max_categories)
            throw Error(ErrorCode::not_supported,
                        format("feature \"%s\" has more than %zu categories, too many for rows on several machines",
                               column.name.c_str(), max_categories),
                        "", "Leave it out, or train on one machine: strategy => 'enumerate'.");
        merge_categories(texts, column, context);
    }
}

} // namespace btml::boosting
