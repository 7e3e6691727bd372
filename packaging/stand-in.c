// A stand-in for skillhub, a hundredth of its size, with which .ci/run tries the packages in seconds. A release tries them
// with the program itself.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int count, char **arguments) {
    if (count == 2 && strcmp(arguments[1], "--version") == 0) {
        puts("skillhub " VERSION);
        return 0;
    }
    // A server runs until a signal ends it.
    if (count > 1 && strcmp(arguments[1], "serve") == 0) pause();
    return 7;
}
