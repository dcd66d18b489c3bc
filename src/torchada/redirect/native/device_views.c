/* What code sees of a device: whether there is one, and its type and its text, with "cuda" for code that sees CUDA and the backend's
 * name for any other.
 *
 * The functions here stand in the place of torch.device's own: a getter of `type`, and tp_str and tp_repr. Who asks follows from the
 * globals of the frame that is running, whose module is looked up in a table of the views; what is not in it is decided in Python.
 * A device is one byte for its type and one for its index, after the head of the object: Python makes sure of that before it relies
 * on it. torch composes a text each time it is asked for one, so texts that are made once and kept pay for the question.
 */
#include <Python.h>

#define TEXTS 129 /* one without an index, and one for each index of an int8 */
enum { OF_THE_BACKEND, OF_CUDA, VIEWS };

typedef struct {
    PyObject_HEAD
    unsigned char type;
    signed char index;
} device;

typedef struct {
    reprfunc own;                 /* torch's own function */
    PyObject *kept[VIEWS][TEXTS]; /* its texts of the backend's devices; never freed, as interned strings are not */
} texts;

static struct {
    int device_type;      /* the byte of the backend's type; -1 before the first `bind` */
    PyObject *own_type;   /* torch's own descriptor of `type` */
    PyObject *types[256]; /* the name of each type, as torch says it */
    texts str, repr;
    PyObject *name;       /* of the backend's type, for example "musa" */
    PyObject *devices;    /* the function that says whether there are devices of the backend */
    PyObject *table, *decide;
    PyObject *nameless, *cuda, *module_cuda, *key_name, *key_file;
} state = {.device_type = -1};

/* ---- who asks ----------------------------------------------------------------------------------------------------------- */

/* The key of a module in the table, borrowed: its file, because several modules may share a name; otherwise its name, or "". */
static PyObject *key_of(PyObject *globals)
{
    PyObject *file = PyDict_GetItemWithError(globals, state.key_file);
    if (file != NULL && PyUnicode_CheckExact(file))
        return file;
    PyObject *name = PyDict_GetItemWithError(globals, state.key_name);
    return name != NULL && PyUnicode_CheckExact(name) ? name : state.nameless;
}

/* Python answers where a decision fails. What it raises is the program's: an interrupt, or a fault in strict mode. */
static int decided(PyObject *globals)
{
    PyObject *answer = PyObject_CallFunctionObjArgs(state.decide, globals, NULL);
    if (answer == NULL)
        return -1;
    int sees_cuda = PyObject_IsTrue(answer);
    Py_DECREF(answer);
    return sees_cuda < 0 ? -1 : sees_cuda ? OF_CUDA : OF_THE_BACKEND;
}

/* -1, and an error is set, where the decision raises. */
static int view(void)
{
    PyObject *globals = PyEval_GetGlobals();
    if (globals == NULL)
        return OF_THE_BACKEND; /* C code without a frame */
    PyObject *key = key_of(globals);
    PyObject *known = PyDict_GetItemWithError(state.table, key);
    if (known == NULL)
        PyErr_Clear();
    if (known == NULL)
        return decided(globals);
    return known == Py_True ? OF_CUDA : OF_THE_BACKEND;
}

/* ---- what it sees ------------------------------------------------------------------------------------------------------- */

static PyObject *shared(PyObject *text)
{
    Py_INCREF(text);
    return text;
}

static PyObject *type_of(PyObject *self, void *unused)
{
    unsigned char type = ((device *)self)->type;
    (void)unused;
    if (type == state.device_type) {
        int seen = view();
        if (seen < 0)
            return NULL;
        if (seen == OF_CUDA)
            return shared(state.cuda);
    }
    if (state.types[type] == NULL) {
        state.types[type] = PyObject_CallMethod(state.own_type, "__get__", "OO", self, (PyObject *)Py_TYPE(self));
        if (state.types[type] == NULL)
            return NULL;
    }
    return shared(state.types[type]);
}

/* torch's own text, with the type renamed where the view is that of CUDA: a text of a device contains its type once. */
static PyObject *made(PyObject *self, const texts *of, int view)
{
    PyObject *own = of->own(self);
    if (own == NULL || view == OF_THE_BACKEND)
        return own;
    PyObject *renamed = PyUnicode_Replace(own, state.name, state.cuda, 1);
    Py_DECREF(own);
    return renamed;
}

static PyObject *text_of(PyObject *self, texts *of)
{
    int place = ((device *)self)->index + 1;
    if (((device *)self)->type != state.device_type)
        return of->own(self);
    int seen = view();
    if (seen < 0)
        return NULL;
    if (place < 0 || place >= TEXTS)
        return made(self, of, seen);
    PyObject **kept = &of->kept[seen][place];
    if (*kept == NULL) {
        PyObject *text = made(self, of, seen);
        if (text == NULL || *kept != NULL) /* made by a decision in Python meanwhile */
            return text;
        *kept = text;
    }
    return shared(*kept);
}

static PyObject *str_of(PyObject *self)
{
    return text_of(self, &state.str);
}

static PyObject *repr_of(PyObject *self)
{
    return text_of(self, &state.repr);
}

static PyObject *str_method(PyObject *self, PyObject *unused)
{
    (void)unused;
    return text_of(self, &state.str);
}

static PyObject *repr_method(PyObject *self, PyObject *unused)
{
    (void)unused;
    return text_of(self, &state.repr);
}

static PyObject *is_available(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    int seen = view();
    if (seen < 0)
        return NULL;
    return seen == OF_CUDA ? PyObject_CallNoArgs(state.devices) : shared(Py_False);
}

/* ---- for Python --------------------------------------------------------------------------------------------------------- */

static PyGetSetDef type_definition = {"type", type_of, NULL, NULL, NULL};
static PyMethodDef str_definition = {"__str__", str_method, METH_NOARGS, "Return str(self)."};
static PyMethodDef available_definition = {
    "is_available", is_available, METH_NOARGS, "is_available()\n--\n\nReturn a bool indicating if CUDA is currently available."};
static PyMethodDef repr_definition = {"__repr__", repr_method, METH_NOARGS, "Return repr(self)."};

static void keep(PyObject **place, PyObject *value)
{
    PyObject *before = *place;
    Py_INCREF(value);
    *place = value;
    Py_XDECREF(before);
}

/* Only the first time: later, the type may have our functions in its slots. */
static int read_type(PyTypeObject *type, PyObject *example)
{
    if (state.device_type >= 0)
        return 0;
    state.own_type = PyObject_GetAttrString((PyObject *)type, "type");
    if (state.own_type == NULL)
        return -1;
    state.str.own = (reprfunc)PyType_GetSlot(type, Py_tp_str);
    state.repr.own = (reprfunc)PyType_GetSlot(type, Py_tp_repr);
    state.device_type = ((device *)example)->type;
    return 0;
}

static PyObject *ask(PyObject *module, PyObject *arguments)
{
    PyObject *table, *decide;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!O:ask", &PyDict_Type, &table, &decide))
        return NULL;
    keep(&state.table, table);
    keep(&state.decide, decide);
    return shared(Py_None);
}

static PyObject *available(PyObject *module, PyObject *devices)
{
    (void)module;
    keep(&state.devices, devices);
    return PyCFunction_NewEx(&available_definition, NULL, state.module_cuda);
}

static PyObject *bind(PyObject *module, PyObject *arguments)
{
    PyObject *example, *name;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OU:bind", &example, &name) || read_type(Py_TYPE(example), example) < 0)
        return NULL;
    keep(&state.name, name);
    PyTypeObject *type = Py_TYPE(example);
    return Py_BuildValue("{s:N,s:N,s:N}", "type", PyDescr_NewGetSet(type, &type_definition), "__str__",
                         PyDescr_NewMethod(type, &str_definition), "__repr__", PyDescr_NewMethod(type, &repr_definition));
}

static PyObject *slots(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return Py_BuildValue("{s:N,s:N}", "tp_str", PyLong_FromVoidPtr((void *)str_of), "tp_repr",
                         PyLong_FromVoidPtr((void *)repr_of));
}

static PyObject *slots_of(PyObject *module, PyObject *type)
{
    (void)module;
    if (!PyType_Check(type))
        return PyErr_Format(PyExc_TypeError, "slots_of() takes a type, not %R", type);
    return Py_BuildValue("{s:N,s:N}", "tp_str", PyLong_FromVoidPtr(PyType_GetSlot((PyTypeObject *)type, Py_tp_str)), "tp_repr",
                         PyLong_FromVoidPtr(PyType_GetSlot((PyTypeObject *)type, Py_tp_repr)));
}

static PyObject *bytes_of(PyObject *module, PyObject *self)
{
    (void)module;
    return Py_BuildValue("(ii)", ((device *)self)->type, ((device *)self)->index);
}

static PyMethodDef functions[] = {
    {"ask", ask, METH_VARARGS,
     "ask(table, decide): who sees CUDA is in `table` by module from now on; `decide(globals)` answers for others."},
    {"bind", bind, METH_VARARGS,
     "bind(device, name): the descriptors `type`, `__str__` and `__repr__` for the type of `device`, which is one of the backend's,\n"
     "whose type is called `name`."},
    {"available", available, METH_O,
     "available(devices): a function for torch.cuda.is_available, which asks `devices()` for code that sees CUDA and says False to\n"
     "other code."},
    {"slots", slots, METH_NOARGS, "The addresses of the functions for tp_str and tp_repr."},
    {"slots_of", slots_of, METH_O, "The addresses that a type has in tp_str and tp_repr."},
    {"bytes_of", bytes_of, METH_O, "The two bytes of a device, as they are in memory: its type and its index."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_device_views", "What code sees of a device, by who asks: whether there is one, its type and its text.", -1, functions,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__device_views(void)
{
    state.nameless = PyUnicode_InternFromString("");
    state.cuda = PyUnicode_InternFromString("cuda");
    state.module_cuda = PyUnicode_InternFromString("torch.cuda");
    state.key_name = PyUnicode_InternFromString("__name__");
    state.key_file = PyUnicode_InternFromString("__file__");
    if (!state.nameless || !state.cuda || !state.module_cuda || !state.key_name || !state.key_file)
        return NULL;
    return PyModule_Create(&definition);
}
