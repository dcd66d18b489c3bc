/* The native mechanism: "cuda" in a device string means another device, at the one place where PyTorch parses such strings.
 *
 * That place is the constructor c10::Device(const std::string&) in libc10. Other libraries call it through a slot of their
 * own global offset table, which the dynamic linker filled in. arm() points these slots at redirected_constructor below,
 * disarm() points them back. No header of torch is needed: the function is found by its mangled name, the string is read in
 * the layout that libstdc++ has given it since 2015, and Python makes sure of the result before it relies on it.
 *
 * ELF and glibc, x86-64 and aarch64. Elsewhere the module compiles, and arm() says that it cannot.
 */
#define _GNU_SOURCE
#include <Python.h>

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#if defined(__linux__) && defined(__GLIBC__) && defined(__LP64__) && (defined(__x86_64__) || defined(__aarch64__))
#define SUPPORTED 1
#else
#define SUPPORTED 0
#endif

#if SUPPORTED
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
#define IS_FUNCTION_SLOT(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT)
#else
#define IS_FUNCTION_SLOT(type) ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT)
#endif

/* The complete and the base object constructor; for a class without virtual bases they are the same code. */
static const char *const CONSTRUCTORS[] = {
    "_ZN3c106DeviceC1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
    "_ZN3c106DeviceC2ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
};

/* std::string of libstdc++'s new ABI. */
typedef struct {
    const char *data;
    size_t size;
    char local[16];
} string;

typedef void (*constructor)(void *device, const string *text);

typedef struct {
    _Atomic(constructor) *address;
    constructor original;
} slot;

#define MAX_SLOTS 256
static slot slots[MAX_SLOTS];
static int slot_count;
static constructor original_constructor;
static char target[12]; /* "musa"; with ":127" it still fits into a local string */

static int is_cuda(const string *text)
{
    if (text->size < 4 || text->size > 8 || memcmp(text->data, "cuda", 4) != 0)
        return 0;
    if (text->size == 4)
        return 1;
    /* Anything else, "cuda:x", goes on as it is: the error then names what the user wrote. */
    if (text->data[4] != ':' || text->size == 5)
        return 0;
    for (size_t i = 5; i < text->size; i++)
        if (text->data[i] < '0' || text->data[i] > '9')
            return 0;
    return 1;
}

/* Compiled with -fexceptions: what the constructor throws passes through here. */
static void redirected_constructor(void *device, const string *text)
{
    if (!is_cuda(text)) {
        original_constructor(device, text);
        return;
    }
    string renamed;
    size_t length = strlen(target);
    memset(&renamed, 0, sizeof renamed);
    memcpy(renamed.local, target, length);
    memcpy(renamed.local + length, text->data + 4, text->size - 4);
    renamed.data = renamed.local;
    renamed.size = length + text->size - 4;
    original_constructor(device, &renamed);
}

/* ---- finding the slots ------------------------------------------------------------------------------------------------ */

typedef struct {
    const ElfW(Sym) *symbols;
    const char *names;
    const ElfW(Rela) *tables[2];
    size_t sizes[2];
} dynamic_section;

static uintptr_t absolute(uintptr_t base, uintptr_t pointer)
{
    return pointer < base ? base + pointer : pointer; /* glibc relocates these entries in place, other linkers do not */
}

static int read_dynamic_section(const struct dl_phdr_info *info, dynamic_section *found)
{
    const ElfW(Dyn) *entry = NULL;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            entry = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    memset(found, 0, sizeof *found);
    for (; entry && entry->d_tag != DT_NULL; entry++) {
        uintptr_t pointer = absolute(info->dlpi_addr, entry->d_un.d_ptr);
        switch (entry->d_tag) {
        case DT_SYMTAB: found->symbols = (const ElfW(Sym) *)pointer; break;
        case DT_STRTAB: found->names = (const char *)pointer; break;
        case DT_JMPREL: found->tables[0] = (const ElfW(Rela) *)pointer; break;
        case DT_PLTRELSZ: found->sizes[0] = entry->d_un.d_val / sizeof(ElfW(Rela)); break;
        case DT_RELA: found->tables[1] = (const ElfW(Rela) *)pointer; break;
        case DT_RELASZ: found->sizes[1] = entry->d_un.d_val / sizeof(ElfW(Rela)); break;
        }
    }
    return found->symbols && found->names;
}

static int names_constructor(const char *name)
{
    return strcmp(name, CONSTRUCTORS[0]) == 0 || strcmp(name, CONSTRUCTORS[1]) == 0;
}

static int is_known(const void *address)
{
    for (int i = 0; i < slot_count; i++)
        if ((const void *)slots[i].address == address)
            return 1;
    return 0;
}

static void remember(uintptr_t address)
{
    _Atomic(constructor) *place = (_Atomic(constructor) *)address;
    if (slot_count == MAX_SLOTS || is_known(place))
        return;
    slots[slot_count].address = place;
    slots[slot_count].original = atomic_load(place);
    slot_count++;
}

/* Not what a slot holds: before its first call that may be the linker's resolver, which would write the slot itself. */
static void look_for_constructor(const char *library)
{
    if (original_constructor || strstr(library, "libc10.so") == NULL)
        return;
    void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == NULL)
        return;
    *(void **)&original_constructor = dlsym(handle, CONSTRUCTORS[0]);
    dlclose(handle);
}

static int visit_library(struct dl_phdr_info *info, size_t size, void *unused)
{
    dynamic_section section;
    (void)size;
    (void)unused;
    look_for_constructor(info->dlpi_name);
    if (!read_dynamic_section(info, &section))
        return 0;
    for (int t = 0; t < 2; t++) {
        for (size_t i = 0; section.tables[t] && i < section.sizes[t]; i++) {
            const ElfW(Rela) *relocation = &section.tables[t][i];
            if (!IS_FUNCTION_SLOT(ELF64_R_TYPE(relocation->r_info)))
                continue;
            const ElfW(Sym) *symbol = &section.symbols[ELF64_R_SYM(relocation->r_info)];
            if (names_constructor(section.names + symbol->st_name))
                remember(info->dlpi_addr + relocation->r_offset);
        }
    }
    return 0;
}

/* ---- writing them ------------------------------------------------------------------------------------------------------ */

static int write_slot(_Atomic(constructor) *address, constructor value)
{
    size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = (void *)((uintptr_t)address & ~(uintptr_t)(page_size - 1));
    if (atomic_load(address) == value)
        return 0;
    /* With full RELRO the page is read-only since the library was loaded. It stays writable: what protection it had is not
       to be learnt without parsing /proc, and other slots of the page may be in use by threads at this moment. */
    if (mprotect(page, page_size, PROT_READ | PROT_WRITE) != 0)
        return -1;
    atomic_store(address, value);
    return 0;
}

static int restore_slots(void)
{
    int failed = 0;
    for (int i = 0; i < slot_count; i++)
        if (atomic_load(slots[i].address) == redirected_constructor)
            failed |= write_slot(slots[i].address, slots[i].original);
    return failed;
}

static int redirect_slots(void)
{
    for (int i = 0; i < slot_count; i++)
        if (write_slot(slots[i].address, redirected_constructor) != 0) {
            restore_slots();
            return -1;
        }
    return 0;
}
#endif /* SUPPORTED */

/* ---- for Python --------------------------------------------------------------------------------------------------------- */

static PyObject *arm(PyObject *module, PyObject *arguments)
{
    const char *name;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "s:arm", &name))
        return NULL;
#if SUPPORTED
    if (strlen(name) >= sizeof target) {
        PyErr_Format(PyExc_ValueError, "device type %s is longer than %d characters", name, (int)sizeof target - 1);
        return NULL;
    }
    dl_iterate_phdr(visit_library, NULL);
    if (slot_count == 0 || original_constructor == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "no loaded library calls c10::Device(const std::string&) through a slot");
        return NULL;
    }
    strcpy(target, name);
    if (redirect_slots() != 0)
        return PyErr_SetFromErrno(PyExc_OSError);
    return PyLong_FromLong(slot_count);
#else
    PyErr_SetString(PyExc_RuntimeError, "needs Linux with glibc on x86-64 or aarch64");
    return NULL;
#endif
}

static PyObject *disarm(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
#if SUPPORTED
    if (restore_slots() != 0)
        return PyErr_SetFromErrno(PyExc_OSError);
#endif
    Py_RETURN_NONE;
}

static PyObject *is_armed(PyObject *module, PyObject *unused)
{
    int armed = 0;
    (void)module;
    (void)unused;
#if SUPPORTED
    for (int i = 0; i < slot_count; i++)
        armed |= atomic_load(slots[i].address) == redirected_constructor;
#endif
    return PyBool_FromLong(armed);
}

static PyMethodDef functions[] = {
    {"arm", arm, METH_VARARGS, "arm(device_type): read \"cuda\" as `device_type`; returns how many call sites that concerns."},
    {"disarm", disarm, METH_NOARGS, "Read device strings as PyTorch does."},
    {"is_armed", is_armed, METH_NOARGS, "Whether any call site is redirected."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_device_parser", "Redirects the place where PyTorch parses device strings.", -1, functions,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__device_parser(void)
{
    return PyModule_Create(&definition);
}
