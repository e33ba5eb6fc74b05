/* A robot. */
#include <time.h>
int main(void) { for (;;) { } }
