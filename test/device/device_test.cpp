// Compares what btml_cuda.so computes with the processor and with brute force: device_test path/of/btml_cuda.so. Ends
// with 77 where there is no such library, or no device.
#include "caught.hpp"
#include "device_absent.hpp"
#include "device_program.hpp"
#include "kernel_data.hpp"

#include <chrono>
#include <cstring>

namespace btml::test {
namespace {

int passed = 0, failed = 0;

void expect(bool holds, const std::string& what) {
    (holds ? passed : failed)++;
    if (!holds) std::printf("FAILED: %s\n", what.c_str());
}

// Tells how far off values are, as a part of the largest that is expected.
template <class A, class B>
double error_of(const A& values, const B& expected) {
    double scale = 0, error = 0;
    for (const double value : expected) scale = std::max(scale, std::abs(value));
    for (size_t i = 0; i < expected.size(); i++) {
        const double off = std::abs(values[i] - expected[i]);
        error = off <= error ? error : off; // also where it is no number
    }
    return error / scale;
}

void expect_near(double error, double limit, const std::string& what) {
    expect(error <= limit, format("%s: off by %.2g, not %.2g at most", what.c_str(), error, limit));
}

struct SumsCase {
    kernel::Kernel kernel;
    size_t dimensions, columns;
    double spread; // of the keys, in bandwidths
    kernel::Quantity quantity;
    size_t keys = 700, queries = 130;
};

Rows values_of(const SumsCase& of) {
    Rows values = normal_rows(of.keys, of.columns, 1, 2);
    if (of.quantity != kernel::Quantity::sum)
        for (std::vector<double>& row : values) row[0] = 0.1 + std::abs(row[0]);
    return values;
}

// Far clusters make wide blocks.
Buffer<double> sums(const SumsCase& of, RunContext& context) {
    Rows keys = blob_rows(of.keys, of.dimensions, 5, of.spread, 1, 1);
    Rows queries = blob_rows(of.queries, of.dimensions, 5, of.spread, 1, 1);
    for (std::vector<double>& row : queries) row[0] += 0.25;
    const kernel::Options options = exact_options(std::sqrt(static_cast<double>(of.dimensions)), of.kernel);
    kernel::KernelSums sums(keys_of(keys, values_of(of), context), of.quantity, options, context);
    return std::move(sums.evaluate(points_of(queries, context)).values);
}

void test_sums(const std::string& library) {
    QuietContext processor(2);
    const auto compare = [&](const SumsCase& of) {
        DeviceContext device(library, 2);
        const Buffer<double> expected = sums(of, processor), values = sums(of, device), again = sums(of, device);
        const std::string what =
            format("sums of %s, %zu dimensions, %zu columns, spread %g, %zu keys, %zu queries",
                   kernel::facts_of(of.kernel).name, of.dimensions, of.columns, of.spread, of.keys, of.queries);
        expect(device.device().failure.empty(), what + ": " + device.device().failure);
        expect_near(error_of(values, expected), 1e-5, what);
        expect(std::equal(values.begin(), values.end(), again.begin()), what + ": other bits the second time");
    };
    using enum kernel::Quantity;
    for (size_t i = 0; i < kernel::Kernels::size; i++)
        for (const double spread : {1.0, 30.0, 1e5})
            for (const size_t dimensions : {1, 3, 16, 33, 100})
                compare({kernel::Kernel{static_cast<uint8_t>(i)}, dimensions, 1, spread, sum});
    for (const size_t columns : {2, 3, 65, 140}) compare({{}, 5, columns, 1, mean});
    compare({{}, 5, 1, 1, density});
    compare({{}, 2, 1, 1, sum, 1, 1});
    compare({{}, 2, 1, 1, sum, 17, 1});
    compare({{}, 2, 1, 1, sum, 300, 128});
    compare({{}, 2, 1, 1, sum, 20'000, 129});
    compare({{}, 2, 1, 1, sum, 300, 70'000});
}

void test_attention(const std::string& library) {
    QuietContext processor(2);
    DeviceContext device(library, 2);
    const auto evaluate = [](RunContext& context) {
        kernel::Options options;
        options.method = kernel::Method::exact;
        kernel::Attention attention(keys_of(normal_rows(3'000, 64, 1, 1), normal_rows(3'000, 64, 1, 2), context),
                                    options, context);
        return std::move(attention.evaluate(points_of(normal_rows(500, 64, 1, 3), context)).values);
    };
    expect_near(error_of(evaluate(device), evaluate(processor)), 1e-5, "attention");
    expect(device.device().failure.empty(), "attention: " + device.device().failure);
}

// Gives up while the device sums, and says how long it took to be heard.
class ImpatientContext : public DeviceContext {
  public:
    explicit ImpatientContext(const std::string& path) : DeviceContext(path, 2) {}
    bool keep_going() override { return !gave_up_; }
    void progress(const char* phase, uint64_t done, uint64_t) override {
        if (gave_up_ || std::strcmp(phase, "sums of a kernel") != 0 || done == 0) return;
        gave_up_ = true;
        start_ = std::chrono::steady_clock::now();
    }
    bool gave_up() const { return gave_up_; }
    double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

  private:
    bool gave_up_ = false;
    std::chrono::steady_clock::time_point start_;
};

void test_cancel(const std::string& library) {
    ImpatientContext context(library);
    bool cancelled = false;
    try {
        sums({{}, 16, 1, 1, kernel::Quantity::sum, 100'000, 1'000'000}, context);
    } catch (const Cancelled&) {
        cancelled = true;
    }
    expect(context.gave_up() && cancelled, "sums of a caller that gave up went on");
    expect(context.seconds() < 0.2, format("a cancelled caller waited for %.2g s", context.seconds()));
}

// A process of inducing points and rows, and what brute force makes of them.
struct Gp {
    uint32_t kind;
    size_t numbers, categories, count, rows;
    std::vector<double> inducing, points, roots, targets, penalties, factor{};
    double signal = 1.5;

    Gp(uint32_t kind_, size_t numbers_, size_t categories_, size_t count_, size_t rows_)
        : kind(kind_), numbers(numbers_), categories(categories_), count(count_), rows(rows_) {
        Normals normal(kind * 1000 + numbers);
        const auto point = [&](std::vector<double>& to) {
            for (size_t c = 0; c < numbers; c++) to.push_back(normal());
            for (size_t c = 0; c < categories; c++) to.push_back(static_cast<double>(normal.below(3)));
        };
        for (size_t u = 0; u < count; u++) point(inducing);
        for (size_t i = 0; i < rows; i++) {
            point(points);
            roots.push_back(0.5 + normal.unit());
            targets.push_back(normal());
        }
        for (size_t c = 0; c < categories; c++) penalties.push_back(0.3 + 0.4 * static_cast<double>(c));
        // Any lower triangle with a large diagonal will do for a factor.
        factor.assign(count * count, std::nan("")); // nobody is to read what is above the diagonal
        for (size_t i = 0; i < count; i++)
            for (size_t j = 0; j <= i; j++) factor[i * count + j] = i == j ? 2 + normal.unit() : 0.1 * normal();
    }
    size_t width() const { return numbers + categories; }
    double covariance(size_t row, size_t u) const {
        const double *const a = &points[row * width()], *const b = &inducing[u * width()];
        double square = 0, penalty = 0;
        for (size_t c = 0; c < numbers; c++) square += (a[c] - b[c]) * (a[c] - b[c]);
        for (size_t c = numbers; c < width(); c++) penalty += a[c] == b[c] ? 0 : penalties[c - numbers];
        const double r = std::sqrt(square), r3 = std::sqrt(3.0) * r, r5 = std::sqrt(5.0) * r;
        const double shape = kind == 0   ? std::exp(-square / 2)
                             : kind == 1 ? (1 + r3) * std::exp(-r3)
                                         : (1 + r5 + r5 * r5 / 3) * std::exp(-r5);
        return roots[row] * signal * shape * std::exp(-penalty);
    }
    std::vector<double> covariances(size_t row) const {
        std::vector<double> k(count);
        for (size_t u = 0; u < count; u++) k[u] = covariance(row, u);
        return k;
    }
    std::vector<double> whitened(size_t row) const {
        std::vector<double> v = covariances(row);
        for (size_t i = 0; i < count; i++) {
            for (size_t j = 0; j < i; j++) v[i] -= factor[i * count + j] * v[j];
            v[i] /= factor[i * count + i];
        }
        return v;
    }
    btml_cuda_gp abi() const { return {kind, numbers, width(), count, penalties.data(), signal, inducing.data()}; }
    btml_cuda_rows some(size_t begin, size_t end) const {
        return {end - begin, points.data() + begin * width(), roots.data() + begin};
    }
};

void succeed(const char* failure, const char* what) {
    expect(!failure, format("%s: %s", what, failure ? failure : ""));
}

void test_moments(const device::Library& library, const Gp& process) {
    const size_t count = process.count, middle = process.rows / 3;
    std::vector<double> products(count * count), projections(count), values(count * count), projected(count);
    for (size_t row = 0; row < process.rows; row++) {
        const std::vector<double> v = process.whitened(row);
        for (size_t i = 0; i < count; i++) {
            projections[i] += process.targets[row] * v[i];
            for (size_t j = 0; j <= i; j++) products[i * count + j] += v[i] * v[j];
        }
    }
    void* handle = nullptr;
    uint64_t max_rows = 0;
    const btml_cuda_gp abi = process.abi();
    succeed(library.open_gp(&abi, &handle, &max_rows), "open_gp");
    expect(max_rows > 0, "no row at a time");
    for (int time = 0; time < 2; time++) { // the second one begins anew
        succeed(library.begin_moments(handle, process.factor.data()), "begin_moments");
        const btml_cuda_rows first = process.some(0, middle), rest = process.some(middle, process.rows);
        succeed(library.add_moments(handle, &first, process.targets.data()), "add_moments");
        succeed(library.add_moments(handle, &rest, process.targets.data() + middle), "add_moments");
        succeed(library.take_moments(handle, values.data(), projected.data()), "take_moments");
    }
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++) values[i * count + j] = 0;
    const std::string what =
        format("moments of kind %u, %zu numbers, %zu categories", process.kind, process.numbers, process.categories);
    expect_near(error_of(values, products), 1e-12, what);
    expect_near(error_of(projected, projections), 1e-12, what + ", projections");
    library.close_gp(handle);
}

void test_forms(const device::Library& library, const Gp& process) {
    const size_t count = process.count;
    std::vector<double> solution(count), a(count * count), b(count * count);
    Normals normal(9);
    for (size_t i = 0; i < count; i++) {
        solution[i] = normal();
        for (size_t j = 0; j <= i; j++) {
            a[i * count + j] = a[j * count + i] = normal();
            b[i * count + j] = b[j * count + i] = normal();
        }
    }
    std::vector<double> means, forms(2 * process.rows);
    for (size_t row = 0; row < process.rows; row++) {
        const std::vector<double> k = process.covariances(row);
        double mean = 0;
        for (size_t i = 0; i < count; i++) {
            mean += k[i] * solution[i];
            for (size_t j = 0; j < count; j++) {
                forms[row] += k[i] * a[i * count + j] * k[j];
                forms[process.rows + row] += k[i] * b[i * count + j] * k[j];
            }
        }
        means.push_back(mean);
    }
    void* handle = nullptr;
    uint64_t max_rows = 0;
    const btml_cuda_gp abi = process.abi();
    succeed(library.open_gp(&abi, &handle, &max_rows), "open_gp");
    expect(max_rows > 0, "no row at a time");
    const double* const matrices[] = {a.data(), b.data()};
    succeed(library.begin_forms(handle, solution.data(), 2, matrices), "begin_forms");
    const btml_cuda_rows all = process.some(0, process.rows);
    std::vector<double> found(process.rows), of_matrices(2 * process.rows);
    succeed(library.find_forms(handle, &all, found.data(), of_matrices.data()), "find_forms");
    const std::string what =
        format("forms of kind %u, %zu numbers, %zu categories", process.kind, process.numbers, process.categories);
    expect_near(error_of(found, means), 1e-12, what + ", means");
    expect_near(error_of(of_matrices, forms), 1e-12, what);
    library.close_gp(handle);
}

void test_errors(const device::Library& library) {
    Gp process(0, 2, 0, 3, 4);
    process.kind = 7;
    void* handle = nullptr;
    uint64_t max_rows = 0;
    const btml_cuda_gp abi = process.abi();
    const char* const failure = library.open_gp(&abi, &handle, &max_rows);
    expect(failure && std::strstr(failure, "7"), "a kind that is none");
    btml_cuda_keys keys{};
    keys.kernel = "parabola";
    uint64_t max_queries = 0;
    const char* const refused = library.open_sums(&keys, &handle, &max_queries);
    expect(refused && std::strstr(refused, "parabola"), "a kernel that is none");
}

int test(const std::string& path) {
    DeviceContext context(path, 2);
    sums({{}, 1, 1, 1, kernel::Quantity::sum}, context);
    if (const std::string& failure = context.device().failure; !failure.empty()) {
        const bool is_absent = !std::filesystem::exists(path) || is_device_absent(failure);
        std::printf("%s: %s\n", is_absent ? "left out" : "FAILED", failure.c_str());
        return is_absent ? 77 : 1;
    }
    const device::Library& library = device::Library::at(path);
    test_sums(path);
    test_attention(path);
    test_cancel(path);
    for (uint32_t kind = 0; kind < 3; kind++)
        for (const Gp& process :
             {Gp(kind, 1, 0, 1, 5), Gp(kind, 3, 2, 37, 1'000), Gp(kind, 0, 2, 8, 100), Gp(kind, 20, 0, 260, 3'000)}) {
            test_moments(library, process);
            test_forms(library, process);
        }
    test_errors(library);
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}

} // namespace
} // namespace btml::test

int main(int arguments, char** argument) {
    return btml::test::run_with_library(arguments, argument, btml::test::test);
}
