/* A function that libraries of this process call in another library, and the target to which the dynamic linker binds the calls. */
#ifndef TORCHADA_LINKED_FUNCTION_H
#define TORCHADA_LINKED_FUNCTION_H

#include <stdint.h>
#include <stdlib.h> /* says whether this is glibc */

#if defined(__linux__) && defined(__GLIBC__) && defined(__LP64__) && (defined(__x86_64__) || defined(__aarch64__))
#define CALLS_CAN_BE_LED 1
#else
#define CALLS_CAN_BE_LED 0
#endif

#if CALLS_CAN_BE_LED
typedef struct {
    const char *const *names; /* mangled; several are aliases of one address; NULL at the end */
    uintptr_t address;        /* where it is, and in which library: filled in by find_function */
    const char *library;
    int call_sites;           /* the number of its slots in loaded libraries; counted by lead_calls */
} linked_function;

/* Each returns NULL, or says why it could not be done; the text is valid until the next call. Not to be called by two threads at
   the same time. */

/* Find the one library that defines the function. */
const char *find_function(linked_function *function);

/* Redirect calls from the address `from` to the address `to`, in the libraries that are loaded and in any loaded later. */
const char *lead_calls(linked_function *function, uintptr_t from, uintptr_t to);
#endif

#endif
