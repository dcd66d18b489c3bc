/* Texts of the errors that PyTorch raises from C++.
 *
 * Each of them becomes one of Python's in one function, torch::translate_exception_to_python, which all of PyTorch's bindings call. arm()
 * leads these calls to `translate` below, which lets the original make the error and then asks a function of Python which error to raise.
 * Nothing is called, and nothing costs anything, where there is no error. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "linked_function.h"

#include <string.h>

#if CALLS_CAN_BE_LED
static const char *const NAMES[] = {"_ZN5torch29translate_exception_to_pythonERKNSt15__exception_ptr13exception_ptrE", NULL};
static linked_function translator = {.names = NAMES};
static PyObject *replace_error; /* a function of the error; NULL when nothing is armed. Read and written with the GIL */

/* An error of its own would hide the program's, so it is shown and dropped. */
static void replace_current(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyObject *function = replace_error;
    Py_INCREF(function);
    PyObject *answer = PyObject_CallFunctionObjArgs(function, value, NULL);
    if (answer == NULL) {
        PyErr_WriteUnraisable(function);
    } else if (PyExceptionInstance_Check(answer)) {
        Py_DECREF(type);
        Py_DECREF(value);
        type = (PyObject *)Py_TYPE(answer);
        Py_INCREF(type);
        value = answer;
    } else {
        Py_DECREF(answer);
    }
    Py_DECREF(function);
    PyErr_Restore(type, value, traceback);
}

static void translate(const void *exception)
{
    ((void (*)(const void *))translator.address)(exception);
    if (replace_error != NULL && PyErr_Occurred() != NULL)
        replace_current();
}
#endif

static PyObject *arm(PyObject *module, PyObject *function)
{
    (void)module;
#if CALLS_CAN_BE_LED
    const char *why = translator.address ? NULL : find_function(&translator);
    if (why == NULL)
        why = lead_calls(&translator, translator.address, (uintptr_t)translate);
    if (why == NULL && translator.call_sites == 0)
        why = "no loaded library calls it through a slot";
    if (why)
        return PyErr_Format(PyExc_RuntimeError, "redirecting torch::translate_exception_to_python: %s", why);
    PyObject *before = replace_error;
    Py_INCREF(function);
    replace_error = function;
    Py_XDECREF(before);
    return PyLong_FromLong(translator.call_sites);
#else
    (void)function;
    PyErr_SetString(PyExc_RuntimeError, "needs Linux with glibc on x86-64 or aarch64");
    return NULL;
#endif
}

static PyObject *disarm(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
#if CALLS_CAN_BE_LED
    PyObject *before = replace_error;
    replace_error = NULL;
    Py_XDECREF(before);
    if (translator.address) {
        const char *why = lead_calls(&translator, (uintptr_t)translate, translator.address);
        if (why)
            return PyErr_Format(PyExc_RuntimeError, "putting back torch::translate_exception_to_python: %s", why);
    }
#endif
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"arm", arm, METH_O, "arm(function): raise function(error) for each error that PyTorch raises from C++; returns how many call sites."},
    {"disarm", disarm, METH_NOARGS, "Let PyTorch raise its errors as it does."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_error_texts", "Leads the place where PyTorch makes errors of Python.", -1, functions,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__error_texts(void)
{
    return PyModule_Create(&definition);
}
