/* The native mechanism: "cuda" in a device string means another device, at the one place where PyTorch parses such strings.
 *
 * That place is the constructor c10::Device(const std::string&) in libc10. arm() leads the calls of it, from all libraries of the
 * process and from those it will load, to redirected_constructor below; disarm() leads them back. No header of torch is needed: the
 * function is found by its mangled name, the string is read in the layout that libstdc++ has given it since 2015, and Python makes
 * sure of the result before it relies on it.
 *
 * ELF and glibc, x86-64 and aarch64. Elsewhere the module compiles, and arm() says that it cannot.
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

/* What "cuda" means: "musa", say. NULL while nothing is armed: a call that comes late changes nothing then. */
static _Atomic(const char *) device_type;
#define LONGEST_DEVICE_TYPE 11 /* with ":127" it still fits into a local string */

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
    void (*original)(void *, const string *) = (void (*)(void *, const string *))constructor.address;
    const char *name = atomic_load(&device_type);
    if (name == NULL || !is_cuda(text)) {
        original(device, text);
        return;
    }
    string renamed;
    size_t length = strlen(name);
    memset(&renamed, 0, sizeof renamed);
    memcpy(renamed.local, name, length);
    memcpy(renamed.local + length, text->data + 4, text->size - 4);
    renamed.data = renamed.local;
    renamed.size = length + text->size - 4;
    original(device, &renamed);
}

static PyObject *error(const char *doing, const char *why)
{
    return PyErr_Format(PyExc_RuntimeError, "%s c10::Device(const std::string&): %s", doing, why);
}

/* A copy that is never freed, for a thread may be reading it whenever that would be. Programs arm with one name. */
static const char *kept(const char *name)
{
    static char names[4][LONGEST_DEVICE_TYPE + 1];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i][0] == '\0')
            strcpy(names[i], name);
        if (strcmp(names[i], name) == 0)
            return names[i];
    }
    return NULL;
}

static PyObject *redirect(const char *name)
{
    /* Once: where putting back has failed, the definition is not what the library said. */
    const char *why = constructor.address ? NULL : find_function(&constructor);
    if (why)
        return error("finding", why);
    atomic_store(&device_type, name);
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
    if ((name = kept(name)) == NULL)
        return PyErr_Format(PyExc_RuntimeError, "armed for too many device types in one process");
    return redirect(name);
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
