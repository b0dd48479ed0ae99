#include "core/base/envelope.hpp"

#include "caught.hpp"

#include "core/numbers/rng.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace btml {
namespace {

using test::Caught;
using test::caught;

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
    std::vector<std::byte> bytes;
    for (int value : values) bytes.push_back(static_cast<std::byte>(value));
    return bytes;
}

std::string corruption(const std::function<void()>& read) {
    const Caught error = caught(read);
    EXPECT_TRUE(error.thrown);
    EXPECT_EQ(error.code, ErrorCode::corrupt_model);
    EXPECT_EQ(error.message, "invalid btml.model value");
    return error.detail;
}

TEST(Serial, RoundTrip) {
    QuietContext quiet;
    Writer writer(quiet);
    writer.put(uint8_t{200});
    writer.put(int8_t{-3});
    writer.put(uint16_t{0xbeef});
    writer.put(int32_t{-2'000'000'000});
    writer.put(std::numeric_limits<int64_t>::min());
    writer.put(std::numeric_limits<uint64_t>::max());
    writer.put(true);
    writer.put(false);
    writer.put(-0.0);
    writer.put(std::numeric_limits<double>::denorm_min());
    writer.put(std::numeric_limits<double>::infinity());
    writer.put(std::string_view("na\0me", 5));
    writer.put(std::string_view());
    writer.put_count(2);
    writer.put(uint16_t{7});
    writer.put(uint16_t{8});

    Reader reader(writer.bytes());
    EXPECT_EQ(reader.get<uint8_t>(), 200);
    EXPECT_EQ(reader.get<int8_t>(), -3);
    EXPECT_EQ(reader.get<uint16_t>(), 0xbeef);
    EXPECT_EQ(reader.get<int32_t>(), -2'000'000'000);
    EXPECT_EQ(reader.get<int64_t>(), std::numeric_limits<int64_t>::min());
    EXPECT_EQ(reader.get<uint64_t>(), std::numeric_limits<uint64_t>::max());
    EXPECT_TRUE(reader.get_bool());
    EXPECT_FALSE(reader.get_bool());
    EXPECT_TRUE(std::signbit(reader.get_finite()));
    EXPECT_EQ(reader.get_finite(), std::numeric_limits<double>::denorm_min());
    EXPECT_EQ(reader.get_double(), std::numeric_limits<double>::infinity());
    EXPECT_EQ(reader.get_string(), std::string("na\0me", 5));
    EXPECT_EQ(reader.get_string(), "");
    EXPECT_EQ(reader.get_count(2), 2U);
    EXPECT_EQ(reader.get<uint16_t>(), 7);
    EXPECT_EQ(reader.remaining(), 2U);
    EXPECT_EQ(reader.get<uint16_t>(), 8);
    reader.finish();
}

constexpr SectionKind first_kind{"first"}, second_kind{"second", 3};
constexpr SectionKind both_kinds[] = {first_kind, second_kind};

// A section with one number in it.
void put_section(const SectionKind& kind, int32_t value, Writer& writer) {
    writer.section(kind, [&] { writer.put(value); });
}

TEST(Sections, AreFoundByName) {
    QuietContext quiet;
    Writer writer(quiet);
    put_section({"second", 2}, 22, writer);
    put_section(first_kind, 11, writer);
    Reader reader(writer.bytes());
    Sections sections(reader, both_kinds);
    int32_t first = 0, second = 0;
    uint16_t version = 0;
    sections.require(first_kind, [&] { first = reader.get<int32_t>(); });
    EXPECT_TRUE(sections.read(second_kind, [&] {
        version = reader.section_version();
        second = reader.get<int32_t>();
    }));
    reader.finish();
    EXPECT_EQ(first, 11);
    EXPECT_EQ(second, 22);
    EXPECT_EQ(version, 2);
    EXPECT_EQ(reader.section_version(), 0);
}

TEST(Sections, OneMayBeMissing) {
    QuietContext quiet;
    Writer writer(quiet);
    put_section(first_kind, 11, writer);
    Reader reader(writer.bytes());
    Sections sections(reader, both_kinds);
    EXPECT_FALSE(sections.read(second_kind, [] { ADD_FAILURE(); }));
    EXPECT_EQ(corruption([&] { sections.require(second_kind, [] {}); }), "It has no section \"second\".");
}

TEST(Sections, ThoseOfNewerVersionsAreNamed) {
    QuietContext quiet;
    const auto refusal = [&](std::initializer_list<SectionKind> kinds) {
        Writer writer(quiet);
        for (const SectionKind& kind : kinds) put_section(kind, 1, writer);
        Reader reader(writer.bytes());
        return corruption([&] { Sections(reader, both_kinds); });
    };
    EXPECT_EQ(refusal({first_kind, {"third"}}),
              "It has the section \"third\", which this version of btml does not know.");
    EXPECT_EQ(refusal({{"second", 4}}), "Its section \"second\" has version 4, this version of btml reads 1 to 3.");
    EXPECT_EQ(refusal({{"second", 0}}), "Its section \"second\" has version 0, this version of btml reads 1 to 3.");
    EXPECT_EQ(refusal({first_kind, second_kind, first_kind}), "It has the section \"first\" twice.");
}

TEST(Sections, AreReadToTheirEndAndNotBeyond) {
    QuietContext quiet;
    Writer writer(quiet);
    put_section(first_kind, 11, writer);
    put_section(second_kind, 22, writer);
    Reader reader(writer.bytes());
    Sections sections(reader, both_kinds);
    EXPECT_EQ(corruption([&] { sections.require(first_kind, [&] { reader.get<uint8_t>(); }); }),
              "3 bytes follow its end.");
    Reader other(writer.bytes());
    Sections more(other, both_kinds);
    EXPECT_EQ(corruption([&] { more.require(first_kind, [&] { other.get<uint64_t>(); }); }),
              "It ends early: 4 bytes are left where 8 are needed.");
    const size_t length_of_first = 4 + 5 + 2 + 8 + 4;
    for (size_t length = 1; length < writer.bytes().size(); length++) {
        Reader cut(writer.bytes().first(length));
        EXPECT_EQ(caught([&] { Sections(cut, both_kinds); }).thrown, length != length_of_first) << length;
    }
}

TEST(Serial, ReadingAndWritingPollAndCount) {
    QuietContext quiet;
    Writer writer(quiet);
    for (uint64_t i = 0; i < 500'000; i++) writer.put(i);
    EXPECT_GE(quiet.memory().used(), writer.bytes().size());
    const auto read = [&](RunContext& context) {
        Reader reader(writer.bytes(), context);
        while (reader.remaining() > 0) reader.get<uint64_t>();
    };
    read(quiet);
    for (const uint64_t polls : {0, 1, 5}) {
        test::ImpatientContext impatient(polls);
        EXPECT_THROW(read(impatient), Cancelled);
        test::ImpatientContext another(polls);
        Writer copy(another);
        EXPECT_THROW(
            {
                for (size_t i = 0; i < 500'000; i++) copy.put(i);
            },
            Cancelled);
    }
    Writer text(quiet);
    text.put(std::string_view("twelve bytes"));
    QuietContext small(1, 20);
    Reader reader(text.bytes(), small);
    EXPECT_EQ(reader.get_string(), "twelve bytes");
    EXPECT_EQ(small.memory().used(), 12U);
    EXPECT_EQ(caught([&] { reader.hold(9); }).code, ErrorCode::memory_limit);
    {
        const Reservation held = reader.held();
        EXPECT_EQ(small.memory().used(), 12U);
    }
    EXPECT_EQ(small.memory().used(), 0U);
}

TEST(Serial, LittleEndianOnEveryMachine) {
    QuietContext quiet;
    Writer writer(quiet);
    writer.put(uint32_t{0x01020304});
    writer.put(1.0);
    writer.put(std::string_view("ab"));
    const std::vector<std::byte> expected = bytes_of({4, 3, 2, 1, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 2, 0, 0, 0, 'a', 'b'});
    EXPECT_EQ(std::vector<std::byte>(writer.bytes().begin(), writer.bytes().end()), expected);
}

TEST(Serial, EveryTruncationIsRefused) {
    QuietContext quiet;
    Writer writer(quiet);
    writer.put(uint64_t{5});
    writer.put(std::string_view("abc"));
    writer.put(2.5);
    const auto read = [](std::span<const std::byte> bytes) {
        Reader reader(bytes);
        reader.get<uint64_t>();
        reader.get_string();
        reader.get_finite();
        reader.finish();
    };
    read(writer.bytes());
    for (size_t length = 0; length < writer.bytes().size(); length++)
        corruption([&] { read(writer.bytes().first(length)); });
    EXPECT_EQ(corruption([&] { read(writer.bytes().first(6)); }),
              "It ends early: 6 bytes are left where 8 are needed.");
}

// What is written as a number that must be finite can be read as one.
TEST(Serial, NumbersThatCannotBeReadAreNotWritten) {
    QuietContext quiet;
    const auto refused = [&](double value, bool positive) {
        Writer writer(quiet);
        return caught([&] {
            writer.section({"trees"}, [&] { positive ? writer.put_positive(value) : writer.put_finite(value); });
        });
    };
    for (const double value : {HUGE_VAL, -HUGE_VAL, std::nan("")}) {
        EXPECT_EQ(refused(value, false).message, "a number of the model is not finite");
        EXPECT_EQ(refused(value, false).code, ErrorCode::out_of_range);
        EXPECT_TRUE(refused(value, true).thrown);
    }
    EXPECT_EQ(refused(HUGE_VAL, false).detail, "It would be stored in its section \"trees\".");
    EXPECT_EQ(refused(0, true).message, "a number of the model is not positive");
    EXPECT_FALSE(refused(-1e308, false).thrown);
    EXPECT_FALSE(refused(5e-324, true).thrown);
}

TEST(Serial, HostileBytesAreRefused) {
    EXPECT_EQ(corruption([] { Reader(bytes_of({2})).get_bool(); }), "A boolean has the value 2.");
    QuietContext quiet;
    Writer writer(quiet);
    writer.put(std::nan(""));
    EXPECT_EQ(corruption([&] { Reader(writer.bytes()).get_finite(); }), "A number that must be finite is not.");
    const std::vector<std::byte> huge = bytes_of({255, 255, 255, 255, 'a', 'b'});
    EXPECT_EQ(corruption([&] { Reader(huge).get_string(); }),
              "A list of 4294967295 elements does not fit into the 2 bytes that are left.");
    EXPECT_EQ(corruption([&] { Reader(huge).get_count(8); }),
              "A list of 4294967295 elements does not fit into the 2 bytes that are left.");
    EXPECT_EQ(corruption([&] { Reader(huge).finish(); }), "6 bytes follow its end.");
    const std::vector<std::byte> one_too_many = bytes_of({2, 0, 0, 0, 1, 1, 1});
    EXPECT_EQ(Reader(one_too_many).get_count(1), 2U);
    corruption([&] { Reader(one_too_many).get_count(2); });
}

// Any bytes either decode or are refused; the sanitizers see to the rest.
TEST(Serial, RandomBytes) {
    for (uint64_t seed = 0; seed < 2'000; seed++) {
        std::vector<std::byte> bytes(random_bits(seed, 0, 0) % 40);
        for (size_t i = 0; i < bytes.size(); i++)
            bytes[i] = static_cast<std::byte>(random_bits(seed, 1, i) >> (random_bits(seed, 2, i) % 64));
        const auto end = caught([&] {
            Reader reader(bytes);
            for (uint64_t step = 0;; step++) {
                switch (random_bits(seed, 3, step) % 4) {
                case 0:
                    reader.get_bool();
                    break;
                case 1:
                    EXPECT_LE(reader.get_string().size(), bytes.size());
                    break;
                case 2:
                    EXPECT_LE(reader.get_count(3) * 3, bytes.size());
                    break;
                default:
                    reader.get_finite();
                }
            }
        });
        EXPECT_EQ(end.code, ErrorCode::corrupt_model) << end.message;
    }
}

TEST(Serial, CountsBeyond32BitsAreRefused) {
    QuietContext quiet;
    Writer writer(quiet);
    const Caught error = caught([&] { writer.put_count(size_t{1} << 32); });
    EXPECT_EQ(error.code, ErrorCode::limit_exceeded);
    EXPECT_EQ(error.message, "a model holds lists of at most 4294967295 elements, this one has 4294967296");
}

TEST(Envelope, GivesBackWhatWasPutIn) {
    QuietContext quiet;
    const std::vector<std::byte> payload(5, std::byte{1}), note(3, std::byte{2});
    Digest digest;
    for (size_t i = 0; i < digest.size(); i++) digest[i] = static_cast<std::byte>(i);
    const Writer writer = make_envelope(ModelKind::gaussian_process, digest, payload, note, quiet);
    const Envelope envelope = open_envelope(writer.bytes());
    EXPECT_EQ(envelope.kind, ModelKind::gaussian_process);
    EXPECT_EQ(envelope.digest, digest);
    EXPECT_EQ(envelope.portable.size(), envelope_header_size + payload.size());
    EXPECT_TRUE(std::ranges::equal(envelope.payload, payload));
    EXPECT_TRUE(std::ranges::equal(envelope.note, note));
}

TEST(Envelope, RefusesEveryShorterLength) {
    QuietContext quiet;
    const Writer writer = make_envelope(ModelKind::boosted_trees, {}, std::vector<std::byte>(4), {}, quiet);
    const std::span<const std::byte> bytes = writer.bytes();
    for (size_t n = 0; n < bytes.size(); n++) EXPECT_THROW(open_envelope(bytes.first(n)), Error) << n;
}

} // namespace
} // namespace btml
