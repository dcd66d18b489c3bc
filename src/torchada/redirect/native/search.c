/* Which entries of many dictionaries are one of some objects?
 *
 * A process with torch has some fifty thousand globals. Python code that compares their identities has to take hold of each object, and
 * fetches most of them from memory for that. Here, pointers are compared, and the objects stay where they are. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

/* A set of pointers with open addressing; a quarter of it is filled at most. */
typedef struct {
    PyObject **places;
    size_t mask;
} pointers;

static PyObject **place_of(const pointers *set, PyObject *object)
{
    size_t i = (size_t)(((uint64_t)(uintptr_t)object >> 4) * 0x9E3779B97F4A7C15u >> 32);
    for (i &= set->mask; set->places[i] != NULL && set->places[i] != object; i = (i + 1) & set->mask)
        ;
    return &set->places[i];
}

static int fill(pointers *set, PyObject *objects)
{
    Py_ssize_t count = PyList_Size(objects);
    size_t size = 8;
    while (size < (size_t)count * 4)
        size *= 2;
    set->mask = size - 1;
    set->places = PyMem_Calloc(size, sizeof *set->places);
    if (set->places == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *object = PyList_GetItem(objects, i);
        *place_of(set, object) = object;
    }
    return 0;
}

static int append(PyObject *found, Py_ssize_t number, PyObject *key, PyObject *value)
{
    PyObject *entry = Py_BuildValue("nOO", number, key, value);
    int failed = entry == NULL || PyList_Append(found, entry) != 0;
    Py_XDECREF(entry);
    return failed ? -1 : 0;
}

static int look_through(const pointers *wanted, Py_ssize_t number, PyObject *entries, PyObject *found)
{
    PyObject *key, *value;
    Py_ssize_t position = 0;
    if (!PyDict_Check(entries)) {
        PyErr_SetString(PyExc_TypeError, "expected a list of dictionaries");
        return -1;
    }
    while (PyDict_Next(entries, &position, &key, &value))
        if (*place_of(wanted, value) != NULL && append(found, number, key, value) != 0)
            return -1;
    return 0;
}

static PyObject *find(PyObject *module, PyObject *arguments)
{
    PyObject *dictionaries, *objects, *found;
    pointers wanted;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!O!:find", &PyList_Type, &dictionaries, &PyList_Type, &objects))
        return NULL;
    found = PyList_New(0);
    if (found == NULL || fill(&wanted, objects) != 0) {
        Py_XDECREF(found);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyList_Size(dictionaries); i++)
        if (look_through(&wanted, i, PyList_GetItem(dictionaries, i), found) != 0) {
            Py_CLEAR(found);
            break;
        }
    PyMem_Free(wanted.places);
    return found;
}

static PyMethodDef methods[] = {
    {"find", find, METH_VARARGS, "find(dictionaries, objects): (number of the dictionary, key, value) of each entry that is one of them."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_search", "Which entries of many dictionaries are one of some objects?", 0, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__search(void)
{
    return PyModuleDef_Init(&definition);
}
