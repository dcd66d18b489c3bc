/* The native mechanism: "cuda" in a device string means another device, at the one place where PyTorch parses such strings.
 *
 * That place is the constructor c10::Device(const std::string&) in libc10. arm() leads the calls of it, from all libraries of the
 * process and from those it will load, to redirected_constructor below; disarm() leads them back. No header of torch is needed: the
 * function is found by its mangled name, the string is read in the layout that libstdc++ has given it since 2015, and Python makes
 * sure of the result before it relies on it.
 *
 * ELF and glibc, x86-64 and aarch64. Elsewhere the module compiles, and arm() reports that it cannot work.
 */
#include <Python.h>

#include <stdatomic.h>
#include <string.h>

#include "linked_function.h"

#if CALLS_CAN_BE_LED
/* The complete and the base object constructor; for a class without virtual bases they are the same code. */
static const char *const CONSTRUCTORS[] = {
    "_ZN3c106DeviceC1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
    "_ZN3c106DeviceC2ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
    NULL,
};
static linked_function constructor = {.names = CONSTRUCTORS};

/* std::string of libstdc++'s new ABI. */
typedef struct {
    const char *data;
    size_t size;
    char local[16];
} string;

#define LONGEST_DEVICE_TYPE 11 /* with ":127" it still fits into a local string */
#define DEVICES 129            /* one without an index, and one for each index of an int8 */

/* What "cuda" stands for, and the devices that were made for it: their two bytes, a type and an index, and MADE. */
typedef struct {
    char name[LONGEST_DEVICE_TYPE + 1]; /* for example "musa" */
    atomic_uint made[DEVICES];
} replacement;
#define MADE 0x10000u

/* NULL while nothing is armed: a late call then changes nothing. */
static _Atomic(replacement *) device_type;

enum { OTHER_INDEX = DEVICES, NOT_CUDA };

/* The position of `text` among the devices. OTHER_INDEX: "cuda" with a number that torch may refuse, or take as another one.
 * Anything else, such as "cuda:x", is NOT_CUDA and is passed on unchanged, so that the error names what the user wrote. */
static unsigned place_of(const string *text)
{
    if (text->size < 4 || memcmp(text->data, "cuda", 4) != 0)
        return NOT_CUDA;
    if (text->size == 4)
        return 0;
    if (text->data[4] != ':' || text->size == 5)
        return NOT_CUDA;
    unsigned index = 0;
    for (size_t i = 5; i < text->size; i++) {
        if (text->data[i] < '0' || text->data[i] > '9')
            return NOT_CUDA;
        if (index < DEVICES)
            index = 10 * index + (unsigned)(text->data[i] - '0');
    }
    int leading_zero = text->data[5] == '0' && text->size > 6;
    return leading_zero || index + 1 >= DEVICES ? OTHER_INDEX : index + 1;
}

typedef void constructor_function(void *device, const string *text);

static constructor_function *original(void)
{
    return (constructor_function *)constructor.address;
}

/* Keep what the constructor makes of `renamed`, if a device still is two bytes and nothing else. */
static void learn(atomic_uint *made, const string *renamed)
{
    unsigned char of_zeros[64], of_ones[64], zeros[64], ones[64];
    memset(of_zeros, 0, sizeof of_zeros);
    memset(zeros, 0, sizeof zeros);
    memset(of_ones, 0xff, sizeof of_ones);
    memset(ones, 0xff, sizeof ones);
    original()(of_zeros, renamed);
    original()(of_ones, renamed);
    if (memcmp(of_zeros, of_ones, 2) == 0 && memcmp(of_zeros + 2, zeros, sizeof zeros - 2) == 0 &&
        memcmp(of_ones + 2, ones, sizeof ones - 2) == 0)
        atomic_store(made, MADE | (unsigned)of_zeros[0] << 8 | of_zeros[1]);
}

/* Compiled with -fexceptions: what the constructor throws passes through here. */
static void construct(void *device, const string *text, replacement *type, unsigned place)
{
    string renamed;
    size_t length = strlen(type->name);
    memset(&renamed, 0, sizeof renamed);
    memcpy(renamed.local, type->name, length);
    memcpy(renamed.local + length, text->data + 4, text->size - 4);
    renamed.data = renamed.local;
    renamed.size = length + text->size - 4;
    original()(device, &renamed);
    learn(&type->made[place], &renamed);
}

/* Torch decides what the number means, and its error names what the user wrote. The type is the first byte. */
static void construct_other(void *device, const string *text, replacement *type)
{
    unsigned char own[64];
    string cuda = {"cuda", 4, ""};
    construct(own, &cuda, type, 0);
    original()(device, text);
    ((unsigned char *)device)[0] = own[0];
}

static void redirected_constructor(void *device, const string *text)
{
    replacement *type = atomic_load(&device_type);
    unsigned place = type == NULL ? NOT_CUDA : place_of(text);
    if (place == NOT_CUDA) {
        original()(device, text);
        return;
    }
    unsigned made = place < DEVICES ? atomic_load(&type->made[place]) : 0;
    if (made & MADE) {
        ((unsigned char *)device)[0] = (unsigned char)(made >> 8);
        ((unsigned char *)device)[1] = (unsigned char)made;
    } else if (place < DEVICES) {
        construct(device, text, type, place);
    } else {
        construct_other(device, text, type);
    }
}

static PyObject *error(const char *doing, const char *why)
{
    return PyErr_Format(PyExc_RuntimeError, "%s c10::Device(const std::string&): %s", doing, why);
}

/* Never freed, because a thread may be reading it at any time. Programs arm with one name. */
static replacement *kept(const char *name)
{
    static replacement types[4];
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].name[0] == '\0')
            strcpy(types[i].name, name);
        if (strcmp(types[i].name, name) == 0)
            return &types[i];
    }
    return NULL;
}

static PyObject *redirect(replacement *type)
{
    /* Only once: after a failed attempt to put it back, the definition is not the library's own. */
    const char *why = constructor.address ? NULL : find_function(&constructor);
    if (why)
        return error("finding", why);
    atomic_store(&device_type, type);
    why = lead_calls(&constructor, constructor.address, (uintptr_t)redirected_constructor);
    if (why == NULL && constructor.call_sites == 0)
        why = "no loaded library calls it through a slot";
    if (why == NULL)
        return PyLong_FromLong(constructor.call_sites);
    error("redirecting", why);
    atomic_store(&device_type, NULL);
    lead_calls(&constructor, (uintptr_t)redirected_constructor, constructor.address);
    return NULL;
}
#endif

/* ---- for Python --------------------------------------------------------------------------------------------------------- */

static PyObject *arm(PyObject *module, PyObject *arguments)
{
    const char *name;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "s:arm", &name))
        return NULL;
#if CALLS_CAN_BE_LED
    size_t length = strlen(name);
    if (length == 0 || length > LONGEST_DEVICE_TYPE)
        return PyErr_Format(PyExc_ValueError, "device type '%s' is empty or longer than %d characters", name,
                            LONGEST_DEVICE_TYPE);
    replacement *type = kept(name);
    if (type == NULL)
        return PyErr_Format(PyExc_RuntimeError, "armed for too many device types in one process");
    return redirect(type);
#else
    PyErr_SetString(PyExc_RuntimeError, "needs Linux with glibc on x86-64 or aarch64");
    return NULL;
#endif
}

static PyObject *disarm(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
#if CALLS_CAN_BE_LED
    if (atomic_exchange(&device_type, NULL) != NULL) {
        const char *why = lead_calls(&constructor, (uintptr_t)redirected_constructor, constructor.address);
        if (why)
            return error("putting back", why);
    }
#endif
    Py_RETURN_NONE;
}

static PyObject *is_armed(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
#if CALLS_CAN_BE_LED
    return PyBool_FromLong(atomic_load(&device_type) != NULL);
#else
    return PyBool_FromLong(0);
#endif
}

static PyMethodDef functions[] = {
    {"arm", arm, METH_VARARGS, "arm(device_type): read \"cuda\" as `device_type`; returns how many call sites that concerns."},
    {"disarm", disarm, METH_NOARGS, "Read device strings as PyTorch does."},
    {"is_armed", is_armed, METH_NOARGS, "Whether device strings are redirected."},
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
