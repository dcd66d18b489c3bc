/* The C part of the native mechanism without torch and without Python: linked_function.c redirects calls of value() to other(),
 * in libraries that were loaded before, are loaded after, have been unloaded, and are bound at once or at the first call. Runs
 * wherever a C compiler's programs run, also on an emulated aarch64. Argument: the folder with lib{defines,lazy1,lazy2,now1,now2}.so. */
#include "linked_function.h"

#undef NDEBUG /* some compilers define it when they optimise */
#include <assert.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int other(void) { return 2; }

static void *load(const char *folder, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/lib%s.so", folder, name);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fprintf(stderr, "%s\n", dlerror());
    assert(library);
    return library;
}

static void *load_lazily(const char *folder, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/lib%s.so", folder, name);
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    assert(library);
    return library;
}

static int call(void *library) { return ((int (*)(void))dlsym(library, "call"))(); }

/* The protection of the page of an address, in the kernel's notation: "r-xp". */
static void permissions(const void *address, char *found)
{
    char line[512];
    unsigned long start, end;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx %4s", &start, &end, found) == 3 && start <= (unsigned long)address && (unsigned long)address < end)
            break;
    fclose(maps);
}

int main(int count, char **arguments)
{
    static const char *const names[] = {"value", NULL}, *const unknown[] = {"nobody_defines_this", NULL};
    const char *folder = arguments[count - 1];
    linked_function function = {.names = names}, missing = {.names = unknown};
    char before[8] = "", after[8] = "";
    assert(find_function(&missing) != NULL && missing.address == 0);

    void *defines = load(folder, "defines");
    void *lazy = load_lazily(folder, "lazy1"), *now = load(folder, "now1");
    assert(call(now) == 1); /* and lazy has not been called: its slot is not filled in */
    assert(find_function(&function) == NULL && function.address == (uintptr_t)dlsym(defines, "value"));
    permissions((void *)function.address, before);

    const char *why = NULL;
    for (int round = 0; round < 3; round++) {
        why = lead_calls(&function, function.address, (uintptr_t)other);
        if (why)
            fprintf(stderr, "%s\n", why);
        assert(why == NULL && function.call_sites >= 2);
        void *late_lazy = load_lazily(folder, "lazy2"), *late_now = load(folder, "now2");
        assert(call(lazy) == 2 && call(now) == 2 && call(late_lazy) == 2 && call(late_now) == 2);
        assert(((int (*)(void))function.address)() == 1);
        dlclose(late_lazy); /* loaded again in the next round */
        assert(lead_calls(&function, (uintptr_t)other, function.address) == NULL);
        assert(call(lazy) == 1 && call(now) == 1 && call(late_now) == 1);
        assert((uintptr_t)dlsym(defines, "value") == function.address);
        dlclose(late_now);
    }
    permissions((void *)function.address, after);
    assert(strcmp(before, after) == 0);
    puts("led there and back");
    return 0;
}
