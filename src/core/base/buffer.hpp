// A growable array of trivially copyable elements whose capacity is counted against a MemoryBudget.
// It grows with realloc: large blocks move by remapping pages, so growth neither copies nor doubles the memory held.
#pragma once

#include "core/base/run_context.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace btml {

template <class T>
class Buffer {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    // `what` names the content in the error when the budget is exceeded; a string literal.
    Buffer(MemoryBudget& budget, const char* what) : budget_(&budget), what_(what) {}
    // Makes a buffer with `size` elements, uninitialised.
    Buffer(MemoryBudget& budget, const char* what, size_t size) : Buffer(budget, what) { resize(size); }
    // Makes a buffer of `size` copies of `value`. Zeros come from calloc and take no time until they are used.
    Buffer(MemoryBudget& budget, const char* what, size_t size, T value) : Buffer(budget, what) {
        static constexpr unsigned char no_bits[sizeof(T)] = {};
        const bool zeros = std::memcmp(&value, no_bits, sizeof(T)) == 0;
        set_capacity(size, zeros);
        size_ = size;
        if (!zeros) std::fill(begin(), end(), value);
    }
    ~Buffer() { free_all(); }
    Buffer(Buffer&& other) noexcept
        : budget_(other.budget_),
          what_(other.what_),
          data_(std::exchange(other.data_, nullptr)),
          size_(std::exchange(other.size_, 0)),
          capacity_(std::exchange(other.capacity_, 0)) {}
    Buffer& operator=(Buffer&& other) noexcept {
        if (this != &other) {
            free_all();
            budget_ = other.budget_;
            what_ = other.what_;
            data_ = std::exchange(other.data_, nullptr);
            size_ = std::exchange(other.size_, 0);
            capacity_ = std::exchange(other.capacity_, 0);
        }
        return *this;
    }

    void push_back(T value) {
        if (size_ == capacity_) [[unlikely]]
            reserve(size_ + 1);
        data_[size_++] = value;
    }
    // The values are not of this buffer, which may move.
    void append(std::span<const T> values) {
        reserve(size_ + values.size());
        std::copy(values.begin(), values.end(), end());
        size_ += values.size();
    }
    // push_back for which reserve() has made room.
    void append_reserved(T value) noexcept { data_[size_++] = value; }
    // Elements beyond the old size are uninitialised.
    void resize(size_t size) {
        if (size > capacity_) set_capacity(size);
        size_ = size;
    }
    // Room for `capacity` elements at least; grows geometrically, so that many small reservations stay cheap.
    void reserve(size_t capacity) {
        if (capacity > capacity_) set_capacity(std::max<size_t>({capacity, 2 * capacity_, min_bytes / sizeof(T)}));
    }
    void shrink_to_fit() {
        if (size_ < capacity_) set_capacity(size_);
    }
    // Returns a buffer with the same elements, of the context's memory.
    Buffer copy(RunContext& context) const {
        Buffer copied(context.memory(), what_, size_);
        context.in_blocks(size_, 1, [&](uint64_t from, uint64_t to) {
            std::copy(begin() + from, begin() + to, copied.begin() + from);
        });
        return copied;
    }
    void clear() noexcept {
        free_all();
        data_ = nullptr;
        size_ = capacity_ = 0;
    }

    size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    T* data() noexcept { return data_; }
    const T* data() const noexcept { return data_; }
    T& operator[](size_t i) noexcept { return data_[i]; }
    const T& operator[](size_t i) const noexcept { return data_[i]; }
    T* begin() noexcept { return data_; }
    T* end() noexcept { return data_ + size_; }
    const T* begin() const noexcept { return data_; }
    const T* end() const noexcept { return data_ + size_; }
    std::span<const T> span() const noexcept { return {data_, size_}; }
    MemoryBudget& budget() const noexcept { return *budget_; }
    const char* what() const noexcept { return what_; }

  private:
    static constexpr size_t min_bytes = 64; // of a buffer that grows

    // zeros: of an empty buffer, whose pages the system clears when they are first used.
    void set_capacity(size_t capacity, bool zeros = false) {
        if (capacity > std::numeric_limits<size_t>::max() / sizeof(T)) throw std::bad_alloc();
        if (capacity > capacity_) budget_->acquire((capacity - capacity_) * sizeof(T), what_);
        if (capacity == 0) {
            clear();
            return;
        }
        void* moved = zeros ? budget_->zeros(capacity * sizeof(T)) : budget_->resize_block(data_, capacity * sizeof(T));
        if (!moved) {
            if (capacity > capacity_) budget_->release((capacity - capacity_) * sizeof(T));
            throw std::bad_alloc();
        }
        if (capacity < capacity_) budget_->release((capacity_ - capacity) * sizeof(T));
        data_ = static_cast<T*>(moved);
        capacity_ = capacity;
    }
    void free_all() noexcept {
        if (capacity_ == 0) return;
        budget_->free_block(data_);
        budget_->release(capacity_ * sizeof(T));
    }

    MemoryBudget* budget_;
    const char* what_;
    T* data_ = nullptr;
    size_t size_ = 0, capacity_ = 0;
};

} // namespace btml
