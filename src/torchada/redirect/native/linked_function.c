/* Redirect the calls of a function, by changing what the dynamic linker has written and what it will read.
 *
 * A library calls another's function through a slot of its own global offset table. The linker fills the slot in when the library
 * is loaded, or at the first call, with what the symbol table of the defining library says. So two kinds of places are changed:
 * the symbol's entry in that table, from which every library loaded later gets the new address, in whatever way it is loaded, and
 * every slot that the linker has filled in already. The other slots are left to the linker.
 *
 * No address of a slot is kept: undo walks the libraries that are loaded by then, so one that has been unloaded is not touched.
 * Walking and writing happen within dl_iterate_phdr, during which no library can be unloaded. */
#define _GNU_SOURCE
#include "linked_function.h"

#if CALLS_CAN_BE_LED
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { JUMP_SLOT = R_X86_64_JUMP_SLOT, GLOB_DAT = R_X86_64_GLOB_DAT };
#else
enum { JUMP_SLOT = R_AARCH64_JUMP_SLOT, GLOB_DAT = R_AARCH64_GLOB_DAT };
#endif

static char reason[512];

/* ---- reading a loaded library ---------------------------------------------------------------------------------------------- */

typedef struct {
    const struct dl_phdr_info *info;
    uintptr_t base;
    ElfW(Sym) *symbols;
    const char *names;
    const uint32_t *hashes;
    const ElfW(Rela) *tables[2];
    size_t sizes[2];
    size_t relative; /* how many relocations at the beginning of the second table name no symbol: most, in a large library */
} library;

static uintptr_t absolute(uintptr_t base, uintptr_t pointer)
{
    return pointer < base ? base + pointer : pointer; /* glibc relocates these entries in place, but not the kernel's vdso */
}

static int read_library(const struct dl_phdr_info *info, library *found)
{
    const ElfW(Dyn) *entry = NULL;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            entry = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    memset(found, 0, sizeof *found);
    found->info = info;
    found->base = info->dlpi_addr;
    for (; entry && entry->d_tag != DT_NULL; entry++) {
        uintptr_t pointer = absolute(info->dlpi_addr, entry->d_un.d_ptr);
        switch (entry->d_tag) {
        case DT_SYMTAB: found->symbols = (ElfW(Sym) *)pointer; break;
        case DT_STRTAB: found->names = (const char *)pointer; break;
        case DT_GNU_HASH: found->hashes = (const uint32_t *)pointer; break;
        case DT_JMPREL: found->tables[0] = (const ElfW(Rela) *)pointer; break;
        case DT_PLTRELSZ: found->sizes[0] = entry->d_un.d_val / sizeof(ElfW(Rela)); break;
        case DT_RELA: found->tables[1] = (const ElfW(Rela) *)pointer; break;
        case DT_RELASZ: found->sizes[1] = entry->d_un.d_val / sizeof(ElfW(Rela)); break;
        case DT_RELACOUNT: found->relative = entry->d_un.d_val; break;
        }
    }
    if (found->tables[1] && found->relative <= found->sizes[1]) {
        found->tables[1] += found->relative;
        found->sizes[1] -= found->relative;
    }
    return found->symbols && found->names;
}

/* The library's own definition of this name, found as the linker finds it. */
static ElfW(Sym) *definition(const library *in, const char *name)
{
    if (in->hashes == NULL || in->hashes[0] == 0)
        return NULL;
    uint32_t hash = 5381, buckets = in->hashes[0], first = in->hashes[1], filter_words = in->hashes[2];
    for (const char *c = name; *c; c++)
        hash = hash * 33 + (unsigned char)*c;
    const uint32_t *bucket = in->hashes + 4 + filter_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *chain = bucket + buckets;
    uint32_t i = bucket[hash % buckets];
    if (i < first)
        return NULL;
    for (;; i++) {
        uint32_t entry = chain[i - first];
        ElfW(Sym) *symbol = &in->symbols[i];
        if ((entry | 1) == (hash | 1) && symbol->st_shndx != SHN_UNDEF && strcmp(in->names + symbol->st_name, name) == 0)
            return symbol;
        if (entry & 1)
            return NULL;
    }
}

/* Symbols that are not defined have no hash, and precede those that have one. A library without exported definitions has an empty
   hash table; how many symbols it has is then known only from the relocations that use them. */
static size_t end_of_undefined(const library *in)
{
    if (in->hashes && in->hashes[1] > 1)
        return in->hashes[1];
    size_t last = 0;
    for (int t = 0; t < 2; t++)
        for (size_t i = 0; in->tables[t] && i < in->sizes[t]; i++)
            if (ELF64_R_SYM(in->tables[t][i].r_info) > last)
                last = ELF64_R_SYM(in->tables[t][i].r_info);
    return last + 1;
}

/* The number of the symbol of this name in the library's table, defined or imported; 0 when it is not there. Looked up first,
   because libraries have hundreds of thousands of relocations, and few concern us. */
static size_t symbol_number(const library *in, const char *name)
{
    const ElfW(Sym) *own = definition(in, name);
    if (own)
        return (size_t)(own - in->symbols);
    for (size_t i = 1, end = end_of_undefined(in); i < end; i++)
        if (strcmp(in->names + in->symbols[i].st_name, name) == 0)
            return i;
    return 0;
}

/* ---- finding the definition -------------------------------------------------------------------------------------------------- */

static int look_for_definition(struct dl_phdr_info *info, size_t size, void *argument)
{
    linked_function *function = argument;
    library in;
    (void)size;
    if (!read_library(info, &in))
        return 0;
    for (const char *const *name = function->names; *name; name++) {
        const ElfW(Sym) *symbol = definition(&in, *name);
        uintptr_t address = symbol ? in.base + symbol->st_value : 0;
        if (address == 0 || address == function->address)
            continue;
        if (function->address != 0) {
            snprintf(reason, sizeof reason, "both %s and %s define it", function->library, info->dlpi_name);
            return 1;
        }
        function->address = address;
        function->library = info->dlpi_name;
    }
    return 0;
}

const char *find_function(linked_function *function)
{
    function->address = 0;
    if (dl_iterate_phdr(look_for_definition, function) != 0) {
        function->address = 0;
        return reason;
    }
    return function->address ? NULL : "no loaded library defines it";
}

/* ---- writing ------------------------------------------------------------------------------------------------------------------ */

/* The protection of a page that the linker makes read-only once it has relocated the library, perhaps now in another thread. */
static int protection_now(uintptr_t page)
{
    char line[256], permissions[5];
    uintptr_t start, end;
    int found = PROT_READ | PROT_WRITE; /* where the kernel does not say, the page is left writable */
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx %4s", &start, &end, permissions) != 3 || page < start || page >= end)
            continue;
        found = PROT_READ | (permissions[1] == 'w' ? PROT_WRITE : 0) | (permissions[2] == 'x' ? PROT_EXEC : 0);
        break;
    }
    if (maps)
        fclose(maps);
    return found;
}

static int protection(const library *of, uintptr_t page, size_t page_size)
{
    int found = 0;
    for (int i = 0; i < of->info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &of->info->dlpi_phdr[i];
        uintptr_t start = (of->base + segment->p_vaddr) & ~(page_size - 1), end = of->base + segment->p_vaddr + segment->p_memsz;
        if (segment->p_type == PT_GNU_RELRO && page >= start && page < (end & ~(page_size - 1)))
            return protection_now(page);
        if (segment->p_type == PT_LOAD && page >= start && page < end)
            found = (segment->p_flags & PF_R ? PROT_READ : 0) | (segment->p_flags & PF_W ? PROT_WRITE : 0) |
                    (segment->p_flags & PF_X ? PROT_EXEC : 0);
    }
    return found;
}

/* Replace the word at `place` if it is `from`; afterwards the page is protected as before. Returns 0 or an errno. Meanwhile, other
   threads may call through it and run code of the same page. */
static int replace(const library *of, void *place, uintptr_t from, uintptr_t to)
{
    _Atomic(uintptr_t) *word = place;
    if (atomic_load(word) != from)
        return 0;
    size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t page = (uintptr_t)place & ~(page_size - 1);
    int before = protection(of, page, page_size);
    if (!(before & PROT_WRITE) && mprotect((void *)page, page_size, before | PROT_WRITE) != 0)
        return errno;
    atomic_compare_exchange_strong(word, &from, to); /* unless the linker has changed it */
    if (!(before & PROT_WRITE))
        mprotect((void *)page, page_size, before);
    return 0;
}

typedef struct {
    linked_function *function;
    uintptr_t from, to;
} change;

static int failed(const library *in, int error)
{
    if (error)
        snprintf(reason, sizeof reason, "%s cannot be written to: %s", in->info->dlpi_name, strerror(error));
    return error;
}

static int change_definition(struct dl_phdr_info *info, size_t size, void *argument)
{
    const change *wanted = argument;
    library in;
    (void)size;
    if (!read_library(info, &in))
        return 0;
    for (const char *const *name = wanted->function->names; *name; name++) {
        ElfW(Sym) *symbol = definition(&in, *name);
        /* The linker adds the library's base to it. An address outside the library wraps round, as it does when it is added. */
        if (symbol) {
            int error = replace(&in, &symbol->st_value, wanted->from - in.base, wanted->to - in.base);
            if (error)
                return failed(&in, error);
        }
    }
    return 0;
}

static int change_slots_of(const library *in, size_t number, const change *wanted)
{
    const ElfW(Xword) infos[2] = {ELF64_R_INFO(number, JUMP_SLOT), ELF64_R_INFO(number, GLOB_DAT)};
    for (int t = 0; t < 2; t++)
        for (size_t i = 0; in->tables[t] && i < in->sizes[t]; i++) {
            const ElfW(Rela) *relocation = &in->tables[t][i];
            if (relocation->r_info != infos[0] && relocation->r_info != infos[1])
                continue;
            wanted->function->call_sites++;
            int error = replace(in, (void *)(in->base + relocation->r_offset), wanted->from, wanted->to);
            if (error)
                return failed(in, error);
        }
    return 0;
}

static int change_slots(struct dl_phdr_info *info, size_t size, void *argument)
{
    const change *wanted = argument;
    library in;
    (void)size;
    if (!read_library(info, &in))
        return 0;
    for (const char *const *name = wanted->function->names; *name; name++) {
        size_t number = symbol_number(&in, *name);
        int error = number ? change_slots_of(&in, number, wanted) : 0;
        if (error)
            return error;
    }
    return 0;
}

/* The same look-up as for a library that is loaded later. */
static const char *ask_the_linker(const linked_function *function, uintptr_t expected)
{
    void *defining = dlopen(function->library, RTLD_LAZY | RTLD_NOLOAD);
    uintptr_t found = defining ? (uintptr_t)dlsym(defining, function->names[0]) : 0;
    if (defining)
        dlclose(defining);
    return found == expected ? NULL : "the dynamic linker does not follow the symbol's new entry";
}

const char *lead_calls(linked_function *function, uintptr_t from, uintptr_t to)
{
    change wanted = {function, from, to};
    function->call_sites = 0;
    /* The definition first, so that what the linker fills in from now on is right. */
    if (dl_iterate_phdr(change_definition, &wanted) != 0 || dl_iterate_phdr(change_slots, &wanted) != 0)
        return reason;
    return ask_the_linker(function, to);
}
#endif /* CALLS_CAN_BE_LED */
