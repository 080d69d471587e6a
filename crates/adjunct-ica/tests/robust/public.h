static void add_public(void) {}
