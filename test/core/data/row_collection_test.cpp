#include "core/data/row_collection.hpp"

#include "core/base/error.hpp"
#include "core/numbers/rng.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace btml::test {
namespace {

using Shape = RowCollection::Shape;

std::string label_of(uint64_t number) {
    return "label " + std::to_string(number % 13);
}

// Rows first … last - 1 of a set.
RowCollection rows_of(uint64_t seed, uint64_t first, uint64_t last, const Shape& shape, MemoryBudget& budget) {
    RowCollection rows(budget);
    for (uint64_t row = first; row < last; row++) {
        const uint64_t bits = random_bits(seed, 0, row);
        const double features[] = {static_cast<double>(bits % 97), row % 5 == 0 ? null_number : -0.5};
        const double weight = static_cast<double>(bits % 4);
        if (bits % 11 == 0)
            rows.skip();
        else if (shape.target == TargetKind::label)
            rows.add(label_of(bits), features, shape.weighted ? std::optional(weight) : std::nullopt);
        else
            rows.add(shape, static_cast<double>(bits % 2), features, weight);
    }
    return rows;
}

std::vector<std::byte> flat(const RowCollection& rows) {
    std::vector<std::byte> bytes(rows.flat_size());
    rows.flatten(bytes.data());
    return bytes;
}

constexpr Shape shapes[] = {{TargetKind::number, false},
                            {TargetKind::number, true},
                            {TargetKind::boolean, true},
                            {TargetKind::label, false},
                            {TargetKind::label, true}};

TEST(RowCollection, FlatBytesReadBack) {
    QuietContext context;
    for (const Shape& shape : shapes) {
        const RowCollection rows = rows_of(1, 0, 100, shape, context.memory());
        const std::vector<std::byte> bytes = flat(rows);
        EXPECT_EQ(flat(RowCollection::parse(bytes, context.memory(), context)), bytes);
        for (size_t length = 0; length < bytes.size(); length += 7)
            EXPECT_THROW(RowCollection::parse({bytes.data(), length}, context.memory(), context), Error);
    }
}

TEST(RowCollection, PartsAddUpToTheWhole) {
    QuietContext context;
    for (uint64_t seed = 0; seed < 20; seed++)
        for (const Shape& shape : shapes) {
            const uint64_t cut = random_bits(seed, 1, 0) % 60;
            RowCollection parts = rows_of(seed, 0, cut, shape, context.memory());
            parts.append(rows_of(seed, cut, 60, shape, context.memory()), context);
            EXPECT_EQ(flat(parts), flat(rows_of(seed, 0, 60, shape, context.memory())));
        }
}

TEST(RowCollection, LabelsAreSorted) {
    QuietContext context;
    for (uint64_t seed = 0; seed < 20; seed++) {
        const RowCollection rows = rows_of(seed, 0, 80, {TargetKind::label, true}, context.memory());
        const Dataset dataset = rows.dataset(context);
        EXPECT_TRUE(std::is_sorted(dataset.labels.begin(), dataset.labels.end()));
        size_t at = 0;
        for (uint64_t row = 0; row < 80; row++) {
            const uint64_t bits = random_bits(seed, 0, row);
            if (bits % 11 == 0) continue;
            EXPECT_EQ(dataset.labels[static_cast<size_t>(dataset.target[at])], label_of(bits));
            EXPECT_EQ(dataset.weight[at], static_cast<double>(bits % 4));
            EXPECT_EQ(dataset.features[0].numbers[at], static_cast<double>(bits % 97));
            at++;
        }
        EXPECT_EQ(at, dataset.rows);
    }
}

TEST(RowCollection, RefusesWhatDoesNotGoTogether) {
    QuietContext context;
    for (const Shape& one : shapes)
        for (const Shape& other : shapes) {
            RowCollection rows = rows_of(1, 0, 30, one, context.memory());
            const RowCollection more = rows_of(1, 30, 60, other, context.memory());
            if (one == other)
                EXPECT_NO_THROW(rows.append(more, context));
            else
                EXPECT_THROW(rows.append(more, context), Error);
        }
    RowCollection rows(context.memory());
    const double features[] = {1};
    EXPECT_THROW(rows.add({TargetKind::number, true}, 1, features, -1), Error);
    EXPECT_THROW(rows.add({TargetKind::number, true}, 1, features, null_number), Error);
    EXPECT_THROW(rows.add({TargetKind::number, false}, NAN, features), Error);
}

} // namespace
} // namespace btml::test
