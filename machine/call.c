/* Calls machine code from Python: `kernel`, `add` and `level` of machine/calling.py.

   A kernel is a builtin function over a list of forms, which only grows. A form is code for
   arguments of certain layouts, `int64_t code(int64_t *block)`; a call writes the arguments into a block of words, see
   machine/layouts.py. The extension is in Python's limited interface: one file serves all versions from 3.11 on. */

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__) || defined(_M_X64)
#define IS_X86
#include <immintrin.h>
#ifdef _MSC_VER
#include <intrin.h>
#else
#include <cpuid.h>
#endif
#endif

/* How many dtypes a layout remembers, words a block on the stack has, entries a returned tuple has
   at most, and how deep tuples lie in one another at most. */
enum { SEEN = 8, WORDS = 128, MOST_RETURNED = 8, MOST_DEPTH = 8 };

/* The layout of an argument. */
typedef struct Layout {
    char kind;                /* see layouts.py */
    char is_contiguous, is_writable;
    Py_ssize_t count;         /* dimensions of an array, entries of a tuple */
    PyObject *text;           /* of an array's dtype */
    PyObject *seen[SEEN];     /* dtypes that were found to have this text */
    struct Layout *entries;
} Layout;

typedef int64_t (*Code)(int64_t *);

typedef struct {
    Code code;
    Py_ssize_t count, words;
    Layout *layouts;
    char returned[MOST_RETURNED + 2];
} Form;

/* What a kernel's builtin function is bound to. It takes part in garbage collection, since
   `otherwise` mostly refers to the kernel. */
typedef struct {
    PyObject_HEAD
    PyObject *otherwise;
    int holds_gil;
    Py_ssize_t count;         /* forms; the last thing that `add` writes */
    Form **forms;
    PyMethodDef method;
    char *name;
} Kernel;

static PyObject *text_of;     /* layouts.text_of */
static PyObject *kernel_type;

/* Layouts from Python. */

static void free_layout(Layout *layout) {
    Py_XDECREF(layout->text);
    for (int k = 0; k < SEEN; k++) Py_XDECREF(layout->seen[k]);
    if (layout->entries)
        for (Py_ssize_t k = 0; k < layout->count; k++) free_layout(layout->entries + k);
    free(layout->entries);
}

static int refuse(void) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "this is no layout of a kernel's argument");
    return -1;
}

/* Read a layout; return the words that it fills, or -1. */
static Py_ssize_t read_layout(PyObject *given, Layout *layout, int depth) {
    memset(layout, 0, sizeof *layout);
    if (!PyTuple_Check(given) || PyTuple_Size(given) < 1 || depth > MOST_DEPTH) return refuse();
    PyObject *kind = PyTuple_GetItem(given, 0);
    const char *text = PyUnicode_Check(kind) ? PyUnicode_AsUTF8AndSize(kind, NULL) : NULL;
    if (!text || strlen(text) != 1) return refuse();
    Py_ssize_t size = PyTuple_Size(given);
    switch (layout->kind = text[0]) {
    case 'A': {
        if (size != 5 || !PyUnicode_Check(PyTuple_GetItem(given, 1))) return refuse();
        layout->count = PyLong_AsSsize_t(PyTuple_GetItem(given, 2));
        if (PyErr_Occurred() || layout->count < 0 || layout->count > 32) return refuse();
        if (!PyBool_Check(PyTuple_GetItem(given, 3)) || !PyBool_Check(PyTuple_GetItem(given, 4))) return refuse();
        layout->is_contiguous = PyTuple_GetItem(given, 3) == Py_True;
        layout->is_writable = PyTuple_GetItem(given, 4) == Py_True;
        layout->text = PyTuple_GetItem(given, 1);
        Py_INCREF(layout->text);
        return 1 + 2 * layout->count;
    }
    case 'T': {
        if (size != 3 || !PyTuple_Check(PyTuple_GetItem(given, 2))) return refuse();
        PyObject *entries = PyTuple_GetItem(given, 2);
        Py_ssize_t count = PyTuple_Size(entries), words = 0;
        layout->entries = calloc((size_t)count + 1, sizeof(Layout));
        if (!layout->entries) { PyErr_NoMemory(); return -1; }
        for (; layout->count < count; layout->count++) {
            Py_ssize_t more = read_layout(
                PyTuple_GetItem(entries, layout->count), layout->entries + layout->count, depth + 1);
            if (more < 0) { layout->count++; return -1; }
            words += more;
        }
        return words;
    }
    case 'n':
        return size == 1 ? 0 : refuse();
    case 'b': case 'i': case 'u': case 'f': case 'g':
        return size == 1 ? 1 : refuse();
    }
    return refuse();
}

/* Arguments into words. */

/* Whether a dtype is that of a layout: 1, 0, or -1 for an error. */
static int is_of(Layout *layout, PyObject *dtype) {
    for (int k = 0; k < SEEN && layout->seen[k]; k++)
        if (layout->seen[k] == dtype) return 1;
    PyObject *text = PyObject_CallFunctionObjArgs(text_of, dtype, NULL);
    if (!text) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_ValueError)) return -1;
        PyErr_Clear();
        return 0;
    }
    int is_same = PyUnicode_Compare(text, layout->text) == 0;
    Py_DECREF(text);
    for (int k = 0; is_same && k < SEEN; k++)
        if (!layout->seen[k]) {
            Py_INCREF(dtype);
            layout->seen[k] = dtype;
            break;
        }
    return is_same;
}

/* Write an argument's words: 1, 0 if it does not fit the layout, or -1 for an error. */
static int write_words(Layout *layout, PyObject *given, int64_t **at) {
    switch (layout->kind) {
    case 'A': {
        if (!PyArray_Check(given)) return 0;
        PyArrayObject *array = (PyArrayObject *)given;
        if (PyArray_NDIM(array) != layout->count) return 0;
        int fits = is_of(layout, (PyObject *)PyArray_DESCR(array));
        if (fits != 1) return fits;
        int flags = PyArray_FLAGS(array);
        if (layout->is_contiguous && !(flags & NPY_ARRAY_C_CONTIGUOUS)) return 0;
        if (layout->is_writable && !(flags & NPY_ARRAY_WRITEABLE)) return 0;
        int64_t *word = *at;
        *word++ = (int64_t)(intptr_t)PyArray_DATA(array);
        for (Py_ssize_t k = 0; k < layout->count; k++) *word++ = PyArray_DIM(array, (int)k);
        for (Py_ssize_t k = 0; k < layout->count; k++) *word++ = PyArray_STRIDE(array, (int)k);
        *at = word;
        return 1;
    }
    case 'T':
        if (!PyTuple_Check(given) || PyTuple_Size(given) != layout->count) return 0;
        for (Py_ssize_t k = 0; k < layout->count; k++) {
            int fits = write_words(layout->entries + k, PyTuple_GetItem(given, k), at);
            if (fits != 1) return fits;
        }
        return 1;
    case 'i': case 'u': {
        int is_plain = PyLong_Check(given);
        if (layout->kind == 'u' && !PyArray_IsScalar(given, UInt64)) return 0;
        if (is_plain ? PyBool_Check(given) : !PyArray_IsScalar(given, Integer)) return 0;
        PyObject *number = is_plain ? given : PyNumber_Index(given);
        if (!number) {            /* numpy counts durations among its integers */
            if (!PyErr_ExceptionMatches(PyExc_TypeError)) return -1;
            PyErr_Clear();
            return 0;
        }
        if (layout->kind == 'i') *(*at)++ = PyLong_AsLongLong(number);
        else *(*at)++ = (int64_t)PyLong_AsUnsignedLongLong(number);
        if (!is_plain) Py_DECREF(number);
        if ((*at)[-1] != -1 || !PyErr_Occurred()) return 1;
        if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return -1;
        PyErr_Clear();
        return 0;
    }
    case 'b':
        if (!PyBool_Check(given) && !PyArray_IsScalar(given, Bool)) return 0;
        *(*at)++ = PyObject_IsTrue(given);
        return 1;
    case 'f': case 'g': {
        int is_single = PyArray_IsScalar(given, Float);
        if (layout->kind == 'g' ? !is_single : !PyFloat_Check(given)) return 0;
        double number = PyFloat_AsDouble(given);
        if (number == -1 && PyErr_Occurred()) return -1;
        memcpy((*at)++, &number, sizeof number);
        return 1;
    }
    }
    return given == Py_None;
}

static PyObject *as_object(char kind, int64_t word) {
    double number;
    switch (kind) {
    case 'i': return PyLong_FromLongLong(word);
    case 'u': return PyLong_FromUnsignedLongLong((uint64_t)word);
    case 'b': return PyBool_FromLong(word != 0);
    case 'f': case 'g':
        memcpy(&number, &word, sizeof number);
        return PyFloat_FromDouble(number);
    }
    Py_INCREF(Py_None);
    return Py_None;
}

/* The state of floating-point numbers: kernels round to nearest, and trap nothing. */

#ifdef IS_X86
typedef unsigned State;
static State state_now(void) { return _mm_getcsr(); }
static void set_state(State state) { _mm_setcsr(state); }
enum { USUAL = 0x1F80, FLAGS = 0x3F };
#elif defined(__aarch64__)
typedef uint64_t State;
static State state_now(void) { State s; __asm__ volatile("mrs %0, fpcr" : "=r"(s)); return s; }
static void set_state(State s) { __asm__ volatile("msr fpcr, %0" : : "r"(s)); }
enum { USUAL = 0, FLAGS = 0 };
#else
typedef int State;
static State state_now(void) { return 0; }
static void set_state(State state) { (void)state; }
enum { USUAL = 0, FLAGS = 0 };
#endif

static int64_t run(const Kernel *kernel, Code code, int64_t *block) {
    State before = state_now();
    int is_usual = (before & ~(State)FLAGS) == USUAL;
    int64_t answer;
    if (!is_usual) set_state(USUAL);
    if (kernel->holds_gil) answer = code(block);
    else {
        Py_BEGIN_ALLOW_THREADS
        answer = code(block);
        Py_END_ALLOW_THREADS
    }
    set_state(before);
    return answer;
}

static PyObject *call_form(const Kernel *kernel, const Form *form, PyObject *const *given, int *fits) {
    int64_t room[WORDS], *block = room;
    if (form->words + MOST_RETURNED > WORDS) {
        block = malloc((size_t)(form->words + MOST_RETURNED) * sizeof *block);
        if (!block) return PyErr_NoMemory();
    }
    int64_t *at = block;
    PyObject *answer = NULL;
    *fits = 1;
    for (Py_ssize_t k = 0; k < form->count && *fits == 1; k++)
        *fits = write_words(form->layouts + k, given[k], &at);
    if (*fits == 1) {
        int64_t word = run(kernel, form->code, block);
        if (form->returned[0] != 'T') answer = as_object(form->returned[0], word);
        else {
            Py_ssize_t count = (Py_ssize_t)strlen(form->returned) - 1;
            answer = PyTuple_New(count);
            for (Py_ssize_t k = 0; answer && k < count; k++) {
                PyObject *entry = as_object(form->returned[1 + k], block[k]);
                if (!entry || PyTuple_SetItem(answer, k, entry) < 0) Py_CLEAR(answer);
            }
        }
    }
    if (block != room) free(block);
    return answer;
}

static PyObject *call(PyObject *self, PyObject *const *given, Py_ssize_t count) {
    const Kernel *kernel = (const Kernel *)self;
    for (Py_ssize_t k = 0; k < kernel->count; k++) {
        const Form *form = kernel->forms[k];
        int fits = 0;
        if (form->count != count) continue;
        PyObject *answer = call_form(kernel, form, given, &fits);
        if (fits == 1 || PyErr_Occurred()) return answer;
    }
    if (!kernel->otherwise) return PyErr_Format(PyExc_RuntimeError, "%s is gone", kernel->name);
    PyObject *arguments = PyTuple_New(count), *answer = NULL;
    for (Py_ssize_t k = 0; arguments && k < count; k++) {
        Py_INCREF(given[k]);
        PyTuple_SetItem(arguments, k, given[k]);
    }
    if (arguments) answer = PyObject_Call(kernel->otherwise, arguments, NULL);
    Py_XDECREF(arguments);
    return answer;
}

static void free_form(Form *form) {
    for (Py_ssize_t k = 0; k < form->count; k++) free_layout(form->layouts + k);
    free(form->layouts);
    free(form);
}

static int visit_kernel(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(((Kernel *)self)->otherwise);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static int clear_kernel(PyObject *self) {
    Py_CLEAR(((Kernel *)self)->otherwise);
    return 0;
}

static void free_kernel(PyObject *self) {
    Kernel *kernel = (Kernel *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_XDECREF(kernel->otherwise);
    for (Py_ssize_t k = 0; k < kernel->count; k++) free_form(kernel->forms[k]);
    free(kernel->forms);
    free(kernel->name);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyType_Slot kernel_slots[] = {
    {Py_tp_traverse, visit_kernel}, {Py_tp_clear, clear_kernel}, {Py_tp_dealloc, free_kernel}, {0, NULL},
};
static PyType_Spec kernel_spec = {
    "ludarium.machine._call.Kernel", sizeof(Kernel), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, kernel_slots,
};

static PyObject *make_kernel(PyObject *module, PyObject *given) {
    const char *name;
    PyObject *otherwise;
    int holds_gil;
    (void)module;
    if (!PyArg_ParseTuple(given, "sOp:kernel", &name, &otherwise, &holds_gil)) return NULL;
    Kernel *kernel = PyObject_GC_New(Kernel, (PyTypeObject *)kernel_type);
    if (!kernel) return NULL;
    Py_INCREF(otherwise);
    kernel->otherwise = otherwise;
    kernel->holds_gil = holds_gil;
    kernel->count = 0;
    kernel->forms = NULL;
    kernel->name = malloc(strlen(name) + 1);
    kernel->method = (PyMethodDef){kernel->name, (PyCFunction)(void (*)(void))call, METH_FASTCALL, NULL};
    PyObject_GC_Track(kernel);
    PyObject *function = kernel->name ? PyCFunction_NewEx(&kernel->method, (PyObject *)kernel, NULL) : PyErr_NoMemory();
    if (kernel->name) strcpy(kernel->name, name);
    Py_DECREF(kernel);
    return function;
}

static PyObject *add(PyObject *module, PyObject *given) {
    PyObject *function, *layouts;
    unsigned long long address;
    const char *returned;
    (void)module;
    if (!PyArg_ParseTuple(given, "OKO!s:add", &function, &address, &PyTuple_Type, &layouts, &returned)) return NULL;
    Kernel *kernel = PyCFunction_Check(function) ? (Kernel *)PyCFunction_GetSelf(function) : NULL;
    if (!kernel || (PyObject *)Py_TYPE((PyObject *)kernel) != kernel_type) {
        PyErr_SetString(PyExc_TypeError, "add takes what `kernel` returned");
        return NULL;
    }
    size_t length = strlen(returned);
    const char *kinds = returned + (returned[0] == 'T');
    if (!address || !length || length > MOST_RETURNED + 1 || strspn(kinds, "nbiufg") != strlen(kinds)
        || (returned[0] != 'T' && length != 1)) {
        PyErr_SetString(PyExc_ValueError, "an address of 0, or a result that is not known");
        return NULL;
    }
    Form *form = calloc(1, sizeof *form);
    Py_ssize_t count = PyTuple_Size(layouts);
    if (form) form->layouts = calloc((size_t)count + 1, sizeof(Layout));
    if (!form || !form->layouts) {
        free(form);
        return PyErr_NoMemory();
    }
    form->code = (Code)(uintptr_t)address;
    strcpy(form->returned, returned);
    while (form->count < count) {
        Py_ssize_t words = read_layout(PyTuple_GetItem(layouts, form->count), form->layouts + form->count, 0);
        form->count++;
        if (words < 0) {
            free_form(form);
            return NULL;
        }
        form->words += words;
    }
    Form **forms = realloc(kernel->forms, (size_t)(kernel->count + 1) * sizeof *forms);
    if (!forms) {
        free_form(form);
        return PyErr_NoMemory();
    }
    kernel->forms = forms;        /* calls read it anew for each form */
    forms[kernel->count] = form;
    kernel->count++;
    Py_INCREF(Py_None);
    return Py_None;
}

/* The processor, see machine/machines.py. */

#ifdef IS_X86
static void ask(unsigned leaf, unsigned *words) {
#ifdef _MSC_VER
    __cpuidex((int *)words, (int)leaf, 0);
#else
    __cpuid_count(leaf, 0, words[0], words[1], words[2], words[3]);
#endif
}

/* What the system saves when it changes from one thread to another. */
static unsigned saved_state(void) {
#ifdef _MSC_VER
    return (unsigned)_xgetbv(0);
#else
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
#endif
}

#define BIT(n) (1u << (n))
enum {
    V2 = BIT(20) | BIT(23),                          /* leaf 1, ecx: SSE 4.2, POPCNT */
    V3 = BIT(12) | BIT(22) | BIT(27) | BIT(28) | BIT(29), /* the same: FMA, MOVBE, XGETBV, AVX, F16C */
    V3_MORE = BIT(3) | BIT(5) | BIT(8),              /* leaf 7, ebx: BMI1, AVX2, BMI2 */
    LZCNT = BIT(5),                                  /* leaf 0x80000001, ecx; without it a BSR */
    VNNI = BIT(11),                                  /* leaf 7, ecx */
};
static const unsigned V4 = BIT(16) | BIT(17) | BIT(28) | BIT(30) | BIT(31); /* leaf 7, ebx: F, DQ, CD, BW, VL */
#endif

static PyObject *level(PyObject *module, PyObject *nothing) {
    const char *found = "";
    (void)module;
    (void)nothing;
#ifdef IS_X86
    unsigned most[4], first[4], seventh[4] = {0}, extended[4];
    ask(0, most);
    ask(1, first);
    ask(0x80000001, extended);
    if (most[0] >= 7) ask(7, seventh);
    if ((first[2] & V2) == V2) found = "v2";
    if (found[0] && (first[2] & V3) == V3 && (seventh[1] & V3_MORE) == V3_MORE && extended[2] & LZCNT
        && (saved_state() & 0x06) == 0x06) {
        found = "v3";
        if ((seventh[1] & V4) == V4 && (saved_state() & 0xE6) == 0xE6) found = seventh[2] & VNNI ? "vnni" : "v4";
    }
#elif defined(__aarch64__)
    found = "neon";
#if defined(__APPLE__) || defined(__ARM_FEATURE_DOTPROD)
    found = "dotprod";
#elif defined(__linux__)
    extern unsigned long getauxval(unsigned long);
    if (getauxval(16) >> 20 & 1) found = "dotprod"; /* AT_HWCAP, HWCAP_ASIMDDP */
#endif
#endif
    return PyUnicode_FromString(found);
}

static PyMethodDef methods[] = {
    {"kernel", make_kernel, METH_VARARGS, "kernel(name, otherwise, holds_gil): a callable without forms."},
    {"add", add, METH_VARARGS, "add(kernel, address, layouts, returned): add a form to a kernel."},
    {"level", level, METH_NOARGS, "level(): the kind of this processor."},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_call", "Calls machine code.", -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__call(void) {
    import_array();
    PyObject *layouts = PyImport_ImportModule("ludarium.machine.layouts");
    if (!layouts) return NULL;
    text_of = PyObject_GetAttrString(layouts, "text_of");
    Py_DECREF(layouts);
    kernel_type = PyType_FromSpec(&kernel_spec);
    return text_of && kernel_type ? PyModule_Create(&definition) : NULL;
}
