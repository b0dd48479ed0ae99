// Large pages for memory that is read at random: fewer of its addresses have to be looked up in page tables.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace btml {

// Asks the system for large pages behind memory of zeros; where it has none, nothing changes. Small pages that are
// there since the memory was another's are given back, because they would stay: what comes in their place is zeros,
// too.
inline void prefer_huge_pages([[maybe_unused]] void* memory, [[maybe_unused]] size_t bytes) {
#ifdef MADV_HUGEPAGE
    const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE)), address = reinterpret_cast<uintptr_t>(memory);
    const uintptr_t begin = (address + page - 1) / page * page, end = (address + bytes) / page * page;
    if (begin < end && madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE) == 0)
        madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
#endif
}

} // namespace btml
