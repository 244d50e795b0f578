/* Text on the UART, and the functions that a compiler expects of a freestanding program. */
#ifndef CONSOLE_H
#define CONSOLE_H

#include <stdint.h>

void put_text(const char *text);
/* Text on the left of a column, a number on the right. */
void put_left(const char *text, unsigned width);
void put_number(uint32_t value, unsigned width);
/* a / b with two decimals. */
void put_ratio(uint32_t a, uint32_t b, unsigned width);
/* Wait until the last byte is sent. */
void put_end(void);

#endif
