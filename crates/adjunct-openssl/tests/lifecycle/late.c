/* A library with one destructor, which calls what the program has set. */
void (*last)(void);

__attribute__((destructor)) static void leave(void) {
    if (last)
        last();
}
